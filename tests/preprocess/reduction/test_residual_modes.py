"""Modes outside a basis: with the basis they carry all inertia that the interfaces' motion can
excite.
"""

import dataclasses

import numpy as np
import pytest
import scipy.linalg
from draws import drawn

import flexmbs as fm
import preprocess as pp
import preprocess.reduction.residual_modes as module
from flexmbs.flexible_body.components import FloatArray
from preprocess.body.unit_loads import inertial_loads
from preprocess.fe.interfaces import bind_interfaces
from preprocess.reduction.independent_shapes import elastic_shapes
from preprocess.reduction.interface_statics import InterfaceStatics

METHODS = {
    "craig-bampton": pp.CraigBampton(modes=3),
    "guyan": pp.Guyan(),
    "rubin": pp.Rubin(modes=3),
    "craig-chang": pp.CraigChang(),
    "krylov": pp.Krylov(moments=1),
}


def part(seed: int) -> InterfaceStatics:
    """A small box of random proportions and material, held at both ends by rigid or averaged
    interfaces.
    """
    rng = np.random.default_rng(seed)
    size = rng.uniform(0.05, 0.2, 3) * [3, 1, 1]
    material = pp.Isotropic(
        E=10 ** rng.uniform(9, 11.5), nu=rng.uniform(0.0, 0.4), rho=rng.uniform(500, 9000)
    )
    fe = pp.assemble(
        pp.box_mesh(tuple(size), (2, 1, 1), "hex8", origin=tuple(rng.uniform(-1, 1, 3))), material
    )
    kinds = [(pp.Rigid, pp.Averaged)[k] for k in rng.integers(0, 2, 2)]
    return InterfaceStatics(
        fe, bind_interfaces({"a": kinds[0]("x0"), "b": kinds[1]("x1")}, fe.nodes, fe.node_sets)
    )


def still_fields(statics: InterfaceStatics) -> FloatArray:
    """Orthonormal displacements (3N, n) that move no interface and no node of a rigid one."""
    rows = [statics.interface_loads.T]
    for interface in statics.interfaces:
        if interface.drives_nodes:
            rows.append(np.eye(statics.size)[interface.dofs])
    return scipy.linalg.null_space(np.vstack(rows))


