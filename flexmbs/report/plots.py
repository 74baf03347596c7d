"""Figures of a solution, one method each: ``solution.plot.joints()`` returns a matplotlib figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from flexmbs.flexible_body.parts import FloatArray
from flexmbs.page.solids import mode_picture
from flexmbs.page.style import MUTED, PALETTE, finish, house_style, label, panels, thinned
from flexmbs.report.pictures import free_frames, motion_picture
from flexmbs.report.stress_pictures import stress_picture
from flexmbs.results.summary import elastic_frames

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from flexmbs.results.solution import SolutionData

MOST_CURVES = 8
RAD, METRE = "rad", "m"
EFFORT = {RAD: "Joint torque, drives, couplings, joint forces  [N m]", METRE: "Joint force, drives, couplings, joint forces  [N]"}

Curves = Mapping[str, FloatArray]


class Plots:
    """Figures of one solution, each made on demand; None if there is nothing to show."""

    def __init__(self, solution: SolutionData) -> None:
        self.solution = solution

    def motion(self) -> Figure:
        """Bodies at a few instants and the paths of the free frames."""
        return motion_picture(self.solution)

    def mode(self, body: str, mode: int) -> Figure:
        """Shape of a mode of a flexible body (0 the first), coloured by displacement."""
        return mode_picture(self.solution.compiled.data[body], mode)

    def stress(self, body: str) -> Figure:
        """Von Mises stress on the surface of a flexible body at the time of its largest value, with its hot spots."""
        return stress_picture(self.solution, body)

    def joints(self) -> Figure | None:
        """Coordinates of the joints and their velocities, angles and lengths in separate panels."""
        position, velocity = ({unit: self._coordinates(unit, kind) for unit in (RAD, METRE)} for kind in ("position", "velocity"))
        titles = {
            "Joint angles  [rad]": position[RAD], "Joint angular velocities  [rad/s]": velocity[RAD],
            "Joint displacements  [m]": position[METRE], "Joint velocities  [m/s]": velocity[METRE],
        }  # fmt: skip
        return self._figure(titles)

    def frames(self) -> Figure | None:
        """Position of the free frames (the tips), their speed and acceleration."""
        views = {name: self.solution.frame(name) for name in free_frames(self.solution)}
        titles: dict[str, Curves] = {}
        size = max(float(np.ptp(view.position, axis=0).max()) for view in views.values())
        for a, axis in enumerate("xyz"):
            curves = {name: view.position[:, a] for name, view in views.items()}
            if any(np.ptp(values) > 1e-5 * size for values in curves.values()):
                titles[f"Position {axis}  [m]"] = curves
        titles["Speed  [m/s]"] = {name: np.linalg.norm(view.velocity, axis=1) for name, view in views.items()}
        titles["Acceleration  [m/s²]"] = {name: np.linalg.norm(view.acceleration, axis=1) for name, view in views.items()}
        return self._figure(titles, height=1.75)

    def deflections(self) -> Figure | None:
        """Elastic displacement of the frames of flexible bodies, in body axes."""
        curves = {
            f"{body}/{frame} {axis}": 1e3 * values[:, a]
            for body in self.solution.compiled.data
            for frame, values in elastic_frames(self.solution, body).items()
            for a, axis in enumerate("xyz")
            if np.abs(values[:, a]).max() > 1e-2 * np.abs(values).max() > 0.0
        }
        return self._figure({"Elastic displacement of frames, body axes  [mm]": curves}, height=2.6)

    def reactions(self) -> Figure | None:
        """Magnitude of the force and moment in every joint."""
        views = {name: self.solution.joint(name) for name in self.solution.joints}
        named = {name if view.unique else f"{name} (not unique)": view for name, view in views.items()}
        forces = {name: np.linalg.norm(view.force, axis=1) for name, view in named.items()}
        torques = {name: np.linalg.norm(view.torque, axis=1) for name, view in named.items()}
        return self._figure({"Joint force  [N]": forces, "Joint moment  [N m]": torques}, height=2.3)

    def efforts(self) -> Figure | None:
        """Torques and forces along the degrees of freedom of joints by drives, couplings, controllers and springs."""
        titles = {EFFORT[unit]: self._efforts(unit) for unit in (RAD, METRE)}
        power = {name: self.solution.drive(name).power for name in self.solution.drives}
        return self._figure(titles | {"Drive power  [W]": power})

    def energy(self) -> Figure:
        """Energies, works, and the error of the energy balance."""
        e = self.solution.energy
        parts = {
            "kinetic": e.kinetic, "strain": e.strain, "gravity": e.potential - e.potential[0], "work of forces": e.work_of_forces,
            "work of drives": e.work_of_drives, "dissipated": e.dissipated,
        }  # fmt: skip
        shown = {name: values for name, values in parts.items() if np.abs(values).max() > 1e-12 * max(e.scale, 1e-300)}
        figure = self._figure(
            {"Energy and work  [J]": shown, "Error of the energy balance  [J]": {"missing": e.balance}}, height=2.5
        )
        return figure or panels(1)[0]

    def drift(self) -> Figure | None:
        """Errors of the constraints on logarithmic axes."""
        drift = self.solution.drift
        if drift.size == 0 or not drift.max() > 0.0:
            return None
        curves = {"|g|  [m, rad]": drift[:, 0], "|G s + γ̄|  [m/s, rad/s]": drift[:, 1]}
        return self._figure({"Largest constraint error": curves}, height=2.4, logarithmic=True)

    def steps(self) -> Figure | None:
        """Step size, if it varies."""
        step = self.solution.trajectory.step[1:]
        if step.size == 0 or np.ptp(step) <= 1e-6 * step.max():
            return None
        with house_style():
            figure, axes = panels(1, height=2.0)
            axes[0].plot(*thinned(self.solution.t[1:], step), color=PALETTE[0], drawstyle="steps-post")
            axes[0].set_yscale("log")
            axes[0].set_title("Step size  [s]")
            finish(axes)
        return figure

    def _figure(self, titles: Mapping[str, Curves], *, height: float = 2.1, logarithmic: bool = False) -> Figure | None:
        """Panels with curves over time; None if all of them are empty."""
        filled = {title: curves for title, curves in titles.items() if curves}
        if not filled:
            return None
        with house_style():
            figure, axes = panels(len(filled), height=height)
            for ax, (title, curves) in zip(axes, filled.items()):
                ax.set_title(title)
                self._draw(ax, curves, logarithmic=logarithmic)
            finish(axes)
        return figure

    def _draw(self, ax: Axes, curves: Curves, *, logarithmic: bool) -> None:
        for k, (name, values) in enumerate(list(curves.items())[:MOST_CURVES]):
            t, y = thinned(self.solution.t, np.maximum(values, 1e-18) if logarithmic else values)
            ax.plot(t, y, color=PALETTE[k % len(PALETTE)], label=label(name) if len(curves) > 1 else None)
        if len(curves) == 1:
            name = next(iter(curves))
            ax.plot([], [], color=PALETTE[0], label=label(name))
        if len(curves) > MOST_CURVES:
            ax.plot([], [], " ", label=f"and {len(curves) - MOST_CURVES} more")
        if logarithmic:
            ax.set_yscale("log")
        elif any(values.min() < 0.0 < values.max() for values in curves.values()):
            ax.axhline(0.0, color=MUTED, linewidth=0.7, zorder=0)
        spread = max((float(np.ptp(values)) for values in curves.values()), default=0.0)
        if spread == 0.0 and not logarithmic:
            ax.margins(y=0.4)

    def _scalar_coordinates(self) -> list[tuple[str, str, int, int, str]]:
        """(joint, coordinate name, position, velocity, unit) of rotations and translations about or along an axis."""
        found = []
        for name, joint in self.solution.compiled.model.joints.items():
            q = v = 0
            for motion in joint.motions:
                if motion.nv == 1:
                    unit = RAD if motion.turns else METRE
                    found.append((name, f"{name}.{v}", q, v, unit))
                q, v = q + motion.nq, v + motion.nv
        return found

    def _coordinates(self, unit: str, kind: str) -> Curves:
        index = 2 if kind == "position" else 3
        chosen = [each for each in self._scalar_coordinates() if each[4] == unit]
        return {each[1]: getattr(self.solution.joint(each[0]), kind)[:, each[index]] for each in chosen}

    def _efforts(self, unit: str) -> Curves:
        found = {}
        for joint, name, _, v, kind in self._scalar_coordinates():
            effort = self.solution.joint(joint).effort[:, v]
            if kind == unit and np.abs(effort).max() > 1e-7 * max(np.abs(self.solution.joint(joint).wrench).max(), 1e-9):
                found[name] = effort
        return found
