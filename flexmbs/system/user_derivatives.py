"""Derivatives of user functions, and a position at which they are defined.

Constants and rules common to functions of poses and of coordinates.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from flexmbs.declaration import shown
from flexmbs.errors import InputError
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.model.bodies import BodyWithFrames, RigidBody
from flexmbs.model.functions import MissingFunction
from flexmbs.model.model import ModelData

STEP = 1e-3  # step of differences of fourth order: times the length of the model, 1 rad or 1 s
TINY = 1e-30  # complex step: its square is below the round-off of any number
AGREE = 1e-6  # of the derivatives: accuracy of the differences that check complex steps
# m, rad and s from the declared start, which may be a special position, such as a pose without
# rotation
NEAR = 1e-3


def length_scale(model: ModelData, data: Mapping[str, FlexibleBodyData]) -> float:
    """The power of 1000 m nearest to the size of the model.

    The size is the largest distance of a frame from the origin of its body, or on the ground from
    the centroid of its frames, or a radius of gyration. Steps of differences may be off by a factor
    of 30; rounding to a power keeps the number the same when a length of the model changes, so that
    compiled functions serve all such models.
    """
    found = [0.0]
    for name, body in model.bodies.items():
        frames = data[name].frames.values() if name in data else ()
        found += [float(np.linalg.norm(frame.x)) for frame in frames]
        if isinstance(body, BodyWithFrames):
            found += [float(np.linalg.norm(frame.position)) for frame in body.frames.values()]
    ground = np.array([frame.position for frame in model.frames.values()]).reshape(-1, 3)
    if len(ground):
        found.append(float(np.linalg.norm(ground - ground.mean(axis=0), axis=1).max()))
    if not max(found) > 0.0:
        found += [
            math.sqrt(float(np.abs(own.inertia).max()) / own.mass)
            for body in model.bodies.values()
            if isinstance(body, RigidBody) and (own := body.mass_properties).mass > 0.0
        ]
    size = max(found)
    return 1000.0 ** round(math.log(size, 1000.0)) if 0.0 < size < math.inf else 1.0


def takes_complex(by_complex_steps: Callable[[], Any], by_differences: Callable[[], Any]) -> bool:
    """True if complex steps give the same derivatives as differences."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            exact, rough = np.asarray(by_complex_steps()), np.asarray(by_differences())
        return bool(np.abs(exact - rough).max() <= AGREE * (1.0 + np.abs(rough).max()))
    except (Exception, SystemExit):  # the function does not accept complex numbers, or not these
        return False


def first_defined(
    places: Iterable[np.ndarray],
    functions: Mapping[str, Any],
    call: Callable[[Any, np.ndarray], Any],
    remedy: str,
) -> np.ndarray:
    """The first of the ``places`` at which all functions can be called.

    functions: by name. The places are a general one, one near the declared start, and the start
    itself. Raises `InputError`, with the ``remedy``, if a function raises at all of them.
    """
    plain = {
        name: getattr(function, "py_func", function)
        for name, function in functions.items()
        if function is not None and not isinstance(function, MissingFunction)
    }
    error: InputError | None = None
    for place in places:
        error = None
        for name, function in plain.items():
            try:
                call(function, place)
            except (Exception, SystemExit) as raised:
                text = (
                    f"raises {type(raised).__name__}: {shown(str(raised))} at the declared "
                    "start and near it"
                )
                error = InputError(f"{name}: {text}; {remedy}")
                error.__cause__ = raised
                break
        if error is None:
            return place
    assert error is not None
    raise error
