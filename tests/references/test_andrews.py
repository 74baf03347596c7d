"""Andrews' squeezing mechanism (Test Set for IVP Solvers, andrews.f 1.2; reference solution by
PSIDE at 1e-14).

Seven bodies in a plane, one degree of freedom, three loops closed at the point E; 15.8 rad of the
driven crank in 30 ms.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from combinations import Combination, combinations

import flexmbs as fm
from flexmbs.motions import Ball, Slide

DATA = json.loads((Path(__file__).parent / "data" / "andrews.json").read_text())
P = DATA["parameters"]
EXPLICIT = fm.DormandPrince(rtol=1e-9, atol=1e-9)
IMPLICIT = fm.GeneralizedAlpha(rho_inf=0.9, step=2e-6, newton_tolerance=1e-9)
BRANCHES = ("K3", "K4", "K6")  # their ends meet that of K2 in E

# pins at E: with spatial revolute joints two of five rows would do; a pin that may slide and tilt
# has no redundant rows
PIN = (Slide("z"), Ball())


def bodies() -> dict[str, fm.RigidBody]:
    """K1 … K7 with their frames at the joints; the first axis of each lies along its angle."""
    p = P
    places = {
        "K1": ((p["ra"], 0), {"end": (p["rr"], 0)}),
        "K2": ((-p["da"], 0), {"E": (-p["d"], 0)}),
        "K3": ((-p["sb"], -p["sa"]), {"E": (0, -p["ss"]), "D": (p["sd"], -p["sc"])}),
        "K4": ((0, p["ea"] - p["e"]), {"E": (0, -p["e"])}),
        "K5": ((p["ta"], p["tb"]), {"end": (p["zt"], 0)}),
        "K6": ((p["zf"] - p["fa"], 0), {"E": (p["zf"], 0)}),
        "K7": ((-p["ub"], -p["ua"]), {"end": (0, -p["u"])}),
    }
    return {
        name: fm.RigidBody(
            name, mass=p["m" + name[1]], inertia=(p["i" + name[1]],) * 3, com=(*com, 0),
            frames={key: (*at, 0) for key, at in frames.items()},
        )
        for name, (com, frames) in places.items()
    }  # fmt: skip


def andrews(pin: str = "pin") -> fm.Model:
    """The mechanism with its pins at E as chains or, twice closed, as revolute joints."""
    ground = {"A": (P["xa"], P["ya"], 0), "B": (P["xb"], P["yb"], 0), "C": (P["xc"], P["yc"], 0)}
    model = fm.Model("Andrews' squeezing mechanism", gravity=(0, 0, 0), frames=ground)
    part = {name: model.add(body) for name, body in bodies().items()}
    angle = dict(zip(("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon"), DATA["start"]))
    ends = {
        "beta": (model.ground, part["K1"]),
        "theta": (part["K1"]["end"], part["K2"]),
        "gamma": (model.ground["B"], part["K3"]),
        "delta": (model.ground["A"], part["K5"]),
        "phi": (part["K5"]["end"], part["K4"]),
        "epsilon": (model.ground["A"], part["K7"]),
        "omega": (part["K7"]["end"], part["K6"]),
    }
    for name, pair in ends.items():
        model.add(fm.Revolute(name, *pair, q0=angle[name]))
    total = {"K2": "beta theta", "K3": "gamma", "K4": "phi delta", "K6": "omega epsilon"}
    turned = {body: sum(angle[name] for name in names.split()) for body, names in total.items()}
    for name in BRANCHES:
        pair, turn = (part["K2"]["E"], part[name]["E"]), turned[name] - turned["K2"]
        if pin == "revolute":
            model.add(fm.Revolute(f"E of {name}", *pair, q0=turn))
        else:
            model.add(
                fm.Chain(
                    f"E of {name}",
                    *pair,
                    motions=PIN,
                    q0=(0, np.cos(turn / 2), 0, 0, np.sin(turn / 2)),
                )
            )
    model.add(fm.JointTorque("motor", "beta", P["mom"]))
    model.add(
        fm.PointSpring("spring", part["K3"]["D"], model.ground["C"], k=P["c0"], length=P["l0"])
    )
    return model


def angles(solution: fm.Solution) -> np.ndarray:
    return np.array([solution.joint(name).position[-1, 0] for name in DATA["angles"]])


def check(solution: fm.Solution, position: float, force: float) -> None:
    """Angles, and the force of K2 on each branch at E: the published multipliers are those forces
    in x and y.
    """
    np.testing.assert_allclose(angles(solution), DATA["final_angles"], rtol=0.0, atol=position)
    found = np.array([solution.joint(f"E of {name}").force[-1, :2] for name in BRANCHES])
    published = np.reshape(DATA["final_multipliers"], (3, 2))
    np.testing.assert_allclose(found, published, rtol=0.0, atol=force * np.abs(published).max())


@pytest.mark.parametrize("combination", combinations(EXPLICIT))
@pytest.mark.parametrize("pin", ["pin", "revolute"])
def test_andrews(pin: str, combination: Combination) -> None:
    solution = fm.simulate(andrews(pin), t_end=0.03, output_step=1e-3, **combination.options())
    check(solution, 1e-6, 1e-3)
    rates = [solution.joint(name).velocity[-1, 0] for name in DATA["angles"]]
    np.testing.assert_allclose(rates, DATA["final_rates"], rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("combination", combinations(IMPLICIT))
def test_andrews_by_implicit_steps(combination: Combination) -> None:
    solution = fm.simulate(andrews(), t_end=0.03, output_step=1e-3, **combination.options())
    check(solution, 1e-5, 1e-3)
