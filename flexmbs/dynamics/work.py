"""Workspace of one evaluation, allocated once per run, with the path variables that it reads.

Path variables are everything that a motion has beyond its state (q, s, z): whole turns of the cut
joints' angles, forces and modes of rigid contacts, the choice of independent coordinates, largest
pivots. They change only when steps are accepted, so that an evaluation is a function of state and
path. Theory: docs/theory.md, sections 14, 28 and 33.
"""

from collections import OrderedDict
from typing import NamedTuple

import math

import numpy as np

from flexmbs.algebra.works import Works
from flexmbs._jit.address import Entry, all_linked
from flexmbs._jit.record_layout import Layout, Mould, keep, layout, remember, word_count, words
from flexmbs.dynamics.contacts import contact_forces_at
from flexmbs.dynamics.couplers import joint_rows_at
from flexmbs.dynamics.cut_rows import cut_rows_at
from flexmbs.dynamics.equations import kinematics_at, residual_at
from flexmbs.dynamics.forces import frame_forces_at
from flexmbs.dynamics.joint_forces import joint_forces_at
from flexmbs.dynamics.force_blocks import force_blocks_at
from flexmbs.dynamics.kkt import kkt_at
from flexmbs.dynamics.law_calls import (
    connect_laws,
    make_law_workspace,
    most_arguments,
    most_constants,
    most_read,
    most_stored,
)
from flexmbs.dynamics.second_order import scratch_width
from flexmbs.law_kernel import KEPT
from flexmbs.system.records import (
    SharedCalls,
    OF_CHAIN,
    SPARE,
    BodyMotion,
    ConstraintValues,
    ContactState,
    CurrentFrames,
    CutMotion,
    Equations,
    Evaluation,
    Frames,
    Joints,
    Loads,
    Pairs,
    Path,
    RotorMotion,
    System,
    Work,
)


SYSTEMS = 12  # number of systems whose workspace templates are cached
IO = 48  # largest number of arguments or results of a user function without memory
# width of each row; 0 for a scalar
BODY = {
    "x": 3,
    "A": 9,
    "twist": 6,
    "acceleration": 6,
    "Rp": 9,
    "xp": 3,
    "Rj": 9,
    "xj": 3,
    "Rc": 9,
    "xc": 3,
    "wrench": 6,
    "through": 6,
    "applied": 6,
    "directions": 36,
}
POSES = {"Ra": 9, "xa": 3, "Rb": 9, "xb": 3, "R": 9, "x": 3}
CUT = {
    "eta": 6,
    "etad": 6,
    "directions": 36,
    "inverse": 36,
    "covectors": 36,
    "scratch": 72,
    "keeps": KEPT,
    "twist": 6,
    "twist_rate": 6,
}
ROTOR = {"load": 4}
CONTACT = {
    "gap": 0,
    "velocity": 3,
    "moving": 3,
    "force": 3,
    "turning": 3,
    "moment": 3,
    "beside": 0,
    "covectors": 18,
    "slope": 2,
}


def make_path(system: System, beta: np.ndarray | None = None) -> Path:
    """Initial path variables of a run.

    beta: coordinates (m, rad) of the cut joints at the start.
    """
    _, _, ns, nc, nz = (int(n) for n in system.layout)
    z, ncut, n = np.zeros, len(system.cuts.row), len(system.contacts.a)
    choice = np.concatenate([z(3), np.arange(nc), np.arange(ns)]).astype(np.int64)
    first = z(0) if beta is None else np.array(beta, float)
    return Path(
        beta=first,
        change=z((len(first), 2)),
        kept=z((ncut, KEPT)),
        covectors=z((ncut, 36)),
        pivot=z(ns + nc),
        left_out=z(ns + nc),
        force=z((n, 3)),
        impulse=z((n, 3)),
        mode=z(n, np.int64),
        slip=z((n, 2)),
        choice=choice,
        scale=np.ones(nc + ns),
        stage=z(1 + nz),
    )


class Moulded(NamedTuple):
    """Template of the workspaces of a system, their layout, and their number of words."""

    system: System
    mould: Mould[Work]
    layout: Layout
    n_words: int


