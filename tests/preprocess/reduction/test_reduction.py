"""Craig-Bampton reduction: modes against other solvers, constraint modes against equilibrium,
accuracy and extension.
"""

import functools
from collections.abc import Sequence

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse.linalg as sla

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FloatArray
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.body.build import reduce as full_reduce
from preprocess.fe.assembly import assemble
from preprocess.fe.fe_model import FEModel
from preprocess.fe.interfaces import Averaged, BoundInterface, Rigid, bind_interfaces
from preprocess.fe.material import Isotropic
from preprocess.mesh.structured import box_mesh
from preprocess.reduction import Basis, CraigBampton, Progress, Reduction
from preprocess.reduction.interface_statics import InterfaceStatics
from preprocess.solve.lanczos import modes_of

reduce = functools.partial(full_reduce, stiffening=False, stress=None, estimate=False)
STEEL = Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
KINDS = [(Rigid, Rigid), (Averaged, Averaged), (Rigid, Averaged), (Averaged, Rigid)]


def bound(fe: FEModel, kinds: tuple) -> list[BoundInterface]:
    return bind_interfaces({"a": kinds[0]("x0"), "b": kinds[1]("x1")}, fe.nodes, fe.node_sets)


def fixed_interface_frequencies(body: FlexibleBodyData) -> list[float]:
    return [float(f) for f in str(body.provenance["normal-mode frequencies [Hz]"]).split(",")]


def constraints(fe: FEModel, interfaces: Sequence[BoundInterface]) -> FloatArray:
    """Rows C with C u = 0 when all interfaces stand still: nodes of rigid ones, least-squares
    motion of averaged ones.
    """
    rows = []
    for interface in interfaces:
        picked = np.zeros((3 * len(interface.nodes), 3 * len(fe.nodes)))
        picked[np.arange(len(picked)), (3 * interface.nodes[:, None] + np.arange(3)).ravel()] = 1.0
        if interface.kind == "averaged":
            T = interface.rigid_motion.reshape(-1, 6)
            picked = np.linalg.lstsq(T, picked, rcond=None)[0]
        rows.append(picked)
    return np.vstack(rows)


@pytest.mark.parametrize("kinds", KINDS)
def test_fixed_interface_modes_are_those_of_the_constrained_matrices(
    bar: FEModel, kinds: tuple
) -> None:
    """Oracle: dense eigenvalues on the null space of the constraints."""
    interfaces = bound(bar, kinds)
    free = scipy.linalg.null_space(constraints(bar, interfaces))
    K, M = bar.K.toarray(), bar.M.toarray()
    expected = scipy.linalg.eigh(free.T @ K @ free, free.T @ M @ free, eigvals_only=True)[:9]
    basis = CraigBampton(modes=9).basis(InterfaceStatics(bar, interfaces), lambda *_: None)
    np.testing.assert_allclose((2 * np.pi * basis.normal_frequencies) ** 2, expected, rtol=1e-9)
    normal = basis.shapes["fixed-interface modes"]
    np.testing.assert_allclose(normal.T @ M @ normal, np.eye(9), atol=1e-12)
    np.testing.assert_allclose(
        constraints(bar, interfaces) @ normal, 0, atol=1e-10 * np.abs(normal).max()
    )


@pytest.mark.parametrize("kinds", KINDS)
def test_constraint_modes_move_one_interface_and_are_in_equilibrium(
    bar: FEModel, kinds: tuple
) -> None:
    interfaces = bound(bar, kinds)
    psi = InterfaceStatics(bar, interfaces).constraint_modes()
    for k, interface in enumerate(interfaces):
        u = psi.reshape(-1, 3, 12)[interface.nodes].reshape(-1, 12)
        T = interface.rigid_motion.reshape(-1, 6)
        motion = np.linalg.lstsq(T, u, rcond=None)[0]
        np.testing.assert_allclose(motion, np.eye(12)[6 * k : 6 * k + 6], atol=1e-10)
        if interface.kind == "rigid":
            np.testing.assert_allclose(u, T @ motion, atol=1e-12)
    loads = bar.K @ psi
    free = scipy.linalg.null_space(constraints(bar, interfaces))
    assert np.abs(free.T @ loads).max() < 1e-10 * np.abs(loads).max()


def test_static_tip_load_on_rigid_faces_is_that_of_the_full_model(bar: FEModel) -> None:
    """Constraint modes are exact for statics: the reduced compliance at the tip equals the full
    model's.
    """
    body = reduce(
        bar,
        interfaces={"a": Rigid("x0"), "b": Rigid("x1")},
        method=CraigBampton(modes=1),
        reference="a",
    )
    tip = body.frames["b"]
    jacobian = np.vstack([tip.phi, tip.psi])
    reduced = jacobian @ np.linalg.solve(body.K_ff, jacobian.T)
    a, b = bound(bar, (Rigid, Rigid))
    T = np.zeros((3 * len(bar.nodes), 6))
    T.reshape(-1, 3, 6)[b.nodes] = b.rigid_motion
    inner = np.setdiff1d(np.arange(len(bar.nodes)), np.r_[a.nodes, b.nodes])
    dofs = (3 * inner[:, None] + np.arange(3)).ravel()
    X = np.eye(3 * len(bar.nodes))[:, dofs]
    S = np.hstack([X, T])
    full = np.linalg.inv(S.T @ bar.K.toarray() @ S)[-6:, -6:]
    np.testing.assert_allclose(reduced, full, rtol=1e-8, atol=1e-10 * np.abs(full).max())


