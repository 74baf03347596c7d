"""Curves of a solution by section, as panels for the page and for `Plots`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flexmbs.model.contacts.contact import Contact
from flexmbs.model.couplings import Coupling
from flexmbs.model.forces.force import OnSeveral
from flexmbs.model.item import CoordinateUse, Item
from flexmbs.model.model import SECTIONS as SECTIONS_OF_MODELS
from flexmbs.model.model import ModelData
from flexmbs.page.curve_panels import FloatArray, PlotCurve, PlotPanel, panel, thinned
from flexmbs.report.pictures import free_frames
from flexmbs.results.bodies import flexible_bodies, moved_frames
from flexmbs.system.step_scales import model_size

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData

RAD, METRE = "rad", "m"
# relative to the largest reaction: round-off and iteration errors of a step, 5e-8 for a planar
# double pendulum
SMALL = 1e-7
REACTIONS = "Joint force", "Joint moment"  # titles
EFFORT = {
    RAD: ("Joint torque, drives, couplings, joint forces", "N m"),
    METRE: ("Joint force, drives, couplings, joint forces", "N"),
}

Values = Mapping[str, FloatArray]


class CurveSection(NamedTuple):
    """Curves of a page: anchor, title, caption, and the function that makes their panels."""

    anchor: str
    title: str
    caption: str
    panels: Callable[[SolutionData], list[PlotPanel]]


def joints(solution: SolutionData) -> list[PlotPanel]:
    """Plot panels of joint coordinates and velocities, angles and lengths apart."""
    titles = {
        RAD: ("Joint angles", "Joint angular velocities"),
        METRE: ("Joint displacements", "Joint velocities"),
    }
    found = []
    for unit, (places, rates) in titles.items():
        found.append((places, unit, _coordinates(solution, unit, "position")))
        found.append((rates, f"{unit}/s", _coordinates(solution, unit, "velocity")))
    return _panels(solution, found)


def frames(solution: SolutionData) -> list[PlotPanel]:
    """Plot panels of position, speed and acceleration of the free frames (the tips)."""
    views = {name: solution.frame(name) for name in free_frames(solution)}
    size = max(float(np.ptp(view.position, axis=0).max()) for view in views.values())
    found: list[tuple[str, str, Values]] = []
    for a, axis in enumerate("xyz"):
        curves = {name: view.position[:, a] for name, view in views.items()}
        if any(np.ptp(values) > 1e-5 * size for values in curves.values()):
            found.append((f"Position {axis}", "m", curves))
    found.append(
        (
            "Speed",
            "m/s",
            {name: np.linalg.norm(view.velocity, axis=1) for name, view in views.items()},
        )
    )
    found.append(
        (
            "Acceleration",
            "m/s²",
            {name: np.linalg.norm(view.acceleration, axis=1) for name, view in views.items()},
        )
    )
    return _panels(solution, found)


def deflections(solution: SolutionData) -> list[PlotPanel]:
    """Plot panels of the elastic displacement of frames of flexible bodies."""
    curves = {
        f"{body}/{frame} {axis}": 1e3 * values[:, a]
        for body in flexible_bodies(solution)
        for frame, values in moved_frames(solution, body).items()
        for a, axis in enumerate("xyz")
        if np.abs(values[:, a]).max() > 1e-2 * np.abs(values).max() > 0.0
    }
    return _panels(solution, [("Elastic displacement of frames, body axes", "mm", curves)])


def reactions(solution: SolutionData) -> list[PlotPanel]:
    """Plot panels of force and moment magnitudes in the joints."""
    views = {name: solution.joint(name) for name in solution.joints}
    named = {name if view.unique else f"{name} (not unique)": view for name, view in views.items()}
    forces = {name: np.linalg.norm(view.force, axis=1) for name, view in named.items()}
    torques = {name: np.linalg.norm(view.torque, axis=1) for name, view in named.items()}
    found = zip(REACTIONS, ("N", "N m"), (forces, torques), largest_reactions(solution))
    return [
        panel(title, unit, solution.t, values, floor=SMALL * most)
        for title, unit, values, most in found
        if values
    ]


def largest_reactions(solution: SolutionData) -> tuple[float, float]:
    """Largest force (N) and moment (N m) of all joints, at least the weight of the bodies.

    A force times the size of the model counts as a moment.
    """
    size, system = model_size(solution.compiled), solution.compiled.system
    wrenches = [
        np.abs(solution.joint(name).wrench).max(axis=0, initial=0.0) for name in solution.joints
    ]
    force, moment = (
        np.max(wrenches, axis=0, initial=0.0).reshape(2, 3).max(axis=1) if wrenches else (0.0, 0.0)
    )
    weight = float(system.bodies.mass.sum()) * float(np.linalg.norm(solution.model.gravity))
    largest = max(float(force), float(moment) / size, weight)
    return largest, largest * size


def efforts(solution: SolutionData) -> list[PlotPanel]:
    """Plot panels of torques and forces along the degrees of freedom of joints.

    From drives, couplings, controllers and springs.
    """
    power = {name: solution.drive(name).power for name in solution.drives}
    found: list[tuple[str, str, Values]] = [
        (*EFFORT[unit], _efforts(solution, unit)) for unit in (RAD, METRE)
    ]
    return _panels(solution, [*found, ("Drive power", "W", power)])


def energy(solution: SolutionData) -> list[PlotPanel]:
    """Plot panels of energies, works, and the error of the energy balance."""
    e = solution.energy
    parts = {
        "kinetic": e.kinetic,
        "strain": e.strain,
        "gravity": e.potential - e.potential[0],
        "work of forces": e.work_of_forces,
        "work of drives": e.work_of_drives,
        "dissipated": e.dissipated,
    }
    shown = {
        name: values
        for name, values in parts.items()
        if np.abs(values).max() > 1e-12 * max(e.scale, 1e-300)
    }
    return _panels(
        solution,
        [
            ("Energy and work", "J", shown),
            ("Error of the energy balance", "J", {"missing": e.balance}),
        ],
    )


def drift(solution: SolutionData) -> list[PlotPanel]:
    """Plot panel of constraint errors, logarithmic."""
    error = solution.drift
    if error.size == 0 or not error.max() > 0.0:
        return []
    curves = {"|g|  [m, rad]": error[:, 0], "|G s + γ̄|  [m/s, rad/s]": error[:, 1]}
    return [panel("Largest constraint error", "", solution.t, curves, logarithmic=True)]


def steps(solution: SolutionData) -> list[PlotPanel]:
    """Plot panel of the step size, if it varies."""
    step = solution.trajectory.step[1:]
    if step.size == 0 or np.ptp(step) <= 1e-6 * step.max():
        return []
    curve = PlotCurve("step", *thinned(solution.t[1:], step), stepped=True)
    return [PlotPanel("Step size", "s", (curve,), logarithmic=True)]


SECTIONS = (
    CurveSection("joints", "Joints", "Joint coordinates and their velocities.", joints),
    CurveSection(
        "frames",
        "Tips and frames",
        "World coordinates of the frames to which no joint is attached.",
        frames,
    ),
    CurveSection(
        "deflections",
        "Elastic deflection",
        "Displacement of frames by the modes of their body.",
        deflections,
    ),
    CurveSection(
        "reactions",
        "Reactions",
        "Magnitudes of joint forces and moments, including drives, couplings and applied joint "
        "forces.",
        reactions,
    ),
    CurveSection(
        "efforts",
        "Drives and controllers",
        "Torques and forces along the degrees of freedom of the joints.",
        efforts,
    ),
    CurveSection(
        "energy",
        "Energy balance",
        "E − E₀ = work of forces and drives − dissipated energy; the work of springs and "
        "controllers is part of the work of forces.",
        energy,
    ),
    CurveSection(
        "drift",
        "Constraint drift",
        "Largest error of the constraints at position and velocity level.",
        drift,
    ),
    CurveSection("steps", "Step sizes", "Step size chosen by the error control.", steps),
)


def _panels(solution: SolutionData, found: list[tuple[str, str, Values]]) -> list[PlotPanel]:
    """Plot panels of (title, unit, curves); those without curves are left out."""
    return [panel(title, unit, solution.t, curves) for title, unit, curves in found if curves]


def scalar_coordinates(solution: SolutionData) -> list[tuple[str, str, int, int, str]]:
    """(joint, name, position, velocity, unit) of rotations and translations about one axis.

    Or along one axis.
    """
    found = []
    for name, joint in solution.compiled.model.joints.items():
        q = v = 0
        for motion in joint.motions:
            if motion.nv == 1:
                unit = RAD if motion.turns else METRE
                found.append((name, f"{name}.{v}", q, v, unit))
            q, v = q + motion.nq, v + motion.nv
    return found


def _coordinates(solution: SolutionData, unit: str, kind: str) -> Values:
    """Positions or velocities of the scalar joint coordinates with this unit, by name."""
    index = 2 if kind == "position" else 3
    chosen = [each for each in scalar_coordinates(solution) if each[4] == unit]
    return {each[1]: getattr(solution.joint(each[0]), kind)[:, each[index]] for each in chosen}


def _efforts(solution: SolutionData, unit: str) -> Values:
    """Efforts of coordinates on which an item acts.

    Along the others, residuals of the equations are errors, not forces.
    """
    found, acted_on = {}, _acted_on(solution.model)
    for joint, name, _, v, kind in scalar_coordinates(solution):
        view = solution.joint(joint)
        effort = view.effort[:, v]
        if (
            kind == unit
            and (joint, v) in acted_on
            and np.abs(effort).max() > SMALL * max(np.abs(view.wrench).max(), 1e-9)
        ):
            found[name] = effort
    return found


def _acted_on(model: ModelData) -> set[CoordinateUse]:
    """(joint, coordinate) pairs to which items of the model refer."""
    items = [
        item
        for section in SECTIONS_OF_MODELS
        for item in model.items(section).values()
        if isinstance(item, Item)
    ]
    used = [item.coordinate_used() for item in items]
    several = [
        item.coordinates(model.joints)
        for item in items
        if isinstance(item, (OnSeveral, Coupling, Contact))
    ]
    return {use for use in (*used, *itertools.chain(*several)) if use is not None}
