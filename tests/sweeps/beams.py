"""Beam whose part is reduced, in a module that processes import, with a mark for each reduction."""

import os
import pathlib
import secrets

import flexmbs as fm
import preprocess as pp

RUN = fm.Run(t_end=0.06, output_step=0.002)
TIP = {"tip": "last frame bar/tip position z"}
PART = """
format = "flexmbs-part/1"
name = "bar"
mesh = "bar.vtu"
unit = "m"
reference = "root"
damping = 0.01
material = { E = 2.1e9, nu = 0.3, rho = 7850 }
method.modes = 2
interfaces.root.plane = { point = [0, 0, 0], normal = [1, 0, 0] }
interfaces.tip.plane = { point = [0.4, 0, 0], normal = [1, 0, 0] }
"""


def model(q0: float = 0.0) -> fm.Model:
    """A beam on a hinge; its file need not be there."""
    made = fm.Model("beam", run=RUN)
    body = made.add(fm.FlexibleBody("bar", "bar.h5"))
    made.add(fm.Revolute("hinge", made.ground, body["root"], axis="y", q0=q0))
    return made


def body(height: float = 0.02, E: float = 2.1e9) -> fm.FlexibleBodyData:
    """The beam of a height; a file in the folder of marks tells that it was reduced."""
    if "BEAM_MARKS" in os.environ:
        (pathlib.Path(os.environ["BEAM_MARKS"]) / f"{height}-{secrets.token_hex(4)}").touch()
    ends = {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
    mesh, material = (
        pp.box_mesh((0.4, 0.02, height), (2, 1, 1)),
        pp.Isotropic(E=E, nu=0.3, rho=7850.0),
    )
    return pp.reduce(
        mesh,
        material,
        interfaces=ends,
        method=pp.CraigBampton(modes=2),
        reference="root",
        damping=0.01,
    )


def write_part(folder: pathlib.Path) -> pathlib.Path:
    """A part file with its mesh."""
    import meshio

    mesh = pp.box_mesh((0.4, 0.02, 0.02), (2, 1, 1))
    meshio.write(
        folder / "bar.vtu",
        meshio.Mesh(mesh.nodes, [("hexahedron20", mesh.blocks["hex20"].connectivity)]),
    )
    path = folder / "bar.toml"
    path.write_text(PART, encoding="utf-8")
    return path
