"""Comparable changes of the velocity coordinates: the scales of a step."""

from collections.abc import Collection, Sequence

import numpy as np

from flexmbs.model.check_references import motion_of
from flexmbs.model.contacts import JointLimit, declared_contact
from flexmbs.model.motions import Motion
from flexmbs.system.compile import Compiled

# m: shorter distances between bodies are round-off of their positions; no machine is so small
ROUND_OFF = 1e-12


def displacement_sizes(compiled: Compiled) -> np.ndarray:
    """Scales (ns,) of displacements: length of the model or 1 rad, amplitudes of modes.

    1 rad, the size of the model in m, and the modal amplitudes at which a frame is displaced by
    that size or rotated by 1 rad, or the rms displacement of the body over its mass has that size.
    """
    system = compiled.system
    length = model_size(compiled)
    sizes = np.full(int(system.layout[2]), length)
    for i, primary in enumerate(compiled.topology.tree):
        own = coordinate_sizes(primary.motions, length)
        at = int(system.tree.s_at[i])
        sizes[at : at + len(own)] = own
        nf = int(system.tree.nf[i])
        carried = system.frames.body == i
        shapes = np.abs(system.frames.shape[carried][:, :, :nf])
        most = np.maximum(
            shapes[:, :3].max(axis=(0, 1), initial=0.0) / length,
            shapes[:, 3:].max(axis=(0, 1), initial=0.0),
        )
        mean = np.sqrt(np.diagonal(system.bodies.m_ff[i])[:nf] / system.bodies.mass[i])
        at = int(system.tree.sf_at[i])
        sizes[at : at + nf] = 1.0 / np.maximum(most, mean / length)
    return sizes


def position_sizes(compiled: Compiled) -> np.ndarray:
    """Sizes (nq,) of the positions: those of `displacement_sizes`, and 1 for Euler parameters."""
    sizes, tree = displacement_sizes(compiled), compiled.system.tree
    found = np.ones(int(compiled.system.layout[1]))
    for i, primary in enumerate(compiled.topology.tree):
        q, s = int(tree.q_at[i]), int(tree.s_at[i])
        for motion in primary.motions:
            same = 3 if motion.nq == 7 else motion.nq if motion.nq == motion.nv else 0
            found[q : q + same] = sizes[s : s + same]
            q, s = q + motion.nq, s + motion.nv
        nf, qf, sf = (int(each[i]) for each in (tree.nf, tree.qf_at, tree.sf_at))
        found[qf : qf + nf] = sizes[sf : sf + nf]
    return found


def coordinate_sizes(motions: Sequence[Motion], length: float) -> np.ndarray:
    """Comparable changes (nv,) of the coordinates of a chain: 1 rad, or ``length``.

    length: that of the model.
    """
    found = [np.zeros(0)]
    for motion in motions:
        found.append(
            np.repeat([length, 1.0], 3)
            if motion.nv == 6
            else np.full(motion.nv, 1.0 if motion.turns else length)
        )
    return np.concatenate(found)


def extent(compiled: Compiled, places: np.ndarray) -> float:
    """Reference length (m) for errors of lengths: largest size of bodies and of their spread.

    The largest of `model_size` and the distances of the bodies (n, 3) and the frames on the ground
    from their centroid, which no translation of the model changes; 1 if all are round-off.
    """
    spread = _largest_distance(np.concatenate([places, compiled.ground_places]))
    return max(_size_of_bodies(compiled), spread if spread > ROUND_OFF else 0.0) or 1.0


def gaps_in_metres(compiled: Compiled) -> np.ndarray:
    """Contacts whose gaps are lengths (n,).

    These are contacts between frames and limits of translations; other gaps are angles or
    functions.
    """
    found = compiled.system.contacts.b >= 0
    for k, name in enumerate(compiled.contacts):
        limit = compiled.model.contacts.get(name.rpartition(".")[0])
        if isinstance(limit, JointLimit):
            found[k] = not motion_of(
                compiled.model.joints[str(limit.joint)], limit.coordinate
            ).turns
    return found


def contact_sizes(compiled: Compiled, length: float) -> np.ndarray:
    """Lengths (m) or angles (n,) relative to which overlaps of contacts are small.

    Those of their shapes, at most the ``length`` of the model; 1 if the gap is not a length.
    """
    sizes = [declared_contact(compiled.model.contacts, name).size for name in compiled.contacts]
    return np.minimum(sizes, np.where(gaps_in_metres(compiled), length, 1.0))


def model_size(compiled: Compiled) -> float:
    """Size of the model (m), invariant under rigid motions of the model.

    Largest distance of a frame from the origin of its body, or on the ground from the centroid of
    its frames; if there is none, the largest radius of gyration, or 1.
    """
    return max(_size_of_bodies(compiled), _largest_distance(compiled.ground_places)) or 1.0


def size_of_bodies(compiled: Compiled, names: Collection[str]) -> float:
    """Size (m) of some bodies and of the frames on the ground that items connect to them."""
    own = np.isin(compiled.bodies, list(names))
    ground = _largest_distance(compiled.ground_places_of(names))
    return max(_size_of_bodies(compiled, own), ground) or model_size(compiled)


def _size_of_bodies(compiled: Compiled, own: np.ndarray | None = None) -> float:
    """Largest distance (m) of a frame from its body's origin.

    The largest radius of gyration if there is none. own: mask (n,) of the bodies, None: all.
    """
    system = compiled.system
    own = np.ones(len(compiled.bodies), bool) if own is None else own
    on_body = np.isin(system.frames.body, np.flatnonzero(own))
    frames = np.linalg.norm(system.frames.x[on_body], axis=1).max(initial=0.0)
    heavy = own & (system.bodies.mass > 0.0)
    moments = (
        np.abs(system.bodies.second[heavy]).max(axis=1, initial=0.0) / system.bodies.mass[heavy]
    )
    return float(frames) or float(np.sqrt(moments.max(initial=0.0)))


def _largest_distance(points: np.ndarray) -> float:
    """Largest distance (m) of the points (n, 3) from their centroid; 0 for fewer than two."""
    if len(points) < 2:
        return 0.0
    return float(np.linalg.norm(points - points.mean(axis=0), axis=1).max())
