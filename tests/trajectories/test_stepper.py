"""A run led step by step: the motion of `simulate`, inputs against laws of time, outputs against
views, states put back.
"""

import copy
import dataclasses
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from bars import pendulum
from test_resume import arm, blocks, linkage

import flexmbs as fm
import preprocess as pp
from flexmbs.formalisms import FORMALISMS
from flexmbs.integrators import INTEGRATORS

# coarse steps, compared with themselves
pytestmark = pytest.mark.filterwarnings("ignore::flexmbs.errors.AuditWarning")
T = 0.12
PAIRS = [
    (form, coordinates, integrator)
    for form, kind in FORMALISMS.items()
    for coordinates in kind.coordinates
    for integrator, method in INTEGRATORS.items()
    if method.needs in kind.provides and (coordinates != "rheonomic" or method.takes_time)
]
FIXED = ("generalized-alpha", "rattle", "moreau-jean")


def bar(**law: Any) -> fm.Model:
    """A pendulum, with a motor by a law of time if one is given."""
    model = pendulum(
        "bar", q0=0.3, inertia=(0.02, 0.1, 0.1), com=(0.5, 0, 0), frames={"tip": (1, 0, 0)}
    )
    if law:
        model.add(fm.JointTorque("motor", "hinge", **law))
    return model


def accuracy(integrator: str) -> dict[str, Any]:
    return {"step": 1e-3} if integrator in FIXED else {"rtol": 1e-9, "atol": 1e-11}


@pytest.mark.parametrize("model", [arm, linkage])
@pytest.mark.parametrize("integrator", ["generalized-alpha", "rattle", "esdirk", "dormand-prince"])
def test_steps_are_those_of_simulate(model: Any, integrator: str) -> None:
    """One call for each step, and calls to times that are ends of steps, give the bits of a run in
    one piece.
    """
    options = {"integrator": integrator} | (
        {"step": 4e-3} if integrator in FIXED else {"rtol": 1e-4, "atol": 1e-6}
    )
    whole = fm.simulate(model(), t_end=T, output_step=T, **options)
    stepper = fm.Stepper(model(), t_end=T, **options)
    times = [0.0]
    while stepper.t < T * (1.0 - 1e-9):
        times.append(stepper.step())
    assert len(times) - 1 == whole.statistics["steps"]
    assert times == sorted(set(times))
    # behind a jump of a drive steps end beside the output, which is interpolated
    within = 1e-10 if model is linkage else 0.0
    np.testing.assert_allclose(stepper.q, whole.q[-1], rtol=0.0, atol=within)
    np.testing.assert_allclose(stepper.s, whole.s[-1], rtol=0.0, atol=within)
    with pytest.raises(fm.InputError, match=r"step: the stepper is at its end, t_end = 0.12 s"):
        stepper.step()
    again = fm.Stepper(model(), t_end=T, **options)
    for t in times[1:]:
        again.advance(t)
    if integrator in FIXED:  # controlled steps are made equal up to the time asked for
        np.testing.assert_array_equal(again.q, stepper.q)
    np.testing.assert_allclose(again.q, stepper.q, atol=2e-3)


@pytest.mark.parametrize(("formalism", "coordinates", "integrator"), PAIRS)
def test_inputs_are_forces_that_are_held(formalism: str, coordinates: str, integrator: str) -> None:
    """An input set at 0.02 s and 0.05 s against a sampled controller that gives the same values
    there.
    """

    def levels(memory: Any, t: float, x: float, v: float) -> tuple[float, tuple[()]]:
        return (2.0 if t < 0.0199 else -6.0 if t < 0.0499 else 1.0), ()

    chosen = {
        "formalism": formalism,
        "coordinates": coordinates,
        "integrator": integrator,
    } | accuracy(integrator)
    law = fm.DigitalController(levels, sample_time=0.01)
    held = fm.simulate(bar(law=law), t_end=0.1, output_step=0.1, **chosen)
    stepper = fm.Stepper(
        bar(), t_end=0.1, inputs=[("effort", "hinge")], outputs=[("coordinate", "hinge")], **chosen
    )
    for value, t in ((2.0, 0.02), (-6.0, 0.05), (1.0, 0.1)):
        stepper.inputs["effort hinge"] = value
        assert stepper.advance(t) == pytest.approx(t, abs=1e-12)
    found = held.joint("hinge").position[-1, 0]
    # samples without a change restart too
    assert stepper.outputs["coordinate hinge"] == pytest.approx(found, abs=1e-9)
    assert (
        abs(
            found
            - fm.simulate(bar(), t_end=0.1, output_step=0.1, **chosen)
            .joint("hinge")
            .position[-1, 0]
        )
        > 1e-3
    )


