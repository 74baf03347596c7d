"""Meshes, and matrices of own forms, of scikit-fem as parts."""

from typing import Any

import numpy as np
import pytest
import skfem
from skfem.models.elasticity import lame_parameters, linear_elasticity

import preprocess as pp
from flexmbs.errors import InputError

STEEL = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
SIZE = np.array([0.4, 0.05, 0.03])
GRID = [np.linspace(0.0, size, n) for size, n in zip(SIZE, (5, 3, 2))]
ENDS: dict[str, Any] = {"root": lambda x: x[0] < 1e-9, "tip": lambda x: x[0] > SIZE[0] - 1e-9}
MESHES = {
    "tet4": skfem.MeshTet.init_tensor(*GRID),
    "tet10": skfem.MeshTet2.from_mesh(skfem.MeshTet.init_tensor(*GRID)),
    "hex8": skfem.MeshHex.init_tensor(*GRID),
    "hex27": skfem.MeshHex2.from_mesh(skfem.MeshHex.init_tensor(*GRID)),
    "wedge6": skfem.MeshWedge1(
        np.array([[0, 0.4, 0, 0, 0.4, 0], [0, 0, 0.05, 0, 0, 0.05], [0, 0, 0, 0.03, 0.03, 0.03]]),
        np.arange(6)[:, None],
    ),
}


@pytest.mark.parametrize("kind", MESHES)
def test_meshes(kind: str) -> None:
    """Mass and inertia of the box, nodes of boundaries with those of their edges and faces,
    elements of subdomains.
    """
    given = MESHES[kind].with_boundaries(ENDS).with_subdomains({"near": lambda x: x[0] < 0.21})
    mesh = pp.from_skfem(given, unit="m")
    assert list(mesh.blocks) == [kind]
    volume = SIZE.prod() / (2.0 if kind == "wedge6" else 1.0)
    assert pp.assemble(mesh, STEEL).mass == pytest.approx(STEEL.rho * volume, rel=1e-12)
    for name, x in (("root", 0.0), ("tip", SIZE[0])):
        if kind == "wedge6" and name == "tip":  # an edge
            continue
        np.testing.assert_array_equal(
            np.sort(mesh.node_sets[name]), mesh.nodes_on_plane((x, 0, 0), (1, 0, 0))
        )
    centres = mesh.nodes[mesh.blocks[kind].connectivity[:, :4]].mean(axis=1)
    if kind != "wedge6":
        np.testing.assert_array_equal(
            mesh.element_sets["near"], 1 + np.flatnonzero(centres[:, 0] < 0.21)
        )
    np.testing.assert_allclose(pp.from_skfem(given, unit="cm").nodes, 1e-2 * mesh.nodes)


def own_matrices(mesh: skfem.Mesh, element: skfem.Element) -> tuple[skfem.Basis, Any, Any]:
    basis = skfem.Basis(mesh, skfem.ElementVector(element), intorder=6)
    K = linear_elasticity(*lame_parameters(STEEL.E, STEEL.nu)).assemble(basis)
    M = skfem.BilinearForm(lambda u, v, w: STEEL.rho * (u * v).sum(axis=0)).assemble(basis)
    return basis, K, M


def test_own_forms_give_the_same_part() -> None:
    """Quadratic tetrahedra: the matrices of scikit-fem's forms, numbered in its way, reduce to the
    same frequencies as ours.
    """
    ends = {"root": pp.Rigid("root"), "tip": pp.Rigid("tip")}
    mesh = MESHES["tet10"].with_boundaries(ENDS)
    model = pp.FEModel.from_skfem(*own_matrices(mesh, skfem.ElementTetP2()))
    ours = pp.assemble(pp.from_skfem(mesh), STEEL)
    assert {name: len(nodes) for name, nodes in model.node_sets.items()} == {"root": 15, "tip": 15}
    one, other = (
        pp.reduce(fe, interfaces=ends, method=pp.CraigBampton(modes=6), reference="root")
        for fe in (model, ours)
    )
    np.testing.assert_allclose(
        np.linalg.eigvalsh(one.K_ff), np.linalg.eigvalsh(other.K_ff), rtol=1e-8
    )
    np.testing.assert_allclose(one.mass, other.mass, rtol=1e-12)


@pytest.mark.parametrize(
    "kind, element",
    [("tet4", skfem.ElementTetP1()), ("tet4", skfem.ElementTetP2()), ("hex8", skfem.ElementHex1()), ("hex8", skfem.ElementHex2()),
     ("wedge6", skfem.ElementWedge1())],
)  # fmt: skip
def test_bases(kind: str, element: skfem.Element) -> None:
    """Rigid motion by the matrices' own checks; the surface encloses the volume."""
    basis, K, M = own_matrices(MESHES[kind], element)
    model = pp.FEModel.from_skfem(basis, K, M)
    assert len(model.nodes) == basis.N // 3
    a, b, c = model.nodes[model.triangles].transpose(1, 0, 2)
    volume = (a * np.cross(b, c)).sum() / 6.0
    assert volume == pytest.approx(SIZE.prod() / (2.0 if kind == "wedge6" else 1.0), rel=1e-12)


def test_other_objects_are_refused_in_one_line() -> None:
    mesh = MESHES["tet4"]
    basis, K, M = own_matrices(mesh, skfem.ElementTetP1())
    for call, message in (
        (lambda: pp.from_skfem(basis), "mesh: must be a mesh of scikit-fem, not CellBasis"),
        (
            lambda: pp.from_skfem(skfem.MeshTri()),
            "mesh: triangle elements are not supported; remesh with tet4",
        ),
        (
            lambda: pp.from_skfem(mesh, unit="ft"),
            "unit: 'ft' is unknown; give one of m, cm, mm, in",
        ),
        (
            lambda: pp.from_skfem(mesh.with_boundaries({"a": np.array([9999])})),
            "boundary 'a': 9999 is not the index of a facet",
        ),
        (
            lambda: pp.from_skfem(mesh.with_subdomains({"a": np.array([99])})),
            "set 'a': 100 is not the number of an element",
        ),
        (
            lambda: pp.FEModel.from_skfem(
                own_matrices(mesh.with_boundaries({"a": np.array([-1])}), skfem.ElementTetP1())[0],
                K,
                M,
            ),
            "boundary 'a': -1 is not the index of a facet",
        ),
        (
            lambda: pp.FEModel.from_skfem(mesh, K, M),
            "basis: must be a Basis of scikit-fem, not MeshTet1",
        ),
        (
            lambda: pp.FEModel.from_skfem(skfem.Basis(mesh, skfem.ElementTetP1()), K, M),
            "basis: has ElementTetP1 elements",
        ),
        (
            lambda: pp.FEModel.from_skfem(basis, K, M[3:]),
            r"M has shape \(\d+, \d+\); the basis has \d+ degrees",
        ),
        (
            lambda: pp.FEModel.from_skfem(
                skfem.Basis(mesh, skfem.ElementVector(skfem.ElementTetCR())), K, M
            ),
            "scikit-fem",
        ),
    ):
        with pytest.raises(InputError, match=message) as found:
            call()
        assert "\n" not in str(found.value)
