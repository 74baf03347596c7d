"""Stress of bent and spinning parts by the complete program (mesh, reduction, equilibrium, stress)
against closed forms and CalculiX.

python reports/stress/study.py        -> stress.json, bar.png, disc.png, waist.png (about a minute; needs ccx)
"""

import io
import json
import time
from pathlib import Path

import calculix
import numpy as np
from matplotlib.figure import Figure
from matplotlib.image import imread
from parts import (
    BORE,
    HEIGHT,
    LENGTH,
    RIM,
    STEEL,
    bar_body,
    bending_stress,
    bent,
    disc,
    disc_body,
    modes_alone,
    spinning_bar_stress,
    spinning_disc_stress,
    spun,
    straight_bar,
    waisted_bar,
)

import flexmbs as fm
import preprocess as pp
from flexmbs.flexible_body.stress import von_mises
from flexmbs.page.style import MUTED, PALETTE, WIDTH, decades, house_style
from preprocess.elements import ELEMENTS
from preprocess.fe.nodal_stress import elasticity

HERE = Path(__file__).parent
FORCE, SPEED = 100.0, 200.0
PULL, TURN = (0.0, 200.0, 0.0), 300.0
MODES = (1, 2, 4, 8, 16, 32)
Numbers = dict[str, object]


def clamped(mesh: pp.Mesh, modes: int) -> fm.FlexibleBodyData:
    """Straight bar with the clamped–free modes only: none of them is the static shape of a load."""
    ends = {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
    return pp.reduce(
        mesh,
        STEEL,
        interfaces=ends,
        method=pp.ClampedModes(modes=modes, at="root"),
        reference="root",
        name="bar",
    )


def straight(numbers: Numbers) -> None:
    """Error of σ_xx from 20 to 80 % of the length, with and without static correction, by the
    number of modes, and its distribution."""
    mesh = straight_bar()
    found: dict[str, dict[str, list[float]]] = {}
    courses = {}
    for modes in MODES:
        data = clamped(mesh, modes)
        for load, solution, body in (
            ("bent", bent(data, (0.0, 0.0, FORCE)), "bar"),
            ("spun", spun(data, "root", SPEED), "part"),
        ):
            view = solution.body(body).stress
            x, _, z = view.positions.T
            exact = bending_stress(FORCE, x, z) if load == "bent" else spinning_bar_stress(SPEED, x)
            stress = {
                "with": view.field(solution.t[0]).stress[:, 0],
                "without": modes_alone(data, solution, body)[:, 0],
            }
            inside = (x > 0.2 * LENGTH) & (x < 0.8 * LENGTH)
            for name, values in stress.items():
                error = np.abs(values - exact)[inside].max() / np.abs(exact).max()
                found.setdefault(load, {}).setdefault(name, []).append(float(error))
            if modes == 4:
                edge = np.isclose(z, -HEIGHT / 2) & np.isclose(view.positions[:, 1], 0.0)
                order = np.flatnonzero(edge)[np.argsort(x[edge])]
                courses[load] = (
                    x[order],
                    exact[order],
                    {name: values[order] for name, values in stress.items()},
                )
    numbers["straight bar"] = {
        "nodes": len(mesh.nodes),
        "modes": list(MODES),
        "largest error of sigma_xx over its largest value": found,
    }
    _draw_bar(found, courses)


def _draw_bar(found: dict[str, dict[str, list[float]]], courses: dict[str, tuple]) -> None:
    titles = {
        "bent": f"Bent by {FORCE:g} N at the tip: σxx below  [MPa]",
        "spun": f"Spinning at {SPEED:g} rad/s: σxx  [MPa]",
    }
    with house_style():
        figure = Figure(figsize=(WIDTH, 5.6))
        panels = figure.subplots(2, 2)
        for (left, right), (load, (x, exact, stress)) in zip(panels, courses.items()):
            left.plot(x, 1e-6 * exact, color=MUTED, linewidth=4.0, alpha=0.45, label="closed form")
            left.plot(x, 1e-6 * stress["with"], color=PALETTE[0], label="with static correction")
            left.plot(x, 1e-6 * stress["without"], color=PALETTE[1], label="modes alone")
            left.set_title(titles[load])
            left.set_xlabel("x  [m], 4 modes")
            for name, color in (("with", PALETTE[0]), ("without", PALETTE[1])):
                right.loglog(MODES, found[load][name], "o-", color=color, markersize=4)
            right.set_title("Largest error over the largest stress")
            right.set_xlabel("modes")
            right.set_xticks(MODES, [str(n) for n in MODES])
            right.minorticks_off()
            decades(right.yaxis)
        panels[0, 0].legend()
        figure.savefig(HERE / "bar.png", dpi=110)


def spinning_disc(numbers: Numbers) -> None:
    """Radial and tangential stress in the middle of the
    elements' faces against the plane solution.
    """
    mesh = disc()
    data = disc_body(mesh, 6)
    solution = spun(data, "hub", SPEED * 5)
    view = solution.body("part").stress
    field = view.field(solution.t[0])
    x, y, _ = view.positions.T
    r, angle = np.hypot(x, y), np.arctan2(y, x)
    xx, yy, xy = field.stress[:, 0], field.stress[:, 1], field.stress[:, 3]
    c, s = np.cos(angle), np.sin(angle)
    ours = {
        "radial": xx * c**2 + yy * s**2 + 2 * xy * s * c,
        "tangential": xx * s**2 + yy * c**2 - 2 * xy * s * c,
    }
    exact = spinning_disc_stress(SPEED * 5, r)
    largest = float(exact["tangential"].max())
    spots = view.hot_spots(1)
    numbers["disc"] = {
        "nodes": len(mesh.nodes),
        "modes": data.nf,
        "largest error over the largest stress": {
            k: float(np.abs(ours[k] - exact[k]).max() / largest) for k in ours
        },
        "hot spot": {
            "radius": float(np.hypot(*spots[0].position[:2])),
            "von Mises": spots[0].von_mises,
            "closed form": largest,
        },
    }
    with house_style():
        figure = Figure(figsize=(WIDTH, 3.0))
        ax = figure.subplots()
        line = np.linspace(BORE, RIM, 200)
        for k, (name, values) in enumerate(spinning_disc_stress(SPEED * 5, line).items()):
            ax.plot(
                1e3 * line, 1e-6 * values, color=PALETTE[k], alpha=0.6, label=f"{name}, closed form"
            )
            ax.plot(
                1e3 * r,
                1e-6 * ours[name],
                ".",
                color=PALETTE[k],
                markersize=3,
                label=f"{name}, at nodes",
            )
        ax.set_title(f"Stress of a disc at {SPEED * 5:g} rad/s  [MPa]")
        ax.set_xlabel("radius  [mm]")
        ax.legend()
        figure.savefig(HERE / "disc.png", dpi=110)


def waisted(numbers: Numbers) -> None:
    """The waisted bar in bending and rotation, node by node against CalculiX on the same mesh."""
    pictures = []
    for element in ("tet10", "hex20"):
        mesh = waisted_bar(element)
        began = time.perf_counter()
        data = bar_body(mesh, 6)
        seconds = {
            key.removeprefix("time "): round(float(value), 3)
            for key, value in data.provenance.items()
            if "time " in key
        }
        seconds["all"] = round(time.perf_counter() - began, 3)
        rows: Numbers = {"nodes": len(mesh.nodes), "modes": data.nf, "seconds": seconds}
        for load in ("bent", "spun"):
            solution = bent(data, PULL) if load == "bent" else spun(data, "root", TURN)
            body = "bar" if load == "bent" else "part"
            model, step = calculix.rigid_tip(mesh, PULL)
            reference = calculix.nodal_stress(
                mesh, model, step if load == "bent" else calculix.spinning(TURN)
            )
            rows[load] = _against(solution, body, reference)
            if element == "tet10":
                pictures.append(solution.plot.stress(body))
        if element == "hex20":
            rows["bent, at the 27 integration points"] = _at_points(mesh, data)
        numbers[f"waisted bar, {element}"] = rows
    numbers["waisted bar, fine hex20"] = _fine()
    _side_by_side(pictures)


def _against(solution: fm.Solution, body: str, reference: np.ndarray) -> Numbers:
    """Hot spots of both programs and the largest difference at any node of the surface."""
    view = solution.body(body).stress
    field = view.field(solution.t[0])
    theirs = reference[view.node_ids]
    ours_vm, theirs_vm = field.von_mises, von_mises(theirs)
    inner = (view.positions[:, 0] > 0.1 * LENGTH) & (view.positions[:, 0] < 0.9 * LENGTH)
    difference = np.abs(field.stress - theirs).max(axis=1) / theirs_vm.max()
    spot = view.hot_spots(1)[0]
    same = int(np.flatnonzero(view.node_ids == spot.node)[0])
    return {
        "hot spot here": {"node": spot.node, "von Mises": spot.von_mises},
        "hot spot of CalculiX": {
            "node": int(view.node_ids[theirs_vm.argmax()]),
            "von Mises": float(theirs_vm.max()),
        },
        "CalculiX at our hot spot": float(theirs_vm[same]),
        "mean difference of von Mises over the hot spot": float(
            np.abs(ours_vm - theirs_vm).mean() / theirs_vm.max()
        ),
        "largest difference of a component over the hot spot": float(difference.max()),
        "the same from 10 to 90 % of the length": float(difference[inner].max()),
        "the same of the modes alone": float(
            np.abs(modes_alone(solution.compiled.data[body], solution, body) - theirs).max()
            / theirs_vm.max()
        ),
    }


def _at_points(mesh: pp.Mesh, data: fm.FlexibleBodyData) -> Numbers:
    """Stress at the integration points of K, sorted by magnitude in each element: both programs
    before any extrapolation.
    """
    assert data.surface is not None
    solution = bent(data, PULL)
    u = data.surface.phi @ solution.body("bar").elastic[0]
    element, table = ELEMENTS["hex20"], mesh.blocks["hex20"].connectivity
    dN = element.gradients(element.stiffness_rule.points)
    J = np.einsum("eai,qaj->eqij", data.surface.nodes[table], dN)
    H = np.einsum("eai,qaj,eqjk->eqik", u[table], dN, np.linalg.inv(J))
    shear = [H[..., i, j] + H[..., j, i] for i, j in ((0, 1), (1, 2), (2, 0))]
    ours = np.stack([H[..., 0, 0], H[..., 1, 1], H[..., 2, 2], *shear], axis=-1) @ elasticity(STEEL)
    theirs = calculix.point_stress(mesh, *calculix.rigid_tip(mesh, PULL)).reshape(ours.shape)
    difference = np.abs(np.sort(ours, axis=1) - np.sort(theirs, axis=1)).max()
    return {
        "points": ours.shape[0] * ours.shape[1],
        "largest difference over the largest stress": difference / np.abs(theirs).max(),
    }


def _fine() -> Numbers:
    """Hot spots on a mesh with eight times as many elements."""
    data = bar_body(waisted_bar("hex20", (60, 8, 6)), 6)
    return {
        "nodes": int(data.provenance["nodes"]),
        "bent": bent(data, PULL).body("bar").stress.hot_spots(1)[0].von_mises,
        "spun": spun(data, "root", TURN).body("part").stress.hot_spots(1)[0].von_mises,
    }


def _side_by_side(pictures: list[Figure]) -> None:
    """The pictures of the reports in one figure."""
    images = []
    for picture in pictures:
        buffer = io.BytesIO()
        with house_style():
            picture.savefig(buffer, format="png", dpi=100)
        images.append(imread(io.BytesIO(buffer.getvalue())))
    figure = Figure(figsize=(WIDTH, 10.6))
    for k, image in enumerate(images):
        ax = figure.add_axes((0.0, 0.5 - 0.5 * k, 1.0, 0.48))
        ax.imshow(image)
        ax.set_axis_off()
        ax.set_title(
            ("bent by 200 N along y at the tip", "spinning about z at 300 rad/s")[k],
            fontsize=10,
            loc="left",
        )
    figure.savefig(HERE / "waist.png", dpi=90)


def main() -> None:
    """Everything, and the numbers as JSON."""
    numbers: Numbers = {}
    for study in (straight, spinning_disc, waisted):
        study(numbers)
        (HERE / "stress.json").write_text(json.dumps(numbers, indent=1) + "\n")
    print(json.dumps(numbers, indent=1))


if __name__ == "__main__":
    main()
