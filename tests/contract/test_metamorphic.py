"""Random models moved, turned, hauled, renamed, reordered, cut, in other units, backwards; rows
times factors: the same runs.

The motion, the reactions and the status of every check agree. `metamorphic.py first last record`
runs the models of many seeds, with a line of the record for each (the last one, after counts of it:
`reports/differential/metamorphic.jsonl`).
"""

import functools
import math
from itertools import product
from typing import Any

import numba
import numpy as np
import pytest
from any_models import any_model, registered
from differential import Pair, method, options, pairs
from draws import covering, drawn
from metamorphic import FAR, UNITS, assembled, examine
from other_units import InUnits, Units
from transformations import placed

import flexmbs as fm
from flexmbs.diagnosis.rank import NEARLY, pivots, redundant_rows, unit_rows
from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.work import make_work
from flexmbs.initial.initial_state import consistent_state, converted, in_coordinates, settle
from flexmbs.integrators import INTEGRATORS
from flexmbs.results.joints import joint_histories
from flexmbs.system.check import PASS
from flexmbs.system.compile import compile_model
from flexmbs.system.step_scales import displacement_sizes, extent, model_size
from flexmbs.system.trajectory import Trajectory
from flexmbs.time_stepping.records import facts, make_outputs

KINDS = registered()
SCALES = (1e-6, 1.5, 1e6)


@pytest.mark.parametrize("seed", drawn((2, 13, 31), 300))
def test_runs_do_not_depend_on_place_units_order_and_names(seed: int) -> None:
    model = any_model(5000 + seed, KINDS[seed % len(KINDS)]).model
    assert examine(model, seed).failures == []


def test_units_there_and_back() -> None:
    """The transformation itself: other units and back are the same model."""
    for seed in range(8):
        model = any_model(5000 + seed, KINDS[5 * seed]).model
        there = InUnits(model, Units(1e3, 1e-3, 1e2)).changed()
        back = InUnits(there, Units(1e-3, 1e3, 1e-2)).changed()
        assert np.allclose(back.gravity, model.gravity)
        for name, body in back.bodies.items():
            if isinstance(body, fm.RigidBody):
                assert np.allclose(body.inertia, model.bodies[name].inertia)
        for name, joint in back.joints.items():
            assert np.allclose(joint.initial_position, model.joints[name].initial_position)


@pytest.mark.parametrize("seed", [41, 52, 189])
def test_ranks_do_not_depend_on_units(seed: int) -> None:
    """Two rows of a Cardan joint counted as redundant in µm, and drifted apart."""
    model = assembled(any_model(5000 + seed, KINDS[seed % len(KINDS)]).model)
    for coordinates in ("joint", "absolute"):
        sizes, singular = [], []
        for units in (None, *UNITS.values()):
            changed = model if units is None else InUnits(model, units).changed()
            compiled, start = consistent_state(changed)
            if coordinates == "absolute":
                target = compile_model(changed, coordinates).with_initial_constants(
                    compiled.initial_constants
                )
                compiled, start = target, converted(compiled, start, target)
            sizes.append(pivots(compiled, start.q, start.s, start.beta).size)
            rows = unit_rows(compiled, 0.0, start.q, start.s, start.beta).G
            singular.append(np.linalg.svd(rows, compute_uv=False))
        # rows are taken in another order, and those of chains of motions are another basis
        for other, values in zip(sizes[1:], singular[1:]):
            assert np.array_equal(other > NEARLY, sizes[0] > NEARLY)
            assert values.min() == pytest.approx(singular[0].min(), rel=0.3, abs=1e-9)


