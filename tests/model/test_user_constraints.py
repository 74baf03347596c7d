"""User-defined constraints against equivalent joints:
accelerations and forces at states in motion.
"""

from typing import Any

import constraint_functions as given
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import flexmbs as fm
from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.work import make_work
from flexmbs.motions import Ball, Slide
from flexmbs.results.state import State, settled_state

INERTIA = {"mass": 2.0, "inertia": (0.3, 0.4, 0.5), "com": (0.1, -0.2, 0.05)}


def body(**initial) -> fm.Model:
    """A body that moves freely, in motion and tilted."""
    model = fm.Model("m", frames={"hook": fm.Frame((0.2, -0.1, 0.3), ("x", 0.4))})
    model.add(
        fm.RigidBody("body", frames={"eye": fm.Frame((0.3, 0.1, -0.2), ("z", 0.7))}, **INERTIA)
    )
    turn = Rotation.from_rotvec([0.3, -0.5, 0.2]).as_quat(scalar_first=True)
    start = {"q0": (0.7, 0.6, 0.9, *turn), "v0": (0.5, -0.4, 0.8, 1.2, -0.7, 0.9)} | initial
    model.add(fm.Free("motion", "ground", "body", **start))
    return model


def state_with(*items, t: float = 0.0) -> State:
    """The body with a constraint."""
    model = body()
    for item in items:
        model.add(item)
    model.cuts = ["constraint"] if items[0].carries else []
    return fm.state(model, t=t)


def check_equal(found: State, *joint, tolerance: float) -> None:
    """The same position, velocities and accelerations as with the equivalent joint."""
    other = state_with(*joint, t=found.t)
    expected = settled_state(other.compiled, found.t, found.q, found.s, other.beta)
    np.testing.assert_allclose(found.q, expected.q, atol=tolerance)
    np.testing.assert_allclose(found.s, expected.s, atol=tolerance)
    np.testing.assert_allclose(found.sd, expected.sd, atol=tolerance)
    assert np.abs(found.sd).max() > 0.1


ENDS = ("constraint", "ground/hook", "body/eye")


@pytest.mark.parametrize("how", ["given", "complex steps", "differences"])
def test_rod(how) -> None:
    """Given derivatives, complex steps, differences: the distance joint."""
    function = given.rod_of_reals if how == "differences" else given.rod
    jacobian = given.rod_jacobian if how == "given" else None
    found = state_with(fm.Holonomic(*ENDS, function=function, jacobian=jacobian))
    check_equal(found, fm.Distance(*ENDS, length=given.LENGTH), tolerance=1e-9)


@pytest.mark.parametrize(
    ("function", "calls"), [(given.rod, 1 + 6 + 4), (given.rod_of_reals, 1 + 24 + 5)]
)
def test_an_evaluation_takes_few_calls(function, calls) -> None:
    """The value, six derivatives, and g̈ along the motion: by complex steps one call each, by
    differences a stencil each.
    """
    count = 0

    def counted(t, x, A):
        nonlocal count
        count += 1
        return function(t, x, A)

    now = state_with(fm.Holonomic(*ENDS, function=counted))
    work = make_work(now.compiled.system, now.beta)
    count = 0
    terms(now.compiled.system, work, 0.0, now.q, now.s)
    assert count == calls


@pytest.mark.parametrize("jacobian", [given.hinge_jacobian, None])
def test_hinge_of_five_equations(jacobian) -> None:
    found = state_with(fm.Holonomic(*ENDS, function=given.hinge, equations=5, jacobian=jacobian))
    check_equal(found, fm.Revolute(*ENDS, axis="y"), tolerance=1e-9)


@pytest.mark.parametrize("jacobian", [given.shaken_jacobian, None])
def test_rheonomic_support(jacobian) -> None:
    """A slide along x with a drive, and a ball joint on it."""
    item = fm.Holonomic(
        *ENDS, function=given.shaken, equations=3, jacobian=jacobian, rheonomic=True
    )
    shaker = fm.Drive("shaker", "constraint", fm.Sine(amplitude=0.1, frequency=3.0 / (2.0 * np.pi)))
    support = fm.Chain(*ENDS, motions=(Slide("x"), Ball()))
    check_equal(state_with(item, t=0.4), support, shaker, tolerance=1e-9)


@pytest.mark.parametrize(
    "rows",
    [
        fm.VelocityRows(*ENDS, covectors=(0.0, 1.0, 0.0, 0.0, 0.0, 0.0)),
        fm.VelocityRows(*ENDS, function=given.blade, axes="parent"),
    ],
)
def test_blade(rows) -> None:
    check_equal(state_with(rows), fm.KnifeEdge(*ENDS), tolerance=1e-10)


