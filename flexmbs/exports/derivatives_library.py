"""Directional derivatives for FMUs whose library has none.

A small library that is loaded in place of the original and requires it.

Its functions are found first, all others in the original library, which is renamed so that the
loader does not confuse it with the library of another FMU. Linux on x86-64 only.

"""

import hashlib
import zipfile
from pathlib import Path

from flexmbs.exports.linear_code import PLATFORM, compiled_library, rendered
from flexmbs.files.output import atomic_file

MARK = 0x7FFFFFFF  # value reference that requests derivatives
GETTER = {2: "fmi2GetReal", 3: "fmi3GetFloat64"}
NAME = b"libpythonfmu-export.so"  # name stored in the library itself


def with_derivatives(made: Path, name: str, version: int, target: Path) -> None:
    """Write the FMU ``made`` of PythonFMU with directional derivatives, for this platform only.

    Raises `MachineError` without a C compiler, and on systems other than Linux on x86-64.

    """
    folder = f"binaries/{PLATFORM[version]}"
    with zipfile.ZipFile(made) as unit:
        inside = unit.read(f"{folder}/{name}.so")
        digest = hashlib.sha256(inside).hexdigest()
        library = f"fmi{version}-{digest}"[: len(NAME) - 3] + ".so"
        inside = inside.replace(NAME + b"\0", library.encode() + b"\0")
        facts = {
            "name": name,
            "version": version,
            "library": library,
            "getter": GETTER[version],
            "mark": MARK,
        }
        binary = compiled_library(rendered("derivatives.c", facts), name, {library: inside})
        with (
            atomic_file(target) as draft,
            zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as whole,
        ):
            for each in unit.infolist():
                if not each.filename.startswith("binaries/"):
                    whole.writestr(each, unit.read(each), zipfile.ZIP_DEFLATED)
            whole.writestr(f"{folder}/{name}.so", binary)
            whole.writestr(f"{folder}/{library}", inside)