@pytest.mark.parametrize("seed", [4, 41, 115])
def test_reactions_of_least_norm_balance_in_any_unit(seed: int) -> None:
    """They are those of the equations of motion and a self-stress, which loads no body.

    In µm a row more counted as redundant, whose self-stress loaded the bodies.
    """
    model = assembled(any_model(5000 + seed, KINDS[seed % len(KINDS)]).model)
    for units in (None, *UNITS.values()):
        changed = model if units is None else InUnits(model, units).changed()
        compiled, start = in_coordinates(*consistent_state(changed), "absolute")
        q, s, work = start.q.copy(), start.s.copy(), make_work(compiled.system, start.beta)
        settled = settle(compiled, work, 0.0, q, s)
        assert redundant_rows(compiled, q, s, start.beta)
        out = Trajectory(*make_outputs(np.zeros(1), facts(compiled), len(start.beta)))
        out.q[0], out.s[0], out.beta[0] = q, s, start.beta
        out.sd[0], out.lam[0] = settled.sd, settled.lam
        least = joint_histories(compiled, out, redundant=True).lam[0]
        loads = terms(compiled.system, work, 0.0, q, s).G.T * displacement_sizes(compiled)[:, None]
        size = (np.abs(loads) @ np.abs(least)).max()
        assert np.abs(loads @ (least - settled.lam)).max() < 1e-9 * size


@pytest.mark.parametrize("law", [fm.HuntCrossley(stiffness=1e5, damping=0.1), None])
@pytest.mark.parametrize("name", ["rattle", "generalized-alpha", "moreau-jean", "event-driven"])
def test_limits_of_angles_in_any_unit(name: str, law: fm.HuntCrossley | None) -> None:
    """A pendulum against a stop: its angle was beside weights in m/s², and in mm counted as at
    rest.
    """
    if (law is None) != (name in ("moreau-jean", "event-driven")):
        pytest.skip("laws for one kind of methods, rigid stops for the other")
    model = fm.Model("pendulum", gravity=(0, 0, -9.81))
    model.add(fm.RigidBody("arm", mass=1.0, inertia=(0.01, 0.02, 0.03), com=(0.2, 0, -0.3)))
    model.add(fm.Revolute("hinge", "ground", "arm", axis="y", v0=1.5))
    model.add(fm.JointLimit("stop", "hinge", upper=0.01, law=law, restitution=0.3 * (law is None)))
    found = []
    for units in (Units(1.0, 1.0, 1.0), *UNITS.values()):
        given = {} if name == "event-driven" else {"step": 1e-3 * units.time}
        end = 0.05 * units.time
        run = fm.simulate(
            InUnits(model, units).changed(),
            t_end=end,
            output_step=end / 5,
            integrator=INTEGRATORS[name](**given),
            audit="none",
        )
        found.append((run.statistics["steps"], run.s[:, 0] * units.time))
    controlled = name == "event-driven"  # by tolerances that are other ones beside a metre in µm
    for steps, speeds in found[1:]:
        assert controlled or steps == found[0][0]
        assert np.abs(speeds - found[0][1]).max() < (1e-6 if controlled else 1e-9)


def rod(factor: float) -> fm.Model:
    """Two bodies at the ends of a rod, whose equation has a factor; one swings on a hinge."""
    model = fm.Model("rod", gravity=(0, 0, -9.81))
    model.add(fm.RigidBody("arm", mass=1.0, inertia=(0.1, 0.2, 0.3), frames={"end": (0, 0, -0.5)}))
    model.add(fm.PointMass("bob", mass=2.0))
    model.add(fm.Revolute("hinge", "ground", "arm", axis="y", q0=0.7, v0=0.5))
    model.add(
        fm.Translation("way", "ground", "bob", q0=(-0.5 * np.sin(0.7) - 0.8, 0, -0.5 * np.cos(0.7)))
    )
    model.add(
        fm.Holonomic(
            "rod",
            "arm/end",
            "bob",
            lambda t, x, A: factor * (x[0] ** 2 + x[1] ** 2 + x[2] ** 2 - 0.64),
        )
    )
    return model


def slope(factor: float) -> fm.Model:
    """A point on an inclined plane, given by heights, under a hinged bar."""
    model = fm.Model("slope", gravity=(0, 0, -9.81))
    model.add(fm.PointMass("bead", mass=1.0))
    model.add(
        fm.Translation(
            "way", "ground", "bead", q0=(0.1, 0, 0.1 * factor), v0=(0.2, 0.1, 0.2 * factor)
        )
    )
    grid = np.linspace(-1.0, 1.0, 5)
    heights = factor * np.add.outer(grid, 0.0 * grid)
    model.add(fm.PointOnSurface("plane", "ground", "bead", x=grid, y=grid, heights=heights))
    return model


