"""Assembly against scikit-fem at round-off, and models from given matrices."""

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
import skfem
from peers import PEERS, PINE, peer_grid, uneven_box
from scipy.spatial import cKDTree
from skfem.helpers import dot, sym_grad

from flexmbs.errors import InputError
from preprocess.elements import ELEMENTS
from preprocess.elements.formulation import Formulation
from preprocess.fe.assembly import assemble
from preprocess.fe.fe_model import FEModel
from preprocess.fe.material import Isotropic, elasticity_tensor
from preprocess.formats.matrix_files import read_matrices
from preprocess.inputs.warning import PreprocessWarning
from preprocess.mesh.mesh import Mesh
from preprocess.mesh.structured import box_mesh

pytestmark = pytest.mark.filterwarnings("ignore:.*far too stiff in bending")
STEEL = Isotropic(E=210e9, nu=0.3, rho=7850.0)
FULL = Formulation(hex8="full")


def peer_matrix(mesh, name, grid, rule, form):
    """A form assembled by scikit-fem with the given quadrature, its rows in the order of our
    degrees of freedom.
    """
    points, weights = (
        (rule.points, rule.weights)
        if ELEMENTS[name].corners == 4
        else ((rule.points + 1) / 2, rule.weights / 8)
    )
    if ELEMENTS[name].corners == 6:
        points, weights = (rule.points * [1, 1, 0.5] + [0, 0, 0.5]), rule.weights / 2
    basis = skfem.Basis(grid, skfem.ElementVector(PEERS[name]), quadrature=(points.T, weights))
    distance, node = cKDTree(mesh.nodes).query(basis.doflocs.T)
    assert distance.max() < 1e-12
    component = np.zeros(basis.N, dtype=int)
    component[basis.element_dofs] = (np.arange(len(basis.element_dofs)) % 3)[:, None]
    place = 3 * node + component
    A = form.assemble(basis).tocoo()
    return sp.csr_matrix((A.data, (place[A.row], place[A.col])), shape=A.shape)


@pytest.mark.parametrize("material", [STEEL, PINE], ids=["isotropic", "orthotropic"])
@pytest.mark.parametrize("name", PEERS)
def test_stiffness_and_mass_equal_those_of_scikit_fem(name, material):
    mesh = uneven_box(name)
    fe = assemble(mesh, material, formulation=FULL)
    C = elasticity_tensor(material.elasticity)
    stiffness = skfem.BilinearForm(
        lambda u, v, w: np.einsum("ijkl,ij...,kl...->...", C, sym_grad(v), sym_grad(u))
    )
    inertia = skfem.BilinearForm(lambda u, v, w: material.rho * dot(u, v))
    grid = peer_grid(mesh, name)
    for ours, form, rule in (
        (fe.K, stiffness, ELEMENTS[name].stiffness_rule),
        (fe.M, inertia, ELEMENTS[name].mass_rule),
    ):
        theirs = peer_matrix(mesh, name, grid, rule, form)
        assert abs(ours - theirs).max() < 2e-14 * abs(theirs).max()


def test_pattern_is_sorted_blocks_of_three_and_symmetric():
    fe = assemble(uneven_box("tet10"), STEEL)
    for A in (fe.K, fe.m):
        A.check_format(full_check=True)
        assert all(
            (np.diff(A.indices[A.indptr[i] : A.indptr[i + 1]]) > 0).all() for i in range(A.shape[0])
        )
        assert abs(A - A.T).max() < 1e-15 * abs(A).max()
    assert fe.K.nnz == 9 * fe.m.nnz


def test_linear_tetrahedra_and_wedges_are_warned_of():
    with pytest.warns(
        PreprocessWarning, match="tet4 box: 48 tet4 elements are far too stiff in bending"
    ):
        assemble(box_mesh((1, 1, 1), (2, 2, 2), "tet4"), STEEL)


def test_blocks_of_two_types_add_up():
    """A box of hexahedra and, beside it, tetrahedra that share only three nodes of a face with it:
    matrices add up.
    """
    hexahedra, tetrahedron = box_mesh((1, 1, 1), (1, 1, 1), "hex8"), np.array([[2.0, 0.5, 0.5]])
    nodes = np.concatenate([hexahedra.nodes, tetrahedron])
    place = {tuple(x): n for n, x in enumerate(nodes)}
    face = [place[1.0, 0.0, 0.0], place[1.0, 1.0, 0.0], place[1.0, 0.0, 1.0]]
    with pytest.warns(
        PreprocessWarning,
        match=r"1 triangular face\(s\) meet quadrilateral ones, first that of element 2",
    ):
        mesh = Mesh.from_arrays(
            nodes, {"hex8": hexahedra.blocks["hex8"].connectivity, "tet4": [[*face, 8]]}
        )
    fe = assemble(mesh, STEEL)
    assert fe.elements == "1 hex8, 1 tet4"
    assert fe.mass == pytest.approx(7850.0 * (1 + 1 / 6), rel=1e-13)