@pytest.mark.parametrize(("formalism", "coordinates", "integrator"), PAIRS)
@pytest.mark.parametrize("value", [1e308, -1e300])
def test_inputs_beyond_all_bounds_are_named(
    value: float, formalism: str, coordinates: str, integrator: str
) -> None:
    chosen = {
        "formalism": formalism,
        "coordinates": coordinates,
        "integrator": integrator,
    } | accuracy(integrator)
    stepper = fm.Stepper(
        bar(),
        t_end=0.1,
        inputs={"u": ("effort", "hinge"), "push": ("force", "bar/tip", "z")},
        **chosen,
    )
    stepper.inputs["push"], stepper.inputs["u"] = 1.0, value
    with pytest.raises(
        fm.SolverError,
        match=rf"inputs\.u: {value:g} N m is more than the bodies can follow".replace("+", r"\+"),
    ):
        stepper.advance(0.05)


@pytest.mark.parametrize("kind", ["force", "torque"])
def test_forces_on_frames(kind: str) -> None:
    """Against the same force as a law of time."""
    component = (0.0, 0.0, 3.0) if kind == "force" else (0.0, -2.0, 0.0)
    model = bar()
    model.add(fm.FrameForce("push", "bar/tip", **{kind: component}))
    wanted = fm.simulate(model, t_end=0.2, output_step=0.2, rtol=1e-9, atol=1e-11).frame("bar/tip")
    port = (kind, "bar/tip", "z" if kind == "force" else "y")
    outputs = {axis: ("position", "bar/tip", axis) for axis in "xyz"} | {"rate": ("rate", "hinge")}
    stepper = fm.Stepper(
        bar(), t_end=0.2, inputs={"u": port}, outputs=outputs, rtol=1e-9, atol=1e-11
    )
    stepper.inputs["u"] = component[2] if kind == "force" else component[1]
    stepper.advance(0.2)
    np.testing.assert_allclose(
        [stepper.outputs[axis] for axis in "xyz"], wanted.position[-1], atol=1e-8
    )
    assert stepper.outputs["rate"] == pytest.approx(wanted.angular_velocity[-1, 1], abs=1e-7)


@pytest.mark.parametrize(
    ("model", "integrator"), [(arm, "esdirk"), (blocks, "event-driven"), (blocks, "moreau-jean")]
)
def test_a_state_put_back_gives_the_same_future(model: Any, integrator: str) -> None:
    """In the same stepper and in another one, with an input that was set and not yet used; reading
    outputs changes nothing.
    """
    joint = next(iter(model().joints))
    options = {"t_end": T, "integrator": integrator, "inputs": {"u": ("effort", joint)}} | accuracy(
        integrator
    )
    options |= {"outputs": {"x": ("coordinate", joint)}}
    stepper = fm.Stepper(model(), **options)
    stepper.advance(0.03)
    stepper.inputs["u"] = 0.4
    kept = stepper.state
    stepper.advance(0.1)
    after = stepper.state
    stepper.state = kept
    assert stepper.t == pytest.approx(0.03)
    assert stepper.inputs["u"] == 0.4
    assert math.isfinite(stepper.outputs["x"])
    stepper.advance(0.1)
    other = fm.Stepper(model(), **options)
    other.state = kept
    other.advance(0.1)
    for name, array in after.items():
        if not name.startswith("common.work.") or ".path." in name:
            np.testing.assert_array_equal(stepper.state[name], array, err_msg=name)
            np.testing.assert_array_equal(other.state[name], array, err_msg=name)


