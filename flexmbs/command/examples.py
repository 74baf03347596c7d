"""``flexmbs examples``"""

from pathlib import Path

from flexmbs.console.messages import put
from flexmbs.errors import InputError, MachineError
from flexmbs.files.output import ensure_folder, write_bytes

HERE = Path(__file__).resolve()
# folder of the files: in a wheel, in the source tree
FOLDERS = HERE.with_name("meshes"), HERE.parents[2] / "meshes"
SUFFIXES = (".msh", ".toml", ".step", ".igs", ".urdf")


def example(name: str) -> Path:
    """Path of an example file as installed. Raises MachineError."""
    found = _folder() / name
    if not found.is_file():
        raise MachineError(f"{found}: is missing; reinstall flexmbs")
    return found


def _folder() -> Path:
    """Folder of the files."""
    return next((each for each in FOLDERS if each.is_dir()), FOLDERS[0])


def examples(folder: Path) -> None:
    """Write the meshes, part files and CAD files of the documentation to a folder.

    Raises InputError for a file there with the name of one of them and another content.
    """
    ensure_folder(folder)
    sources = sorted(path for path in _folder().glob("*") if path.suffix in SUFFIXES)
    for source in sources:
        content, target = source.read_bytes(), folder / source.name
        if not target.exists():
            write_bytes(target, content)
        elif target.read_bytes() != content:
            raise InputError(f"{target}: exists with another content; choose another folder by -o")
    put(f"examples: {folder}/{{{', '.join(source.name for source in sources)}}}")
