"""The lightest link whose tip stays within a deviation and whose stress within a limit, and a grid
that confirms it.

python reports/optimisation/thickness.py        -> the table in README.md, thickness.png
"""

import re
import warnings
from pathlib import Path

import numpy as np

import flexmbs as fm
import preprocess as pp
from flexmbs.studies.fitting.optimize import Optimum
from flexmbs.studies.parameters.outputs import maximum

HERE = Path(__file__).parent
LENGTH, TOOL = 0.5, 2.0  # m, kg
LIMITS = {"sway": 1.0, "sag": 1.0, "stress": 14.0}  # mm, mm, MPa
WIDTH, HEIGHT = "parts.link.width", "parts.link.height"
BOUNDS = {WIDTH: (0.018, 0.034), HEIGHT: (0.018, 0.034)}
AWAY = 0.1  # from the ends, over the length: where stress does not depend on how the faces are held
GRID = 17


def link(width: float = 0.03, height: float = 0.03) -> fm.FlexibleBodyData:
    """An aluminium bar from its structured mesh."""
    mesh = pp.box_mesh((LENGTH, width, height), (10, 2, 2))
    faces = {"hub": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
    aluminium = pp.Isotropic(E=70e9, nu=0.33, rho=2700.0)
    return pp.reduce(
        mesh,
        aluminium,
        interfaces=faces,
        method=pp.CraigBampton(modes=2),
        reference="hub",
        damping=0.05,
    )


def robot() -> fm.ModelWithParts:
    """The link with a tool turns about the vertical axis by 1 rad: it bends sidewards, and down by
    the weight.
    """
    model = fm.Model("link", run=fm.Run(t_end=1.05, step=5e-4, output_step=1e-3))
    body = model.add(fm.FlexibleBody("link", "link.h5"))
    tool = model.add(fm.RigidBody("tool", mass=TOOL, inertia=(2e-3, 2e-3, 2e-3)))
    axle = model.add(fm.Revolute("axle", model.ground, body["hub"], axis="z"))
    model.add(fm.Fixed("wrist", body["tip"], tool))
    model.add(fm.Drive("turn", axle, fm.SmoothStep(1.0, start=0.6, duration=0.4)))
    return fm.ModelWithParts(model, {"link": link})


def mass(solution: fm.Solution) -> float:
    """Of the link, kg."""
    return float(solution.model.bodies["link"].load().mass)


def deviation(solution: fm.Solution, axis: int) -> float:
    """Largest distance of the tip from that of a rigid link along an axis of it, mm."""
    u = solution.body("link").elastic @ solution.model.bodies["link"].load().frames["tip"].phi[axis]
    return 1e3 * max(maximum([(solution.t, u)]), maximum([(solution.t, -u)]))


def sway(solution: fm.Solution) -> float:
    """Deviation sidewards, by the motion."""
    return deviation(solution, 1)


def sag(solution: fm.Solution) -> float:
    """Deviation downwards, by the weight."""
    return deviation(solution, 2)


def stress(solution: fm.Solution) -> float:
    """Largest von Mises stress away from the ends, MPa."""
    found = solution.body("link").stress
    inside = np.abs(found.positions[:, 0] / LENGTH - 0.5) < 0.5 - AWAY
    return 1e-6 * float(found.envelope.von_mises[inside].max())


OUTPUTS = {"mass": mass, "sway": sway, "sag": sag, "stress": stress}


def optimum() -> Optimum:
    """Of a descent from a link that is too thick."""
    limits = {name: (None, limit) for name, limit in LIMITS.items()}
    return fm.optimize(
        robot(),
        {WIDTH: 0.03, HEIGHT: 0.03},
        "mass",
        outputs=OUTPUTS,
        bounds=BOUNDS,
        limits=limits,
        workers=2,
    )


def grid() -> fm.SweepResult:
    """All three outputs over both parameters."""
    axes = {name: fm.Range(*ends, count=GRID) for name, ends in BOUNDS.items()}
    return fm.sweep(robot(), axes, outputs=OUTPUTS)


def lightest(found: fm.SweepResult) -> tuple[np.ndarray, np.ndarray]:
    """Parameters and outputs of the lightest link of a finer grid, linear between the logarithms of
    outputs.
    """
    from scipy.interpolate import RectBivariateSpline

    sides = [np.unique(found.parameters[name]) for name in (WIDTH, HEIGHT)]
    fine = [np.linspace(side[0], side[-1], 1201) for side in sides]
    logs = {name: np.log(values.reshape(GRID, GRID)) for name, values in found.outputs.items()}
    at = {
        name: np.exp(RectBivariateSpline(*sides, values, kx=1, ky=1)(*fine))
        for name, values in logs.items()
    }
    allowed = np.all([at[name] <= limit for name, limit in LIMITS.items()], axis=0)
    i, k = np.unravel_index(np.argmin(np.where(allowed, at["mass"], np.inf)), allowed.shape)
    return np.array([fine[0][i], fine[1][k]]), np.array([values[i, k] for values in at.values()])


def picture(found: fm.SweepResult, best: Optimum, path: Path) -> None:
    """Mass, the limits, and the path of the search over width and height."""
    import matplotlib.pyplot as plt

    width, height = (1e3 * found.parameters[name].reshape(GRID, GRID) for name in (WIDTH, HEIGHT))
    table = {name: values.reshape(GRID, GRID) for name, values in found.outputs.items()}
    figure, axes = plt.subplots(figsize=(6.4, 4.8), layout="constrained")
    axes.clabel(
        axes.contour(width, height, table["mass"], 8, colors="0.7", linewidths=0.8),
        fmt="%.3g kg",
        colors="0.45",
    )
    for (name, limit), color in zip(LIMITS.items(), ("C0", "C2", "C3")):
        axes.contour(width, height, table[name], [limit], colors=color)
        axes.plot(
            [], [], color=color, label=f"{name} {limit:g} {'MPa' if name == 'stress' else 'mm'}"
        )
    axes.plot(*(1e3 * best.history[:, :2].T), ".-", color="0.2", lw=0.8, label="search")
    axes.plot(*(1e3 * best.values), "o", color="k", label="optimum")
    axes.set(xlabel="width [mm]", ylabel="height [mm]")
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(path, dpi=120)


def row(name: str, values: np.ndarray, results: np.ndarray, audit: str) -> str:
    numbers = (
        [f"{1e3 * value:.3f}" for value in values]
        + [f"{results[0]:.4f}"]
        + [f"{value:.3f}" for value in results[1:]]
    )
    return " | ".join([f"| {name}", *numbers, f"{audit} |"])


def cheapest(found: fm.SweepResult) -> str:
    """The row of the lightest link that was run and is allowed."""
    allowed = np.all([found.outputs[name] <= limit for name, limit in LIMITS.items()], axis=0)
    k = int(np.argmin(np.where(allowed, found.outputs["mass"], np.inf)))
    sides = np.array([found.parameters[name][k] for name in (WIDTH, HEIGHT)])
    results = np.array([values[k] for values in found.outputs.values()])
    return row(f"best of the grid, {len(found)} runs", sides, results, found.verdict[k])


def main() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fm.AuditWarning)  # verdicts are in the table
        best, found = optimum(), grid()
    heads = [
        "",
        "width [mm]",
        "height [mm]",
        "mass [kg]",
        "sway [mm]",
        "sag [mm]",
        "stress [MPa]",
        "audit",
    ]
    verdicts = ", ".join(f"{n} {verdict}" for verdict, n in found.counts().items())
    rows = [
        f"| {' | '.join(heads)} |",
        f"|{' --- |' * len(heads)}",
        row(f"search, {best.runs} runs", best.values, best.results, best.solution.verdict),
        cheapest(found),
        row("between the runs of the grid", *lightest(found), verdicts),
    ]
    page = (HERE / "README.md").read_text(encoding="utf-8")
    body = "\n".join(rows)
    page = re.sub(
        r"(<!-- thickness -->\n).*?(\n<!-- end -->)",
        lambda at: f"{at[1]}{body}\n{at[2]}",
        page,
        flags=re.S,
    )
    (HERE / "README.md").write_text(page, encoding="utf-8")
    picture(found, best, HERE / "thickness.png")
    print(body)


if __name__ == "__main__":
    main()
