"""Rotors → flat records."""

from collections.abc import Callable

import numpy as np

from flexmbs.model.frames import GROUND, FrameRef
from flexmbs.model.model import ModelData
from flexmbs.system.compile_forces import JointPlace
from flexmbs.system.records import Rotors
from flexmbs.system.topology import Topology


def compile_rotors(
    model: ModelData,
    shape: Topology,
    places: dict[str, JointPlace],
    frame: Callable[[FrameRef], int],
    paths: list[int],
) -> tuple[Rotors, list[int]]:
    """Records of all rotors and the extended paths.

    The path of a rotor has the bodies that move the joint and, with gyroscopic part, turn the
    carrier.
    """
    paths = list(paths)
    rows, spins = [], []
    for name, rotor in model.rotors.items():
        joint, place = model.joints[rotor.joint], places[rotor.joint]
        v, _ = place.coordinate(f"rotors.{name}", rotor.coordinate)
        carrier = joint.parent
        turning = rotor.gyroscopic and carrier.body != GROUND
        moving = (
            {place.body}
            if place.body >= 0
            else set(shape.common_path(carrier.body, joint.child.body)[0])
        )
        at = len(paths)
        paths += sorted(moving | set(shape.path(carrier.body) if turning else ()))
        rows.append((place.body, place.cut, v, frame(carrier), int(place.reversed), at, len(paths)))
        a = np.array(rotor.spin_axis(joint) if turning else (0.0, 0.0, 0.0))
        spins.append(rotor.ratio * rotor.inertia * a)
    body, cuts, velocity, frames, turned, first, last = (
        np.array(rows, np.int64).reshape(-1, 7).T.copy()
    )
    reflected = np.array([rotor.reflected for rotor in model.rotors.values()], float)
    return Rotors(
        body,
        cuts,
        velocity,
        frames,
        turned,
        first,
        last,
        reflected,
        np.array(spins, float).reshape(-1, 3),
    ), paths
