"""Pictures of a mechanism in motion."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flexmbs.flexible_body.components import FloatArray
from flexmbs.model.frames import GROUND
from flexmbs.page.figures import FINE, empty_figure, show
from flexmbs.page.raster import Canvas
from flexmbs.page.solids import view_axes
from flexmbs.page.style import INK, MUTED, PALETTE, house_style
from flexmbs.player.extent import outermost_points
from flexmbs.player.solids import Solid
from flexmbs.scene.joint_marks import FREE
from flexmbs.scene.shape_solids import shape_solids

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from flexmbs.results.solution import SolutionData

INSTANTS = 6
BLUE = np.array([0.12, 0.35, 0.58])
GREY = np.array([0.8, 0.82, 0.85])  # solids on the ground without a colour


class MotionView(NamedTuple):
    """Pixels of the bodies at a few instants, later ones darker.

    Over them, as points in pixels (n, 2): bodies without a surface with their colours, the paths of
    free frames, the origin.
    """

    canvas: Canvas
    times: str
    frames: list[tuple[FloatArray, str]]
    paths: list[FloatArray]
    origin: FloatArray


def motion_view(solution: SolutionData, size: tuple[int, int]) -> MotionView:
    """Motion viewed normal to its plane; size in pixels."""
    pick = np.unique(np.linspace(0, len(solution.t) - 1, INSTANTS).astype(int))
    points = {name: body_points(solution, name, pick) for name in solution.bodies}
    solids = [_moved(solution, each, pick) for each in shape_solids(solution.model)[0]]
    everything = np.concatenate(
        [values.reshape(-1, 3) for values in points.values()]
        + [outermost_points(each.points.reshape(-1, 3)) for each in solids if not each.fixed]
        + [np.zeros((1, 3))]
    )
    axes = plane_of(everything, np.asarray(solution.compiled.model.gravity))
    canvas, frames = Canvas(everything @ axes.T, *size, margin=0.07), []
    for each in solids:
        if each.fixed:
            own = GREY if each.colour is None else each.colour
            canvas.draw_shaded(each.corners(0) @ axes.T, own)
    drawn = {each.body for each in solids}
    for k in range(len(pick)):
        shade = 0.86 - 0.62 * (k / max(len(pick) - 1, 1)) ** 1.4
        tone = shade + (1.0 - shade) * 0.9 * BLUE
        for each in solids:
            if not each.fixed:
                own = BLUE if each.colour is None else each.colour
                canvas.draw_shaded(each.corners(k) @ axes.T, shade + (1.0 - shade) * 0.9 * own)
        for name, values in points.items():
            shape, seen = solution.shape(name), values[k] @ axes.T
            if shape is not None and len(shape.surface.triangles):
                canvas.draw_shaded(seen[shape.surface.triangles], tone)
            elif name not in drawn:
                colour = "#" + "".join(f"{round(255 * c):02x}" for c in tone)
                frames.append((canvas.place(seen), colour))
        canvas.clear_depth()
    paths = [canvas.place(path @ axes.T) for path in free_paths(solution)]
    times = ", ".join(f"{solution.t[i]:.3g}" for i in pick)
    return MotionView(canvas, f"t = {times} s", frames, paths, canvas.place(np.zeros(3)))


class MovingSolid(NamedTuple):
    """Solid of a body at a few instants: points (instants, n, 3) [m] in world axes."""

    body: str
    points: FloatArray
    triangles: np.ndarray
    colour: FloatArray | None

    @property
    def fixed(self) -> bool:
        """True on the ground."""
        return self.body == GROUND

    def corners(self, k: int) -> FloatArray:
        """Corners (T, 3, 3) of the triangles at an instant."""
        return np.asarray(self.points[k][self.triangles])


def _moved(solution: SolutionData, solid: Solid, pick: np.ndarray) -> MovingSolid:
    colour = None if solid.colour is None else np.array(solid.colour[:3])
    if solid.body == GROUND:
        return MovingSolid(GROUND, solid.vertices[None], solid.triangles, colour)
    view = solution.body(solid.body)
    turned = np.einsum("tij,nj->tni", view.rotation[pick], solid.vertices)
    points = turned + view.position[pick][:, None]
    return MovingSolid(solid.body, points, solid.triangles, colour)


def motion_picture(solution: SolutionData) -> Figure:
    """Matplotlib figure of `motion_view`."""
    view = motion_view(solution, (round(8.6 * FINE), round(4.4 * FINE)))
    with house_style():
        figure = empty_figure(8.6, 4.4)
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        show(ax, view.canvas)
        for points, colour in view.frames:
            ax.plot(*points.T, color=colour, linewidth=3.0, marker="o", markersize=5)
        for path in view.paths:
            ax.plot(*path.T, color=PALETTE[1], linewidth=1.1)
        ax.plot(*view.origin, marker="^", color=INK, markersize=7)
        figure.text(0.0, 0.02, view.times, color=MUTED, fontsize=9)
    return figure


def plane_of(points: FloatArray, gravity: FloatArray) -> FloatArray:
    """View axes normal to the plane of largest spread of points, gravity downwards."""
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
    """World positions (instants, points, 3) of points of a body.

    Surface nodes of a flexible body, else its frames and origin.
    """
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
    """Names of the declared frames of a body."""
    return [ref.frame for ref in solution.compiled.frames if ref.body == body and ref.frame]


def free_paths(solution: SolutionData) -> list[FloatArray]:
    """Paths (nt, 3) of the free frames."""
    return [solution.frame(name).position for name in free_frames(solution)]


def free_frames(solution: SolutionData, *, most: int = 4) -> list[str]:
    """Frames of interest: the tips of a mechanism, at most so many."""
    return tips(solution).frames[-most:]


class Tips(NamedTuple):
    """Frames, and a sentence that tells which these are."""

    frames: list[str]
    told: str


def tips(solution: SolutionData) -> Tips:
    """Frames at which no joint holds a body; else the frames at the ends of the tree of joints.

    Joints with six degrees of freedom hold nothing.
    """
    model = solution.model
    held = {
        str(ref)
        for joint in model.joints.values()
        for ref in (joint.parent, joint.child)
        if joint.nv < FREE
    }
    carried = {joint.parent.body for joint in model.joints.values() if joint.carries}
    last = [name for name in solution.bodies if name not in carried]
    free = [name for name in solution.frames if name not in held]
    if free:
        return Tips(free, "Frames at which no joint holds the body, in world axes.")
    ends = [name for name in solution.frames if name.partition("/")[0] in last]
    if ends:
        return Tips(ends, "All frames have joints: those of the last bodies, in world axes.")
    return Tips(last or list(solution.bodies), "Origins of the last bodies, in world axes.")
