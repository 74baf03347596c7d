"""The bar and the pendulum of many tests: a rigid bar, a bar of solid elements, a body on a hinge."""

import functools
from typing import Any

import flexmbs as fm
from preprocess import FEModel, Isotropic, assemble, box_mesh


def bar(name: str, length: float, mass: float = 1.0, **frames: tuple[float, ...]) -> fm.RigidBody:
    """Uniform thin bar along x of the body, with a frame at its end and other ones."""
    inertia = (1e-3, mass * length**2 / 12, mass * length**2 / 12)
    return fm.RigidBody(
        name,
        mass=mass,
        inertia=inertia,
        com=(length / 2, 0, 0),
        frames={**frames, "end": (length, 0, 0)},
    )


@functools.cache
def solid_bar(
    cells: tuple[int, int, int] = (4, 1, 1),
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0),
    nu: float = 0.3,
) -> FEModel:
    """A steel bar of 0.6 × 0.1 × 0.07 m, of few hexahedra of second order: small enough for dense
    matrices.
    """
    mesh = box_mesh((0.6, 0.1, 0.07), cells, "hex20", origin=origin)
    return assemble(mesh, Isotropic(E=2.1e11, nu=nu, rho=7850.0))


def pendulum(
    body: str = "bob",
    *,
    hinge: str = "hinge",
    q0: float = 0.0,
    v0: float = 0.0,
    run: fm.Run | None = None,
    frames: dict[str, tuple[float, ...]] | None = None,
    **about: Any,
) -> fm.Model:
    """A body on a hinge about y: 1 kg, 0.01 kg m² and a mass centre 0.5 m below the hinge unless
    given otherwise; the hinge is in the frame "pin" of the body if it has one.
    """
    model = fm.Model("pendulum", run=run)
    given = {"mass": 1.0, "inertia": (0.01, 0.01, 0.01), "com": (0, 0, -0.5)} | about
    bob = model.add(fm.RigidBody(body, frames=frames or {}, **given))
    end = bob["pin"] if frames and "pin" in frames else bob
    model.add(fm.Revolute(hinge, model.ground, end, axis="y", q0=q0, v0=v0))
    return model
