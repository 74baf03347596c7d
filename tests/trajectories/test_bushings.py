"""Bushings with Maxwell branches and tables: dynamic stiffness on each axis, oscillation on a
table.
"""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import PchipInterpolator

import flexmbs as fm

MASS, INERTIA = 3.0, 0.4
K = (900.0, 700.0, 800.0, 60.0, 50.0, 70.0)
C = (5.0, 4.0, 3.0, 0.2, 0.3, 0.4)
BRANCH = (400.0, 500.0, 300.0, 40.0, 20.0, 30.0)
TIMES = (0.08, 0.05, 0.1, 0.07, 0.04, 0.06)
AXES = [("x", 0), ("y", 1), ("z", 2), ("x", 3), ("y", 4), ("z", 5)]


def mount(axis: str, place: int, **options: Any) -> fm.Model:
    """A body on a bushing and a joint with one of its axes."""
    model = fm.Model("mount", gravity=(0, 0, 0))
    body = model.add(fm.RigidBody("body", mass=MASS, inertia=(INERTIA,) * 3))
    kind = fm.Prismatic if place < 3 else fm.Revolute
    model.add(kind("guide", model.ground, body, axis=axis))
    model.add(fm.Bushing("bushing", model.ground, body, **({"k": K, "c": C} | options)))
    return model


def stiffness(place: int, w: float) -> complex:
    """k + iΩc + k₁ iΩT/(1 + iΩT)."""
    turned = 1j * w * TIMES[place]
    return K[place] + 1j * w * C[place] + BRANCH[place] * turned / (1.0 + turned)


@pytest.mark.parametrize(("axis", "place"), AXES)
def test_dynamic_stiffness(axis: str, place: int) -> None:
    """The transfer function from the effort to the coordinate is 1/(k(Ω) − m Ω²)."""
    model = mount(axis, place, branch_k=BRANCH, relaxation_time=TIMES)
    found = fm.linearize(model, inputs=[("effort", "guide")], outputs=[("coordinate", "guide")])
    inertia = MASS if place < 3 else INERTIA
    for w in (0.5, 5.0, 20.0, 80.0):
        transfer = (
            found.C @ np.linalg.solve(1j * w * np.eye(len(found.A)) - found.A, found.B)
            + found.feedthrough
        )
        assert transfer[0, 0] == pytest.approx(
            1.0 / (stiffness(place, w) - inertia * w * w), rel=1e-6
        )


@pytest.mark.parametrize(
    ("formalism", "coordinates", "integrator"),
    [
        ("multiplier", "joint", "esdirk"),
        ("multiplier", "absolute", "esdirk"),
        ("recursive", "joint", "generalized-alpha"),
        ("partitioning", "absolute", "dormand-prince"),
        ("embedding", "joint", "dormand-prince"),
    ],
)
@pytest.mark.parametrize(("axis", "place"), [("y", 1), ("z", 5)])
def test_steady_oscillation(
    axis: str, place: int, formalism: str, coordinates: str, integrator: str
) -> None:
    w, load = 9.0, 20.0
    model = mount(axis, place, branch_k=BRANCH, relaxation_time=TIMES)
    model.add(fm.JointTorque("shaker", "guide", fm.Sine(load, w / (2 * np.pi))))
    how: dict[str, Any] = (
        {"step": 1e-3} if integrator == "generalized-alpha" else {"rtol": 1e-8, "atol": 1e-10}
    )
    how |= {"formalism": formalism, "coordinates": coordinates, "integrator": integrator}
    found = fm.simulate(model, t_end=5.0, output_step=0.01, **how)
    inertia = MASS if place < 3 else INERTIA
    exact = (load / (stiffness(place, w) - inertia * w * w) * np.exp(1j * w * found.t)).imag
    late = found.t > 4.5
    error = np.abs(found.joint("guide").position[late, 0] - exact[late]).max()
    assert error < (1e-3 if "step" in how else 1e-4) * np.abs(exact).max()
    assert found.verdict == "PASS"


@pytest.mark.parametrize(("axis", "place"), [("x", 0), ("y", 4)])
def test_oscillation_on_a_table(axis: str, place: int) -> None:
    """Stiffening on one side, straight on beyond the points."""
    points, values = (-0.3, -0.1, 0.0, 0.2, 0.35), (-80.0, -12.0, 0.0, 10.0, 40.0)
    key = ("curve_x", "", "", "", "curve_ry")[place]
    model = mount(axis, place, c=(0.0,) * 6, **{key: (points, values)})
    inertia = MASS if place < 3 else INERTIA
    speed = 2.5 if place < 3 else 6.0
    start = fm.state(model, velocity={"guide": speed})
    found = fm.simulate(model, t_end=1.0, output_step=0.01, start=start, rtol=1e-8, atol=1e-10)
    cubic = PchipInterpolator(points, values)

    def force(x: float) -> float:
        inside = min(max(x, points[0]), points[-1])
        return float(cubic(inside) + cubic.derivative()(inside) * (x - inside))

    exact = solve_ivp(
        lambda t, y: [y[1], -force(y[0]) / inertia],
        (0.0, 1.0),
        [0.0, speed],
        rtol=1e-10,
        atol=1e-12,
        max_step=1e-3,
        t_eval=found.t,
    ).y
    assert np.abs(exact[0]).max() > 0.36
    assert np.abs(found.joint("guide").position[:, 0] - exact[0]).max() < 1e-5
    assert found.verdict == "PASS"


def test_a_model_file(tmp_path: Any) -> None:
    model = mount(
        "x",
        0,
        branch_k=BRANCH,
        relaxation_time=TIMES,
        curve_rz=((-1.0, 0.0, 2.0), (-3.0, 0.0, 4.0)),
    )
    model.save(tmp_path / "mount.toml")
    assert fm.load(tmp_path / "mount.toml") == model


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"branch_k": BRANCH},
            "forces.bushing.relaxation_time.0: must be > 0 for branch_k = 400, not 0",
        ),
        ({"branch_k": (1.0, 2.0)}, "forces.bushing.branch_k: must have 6 numbers"),
        (
            {"curve_x": ((0.0, 1.0), (1.0,))},
            "curve_x: must have as many values as points, at least 2; given are 2 and 1",
        ),
        (
            {"curve_rz": ((1.0, 0.0), (1.0, 2.0))},
            "forces.bushing.curve_rz: points must increase; 0 follows 1",
        ),
        (
            {"curve_y": (1.0, 2.0, 3.0)},
            "forces.bushing.curve_y: must be two lists, points and values",
        ),
        ({"curve_y": (1.0, 2.0)}, "forces.bushing.curve_y: must be a list, not 1.0"),
    ],
)
def test_bad_values(options: dict[str, Any], message: str) -> None:
    with pytest.raises(fm.InputError) as error:
        mount("x", 0, **options)
    assert message in str(error.value)