@pytest.mark.parametrize("seed", drawn(3, 60))
@pytest.mark.parametrize("method", METHODS)
def test_basis_and_residual_modes_carry_all_inertia(
    method: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Σ L_kᵀL_k of all shapes that do not move the interfaces is ΨᵀMZ (ZᵀMZ)⁻¹ ZᵀMΨ of all such
    fields Z.
    """
    monkeypatch.setattr(module, "MOST", 100)
    statics = part(seed)
    shapes = elastic_shapes(statics, METHODS[method].basis(statics, lambda *_: None).shapes).shapes
    M, Psi, Z = statics.fe.M.toarray(), statics.constraint_modes(), still_fields(statics)
    Z_M = Z.T @ M @ Psi
    whole = Z_M.T @ np.linalg.solve(Z.T @ M @ Z, Z_M)
    inside = module._still_shapes(statics, shapes)
    spin = inertial_loads(statics.fe, np.zeros(3), np.eye(3))[:, 6:]
    omega, found = module.residual_modes(statics, shapes, 100, exact=True, spin=spin)
    assert inside.shape[1] + found.shape[1] == Z.shape[1]
    both = np.hstack([inside, found])
    np.testing.assert_allclose(both.T @ M @ both, np.eye(Z.shape[1]), atol=1e-8)
    np.testing.assert_allclose(
        found.T @ statics.fe.K @ found,
        np.diag(omega**2),
        atol=1e-7 * float(np.max(omega, initial=1.0)) ** 2,
    )
    np.testing.assert_allclose(
        found.T @ statics.fe.K @ Psi, 0.0, atol=1e-8 * np.abs(statics.fe.K @ Psi).max()
    )
    L = both.T @ M @ Psi
    size = np.sqrt(np.diag(whole))
    np.testing.assert_allclose(
        L.T @ L / np.outer(size, size), whole / np.outer(size, size), atol=1e-7
    )


def test_they_are_the_next_modes_of_craig_and_bampton(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Of 4 modes the next 8 are those that a basis of 12 has, beside Ritz vectors above them; of a
    complete basis there are none; a file keeps them. Those of free modes move the frames.
    """
    mesh, steel = (
        pp.box_mesh((0.4, 0.03, 0.02), (6, 1, 1), "hex20"),
        pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    )
    ends = {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}

    def body(n: int, **options: object) -> fm.FlexibleBodyData:
        return pp.reduce(
            mesh,
            steel,
            interfaces=ends,
            method=pp.CraigBampton(modes=n),
            reference="root",
            stress=None,
            stiffening=False,
            **options,
        )

    few, more = body(4, damping=0.02), body(12)
    listed = [float(f) for f in str(more.provenance["normal-mode frequencies [Hz]"]).split(", ")]
    assert few.residual is not None
    apart = np.abs(few.residual.frequency[:, None] / listed[4:] - 1.0).min(axis=0)
    assert apart.max() < 1e-6
    assert len(few.residual.frequency) <= 8 + module.ADDED
    np.testing.assert_allclose(few.residual.damping, 0.02)
    assert np.abs(few.residual.stiffness).max() < 1e-6 * few.K_ff.max()
    few.save(tmp_path / "bar.h5")
    again = fm.FlexibleBodyData.load(tmp_path / "bar.h5").residual
    assert again is not None
    for name in ("frequency", "damping", "loads", "mass", "stiffness"):
        np.testing.assert_array_equal(getattr(again, name), getattr(few.residual, name))
    assert body(4, estimate=False).residual is None
    graded = body(4, damping=[0.01] * 4 + [0.03] * 6).residual
    assert graded is not None
    np.testing.assert_allclose(graded.damping, 0.01)
    free = pp.reduce(
        mesh,
        steel,
        interfaces=ends,
        method=pp.FreeModes(modes=4),
        reference="mean axes",
        stress=None,
    )
    assert few.residual.loads.shape[1] == 12
    assert free.residual is not None
    assert free.residual.loads.shape[1] == 24
    assert np.abs(free.residual.mass).max() < 1e-8
    free.save(tmp_path / "free.h5")
    again = fm.FlexibleBodyData.load(tmp_path / "free.h5").residual
    assert again is not None
    np.testing.assert_array_equal(again.loads, free.residual.loads)
    wrong = dataclasses.replace(free.residual, loads=free.residual.loads[:, :18])
    with pytest.raises(fm.InputError, match="18 columns; it must have 12, or 24"):
        dataclasses.replace(free, residual=wrong)


def test_they_contain_the_first_modes_along_and_about_the_axis() -> None:
    """c/(2L) of longitudinal and torsional waves in a slender rod with both ends held, above its
    first twelve modes of bending. The Ritz vector x (1 − x), with the Rayleigh quotient 10 instead
    of π², is 0.7 % above.
    """
    length, side, E, nu, rho = 1.0, 0.01, 70e9, 0.3, 2700.0
    x = np.linspace(0.0, length, 31)
    mesh = pp.Mesh.from_arrays(
        np.column_stack([x, 0 * x, 0 * x]),
        {"line2": [(k, k + 1) for k in range(30)]},
        node_sets={"a": [0], "b": [30]},
    )
    section = pp.RectangularSection(side, side, orientation=(0, 0, 1))
    fe = pp.assemble(mesh, pp.Isotropic(E=E, nu=nu, rho=rho), sections=section)
    ends = {"a": pp.Rigid("a"), "b": pp.Rigid("b")}
    rod = pp.reduce(fe, interfaces=ends, method=pp.CraigBampton(modes=4), reference="a")
    assert rod.residual is not None
    torsion = np.sqrt(E / (2 * (1 + nu)) * 0.140577 * 6.0 / rho)  # G J / (ρ I_p)
    for speed in (np.sqrt(E / rho), torsion):
        exact = speed / (2 * length)
        assert np.abs(rod.residual.frequency / exact - 1.0).min() < 0.01


def test_bases_without_static_shapes_have_the_rest_of_them() -> None:
    """Basis and residual modes of clamped modes span the static response to loads at the tip: the
    compliance is that of a beam, L³/(3EI) and L/(EA), below it with the basis alone.
    """
    length, side, E = 1.0, 0.02, 70e9
    x = np.linspace(0.0, length, 11)
    mesh = pp.Mesh.from_arrays(
        np.column_stack([x, 0 * x, 0 * x]),
        {"line2": [(k, k + 1) for k in range(10)]},
        node_sets={"b": [0], "a": [10]},  # in another order than their names
    )
    section = pp.RectangularSection(side, side, orientation=(0, 0, 1))
    fe = pp.assemble(mesh, pp.Isotropic(E=E, nu=0.3, rho=2700.0), sections=section)
    ends = {"b": pp.Rigid("b"), "a": pp.Rigid("a")}
    rod = pp.reduce(fe, interfaces=ends, method=pp.ClampedModes(modes=4, at="b"), reference="b")
    assert rod.residual is not None
    n = 6 + rod.nf + len(rod.residual.frequency)
    K = np.zeros((n, n))
    K[6:, 6:] = np.block(
        [
            [rod.K_ff, rod.residual.stiffness.T],
            [rod.residual.stiffness, np.diag((2 * np.pi * rod.residual.frequency) ** 2)],
        ]
    )

    def motion(name: str, at: int) -> FloatArray:
        """Of a frame by the body frame, the basis and the residual modes."""
        assert rod.residual is not None
        frame = rod.frames[name]
        turned = np.cross(np.eye(3), frame.x).T
        rigid = np.block([[np.eye(3), turned], [np.zeros((3, 3)), np.eye(3)]])
        elastic = np.vstack([frame.phi, frame.psi])
        return np.hstack([rigid, elastic, rod.residual.loads[:, at : at + 6].T])

    N = scipy.linalg.null_space(motion("b", 18), rcond=1e-9)
    at_tip = motion("a", 12) @ N
    compliance = at_tip @ np.linalg.solve(N.T @ K @ N, at_tip.T)
    EI = E * side**4 / 12
    shear = length / (5 / 6 * E / 2.6 * side**2)
    assert compliance[0, 0] == pytest.approx(length / (E * side**2), rel=1e-6)
    assert compliance[1, 1] == pytest.approx(length**3 / (3 * EI) + shear, rel=1e-4)
    basis = rod.frames["a"].phi[0] @ np.linalg.solve(rod.K_ff, rod.frames["a"].phi[0])
    assert basis < 1e-3 * compliance[0, 0]
