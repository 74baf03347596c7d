"""A slender beam that swings on a hinge and bends by 5 % of its length, against the elastica:
inextensible, any deflection.

The elastica by Ritz's method in the angle of its sections, θ(s, t) = α + Σ a_j cos(jπs/L), r =
∫(cos θ, sin θ) ds. The beam has rich shapes and its frame at the hinge: a mass matrix of terms up
to second order only is indefinite at such deflections.
"""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid, solve_ivp

import flexmbs as fm
from preprocess import CraigBampton, Isotropic, Rigid, box_mesh, reduce

LENGTH, SIDE, E, RHO, G = 1.0, 0.01, 1.5e9, 2700.0, 9.81
TIMES = np.linspace(0.0, 1.0, 51)
EVERY = [
    ("recursive", "joint"),
    ("multiplier", "joint"),
    ("multiplier", "absolute"),
    ("embedding", "joint"),
    ("embedding", "absolute"),
    ("partitioning", "joint"),
    ("partitioning", "absolute"),
]


def integral(f: np.ndarray, s: np.ndarray) -> np.ndarray:
    return cumulative_trapezoid(f, s, axis=-1, initial=0.0)


def elastica(terms: int = 6, points: int = 201) -> tuple[np.ndarray, float]:
    """Path of the tip (nt, 2) from the horizontal at rest, and its largest distance from the
    tangent at the hinge.
    """
    s = np.linspace(0.0, LENGTH, points)
    j = np.arange(terms + 1)[:, None] * np.pi / LENGTH
    shape, curvature = np.cos(j * s), -j * np.sin(j * s)
    weights = np.gradient(s) * np.where((s == 0.0) | (s == LENGTH), 0.5, 1.0)
    K = E * SIDE**4 / 12.0 * (curvature * weights) @ curvature.T
    turning = RHO * SIDE**4 / 12.0 * (shape * weights) @ shape.T
    line = RHO * SIDE**2 * weights

    def rate(t: float, state: np.ndarray) -> np.ndarray:
        a, v = np.split(state, 2)
        c, n, spin = np.cos(a @ shape), np.sin(a @ shape), v @ shape
        X, Y = integral(-n * shape, s), integral(c * shape, s)
        centripetal = integral(-c * spin**2, s), integral(-n * spin**2, s)
        M = (X * line) @ X.T + (Y * line) @ Y.T + turning
        return np.append(
            v,
            np.linalg.solve(
                M, -(X * line) @ centripetal[0] - (Y * line) @ (centripetal[1] + G) - K @ a
            ),
        )

    found = solve_ivp(
        rate,
        TIMES[[0, -1]],
        np.zeros(2 * terms + 2),
        method="LSODA",
        rtol=1e-7,
        atol=1e-9,
        t_eval=TIMES,
    )
    theta = found.y[: terms + 1].T @ shape
    tip = np.column_stack([integral(np.cos(theta), s)[:, -1], integral(np.sin(theta), s)[:, -1]])
    return tip, float(
        np.abs(np.cos(theta[:, 0]) * tip[:, 1] - np.sin(theta[:, 0]) * tip[:, 0]).max()
    )


@pytest.fixture(scope="module")
def reference() -> np.ndarray:
    tip, deflection = elastica()
    assert 0.05 < deflection / LENGTH < 0.052
    return tip


def pendulum(parts: int, reference: str = "hub") -> fm.Model:
    """The beam of 40 hexahedra as one flexible body, or cut into equal ones."""
    model = fm.Model("pendulum", gravity=(0.0, -G, 0.0))
    size = LENGTH / parts
    mesh = box_mesh(
        (size, SIDE, SIDE), (40 // parts, 1, 1), "hex20", origin=(0.0, -SIDE / 2, -SIDE / 2)
    )
    ends, method = {"hub": Rigid("x0"), "tip": Rigid("x1")}, CraigBampton(modes=14 // parts)
    material = Isotropic(E=E, nu=0.0, rho=RHO)
    data = reduce(
        mesh,
        material,
        interfaces=ends,
        method=method,
        reference=reference,
        stress=None,
        estimate=False,
    )
    end = model.ground
    for k in range(parts):
        beam = model.add(fm.FlexibleBody(f"beam {k}", data=data))
        model.add(
            fm.Revolute("hinge", end, beam["hub"], axis="z")
            if k == 0
            else fm.Fixed(f"joint {k}", end, beam["hub"])
        )
        end = beam["tip"]
    return model


def path(
    model: fm.Model, *, t_end: float = TIMES[-1], integrator: Any = None, **options: str
) -> np.ndarray:
    """Path of the tip (nt, 2)."""
    method = integrator or fm.GeneralizedAlpha(step=2e-4)
    run = fm.simulate(model, t_end=t_end, output_step=TIMES[1], integrator=method, **options)
    assert np.abs(run.energy.balance).max() < 2e-7 * run.energy.scale
    return np.asarray(run.frame(f"beam {len(model.bodies) - 1}/tip").position[:, :2])


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
@pytest.mark.parametrize(
    ("parts", "body_frame", "limit"), [(1, "hub", 4e-4), (1, "mean axes", 2e-4), (2, "hub", 2e-4)]
)
def test_motion_is_that_of_the_elastica(
    reference: np.ndarray, parts: int, body_frame: str, limit: float
) -> None:
    assert np.abs(path(pendulum(parts, body_frame)) - reference).max() < limit * LENGTH


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
def test_all_formalisms_agree() -> None:
    model, precise = pendulum(1), fm.DormandPrince(rtol=1e-8, atol=1e-10)
    paths = np.array(
        [
            path(model, t_end=0.1, integrator=precise, formalism=name, coordinates=each)
            for name, each in EVERY
        ]
    )
    assert np.abs(paths - paths[0]).max() < 1e-7 * LENGTH
