"""A run that is stopped, stored and continued by another run is bitwise the whole one, for every
combination of methods.
"""

import math
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rods import rod

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "formalisms"))
import overconstrained

import flexmbs as fm
from flexmbs.formalisms import FORMALISMS
from flexmbs.integrators import INTEGRATORS
from flexmbs.integrators.run_context import DONE, Clock, Counts
from flexmbs.studies.run.options import has_option, requested_options
from flexmbs.studies.run.run_setup import RunStart, prepared
from flexmbs.time_stepping.outcome import INTERRUPTED
from flexmbs.time_stepping.run import Run
from flexmbs.time_stepping.run_state import RunState, arrays

T = 0.12
STEP = 4e-3


def arm() -> fm.Model:
    """A flexible rod and a bar with friction, discrete and continuous controllers, delays, a
    Maxwell element.
    """
    model = fm.Model("arm")
    upper = model.add(fm.FlexibleBody("upper", data=rod(), qf0=(0.02, 0.0, 0.03, 0.0)))
    bar = model.add(
        fm.RigidBody(
            "bar",
            mass=0.5,
            inertia=(0.01, 0.04, 0.04),
            com=(0.3, 0, 0),
            frames={"tip": (0.6, 0, 0)},
        )
    )
    model.add(fm.Revolute("shoulder", model.ground, upper["root"], axis="y", q0=-0.5))
    model.add(
        fm.Universal("elbow", upper["tip"], bar, axes=("y", "z"), q0=(0.4, 0.2), v0=(0.5, -1.0))
    )
    digital = fm.DigitalPID(
        8.0, 2.0, 0.3, sample_time=0.017, delay=0.021, computing_time=0.003, reference=0.2
    )
    model.add(fm.JointTorque("digital", "elbow", digital))
    model.add(
        fm.JointTorque("limited", "shoulder", fm.LimitedPID(9.0, 4.0, 1.0, lower=-3.0, upper=3.0))
    )
    model.add(
        fm.JointTorque("dashpot", "elbow", fm.Maxwell(3.0, relaxation_time=0.05), coordinate=1)
    )
    model.add(
        fm.JointFriction(
            "rubbing",
            "shoulder",
            coulomb=0.05,
            static=0.08,
            stribeck_velocity=0.1,
            regularization=0.01,
        )
    )
    return model


def linkage() -> fm.Model:
    """A closed loop with a drive whose rate jumps, a spring and a controller by a user function
    with memory.
    """
    model = fm.Model("linkage", frames={"pivot": (0.9, 0.0, -0.1)})
    crank = model.add(
        fm.RigidBody("crank", mass=1.0, inertia=(0.01, 0.01, 0.01), frames={"end": (0.2, 0, 0)})
    )
    rocker = model.add(
        fm.RigidBody("rocker", mass=1.5, inertia=(0.1, 0.1, 0.1), frames={"end": (0, 0, 0.6)})
    )
    model.add(fm.Revolute("shaft", model.ground, crank, axis="y"))
    model.add(fm.Revolute("pivot", "ground/pivot", rocker, axis="y"))
    model.add(fm.Distance("rod", crank["end"], rocker["end"], length=math.hypot(0.7, 0.5)))
    model.add(fm.Drive("motor", "shaft", fm.Ramp(0.0, 3.0, start=0.03, end=0.08)))
    control = fm.DigitalController(
        lambda memory, t, x, v: (-2.0 * v, [memory[0] + 1.0]), sample_time=0.01, memory=(0.0,)
    )
    model.add(fm.JointTorque("damper", "pivot", control))
    model.add(fm.PointSpring("spring", "ground/pivot", "crank/end", k=30.0, c=0.3))
    return model


def stop_with_law() -> fm.Model:
    """A bar that strikes a plane with a force law within the run, on a joint with friction from its
    reactions.
    """
    model = fm.Model("stop", frames={"floor": (0.0, 0.0, -0.27)})
    bar = model.add(
        fm.RigidBody(
            "bar", mass=1.0, inertia=(0.02, 0.1, 0.1), com=(0.5, 0, 0), frames={"tip": (1, 0, 0)}
        )
    )
    model.add(fm.Revolute("hinge", model.ground, bar, axis="y", q0=0.2, v0=1.5))
    law = fm.HuntCrossley(3e4, damping=0.3)
    model.add(fm.SpherePlane("floor", "ground/floor", "bar/tip", normal="z", radius=0.02, law=law))
    return model


def blocks() -> fm.Model:
    """Rigid contacts with friction and restitution: a block that slides and stops, a ball that
    bounces.
    """
    model = fm.Model("blocks")
    for name, height, slip in (("block", 0.0, 0.25), ("ball", 0.01, 0.1)):
        body = model.add(fm.RigidBody(name, mass=2.0, inertia=(1, 1, 1)))
        model.add(
            fm.Translation(f"{name} flight", model.ground, body, q0=(0, 0, height), v0=(slip, 0, 0))
        )
        model.add(
            fm.SpherePlane(f"{name} floor", model.ground, body, friction=0.3, restitution=0.6)
        )
    return model