_moulds: "OrderedDict[tuple[int, int], Moulded]" = OrderedDict()


def make_work(system: System, beta: np.ndarray | None = None) -> Work:
    """Allocate the workspace for evaluations of a system.

    beta: coordinates (m, rad) of the cut joints from which evaluations start.
    """
    start = np.zeros(0) if beta is None else np.asarray(beta, float)
    moulded = _moulded(remember(system), len(start))
    work = moulded.mould.copy()
    work.path.beta[:] = work.beta[: len(start)] = start
    for constant in (work.calls.values, work.memory, work.laws.calls, work.laws.words):
        constant.flags.writeable = False
    keep(work, moulded.layout, work.memory[moulded.n_words :].tobytes())
    return work


def _moulded(system: System, n_beta: int) -> Moulded:
    """Mould from which work arrays of a system are copied, cached for the last systems."""
    key = id(system), n_beta
    found = _moulds.get(key)
    if found is None or found.system is not system:
        work = unconnected(system, np.zeros(n_beta))
        found = Moulded(
            system,
            Mould(work, lambda first: _connect(system, first)),
            layout(work),
            word_count(system),
        )
        if all_linked():
            _moulds[key] = found
            while len(_moulds) > SYSTEMS:
                _moulds.popitem(last=False)
    return found


def unconnected(system: System, beta: np.ndarray | None = None) -> Work:
    """The workspace without the addresses of shared kernels and laws."""
    nb, _, ns, nc, nz = (int(n) for n in system.layout)
    F = system.bodies.m_ff.shape[2]
    n = 6 + F
    z, own = np.zeros, scratch_width(system.bodies)
    width = max(n, int(system.elimination.size.max(initial=0)))
    path = make_path(system, beta)
    cuts, couplings, contacts = system.cuts, system.couplings, system.contacts
    n_cuts, n_couplings, n_contacts = (len(each) for each in (cuts.row, couplings.a, contacts.a))
    to_root = np.full(n_contacts, -1)
    carrier = system.rotors.frame
    from_root = np.full(len(carrier), -1)
    zero = z(max(ns, nc, 3))
    # it serves as ṡ = 0 and λ = 0 in all evaluations
    zero.flags.writeable = False
    calls = SharedCalls()
    calls.values.fill(-1)
    work = Work(
        path=path,
        frames=_current_frames(system.frames),
        joints=_current_joints(system),
        calls=calls,
        memory=z(0, np.int64),
        motion=BodyMotion(**_zeros(nb, BODY)),
        force=z(ns),
        cut=CutMotion(
            pair=_pairs(cuts.frame_p, cuts.frame_c, cuts.top, np.arange(n_cuts)),
            **_zeros(n_cuts, CUT),
        ),
        beta=np.concatenate([path.beta, z(SPARE)]),
        gs=ConstraintValues(z(nc), z(nc), z(nc)),
        U=z(own),
        E=z((nb, n, n)),
        X=z((nb, 6, n)),
        M=z((nb, n, n)),
        B=z((4, width, width)),
        rows=z((6, ns)),
        values=z(int(system.elimination.n_values[0])),
        stiffness=z(ns + nc),
        r=z(ns),
        x=z(ns + nc),
        laws=make_law_workspace(system),
        io=z(
            (
                2,
                max(IO, most_arguments(system))
                + most_stored(system)
                + most_read(system)
                + most_constants(system),
            )
        ),
        power=Works(),
        status=z(4, np.int64),
        zero=zero,
        products=z((nb, own)),
        force_rate=z(nz),
        factor=z(len(system.couplers.terms.factor)),
        drive_rate=z(nc),
        slopes=z((n_couplings, 12, 6)),
        coupling=_pairs(
            couplings.a,
            couplings.b,
            couplings.top,
            n_cuts + len(system.couplers.row) + np.arange(n_couplings),
        ),
        joint_slope=z((len(system.forces.joint.body), 2)),
        joints_slope=z((*system.forces.joints.body.shape, 2)),
        joints_slopes=z((len(most := system.forces.joints.body), most.shape[1], 2 * most.shape[1])),
        joints_force=z(system.forces.joints.body.shape),
        loads=_loads(system),
        contact=ContactState(
            pair=_pairs(contacts.a, contacts.b, to_root, to_root),
            factor=z(len(contacts.terms.factor)),
            **_zeros(n_contacts, CONTACT),
        ),
        rotor=RotorMotion(
            pair=_pairs(carrier, carrier, from_root, from_root), **_zeros(len(carrier), ROTOR)
        ),
    )
    return work._replace(memory=np.zeros(word_count(system) + word_count(work), np.int64))


