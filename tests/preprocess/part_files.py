"""A small part as files: a bar of 1 m with a section of 0.1 m × 0.1 m."""

from pathlib import Path

import meshio
import pytest

from preprocess.__main__ import main
from preprocess.mesh.structured import box_mesh

PART = """format = "flexmbs-part/1"
name = "bar"
mesh = "bar.vtu"
unit = "m"
reference = "left"
damping = 0.01
[material]
E = 2e11
nu = 0.3
rho = 7800.0
[interfaces.left]
plane = { point = [0.0, 0.0, 0.0], normal = [1.0, 0.0, 0.0] }
[interfaces.right]
plane = { point = [1.0, 0.0, 0.0], normal = [1.0, 0.0, 0.0] }
[method]
modes = 2
"""


def bar(folder: Path, text: str = PART) -> Path:
    """The part file in a folder, with its mesh beside it."""
    mesh = box_mesh((1.0, 0.1, 0.1), (6, 1, 1), "hex8")
    meshio.Mesh(mesh.nodes, [("hexahedron", mesh.blocks["hex8"].connectivity)]).write(
        folder / "bar.vtu"
    )
    path = folder / "bar.toml"
    path.write_text(text)
    return path


def call(*arguments: object) -> int:
    """Exit code of ``preprocess`` in this process."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return int(stop.value.code or 0)
