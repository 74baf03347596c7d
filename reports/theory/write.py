"""Write the pages of the studies: all of them, or those whose folders are named.

python reports/theory/write.py [01_open_chain …]
"""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

from page import title, write

HERE = Path(__file__).parent
INTRODUCTION = """# Studies of the theory

    python reports/theory/write.py [01_open_chain …]

These pages cover the worked examples and figures of lecture notes 000 to 004. Each page states its equations, compares the terms
of `fm.matrices` with equations written out in NumPy, and lists the largest differences between their two sides;
`tests/references/test_theory_studies.py` checks these differences and the printed numbers. The notation is that of the
[theory](../../docs/theory.md); the [equations](../../docs/equations.md) list the function and test of each equation of the notes.
"""


def study_module(folder: Path) -> ModuleType:
    """The script of a study."""
    spec = importlib.util.spec_from_file_location(f"study_{folder.name}", folder / "study.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def folders() -> list[Path]:
    """Folders of the studies, by number."""
    return sorted(path.parent for path in HERE.glob("[0-9][0-9]_*/study.py"))


def gallery() -> str:
    """The page of all pages, three pictures in a row."""
    cells = [
        f"[![]({each.name}/picture.png)<br>{title(each)}]({each.name}/README.md)"
        for each in folders()
    ]
    cells += [""] * (-len(cells) % 3)
    rows = ["| " + " | ".join(cells[k : k + 3]) + " |" for k in range(0, len(cells), 3)]
    return "\n".join([INTRODUCTION, "| | | |", "|---|---|---|", *rows]) + "\n"


def main() -> None:
    chosen = sys.argv[1:]
    for folder in folders():
        if not chosen or any(re.fullmatch(name.rstrip("/"), folder.name) for name in chosen):
            print(folder.name, flush=True)
            write(folder, study_module(folder).study())
    (HERE / "README.md").write_text(gallery(), encoding="utf-8")


if __name__ == "__main__":
    main()
