"""Impacts of several contacts at once by both laws, impacts without collision, starts inside of
contacts.
"""

import dataclasses
import itertools
import math

import numpy as np
import pytest

import flexmbs as fm

METHODS = {
    "event-driven": lambda **options: fm.EventDriven(**options),
    "moreau-jean": lambda **options: fm.MoreauJean(step=1e-3, **options),
}


def cradle(masses: list[float], *, restitution: float = 1.0) -> fm.Model:
    """Touching balls on a rail, the first of which arrives at 1 m/s."""
    model = fm.Model("cradle", gravity=(0, 0, 0))
    for i, mass in enumerate(masses):
        ball = model.add(fm.RigidBody(f"ball{i}", mass=mass, inertia=(1e-5,) * 3))
        place = 0.0 if i == 0 else 0.1 + 0.04 * (i - 1)
        model.add(
            fm.Prismatic(
                f"rail{i}", model.ground, ball, axis="x", q0=place, v0=1.0 if i == 0 else 0.0
            )
        )
    for i in range(len(masses) - 1):
        pair = {"radius_parent": 0.02, "radius_child": 0.02, "restitution": restitution}
        model.add(fm.SphereSphere(f"pair{i}", f"ball{i}", f"ball{i + 1}", **pair))
    return model


def speeds(run: fm.Solution) -> list[float]:
    return [float(run.joint(name).velocity[-1, 0]) for name in run.model.joints]


def lines(run: fm.Solution) -> dict[str, tuple[str, str]]:
    return {check.title: (str(check.status), check.found) for check in run.audit}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("restitution", [1.0, 0.7])