def test_ports_in_a_list_are_named_by_their_parts() -> None:
    """Names of frames too; the end is met in spite of the round-off of a sum."""
    ports = {
        "inputs": [("force", "bar/tip", "z"), ("effort", "hinge", 0)],
        "outputs": [("position", "bar/tip", "z")],
    }
    stepper = fm.Stepper(bar(), t_end=0.3, step=1e-2, **ports)
    assert list(stepper.inputs) == ["force bar/tip z", "effort hinge 0"]
    stepper.inputs["force bar/tip z"] = 4.905  # holds the bar
    for t in (0.1, 0.1 + 0.1, 0.1 + 0.1 + 0.1):
        stepper.advance(t)
    assert 0.1 + 0.1 + 0.1 > 0.3
    assert stepper.t == pytest.approx(0.3, rel=1e-14)
    assert stepper.outputs["position bar/tip z"] == pytest.approx(-math.sin(0.3), abs=1e-9)


def test_contacts_divide_the_steps_of_a_stepper() -> None:
    """A ball that is too fast for a soft contact passes through another one, with the energy that
    it had.
    """
    model = fm.Model("balls", gravity=(0, 0, 0), frames={"post": (0.5, 0.0, 0.0)})
    ball = model.add(fm.RigidBody("ball", mass=1.0, inertia=(1, 1, 1)))
    model.add(fm.Prismatic("way", model.ground, ball, axis="x", v0=5.0))
    model.add(
        fm.SphereSphere(
            "knock",
            "ground/post",
            ball,
            radius_parent=0.01,
            radius_child=0.01,
            law=fm.HuntCrossley(1e4),
        )
    )
    stepper = fm.Stepper(model, t_end=0.3, step=0.027)
    stepper.advance(0.3)
    assert stepper.s[0] == pytest.approx(5.0, rel=1e-3)
    assert stepper.t == pytest.approx(0.3)
    assert not any("knock" in note for note in stepper.notes)


def test_jumps_of_drives_are_passed() -> None:
    """A ramp of a drive begins and ends within the run: the velocities jump there."""
    drive = linkage().drives["motor"].motion
    stepper = fm.Stepper(
        linkage(),
        t_end=T,
        step=1e-3,
        outputs={"shaft": ("coordinate", "shaft"), "rate": ("rate", "shaft")},
    )
    for t in (0.01, 0.03, 0.05, 0.08, 0.1, T):
        assert stepper.advance(t) == pytest.approx(t, abs=1e-9)
        assert stepper.outputs["shaft"] == pytest.approx(drive(t), abs=1e-9)
    stepper = fm.Stepper(linkage(), t_end=T, step=1e-3, outputs={"rate": ("rate", "shaft")})
    rates = []
    while stepper.t < T * (1.0 - 1e-9):
        stepper.step()
        rates.append(round(stepper.outputs["rate"], 6))
    assert set(rates) == {0.0, 3.0}


def test_a_failing_function_leaves_the_state_before() -> None:
    """Its exception comes out of the step; another state can be put back."""

    def law(t: float, x: float, v: float) -> float:
        if t > 0.05:
            raise RuntimeError("too late")
        return 0.0

    stepper = fm.Stepper(bar(law=law), t_end=T, step=1e-2)
    stepper.advance(0.03)
    kept = stepper.state
    with pytest.raises(RuntimeError, match="too late"):
        stepper.advance(T)
    assert 0.03 <= stepper.t <= 0.06
    assert np.isfinite(stepper.q).all()
    stepper.state = kept
    assert stepper.step() == pytest.approx(0.04)


@pytest.mark.parametrize("formalism, coordinates, integrator", PAIRS)
def test_integers_of_a_state_that_leave_their_arrays_are_refused(
    formalism: str, coordinates: str, integrator: str
) -> None:
    """Kernels index arrays with them: a damaged checkpoint ended the process."""
    how = {"formalism": formalism, "coordinates": coordinates, "integrator": integrator}
    stepper = fm.Stepper(linkage(), t_end=T, **how, **accuracy(integrator))
    stepper.step()
    state, rng = stepper.state, np.random.default_rng(4)
    integers = [name for name, array in state.items() if array.dtype == np.int64]
    assert "context.counts" in integers
    for name in integers:
        if name.startswith("stepper."):  # digests
            continue
        damaged = copy.deepcopy(state)
        damaged[name].flat[rng.integers(damaged[name].size)] = rng.choice([-1, 2**62, -(2**62)])
        with pytest.raises(fm.InputError, match="the state is damaged"):
            stepper.state = damaged
    choice = state["common.work.path.choice"]
    largest = len(stepper.s) + len(choice)
    damaged = state | {"common.work.path.choice": np.full_like(choice, largest)}
    with pytest.raises(fm.InputError, match="the state is damaged"):
        stepper.state = damaged
    stepper.state = state
    stepper.step()


