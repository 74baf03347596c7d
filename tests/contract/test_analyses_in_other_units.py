"""Metamorphic tests: analyses without time integration give the same results and verdicts in m, mm,
µm and km.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from draws import drawn
from other_units import InUnits, Units

import flexmbs as fm
from flexmbs.diagnosis.rank import redundant_rows, singular_position
from flexmbs.initial.initial_state import consistent_state
from flexmbs.motions import Slide

UNITS = {"mm": Units(1e3, 1e-3, 1.0), "µm": Units(1e6, 1.0, 1.0), "km": Units(1e-3, 1.0, 1.0)}
TIMES = np.linspace(0.0, 0.4, 3)
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def crank(rng: np.random.Generator) -> fm.Model:
    """A driven slider-crank, its slide declared up to 5 cm beside the place where the loop closes;
    the rod's angles are not.
    """
    r, rod_length, start = rng.uniform(0.1, 0.3), rng.uniform(0.5, 0.9), rng.uniform(0.3, 1.2)
    place = r * np.cos(start) + np.sqrt(rod_length**2 - (r * np.sin(start)) ** 2)
    model = fm.Model("slider-crank", gravity=(0, -9.81, 0))
    for name, end in (("crank", r), ("rod", rod_length), ("slider", 0.1)):
        inertia = (0.02, 0.1, 0.11)
        model.add(
            fm.RigidBody(
                name,
                mass=rng.uniform(0.5, 2.0),
                com=(end / 2, 0, 0),
                inertia=inertia,
                frames={"end": (end, 0, 0)},
            )
        )
    model.add(fm.Revolute("main", model.ground, "crank", q0=start))
    model.add(fm.Revolute("pin", "crank/end", "rod"))
    model.add(fm.Prismatic("guide", model.ground, "slider", q0=place + rng.uniform(-0.05, 0.05)))
    model.add(fm.Revolute("wrist", "rod/end", "slider"))
    model.add(fm.Drive("motor", "main", fm.Ramp(start, rate=rng.uniform(0.5, 2.0))))
    return model


def chain(rng: np.random.Generator) -> fm.Model:
    """Three bodies on skew hinges and a slide with springs and dampers, under weight and a growing
    load.
    """
    model = fm.Model("chain")
    end: Any = model.ground
    for k in range(3):
        body = fm.RigidBody(
            f"b{k}",
            mass=1.0 + k,
            inertia=(0.1, 0.12, 0.14),
            com=(0.1, 0, 0.2),
            frames={"end": (0.2, 0.1, 0.3)},
        )
        model.add(body)
        kind, k_spring = (fm.Prismatic, 900.0) if k == 1 else (fm.Revolute, 60.0)
        axis = rng.normal(size=3)
        joint = model.add(kind(f"j{k}", end, f"b{k}", axis=tuple(axis / np.linalg.norm(axis))))
        model.add(fm.JointSpring(f"s{k}", joint, k=k_spring, c=0.5))
        end = f"b{k}/end"
    model.add(
        fm.FrameForce("push", end, force=(fm.Ramp(1.0, rate=rng.uniform(1.0, 9.0)), 0.0, 2.0))
    )
    return model


def truss(rng: np.random.Generator) -> fm.Model:
    """Two springs that snap through under a growing load."""
    model = fm.Model(
        "truss", gravity=(0, 0, 0), frames={"left": (-1.0, 0, 0), "right": (1.0, 0, 0)}
    )
    model.add(fm.RigidBody("top", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    model.add(
        fm.Chain("plane", model.ground, "top", motions=(Slide("x"), Slide("y")), q0=(0.0, 0.3))
    )
    for side in ("left", "right"):
        model.add(
            fm.PointSpring(side, model.ground[side], "top", k=1e4, length=float(np.hypot(1.0, 0.3)))
        )
    model.add(
        fm.FrameForce("load", "top", force=(0, fm.Ramp(0.0, rate=-rng.uniform(300.0, 500.0)), 0))
    )
    return model


def eigenvalues(linear: Any) -> np.ndarray:
    return np.sort_complex(linear.modes.eigenvalue)


def linearized(model: fm.Model) -> Any:
    return fm.linearize(model, start=fm.statics(model, steady=bool(model.drives)))


ANALYSES: dict[str, Callable[[fm.Model], Any]] = {
    "assembly": lambda model: fm.inverse_dynamics(
        fm.state(model), actuators=["main"] if "main" in model.joints else ["j0"]
    ),
    "statics": fm.statics,
    "linearize": linearized,
    "quasi_static": lambda model: fm.quasi_static(model, TIMES),
    "kinematics": lambda model: fm.kinematics(model, TIMES),
}
CASES = (
    [(crank, name) for name in ANALYSES]
    + [(chain, name) for name in list(ANALYSES)[:4]]
    + [(truss, "quasi_static")]
)


def numbers(found: Any, units: Units) -> dict[str, np.ndarray]:
    """Positions, accelerations, unique reactions in units of the first model, and eigenvalues."""
    path, length, force = getattr(found, "solution", found), units.length, units.force
    result = {
        "position": np.array([path.body(name).position / length for name in path.compiled.bodies])
    }
    result["rotation"] = np.array([path.body(name).rotation for name in path.compiled.bodies])
    result["acceleration"] = np.array(
        [path.body(name).acceleration / length for name in path.compiled.bodies]
    )
    views = [view for view in map(path.joint, path.joints) if view.unique]
    result["reaction"] = np.array(
        [np.hstack([view.force / force, view.torque / (force * length)]) for view in views]
    )
    if hasattr(found, "modes"):
        result["eigenvalues"] = eigenvalues(found)
    return result


@pytest.mark.parametrize("seed", drawn(1, 20))
@pytest.mark.parametrize(
    ("make", "analysis"), CASES, ids=[f"{make.__name__}-{name}" for make, name in CASES]
)
def test_results_and_verdicts_do_not_depend_on_units(
    make: Callable[..., fm.Model], analysis: str, seed: int
) -> None:
    model = make(np.random.default_rng(seed))
    expected = ANALYSES[analysis](model)
    known = numbers(expected, Units(1.0, 1.0, 1.0))
    for units in UNITS.values():
        found = ANALYSES[analysis](InUnits(model, units).changed())
        assert [(each.title, each.status) for each in found.audit] == [
            (each.title, each.status) for each in expected.audit
        ]
        for name, values in numbers(found, units).items():
            size = max(1.0, np.abs(known[name]).max(initial=0.0))
            np.testing.assert_allclose(
                values, known[name], atol=1e-8 * size, rtol=0.0, err_msg=name
            )


def door(rng: np.random.Generator) -> fm.Model:
    """A leaf on two hinges and a bearing between them: two of three hold it in joint coordinates
    without multipliers.
    """
    places = {"low": (0, 0, 0), "top": (0, 1, 0), "between": (0, rng.uniform(0.2, 0.8), 0)}
    model = fm.Model("door", frames=places)
    com = (rng.uniform(0.1, 0.5), 0.6, -0.3)
    model.add(fm.RigidBody("leaf", mass=10.0, com=com, inertia=(0.1, 0.2, 0.2), frames=places))
    for kind, name in ((fm.Revolute, "low"), (fm.Revolute, "top"), (fm.Cylindrical, "between")):
        model.add(kind(name, model.ground[name], f"leaf/{name}", axis="y"))
    return model


def four_bar(rng: np.random.Generator) -> fm.Model:
    """Four parallel hinges: three equations of the closed loop are redundant."""
    model = fm.Model("four-bar", gravity=(0, 0, -9.81), frames={"far": (0.5, 0, 0)})
    for name, length in (("left", 0.2), ("rod", 0.5), ("right", 0.4)):
        com = (length / 2, rng.uniform(-0.1, 0.1), 0)
        inertia = (0.01, 0.02, 0.02)
        model.add(
            fm.RigidBody(name, mass=1.0, com=com, inertia=inertia, frames={"end": (length, 0, 0)})
        )
    for name, ends, start in (
        ("A", (model.ground, "left"), -1.0), ("B", ("left/end", "rod"), 0.9),
        ("D", (model.ground["far"], "right"), -1.2), ("C", ("rod/end", "right/end"), None),
    ):  # fmt: skip
        model.add(fm.Revolute(name, *ends, axis="y", **({} if start is None else {"q0": start})))
    return model


@pytest.mark.parametrize("seed", drawn(1, 20))
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("make", [door, four_bar])
def test_reactions_of_least_norm_do_not_depend_on_units(
    make: Callable[..., fm.Model], coordinates: str, seed: int
) -> None:
    """Forces and moments of redundant joints, which constraints do not determine."""
    model, found = make(np.random.default_rng(seed)), []
    for units in (Units(1.0, 1.0, 1.0), *UNITS.values()):
        run = fm.simulate(
            InUnits(model, units).changed(), t_end=2e-3, step=1e-3, coordinates=coordinates
        )
        views, moment = [run.joint(name) for name in run.joints], units.force * units.length
        assert not any(view.unique for view in views)
        found.append(
            np.hstack(
                [np.hstack([view.force / units.force, view.torque / moment]) for view in views]
            )
        )
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=0.0, atol=2e-6 * np.abs(found[0]).max())


def flat_parallelogram() -> fm.Model:
    """Four parallel hinges on a line, where the motion may branch."""
    model = fm.Model("change point", gravity=(0, 0, 0), frames={"far": (0.5, 0, 0)})
    for name, end in (("left", 0.2), ("rod", 0.5), ("right", 0.2)):
        model.add(
            fm.RigidBody(name, mass=1.0, inertia=(0.01, 0.02, 0.02), frames={"end": (end, 0, 0)})
        )
    model.add(fm.Revolute("A", model.ground, "left"))
    model.add(fm.Revolute("B", "left/end", "rod"))
    model.add(fm.Revolute("D", model.ground["far"], "right"))
    model.add(fm.Revolute("C", "rod/end", "right/end"))
    return model


def test_singular_positions_are_found_in_all_units() -> None:
    found = []
    for units in (Units(1.0, 1.0, 1.0), *UNITS.values()):
        compiled, start = consistent_state(InUnits(flat_parallelogram(), units).changed())
        singular = singular_position(compiled, start)
        assert singular is not None
        found.append((singular.items, redundant_rows(compiled, start.q, start.s, start.beta)))
    assert found == [found[0]] * 4
