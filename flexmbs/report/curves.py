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
from flexmbs.report.pictures import tips
from flexmbs.results.bodies import flexible_bodies, moved_frames
from flexmbs.system.step_scales import model_size

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData

RAD, METRE = "rad", "m"
# relative to the largest reaction: round-off and iteration errors of a step, 5e-8 for a planar
# double pendulum
SMALL = 1e-7
STILL = 1e-5  # relative to the largest range of a component: smaller ones do not move
MOST_TIPS = 8  # frames in a plot
# signals of forces without a plot: efforts are those of the joints, times are no quantities
UNSHOWN = ("effort", "time to the next sample")
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
    caption: str | Callable[[SolutionData], str]
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
    """Plot panels of position, velocity and acceleration of the tips by component."""
    views = {name: solution.frame(name) for name in tips(solution).frames[:MOST_TIPS]}
    found: list[tuple[str, str, Values]] = []
    for title, unit, key in (
        ("Position", "m", "position"),
        ("Velocity", "m/s", "velocity"),
        ("Acceleration", "m/s²", "acceleration"),
    ):
        values = {name: getattr(view, key) for name, view in views.items()}
        most = max(float(np.ptp(each, axis=0).max()) for each in values.values())
        curves = {
            f"{name} {axis}": each[:, a]
            for name, each in values.items()
            for a, axis in enumerate("xyz")
            if np.ptp(each[:, a]) > STILL * most
        }
        found.append((title, unit, curves))
    speeds = {name: np.linalg.norm(view.velocity, axis=1) for name, view in views.items()}
    found.insert(2, ("Speed", "m/s", speeds))
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
    """Plot panels of the force and moment in the joints, by component in world axes."""
    views = {name: solution.joint(name) for name in solution.joints}
    named = {name if view.unique else f"{name} (not unique)": view for name, view in views.items()}
    found = []
    for title, unit, key, most in zip(
        REACTIONS, ("N", "N m"), ("force", "torque"), largest_reactions(solution)
    ):
        values: dict[str, FloatArray] = {}
        for name, view in named.items():
            values |= components(name, getattr(view, key), SMALL * most)
        if values:
            found.append(panel(title, unit, solution.t, values, floor=SMALL * most))
    return found


def components(name: str, values: FloatArray, floor: float) -> dict[str, FloatArray]:
    """Components (nt,) of a vector (nt, 3) that exceed a floor; its magnitude if none does."""
    found = {
        f"{name} {axis}": values[:, a]
        for a, axis in enumerate("xyz")
        if float(np.abs(values[:, a]).max(initial=0.0)) > floor
    }
    return found or {name: np.linalg.norm(values, axis=1)}


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


def forces(solution: SolutionData) -> list[PlotPanel]:
    """Plot panels of tensions, currents, pressures, references and other signals of forces."""
    found: dict[tuple[str, str], dict[str, FloatArray]] = {}
    names = sorted(solution.model.forces, key=len, reverse=True)
    for signal in solution.force_signals:
        name = next(each for each in names if signal.name.startswith(f"{each} "))
        what = signal.name.removeprefix(f"{name} ")
        if what in UNSHOWN:
            continue
        quantity, _, part = what.rpartition(" ")
        title = quantity if len(part) == 1 else what
        key = title[0].upper() + title[1:], signal.unit
        found.setdefault(key, {})[f"{name} {part}" if len(part) == 1 else name] = signal.values
    return _panels(
        solution,
        [
            (title, unit, {k: y for k, y in curves.items() if y.any()})
            for (title, unit), curves in found.items()
        ],
    )


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
        lambda solution: tips(solution).told,
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
        "Force and moment of the parent on the child of each joint, in world axes, including "
        "drives, couplings and applied joint forces. Components that are zero are left out.",
        reactions,
    ),
    CurveSection(
        "efforts",
        "Drives and controllers",
        "Torques and forces along the degrees of freedom of the joints.",
        efforts,
    ),
    CurveSection(
        "forces",
        "Forces and controllers",
        "Tensions, currents, pressures, references and states of forces and controllers.",
        forces,
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
