"""Random pairs of every kind of contact that meet fast: a model, its step, and the velocities long
after the impact.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import flexmbs as fm
from flexmbs.motions import Slide

TWO_BALLS = ("sphere-sphere", "curve-contact", "user-contact")


class Pair(NamedTuple):
    """A model, its fixed step and duration (s), the largest speed (m/s), exact velocities at the
    end by joint.
    """

    model: fm.Model
    step: float
    t_end: float
    speed: float
    exact: dict[str, np.ndarray]

    def error(self, run: fm.Solution) -> float:
        """Largest error of the velocities at the end over the speed."""
        ends = [run.joint(name).velocity[-1] - exact for name, exact in self.exact.items()]
        return float(np.abs(np.concatenate(ends)).max()) / self.speed


def pair(kind: str, seed: int, depth: float | None = None) -> Pair:
    """Elastic and smooth; radii of 1 … 300 mm, speeds of 0.3 … 300 m/s, 0.03 … 30 radii a step;
    rigid, or with a law by which 1 kg overlaps by ``depth`` radii."""
    rng = np.random.default_rng([seed, len(kind)])
    radius, speed = 10.0 ** rng.uniform(-3.0, -0.5), 10.0 ** rng.uniform(-0.5, 2.5)
    step = 10.0 ** rng.uniform(-1.5, 1.5) * radius / speed
    way = rng.uniform(2.2, 20.0) * step * speed + 3.0 * radius
    model = fm.Model(kind, gravity=(0, 0, 0))
    how: dict[str, object] = {"restitution": 1.0}
    if depth is not None:
        n = rng.uniform(1.0, 2.0)
        how = {
            "law": fm.HuntCrossley(
                0.5 * (n + 1.0) * speed**2 / (depth * radius) ** (n + 1.0), exponent=n
            )
        }
    exact = MAKERS[kind](model, radius, speed, way, rng, how)
    return Pair(model, step, way / speed * rng.uniform(1.3, 1.8), speed, exact)


def _moving(model: fm.Model, name: str, q0: tuple[float, float], v0: tuple[float, float]) -> str:
    body = model.add(fm.RigidBody(name, mass=1.0, inertia=(1e-4,) * 3))
    joint = f"way of {name}"
    model.add(fm.Chain(joint, model.ground, body, motions=(Slide("x"), Slide("y")), q0=q0, v0=v0))
    return joint


def _balls(kind: str) -> Callable[..., dict[str, np.ndarray]]:
    def make(model, radius, speed, way, rng, how):
        aside = rng.uniform(-1.6, 1.6) * radius
        names = (
            _moving(model, "a", (0.0, 0.0), (speed, 0.0)),
            _moving(model, "b", (way, aside), (0.0, 0.0)),
        )
        if kind == "sphere-sphere":
            contact = fm.SphereSphere(
                "hit", "a", "b", radius_parent=radius, radius_child=radius, **how
            )
        elif kind == "curve-contact":
            curve = _circle(radius)
            contact = fm.CurveContact(
                "hit", "a", "b", points_parent=curve, points_child=curve, **how
            )
        else:
            contact = fm.UserContact(
                "hit", "a", "b", lambda t, x, R: (x @ x) ** 0.5 - 2 * radius, **how
            )
        model.add(contact)
        n = np.array([math.sqrt(4 * radius**2 - aside**2), aside]) / (2 * radius)
        second = speed * n[0] * n
        return dict(zip(names, (np.array([speed, 0.0]) - second, second)))

    return make


def _circle(radius: float) -> np.ndarray:
    a = np.linspace(0.0, 2 * np.pi, 40, endpoint=False)
    return radius * np.column_stack([np.cos(a), np.sin(a)])


def _over_line(model, radius, speed, way, rng, how, *, edge: bool) -> dict[str, np.ndarray]:
    angle = rng.uniform(-1.2, 1.2)
    u = speed * np.array([math.sin(angle), -math.cos(angle)])
    start = (
        np.array([rng.uniform(0.05, 0.95) * 2 * radius, 0.0 if edge else radius]) - u * way / speed
    )
    name = _moving(model, "a", tuple(start), tuple(u))
    if edge:
        model.add(fm.CornerLine("hit", model.ground, "a", length=2 * radius, **how))
    else:
        model.add(fm.SpherePlane("hit", model.ground, "a", normal="y", radius=radius, **how))
    return {name: u * [1.0, -1.0]}


def _limit(model, radius, speed, way, rng, how) -> dict[str, np.ndarray]:
    name = _moving(model, "a", (0.0, 0.0), (speed, 0.0))
    model.add(fm.JointLimit("hit", name, lower=-way, upper=way, **how))
    return {name: np.array([-speed, 0.0])}


def _wall(model, radius, speed, way, rng, how) -> dict[str, np.ndarray]:
    name = _moving(model, "a", (0.0, 0.0), (speed, 0.0))
    model.add(
        fm.UnilateralCoupling(
            "hit", [f"{name}.0"], lambda t, x: ((x[0] - way - radius) ** 2) ** 0.5 - radius, **how
        )
    )
    return {name: np.array([-speed, 0.0])}


def _on_circle(model, radius, speed, way, rng, how, *, rope: bool) -> dict[str, np.ndarray]:
    """A point on a rope from inside, or a roller on a round cam from outside."""
    reach = way if rope else 2 * radius
    aside = rng.uniform(-0.7, 0.7) * reach
    along = math.sqrt(reach**2 - aside**2)
    name = _moving(model, "a", (along - way if rope else -along - way, aside), (speed, 0.0))
    if rope:
        model.add(fm.Rope("hit", model.ground, "a", length=way, **how))
    else:
        model.add(
            fm.CamRoller("hit", model.ground, "a", points=_circle(radius), radius=radius, **how)
        )
    n = np.array([along if rope else -along, aside]) / reach
    u = np.array([speed, 0.0])
    return {name: u - 2 * (u @ n) * n}


MAKERS: dict[str, Callable[..., dict[str, np.ndarray]]] = {
    **{kind: _balls(kind) for kind in TWO_BALLS},
    "sphere-plane": lambda *given: _over_line(*given, edge=False),
    "corner-line": lambda *given: _over_line(*given, edge=True),
    "joint-limit": _limit,
    "unilateral-coupling": _wall,
    "rope": lambda *given: _on_circle(*given, rope=True),
    "cam-roller": lambda *given: _on_circle(*given, rope=False),
}
