"""Solids near incompressibility: a thick cylinder under internal pressure in plane strain (Lamé).

Source: MacNeal and Harder, Finite Elements in Analysis and Design 1 (1985) 3, section "thick-walled
cylinder".
"""

import numpy as np
import pytest
import scipy.sparse.linalg as sla

import preprocess as pp
from preprocess.mesh.face_mass import node_areas
from preprocess.mesh.faces import outer_faces

E, PRESSURE, INNER, OUTER = 1e9, 1e6, 1.0, 2.0


def displacement(kind, divisions, nu, formulation):
    """Mean radial displacement of the inner face of a quarter over that of Lamé's solution."""
    box = pp.box_mesh((OUTER - INNER, np.pi / 2, 0.1), (*divisions, 1), kind)

    def bent(x):
        r, angle = INNER + x[:, 0], x[:, 1] + 0.1 * np.sin(np.pi * x[:, 0]) * np.sin(2 * x[:, 1])
        return np.column_stack([r * np.cos(angle), r * np.sin(angle), x[:, 2]])

    mesh, sets = box.moved(bent), box.node_sets
    fe = pp.assemble(mesh, pp.Isotropic(E=E, nu=nu, rho=1000.0), formulation=formulation)
    load = np.zeros((len(mesh.nodes), 3))
    normal = mesh.nodes[:, :2] / np.linalg.norm(mesh.nodes[:, :2], axis=1)[:, None]
    for _, rows in outer_faces({kind: mesh.blocks[kind].connectivity}):
        rows = rows[np.isin(rows, sets["x0"]).all(axis=1)]
        if len(rows):
            np.add.at(
                load,
                (rows, slice(0, 2)),
                PRESSURE * node_areas(mesh.nodes[rows])[..., None] * normal[rows],
            )
    held = np.concatenate(
        [3 * sets["y0"] + 1, 3 * sets["y1"], 3 * sets["z0"] + 2, 3 * sets["z1"] + 2]
    )
    free = np.setdiff1d(np.arange(3 * len(mesh.nodes)), held)
    u = np.zeros(3 * len(mesh.nodes))
    u[free] = sla.spsolve(fe.K[free][:, free].tocsc(), load.ravel()[free])
    expected = (
        PRESSURE
        * INNER**2
        / (E * (OUTER**2 - INNER**2))
        * (1 + nu)
        * ((1 - 2 * nu) * INNER + OUTER**2 / INNER)
    )
    return (u.reshape(-1, 3)[sets["x0"], :2] * normal[sets["x0"]]).sum(axis=1).mean() / expected


@pytest.mark.parametrize("nu", [0.3, 0.49, 0.4999])
@pytest.mark.parametrize(
    ("kind", "divisions", "options", "within"),
    [
        ("hex8", (8, 12), {}, 4e-3),
        ("hex20", (4, 6), {"hex20": "reduced"}, 1e-3),
        ("hex20", (8, 12), {}, 8e-3),
        ("tet10", (4, 6), {}, 4e-3),
        ("wedge15", (4, 6), {}, 5e-3),
        ("pyramid13", (8, 12), {}, 4e-3),
    ],
)
def test_nearly_incompressible_solids_do_not_lock(kind, divisions, options, within, nu):
    assert displacement(kind, divisions, nu, pp.Formulation(**options)) == pytest.approx(
        1.0, abs=within
    )


def test_full_integration_of_trilinear_displacements_locks():
    """What the incompatible modes are for: a fifth of the displacement."""
    assert displacement("hex8", (8, 12), 0.4999, pp.Formulation(hex8="full")) < 0.25
