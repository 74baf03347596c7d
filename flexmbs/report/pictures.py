"""Pictures of a mechanism in motion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from flexmbs.flexible_body.components import FloatArray
from flexmbs.page.solids import frame_all, view_axes
from flexmbs.page.style import INK, MUTED, PALETTE, house_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from flexmbs.results.solution import SolutionData

INSTANTS = 6


def motion_picture(solution: SolutionData) -> Figure:
    """Bodies at a few instants, later ones darker, with the paths of free frames, viewed normal to
    the plane of motion."""
    from matplotlib.figure import Figure

    pick = np.unique(np.linspace(0, len(solution.t) - 1, INSTANTS).astype(int))
    points = {name: body_points(solution, name, pick) for name in solution.bodies}
    everything = np.concatenate(
        [values.reshape(-1, 3) for values in points.values()] + [np.zeros((1, 3))]
    )
    axes = plane_of(everything, np.asarray(solution.compiled.model.gravity))
    with house_style():
        figure = Figure(figsize=(8.6, 4.4))
        figure.set_layout_engine("none")
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        for path in free_paths(solution):
            ax.plot(*(path @ axes.T)[:, :2].T, color=PALETTE[1], linewidth=1.1, zorder=50)
        for k in range(len(pick)):
            shade = 0.86 - 0.62 * (k / max(len(pick) - 1, 1)) ** 1.4
            for name, values in points.items():
                _draw_body(ax, solution, name, values[k] @ axes.T, shade, 2 * k)
        ax.plot(0, 0, marker="^", color=INK, markersize=7, zorder=60)
        frame_all(ax, everything @ axes.T)
        times = ", ".join(f"{solution.t[i]:.3g}" for i in pick)
        figure.text(0.0, 0.02, f"t = {times} s", color=MUTED, fontsize=9)
    return figure


def plane_of(points: FloatArray, gravity: FloatArray) -> FloatArray:
    """View normal to the plane of largest spread of the points, with gravity downwards."""
    spread, directions = np.linalg.eigh(np.cov(points.T) + 1e-30 * np.eye(3))
    up = -gravity if np.linalg.norm(gravity) > 0.0 else directions[:, 1]
    across = directions[:, 0]
    if spread[1] <= 1e-6 * spread[2]:  # all on a line: view from the side
        across = np.cross(up, directions[:, 2])
    across = across - up * (across @ up) / (up @ up)
    if np.linalg.norm(across) < 0.3:
        up, across = directions[:, 1], directions[:, 0]
    across = -across if across[np.argmax(np.abs(across))] > 0.0 else across
    return view_axes(across, np.asarray(up, float))


def body_points(solution: SolutionData, name: str, pick: np.ndarray) -> FloatArray:
    """World positions (instants, points, 3): surface nodes of a flexible body, else its frames and
    origin."""
    body = solution.body(name)
    shape = solution.shape(name)
    if shape is not None:
        nodes = shape.surface.nodes
        local = nodes + shape.displacement(np.arange(len(nodes)), pick)
    else:
        frames = [
            solution.frame(f"{name}/{frame}").position[pick]
            for frame in _frame_names(solution, name)
        ]
        return np.stack([body.position[pick], *frames], axis=1)
    return np.asarray(
        np.einsum("tij,tnj->tni", body.rotation[pick], local) + body.position[pick][:, None]
    )


def _frame_names(solution: SolutionData, body: str) -> list[str]:
    return [ref.frame for ref in solution.compiled.frames if ref.body == body and ref.frame]


def _draw_body(
    ax: Axes, solution: SolutionData, name: str, seen: FloatArray, shade: float, order: int
) -> None:
    from matplotlib.collections import PolyCollection

    tone = np.array([1.0, 1.0, 1.0]) * shade + (1.0 - shade) * np.array([0.12, 0.35, 0.58]) * 0.9
    shape = solution.shape(name)
    if shape is not None and len(shape.surface.triangles):
        corners = seen[shape.surface.triangles]
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        facing = np.flatnonzero(normal[:, 2] > 0.0)
        far = facing[np.argsort(corners[facing, :, 2].mean(axis=1))]
        bright = 0.85 + 0.2 * normal[far, 2] / np.maximum(
            np.linalg.norm(normal[far], axis=1), 1e-300
        )
        colours = np.clip(tone * bright[:, None], 0.0, 1.0)
        ax.add_collection(
            PolyCollection(
                cast("Any", corners[far, :, :2]),
                facecolors=colours,
                edgecolors=colours,
                linewidths=0.2,
                zorder=order + 1,
            )
        )
    else:
        ax.plot(
            seen[:, 0],
            seen[:, 1],
            color=tone,
            linewidth=3.0,
            marker="o",
            markersize=5,
            zorder=order + 2,
        )


def free_paths(solution: SolutionData) -> list[FloatArray]:
    return [solution.frame(name).position for name in free_frames(solution)]


def free_frames(solution: SolutionData, *, most: int = 4) -> list[str]:
    """Frames without joints, the tips of a mechanism; if there are none, the frames of the last
    body."""
    held = {
        str(ref) for joint in solution.model.joints.values() for ref in (joint.parent, joint.child)
    }
    free = [name for name in solution.frames if name not in held]
    if not free:
        last = solution.compiled.whole_of(solution.compiled.bodies[-1])
        free = [f"{last}/{frame}" for frame in _frame_names(solution, last)[-1:]] or [last]
    return free[-most:]
