"""Durations of elastic impacts, and times between rigid ones, against fixed steps.

A contact of the force N = k δⁿ stops a mass m that arrives at v at δ_m = ((n + 1) m v²/(2
k))^(1/(n+1)) and lasts T = 2 δ_m/v ∫₀¹ dx/√(1 − x^(n+1)) (Johnson, Contact Mechanics, 1985, eq.
11.23 for n = 3/2). Error-controlled methods resolve it by their error estimate; fixed steps are
divided within it (`flexmbs.integrators.missed_contacts`).
"""

import itertools
import math

import numpy as np

from flexmbs.model.contact_laws import HuntCrossley
from flexmbs.model.contacts import FrameContact
from flexmbs.model.frames import frame_ref
from flexmbs.results.bodies import mass_of
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import PASS, WARN, Check, graded
from flexmbs.time_stepping.run import Run

# steps in the duration of an impact: fewer than the first number give WARN, than the second FAIL
STEPS = (8.0, 3.0)
CLOSE = 1.5  # steps between impacts
NEAR = 2.0  # intervals between outputs within which a contact counts as closed


def contact_duration(solution: SolutionData, run: Run) -> list[Check]:
    """Check that fixed steps resolve the duration of elastic impacts."""
    longest = dict(zip(solution.compiled.contacts, run.context.contact.struck.tolist()))
    found = [
        (duration / longest[name], duration, name)
        for name, contact in solution.model.contacts.items()
        if isinstance(contact, FrameContact)
        and isinstance(contact.law, HuntCrossley)
        and longest.get(name, 0.0) > 0.0
        if (duration := _duration(solution, name, contact)) is not None
    ]
    if not found:
        return []
    steps, duration, name = min(found)
    status = graded(-steps, (-STEPS[0], -STEPS[1]))
    text = f"impacts of {name} last about {duration:.2g} s, {steps:.2g} steps"
    return [
        Check(
            "Contacts and steps",
            status,
            text,
            "" if status == PASS else "use smaller steps, or omit the step for error control",
        )
    ]


def impact_order(solution: SolutionData) -> list[Check]:
    """Check of the order of impacts that occur within about one fixed step.

    Their order is not resolved, and the motion may depend on it. Impacts at the same time have no
    order: see `several_at_once`.
    """
    step = solution.run.options["step"]
    if not step:
        return []
    impacts = sorted(solution.run.impacts, key=lambda impact: impact.t)
    close = [
        (one, other)
        for one, other in itertools.pairwise(impacts)
        if one.contact != other.contact and 0.0 < other.t - one.t <= CLOSE * step
    ]
    if not close:
        return []
    one, other = close[0]
    more = f" and {len(close) - 1} other pairs" if len(close) > 1 else ""
    text = (
        f"{one.contact} and {other.contact} strike within a step at t = {other.t:.4g} "
        f"s{more}: their order is not resolved"
    )
    return [
        Check("Order of impacts", WARN, text, "compare with half the step, or use 'event-driven'")
    ]


def several_at_once(run: Run) -> list[Check]:
    """Check that results of simultaneous impacts do not depend on the impact law.

    A warning, unless the law was chosen by the user.
    """
    found = run.method.undecided(run.memory)
    if found is None:
        return []
    text = (
        f"{found.number} of several contacts at once, the first at t = {found.t:.4g} s; "
        "velocities depend on the law for these: "
        f"'{found.law}' was used, the other one differs by up to "
        f"{100.0 * found.difference:.2g} % of the speed of approach"
    )
    if found.chosen:
        return [Check("Impacts at once", PASS, text)]
    return [
        Check(
            "Impacts at once",
            WARN,
            text,
            "choose the integrator's multiple_impacts, or model the contacts by force laws",
        )
    ]


def lifts_without_reason(run: Run) -> list[Check]:
    """Check that no sliding contact lifts off where Coulomb's law has two solutions."""
    number, t = run.method.lifted(run.memory)
    if not number:
        return []
    return [
        Check(
            "Impacts without collision",
            WARN,
            f"{number} step{'s' if number > 1 else ''}, the first at t = {t:.4g} s, in which a sliding contact lifts off; it "
            "could also jam by friction and strike: Coulomb's law does not determine the motion",
            "compare with 'event-driven', or model the contact by a force law",
        )
    ]


def impact_duration(stiffness: float, exponent: float, mass: float, speed: float) -> float:
    """T (s) of an elastic impact of a mass (kg) at a speed (m/s) with the force k δⁿ."""
    p = exponent + 1.0
    depth = (0.5 * p * mass * speed**2 / stiffness) ** (1.0 / p)
    return (
        2.0
        * depth
        / speed
        * math.sqrt(math.pi)
        * math.gamma(1.0 + 1.0 / p)
        / math.gamma(0.5 + 1.0 / p)
    )


def _duration(solution: SolutionData, name: str, contact: FrameContact) -> float | None:
    """Impact duration (s) of a contact at its largest approach speed.

    None if it does not close.
    """
    view = solution.contact(name)
    reach = NEAR * float(np.diff(solution.t).max(initial=0.0))
    met = (view.rate < 0.0) & (view.gap <= -view.rate * reach)
    if not met.any():
        return None
    masses = [
        mass_of(solution, body)
        for frame in (contact.parent, contact.child)
        if (body := frame_ref(frame).body) in solution.model.bodies
    ]
    if not masses or min(masses) <= 0.0:
        return None
    speed = float(-view.rate[met].min())
    return impact_duration(
        contact.law.stiffness, contact.law.exponent, 1.0 / sum(1.0 / mass for mass in masses), speed
    )