BAD: list[tuple[dict[str, Any], str]] = [
    (
        {"inputs": "motor"},
        "inputs: must be a mapping of names to tuples, or a list of tuples, not 'motor'",
    ),
    ({"inputs": [("effort", "hing")]}, "hing"),
    (
        {"inputs": {"u": ("push", "hinge")}},
        "inputs.u: .* is not a port; give a tuple that starts with one of: effort, force",
    ),
    (
        {"inputs": {"u": ("drive", "motor")}},
        "inputs.u: .*: a drive prescribes rate and acceleration too",
    ),
    ({"inputs": {"": ("effort", "hinge")}}, "its name must be a text"),
    ({"inputs": [("effort", "hinge"), ("effort", "hinge")]}, "inputs: a port is given twice"),
    ({"inputs": {"u": ("force", "bar/tip")}}, "inputs.u: .*give a frame and one of the world axes"),
    ({"inputs": {"u": ("effort", "hinge", 3)}}, "3"),
    ({"outputs": {"y": ("coordinate", "knee")}}, "outputs|no joint 'knee'"),
    ({"outputs": {"y": ("position", "bar/top", "x")}}, "no frame 'bar/top'"),
    (
        {"outputs": {"y": ("coordinate", "hinge", 0, 1)}},
        "outputs.y: .*the index of one of its coordinates",
    ),
]


@pytest.mark.parametrize(("options", "text"), BAD)
def test_wrong_ports(options: dict[str, Any], text: str) -> None:
    with pytest.raises(fm.InputError, match=text):
        fm.Stepper(bar(), t_end=T, step=1e-3, **options)


@pytest.mark.filterwarnings("error")
def test_a_motion_beyond_all_numbers_is_stopped_by_name() -> None:
    """A stiff spring and explicit steps: NumPy warned of an overflow before."""
    model = fm.Model("spring", gravity=(0, 0, 0))
    block = model.add(fm.PointMass("block", mass=1.0))
    guide = model.add(fm.Prismatic("guide", model.ground, block, axis="x", q0=1.0))
    model.add(fm.JointSpring("spring", guide, k=1e12))
    stepper = fm.Stepper(model, t_end=1.0, step=0.01, integrator="dormand-prince")
    with pytest.raises(
        fm.SolverError,
        match=r"stopped at t = .* the state is no longer finite, worst at body 'block'",
    ):
        stepper.advance(1.0)


def test_states_of_other_models_are_refused() -> None:
    """As many coordinates, of other joints or of other modes; other values of parameters are the
    same coordinates.
    """
    one, other = bar(), bar()
    other.joints["pin"] = dataclasses.replace(other.joints.pop("hinge"), name="pin")
    others = {"hinge": one, "pin": other}
    steppers = {name: fm.Stepper(model, t_end=T, step=1e-3) for name, model in others.items()}
    with pytest.raises(
        fm.InputError,
        match="state: belongs to a model with other coordinates; give one of this model",
    ):
        steppers["pin"].state = steppers["hinge"].state

    def beam(width: float) -> fm.Stepper:
        mesh = pp.box_mesh((0.4, width, 0.02), (4, 1, 1))
        data = pp.reduce(
            mesh,
            pp.Isotropic(E=2e11, nu=0.3, rho=7800.0),
            interfaces={"root": pp.Rigid("x0")},
            reference="root",
        )
        model = fm.Model("cantilever")
        model.add(
            fm.Fixed("clamp", model.ground, model.add(fm.FlexibleBody("beam", data=data))["root"])
        )
        return fm.Stepper(model, t_end=T, step=1e-3)

    thin, wide = beam(0.02), beam(0.03)
    thin.step()
    beam(0.02).state = thin.state
    with pytest.raises(
        fm.InputError,
        match="state: body 'beam' was reduced differently, its elastic coordinates belong to other",
    ):
        wide.state = thin.state