@pytest.mark.parametrize("pair", pairs(), ids=str)
def test_a_factor_of_a_row_changes_nothing(pair: Pair) -> None:
    """But for the tolerances of iterations, which RATTLE brings down to round-off."""
    given = options(pair, method(pair.integrator, 0)) | {"audit": "none"}
    first = fm.simulate(rod(1.0), t_end=0.02, output_step=0.01, **given)
    for factor in SCALES:
        other = fm.simulate(rod(factor), t_end=0.02, output_step=0.01, **given)
        assert np.abs(other.s - first.s).max() < (1e-13 if pair.integrator == "rattle" else 3e-7), (
            factor
        )


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_slopes_of_a_surface_under_rattle(coordinates: str) -> None:
    """On a plane z = m x a bead falls along it with g m/(1 +
    m²) per unit of x, whatever the slope.
    """
    for m in (0.3, 1.01, 3.0):
        options = {
            "formalism": "multiplier",
            "coordinates": coordinates,
            "integrator": fm.Rattle(step=1e-3),
            "audit": "none",
        }
        solution = fm.simulate(slope(m), t_end=0.05, output_step=0.05, **options)
        x = solution.body("bead").position[-1]
        assert x[0] == pytest.approx(
            0.1 + 0.2 * 0.05 - 0.5 * 9.81 * m / (1.0 + m * m) * 0.05**2, abs=1e-12
        )
        assert x[2] == pytest.approx(m * x[0], abs=1e-14)


def resting(k: int) -> fm.Model:
    """At rest: a point mass that sticks on an incline, an arm in balance with a spring, a mass on a
    user-defined floor.
    """
    model = fm.Model(
        "at rest", frames={"plane": fm.Frame((0, 0, 0), ("y", 0.3)), "top": (0, 0, 1.0)}
    )
    if k == 1:
        model.add(
            fm.RigidBody(
                "arm",
                mass=2.0,
                com=(0.5, 0, 0),
                inertia=(0.01, 0.1, 0.1),
                frames={"tip": (1, 0, 0)},
            )
        )
        model.add(fm.Revolute("hinge", "ground", "arm", axis="y"))
        model.add(
            fm.PointSpring(
                "spring",
                "ground/top",
                "arm/tip",
                k=9.81 * np.sqrt(2.0) / (np.sqrt(2.0) - 1.0),
                length=1.0,
            )
        )
        return model
    model.add(fm.PointMass("mass", mass=1.0))
    model.add(fm.Translation("way", "ground", "mass"))
    if k == 0:
        model.add(fm.SpherePlane("contact", "ground/plane", "mass", friction=0.5))
    else:
        model.add(fm.UserContact("contact", "ground", "mass", lambda t, x, A: 30.0 * x[2]))
    return model


@pytest.mark.parametrize("k", range(3))
@pytest.mark.parametrize("far", [False, True])
def test_models_at_rest_pass(k: int, far: bool) -> None:
    """Round-off is no error, near the origin and far from it."""
    model = placed(resting(k), np.eye(3), FAR * np.array([0.6, 0.0, -0.8])) if far else resting(k)
    solution = fm.simulate(model, t_end=0.5, output_step=0.1, integrator="event-driven")
    assert [str(check) for check in solution.audit if check.status != PASS] == []


@pytest.mark.parametrize("method", [fm.GeneralizedAlpha, fm.Rattle, fm.MoreauJean])
@pytest.mark.parametrize("units", ["mm-t-s", "µm-kg-s", "km-kg-s"])
def test_models_at_rest_pass_in_any_unit(units: str, method: Any) -> None:
    """Newton's method takes corrections for round-off that are small beside the model: in µm those
    of a model at rest never were, and it stopped."""
    u = UNITS.get(units, Units(1e-3, 1.0, 1.0))
    for model in (resting(1), constant_energies("at rest", 50.0)):
        for coordinates in ("joint", "absolute"):
            solution = fm.simulate(
                InUnits(model, u).changed(),
                t_end=0.05,
                formalism="multiplier",
                coordinates=coordinates,
                integrator=method(step=1e-3),
            )
            assert [str(check) for check in solution.audit if check.status != PASS] == []


