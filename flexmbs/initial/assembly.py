"""Conditions on the initial state: locked joints, weights, and the declared values that apply."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from flexmbs._jit.address import packed
from flexmbs.algebra.so3 import rotation_matrix
from flexmbs.checked_arguments import checked_arguments
from flexmbs.declaration import close_names
from flexmbs.dynamics.blocks import cut_rows
from flexmbs.dynamics.dense import elastic_velocities
from flexmbs.dynamics.kinematics import displace
from flexmbs.errors import InputError
from flexmbs.initial.analysis_arguments import by_joint, names, numbers
from flexmbs.model.argument_checks import require_switch
from flexmbs.model.joints import Joint
from flexmbs.model.model import ModelData
from flexmbs.model.motions import Motion
from flexmbs.system.compile import Compiled
from flexmbs.system.records import System, Work, rows_of

Weight = float | Sequence[float]


@checked_arguments
@dataclass(frozen=True)
class Assemble:
    """Options for consistent initial values.

    locked: joints whose coordinates and velocities are held exactly. weights: resistance of a
    joint's coordinates to change, by joint, one number or one per degree of freedom; 1 by default.
    elastic: flexible bodies deform if loops of undeformed ones do not close. strict: declared
    values that would have to change are an error instead of a warning. Raises `InputError` for
    invalid values. Source: docs/theory.md, section 50.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("gearbox", frames={"second": (0.12, 0, 0)})
    >>> pinion, wheel = (
    ...     model.add(fm.RigidBody(name, mass=1.0, inertia=(0.1, 0.1, 0.2)))
    ...     for name in ("pinion", "wheel")
    ... )
    >>> first = model.add(fm.Revolute("first", model.ground, pinion, axis="z", v0=12.0))
    >>> second = model.add(fm.Revolute("second", model.ground["second"], wheel, axis="z", v0=-3.0))
    >>> teeth = model.add(fm.Gear("teeth", first, second, ratio=3.0))
    >>> try:
    ...     fm.simulate(
    ...         model, t_end=0.1, step=0.01, initial=fm.Assemble(locked="first", strict=True)
    ...     )
    ... except fm.InputError as error:  # 12 rad/s are kept: 4 of the wheel are needed
    ...     print(error)
    joints.second.v0: the declared value had to change by 1 to satisfy the constraints; ...
    """

    locked: str | Sequence[str] = ()
    weights: Mapping[str, Weight] = field(default_factory=dict)
    elastic: bool = False
    strict: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "locked", names(self.locked, "initial.locked"))
        object.__setattr__(self, "weights", by_joint(self.weights, "initial.weights"))
        for name, weight in self.weights.items():
            if not (numbers(weight, np.size(weight), f"initial.weights.{name}") > 0.0).all():
                raise InputError(
                    f"initial.weights.{name}: {weight!r} is not positive; to fix a joint lock it"
                )
        for key, value in (("elastic", self.elastic), ("strict", self.strict)):
            require_switch(f"initial.{key}", value)

    def check(self, model: ModelData) -> None:
        """Raise `InputError` for unknown joints and for weights that do not fit their joints."""
        for key, given in (("locked", self.locked), ("weights", tuple(self.weights))):
            unknown = [name for name in given if name not in model.joints]
            if unknown:
                raise InputError(
                    *(
                        f"initial.{key}: no joint '{name}'; {close_names(name, model.joints)}"
                        for name in unknown
                    )
                )
        for name, weight in self.weights.items():
            count, nv = np.size(weight), model.joints[name].nv
            if np.ndim(weight) and count != nv:
                raise InputError(
                    f"initial.weights.{name}: {count} numbers for {nv} degrees of "
                    f"freedom; give one or {nv}"
                )

    def of(self, joint: Joint) -> np.ndarray:
        """Weights (nv,) of the degrees of freedom of a joint."""
        return np.broadcast_to(
            np.asarray(self.weights.get(joint.name, 1.0), float), (joint.nv,)
        ).copy()


class CutJoint(NamedTuple):
    """Cut joint: index, chain, and its declared coordinates and velocities or those at rest."""

    number: int
    motions: tuple[Motion, ...]
    position: tuple[float, ...]
    velocity: tuple[float, ...]


@dataclass(frozen=True)
class DeclaredValues:
    """Declared values of one kind, positions or velocities.

    By velocity coordinate of the tree (ns,) and of the cut joints. joint, elastic: masks of the
    coordinates of joints and of bodies. locked, declared: masks for joints; driven coordinates are
    neither. weight: resistance to change. The same with ``cut`` for the coordinates of the cut
    joints ``cuts`` that take part, in sequence.
    """

    joint: np.ndarray
    elastic: np.ndarray
    locked: np.ndarray
    declared: np.ndarray
    weight: np.ndarray
    cuts: tuple[CutJoint, ...]
    cut_locked: np.ndarray
    cut_declared: np.ndarray
    cut_weight: np.ndarray

    @property
    def movable(self) -> np.ndarray:
        """(ns,) coordinates of joints that are not locked."""
        return self.joint & ~self.locked

    @property
    def undeclared(self) -> np.ndarray:
        """(ns,) undeclared coordinates of joints, which are adjusted first."""
        return self.movable & ~self.declared


def declared_values(compiled: Compiled, how: Assemble, key: str) -> DeclaredValues:
    """Declared or locked positions ("q0") or velocities ("v0", ``key``), with weights."""
    model, system = compiled.model, compiled.system
    ns = int(system.layout[2])
    locked, declared, weight = np.zeros(ns, bool), np.zeros(ns, bool), np.ones(ns)
    joint = np.ones(ns, bool)
    joint[elastic_velocities(system)] = False
    for i, primary in enumerate(compiled.topology.tree):
        if primary.joint is not None:
            at = slice(int(system.tree.s_at[i]), int(system.tree.s_at[i] + system.tree.nv[i]))
            own = model.joints[primary.joint]
            locked[at], declared[at] = primary.joint in how.locked, getattr(own, key) is not None
            if primary.joint in how.weights:
                weight[at] = _in_tree_order(own, how, primary.reversed)
    driven = driven_coordinates(compiled)
    cuts, parts = [], [(np.zeros(0, bool), np.zeros(0, bool), np.zeros(0))]
    for k, name in enumerate(compiled.topology.cuts):
        own, nv = model.joints[name], int(system.cuts.nv[k])
        given = getattr(own, key) is not None
        if nv and (given or name in how.locked or name in how.weights):
            cuts.append(
                CutJoint(
                    k, compiled.places[name].motions, own.initial_position, own.initial_velocity
                )
            )
            free = np.array([(k, v) not in driven[1] for v in range(nv)])
            parts.append((np.full(nv, name in how.locked), free & given, how.of(own)))
    held, declared_, resisting = (np.concatenate(part) for part in zip(*parts))
    return DeclaredValues(
        joint,
        ~joint,
        locked,
        declared & ~driven[0],
        weight,
        tuple(cuts),
        held,
        declared_,
        resisting,
    )


def driven_coordinates(compiled: Compiled) -> tuple[np.ndarray, set[tuple[int, int]]]:
    """Mask of the coordinates that drives prescribe.

    (ns,) mask of the velocity coordinates of the tree, and (cut joint, index) of the others.
    """
    found, cut = np.zeros(int(compiled.system.layout[2]), bool), set()
    for drive in rows_of(compiled.system.drives):
        if drive.body >= 0:
            found[compiled.system.tree.s_at[drive.body] + drive.v] = True
        else:
            cut.add((int(drive.cut), int(drive.v)))
    return found, cut


def holonomic_rows(compiled: Compiled) -> np.ndarray:
    """Mask (nc,) of the rows that constrain positions; the others constrain only velocities."""
    found = np.ones(compiled.n_constraints, bool)
    for cut in rows_of(compiled.system.cuts):
        found[cut.row + cut.positions : cut.row + cut.closed] = False
    couplers = compiled.system.couplers
    found[couplers.row[(couplers.row_function >= 0) & (couplers.function < 0)]] = False
    return found


@packed()
def displaced(system, q0, d, q):
    """Coordinates q ← q0 ⊕ d displaced by d."""
    displace(system.tree, system.joints, q0, d, q)


@packed()
def covector_rows(system, work, q, rows):
    """Write the covectors in ``work.cut`` to the rows of a zeroed array (n, ns)."""
    tree, cuts, e = system.tree, system.cuts, system.elimination
    for k in range(cuts.row.shape[0]):
        cut_rows(system, work, k, q)
        for h in range(cuts.path[k], cuts.path_end[k]):
            i = system.paths[h]
            for c in range(tree.s_at[i], tree.s_at[i] + e.size[i]):
                for r in range(cuts.rows[k]):
                    rows[cuts.row[k] + r, c] = work.rows[r, c]


class CutVelocities:
    """H (n, ns) with η = H s for the velocities of the cut joints ``cuts``, in sequence.

    The covectors C⁺ of the velocities replace those of the constraints, and other cut joints have
    no rows. The records are made only once, since a search for a position evaluates H hundreds of
    times.
    """

    def __init__(self, system: System, work: Work, cuts: Sequence[int]) -> None:
        """Velocity rows of the cut joints ``cuts``, numbered consecutively."""
        chosen = np.array(cuts, np.int64)
        counts = system.cuts.nv[chosen]
        rows, row = np.zeros_like(system.cuts.rows), np.zeros_like(system.cuts.row)
        rows[chosen], row[chosen] = counts, np.cumsum(counts) - counts
        self.shape = int(counts.sum()), int(system.layout[2])
        self.system = system._replace(cuts=system.cuts._replace(rows=rows, row=row))
        self.work = work._replace(cut=work.cut._replace(covectors=work.cut.inverse))

    def rows(self, q: np.ndarray) -> np.ndarray:
        """Matrix H of the cut joint velocities H s at the last evaluation, which was at q."""
        H = np.zeros(self.shape)
        if self.shape[0]:
            covector_rows(self.system, self.work, q, H)
        return H


def cut_offsets(system: System, cuts: Sequence[CutJoint], beta: np.ndarray) -> np.ndarray:
    """β_c − β_c⁰ of cut joints, (nv,) each, in sequence."""
    found = [np.zeros(0)]
    for cut in cuts:
        found.append(
            offset(cut.motions, cut.position, beta[int(system.cuts.beta_at[cut.number]) :])
        )
    return np.concatenate(found)


def offset(
    motions: Sequence[Motion], start: Sequence[float] | np.ndarray, q: np.ndarray
) -> np.ndarray:
    """Change (nv,) of a chain's coordinates from ``start`` to q.

    For a ball joint the rotation vector of q⁰⁻¹q.
    """
    parts = [np.zeros(0)]
    at = 0
    for motion in motions:
        now, then = q[at : at + motion.nq], np.asarray(start[at : at + motion.nq])
        if motion.nq == motion.nv:
            parts.append(now - then)
        else:
            turn = then[-4] * now[-3:] - now[-4] * then[-3:] - np.cross(then[-3:], now[-3:])
            cosine, sine = float(now[-4:] @ then[-4:]), float(np.linalg.norm(turn))
            turn *= 2.0 * np.arctan2(sine, abs(cosine)) / (sine or 1.0) * (np.sign(cosine) or 1.0)
            if motion.nq > 4:  # velocities in the moved axes
                parts.append(rotation_matrix(now[-4:]).T @ (now[:3] - then[:3]))
            parts.append(turn)
        at += motion.nq
    return np.concatenate(parts)


def _in_tree_order(joint: Joint, how: Assemble, is_reversed: bool) -> np.ndarray:
    """Weights of a joint's degrees of freedom in the order of its chain in the tree."""
    ends = np.cumsum([motion.nv for motion in joint.motions])
    blocks = np.split(how.of(joint), ends[:-1]) if len(ends) else []
    return np.concatenate([np.zeros(0), *(reversed(blocks) if is_reversed else blocks)])
