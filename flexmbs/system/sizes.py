"""Changes of the velocity coordinates that are alike: what a step is measured with."""

import numpy as np

from flexmbs.model.check_references import motion_of
from flexmbs.model.contacts import JointLimit
from flexmbs.system.compile import Compiled


def displacement_sizes(compiled: Compiled) -> np.ndarray:
    """(ns,) displacements that are alike: 1 rad, the size of the model in m, modal amplitudes that move a frame as much,
    or the whole body as much in the mean over its mass."""
    system = compiled.system
    length = model_size(compiled)
    sizes = np.full(int(system.layout[2]), length)
    for i, primary in enumerate(compiled.topology.tree):
        at = int(system.tree.s_at[i])
        for motion in primary.motions:
            if motion.turns and motion.nv < 6:
                sizes[at : at + motion.nv] = 1.0
            elif motion.nv == 6:
                sizes[at + 3 : at + 6] = 1.0
            at += motion.nv
        nf = int(system.tree.nf[i])
        own = system.frames.body == i
        shapes = np.abs(system.frames.shape[own][:, :, :nf])
        most = np.maximum(shapes[:, :3].max(axis=(0, 1), initial=0.0) / length, shapes[:, 3:].max(axis=(0, 1), initial=0.0))
        mean = np.sqrt(np.diagonal(system.bodies.m_ff[i])[:nf] / system.bodies.mass[i])
        at = int(system.tree.sf_at[i])
        sizes[at : at + nf] = 1.0 / np.maximum(most, mean / length)
    return sizes


def extent(compiled: Compiled, places: np.ndarray) -> float:
    """Length (m) beside which errors of lengths must be small: the largest of the distances of frames from their bodies' origins,
    radii of gyration, and distances of the bodies (n, 3) from the origin; 1 where there are none."""
    system = compiled.system
    heavy = system.bodies.mass > 0.0
    moments = np.abs(system.bodies.second[heavy]).max(axis=1, initial=0.0) / system.bodies.mass[heavy]
    radius = float(np.sqrt(moments.max(initial=0.0)))
    frames, bodies = (np.linalg.norm(x, axis=1).max(initial=0.0) for x in (system.frames.x, places))
    return max(radius, float(frames), float(bodies)) or 1.0


def gaps_in_metres(compiled: Compiled) -> np.ndarray:
    """(n,) which gaps of contacts are lengths: those between frames, and limits of translations, not angles and functions."""
    found = compiled.system.contacts.b >= 0
    for k, name in enumerate(compiled.contacts):
        limit = compiled.model.contacts.get(name.rpartition(".")[0])
        if isinstance(limit, JointLimit):
            found[k] = not motion_of(compiled.model.joints[str(limit.joint)], limit.coordinate).turns
    return found


def model_size(compiled: Compiled) -> float:
    """Largest distance of a frame from its body's origin (m), 1 where there is none."""
    places = np.linalg.norm(compiled.system.frames.x, axis=1)
    return float(places.max(initial=0.0)) or 1.0
