"""Folder for compiled kernels that no other user can write to.

Numba unpickles the files of its cache, so whoever can put a file there runs code as this user. The
folder and those above it up to the base must belong to this user and be closed to others; the
folders that lead to the base must not be open to others either, who could replace it later.
"""

import os
import pathlib
import shutil
import stat
import tempfile
import warnings

KEPT_FOLDERS = (
    4  # of versions of the compiler: those of a few environments and branches of one user
)


def drop_old(current: pathlib.Path) -> None:
    """Remove all but the most recently used cache folders."""
    os.utime(current)
    folders = sorted(
        (each for each in current.parent.iterdir() if each.is_dir()),
        key=lambda each: each.stat().st_mtime,
        reverse=True,
    )
    for folder in folders[KEPT_FOLDERS:]:
        shutil.rmtree(folder, ignore_errors=True)


def private_folder(base: pathlib.Path, *names: str) -> pathlib.Path | None:
    """Make and return the folder ``base/names…``; None if it cannot be written.

    Warns and returns None if another user could write in it.
    """
    try:
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = base.resolve()
        doubtful = [folder for folder in place.parents if _open_to_others(folder.stat())]
        doubtful += [] if _kept_by(place.stat(), 0, _user()) else [place]
        for name in names:
            place /= name
            place.mkdir(mode=0o700, exist_ok=True)
            status = place.lstat()
            if (
                not stat.S_ISDIR(status.st_mode)
                or status.st_mode & stat.S_ISVTX
                or not _kept_by(status, _user())
            ):
                doubtful.append(place)
        if not doubtful:
            with tempfile.TemporaryFile(dir=place):
                return place
    except OSError:
        return None
    remedy = "close it (chmod go-w), or set NUMBA_CACHE_DIR to a folder of your own"
    warnings.warn(
        f"no compiled kernels are kept: another user could write in {doubtful[0]}; {remedy}",
        RuntimeWarning,
        stacklevel=3,
    )
    return None


def _user() -> int:
    """Number of this user; 0 on systems without users."""
    return os.geteuid() if hasattr(os, "geteuid") else 0


def _kept_by(status: os.stat_result, *owners: int) -> bool:
    """True if only these owners can replace the entries of a folder."""
    return status.st_uid in owners and not _open_to_others(status)


def _open_to_others(status: os.stat_result) -> bool:
    """True if another user could replace entries of a folder; not if it is sticky, like /tmp."""
    if os.name != "posix" or status.st_mode & stat.S_ISVTX:
        return False
    by_group = status.st_mode & stat.S_IWGRP and not _own_group(status.st_gid)
    return bool(status.st_mode & stat.S_IWOTH or by_group)


def _own_group(number: int) -> bool:
    """True if this user is the only member of a group.

    Many systems give each user such a group and make new folders writable for it.
    """
    import grp
    import pwd

    try:
        group, user = grp.getgrgid(number), pwd.getpwuid(_user())
    except KeyError:
        return False
    return group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}
