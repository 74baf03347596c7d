"""Compiled kernels are read only from a folder of this user, because reading them means running
them.
"""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from flexmbs._jit import cache
from flexmbs._jit.cache import private_folder

pytestmark = pytest.mark.skipif(
    os.name != "posix", reason="owners and modes are looked at on POSIX systems"
)
NAMES = "flexmbs-kernels", "0123"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    return tmp_path / "cache"


def refused(base: Path) -> str:
    """The folder that is rejected."""
    with pytest.warns(RuntimeWarning, match="another user could write in") as caught:
        assert private_folder(base, *NAMES) is None
    return str(caught[0].message).partition("write in ")[2].partition(";")[0]


@pytest.mark.parametrize("mask", [0o022, 0o002, 0])
def test_what_is_made_is_closed_to_others(base: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = private_folder(base, *NAMES)
    finally:
        os.umask(before)
    assert found == base.joinpath(*NAMES)
    assert {folder.stat().st_mode & 0o777 for folder in (base, found.parent, found)} == {0o700}
    assert private_folder(base, *NAMES) == found  # and is accepted again


@pytest.mark.parametrize("level", ["", "flexmbs-kernels", "flexmbs-kernels/0123"])
@pytest.mark.parametrize("mode", [0o777, 0o707, 0o1777])
def test_folders_open_to_others_are_rejected(base: Path, level: str, mode: int) -> None:
    made = private_folder(base, *NAMES)
    assert made is not None
    (base / level).chmod(mode)
    if not level and mode == 0o1777:  # like /tmp: a folder cannot be replaced by another user
        assert private_folder(base, *NAMES) == made
    else:
        assert refused(base) == str(base / level)


def test_what_leads_to_the_folder_counts(base: Path) -> None:
    base.mkdir()
    base.chmod(0o777)
    assert refused(base / "mine") == str(base)


def test_groups_count_unless_they_are_of_one_user(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = private_folder(base, *NAMES)
    assert made is not None
    made.chmod(0o770)
    monkeypatch.setattr(cache, "_own_group", lambda number: True)
    assert private_folder(base, *NAMES) == made
    monkeypatch.setattr(cache, "_own_group", lambda number: False)
    assert refused(base) == str(made)


def test_folders_of_another_user_are_rejected(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert private_folder(base, *NAMES) is not None
    monkeypatch.setattr(cache, "_user", lambda: os.geteuid() + 1)
    assert refused(base).startswith(str(base))


def test_a_link_is_not_followed(base: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    base.mkdir(mode=0o755)
    (base / NAMES[0]).symlink_to(tmp_path / "elsewhere")
    assert refused(base) == str(base / NAMES[0])


def test_without_a_folder_nothing_is_shared(tmp_path: Path) -> None:
    """No writable home: no cache, and nothing in the temporary
    folder, whose names are predictable.
    """
    (tmp_path / "no folder").touch()
    nowhere = str(tmp_path / "no folder" / "x")
    environment = {
        key: value
        for key, value in os.environ.items()
        if key not in ("NUMBA_DISABLE_JIT", "NUMBA_CACHE_DIR")
    }
    environment |= {"HOME": nowhere, "XDG_CACHE_HOME": nowhere, "TMPDIR": str(tmp_path)}
    code = "import flexmbs._jit as j; assert j.COMPILED; print(j.CACHE)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("None\n", "")
    assert [entry.name for entry in tmp_path.iterdir()] == ["no folder"]
