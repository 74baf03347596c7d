"""Random mechanisms of soft plastic links with loads and large motions: every run finishes, with a
warning beyond the linear range. A mass matrix of terms up to second order only is indefinite in a
third of them.
"""

import numpy as np
import pytest

import flexmbs as fm
from preprocess import CraigBampton, Isotropic, Rigid, box_mesh, reduce

LENGTH, HEIGHT, WIDTH = 0.4, 0.02, 0.03


@pytest.fixture(scope="module")
def link() -> fm.FlexibleBodyData:
    mesh = box_mesh(
        (LENGTH, HEIGHT, WIDTH), (8, 1, 1), "hex20", origin=(0.0, -HEIGHT / 2, -WIDTH / 2)
    )
    ends, plastic = {"hub": Rigid("x0"), "tip": Rigid("x1")}, Isotropic(E=2e9, nu=0.35, rho=1100.0)
    method = CraigBampton(modes=3)
    return reduce(
        mesh,
        plastic,
        interfaces=ends,
        method=method,
        reference="hub",
        damping=0.01,
        stress=None,
        estimate=False,
    )


def load(model: fm.Model, name: str, place: fm.FrameRef, rng: np.random.Generator) -> None:
    """A body of 1 to 2 kg on a frame."""
    mass = rng.uniform(1.0, 2.0)
    own = fm.RigidBody(
        name, mass=mass, inertia=(4e-4 * mass,) * 3, com=tuple(rng.uniform(-0.02, 0.02, 3))
    )
    model.add(fm.Fixed(f"seat of {name}", place, model.add(own)))


def tree(seed: int, link: fm.FlexibleBodyData) -> fm.Model:
    """Two to four links, each on the ground or on the tip of
    another one, with a load at every tip.
    """
    rng = np.random.default_rng(seed)
    model = fm.Model("soft tree", gravity=(0.0, 0.0, -9.81))
    places = [model.ground]
    for i in range(int(rng.integers(2, 5))):
        body = model.add(fm.FlexibleBody(f"link {i}", data=link))
        ends, kind = (
            (places[int(rng.integers(len(places)))], body["hub"]),
            rng.choice(["revolute", "universal", "spherical"]),
        )
        if kind == "revolute":
            axis, q0, v0 = tuple(rng.normal(size=3)), rng.uniform(-1.0, 1.0), rng.uniform(-9.0, 9.0)
            model.add(fm.Revolute(f"joint {i}", *ends, axis=axis, q0=q0, v0=v0))
        elif kind == "universal":
            q0, v0 = tuple(rng.uniform(-0.8, 0.8, 2)), tuple(rng.uniform(-9.0, 9.0, 2))
            model.add(fm.Universal(f"joint {i}", *ends, axes=("y", "z"), q0=q0, v0=v0))
        else:
            model.add(fm.Spherical(f"joint {i}", *ends, v0=tuple(rng.uniform(-9.0, 9.0, 3))))
        load(model, f"load {i}", body["tip"], rng)
        places.append(body["tip"])
    return model


def loop(seed: int, link: fm.FlexibleBodyData) -> fm.Model:
    """A four-bar of three links between pivots that are 0.3 … 0.7 m apart, with loads at its
    elbows.
    """
    rng = np.random.default_rng(seed)
    base, crank = rng.uniform(0.3, 0.7), rng.uniform(0.7, 1.4)
    elbow, far = LENGTH * np.array([np.cos(crank), np.sin(crank)]), np.array([base, 0.0])
    way = far - elbow
    coupler = np.arctan2(way[1], way[0]) + np.arccos(np.hypot(*way) / (2.0 * LENGTH))
    rocker = elbow + LENGTH * np.array([np.cos(coupler), np.sin(coupler)]) - far
    model = fm.Model("soft loop", gravity=(0.0, -9.81, 0.0), frames={"far": (base, 0.0, 0.0)})
    first, second, third = (model.add(fm.FlexibleBody(f"link {i}", data=link)) for i in range(3))
    model.add(
        fm.Revolute(
            "crank", model.ground, first["hub"], axis="z", q0=crank, v0=rng.uniform(-15.0, 15.0)
        )
    )
    model.add(fm.Revolute("elbow", first["tip"], second["hub"], axis="z", q0=coupler - crank))
    model.add(
        fm.Revolute(
            "rocker",
            model.ground["far"],
            third["hub"],
            axis="z",
            q0=np.arctan2(rocker[1], rocker[0]),
        )
    )
    model.add(fm.Spherical("close", second["tip"], third["tip"]))
    load(model, "load 0", first["tip"], rng)
    load(model, "load 1", second["tip"], rng)
    return model


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
@pytest.mark.parametrize("make", [tree, loop])
@pytest.mark.parametrize("seed", range(25))
def test_soft_machines_run_to_their_end(make, seed: int, link: fm.FlexibleBodyData) -> None:
    run = fm.simulate(make(seed, link), t_end=1.0, output_step=0.01)
    assert run.t[-1] == pytest.approx(1.0)
    assert run.verdict != "FAIL"
    assert np.abs(run.energy.balance).max() < 1e-3 * run.energy.scale
    tips = [
        np.abs(run.body(f"link {i}").elastic @ link.frames["tip"].phi.T).max()
        for i in range(3 if make is loop else 2)
    ]
    assert run.verdict == "WARN" or max(tips) < 0.1 * LENGTH


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
@pytest.mark.parametrize("make", [tree, loop])
def test_energy_is_kept_as_well_as_the_integrator_does(make, link: fm.FlexibleBodyData) -> None:
    """Seed 12: tips move by more than a tenth of the links' length; damping and errors of the steps
    are accounted for.
    """
    lost = []
    for rtol in (1e-6, 1e-9):
        method = fm.DormandPrince(rtol=rtol, atol=1e-3 * rtol)
        run = fm.simulate(make(12, link), t_end=0.1, output_step=0.01, integrator=method)
        lost.append(np.abs(run.energy.balance).max() / run.energy.scale)
    assert lost[1] < 1e-8
    assert lost[1] < 0.1 * lost[0]
