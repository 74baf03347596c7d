"""Lecture notes 004, figure of admissible and inadmissible coordinates: a double pendulum, and the
program's answers.
"""

import itertools

import numpy as np
from matplotlib.figure import Figure
from page import Study, difference, vanishes

import flexmbs as fm
from flexmbs.motions import Slide

# absolute angles of the rods from the downward vertical
L1, L2, ANGLES = 1.0, 0.8, np.array([1.9, 2.3])
OPTIONS = {
    "t_end": 1.0,
    "output_step": 0.02,
    "integrator": fm.DormandPrince(rtol=1e-10, atol=1e-12),
}


def places(a: np.ndarray) -> np.ndarray:
    """(2, 2) x and z of both masses."""
    first = L1 * np.array([np.sin(a[0]), -np.cos(a[0])])
    return np.array([first, first + L2 * np.array([np.sin(a[1]), -np.cos(a[1])])])


def hinged() -> fm.Model:
    """Masses on massless rods: the coordinates of its hinges are relative angles."""
    model = fm.Model("hinges", gravity=(0, 0, -9.81))
    for i, at in ((1, (0, 0, -L1)), (2, (0, 0, -L2))):
        model.add(fm.RigidBody(f"rod {i}", mass=1.0, inertia=(0, 0, 0), com=at, frames={"end": at}))
    model.add(fm.Revolute("hinge 1", "ground", "rod 1", axis="y", q0=-ANGLES[0]))
    model.add(fm.Revolute("hinge 2", "rod 1/end", "rod 2", axis="y", q0=ANGLES[0] - ANGLES[1]))
    return model


def points() -> fm.Model:
    """Point masses at constant distances: x₁, z₁, x₂, z₂ with two constraints."""
    model = fm.Model("points", gravity=(0, 0, -9.81))
    for i, place in enumerate(places(ANGLES), 1):
        model.add(fm.PointMass(f"m{i}", mass=1.0))
        model.add(
            fm.Chain(
                f"m{i} at", "ground", f"m{i}", motions=(Slide("x"), Slide("z")), q0=tuple(place)
            )
        )
    for name, a, b, length in (("rod 1", "ground", "m1", L1), ("rod 2", "m1", "m2", L2)):
        model.add(
            fm.Holonomic(
                name, a, b, lambda t, x, A, l=length: [x[0] ** 2 + x[1] ** 2 + x[2] ** 2 - l**2]
            )
        )
    return model


def study() -> Study:
    turns = [{"hinge 1.0": -1.0}, {"hinge 1.0": -1.0, "hinge 2.0": -1.0}]
    runs = {
        "relative angles": fm.simulate(
            hinged(), formalism=fm.Partitioning(["hinge 1", "hinge 2"]), **OPTIONS
        ),
        "absolute angles": fm.simulate(
            hinged(), formalism=fm.Embedding(quasi_velocities=turns), **OPTIONS
        ),
        "x₁, x₂": fm.simulate(
            points(), formalism=fm.Partitioning(["m1 at.0", "m2 at.0"]), **OPTIONS
        ),
    }
    tip = {
        name: (run.frame("rod 2/end") if "angles" in name else run.body("m2")).position[:, ::2]
        for name, run in runs.items()
    }
    ends, ((x1, _), (x2, _)) = [], places(ANGLES)
    for s1, s2 in itertools.product((1.0, -1.0), repeat=2):
        z1 = s1 * np.sqrt(L1**2 - x1**2)
        ends.append([(0.0, 0.0), (x1, z1), (x2, z1 + s2 * np.sqrt(L2**2 - (x2 - x1) ** 2))])
    gaps = np.linalg.norm(np.diff(ends, axis=1), axis=2) - [L1, L2]
    identities = {
        "relative against absolute angles: motion": difference(
            tip["relative angles"], tip["absolute angles"]
        ),
        "relative angles against x₁, x₂: motion": difference(tip["relative angles"], tip["x₁, x₂"]),
        "four positions with the same x₁, x₂: g = 0": vanishes(gaps),
    }
    told = [
        f"x₁, x₂: {note}" for note in runs["x₁, x₂"].run.notes if note.startswith("independent")
    ]
    try:
        fm.matrices(points(), independent=["m1 at.0", "m1 at.1"])
    except fm.InputError as error:
        told.append(f"x₁, z₁: {error}")

    def draw(figure: Figure) -> None:
        titles = ("absolute angles", "relative angles", "x₁, x₂: ambiguous", "x₁, z₁: dependent")
        for k, (axes, title) in enumerate(
            zip(figure.subplots(1, 4, sharex=True, sharey=True), titles)
        ):
            for line in ends if k == 2 else ends[:1]:
                axes.plot(
                    *np.transpose(line),
                    "o-",
                    color="C0",
                    linewidth=2,
                    alpha=1.0 if line is ends[0] else 0.35,
                )
            for n, point in enumerate(ends[0][:2]):
                way = np.linspace(ANGLES[0] if k and n else 0.0, ANGLES[n], 30 if k < 2 else 0)
                axes.plot(point[0] + 0.3 * np.sin(way), point[1] - 0.3 * np.cos(way), color="C1")
            for x, z in ends[0][1:] if k == 2 else ends[0][1:2] if k == 3 else []:
                axes.plot([0.0, x], [z, z], color="C1")
                axes.plot([x, x], [0.0, z] if k == 3 else [z, z], color="C1")
            axes.set(
                aspect="equal",
                title=title,
                xlim=(-0.8, 1.9),
                ylim=(-1.2, 1.2),
                xticks=[],
                yticks=[],
            )

    return Study(
        identities, {"positions with the same x₁, x₂": len(ends)}, draw, 2.6, "\n".join(told)
    )
