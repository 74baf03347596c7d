"""Policy for files named in an input file.

They must be in its folder or in search paths given by the user, after resolving symbolic links.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from flexmbs.errors import shown
from flexmbs.files.paths import file_path

# environment variables with folders of models and packages
VARIABLES = ("GZ_SIM_RESOURCE_PATH", "ROS_PACKAGE_PATH")


class PathPolicy(NamedTuple):
    """Allowed locations of files named by a file in ``folder``.

    ``search``: folders of packages, given by the user; ``what``: type of the file, for messages.
    All folders are resolved.
    """

    folder: Path
    allow_outside: bool = False
    search: tuple[Path, ...] = ()
    what: str = "file"

    def path(self, name: str, *bases: Path) -> Path:
        """Resolved path of a file in the first of ``bases`` that contains it, else in the first.

        bases: default is the folder.

        ``package://package/…`` and ``model://model/…`` are looked up in the search paths, in the
        folder, and in its parent folders if files outside are allowed. Raises ValueError with a
        message for a URL, a text that is not a path, and a file outside.
        """
        place = re.sub(r"^file://", "", name.replace("\\", "/"))
        package = re.match(r"(?:package|model)://(.*)", place, re.S)
        if "://" in place and not package:
            raise ValueError(f"{shown(name)} is a URL; only files are read")
        try:
            named = (
                self._in_packages(package.group(1))
                if package
                else [base / place for base in bases or (self.folder,)]
            )
            found = [path for path in (each.resolve() for each in named) if self._allows(path)]
            chosen = next((path for path in found if path.exists()), found[0] if found else None)
        except (OSError, ValueError, RuntimeError) as error:
            text = error.strerror if isinstance(error, OSError) else error
            raise ValueError(f"{shown(name)} is not a path: {text}") from None
        if chosen is None:
            raise ValueError(
                f"{shown(name)} is not inside the {self.what}'s folder; move it there, or set "
                f"allow_outside=True (--allow-outside)"
            )
        return chosen

    def _allows(self, path: Path) -> bool:
        """True if a path is within the folder of the model or a search folder."""
        return self.allow_outside or any(
            path.is_relative_to(base) for base in (self.folder, *self.search)
        )

    def _in_packages(self, place: str) -> list[Path]:
        """Candidate locations of a ``package://`` file; the last one is next to the file."""
        package, _, inside = place.partition("/")
        above = self.folder.parents if self.allow_outside else ()
        bases = (*self.search, self.folder, *above)
        found = [
            each / inside
            for base in bases
            for each in (base, base / package)
            if each.name == package
        ]
        return [*found, self.folder / place]


def path_policy_of(
    file: Path, *, allow_outside: bool = False, package_path: str | Path | Iterable[str | Path] = ()
) -> PathPolicy:  # fmt: skip
    """Allowed locations of files that a file names: its folder and search folders.

    The search folders are those of ``package_path`` and of the environment `VARIABLES`.
    """
    given = (package_path,) if isinstance(package_path, str | os.PathLike) else package_path
    folders = [file_path(each, "package_path") for each in given]
    folders += [
        Path(each)
        for key in VARIABLES
        for each in os.environ.get(key, "").split(os.pathsep)
        if each
    ]
    return PathPolicy(
        file.absolute().parent.resolve(), allow_outside, tuple(each.resolve() for each in folders)
    )
