"""Convergence of every element on a free box, and the NAFEMS frequencies by the solid elements.

python reports/elements/study.py        -> elements.json, convergence.png (about three minutes)
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from ritz import free_box_frequencies

from flexmbs.page.style import WIDTH, decades, house_style
from preprocess.elements import ELEMENTS
from preprocess.elements.formulation import Formulation
from preprocess.fe.assembly import assemble
from preprocess.fe.material import Isotropic
from preprocess.mesh.mesh import Mesh
from preprocess.mesh.structured import box_mesh

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "preprocess"))
from arpack_modes import eigenmodes  # noqa: E402

BOX = (0.4, 0.2, 0.1)
STEEL = Isotropic(E=210e9, nu=0.3, rho=7850.0)
NAFEMS = Isotropic(E=200e9, nu=0.3, rho=8000.0)
XYZ = (0, 1, 2)
DEFAULT, FULL = Formulation(), Formulation(hex8="full")
CURVES = {
    "tet4": ("tet4", DEFAULT, (1, 2, 3, 4, 6, 8)),
    "wedge6": ("wedge6", DEFAULT, (1, 2, 3, 4, 6, 8)),
    "hex8, full": ("hex8", FULL, (1, 2, 3, 4, 6, 8)),
    "hex8, incompatible modes": ("hex8", DEFAULT, (1, 2, 3, 4, 6, 8)),
    "pyramid5": ("pyramid5", DEFAULT, (1, 2, 3, 4)),
    "tet10": ("tet10", DEFAULT, (1, 2, 3, 4)),
    "pyramid13": ("pyramid13", DEFAULT, (1, 2, 3)),
    "wedge15": ("wedge15", DEFAULT, (1, 2, 3, 4)),
    "hex20": ("hex20", DEFAULT, (1, 2, 3, 4, 5)),
    "hex27": ("hex27", DEFAULT, (1, 2, 3, 4)),
}


@dataclass(frozen=True)
class Benchmark:
    """A published problem: box, supports of its faces (name of the set → components), frequencies
    in Hz, their source.
    """

    size: tuple[float, float, float]
    held: dict[str, tuple[int, ...]]
    frequencies: tuple[float, ...]
    source: str
    material: Isotropic = NAFEMS
    rigid: int = 0


BENCHMARKS = {
    "FV5 bending, quarter": Benchmark(
        (10, 1, 1),
        {"y0": (0, 2), "z0": (2,), "x0": (1, 2), "x1": (1, 2)},
        (42.650, 148.15, 283.47),
        "NAFEMS, Timoshenko",
    ),
    "FV5 torsion, quarter": Benchmark(
        (10, 1, 1), {"y0": (0, 2), "z0": (0, 1), "x0": (1, 2)}, (71.20, 213.61), "NAFEMS"
    ),
    "FV5 extension, quarter": Benchmark(
        (10, 1, 1), {"y0": (1,), "z0": (2,), "x0": (0,)}, (125.00,), "NAFEMS"
    ),
    "FV12 free plate": Benchmark(
        (10, 10, 0.05),
        {},
        (1.622, 2.360, 2.922, 4.233, 4.233, 7.416),
        "NAFEMS, thin plate",
        rigid=6,
    ),
    "FV32 tapered membrane": Benchmark(
        (10, 1, 0.025),
        {"x0": (0, 1), "z0": (2,)},
        (44.6176, 130.0112, 162.6896, 245.988, 379.719, 391.407),
        "p-elements (NAFEMS 44.623 130.03 162.70 246.05 379.90 391.44)",
    ),
    "FV52 solid plate, 4x4x1": Benchmark(
        (10, 10, 1),
        {"edges": (2,)},
        (44.762, 110.52, 110.52, 169.08, 193.93, 206.64, 206.64),
        "NAFEMS target of hex20 4x4x1",
        rigid=3,
    ),
    "D6 cantilever": Benchmark(
        (1, 0.1, 0.05),
        {"x0": XYZ},
        (41.915493, 83.204725, 259.662748, 499.048044, 600.605097, 714.395878),
        "p-elements, ±0.2 %",
        material=STEEL,
    ),
}
MESHES = {
    "FV5 bending, quarter": {
        "hex20": (16, 2, 2),
        "hex8": (30, 6, 6),
        "wedge15": (16, 2, 2),
        "tet10": (16, 2, 2),
    },
    "FV5 torsion, quarter": {
        "hex20": (16, 2, 2),
        "hex8": (30, 6, 6),
        "wedge15": (16, 2, 2),
        "tet10": (16, 2, 2),
    },
    "FV5 extension, quarter": {
        "hex20": (16, 2, 2),
        "hex8": (30, 6, 6),
        "wedge15": (16, 2, 2),
        "tet10": (16, 2, 2),
    },
    "FV12 free plate": {
        "hex20": (16, 16, 1),
        "hex8": (40, 40, 1),
        "wedge15": (16, 16, 1),
        "tet10": (16, 16, 1),
    },
    "FV32 tapered membrane": {
        "hex20": (20, 10, 1),
        "hex8": (60, 30, 1),
        "wedge15": (20, 10, 1),
        "tet10": (20, 10, 1),
    },
    "FV52 solid plate, 4x4x1": {"hex20": (4, 4, 1), "hex27": (4, 4, 1)},
    "D6 cantilever": {
        "hex20": (40, 4, 3),
        "hex8": (80, 8, 4),
        "wedge15": (40, 4, 3),
        "tet10": (40, 4, 2),
    },
}


def tapered(x: np.ndarray) -> np.ndarray:
    """The membrane of FV32: 5 m wide at its root, 1 m at its end."""
    return np.column_stack([x[:, 0], (x[:, 1] - 0.5) * (5.0 - 0.4 * x[:, 0]), x[:, 2]])


def held_dofs(mesh: Mesh, problem: Benchmark) -> np.ndarray:
    """Degrees of freedom fixed by the supports."""
    bottom = np.intersect1d(
        mesh.node_set("z0"),
        np.concatenate([mesh.node_set(side) for side in ("x0", "x1", "y0", "y1")]),
    )
    places = dict(mesh.node_sets) | {"edges": bottom}
    held = [
        (3 * places[name][:, None] + list(components)).ravel()
        for name, components in problem.held.items()
    ]
    return np.concatenate([*held, np.zeros(0, dtype=np.int64)]).astype(np.int64)


def frequencies(mesh: Mesh, problem: Benchmark, formulation: Formulation = DEFAULT) -> np.ndarray:
    """Lowest elastic frequencies in Hz, as many as the problem has."""
    fe = assemble(mesh, problem.material, formulation=formulation)
    dof = np.setdiff1d(np.arange(fe.K.shape[0]), held_dofs(mesh, problem))
    shift = -((2 * np.pi * problem.frequencies[0] / 10) ** 2)
    n = problem.rigid + len(problem.frequencies)
    return np.asarray(
        eigenmodes(fe.K[dof][:, dof], fe.M[dof][:, dof], n, shift=shift).frequencies[
            problem.rigid :
        ]
    )


def convergence() -> dict[str, dict[str, object]]:
    """Largest error of six frequencies of the free box over the number of degrees of freedom, and
    the order in h.
    """
    reference = free_box_frequencies(BOX, STEEL, 14, 6)
    free = Benchmark(BOX, {}, tuple(reference), "Ritz", material=STEEL, rigid=6)
    found: dict[str, dict[str, object]] = {}
    for title, (name, formulation, refinements) in CURVES.items():
        dofs, errors = [], []
        for n in refinements:
            mesh = box_mesh(BOX, (4 * n, 2 * n, n), name)
            dofs.append(3 * len(mesh.nodes))
            errors.append(float(np.abs(frequencies(mesh, free, formulation) / reference - 1).max()))
        order = float(np.log(errors[-2] / errors[-1]) / np.log(refinements[-1] / refinements[-2]))
        found[title] = {
            "n": list(refinements),
            "degrees of freedom": dofs,
            "largest error": errors,
            "order in h": round(order, 2),
        }
        print(f"{title:26s} order {order:.2f}  errors " + " ".join(f"{e:.1e}" for e in errors))
    return found


def benchmarks() -> dict[str, dict[str, object]]:
    """Frequencies of the published problems by each element."""
    found: dict[str, dict[str, object]] = {}
    for title, problem in BENCHMARKS.items():
        rows: dict[str, object] = {"reference [Hz]": problem.frequencies, "source": problem.source}
        for name, divisions in MESHES[title].items():
            mesh = box_mesh(problem.size, divisions, name)
            mesh = mesh.moved(tapered) if title.startswith("FV32") else mesh
            values = frequencies(mesh, problem)
            rows[f"{name} {'x'.join(map(str, divisions))} [Hz]"] = np.round(values, 4).tolist()
            print(f"{title:26s} {name:8s} " + " ".join(f"{f:9.4f}" for f in values))
        found[title] = rows
    return found


def draw(curves: dict[str, dict[str, object]]) -> Figure:
    """Error over the number of degrees of freedom, logarithmic."""
    figure = Figure(figsize=(WIDTH, 4.4), layout="constrained")
    axes = figure.subplots()
    for title, curve in curves.items():
        element = ELEMENTS[CURVES[title][0]]
        line = "s--" if len(element.nodes) > element.corners else "o-"  # of second order
        label = f"{title}  (h^{curve['order in h']})"
        axes.loglog(
            curve["degrees of freedom"], curve["largest error"], line, markersize=3.5, label=label
        )
    decades(axes.yaxis)
    decades(axes.xaxis)
    axes.set_xlabel("degrees of freedom")
    axes.set_title("Free box 0.4 x 0.2 x 0.1 m: largest error of six frequencies")
    axes.legend(loc="upper left", bbox_to_anchor=(1.005, 1.0))
    return figure


def main() -> None:
    curves = convergence()
    with house_style():
        draw(curves).savefig(HERE / "convergence.png", dpi=140)
    record = {"free box": curves, "benchmarks": benchmarks()}
    (HERE / "elements.json").write_text(json.dumps(record, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
