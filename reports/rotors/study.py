"""Whirl frequencies of rotors against the tables of a textbook.

    python reports/rotors/study.py        -> rotors.png, study.json, the table of README.md

Examples 5.9.1, 5.9.2, 5.9.5 and 5.9.9 of Friswell, Penny, Garvey and Lees, Dynamics of Rotating
Machines (2010), as the tests of the program ROSS quote their tables.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import flexmbs as fm
import preprocess as pp
from flexmbs.motions import Rotate, Slide
from flexmbs.page.style import house_style, panels

HERE = Path(__file__).parent
LENGTH, DIAMETER, RHO, ELEMENTS = 1.5, 0.05, 7810.0, 9
STEEL = pp.Isotropic(E=211e9, nu=211.0 / (2.0 * 81.2) - 1.0, rho=RHO)
SPIN = 4000.0 * np.pi / 30.0
TWO = {3: 0.28, 6: 0.35}  # node of a disc, its diameter (m); both are 70 mm wide
BOOK = {  # rad/s at 0 and at 4000 rev/min; of 5.9.5 and 5.9.4 at 4000 rev/min in Hz
    "5.9.1": (
        [86.66, 86.66, 274.31, 274.31, 716.78, 716.78],
        [85.39, 87.80, 251.78, 294.71, 600.18, 827.08],
    ),
    "5.9.2": (
        [82.65, 86.66, 254.52, 274.31, 679.49, 716.79],
        [82.33, 86.86, 239.64, 287.25, 583.49, 806.89],
    ),
    "5.9.9": (
        [90.14, 90.14, 630.73, 630.73, 830.43, 830.43],
        [76.19, 103.91, 565.99, 634.23, 647.75, 1174.2],
    ),
    "5.9.5": (None, 2.0 * np.pi * np.array([13.70, 14.09, 43.61, 52.18, 122.37, 149.81])),
}
BEARINGS = {
    "5.9.1": (1e6, 1e6, 0.0),
    "5.9.2": (1e6, 8e5, 0.0),
    "5.9.9": (1e7, 1e7, 0.0),
    "5.9.5": (1e6, 1e6, 3e3),
}


def shaft() -> fm.FlexibleBodyData:
    """Timoshenko beams, two between interfaces."""
    x = np.linspace(0.0, LENGTH, 2 * ELEMENTS + 1)
    sets = {f"n{k}": [2 * k] for k in range(ELEMENTS + 1)}
    line = {"line2": [(k, k + 1) for k in range(2 * ELEMENTS)]}
    mesh = pp.Mesh.from_arrays(np.column_stack([x, 0 * x, 0 * x]), line, node_sets=sets)
    fe = pp.assemble(mesh, STEEL, sections=pp.CircularSection(DIAMETER))
    ends = {name: pp.Rigid(name) for name in sets}
    return pp.reduce(
        fe, interfaces=ends, reference="mean axes", method=pp.Guyan(), stress=None, stiffening=False
    )


def rotor(
    data: fm.FlexibleBodyData,
    speed: float,
    discs: Mapping[int, float],
    bearing: tuple[float, ...],
    last: int,
) -> fm.Model:
    """The shaft in axes that do not spin, its spin as rotors at the nodes, discs on turning joints,
    bearings at two nodes.
    """
    model = fm.Model("rotor", gravity=(0, 0, 0), frames={"right": (last * LENGTH / ELEMENTS, 0, 0)})
    body = model.add(fm.FlexibleBody("shaft", data=data))
    model.add(
        fm.Chain(
            "float",
            model.ground,
            body["n0"],
            motions=(Slide("y"), Slide("z"), Rotate("y"), Rotate("z")),
        )
    )
    ky, kz, c = bearing
    for end, node in ((model.ground, 0), (model.ground["right"], last)):
        model.add(
            fm.Bushing(
                f"bearing {node}",
                end,
                body[f"n{node}"],
                k=(0, ky, kz, 0, 0, 0),
                c=(0, c, c, 0, 0, 0),
            )
        )
    # n I of a node; at rest it is the shaft's own
    polar = RHO * np.pi * DIAMETER**4 / 32.0 * LENGTH / ELEMENTS
    for k in range(ELEMENTS + 1):
        mass, inertia = 1e-5, (1e-8, 1e-8, 1e-8)
        if k in discs:
            ring, squares = np.pi / 4.0 * (discs[k] ** 2 - DIAMETER**2), discs[k] ** 2 + DIAMETER**2
            mass = RHO * ring * 0.07
            across = mass * (squares / 16.0 + 0.07**2 / 12.0)
            inertia = (mass * squares / 8.0, across, across)
        child = model.add(fm.RigidBody(f"disc {k}", mass=mass, inertia=inertia))
        model.add(fm.Revolute(f"spin {k}", body[f"n{k}"], child, axis="x"))
        model.add(fm.Drive(f"motor {k}", f"spin {k}", fm.Ramp(0.0, rate=speed)))
        half = 0.5 if k in (0, ELEMENTS) else 1.0
        model.add(
            fm.RotorInertia(f"spin of {k}", f"spin {k}", inertia=half * polar / 10.0, ratio=10.0)
        )
    return model


def bending(data: fm.FlexibleBodyData, name: str, speed: float) -> np.ndarray:
    """Six lowest frequencies (rad/s) of modes that move the axis, and do not twist the shaft."""
    discs, last = ({ELEMENTS: 0.35}, 2 * ELEMENTS // 3) if name == "5.9.9" else (TWO, ELEMENTS)
    model = rotor(data, speed, discs, BEARINGS[name], last)
    places = [("position", f"shaft/n{k}", axis) for k in (1, 4) for axis in "yz"]
    linear = fm.linearize(
        model, start=fm.statics(model, steady=True, audit=False), outputs=places, audit=False
    )
    value, vector = np.linalg.eig(linear.A)
    moved = np.linalg.norm(linear.C @ vector, axis=0) / np.linalg.norm(
        vector[: len(linear.coordinates)], axis=0
    )
    return np.sort(np.abs(value[(value.imag > 0.0) & (moved > 1e-3)]))[:6]


def draw(found: np.ndarray, speeds: np.ndarray) -> Figure:
    """Frequencies of example 5.9.1 over the speed, those of the book as dots."""
    figure, (axes,) = panels(1, height=3.2)
    axes.plot(speeds * 30.0 / np.pi, found / (2.0 * np.pi), color="C0")
    for at, book in zip((0.0, 4000.0), BOOK["5.9.1"]):
        axes.plot([at] * 6, np.array(book) / (2.0 * np.pi), "o", color="C1", markersize=4)
    axes.plot([0, 4000], [0, 4000 / 60], "--", color="#888888", linewidth=0.8)
    axes.set(xlabel="speed (rev/min)", title="Example 5.9.1: frequencies (Hz), the book's as dots")
    return figure


def main() -> None:
    data, rows = shaft(), []
    for name, tables in BOOK.items():
        for speed, table in zip((0.0, SPIN), tables):
            if table is not None:
                own = bending(data, name, speed)
                worst = float(np.abs(own / table - 1.0).max())
                rows.append(
                    {
                        "example": name,
                        "rpm": round(speed * 30.0 / np.pi),
                        "own": own.tolist(),
                        "book": list(table),
                        "worst": worst,
                    }
                )
    (HERE / "study.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    lines = [
        "| example | rev/min | flexmbs (rad/s) | book (rad/s) | largest difference |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        own, book = (", ".join(f"{x:.2f}" for x in row[key]) for key in ("own", "book"))
        lines.append(f"| {row['example']} | {row['rpm']} | {own} | {book} | {row['worst']:.0e} |")
    page = HERE / "README.md"
    head = page.read_text(encoding="utf-8").partition("\n| example")[0].rstrip()
    page.write_text("\n\n".join([head, "\n".join(lines)]) + "\n", encoding="utf-8")
    speeds = np.linspace(0.0, SPIN, 5)
    with house_style():
        found = np.array([bending(data, "5.9.1", speed) for speed in speeds])
        draw(found, speeds).savefig(HERE / "rotors.png", dpi=100)


if __name__ == "__main__":
    main()
