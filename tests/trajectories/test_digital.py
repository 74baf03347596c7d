"""Discrete controllers against their difference equations: a mass under forces held between samples
moves on exact parabolas.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.audit.audit_samples import instants_of_samples
from flexmbs.formalisms import FORMALISMS
from flexmbs.integrators import INTEGRATORS

MASS, PERIOD, START = 2.0, 0.01, 0.3
GAINS = (40.0, 30.0, 8.0)
SWING = fm.Sine(0.5, 3.0 / (2.0 * np.pi))
STEPS: dict[str, dict[str, Any]] = {"rattle": {"step": 3e-3}, "moreau-jean": {"step": 3e-3}}
PAIRS = [
    (form, coordinates, name)
    for form, kind in FORMALISMS.items()
    for coordinates in kind.coordinates
    for name, method in INTEGRATORS.items()
    if method.needs in kind.provides and (coordinates != "rheonomic" or method.takes_time)
]
Control = Callable[[list[float], float, float, float], tuple[float, list[float]]]


def slider(law: Any, **options: Any) -> fm.Model:
    """A mass on a guide."""
    model = fm.Model("slider", gravity=(0, 0, 0))
    body = model.add(fm.RigidBody("mass", mass=MASS, inertia=(1, 1, 1)))
    model.add(fm.Prismatic("guide", model.ground, body, axis="x", q0=START, **options))
    model.add(fm.JointTorque("control", "guide", law))
    return model


def pid(memory: list[float], t: float, x: float, v: float) -> tuple[float, list[float]]:
    """u = kp e + ki Σ T e + kd Δe/T of the error to `SWING`."""
    total, before, begun = memory
    e = SWING(t) - x
    total += PERIOD * e
    u = GAINS[0] * e + GAINS[1] * total + GAINS[2] * ((e - before) / PERIOD if begun else 0.0)
    return u, [total, e, 1.0]


def gain(memory: list[float], t: float, x: float, v: float) -> tuple[float, list[float]]:
    """State feedback of x and v, with a counter."""
    return -30.0 * (x - 0.1) - 6.0 * v + 0.01 * memory[0], [memory[0] + 1.0]


class Exact:
    """The mass under a piecewise constant force, x(t) in closed form between its instants."""

    def __init__(self, x: float, v: float = 0.0) -> None:
        self.t, self.x, self.v, self.u = [0.0], [x], [v], [0.0]

    def apply(self, t: float, u: float) -> None:
        """The force is u from t on."""
        x, v = self.at(t)
        self.t.append(t)
        self.x.append(x)
        self.v.append(v)
        self.u.append(u)

    def at(self, t: float) -> tuple[float, float]:
        """Position and velocity; at rest where the start was, before it."""
        if t <= 0.0:
            return self.x[0], self.v[0]
        k = max(k for k, begun in enumerate(self.t) if begun <= t)
        s, a = t - self.t[k], self.u[k] / MASS
        return self.x[k] + s * self.v[k] + 0.5 * s * s * a, self.v[k] + s * a


def motion(
    control: Control, memory: list[float], end: float, delay: float = 0.0, computing: float = 0.0
) -> Exact:
    """Samples u_k = f(x(kT − d), v(kT − d)), which act from kT + c on."""
    exact, coming = Exact(START), []
    for k in range(round(end / PERIOD) + 1):
        t = k * PERIOD
        while coming and coming[0][0] < t - 1e-9 * PERIOD:
            exact.apply(*coming.pop(0))
        measured = exact.at(t - delay)
        u, memory = control(memory, t, *measured)
        coming.append((t + computing, u))
        while coming and coming[0][0] <= t + 1e-9 * PERIOD:
            exact.apply(*coming.pop(0))
    return exact


def difference(solution: fm.Solution, exact: Exact) -> float:
    joint = solution.joint("guide")
    values = np.array([exact.at(t) for t in solution.t])
    return float(
        max(
            np.abs(joint.position[:, 0] - values[:, 0]).max(),
            np.abs(joint.velocity[:, 0] - values[:, 1]).max(),
        )
    )


@pytest.mark.parametrize(("formalism", "coordinates", "integrator"), PAIRS)
def test_a_digital_pid_is_its_difference_equation(
    formalism: str, coordinates: str, integrator: str
) -> None:
    """All methods are exact for constant forces: fixed steps that do not divide the sample time,
    and controlled ones.
    """
    law = fm.DigitalPID(*GAINS, sample_time=PERIOD, reference=SWING)
    exact = motion(pid, [0.0, 0.0, 0.0], 0.4)
    for options in (
        [STEPS[integrator]]
        if integrator in STEPS
        else [{}]
        if integrator == "event-driven"
        else [{}, {"step": 3e-3}]
    ):
        how = {
            "formalism": formalism,
            "coordinates": coordinates,
            "integrator": integrator,
            **options,
        }
        # it knows works at ends of steps only
        outputs = PERIOD if integrator == "moreau-jean" else 4e-3
        solution = fm.simulate(slider(law), t_end=0.4, output_step=outputs, **how)
        assert difference(solution, exact) < 1e-12
        assert solution.verdict == "PASS"
        assert np.abs(solution.energy.balance).max() < 1e-12
        if integrator == "moreau-jean":  # its accelerations are those of the step before
            continue
        # the force at an output is the one held from then on
        held = [
            exact.u[max(k for k, begun in enumerate(exact.t) if begun <= t + 1e-12)]
            for t in solution.t
        ]
        assert np.abs(solution.joint("guide").effort[:, 0] - held).max() < 1e-11


DELAYS = [
    (0.0, 0.0),
    (2.0, 0.0),
    (0.4, 0.0),
    (2.3, 0.0),
    (1.0, 0.5),
    (0.7, 1.0),
    (1.7, 2.25),
    (0.0, 0.3),
]


@pytest.mark.parametrize(("delay", "computing"), DELAYS)
@pytest.mark.parametrize(
    "how",
    [{}, {"step": 2.7e-3}, {"integrator": "dormand-prince"}, {"coordinates": "absolute"}],
    ids=str,
)
def test_delays(delay: float, computing: float, how: dict[str, Any]) -> None:
    """Whole and fractional delays of the sensor and of the output, with a function of the user."""
    times = {"delay": delay * PERIOD, "computing_time": computing * PERIOD}
    law = fm.DigitalController(gain, sample_time=PERIOD, memory=(5.0,), **times)
    solution = fm.simulate(slider(law), t_end=0.3, output_step=1.5e-3, **how)
    exact = motion(gain, [5.0], 0.3, delay * PERIOD, computing * PERIOD)
    assert difference(solution, exact) < 1e-12
    assert solution.verdict == "PASS"


@pytest.mark.parametrize("at", [0.1, 0.104, 0.1073, 0.11])
@pytest.mark.parametrize(("delay", "computing"), [(0.0, 0.0), (1.4, 0.25), (2.0, 1.0)])
def test_a_run_continues_from_its_file(
    tmp_path: Any, at: float, delay: float, computing: float
) -> None:
    """At a sample, between samples, at a measurement or an output: what was measured and what is to
    come is in the state.
    """
    times = {"delay": delay * PERIOD, "computing_time": computing * PERIOD}
    model = slider(fm.DigitalController(gain, sample_time=PERIOD, memory=(5.0,), **times))
    fm.simulate(model, t_end=at, output_step=at, integrator="dormand-prince").save(
        tmp_path / "half.h5"
    )
    half = fm.Solution.load(tmp_path / "half.h5", model=model)
    rest = fm.simulate(
        model,
        t_end=0.15,
        output_step=1e-3,
        start=fm.state_of(half, at),
        integrator="dormand-prince",
    )
    exact = motion(gain, [5.0], 0.3, delay * PERIOD, computing * PERIOD)
    values = np.array([exact.at(at + t) for t in rest.t])
    assert np.abs(rest.joint("guide").position[:, 0] - values[:, 0]).max() < 1e-12
    assert np.abs(rest.joint("guide").velocity[:, 0] - values[:, 1]).max() < 1e-12


def test_limits_and_windup() -> None:
    """The integral stands while the output is at its limit."""
    kp, ki, most = 20.0, 50.0, 3.0
    law = fm.DigitalPID(kp, ki, sample_time=PERIOD, lower=-most, upper=most, reference=2.0)

    def limited(memory: list[float], t: float, x: float, v: float) -> tuple[float, list[float]]:
        e = 2.0 - x
        total = memory[0] + PERIOD * e
        wanted = kp * e + ki * total
        u = min(max(wanted, -most), most)
        return u, [memory[0] if abs(wanted) > most and wanted * e > 0.0 else total]

    solution = fm.simulate(slider(law), t_end=2.0, output_step=0.01)
    exact = motion(limited, [0.0], 2.0)
    assert difference(solution, exact) < 1e-11
    assert np.abs(solution.joint("guide").effort).max() == pytest.approx(most, rel=1e-14)


def test_two_controllers_with_their_own_clocks() -> None:
    """Each mass moves as alone."""
    laws = {"a": (0.01, 30.0), "b": (0.0137, 50.0)}
    both = fm.Model("two", gravity=(0, 0, 0))
    for name, (period, k) in laws.items():
        body = both.add(fm.RigidBody(name, mass=MASS, inertia=(1, 1, 1)))
        both.add(fm.Prismatic(f"guide {name}", both.ground, body, axis="x", q0=START))
        both.add(fm.JointTorque(name, f"guide {name}", fm.DigitalPID(k, sample_time=period)))
    solution = fm.simulate(both, t_end=0.3)
    for name, (period, k) in laws.items():
        x, v = START, 0.0
        for _ in range(math.floor(0.3 / period)):
            u = -k * x / MASS
            x, v = x + period * v + 0.5 * period**2 * u, v + period * u
        last, u = 0.3 - period * math.floor(0.3 / period), -k * x / MASS
        assert (
            abs(
                solution.joint(f"guide {name}").position[-1, 0] - (x + last * v + 0.5 * last**2 * u)
            )
            < 1e-12
        )


def rough(t: float, x: float, v: float) -> float:
    """A stiff stop, which controlled steps meet with rejections."""
    return -1e6 * max(x - 0.31, 0.0)


@pytest.mark.parametrize("integrator", ["esdirk", "dormand-prince"])
def test_rejected_steps_leave_no_trace(integrator: str) -> None:
    """A controller that counts its samples, in a run with rejected steps."""

    def push(memory: Any, t: float, x: float, v: float) -> tuple[float, list[float]]:
        return 5.0, [memory[0] + 1.0]

    model = slider(fm.DigitalController(push, sample_time=PERIOD, memory=(0.0,)))
    model.add(fm.JointTorque("stop", "guide", rough))
    solution = fm.simulate(model, t_end=0.5, output_step=PERIOD / 2, integrator=integrator)
    assert solution.statistics["rejected"] > 3
    counted = solution.trajectory.z[:, -1]
    assert np.array_equal(counted, np.floor(np.arange(len(solution.t)) / 2) + 1.0)


def linkage(law: Any) -> fm.Model:
    """A four-bar loop with a controlled crank."""
    model = fm.Model("four-bar", gravity=(0, 0, -9.81), frames={"right": fm.Frame((1.0, 0, 0))})
    crank = model.add(
        fm.RigidBody(
            "crank", mass=1.0, inertia=(0.1,) * 3, com=(0, 0, 0.2), frames={"tip": (0, 0, 0.4)}
        )
    )
    rod = model.add(
        fm.RigidBody(
            "rod", mass=1.0, inertia=(0.1,) * 3, com=(0.5, 0, 0), frames={"tip": (1.0, 0, 0)}
        )
    )
    rocker = model.add(
        fm.RigidBody(
            "rocker", mass=1.0, inertia=(0.1,) * 3, com=(0, 0, 0.2), frames={"tip": (0, 0, 0.4)}
        )
    )
    model.add(fm.Revolute("a", model.ground, crank, axis="y"))
    model.add(fm.Revolute("b", crank["tip"], rod, axis="y"))
    model.add(fm.Revolute("c", model.ground["right"], rocker, axis="y"))
    model.add(fm.Revolute("d", rocker["tip"], rod["tip"], axis="y"))
    model.cuts = ["d"]
    model.add(fm.JointTorque("control", "a", law))
    return model


def test_a_loop_under_all_methods() -> None:
    """A parallel crank has one degree of freedom; the motion of all pairs is that of the most
    accurate one.
    """
    law = fm.DigitalPID(
        60.0, 40.0, 12.0, sample_time=0.02, delay=0.006, computing_time=0.005, reference=0.3
    )
    best = fm.simulate(
        linkage(law),
        t_end=0.5,
        output_step=0.05,
        integrator="dormand-prince",
        rtol=1e-11,
        atol=1e-13,
    )
    for formalism, coordinates, integrator in PAIRS:
        if integrator == "event-driven":
            continue
        options: dict[str, Any] = (
            {"step": 1e-3} if integrator in ("generalized-alpha", "rattle", "moreau-jean") else {}
        )
        run = fm.simulate(
            linkage(law),
            t_end=0.5,
            output_step=0.05,
            formalism=formalism,
            coordinates=coordinates,
            integrator=integrator,
            **options,
        )
        apart = np.abs(run.joint("a").position - best.joint("a").position).max()
        assert apart < (5e-5 if options else 2e-6), (formalism, coordinates, integrator)
        wrong = [
            str(check)
            for check in run.audit
            if check.status != "PASS" and check.title != "Redundancy"
        ]
        assert not wrong, (formalism, coordinates, integrator)


def away(memory: Any, t: float, x: float, v: float) -> tuple[float, tuple[float, ...]]:
    return -10.0 if t < 0.045 else 10.0, ()


@pytest.mark.parametrize("integrator", ["event-driven", fm.MoreauJean(step=2.5e-3)], ids=str)
def test_a_sample_opens_a_rigid_contact(integrator: Any) -> None:
    """The mass is held against its limit up to the sample at 0.05 s, then leaves it."""
    model = slider(fm.DigitalController(away, sample_time=PERIOD))
    model.add(fm.JointLimit("limit", "guide", lower=START))
    solution = fm.simulate(model, t_end=0.1, output_step=0.005, integrator=integrator)
    x = START + 0.5 * 10.0 / MASS * np.maximum(solution.t - 0.05, 0.0) ** 2
    assert np.abs(solution.joint("guide").position[:, 0] - x).max() < 1e-9
    assert solution.verdict == "PASS"


def test_lost_samples_do_not_pass() -> None:
    """A run whose controller misses a sample, or is late."""
    solution = fm.simulate(
        slider(fm.DigitalPID(40.0, sample_time=0.02)), t_end=0.1, output_step=0.005
    )
    assert instants_of_samples(solution) == []
    for change in (0.02, -1e-3):
        z = solution.trajectory.z.copy()
        z[9:, 1] += change
        wrong = dataclasses.replace(solution, trajectory=solution.trajectory._replace(z=z))
        assert [check.status for check in instants_of_samples(wrong)] == ["FAIL"]


def test_outputs_between_those_of_the_run_are_held() -> None:
    solution = fm.simulate(slider(fm.DigitalPID(40.0, sample_time=0.1)), t_end=0.5, output_step=0.1)
    force = solution.at(np.array([0.05, 0.15, 0.25])).trajectory.z[:, 0]
    assert np.array_equal(force, solution.trajectory.z[:3, 0])


def test_studies_of_single_states_refuse_it() -> None:
    model = slider(fm.DigitalPID(40.0, sample_time=0.1))
    for study in (fm.statics, fm.linearize):
        with pytest.raises(
            fm.InputError, match=r"^forces\.control: \w+ does not support discrete controllers"
        ):
            study(model)
    with pytest.raises(
        fm.InputError,
        match=r"^forces\.control: fm\.matrices without a state of a run does not support",
    ):
        fm.matrices(model)
    with pytest.raises(
        fm.InputError,
        match=r"^forces\.control: inverse_dynamics does not support discrete controllers",
    ):
        fm.inverse_dynamics(fm.state(model))


def test_a_model_file(tmp_path: Any) -> None:
    model = slider(
        fm.DigitalPID(40.0, 3.0, 2.0, sample_time=0.1, delay=0.05, lower=-3.0, reference=SWING)
    )
    model.save(tmp_path / "model.toml")
    assert fm.load(tmp_path / "model.toml") == model


def faulty(memory: Any, t: float, x: float, v: float) -> Any:
    return (1.0, [0.0]) if t < 0.05 else (1.0, [0.0, 1.0]) if t < 0.15 else 7.0


def test_a_function_with_other_results() -> None:
    law = fm.DigitalController(faulty, sample_time=0.1, memory=(0.0,))
    with pytest.raises(
        fm.InputError,
        match=r"forces\.control\.function: its function gives 3 numbers; return 2 numbers",
    ):
        fm.simulate(slider(law), t_end=0.5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fm.DigitalPID(1.0, sample_time=0.0), "DigitalPID.sample_time: must be > 0, not 0"),
        (lambda: fm.DigitalPID(1.0, sample_time=0.1, delay=-1.0), "delay: must be >= 0, not -1"),
        (
            lambda: fm.DigitalPID(1.0, sample_time=0.1, delay=11.0),
            "delay: must be at most 100 sample times of 0.1 s, not 11 s",
        ),
        (
            lambda: fm.DigitalPID(1.0, sample_time=0.1, lower=1.0, upper=0.0),
            "upper: must be above lower = 1, not 0",
        ),
        (
            lambda: fm.DigitalController(lambda t: 1.0, sample_time=0.1),
            "f(memory, t, x, v) -> (output, memory), with 4 arguments",
        ),
        (
            lambda: fm.DigitalController(gain, sample_time=0.1, memory="one"),
            "memory: must be a list",
        ),
    ],
)
def test_bad_values(make: Any, message: str) -> None:
    with pytest.raises(fm.InputError) as error:
        make()
    assert message in str(error.value)