def test_block_lanczos_finds_every_mode_of_a_double_spectrum() -> None:
    """Square bar, all bending modes in pairs; oracle: ARPACK on the same matrices."""
    fe = assemble(box_mesh((1, 0.1, 0.1), (8, 2, 2), "hex20"), STEEL)
    interfaces = bind_interfaces({"a": Rigid("x0")}, fe.nodes, fe.node_sets)
    statics = InterfaceStatics(fe, interfaces)
    found = modes_of(statics.response, fe.mass_product, statics.size, count=40)
    inner = np.setdiff1d(np.arange(len(fe.nodes)), interfaces[0].nodes)
    dofs = (3 * inner[:, None] + np.arange(3)).ravel()
    expected = sla.eigsh(
        fe.K[dofs][:, dofs], 40, fe.M[dofs][:, dofs], sigma=0.0, return_eigenvectors=False
    )
    np.testing.assert_allclose(found.omega, np.sqrt(np.sort(expected)), rtol=1e-9)
    limit = 0.5 * (found.omega[20] + found.omega[22])
    below = modes_of(statics.response, fe.mass_product, statics.size, omega_max=limit)
    assert len(below.omega) == np.sum(found.omega <= limit)
    np.testing.assert_allclose(below.omega, found.omega[: len(below.omega)], rtol=1e-11)


def test_restarts_converge_to_the_same_modes() -> None:
    """A chain of 500 springs, fixed at one end, whose frequencies are 2 sin((2k−1)π/(4n+2)); block
    of two, many restarts.
    """
    n = 500
    K = scipy.sparse.diags(
        [np.r_[np.full(n - 1, 2.0), 1.0], -np.ones(n - 1), -np.ones(n - 1)],
        [0, 1, -1],
        format="csc",
    )
    factor = sla.splu(K)
    found = modes_of(factor.solve, lambda u: u, n, count=30, block=2)
    expected = 2 * np.sin((2 * np.arange(1, 31) - 1) * np.pi / (4 * n + 2))
    np.testing.assert_allclose(found.omega, expected, rtol=1e-10)


def test_frequency_limit_takes_the_modes_below_it(bar: FEModel) -> None:
    interfaces = {"a": Rigid("x0"), "b": Rigid("x1")}
    twelve = reduce(bar, interfaces=interfaces, method=CraigBampton(modes=12), reference="a")
    known = fixed_interface_frequencies(twelve)
    limited = reduce(
        bar,
        interfaces=interfaces,
        method=CraigBampton(frequency=0.5 * (known[4] + known[5])),
        reference="a",
    )
    assert limited.nf == 5 + 6
    assert twelve.nf == 12 + 6
    np.testing.assert_allclose(fixed_interface_frequencies(limited), known[:5], rtol=1e-8)
    # fewer shapes are stiffer
    assert np.all(limited.modes.frequency >= twelve.modes.frequency[:11] * (1 - 1e-9))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "takes either modes=n or frequency=f_max"),
        ({"modes": 3, "frequency": 100.0}, "takes either modes=n or frequency=f_max"),
        ({"modes": 0}, "method.modes: is 0; request at least one fixed-interface mode"),
        ({"modes": -2}, "method.modes: is -2"),
        ({"frequency": -5.0}, "method.frequency: is -5.0 Hz; give a positive limit"),
    ],
)
def test_bad_options(options: dict, message: str) -> None:
    with pytest.raises(InputError) as caught:
        CraigBampton(**options)
    assert message in str(caught.value)


def test_modes_out_of_range(bar: FEModel) -> None:
    interfaces = {"a": Rigid("x0"), "b": Rigid("x1")}
    free = 3 * (len(bar.nodes) - 16)
    with pytest.raises(
        InputError,
        match=f"method.modes: {free + 1} requested; the body has {free} degrees of freedom between",
    ):
        reduce(bar, interfaces=interfaces, method=CraigBampton(modes=free + 1), reference="a")
    with pytest.raises(
        InputError, match=r"no fixed-interface mode up to 1\.0 Hz; increase the limit"
    ):
        reduce(bar, interfaces=interfaces, method=CraigBampton(frequency=1.0), reference="a")


def test_interfaces_that_hold_every_node() -> None:
    fe = assemble(box_mesh((0.1, 0.1, 0.1), (1, 1, 1), "hex8"), STEEL)
    with pytest.raises(InputError, match="they hold every node"):
        reduce(fe, interfaces={"a": Rigid("x0"), "b": Rigid("x1")}, reference="a")


class StaticCondensation(Reduction):
    """Guyan's reduction: constraint modes only. A new reduction is one class with one method."""

    kind = "static"

    def basis(self, statics: InterfaceStatics, progress: Progress) -> Basis:
        return Basis({"constraint modes": statics.constraint_modes()})


def test_a_new_reduction_needs_one_class(bar: FEModel) -> None:
    interfaces = {"a": Rigid("x0"), "b": Rigid("x1")}
    static = reduce(bar, interfaces=interfaces, method=StaticCondensation(), reference="a")
    better = reduce(bar, interfaces=interfaces, method=CraigBampton(modes=10), reference="a")
    assert static.nf == 6
    assert static.modes.kind == ("static",) * 6
    assert static.validate().ok
    assert better.modes.frequency[0] < static.modes.frequency[0] < 1.02 * better.modes.frequency[0]