def held(length: float, compiled: bool) -> fm.Model:
    """A hinged bar and a bob at the ends of a rod that is a user function, of which no complex
    numbers can be taken; its size is ``length``."""
    model = fm.Model("held", gravity=(0, 0, -9.81 * length))
    inertia = tuple(length**2 * np.array([0.1, 0.2, 0.3]))
    frames = {"end": (0, 0, -0.5 * length)}
    model.add(fm.RigidBody("arm", mass=1.0, inertia=inertia, frames=frames))
    model.add(fm.PointMass("bob", mass=2.0))
    model.add(fm.Revolute("hinge", "ground", "arm", axis="y", q0=0.7, v0=0.5))
    place = length * np.array([-0.5 * np.sin(0.7) - 0.8, 0.0, -0.5 * np.cos(0.7)])
    model.add(fm.Translation("way", "ground", "bob", q0=tuple(place)))

    def gap(t: float, x: Any, A: Any) -> float:
        return math.sqrt(x[0] ** 2 + x[1] ** 2 + x[2] ** 2) - 0.8 * length

    def level(t: float, x: Any) -> float:
        return math.sinh(x[0] / length)

    model.add(fm.Holonomic("rod", "arm/end", "bob", numba.njit(gap) if compiled else gap))
    model.add(fm.HolonomicCoupling("level", ["way.1"], numba.njit(level) if compiled else level))
    return model


@functools.cache
def place_of_the_bob(length: float, compiled: bool, formalism: str) -> np.ndarray:
    """After 0.2 s, over the size of the model; the run passes."""
    integrator = fm.DormandPrince(rtol=1e-9, atol=1e-11 * min(1.0, length))
    given = {"formalism": formalism, "integrator": integrator}
    solution = fm.simulate(held(length, compiled), t_end=0.2, output_step=0.1, **given)
    assert [str(check) for check in solution.audit if check.status != PASS] == [], length
    return solution.body("bob").position[-1] / length


@pytest.mark.parametrize(
    ("length", "compiled", "formalism"),
    covering(product((1e-3, 1e3, 1e6), (False, True), ("multiplier", "partitioning"))),
)
def test_user_functions_are_differenced_beside_the_size_of_the_model(
    length: float, compiled: bool, formalism: str
) -> None:
    """By steps of 1 mm a mechanism of 1 mm, or one of 1 m in km, had wrong rates of its rows."""
    found, wanted = (place_of_the_bob(each, compiled, formalism) for each in (length, 1.0))
    assert np.abs(found - wanted).max() < 1e-7


def constant_energies(kind: str, k: float) -> fm.Model:
    """No energy changes: a spring pulls at a rod, at the axis of a turntable, at a swing in
    circular translation.
    """
    model = fm.Model(kind, gravity=(0, 0, 0), frames={f"a{i}": (i + 0.3, 0, 1.0) for i in range(3)})
    if kind == "turntable":
        model.add(
            fm.RigidBody(
                "plate", mass=1.0, inertia=(1.0, 1.0, 1.0), frames={"edge": (0.3, 0.1, 0.2)}
            )
        )
        model.add(fm.Revolute("axle", "ground", "plate", axis="z", v0=3.0))
        model.add(fm.PointSpring("spring", "ground", "plate/edge", k=k, length=0.1))
        return model
    count, v0 = (1, (0.0, 0.0, 0.0)) if kind == "at rest" else (3, (-2.0, 0.0, 0.6))
    for i in range(count):
        model.add(fm.PointMass(f"p{i}", mass=0.3 + i))
        model.add(fm.Translation(f"way {i}", "ground", f"p{i}", q0=(i, 0, 0), v0=v0))
        model.add(
            fm.Distance(f"rod {i}", f"ground/a{i}", f"p{i}", length=float(np.hypot(0.3, 1.0)))
        )
    for i in range(1, count):
        model.add(fm.Distance(f"bar {i}", f"p{i - 1}", f"p{i}", length=1.0))
    model.add(fm.PointSpring("spring", "ground/a0", "p0", k=k, length=0.3))
    return model


