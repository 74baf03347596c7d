"""``flexmbs schema``"""

import json
from pathlib import Path

from flexmbs.console.messages import put
from flexmbs.declaration import require_known, shown
from flexmbs.files.output import write_text
from flexmbs.files.reserved_outputs import reserved


def schema(what: str, output: Path | None) -> None:
    """Print or write the schema of "model", "part" or "sweep" files.

    Raises InputError, MachineError.
    """
    from flexmbs.model.schema import model_schema
    from flexmbs.studies.sweeps.study_file import sweep_schema
    from preprocess.part_file.schema import part_schema

    schemas = {"model": model_schema, "part": part_schema, "sweep": sweep_schema}
    require_known(what, schemas, f"schema: unknown file type {shown(what)}")
    text = json.dumps(schemas[what](), indent=1, ensure_ascii=False) + "\n"
    if output is None:
        put(text.rstrip())
    else:
        with reserved((output, "json")):
            write_text(output, text)