def test_mass_product_is_the_product_with_m():
    fe = assemble(uneven_box("hex8"), STEEL)
    u = np.random.default_rng(0).standard_normal((3 * len(fe.nodes), 4))
    np.testing.assert_allclose(fe.mass_product(u), fe.M @ u, rtol=1e-13)
    np.testing.assert_allclose(fe.mass_product(u[:, 0]), fe.M @ u[:, 0], rtol=1e-13)


def test_too_large_a_model_is_rejected_before_work(monkeypatch):
    monkeypatch.setattr("preprocess.solve.memory.free_memory", lambda: 1e5)
    mesh = box_mesh((1, 1, 1), (4, 4, 4), "hex8")
    with pytest.raises(
        InputError, match=r"375 degrees of freedom need about .* GB .*--allow-large"
    ):
        assemble(mesh, STEEL)
    assert assemble(mesh, STEEL, allow_large=True).mass == pytest.approx(7850.0)


def written(folder, fe, form):
    """Paths of K, M and nodes in files of one form."""
    paths = {"K": folder / f"K.{form}", "M": folder / f"M.{form}", "nodes": folder / "nodes.csv"}
    np.savetxt(paths["nodes"], np.column_stack([fe.node_ids + 1, fe.nodes]), delimiter=",")
    for name, A in (("K", fe.K), ("M", fe.M)):
        if form == "mtx":
            scipy.io.mmwrite(str(paths[name]), A, symmetry="symmetric", precision=16)
        elif form == "npz":
            sp.save_npz(paths[name], A)
        else:
            np.save(paths[name], A.toarray())
    return paths


@pytest.mark.parametrize("form", ["mtx", "npz", "npy"])
def test_matrices_come_back_from_files(tmp_path, form):
    fe = assemble(uneven_box("tet4"), STEEL)
    again = read_matrices(**written(tmp_path, fe, form), node_sets={"end": [0, 1, 2]})
    assert abs(again.K - fe.K).max() < 1e-14 * abs(fe.K).max()
    assert abs(again.m - fe.m).max() < 1e-14 * abs(fe.m).max()
    np.testing.assert_array_equal(again.node_ids, fe.node_ids + 1)
    np.testing.assert_array_equal(again.node_sets["end"], [0, 1, 2])


def spoiled(A, row, column, value):
    B = A.tolil()
    B[row, column] = value
    return B.tocsr()


def test_matrices_that_are_no_free_solid_are_rejected():
    fe = assemble(uneven_box("hex8"), STEEL)
    K, M, x = fe.K, fe.M, fe.nodes
    cases = {
        "not symmetric": (spoiled(K, 0, 5, 1e12), M, x),
        "store both triangles": (sp.triu(K), M, x),
        "penalty diagonals, first in row 4": (spoiled(K, 4, 4, 1e36), M, x),
        "non-finite": (spoiled(K, 4, 4, np.nan), M, x),
        "not free of the rigid": (K + sp.eye(K.shape[0]) * 1e9, M, x),
        "need \\(54, 54\\)": (K[3:, 3:], M, x),
        "m ⊗ 1₃": (K, spoiled(M, 0, 0, 3 * M[0, 0]), x),
        "no positive mass": (K, M * 0.0, x),
        "finite positions": (K, M, x[:, :2]),
    }
    for message, arguments in cases.items():
        with pytest.raises(InputError, match=message):
            FEModel.from_matrices(*arguments)


def test_hostile_matrix_files_are_rejected(tmp_path):
    fe = assemble(uneven_box("hex8"), STEEL)
    paths = written(tmp_path, fe, "npy")
    claims = tmp_path / "huge.mtx"
    claims.write_text(
        "%%MatrixMarket matrix coordinate real symmetric\n100000000000 100000000000 1\n1 1 1.0\n"
    )
    pickled = tmp_path / "objects.npy"
    np.save(pickled, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    wild = tmp_path / "wild.npz"
    np.savez(
        wild,
        format=b"csr",
        shape=fe.K.shape,
        data=fe.K.data,
        indices=fe.K.indices + 10**6,
        indptr=fe.K.indptr,
    )
    empty = tmp_path / "empty.mtx"
    empty.write_bytes(b"")
    for bad, message in (
        (claims, "claims"),
        (pickled, "cannot be read"),
        (wild, "cannot be read"),
        (empty, "is empty; expected a Matrix Market file"),
        (tmp_path / "no.mtx", "no such file"),
    ):
        with pytest.raises(InputError, match=message):
            read_matrices(**{**paths, "K": bad})
