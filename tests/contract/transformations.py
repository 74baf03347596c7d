"""Transformations of models that change a run in a known way: poses of the world, order, names, cut
bodies.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import flexmbs as fm
from flexmbs.model.frames import FrameRef

SECTIONS = ("bodies", "joints", "forces", "drives", "couplings", "contacts", "rotors")
WORLD = "world frame"  # of the ground, or of the body that carries the model


def copy_of(
    model: fm.Model, change: Callable[[Any], Any] = lambda item: item, **header: Any
) -> fm.Model:
    """A model with every item changed; items that become None are left out, with those that need
    them.
    """
    given = {"gravity": model.gravity, "frames": model.frames, "cuts": model.cuts} | header
    made = fm.Model(model.name, **given)
    for section in SECTIONS:
        for item in getattr(model, section).values():
            if (new := change(item)) is not None:
                getattr(made, section)[new.name] = new
    return made


def with_references(item: Any, of: Callable[[Any], Any]) -> Any:
    """The item with each reference to a frame or coordinate, and each name of a joint, replaced."""
    changes = {}
    for field in dataclasses.fields(item):
        value = getattr(item, field.name)
        refers = field.name in (
            "joint",
            "contact",
            "reads",
            "of",
            "factors",
            "first",
            "second",
            "pinion",
            "rack",
            "screw",
            "nut",
            "carrier",
        )
        if isinstance(value, FrameRef) or (refers and isinstance(value, str)):
            changes[field.name] = of(value)
        elif refers and isinstance(value, tuple):
            changes[field.name] = tuple(of(each) for each in value)
        elif refers and isinstance(value, Mapping):
            changes[field.name] = {of(key): factor for key, factor in value.items()}
    return dataclasses.replace(item, **changes) if changes else item


# Where the world is


def placed(
    model: fm.Model, R: np.ndarray, d: np.ndarray, velocity: np.ndarray | None = None
) -> fm.Model:
    """The model at x ↦ R x + d + v t, with its gravity: its ground frames are those of the ground,
    or of a driven body.
    """
    base = "ground" if velocity is None else "carrier"
    frames = {
        name: fm.Frame(tuple(R @ frame.position + d), (R @ frame.rotation).tolist())
        for name, frame in model.frames.items()
    }
    frames[WORLD] = fm.Frame(tuple(d), R.tolist())

    def of(ref: Any) -> Any:
        moved = isinstance(ref, FrameRef) and ref.body == "ground"
        return FrameRef(base, ref.frame or WORLD) if moved else ref

    v = np.zeros(3) if velocity is None else velocity

    def change(item: Any) -> Any:
        return with_references(_in_world(item, R, d, v), of)

    made = copy_of(
        model, change, gravity=tuple(R @ model.gravity), frames=frames if velocity is None else {}
    )
    if velocity is not None:
        bodies = dict(made.bodies)
        made.bodies.clear()
        made.add(fm.RigidBody("carrier", mass=1.0, inertia=(1.0, 1.0, 1.0), frames=frames))
        made.bodies.update(bodies)
        speed = float(np.linalg.norm(v))
        made.add(fm.Prismatic("track", "ground", "carrier", axis=tuple(v / speed), v0=speed))
        made.add(fm.Drive("haul", "track", fm.Ramp(0.0, speed)))
    return made


def _in_world(item: Any, R: np.ndarray, d: np.ndarray, v: np.ndarray) -> Any:
    """Forces given in world axes, in those of the moved world; a law of each component needs one of
    three.
    """
    if isinstance(item, fm.FrameForce) and item.axes == "world":
        if not np.array_equal(R, np.round(R)):
            return None
        order = np.abs(R).argmax(axis=1)
        return dataclasses.replace(
            item,
            **{key: tuple(getattr(item, key)[k] for k in order) for key in ("force", "torque")},
        )
    if not isinstance(item, fm.UserForce):
        return item
    function = getattr(item.function, "py_func", item.function)

    def moved(t: float, r: Any, A: Any, rate: Any, w: Any, *reactions: Any) -> Any:
        back = [
            R.T @ (np.array(r) - d - v * t),
            (R.T @ np.reshape(A, (3, 3))).ravel(),
            R.T @ (np.array(rate) - v),
            R.T @ w,
        ]
        read = (
            [np.array(each).reshape(-1, 2, 3) @ R for each in reactions]
            if item.axes == "world"
            else reactions
        )
        given = np.array(function(t, *back, *(np.reshape(each, (-1, 6)) for each in read)), float)
        return (*(R @ given[:3]), *(R @ given[3:6]))

    return dataclasses.replace(
        item, function=with_arguments_of(moved, item.function, reads=bool(item.reads))
    )


def with_arguments_of(function: Any, of: Any, *, reads: bool) -> Any:
    """The function with the number of arguments of another one."""
    if reads:
        return lambda t, r, A, v, w, reactions: function(t, r, A, v, w, reactions)
    return lambda t, r, A, v, w: function(t, r, A, v, w)


# Names, order, parts


def renamed(model: fm.Model, name: Callable[[str], str]) -> fm.Model:
    """The model with other names of all items and of frames on the ground."""

    def of(ref: Any) -> Any:
        if isinstance(ref, FrameRef):
            return (
                FrameRef("ground", ref.frame and name(ref.frame))
                if ref.body == "ground"
                else FrameRef(name(ref.body), ref.frame)
            )
        if ref is None:
            return None
        joint, dot, number = ref.rpartition(".")
        return f"{name(joint)}.{number}" if dot and number.isdigit() else name(ref)

    def change(item: Any) -> Any:
        return dataclasses.replace(with_references(item, of), name=name(item.name))

    frames = {name(key): frame for key, frame in model.frames.items()}
    return copy_of(model, change, frames=frames, cuts=[name(cut) for cut in model.cuts])


def permuted(model: fm.Model, rng: np.random.Generator) -> fm.Model:
    """The model with its declarations in another order."""
    made = copy_of(model)
    for section in SECTIONS:
        items = getattr(made, section)
        order = rng.permutation(list(items))
        values = {str(key): items[str(key)] for key in order}
        items.clear()
        items.update(values)
    return made


def cut_in_two(model: fm.Model, rng: np.random.Generator) -> fm.Model | None:
    """The model with a rigid body in two halves, of which the second has some of the frames, fixed
    to each other.
    """
    rigid = [name for name, body in model.bodies.items() if isinstance(body, fm.RigidBody)]
    if not rigid:
        return None
    name = str(rng.choice(rigid))
    body, other = model.bodies[name], f"{name} half"
    apart = {frame for frame in body.frames if rng.random() < 0.5}
    half = {"mass": 0.5 * body.mass, "inertia": (0.5 * np.array(body.inertia)).tolist()}

    def of(ref: Any) -> Any:
        return (
            FrameRef(other, ref.frame)
            if isinstance(ref, FrameRef) and ref.body == name and ref.frame in apart
            else ref
        )

    made = copy_of(model, lambda item: with_references(item, of))
    made.bodies[name] = dataclasses.replace(body, **half)
    made.bodies[other] = dataclasses.replace(body, **half, name=other)
    made.add(fm.Fixed(f"weld {name}", name, other))
    return made