@pytest.mark.parametrize("kind", ["at rest", "turntable", "swing"])
def test_forces_without_work_are_no_finding(kind: str) -> None:
    """Energies and works that change by the errors of positions alone are compared with none of
    their own size.
    """
    for k in (1.0, 50.0, 1e5):
        for given in ({}, {"rtol": 1e-8}, {"step": 1e-3}):
            solution = fm.simulate(constant_energies(kind, k), t_end=0.5, **given)
            assert [str(check) for check in solution.audit if check.status != PASS] == [], (
                k,
                given,
            )


@pytest.mark.parametrize("speed", [0.0, 1.0, 1e3, 1e6])
def test_free_bodies_that_spin_and_fly_pass(speed: float) -> None:
    """Their mass centre has no acceleration and their joint no reaction, whatever the speed."""
    for turn in ((0.0, 0.0, 3.0), (0.1, 2.0, 0.1)):
        for given in (
            {},
            {"step": 1e-3},
            {"step": 1e-3, "formalism": "multiplier", "coordinates": "absolute"},
        ):
            model = fm.Model("free flight", gravity=(0, 0, 0))
            model.add(fm.RigidBody("body", mass=1.0, inertia=(0.1, 0.2, 0.28)))
            model.add(fm.Free("way", "ground", "body", v0=(speed, 0.0, 0.0, *turn)))
            solution = fm.simulate(model, t_end=1.0, **given)
            assert [str(check) for check in solution.audit if check.status != PASS] == [], (
                turn,
                given,
            )


def test_a_shaft_in_unstable_balance_passes() -> None:
    """A rod on the universal joint of a shaft turns along its axis, without acceleration or
    reaction at its frames.
    """
    model = fm.Model("shaft", gravity=(0, 0, 0))
    for name, length in (("shaft", 0.2), ("rod", 0.3)):
        inertia = (length**3 / 12.0,) * 3
        model.add(
            fm.RigidBody(
                name,
                mass=length,
                com=(length / 2, 0, 0),
                inertia=inertia,
                frames={"end": (length, 0, 0)},
            )
        )
    model.add(fm.Revolute("bearing", "ground", "shaft", axis="x", v0=10.0))
    model.add(fm.Universal("cross", "shaft/end", "rod"))
    solution = fm.simulate(model, t_end=1.0)
    assert [str(check) for check in solution.audit if check.status != PASS] == []


def test_sizes_do_not_depend_on_the_place() -> None:
    model = resting(1)
    moved = placed(model, np.eye(3), np.array([FAR, 0.0, 0.0]))
    for coordinates in ("joint", "absolute"):
        one, other = (compile_model(each, coordinates) for each in (model, moved))
        assert model_size(other) == pytest.approx(model_size(one))
        here, there = (run_places(each) for each in (model, moved))
        assert extent(other, there) == pytest.approx(extent(one, here))


def run_places(model: fm.Model) -> np.ndarray:
    """Positions (n, 3) of the bodies at the start."""
    here = fm.simulate(model, t_end=1e-3, output_step=1e-3, audit="none")
    return np.array([here.body(name).position[0] for name in here.bodies])


def test_an_error_of_the_run_is_found_far_from_the_origin() -> None:
    """A method that does not follow its constraints fails near the origin and 10 km away."""
    model = fm.Model("drifting", gravity=(0, 0, -9.81), frames={"here": (0.3, 0, 0)})
    model.add(
        fm.RigidBody(
            "bob",
            mass=1.0,
            com=(0, 0, -0.01),
            inertia=(1e-5, 1e-5, 1e-5),
            frames={"pin": (0, 0, 0.01)},
        )
    )
    model.add(fm.Revolute("hinge", "ground/here", "bob/pin", axis="y", q0=1.5))
    far = placed(model, np.eye(3), np.array([0.0, FAR, 0.0]))
    options = {
        "formalism": "multiplier",
        "coordinates": "absolute",
        "integrator": "dormand-prince",
        "rtol": 1e-4,
        "atol": 1e-6,
    }
    found = [
        fm.simulate(each, t_end=1.0, output_step=0.1, stabilization="none", **options)
        for each in (model, far)
    ]
    drift = [
        {check.title: check.status for check in each.audit}["Position drift"] for each in found
    ]
    assert drift[0] == drift[1] != PASS
