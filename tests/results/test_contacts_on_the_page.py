"""Contacts and friction of a report: states against what happens, forces of friction against those
of the joints.
"""

import json
import re

import numpy as np
import pytest
from runs import G, hanging

import flexmbs as fm
from flexmbs.report.contacts import KINDS, contact_section, friction_of, states_of
from flexmbs.report.page import page
from flexmbs.report.plots import Plots
from flexmbs.results.impact_steps import outputs_without_impacts
from flexmbs.results.joint_friction import joint_frictions
from flexmbs.results.summary import summary

RADIUS, MU = 0.05, 0.3
NASTY = "<img src=x onerror=alert(1)>"


def sledge(speed: float, *, height: float = RADIUS) -> fm.Model:
    """A body with a ball as its foot, which slides on the floor without turning."""
    model = fm.Model("sledge", gravity=(0.0, 0.0, -G))
    body = model.add(fm.RigidBody("body", mass=2.0, inertia=(0.1, 0.1, 0.1)))
    model.add(
        fm.Translation("free", model.ground, body, q0=(0.0, 0.0, height), v0=(speed, 0.0, 0.0))
    )
    model.add(fm.SpherePlane(f"{NASTY} foot", model.ground, body, radius=RADIUS, friction=MU))
    return model


def test_a_sledge_slips_until_it_sticks() -> None:
    """It stops after v/(μ g), as a block on the floor; the force is μ m g while it slips."""
    speed = 0.9
    solution = fm.simulate(sledge(speed), t_end=0.5, step=1e-3, integrator="moreau-jean")
    (name,) = solution.contacts
    kinds = [KINDS[k] for k in states_of(solution.contact(name), friction_of(solution, name))]
    stop = speed / (MU * G)
    assert set(np.array(kinds)[(solution.t > 2e-3) & (solution.t < stop - 2e-3)]) == {"slip"}
    assert set(np.array(kinds)[solution.t > stop + 2e-3]) == {"stick"}
    found = contact_section(solution)
    assert found is not None
    (row,) = found.rows
    assert (row.impacts, row.unit) == (0, "N")
    assert row.normal == pytest.approx(2.0 * G, rel=1e-6)
    assert row.friction == pytest.approx(MU * 2.0 * G, rel=1e-6)
    assert [each.title for each in found.panels] == [
        "States of the contacts",
        "Gap",
        "Normal force",
        "Friction in contacts",
    ]
    (bar,) = found.panels[0].bars
    assert [state.kind for state in bar.states][-2:] == ["slip", "stick"]
    assert bar.states[-1].start == pytest.approx(stop, abs=2e-3)
    assert [bar.states[0].start, bar.states[-1].end] == [solution.t[0], solution.t[-1]]
    figure = Plots(solution).contacts()
    assert figure is not None
    assert len(figure.axes) == 4


def test_contacts_that_stay_open_have_no_penetration() -> None:
    solution = fm.simulate(sledge(0.5, height=0.5), t_end=0.02, step=1e-3, integrator="moreau-jean")
    assert {check.title: check.found for check in solution.audit}[
        "Rigid contacts"
    ] == "no penetration"


def test_impacts_are_events_and_no_largest_forces() -> None:
    """A fall from 0.2 m: the impulse m v of the impact does not depend on the step, m v/h would."""
    largest, impulses = [], []
    for step in (1e-3, 2.5e-4):
        solution = fm.simulate(
            sledge(0.0, height=RADIUS + 0.2), t_end=0.4, step=step, integrator="moreau-jean"
        )
        found = contact_section(solution)
        assert found is not None
        largest.append(found.rows[0].normal)
        impulses.append(found.rows[0].impulse)
        assert len(found.impacts) == found.rows[0].impacts >= 1
        assert any("exclude steps with impacts" in note for note in found.notes)
        calm = outputs_without_impacts(solution)
        assert 0 < (~calm).sum() < 10
        assert (
            np.abs(solution.contact(solution.contacts[0]).normal)[~calm].max()
            > 10 * found.rows[0].normal
        )
        told = summary(solution)["joints"]["free"]["largest_force"]
        assert told == pytest.approx(
            np.linalg.norm(solution.joint("free").force[calm], axis=1).max()
        )
    np.testing.assert_allclose(largest, 2.0 * G, rtol=1e-5)
    np.testing.assert_allclose(impulses, 2.0 * np.sqrt(2.0 * G * 0.2), rtol=1e-2)


def test_the_page_shows_them_and_escapes_names() -> None:
    solution = fm.simulate(
        sledge(0.5, height=RADIUS + 0.05), t_end=0.3, step=1e-3, integrator="moreau-jean"
    )
    text = page(solution, summary(solution))
    assert '<section id="contacts">' in text
    assert '<a href="#contacts">Contacts and friction</a>' in text
    assert re.search(r'<button type="button" class="seek" data-seek="0\.1\d+">', text)
    assert "<img src=x" not in text
    stored = json.loads(re.findall('id="flexmbs-plots">(.*?)</script>', text)[0])
    assert [len(panel["bars"]) for panel in stored["figures"]["contacts"]] == [1, 0, 0, 0]
    (bar,) = stored["figures"]["contacts"][0]["bars"]
    assert "slip" in [kind for _, _, kind in bar["states"]]
    plain = fm.simulate(hanging(), t_end=0.02, step=0.01)
    assert "Contacts and friction" not in page(plain, summary(plain))


@pytest.mark.parametrize("kind", ["joint", "pin", "guide", "user"])
def test_friction_of_a_joint_is_the_force_that_it_feels(kind: str) -> None:
    """With no other force on the coordinate, friction is what the joint transmits along it; its
    work is what is dissipated.
    """
    model = fm.Model("rubbing", gravity=(0.0, 3.0, -G))
    body = model.add(fm.RigidBody("body", mass=2.0, inertia=(0.1, 0.2, 0.3), com=(0.3, 0.1, 0.05)))
    if kind == "guide":
        joint = model.add(fm.Prismatic("joint", model.ground, body, axis=(1.0, 0.2, 0.0), v0=2.0))
    else:
        joint = model.add(fm.Revolute("joint", body, model.ground, axis="y", v0=3.0))
    declared = {
        "joint": lambda: fm.JointFriction(
            "rub", joint, coulomb=0.2, static=0.3, stribeck_velocity=0.1, viscous=0.05
        ),
        "pin": lambda: fm.PinFriction("rub", joint, friction=0.1, radius=0.02, preload=0.01),
        "guide": lambda: fm.GuideFriction("rub", joint, friction=0.1),
        "user": lambda: fm.UserFriction("rub", joint, rubbing),
    }
    model.add(declared[kind]())
    solution = fm.simulate(model, t_end=0.4, step=1e-3)
    (found,), notes = joint_frictions(solution)
    assert notes == []
    assert found.unit == ("N" if kind == "guide" else "N m")
    np.testing.assert_allclose(
        found.force, solution.joint("joint").effort[:, 0], rtol=2e-5, atol=1e-9
    )
    assert found.lost(solution.t) == pytest.approx(solution.energy.dissipated[-1], rel=2e-3)
    section = contact_section(solution)
    assert section is not None
    assert (section.rows, len(section.panels)) == ([], 2)
    assert "Power lost by friction in joints" in [each.title for each in section.panels]


def rubbing(t: float, x: float, v: float, loads: np.ndarray) -> float:
    return float(-0.01 * loads[0] * np.tanh(v / 0.01))