@pytest.mark.parametrize(
    "change", [{"step": 5e-4}, {"t_end": 2 * T}, {"rho_inf": 0.5}, {"step": None, "rtol": 1e-5}]
)
def test_states_of_other_options_are_refused(change: dict[str, Any]) -> None:
    """State holds the steps and the end of its run: they were taken in place of those asked for."""
    given = {"t_end": T, "step": 1e-3, "integrator": "generalized-alpha"}
    one, other = (fm.Stepper(bar(), **options) for options in (given, given | change))
    one.step()
    with pytest.raises(
        fm.InputError, match=r"state: of a run with (integrator.\w+|t_end) = .*, this one has "
    ):
        other.state = one.state


def test_threads_that_share_a_stepper_go_one_after_the_other() -> None:
    """They had moved the same arrays at once; outputs of a state within a step are of no time."""
    ports = {"inputs": {"u": ("effort", "hinge")}, "outputs": {"y": ("coordinate", "hinge")}}
    one, shared = (fm.Stepper(bar(), t_end=T, step=1e-4, **ports) for _ in range(2))
    known = [one.outputs["y"], *(one.outputs["y"] for _ in range(1000) if one.step())]
    seen: set[float] = set()

    def steps() -> None:
        for _ in range(250):
            shared.step()
            seen.add(shared.outputs["y"])

    with ThreadPoolExecutor(4) as pool:
        for task in [pool.submit(steps) for _ in range(4)]:
            task.result()
    assert shared.t == one.t
    assert np.array_equal(shared.q, one.q)
    assert seen <= set(known)


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_stepper_is_not_copied(way: Any) -> None:
    """A copy would have moved the same arrays."""
    with pytest.raises(fm.InputError, match="stepper: cannot be copied; create another one"):
        way(fm.Stepper(bar(), t_end=T, step=1e-3))


def test_wrong_values_and_states() -> None:
    stepper = fm.Stepper(
        bar(),
        t_end=T,
        step=1e-3,
        inputs={"u": ("effort", "hinge")},
        outputs={"y": ("coordinate", "hinge")},
    )
    for value in (math.nan, "much", True):
        with pytest.raises(fm.InputError, match=r"inputs.u: .* is not a finite number"):
            stepper.inputs["u"] = value  # type: ignore[assignment]
    with pytest.raises(
        fm.InputError, match=r"inputs: no 'v'; did you mean|inputs: no 'v'; known: u"
    ):
        stepper.inputs["v"] = 1.0
    with pytest.raises(fm.InputError, match="cannot be removed"):
        del stepper.inputs["u"]
    with pytest.raises(fm.InputError, match="outputs: no 'z'; known: y"):
        stepper.outputs["z"]
    assert "z" not in stepper.outputs
    assert dict(stepper.inputs) == {"u": 0.0}
    assert dict(stepper.outputs) == {"y": 0.3}
    stepper.advance(0.01)
    for t in (0.0, 1.0, math.nan, "end"):
        with pytest.raises(fm.InputError, match=r"advance: t = .* is not within 0.01 … 0.12 s"):
            stepper.advance(t)  # type: ignore[arg-type]
    state = stepper.state
    for wrong in (
        None,
        {},
        {"inputs.changed": np.array([False])},
        state | {"more": np.zeros(1)},
        state | {"options": np.zeros(1)},
    ):
        with pytest.raises(fm.InputError, match="state: "):
            stepper.state = wrong  # type: ignore[assignment]
    with pytest.raises(
        fm.InputError, match=r"state: 'context.clock' has float64 \(3,\), this run float64"
    ):
        stepper.state = state | {"context.clock": np.zeros(3)}
    with pytest.raises(fm.InputError, match="state: belongs to a model with other coordinates"):
        fm.Stepper(arm(), t_end=T, step=1e-3).state = state
    with pytest.raises(fm.InputError, match="t_end: give the end time"):
        fm.Stepper(bar())