def _loads(system: System) -> Loads:
    """Joint loads and readings of forces before the first evaluation; reactions are NaN."""
    n, m = len(system.forces.joint.body), len(system.readings.body)
    read = np.zeros((m, 18))
    read[:, 0] = math.nan  # reactions are not known yet, as after `without_loads`
    return Loads(np.zeros((n, 8)), read, np.zeros((m, 36)), np.zeros((m, 36)))


def _zeros(n: int, widths: dict[str, int]) -> dict[str, np.ndarray]:
    """Zero arrays by name, n rows of the given widths."""
    return {name: np.zeros((n, width) if width else n) for name, width in widths.items()}


def _pairs(a: np.ndarray, b: np.ndarray, top: np.ndarray, node: np.ndarray) -> Pairs:
    """Work arrays for pairs (a, b) of relative poses."""
    node.flags.writeable = top.flags.writeable = False
    return Pairs(a, b, top, node, **_zeros(len(a), POSES))


def _current_frames(frames: Frames) -> CurrentFrames:
    """Frames with workspace for current shapes φ − K0 q_f, or with their constant shapes."""
    flat = frames.shape.reshape(len(frames.shape), -1)
    now = flat if len(frames.second) == 0 else np.zeros_like(flat)
    return CurrentFrames(
        **frames._replace(shape=flat)._asdict(), current=now, rate=np.zeros_like(flat)
    )


def _current_joints(system: System) -> Joints:
    """Joints with workspace for the poses and rates of prescribed motions.

    The joints themselves if nothing is prescribed.
    """
    joints = system.joints
    if len(system.prescribed.law) == 0:
        return joints
    return joints._replace(R=joints.R.copy(), x=joints.x.copy(), rate=joints.rate.copy())


def _connect(system: System, work: Work) -> None:
    """Store the addresses of the kernels, and the words of system and workspace.

    The kernels are those of laws and the shared ones.
    """
    connect_laws(system, work.laws)
    work.memory[:] = words(equations := Equations(system, work))
    one = Evaluation(work.r, work.r, work.r, work.r, work.r, work.r)
    for name, kernel in _needed_kernels(system).items():
        setattr(work.calls, name, kernel.address(equations, one, one))


def _needed_kernels(system: System) -> dict[str, Entry]:
    """Shared kernels, by name, that evaluations of a system need.

    Kernels for rare features are included only if the system has these.
    """
    forces, used = (
        system.forces,
        {"kinematics": kinematics_at, "residual": residual_at, "kkt": kkt_at},
    )
    if len(forces.joint.body) or len(forces.joints.n):
        used["joint_forces"] = joint_forces_at
    if len(forces.frame.coupling) or len(forces.line.coupling) or len(forces.pair.coupling):
        used["frame_forces"] = frame_forces_at
    if len(system.contacts.a):
        used["contact_forces"] = contact_forces_at
    if len(system.drives.row) or len(system.couplers.row):
        used["joint_rows"] = joint_rows_at
    if (system.cuts.kernel != OF_CHAIN).any():
        used["cut_rows"] = cut_rows_at
    if len(system.couplings.a) or len(system.contacts.a) or len(system.pieces_damping.size):
        used["force_blocks"] = force_blocks_at
    return used


def follow(work: Work) -> None:
    """Take the cut joint coordinates of the last evaluation as start of the next ones."""
    work.path.beta[:] = work.beta[:-SPARE]


def start_from(work: Work, beta: np.ndarray) -> None:
    """Set the cut joint coordinates from which the next evaluations start."""
    work.path.beta[:] = work.beta[: len(beta)] = beta