def test_sequence_along_a_chain(method: str, restitution: float) -> None:
    """Each collision hands over (1 + e) m/(m + m') of the speed and leaves (m − e m')/(m + m'),
    where masses fall.
    """
    masses = [0.5, 0.4, 0.3, 0.2, 0.1] if restitution < 1.0 else [0.1] * 5
    speed, expected = 1.0, []
    for one, other in itertools.pairwise(masses):
        expected.append((one - restitution * other) / (one + other) * speed)
        speed *= (1.0 + restitution) * one / (one + other)
    expected.append(speed)
    how = METHODS[method](multiple_impacts="sequential")
    run = fm.simulate(cradle(masses, restitution=restitution), t_end=0.1, integrator=how)
    assert speeds(run) == pytest.approx(expected, abs=1e-6)
    assert lines(run)["Impacts at once"][0] == "PASS"
    assert not any("reduced" in note for note in run.run.notes)
    lost = 0.5 * masses[0] - sum(0.5 * m * v * v for m, v in zip(masses, expected))
    assert run.energy.dissipated[-1] == pytest.approx(lost, abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_a_run_says_that_velocities_depend_on_the_law(method: str) -> None:
    """One problem for all contacts shares the momentum among the other balls, which no row of balls
    does.
    """
    with pytest.warns(fm.AuditWarning, match="several contacts at once"):
        run = fm.simulate(cradle([0.1] * 5), t_end=0.1, integrator=METHODS[method]())
    assert speeds(run) == pytest.approx([-0.6, 0.4, 0.4, 0.4, 0.4], abs=1e-6)
    assert not any("reduced" in note for note in run.run.notes)
    assert "'simultaneous' was used" in lines(run)["Impacts at once"][1]
    single = fm.simulate(cradle([0.1] * 2), t_end=0.1, integrator=METHODS[method]())
    assert "Impacts at once" not in lines(single)


def test_wrong_laws_are_refused() -> None:
    with pytest.raises(
        fm.InputError, match=r"multiple_impacts: 'binary' is not 'simultaneous' or 'sequential'"
    ):
        fm.EventDriven(multiple_impacts="binary")


def rod(*, rate: float, friction: float = 2.0, angle: float = 0.25) -> fm.Model:
    """Painlevé's rod of 1 kg and 2 m, ``angle`` from the
    upright, whose lower end slides at 3 m/s.
    """
    model = fm.Model("rod", gravity=(0, -9.81, 0))
    s, c = math.sin(angle), math.cos(angle)
    body = model.add(
        fm.RigidBody("rod", mass=1.0, inertia=(1 / 3,) * 3, frames={"tip": (0, -1.0, 0)})
    )
    q0, v0 = (s, c, -angle), (-3.0 - c * rate, s * rate, rate)
    model.add(fm.Planar("plane", model.ground, body, axis="z", q0=q0, v0=v0))
    model.add(fm.CornerLine("tip", model.ground, body["tip"], friction=friction))
    return model


@pytest.mark.parametrize("method", ["event-driven", "moreau-jean"])
@pytest.mark.parametrize("rate", [0.0, 1e-8, -1e-8, 1e-3, -1e-3])
def test_a_rod_that_jams_strikes_without_collision(method: str, rate: float) -> None:
    """The impulse −D⁻¹ (0, γ_T) that stops its lower end, with W of the end: D = W M⁻¹ Wᵀ; no other
    one exists beside none.
    """
    s, c = math.sin(0.25), math.cos(0.25)
    W = np.array([[0.0, 1.0, -s], [1.0, 0.0, c]])
    D = W @ np.diag([1.0, 1.0, 3.0]) @ W.T
    impulse = -np.linalg.solve(D, [0.0, -3.0])
    assert impulse == pytest.approx([0.539, 0.888], abs=5e-4)
    assert 2.0 * D[0, 1] + D[0, 0] < 0.0  # no force keeps it closed while it slides
    how = fm.EventDriven() if method == "event-driven" else fm.MoreauJean(step=1e-5)
    run = fm.simulate(rod(rate=rate), t_end=1e-3, integrator=how, output_step=1e-4)
    (hit,) = run.run.impacts
    assert hit.t == pytest.approx(0.0, abs=1e-5)
    assert hit.impulse[:2] == pytest.approx(impulse, abs=2e-3)
    assert hit.lost == pytest.approx(0.5 * 3.0 * impulse[1], abs=5e-3)
    start = 0.5 * ((3.0 + c * rate) ** 2 + (s * rate) ** 2 + rate**2 / 3) + 9.81 * c
    assert run.energy.total[-1] == pytest.approx(start - hit.lost, abs=2e-3)


@pytest.mark.parametrize("fall", [0.0, 1e-4, 1e-3])
@pytest.mark.parametrize("rate", [-5.0, 5.0])
def test_a_rod_that_lifts_off_or_jams_is_not_judged_right(rate: float, fall: float) -> None:
    """The swing of the rod lifts its end, faster than it falls in a step; jamming is a solution
    too, as `EventDriven` finds.
    """
    model = rod(rate=rate)
    plane = model.joints["plane"]
    x, y, turn = plane.v0
    model.joints["plane"] = dataclasses.replace(plane, v0=(x, y - fall, turn))
    how = fm.MoreauJean(step=1e-4)
    with pytest.warns(fm.AuditWarning, match="does not determine the motion"):
        run = fm.simulate(model, t_end=1e-2, integrator=how)
    assert lines(run)["Impacts without collision"][0] == "WARN"
    slower = rod(rate=rate, friction=0.3)  # without a jam
    run = fm.simulate(slower, t_end=1e-2, integrator=how)
    assert "Impacts without collision" not in lines(run)


def pressed(overlap: float, *, gravity: float = 9.81, **options: object) -> fm.Model:
    """A ball of 1 kg and 50 mm inside of its floor."""
    model = fm.Model("pressed", gravity=(0, 0, -gravity))
    ball = model.add(fm.RigidBody("ball", mass=1.0, inertia=(1e-3,) * 3))
    model.add(fm.Prismatic("guide", model.ground, ball, axis="z", q0=0.05 - overlap))
    options = {"law": fm.HuntCrossley(stiffness=1e6, restitution=0.8, speed=1.0)} | options
    model.add(fm.SpherePlane("floor", model.ground, ball, radius=0.05, **options))
    return model


@pytest.mark.parametrize("integrator", ["esdirk", "event-driven", "moreau-jean", "dormand-prince"])
def test_a_start_inside_of_a_contact_is_refused_for_all_laws(integrator: str) -> None:
    how = {"t_end": 0.02, "integrator": integrator} | (
        {"step": 1e-4} if integrator == "moreau-jean" else {}
    )
    with pytest.raises(
        fm.InputError,
        match=r"contacts\.floor: overlaps by 0\.005 .* drives its bodies apart at 1\.3.* m/s",
    ):
        fm.simulate(pressed(5e-3), **how)
    if integrator in ("event-driven", "moreau-jean"):
        with pytest.raises(fm.InputError, match=r"contacts\.floor: overlaps by 0\.005"):
            fm.simulate(pressed(5e-3, law=None), **how)
    allowed = fm.simulate(pressed(5e-3, preloaded=True), **how)
    assert any("as declared by preloaded" in note for note in allowed.run.notes)
    static = (9.81 / 1e6) ** (2 / 3)  # the ball rests
    assert np.abs(fm.simulate(pressed(static), **how).joint("guide").velocity).max() < 1e-9
    fm.simulate(pressed(1e-4), **how)  # it falls
    with pytest.raises(fm.InputError, match="drives its bodies apart"):
        fm.simulate(
            pressed(1e-4, gravity=0.0),
            t_end=1.0,
            integrator=how["integrator"],
            step=how.get("step"),
        )


def test_preloads_need_a_law() -> None:
    with pytest.raises(fm.InputError, match=r"preloaded: applies to contacts with a law"):
        fm.SpherePlane("floor", "ground", "ball", preloaded=True)


@pytest.mark.parametrize("law", ["simultaneous", "sequential"])
@pytest.mark.parametrize("method", METHODS)
def test_contacts_that_transmit_an_impact_are_listed(method: str, law: str) -> None:
    """Random rows of touching balls: each contact has one impact at the same time, the impulse that
    its neighbours' momentum needs, and the energies lost sum up to the loss of kinetic energy.
    """
    rng = np.random.default_rng(5)
    for n in (3, 5, 7):
        masses = rng.uniform(0.1, 1.0, n).tolist()
        model = cradle(masses, restitution=float(rng.uniform(0.5, 1.0)))
        how = METHODS[method](multiple_impacts=law)
        run = fm.simulate(model, t_end=0.1, integrator=how, audit="none")
        impacts = run.run.impacts
        assert {hit.contact for hit in impacts} == set(model.contacts)
        assert impacts[0].t == pytest.approx(0.06, abs=1e-9)
        change = np.array(masses) * (run.s[-1] - run.s[0])
        for i in range(n - 1):
            impulse = sum(hit.impulse[0] for hit in impacts if hit.contact == f"pair{i}")
            assert impulse == pytest.approx(-change[: i + 1].sum(), abs=1e-9)
        lost = float(run.energy.kinetic[0] - run.energy.kinetic[-1])
        assert sum(hit.lost for hit in impacts) == pytest.approx(lost, abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_contacts_at_rest_are_not_listed(method: str) -> None:
    """A ball that lands on two others on the floor: the floor takes the whole impulse; a ball at
    rest elsewhere has none.
    """
    model = fm.Model("stack")
    ball = {"mass": 1.0, "inertia": (1e-3,) * 3}
    for i, height in enumerate((0.05, 0.15, 0.55, 0.05)):
        model.add(fm.RigidBody(f"ball{i}", **ball))
        model.add(fm.Prismatic(f"rail{i}", model.ground, f"ball{i}", axis="z", q0=height))
    for i in (0, 3):
        model.add(fm.SpherePlane(f"floor{i}", model.ground, f"ball{i}", radius=0.05))
    for i in (0, 1):
        pair = {"radius_parent": 0.05, "radius_child": 0.05}
        model.add(fm.SphereSphere(f"pair{i}", f"ball{i}", f"ball{i + 1}", **pair))
    run = fm.simulate(model, t_end=0.3, integrator=METHODS[method](), audit="none")
    assert sorted(hit.contact for hit in run.run.impacts) == ["floor0", "pair0", "pair1"]
    speed = math.sqrt(2 * 9.81 * 0.3)
    for hit in run.run.impacts:
        assert hit.t == pytest.approx(speed / 9.81, abs=1e-3)
        assert hit.impulse[0] == pytest.approx(speed, rel=0.02)
    assert sum(hit.lost for hit in run.run.impacts) == pytest.approx(0.5 * speed**2, rel=0.02)