def bennett() -> fm.Model:
    """Redundant rows, of which others are independent within the run."""
    return overconstrained.linkage(
        overconstrained.Loop(overconstrained.bennett(), (2.8, 0.9, -2.8, -0.9)), 2.0 * math.pi
    )


SMOOTH: dict[str, Callable[[], fm.Model]] = {
    "arm": arm,
    "linkage": linkage,
    "stop": stop_with_law,
    "bennett": bennett,
}
CASES = [
    (name, form, coordinates, integrator)
    for form, kind in FORMALISMS.items()
    for coordinates in kind.coordinates
    for integrator, method in INTEGRATORS.items()
    if method.needs in kind.provides and (coordinates != "rheonomic" or method.takes_time)
    for name in (("blocks", "arm") if method.contacts else SMOOTH)
    if not (name == "blocks" and coordinates == "rheonomic")
]


def make(model: fm.Model, chosen: dict[str, Any], events: tuple[fm.Event, ...] = ()) -> Run:
    keys = (
        "formalism",
        "coordinates",
        "integrator",
        "stabilization",
        "rtol",
        "atol",
        "rho_inf",
        "step",
    )
    given = {"t_end": T, "output_step": T / 9} | dict.fromkeys(keys) | chosen
    return prepared(model, requested_options(model, given), RunStart(), events, None).run


def interrupted(run: Run, t: float) -> int:
    """Runs to the first pause behind time t. Returns the number of outputs."""
    run.keep = lambda reached: run.stop() if run.context.clock.time > t else None
    status, reached = run.integrate(None)
    assert status == INTERRUPTED
    return reached


def compare(whole: Run, resumed: Run, reached: int) -> None:
    """Outputs from ``reached`` on, the final state, events and impacts, bitwise."""
    for mine, theirs in zip(resumed.out, whole.out):
        np.testing.assert_array_equal(mine[reached:], theirs[reached:])
    assert 0 < reached < len(whole.out.t)
    one, other = RunState(whole).saved(), RunState(resumed).saved()
    for state in (one, other):
        Counts(state["context.counts"]).paused = 0
    for name, array in one.items():
        if not name.startswith("common.work.") or ".path." in name:
            np.testing.assert_array_equal(other[name], array, err_msg=name)


@pytest.mark.parametrize(("name", "formalism", "coordinates", "integrator"), CASES)
def test_a_resumed_run_is_bitwise_the_whole_one(
    name: str, formalism: str, coordinates: str, integrator: str, tmp_path: pathlib.Path
) -> None:
    model = (SMOOTH | {"blocks": blocks})[name]
    chosen: dict[str, Any] = {
        "formalism": formalism,
        "coordinates": coordinates,
        "integrator": integrator,
    }
    controlled = has_option(INTEGRATORS[integrator], "rtol") and not (
        integrator == "generalized-alpha" and name == "arm"
    )
    chosen |= {"rtol": 1e-4, "atol": 1e-6} if controlled else {"step": STEP}
    joint = list(model().joints)[name == "bennett"]  # not the one that is driven
    events = (fm.Event("passing", joint=joint, velocity=True, value=0.05),)
    whole = make(model(), chosen, events)
    assert whole.integrate(None) == (DONE, 10)
    first = make(model(), chosen, events)
    reached = interrupted(first, T / 3)
    np.savez(tmp_path / "state.npz", **RunState(first).saved())
    for array in arrays(first).values():  # nothing of it is used further on
        array[...] = 0
    second = make(model(), chosen, events)
    with np.load(tmp_path / "state.npz", allow_pickle=False) as state:
        RunState(second).restore(dict(state))
    assert second.integrate(None) == (DONE, 10)
    compare(whole, second, reached)
    assert [(e.name, e.t) for e in second.found] == [(e.name, e.t) for e in whole.found]
    assert second.impacts == whole.impacts
    if name == "blocks":
        assert whole.impacts


def test_the_state_holds_no_address_and_every_writable_array() -> None:
    """Addresses are read-only, so that they are not written into the memory of another process."""
    for integrator, model in (
        ("event-driven", blocks),
        ("moreau-jean", blocks),
        ("esdirk", linkage),
    ):
        run = make(
            model(),
            {"integrator": integrator} | ({"step": STEP} if integrator == "moreau-jean" else {}),
        )
        state = arrays(run)
        assert {"context.state.y", "context.clock"} < state.keys()
        for name, array in state.items():
            if array.dtype.kind == "i":
                assert np.abs(array).max(initial=0) < 2**40, name
        assert len(state["context.clock"]) == len(Clock.fields)
        assert run.context.counts.reached == 0
