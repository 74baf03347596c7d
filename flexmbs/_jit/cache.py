"""A folder for compiled kernels that nobody else can write to.

Numba unpickles what it finds in its cache, so whoever can put a file there runs code as this user.
The folder and those above it up to the base belong to this user and are closed to others; what
leads to the base is not open to others either, for they could exchange it later.
"""

import os
import pathlib
import stat
import tempfile
import warnings


def private_folder(base: pathlib.Path, *names: str) -> pathlib.Path | None:
    """``base/names…``, made where it is missing, or None where it cannot be written; a warning
    where others could write in it.
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
        stacklevel=4,
    )
    return None


def _user() -> int:
    """This user's number; 0 where the system has none, and no modes that could be checked."""
    return os.geteuid() if hasattr(os, "geteuid") else 0


def _kept_by(status: os.stat_result, *owners: int) -> bool:
    """Whether a folder is one of these owners' and closed to others, or everyone's for files of
    their own (sticky).
    """
    return status.st_uid in owners and not _open_to_others(status)


def _open_to_others(status: os.stat_result) -> bool:
    """Whether somebody else could exchange what is in a folder."""
    if os.name != "posix" or status.st_mode & stat.S_ISVTX:
        return False
    by_group = status.st_mode & stat.S_IWGRP and not _own_group(status.st_gid)
    return bool(status.st_mode & stat.S_IWOTH or by_group)


def _own_group(number: int) -> bool:
    """Whether a group has this user alone: many systems give each user one, and open new folders to
    it.
    """
    import grp
    import pwd

    try:
        group, user = grp.getgrgid(number), pwd.getpwuid(_user())
    except KeyError:
        return False
    return group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}
