"""Velocities that a drive with an initial rate gives to joints whose v0 nobody declared are
reported with value and remedy.
"""

import dataclasses

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.model.laws import TimeLaw


def cart(motion: TimeLaw, v0: float | None = None) -> fm.Model:
    """A pendulum of 1 kg and 0.5 m on a driven cart."""
    model = fm.Model("pendulum on a cart")
    frame = model.add(fm.RigidBody("cart", mass=5.0, inertia=(1, 1, 1)))
    bob = model.add(fm.RigidBody("bob", mass=1.0, com=(0, 0, -0.5), inertia=(0.01, 0.01, 0.001)))
    model.add(fm.Prismatic("rail", model.ground, frame, axis="x"))
    model.add(fm.Revolute("hinge", frame, bob, axis="y", v0=v0))
    model.add(fm.Drive("push", "rail", motion))
    return model


def hauled(by: str, rate: float) -> fm.Model:
    """The same cart, hauled by a coupling with an offset of time, by a geared drum that is declared
    to turn, or by a relation.
    """
    model = cart(fm.Ramp(0.0, rate=0.0))
    model.drives.clear()
    if by == "winch":
        model.add(fm.LinearCoupling(by, {"rail": 1.0}, offset=fm.Ramp(0.0, rate=rate)))
    elif by == "rack":
        model.add(fm.RigidBody("drum", mass=1.0, inertia=(0.1, 0.1, 0.1)))
        model.add(fm.Revolute("shaft", model.ground, "drum", axis="y", v0=5.0 * rate))
        model.add(fm.RackPinion(by, "shaft", "rail", radius=0.2))
    else:
        model.add(
            fm.Holonomic(
                by, model.ground, "cart", lambda t, x, A: (x[0] - rate * t,),
                jacobian=lambda t, x, A: ((1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -rate),), rheonomic=True,
            )
        )  # fmt: skip
    return model


def told(model: fm.Model, coordinates: str) -> list[str]:
    run = fm.simulate(model, t_end=0.02, step=1e-2, coordinates=coordinates)
    return [
        f"{check.status}: {check}" for check in run.audit if check.title == "Initial velocities"
    ]


@pytest.mark.parametrize("coordinates", ["joint", "absolute", "rheonomic"])
def test_the_response_to_a_blow_is_reported(coordinates: str) -> None:
    """m c/(J + m c²) · 1 m/s = 0.5/0.26 = 1.92 rad/s; declared velocities and drives that start at
    rest are none.
    """
    found = told(cart(fm.Ramp(0.0, rate=1.0)), coordinates)
    assert len(found) == 1
    assert found[0].startswith("WARN: Initial velocities: hinge at 1.92 rad/s: not declared")
    assert "push" in found[0]
    assert "declare v0" in found[0]
    assert told(cart(fm.Ramp(0.0, rate=1.0), v0=0.0), coordinates) == []
    assert told(cart(fm.SmoothStep(0.3, duration=0.2)), coordinates) == []


def test_velocities_that_the_constraints_determine_are_no_response() -> None:
    """A slider-crank at constant speed: all follow from the crank."""
    model = fm.Model("slider-crank", gravity=(0, 0, 0))
    crank = model.add(
        fm.RigidBody("crank", mass=1.0, inertia=(0.1, 0.1, 0.1), frames={"end": (0.2, 0, 0)})
    )
    rod = model.add(
        fm.RigidBody("rod", mass=1.0, inertia=(0.1, 0.1, 0.1), frames={"end": (0.6, 0, 0)})
    )
    slider = model.add(fm.RigidBody("slider", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    model.add(fm.Revolute("main", model.ground, crank, q0=0.5))
    model.add(fm.Revolute("pin", crank["end"], rod, q0=-0.66))
    model.add(fm.Prismatic("guide", model.ground, slider, q0=0.77))
    model.add(fm.Revolute("wrist", rod["end"], slider, q0=0.16))
    model.add(fm.Drive("motor", "main", fm.Ramp(0.5, rate=2.0)))
    assert told(model, "joint") == []


def test_slopes_at_the_ends_of_splines_are_no_jumps() -> None:
    """A run-up as a table: the initial rate of its spline is 3e-5 of the final one; a rate of 1 %
    is reported.
    """
    time = np.linspace(0.0, 0.02, 41)

    def run_up(rate: float) -> fm.Table:
        return fm.Table(
            time, rate * time + time**3 / 6e-4 - time**4 / 2.4e-5, interpolation="spline"
        )

    assert 0.0 < abs(run_up(0.0).state(0.0)[1]) < 1e-4
    assert told(cart(run_up(0.0)), "joint") == []
    assert len(told(cart(run_up(0.01)), "joint")) == 1


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("by", ["winch", "rack", "rope"])
def test_couplings_and_relations_with_a_rate_are_reported(by: str, coordinates: str) -> None:
    """The same blow as by a drive, 1.92 rad/s in either direction; at rest, and with all velocities
    declared, none.
    """
    (found,) = told(hauled(by, 1.0), coordinates)
    assert found.startswith("WARN: Initial velocities: hinge at 1.92 rad/s: not declared")
    assert f"the jump of {by} to an initial rate" in found
    assert told(hauled(by, 0.0), coordinates) == []
    declared = hauled(by, 1.0)
    declared.joints["hinge"] = dataclasses.replace(declared.joints["hinge"], v0=0.0)
    assert told(declared, coordinates) == []


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_body_without_joint_that_a_relation_pulls_is_reported(coordinates: str) -> None:
    """A rope at the end of a free rod, r from its centre: ω = ẋ r m/(J + m r²)."""
    model = fm.Model("rod", gravity=(0, 0, 0))
    model.add(fm.RigidBody("rod", mass=2.0, inertia=(0.3, 0.3, 0.3), frames={"end": (0, 0, 0.5)}))
    model.add(
        fm.Holonomic(
            "rope", model.ground, "rod/end", lambda t, x, A: (x[0] - t,),
            jacobian=lambda t, x, A: ((1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0),), rheonomic=True,
        )
    )  # fmt: skip
    model.add(fm.PointSpring("aside", model.ground, "rod", k=1.0))
    (found,) = told(model, coordinates)
    assert found.startswith("WARN: Initial velocities: rod.free at 1.25")


def test_a_driven_coordinate_is_no_response() -> None:
    """The other coordinates of its joint are free and start at rest."""
    model = fm.Model("block", gravity=(0, 0, 0))
    model.add(fm.PointMass("block", mass=2.0))
    model.add(fm.Translation("way", "ground", "block"))
    model.add(fm.Drive("shake", "way", fm.Sine(0.02, frequency=3.0), coordinate=0))
    found = fm.simulate(model, t_end=0.1, step=1e-3)
    assert "Initial velocities" not in [check.title for check in found.audit]
