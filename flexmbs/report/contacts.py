"""Contacts and friction of a run for the page.

States over time, gaps and forces, largest values, impacts, friction in joints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.model.contacts import DryFriction, FrameContact, declared_contact
from flexmbs.page.curve_panels import PlotPanel, StateBar, StateInterval, panel
from flexmbs.results.impact_steps import outputs_without_impacts
from flexmbs.results.joint_friction import FrictionHistory, joint_frictions

if TYPE_CHECKING:
    from flexmbs.page.curve_panels import FloatArray
    from flexmbs.results.solution import SolutionData
    from flexmbs.results.views import ContactView

INSIDE = 1e-3  # relative to μ N: friction below the limit by more than this means sticking
MOST_BARS, MOST_MARKS = 12, 300
KINDS = ("open", "closed", "stick", "slip")


class ContactRow(NamedTuple):
    """Largest values of a contact; forces exclude steps with impacts."""

    name: str
    kind: str
    between: str
    unit: str
    closed: float  # fraction of the outputs
    normal: float
    time: float
    friction: float | None
    impacts: int
    impulse: float
    lost: float


class ContactSection(NamedTuple):
    """Section "Contacts and friction" of the page."""

    rows: list[ContactRow]
    frictions: list[dict[str, Any]]
    impacts: list[dict[str, Any]]
    notes: list[str]
    panels: list[PlotPanel]


def contact_section(solution: SolutionData) -> ContactSection | None:
    """Section of a model; None without contacts and friction in joints."""
    frictions, notes = joint_frictions(solution)
    if not solution.contacts and not frictions and not notes:
        return None
    calm = outputs_without_impacts(solution)
    if not calm.all():
        notes.append(
            "Largest forces exclude steps with impacts, whose forces are "
            "impulses divided by the length of the step."
        )
    impacts = [
        {
            "t": impact.t,
            "name": impact.contact,
            "normal": impact.impulse[0],
            "along": float(np.hypot(*impact.impulse[1:])),
            "lost": impact.lost,
        }
        for impact in solution.run.impacts
    ]
    rows = [_row(solution, name, calm) for name in solution.contacts if not _is_dry(solution, name)]
    return ContactSection(
        rows,
        [_friction_row(solution, each) for each in frictions],
        impacts,
        notes,
        contact_panels(solution, frictions),
    )


def contact_panels(
    solution: SolutionData, frictions: list[FrictionHistory] | None = None
) -> list[PlotPanel]:
    """Panels of contact states, gaps and forces, and of friction in joints.

    Steps with impacts are excluded; friction is shown by force and power.
    """
    views, calm = (
        {name: solution.contact(name) for name in solution.contacts},
        outputs_without_impacts(solution),
    )
    units = {name: _units(solution, name) for name in views if not _is_dry(solution, name)}
    bars = tuple(
        _bar(view, friction_of(solution, name), solution.t)
        for name, view in list(views.items())[:MOST_BARS]
    )
    found = (
        [PlotPanel("States of the contacts", "", bars=bars, more=len(views) - len(bars))]
        if bars
        else []
    )
    for unit in dict.fromkeys(unit for unit, _ in units.values()):
        own = {name: views[name] for name in units if units[name][0] == unit}
        force = next(units[name][1] for name in own)
        found.append(panel("Gap", unit, solution.t, {name: view.gap for name, view in own.items()}))
        title = "Moment of limits" if force == "N m" else "Normal force"
        found.append(
            panel(
                title,
                force,
                solution.t[calm],
                {name: view.normal[calm] for name, view in own.items()},
            )
        )
    rubbing = {
        name: np.linalg.norm(view.friction[calm], axis=1)
        for name, view in views.items()
        if name in units and friction_of(solution, name)
    }
    found += [panel("Friction in contacts", "N", solution.t[calm], rubbing)] if rubbing else []
    return found + _friction_panels(
        solution, joint_frictions(solution)[0] if frictions is None else frictions
    )


def _friction_panels(solution: SolutionData, frictions: list[FrictionHistory]) -> list[PlotPanel]:
    """Plot panels of friction torques, friction forces and power losses."""
    titles = {"N m": "Friction torque in joints", "N": "Friction force in joints"}
    found = []
    for unit, title in titles.items():
        own = {each.name: each.force for each in frictions if each.unit == unit}
        found += [panel(title, unit, solution.t, own)] if own else []
    power = {each.name: each.power for each in frictions}
    return found + (
        [panel("Power lost by friction in joints", "W", solution.t, power)] if power else []
    )


def friction_of(solution: SolutionData, name: str) -> float:
    """Coulomb coefficient of a contact; zero without friction, 1 for dry friction.

    1 for dry friction, whose normal force is its limit.
    """
    declared = solution.model.contacts.get(name)
    return (
        declared.friction
        if isinstance(declared, FrameContact)
        else float(isinstance(declared, DryFriction))
    )


def _is_dry(solution: SolutionData, name: str) -> bool:
    """True for dry friction of a joint, which has no gap and is shown as friction in joints."""
    return isinstance(solution.model.contacts.get(name), DryFriction)


def states_of(view: ContactView, friction: float) -> NDArray[np.int64]:
    """State at every output, as index in `KINDS`.

    A closed contact with friction sticks below μ N and slips at μ N.
    """
    closed = np.abs(view.normal) > 0.0
    if not friction:
        return closed.astype(np.int64)
    sticks = np.linalg.norm(view.friction, axis=1) < (1.0 - INSIDE) * friction * np.abs(view.normal)
    return np.where(closed, np.where(sticks, 2, 3), 0)


def _bar(view: ContactView, friction: float, t: FloatArray) -> StateBar:
    """Bar of the states of a contact over time."""
    kinds = states_of(view, friction)
    starts = np.flatnonzero(np.diff(kinds, prepend=-1))
    borders = np.concatenate([t[:1], 0.5 * (t[starts[1:] - 1] + t[starts[1:]]), t[-1:]])
    states = tuple(
        StateInterval(float(borders[k]), float(borders[k + 1]), KINDS[kinds[i]])
        for k, i in enumerate(starts)
    )
    return StateBar(view.name, states, tuple(impact.t for impact in view.impacts[:MOST_MARKS]))


def _units(solution: SolutionData, name: str) -> tuple[str, str]:
    """Units of gap and normal force; empty for a condition on several coordinates."""
    declared = declared_contact(solution.model.contacts, name)
    if isinstance(declared, FrameContact):
        return "m", "N"
    use = declared.coordinate_used()
    if use is None:
        return "", ""
    freedoms = [
        motion for motion in solution.model.joints[use.joint].motions for _ in range(motion.nv)
    ]
    return ("rad", "N m") if freedoms[use.coordinate].turns else ("m", "N")


def _row(solution: SolutionData, name: str, calm: NDArray[np.bool_]) -> ContactRow:
    """Row of the table of contacts: closed time, largest forces, impacts."""
    view, declared = (
        solution.contact(name),
        declared_contact(solution.model.contacts, name),
    )
    normal = np.where(calm, np.abs(view.normal), 0.0)
    k = int(normal.argmax())
    rubbing = (
        np.where(calm, np.linalg.norm(view.friction, axis=1), 0.0)
        if friction_of(solution, name)
        else None
    )
    between = " – ".join(
        str(getattr(declared, key))
        for key in ("joint", "parent", "child")
        if hasattr(declared, key)
    )
    return ContactRow(
        name,
        declared.kind,
        between,
        _units(solution, name)[1],
        float((np.abs(view.normal) > 0.0).mean()),
        float(normal[k]),
        float(solution.t[k]),
        None if rubbing is None else float(rubbing.max()),
        len(view.impacts),
        max((abs(impact.impulse[0]) for impact in view.impacts), default=0.0),
        sum(impact.lost for impact in view.impacts),
    )


def _friction_row(solution: SolutionData, found: FrictionHistory) -> dict[str, Any]:
    """Row of the table of joint friction: largest force and power, energy lost."""
    k = int(np.abs(found.force).argmax())
    return found._asdict() | {
        "largest": float(np.abs(found.force[k])),
        "time": float(solution.t[k]),
        "most_power": float(found.power.max()),
        "lost": found.lost(solution.t),
    }