def test_rows_with_a_rate_of_their_own() -> None:
    """ẋ = 0.4 t in the parent's axes: the belt's acceleration; constant rows with a₀ keep a
    velocity.
    """
    model = body()
    model.add(
        fm.VelocityRows(
            "belt", "ground", "body", function=given.conveyor, axes="parent", rheonomic=True
        )
    )
    model.add(fm.VelocityRows("spin", "ground", "body", covectors=[(0, 0, 0, 0, 0, 1, -2.5)]))
    here = fm.state(model, t=0.7)
    A = Rotation.from_quat(here.q[3:], scalar_first=True).as_matrix()
    v, w, vd, wd = here.s[:3], here.s[3:], here.sd[:3], here.sd[3:]
    assert (A @ v)[0] == pytest.approx(0.28, abs=1e-12)
    assert (A @ (vd + np.cross(w, v)))[0] == pytest.approx(0.4, abs=1e-9)
    assert w[2] == pytest.approx(2.5, abs=1e-12)
    assert wd[2] == pytest.approx(0.0, abs=1e-12)
    lines = model.check().classes
    assert (
        "belt  velocity-rows  1 row  nonholonomic  rheonomic    bilateral  kinematic  implicit"
        in lines
    )
    assert (
        "spin  velocity-rows  1 row  nonholonomic  scleronomic  bilateral  geometric  implicit"
        in lines
    )
    told = [
        line
        for line in model.check().warnings
        if "the work of its forces is not in the energy balance" in line
    ]
    assert [line.split(":")[0] for line in told] == ["joints.belt", "joints.spin"]


def test_derivatives_not_given_are_reported() -> None:
    model = body()
    model.add(fm.Holonomic(*ENDS, function=given.rod))
    assert any(
        "constraint.jacobian: its derivatives take 10 to 40 calls per evaluation" in line
        for line in model.check().warnings
    )


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (
            fm.Holonomic(*ENDS, function=given.rod, jacobian=given.wrong_jacobian),
            "jacobian: ∂g0/∂v_z is given as -",
        ),
        (
            fm.Holonomic(*ENDS, function=given.rod, jacobian=given.short_jacobian),
            "jacobian: gives 3 numbers, not 1 × 6",
        ),
        (fm.Holonomic(*ENDS, function=given.two_values), "function: gives 2 numbers, not 1"),
        (
            fm.Holonomic(*ENDS, function=given.shaken, equations=3),
            "rheonomic: the function depends on time; set rheonomic=True",
        ),
        (
            fm.VelocityRows(*ENDS, function=given.conveyor),
            "rheonomic: the function depends on time; set rheonomic=True",
        ),
        (
            fm.VelocityRows(*ENDS, function=given.blade, equations=2),
            "function: gives 1 × 6 numbers, not 2 × 6 or 2 × 7",
        ),
        (
            fm.VelocityRows(*ENDS, function=given.single_number),
            "function: gives a single number, not 1 × 6 or 1 × 7",
        ),
        (
            fm.Holonomic(*ENDS, function=given.forgotten),
            "function: gives None at a general pose; return real numbers",
        ),
        (
            fm.VelocityRows(*ENDS, function=given.of_complex_numbers),
            "function: gives complex numbers at a general pose; return",
        ),
        (
            fm.Holonomic(*ENDS, function=given.raises),
            "function: raises ZeroDivisionError: 'no such pose' at the declared start and near it",
        ),
    ],
)
def test_wrong_functions(item, message) -> None:
    model = body()
    model.add(item)
    errors = model.check().errors
    assert len(errors) == 1
    assert errors[0].startswith("joints.constraint.")
    assert message in errors[0]
    with pytest.raises(fm.InputError):
        fm.state(model)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fm.VelocityRows(*ENDS), "either constant covectors or a function"),
        (
            lambda: fm.VelocityRows(*ENDS, covectors=(0, 1, 0)),
            "rows of 6 numbers on (v, ω), or 7 with a₀, not 1 of 3",
        ),
        (
            lambda: fm.VelocityRows(*ENDS, function=given.blade, axes="world"),
            "axes: must be 'child' or 'parent', not 'world'",
        ),
        (
            lambda: fm.VelocityRows(*ENDS, covectors=(0, 1, 0, 0, 0, 0), rheonomic=True),
            "constant covectors do not depend",
        ),
        (
            lambda: fm.Holonomic(*ENDS, function=given.rod, equations=7),
            "must be 1 … 6 equations between two frames, not 7",
        ),
        (
            lambda: fm.Holonomic(*ENDS, function=lambda x: 0.0),
            "the function must be f(t, x, A), with 3 arguments, not 1",
        ),
    ],
)
def test_wrong_declarations(make, message) -> None:
    with pytest.raises(fm.InputError) as error:
        make()
    assert message in str(error.value)


