"""Numbers of modes below a value against all eigenvalues of the constrained matrices, by LAPACK."""

import numpy as np
import pytest
import scipy.linalg

from flexmbs.errors import SolverError
from preprocess.fe.assembly import assemble
from preprocess.fe.fe_model import FEModel
from preprocess.fe.interfaces import Averaged, Rigid, bind_interfaces
from preprocess.fe.material import Isotropic
from preprocess.mesh.structured import box_mesh
from preprocess.reduction.craig_bampton import CraigBampton
from preprocess.reduction.interface_statics import InterfaceStatics
from preprocess.reduction.sturm_check import modes_below
from preprocess.solve.lanczos import modes_of


def bound(fe: FEModel, *kinds: type) -> InterfaceStatics:
    return InterfaceStatics(
        fe, bind_interfaces({"a": kinds[0]("x0"), "b": kinds[1]("x1")}, fe.nodes, fe.node_sets)
    )


def possible(statics: InterfaceStatics, held: tuple[int, ...]) -> np.ndarray:
    """Orthonormal displacements that rigid interfaces and supports allow."""
    rows = [np.zeros((0, statics.size))]
    for k, interface in enumerate(statics.interfaces):
        nodal = np.eye(statics.size)[(3 * interface.nodes[:, None] + np.arange(3)).ravel()]
        T = interface.rigid_motion.reshape(-1, 6)
        if interface.drives_nodes:
            rows.append(nodal - T @ (np.linalg.pinv(T) @ nodal))
        if k in held:
            rows.append(np.linalg.pinv(T) @ nodal)
    return scipy.linalg.null_space(np.vstack(rows))


@pytest.mark.parametrize("kinds", [(Rigid, Rigid), (Averaged, Averaged), (Rigid, Averaged)])
@pytest.mark.parametrize("held", [(), (0,), (1,), (0, 1)])
def test_number_of_modes_below_a_value(bar: FEModel, kinds: tuple, held: tuple[int, ...]) -> None:
    statics = bound(bar, *kinds)
    Z = possible(statics, held)
    values = scipy.linalg.eigh(Z.T @ bar.K @ Z, Z.T @ bar.M @ Z, eigvals_only=True)
    for count in (7, 20, 60):
        assert modes_below(statics, 0.5 * (values[count - 1] + values[count]), held) == count


def test_a_missed_mode_is_reported(bar: FEModel, monkeypatch: pytest.MonkeyPatch) -> None:
    statics = bound(bar, Rigid, Rigid)

    def forgetful(*arguments: object, **options: object):  # type: ignore[no-untyped-def]
        found = modes_of(*arguments, **options)
        return found._replace(
            omega=np.delete(found.omega, 2), shapes=np.delete(found.shapes, 2, axis=1)
        )

    monkeypatch.setattr("preprocess.solve.engine.modes_of", forgetful)
    with pytest.raises(
        SolverError, match=r"modes: 8 found up to \S+ Hz, 9 exist; request more modes"
    ):
        CraigBampton(modes=10).basis(statics, lambda step, fraction: None)
    CraigBampton(modes=10, verify=False).basis(statics, lambda step, fraction: None)


def test_many_modes_in_a_band() -> None:
    """142 modes of a slender bar: the basis stays orthogonal over hundreds of steps; by LAPACK."""
    fe = assemble(
        box_mesh((0.3, 0.03, 0.02), (30, 2, 1), "hex8"), Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    )
    statics = bound(fe, Averaged, Averaged)
    values = scipy.linalg.eigh(fe.K.toarray(), fe.M.toarray(), eigvals_only=True)
    omega = np.sqrt(0.5 * (values[147] + values[148]))
    found = modes_of(statics.free_response, fe.mass_product, statics.size, omega_max=omega)
    np.testing.assert_allclose(found.omega, np.sqrt(values[6:148]), rtol=1e-9)
