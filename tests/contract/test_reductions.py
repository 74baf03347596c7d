"""Contract of every reduction, on a bar small enough for dense matrices of the full model as the
oracle.
"""

import functools
from typing import NamedTuple

import numpy as np
import pytest
import scipy.linalg
from bars import solid_bar

from flexmbs.flexible_body.components import FloatArray
from preprocess.body.build import reduce
from preprocess.fe.fe_model import FEModel
from preprocess.fe.interfaces import Averaged, Interface, Rigid, bind_interfaces
from preprocess.reduction import REDUCTIONS, Reduction
from preprocess.reduction.accuracy import ReducedModel, accuracy, reduced_compliance
from preprocess.reduction.clamped_modes import ClampedModes
from preprocess.reduction.craig_bampton import CraigBampton
from preprocess.reduction.craig_chang import CraigChang
from preprocess.reduction.free_modes import FreeModes
from preprocess.reduction.guyan import Guyan
from preprocess.reduction.independent_shapes import elastic_shapes
from preprocess.reduction.interface_statics import InterfaceStatics
from preprocess.reduction.krylov import Krylov
from preprocess.reduction.rubin import Rubin
from preprocess.reduction.user_basis import GivenShapes

KINDS: dict[str, tuple[type[Interface], type[Interface]]] = {
    "rigid": (Rigid, Rigid),
    "mixed": (Rigid, Averaged),
}
EXACT_STATICS = ("craig-bampton", "guyan", "rubin", "craig-chang", "krylov")
ROUND_OFF = 1e-8


@functools.cache
def bar() -> FEModel:
    return solid_bar((4, 1, 1), (0.2, -0.1, 0.3))


def bending() -> FloatArray:
    """Shapes that bend and stretch the bar without moving its ends, polynomials of the position."""
    x, y, z = ((bar().nodes - [0.2, -0.05, 0.335]) / 0.6).T
    bump, slope = x**2 * (1 - x) ** 2, 2 * x - 6 * x**2 + 4 * x**3
    zero = np.zeros_like(x)
    fields = [
        (-y * slope, bump, zero),
        (-z * slope, zero, bump),
        (bump, zero, zero),
        (zero, -z * bump, y * bump),
    ]
    return np.stack([np.column_stack(field).ravel() for field in fields], axis=1)


METHODS: dict[str, Reduction] = {
    "craig-bampton": CraigBampton(modes=6),
    "guyan": Guyan(),
    "rubin": Rubin(modes=6),
    "craig-chang": CraigChang(),
    "krylov": Krylov(frequencies=(0.0, 1500.0), moments=1),
    "free-modes": FreeModes(modes=8),
    "clamped-modes": ClampedModes(at="a", modes=8),
    "given-shapes": GivenShapes(bending()),
}


class Case(NamedTuple):
    """A reduced body: the statics and the elastic shapes."""

    statics: InterfaceStatics
    shapes: FloatArray


@functools.cache
def statics(kinds: str) -> InterfaceStatics:
    fe = bar()
    interfaces = {"a": KINDS[kinds][0]("x0"), "b": KINDS[kinds][1]("x1")}
    return InterfaceStatics(fe, bind_interfaces(interfaces, fe.nodes, fe.node_sets))


@functools.cache
def case(method: str, kinds: str) -> Case:
    found = statics(kinds)
    blocks = METHODS[method].basis(found, lambda *_: None).shapes
    return Case(found, elastic_shapes(found, blocks).shapes)


@functools.cache
def full_model(kinds: str, held: int | None) -> FloatArray:
    """Displacements (3N, n) that the rigid interfaces allow, optionally with one interface held."""
    found, rows = statics(kinds), []
    for k, interface in enumerate(found.interfaces):
        picked = np.zeros((3 * len(interface.nodes), found.size))
        picked[np.arange(len(picked)), (3 * interface.nodes[:, None] + np.arange(3)).ravel()] = 1.0
        T = interface.rigid_motion.reshape(-1, 6)
        motion = np.linalg.lstsq(T, picked, rcond=None)[0]
        if interface.kind == "rigid":
            rows.append(picked - T @ motion)
        if k == held:
            rows.append(motion)
    return scipy.linalg.null_space(np.vstack(rows))


@functools.cache
def full_frequencies(kinds: str, held: int | None) -> FloatArray:
    """Frequencies [Hz] of the full model, without the rigid-body modes."""
    Z = full_model(kinds, held)
    omega2 = scipy.linalg.eigh(
        Z.T @ bar().K.toarray() @ Z, Z.T @ bar().M.toarray() @ Z, eigvals_only=True
    )
    return np.sqrt(omega2[6 if held is None else 0 :]) / (2 * np.pi)


def reduced_frequencies(each: Case, held: int | None) -> FloatArray:
    """Frequencies [Hz] of the reduced model, its rigid-body motions among the shapes, held by dense
    constraints.
    """
    S = np.hstack([each.statics.rigid_modes, each.shapes])
    N = np.eye(S.shape[1])
    if held is not None:
        N = scipy.linalg.null_space(each.statics.interface_loads[:, 6 * held : 6 * held + 6].T @ S)
    omega2 = scipy.linalg.eigh(
        N.T @ (S.T @ (bar().K @ S)) @ N, N.T @ (S.T @ bar().mass_product(S)) @ N, eigvals_only=True
    )
    return np.sqrt(omega2[6 if held is None else 0 :]) / (2 * np.pi)


