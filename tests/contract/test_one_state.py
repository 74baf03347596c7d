"""Evaluations depend on the state only, not on previous evaluations; systems never change."""

import numpy as np
import pytest
from instants import instants
from random_models import Recipe, random_model
from test_contact_laws import pressed
from test_relation_kinds import rolling

import flexmbs as fm
from flexmbs._jit.record_layout import words
from flexmbs._jit.scalars import Scalars
from flexmbs.dynamics.work import make_work
from flexmbs.formalisms import FORMALISMS
from flexmbs.initial.initial_state import InitialState
from flexmbs.integrators import INTEGRATORS
from flexmbs.studies.run.options import output_times
from flexmbs.studies.states.evaluate import Evaluator
from flexmbs.system.records import Equations
from flexmbs.time_stepping.run import Run

MODELS = {
    "loops with forces": lambda: random_model(Recipe(bodies=4, loops=1, drives=1, forces=6), 1)[0],
    "tree with forces": lambda: random_model(Recipe(bodies=3, forces=6), 0)[0],
    "couplings": lambda: random_model(Recipe(bodies=4, loops=1, forces=2, couplings=1), 0)[0],
    "redundant loops": lambda: random_model(Recipe(bodies=4, loops=1, flat=True), 0)[0],
    "wheel": lambda: rolling("rolling-disc", 0),
    "blade": lambda: rolling("knife-edge", 1),
    "contacts with laws": lambda: pressed(0),
    "discrete controllers": lambda: sampled(),
}


def sampled() -> fm.Model:
    """A loop with discrete controllers."""
    model = random_model(Recipe(bodies=4, loops=1), 2)[0]
    for joint in [
        joint for joint in model.joints.values() if any(motion.nv == 1 for motion in joint.motions)
    ][:2]:
        at = next(k for k, motion in enumerate(joint.motions) if motion.nv == 1)
        at = sum(motion.nv for motion in joint.motions[:at])
        law = fm.DigitalPID(3.0, 2.0, 0.1, sample_time=0.01, delay=0.014, computing_time=0.003)
        model.add(fm.JointTorque(f"on {joint.name}", joint.name, law, coordinate=at))
    return model


HISTORY = ("time", "rank", "independent")  # records of accepted steps


def arrays(record, name=""):
    """All arrays of nested records by name."""
    for key, value in record._asdict().items():
        if isinstance(value, Scalars):
            yield f"{name}{key}", value.values
        elif isinstance(value, np.ndarray):
            yield f"{name}{key}", value
        elif hasattr(value, "_asdict"):
            yield from arrays(value, f"{name}{key}.")


def poison(record) -> None:
    """Write random values to all writable arrays."""
    for name, array in arrays(record):
        if (
            array.flags.writeable
            and not name.startswith("path.")
            and name.split(".")[-1] not in HISTORY
        ):
            array[...] = np.nan if array.dtype.kind == "f" else -7


def content(system) -> list[bytes]:
    return [array.tobytes() for _, array in arrays(system)]


def found(evaluator: Evaluator, instant, shift: float = 0.0):
    """Everything an evaluation gives at a state, moved by a shift along its velocities."""
    s = instant.s + 0.3 * shift
    q = instant.q if shift == 0.0 else instant.q + 1e-2 * shift
    values = evaluator.at(0.1, q, s, instant.z, prepared=False)
    return np.concatenate(values)


CASES = [
    (name, coordinates, model)
    for name in FORMALISMS
    for coordinates in FORMALISMS[name].coordinates
    for model in MODELS
]


@pytest.mark.parametrize(("name", "coordinates", "model"), CASES)
def test_the_same_state_gives_the_same_numbers(name: str, coordinates: str, model: str) -> None:
    """A, B, A gives bitwise the same A, for any content of the scratch arrays, and the system is
    unchanged.
    """
    instant = instants(MODELS[model]())[coordinates]
    before = content(instant.compiled.system)
    evaluator = Evaluator(instant.compiled, FORMALISMS[name](), instant.beta)
    evaluator.at(0.1, instant.q, instant.s, instant.z)  # an accepted step: path variables are there
    first = found(evaluator, instant)
    assert np.isfinite(first).all()
    other = found(evaluator, instant, 1.0)
    assert not np.array_equal(first, other)
    np.testing.assert_array_equal(found(evaluator, instant), first)
    poison(evaluator.work)
    poison(evaluator.workspace)
    np.testing.assert_array_equal(found(evaluator, instant), first)
    assert content(instant.compiled.system) == before


@pytest.mark.parametrize("model", MODELS)
def test_workspaces_of_a_system_are_apart(model: str) -> None:
    """What two workspaces share cannot be written to, a new one is as the first was, and its words
    are its own addresses.
    """
    instant = instants(MODELS[model]())["joint"]
    system = instant.compiled.system
    one, other = (dict(arrays(make_work(system, instant.beta))) for _ in range(2))
    mine = [array for name, array in one.items() if array.flags.writeable]
    assert not any(np.shares_memory(array, theirs) for array in mine for theirs in other.values())
    before = {name: array.copy() for name, array in other.items()}
    poison(work := make_work(system, instant.beta))
    for name, array in arrays(make_work(system, instant.beta)):
        if name not in ("memory", "laws.words"):
            np.testing.assert_array_equal(array, before[name], err_msg=name)
    np.testing.assert_array_equal(work.memory, words(Equations(system, work)))


def test_no_array_of_a_system_can_be_written_to() -> None:
    for instant in instants(MODELS["loops with forces"]()).values():
        for name, array in arrays(instant.compiled.system):
            assert not array.flags.writeable, name


@pytest.mark.parametrize(
    "integrator", [name for name in INTEGRATORS if name not in ("moreau-jean", "event-driven")]
)
def test_runs_leave_the_system_as_it_is(integrator: str) -> None:
    """Bytes of the system before and after a run and a run that a user function stops."""

    def faulty(t: float, x: float, v: float) -> float:
        if t > 5e-3:
            raise ValueError("enough")
        return -x

    for law in (lambda t, x, v: -x, faulty):
        model = fm.Model("two", gravity=(0.0, 0.0, -9.81))
        for k, on in enumerate(("ground", "bar0/tip")):
            places = {"com": (0.5, 0.0, 0.0), "frames": {"tip": (1.0, 0.0, 0.0)}}
            bar = model.add(fm.RigidBody(f"bar{k}", mass=1.0, inertia=(0.1, 0.1, 0.1), **places))
            model.add(fm.Revolute(f"hinge{k}", on, bar, axis="y", q0=0.2))
        model.add(fm.PointSpring("spring", "ground", "bar1/tip", k=10.0))
        model.add(fm.JointTorque("law", "hinge1", fm.Function(law)))
        instant = instants(model)["absolute"]
        kind = INTEGRATORS[integrator]
        method = kind(step=1e-3) if kind.needs == "residual" else kind()
        start = InitialState(instant.q, instant.s, instant.beta, z=instant.z)
        before = content(instant.compiled.system)
        work = make_work(instant.compiled.system, instant.beta)
        run = Run(instant.compiled, method, fm.Multiplier(), output_times(0.01, None, 1e-3), work)
        run.connect()
        run.begin(start)
        run.integrate(None)
        assert content(instant.compiled.system) == before
