"""A new mesh format is one function and one line of `READERS`."""

from pathlib import Path

import numpy as np
import pytest

import preprocess as pp
from flexmbs.errors import InputError
from preprocess.mesh_files.raw_mesh import RawMesh
from preprocess.mesh_files.readers import READERS, Reader

GRID = """node 0 0 0
node 1 0 0
node 0 1 0
node 0 0 1
tet 1 2 3 4
"""


def read_grid(path: Path, structural: bool) -> RawMesh:
    """Lines ``node x y z`` and ``tet a b c d``, nodes counted from 1."""
    rows = [line.split() for line in path.read_text().splitlines()]
    points = np.array([row[1:] for row in rows if row[0] == "node"], float)
    tets = np.array([row[1:] for row in rows if row[0] == "tet"], int)
    return RawMesh(
        points=points,
        node_ids=np.arange(1, len(points) + 1),
        connectivity={"tet4": tets - 1},
        element_ids={"tet4": np.arange(1, len(tets) + 1)},
    )


def test_a_new_format_is_read(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(READERS, ".grid", Reader(read_grid, "node", (".grid",)))
    (tmp_path / "part.grid").write_text(GRID)
    mesh = pp.read_mesh(tmp_path / "part.grid", unit="m")
    assert mesh.nodes.shape == (4, 3)
    assert list(mesh.blocks) == ["tet4"]


def test_an_empty_file_of_a_new_format_is_named(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(READERS, ".grid", Reader(read_grid, "node", (".grid",)))
    (tmp_path / "part.grid").write_text("")
    with pytest.raises(InputError, match=r"part\.grid: the file is empty; expected node at byte 0"):
        pp.read_mesh(tmp_path / "part.grid", unit="m")