each_case = pytest.mark.parametrize(
    ("method", "kinds"), [(method, kinds) for method in METHODS for kinds in KINDS]
)
each_support = pytest.mark.parametrize("held", [None, 0, 1], ids=["free", "a", "b"])


def test_every_reduction_is_here() -> None:
    assert set(METHODS) == set(REDUCTIONS)
    assert all(type(method) is REDUCTIONS[kind] for kind, method in METHODS.items())


@each_case
def test_shapes_are_orthonormal_elastic_and_respect_rigid_interfaces(
    method: str, kinds: str
) -> None:
    each = case(method, kinds)
    M_shapes = bar().mass_product(each.shapes)
    np.testing.assert_allclose(each.shapes.T @ M_shapes, np.eye(each.shapes.shape[1]), atol=1e-12)
    assert np.abs(each.statics.rigid_modes.T @ M_shapes).max() < 1e-12
    np.testing.assert_allclose(
        each.statics.admissible(each.shapes), each.shapes, atol=1e-12 * np.abs(each.shapes).max()
    )


@pytest.mark.parametrize("method", METHODS)
def test_bodies_are_sound_and_their_rigid_body_part_is_that_of_the_solid(method: str) -> None:
    """Mass, centre of mass and inertia of the box in closed form; the shapes add no rigid-body
    motion.
    """
    ends = {"a": Rigid("x0"), "b": Averaged("x1")}
    body = reduce(
        bar(),
        interfaces=ends,
        method=METHODS[method],
        reference="mean axes",
        stiffening=False,
        stress=None,
    )
    report = body.validate()
    assert report.ok, str(report)
    mass = 7850.0 * 0.6 * 0.1 * 0.07
    assert body.mass == pytest.approx(mass, rel=1e-12)
    np.testing.assert_allclose(body.frames["a"].x, [-0.3, 0, 0], atol=1e-12)
    moments = mass / 12 * np.array([0.1**2 + 0.07**2, 0.6**2 + 0.07**2, 0.6**2 + 0.1**2])
    np.testing.assert_allclose(body.inertia, np.diag(moments), atol=1e-12 * mass)
    assert body.nf == case(method, "mixed").shapes.shape[1]


@each_case
@each_support
def test_frequencies_come_from_above(method: str, kinds: str, held: int | None) -> None:
    """Rayleigh and Ritz: the i-th frequency of the reduced model is no lower than the i-th of the
    full one.
    """
    found = reduced_frequencies(case(method, kinds), held)
    full = full_frequencies(kinds, held)[: len(found)]
    assert len(found) == case(method, kinds).shapes.shape[1]
    assert np.all(found >= full * (1 - 1e-9))


@pytest.mark.parametrize("kinds", KINDS)
def test_normal_modes_are_those_of_the_full_model(kinds: str) -> None:
    for method, held in (("rubin", None), ("free-modes", None), ("clamped-modes", 0)):
        found = reduced_frequencies(case(method, kinds), held)
        np.testing.assert_allclose(
            found[:6], full_frequencies(kinds, held)[:6], rtol=1e-9, err_msg=method
        )


@each_case
@pytest.mark.parametrize("held", [0, 1], ids=["a", "b"])
def test_interface_compliance(method: str, kinds: str, held: int) -> None:
    """Displacements of one interface under its unit loads, the other held; oracle: dense solution
    of the full model.
    """
    each = case(method, kinds)
    Z = full_model(kinds, held)
    L = each.statics.interface_loads
    full = L.T @ Z @ np.linalg.solve(Z.T @ bar().K.toarray() @ Z, Z.T @ L)
    other = slice(6, 12) if held == 0 else slice(0, 6)
    found = reduced_compliance(ReducedModel.of(each.statics, each.shapes), held)[other, other]
    scale = np.sqrt(np.outer(np.diag(full)[other], np.diag(full)[other]))
    error = np.abs(found - full[other, other]) / scale
    assert np.all(np.diag(found) <= np.diag(full)[other] * (1 + ROUND_OFF))
    assert REDUCTIONS[method].exact_statics == (method in EXACT_STATICS)
    if method in EXACT_STATICS:
        assert error.max() < ROUND_OFF
    else:
        assert error.max() > 1e-4


@each_case
def test_estimated_errors_are_the_measured_ones_within_a_factor_of_two(
    method: str, kinds: str
) -> None:
    """Frequencies: free, and held at each interface; at most what is measured, and at least half of
    it.
    """
    each = case(method, kinds)
    found = accuracy(each.statics, each.shapes, 2500.0)
    assert [errors.support for errors in found.frequencies] == ["free", "held at a", "held at b"]
    for errors, held in zip(found.frequencies, (None, 0, 1)):
        count = len(errors.frequency)
        assert count >= 3
        np.testing.assert_allclose(
            errors.frequency, reduced_frequencies(each, held)[:count], rtol=1e-8
        )
        measured = errors.frequency / full_frequencies(kinds, held)[:count] - 1
        assert np.all(errors.error <= measured * (1 + 1e-3) + ROUND_OFF)
        assert np.all(errors.error >= 0.5 * measured - ROUND_OFF)
    assert (max(found.compliance.values()) < ROUND_OFF) == (method in EXACT_STATICS)
