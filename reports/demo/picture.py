"""The picture of the README: a two-link arm swinging over its shoulder, the links as their deformed
finite-element meshes.

python reports/demo/picture.py             writes arm.png
"""

import itertools
import tempfile
from pathlib import Path

import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

import flexmbs as fm
import preprocess as pp
from flexmbs.page.solids import view_axes

HERE = Path(__file__).resolve().parent
INSTANTS = (0.0, 0.31, 0.41, 0.49, 0.59, 0.9)  # s
AXES = view_axes(np.array([-0.22, -1.0, 0.30]), np.array([0.0, 0.0, 1.0]))
LIGHT = np.array([-0.35, -0.70, 0.85]) / np.linalg.norm([-0.35, -0.70, 0.85])
COLOURS = LinearSegmentedColormap.from_list(
    "deflection", ["#e6ebf0", "#a8c4de", "#3f7fb8", "#174a80", "#0d2b4f"]
)
PATH, INK = "#e0762a", "#24405c"
SHARP = 0.8  # cosine between neighbouring faces below which their edge is drawn


def main() -> None:
    """Reduce, simulate, draw."""
    solution = swing()
    figure = Figure(facecolor="white")
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set_axis_off()
    ax.set_aspect("equal")
    seen = [draw_pose(ax, solution, t, 10 * number) for number, t in enumerate(INSTANTS)]
    path = solution.frame("tool/point").position @ AXES.T
    ax.plot(path[:, 0], path[:, 1], color=PATH, linewidth=1.6, solid_capstyle="round", zorder=5)
    dots = np.searchsorted(solution.t, INSTANTS)
    ax.plot(path[dots, 0], path[dots, 1], "o", color=PATH, markersize=4.5, zorder=90)
    everything = np.vstack([*seen, path])
    low, high = everything.min(axis=0)[:2], everything.max(axis=0)[:2]
    margin = 0.012
    ax.set_xlim(low[0] - margin, high[0] + margin)
    ax.set_ylim(low[1] - margin, high[1] + margin)
    figure.set_size_inches(
        10.0, 10.0 * (high[1] - low[1] + 2 * margin) / (high[0] - low[0] + 2 * margin)
    )
    figure.savefig(HERE / "arm.png", dpi=160)


def swing() -> fm.Solution:
    """Two links of the committed mesh with a tool, swung from one side to the other in 0.8 s."""
    with tempfile.TemporaryDirectory() as folder:
        link = pp.reduce(
            pp.read_mesh(HERE.parents[1] / "meshes" / "link.msh", unit="mm"),
            pp.Isotropic(E=70e9, nu=0.33, rho=2700.0),
            interfaces={"hub": pp.Rigid("hub_face"), "tip": pp.Rigid("tip_face")},
            method=pp.CraigBampton(modes=12),
            reference="hub",
            damping=0.01,
        )
        link.save(Path(folder) / "link.h5")
        arm = fm.Model("swing")
        upper = arm.add(fm.FlexibleBody("upper", str(Path(folder) / "link.h5")))
        fore = arm.add(fm.FlexibleBody("fore", str(Path(folder) / "link.h5")))
        tool = arm.add(
            fm.RigidBody(
                "tool",
                mass=2.5,
                inertia=(4e-3, 6e-3, 4e-3),
                com=(0.05, 0, 0),
                frames={"base": (0.022, 0, 0), "point": (0.1, 0, 0)},
            )
        )
        arm.add(fm.Revolute("shoulder", arm.ground, upper["hub"], axis="y", q0=-0.25))
        arm.add(fm.Revolute("elbow", upper["tip"], fore["hub"], axis="y", q0=0.6))
        arm.add(fm.Fixed("wrist", fore["tip"], tool))
        for joint, start, end in (("shoulder", -0.25, 0.25 - np.pi), ("elbow", 0.6, -0.6)):
            arm.add(
                fm.Drive(
                    f"{joint} drive",
                    joint,
                    fm.SmoothStep(end, initial=start, start=0.05, duration=0.8),
                )
            )
        return fm.simulate(arm, t_end=0.95, step=5e-4, output_step=2.5e-3)


def draw_pose(ax, solution, t, order):
    """The tool and both links at time ``t``; returns the projected points."""
    k = int(np.searchsorted(solution.t, t))
    ends = (
        np.array([solution.frame(name).position[k] for name in ("tool/base", "tool/point")])
        @ AXES.T
    )
    ax.plot(
        ends[:, 0], ends[:, 1], color=INK, linewidth=4.5, solid_capstyle="butt", zorder=order + 6
    )
    seen = [ends]
    for place, name in enumerate(("upper", "fore")):
        body, surface = solution.body(name), solution.compiled.data[name].surface
        displacement = surface.phi @ body.elastic[k]
        largest = max(np.linalg.norm(surface.phi @ q, axis=1).max() for q in body.elastic[::8])
        nodes = (surface.nodes + displacement) @ body.rotation[k].T + body.position[k]
        share = np.linalg.norm(displacement, axis=1)[surface.triangles].mean(axis=1) / largest
        draw_surface(
            ax, nodes, surface.triangles, COLOURS(0.15 + 0.7 * share)[:, :3], order + 7 + place
        )
        seen.append(nodes @ AXES.T)
    return np.vstack(seen)


def draw_surface(ax, nodes, triangles, colours, order):
    """Shaded triangles facing the viewer and their sharp edges, far ones first."""
    corners, seen = nodes[triangles], (nodes @ AXES.T)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    facing = np.flatnonzero(normals @ AXES[2] > 0.0)
    shades = np.clip(
        colours * (0.70 + 0.42 * np.clip(normals @ LIGHT, 0.0, 1.0))[:, None], 0.0, 1.0
    )
    edges = sharp_edges(triangles, normals, normals @ AXES[2] > 0.0)
    shapes = [*seen[triangles[facing]], *seen[edges]]
    depth = [shape[:, 2].mean() for shape in shapes[: len(facing)]] + [
        shape[:, 2].mean() + 7e-3 for shape in shapes[len(facing) :]
    ]
    paint = np.vstack([shades[facing], np.tile([0.09, 0.2, 0.32], (len(edges), 1))])
    width = np.repeat([0.4, 0.7], [len(facing), len(edges)])
    far = np.argsort(depth)
    ax.add_collection(
        PolyCollection(
            [shapes[i][:, :2] for i in far],
            facecolors=paint[far],
            edgecolors=paint[far],
            linewidths=width[far],
            closed=False,
            zorder=order,
        )
    )


def sharp_edges(triangles, normals, facing):
    """Node pairs of edges between faces that meet at an angle, one of them facing the viewer."""
    owners: dict[tuple[int, int], list[int]] = {}
    for number, triangle in enumerate(triangles):
        for pair in itertools.combinations(sorted(triangle.tolist()), 2):
            owners.setdefault(pair, []).append(number)
    sharp = [
        pair
        for pair, faces in owners.items()
        if len(faces) == 2
        and facing[faces].any()
        and (normals[faces[0]] @ normals[faces[1]] < SHARP or not facing[faces].all())
    ]
    return np.array(sharp, np.int64).reshape(-1, 2)


if __name__ == "__main__":
    main()