def test_contradicting_velocities_are_rejected() -> None:
    """No velocity satisfies both rows, nor a drive and a blade across its motion."""
    model = body()
    model.add(fm.VelocityRows("still", "ground", "body", covectors=(0, 1, 0, 0, 0, 0)))
    model.add(fm.VelocityRows("moved", "ground", "body", covectors=(0, 1, 0, 0, 0, 0, 0.5)))
    error = (
        "joints.moved: its velocities contradict the other constraints, residual 0.5 (m/s or "
        "rad/s), those of 'still'"
    )
    assert any(line.startswith(error) for line in model.check().errors)
    driven = fm.Model("driven")
    driven.add(fm.RigidBody("body", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    driven.add(fm.Prismatic("slide", "ground", "body", axis="y"))
    driven.add(fm.Drive("motor", "slide", fm.Ramp(0.0, 1.0)))
    driven.add(fm.KnifeEdge("blade", "ground", "body"))
    with pytest.raises(
        fm.InputError,
        match=r"drives\.motor: its velocities contradict the other constraints, residual 1 ",
    ):
        fm.state(driven)


SIZES = (1e-15, 1e15)
ROWS = {
    "HolonomicCoupling": lambda c: fm.HolonomicCoupling(
        "row", ["slide.0", "slide.1"], lambda t, x: c * (x @ x - 1.0)
    ),
    "VelocityCoupling": lambda c: fm.VelocityCoupling(
        "row", ["slide.0", "slide.1"], lambda t, x: [c * x[0], c * x[1]]
    ),
    "Holonomic": lambda c: fm.Holonomic(
        "row", "ground", "bob", function=lambda t, x, A: c * (x @ x - 1.0)
    ),
    "VelocityRows": lambda c: fm.VelocityRows(
        "row",
        "ground",
        "bob",
        function=lambda t, x, A: [[c * x[0], c * x[1], 0, 0, 0, 0]],
        axes="parent",
    ),
    "covectors": lambda c: fm.VelocityRows("row", "ground", "bob", covectors=[(0, c, 0, 0, 0, 0)]),
}


def sliding(kind: str, size: float, **start) -> fm.Model:
    """A point mass under one user row of a given size."""
    model = fm.Model("sliding", gravity=(0, -9.81, 0))
    model.add(fm.PointMass("bob", mass=1.0))
    model.add(fm.Translation("slide", "ground", "bob", **start))
    model.add(ROWS[kind](size))
    return model


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", ROWS)
def test_rows_of_unsuitable_size_are_refused(kind, size) -> None:
    with pytest.raises(
        fm.InputError, match=r"row\.(function|covectors): .* divide it by \d\.\de[+-]15$"
    ):
        fm.state(sliding(kind, size, q0=(1.0, 0.0, 0.0)))


@pytest.mark.parametrize("kind", ["HolonomicCoupling", "Holonomic"])
def test_small_rows_close_as_far_as_others(kind) -> None:
    """The start is 1 mm beside the circle: a residual of 1e-8 with rows of 1e-5."""
    with pytest.warns(fm.AssemblyWarning):
        found = fm.state(sliding(kind, 5e-6, q0=(1.001, 0.0, 0.0)))
    assert abs(np.linalg.norm(found.q[:2]) - 1.0) < 1e-9


def test_small_rows_contradict_as_others() -> None:
    model = sliding("covectors", 1e-5, q0=(1.0, 0.0, 0.0))
    model.add(fm.VelocityRows("moved", "ground", "bob", covectors=(0, 1e-5, 0, 0, 0, 0, 5e-6)))
    with pytest.raises(
        fm.InputError, match=r"joints\.moved: its velocities contradict .* those of 'row'; "
    ):
        fm.state(model)


def limited_to(lower: float, upper: float, value: Any) -> Any:
    """A user function that is defined only where its first coordinate is within limits."""

    def function(t: float, x: np.ndarray, *A: np.ndarray) -> Any:
        if not lower <= np.real(x[0]) <= upper:
            raise ValueError(f"{x[0]} is outside the table")
        return value(x)

    return function


def test_functions_with_a_limited_domain_are_examined_near_the_start() -> None:
    """A profile of 4 cm about the start, far from any general pose, for relations, contacts and
    couplings.
    """
    for item in (
        fm.Holonomic(
            "c", "ground", "ball", limited_to(4.98, 5.02, lambda x: x[2] - x[0] ** 2 + 25.0)
        ),
        fm.VelocityRows(
            "c", "ground", "ball", function=limited_to(4.98, 5.02, lambda x: [(0, 1, 0, 0, 0, 0)])
        ),
        fm.UserContact("c", "ground", "ball", limited_to(4.98, 5.02, lambda x: x[2] + 1.0)),
        fm.HolonomicCoupling(
            "c", ["way.0", "way.1"], limited_to(4.98, 5.02, lambda x: x[1] - x[0] + 5.0)
        ),
        fm.VelocityCoupling("c", ["way.0", "way.1"], limited_to(4.98, 5.02, lambda x: [1.0, -1.0])),
    ):
        model = fm.Model("profile", gravity=(0, 0, 0))
        model.add(fm.PointMass("ball", mass=1.0))
        model.add(fm.Translation("way", "ground", "ball", q0=(5.0, 0.0, 0.0)))
        model.add(item)
        assert not model.check().errors, item
        model.joints["way"] = fm.Translation("way", "ground", "ball", q0=(6.0, 0.0, 0.0))
        [line] = model.check().errors
        assert "outside the table" in line
        assert "at the declared start and near it" in line
