"""Flat records of a compiled model: few contiguous arrays by topic, one row per instance, columns by name.

Bodies are numbered so that a parent precedes its children; −1 is the ground. Modal data are padded to the largest number of
modes F. Positions q and velocities s are ordered by body: joint coordinates of the primary joint, then elastic coordinates.
Kernels take the record of their topic, not the whole system: every array that crosses a call costs compile time.
"""

from typing import NamedTuple

import numpy as np

from flexmbs.algebra.blocks import Elimination

# elementary motions of a joint
ROTATE, SLIDE, SCREW, BALL, FREE, FIXED_TRANSLATION = range(6)
# kinds of laws
LAW_CONSTANT, LAW_RAMP, LAW_SMOOTH, LAW_SINE, LAW_TABLE, LAW_FUNCTION = range(6)

# columns of System.tree: body i hangs on FRAME_P by its primary JOINT at its own FRAME_C; PLAIN: its velocities are the body
# twist itself
PARENT, FRAME_P, FRAME_C, JOINT, PLAIN, NV, NF, Q_AT, S_AT, QF_AT, SF_AT = range(11)
# columns of Bodies.rigid
MASS, FIRST, SECOND, DIAGONAL_MODES, FIELDS = 0, 1, 4, 13, 14  # diagonal: m_ff, K_ff, D_ff; number of second-order fields
RIGID_WIDTH = 15
# rows of Bodies.linear: 3a+b for ∫x_a φ_b dm, MOMENT + a for ∫φ_a dm; of Bodies.quadratic: 3a+b for ∫φ_a φ_b dm, GYROSCOPIC + a
# for ∫φ×φ dm, which shape products and sums in the scratch of a body have too; c and Θ come BEHIND these
MOMENT, GYROSCOPIC, CENTRE, BEHIND = 9, 9, 12, 12
# Bodies.matrices; the last: m_ff without the part that second-order fields have
M_FF, K_FF, D_FF, M_REST = range(4)
# columns of Frames.info and Frames.place
F_BODY, F_ELASTIC, F_NF, F_QF, F_SF, F_SECOND = range(6)  # the last: place in Frames.second or −1
F_X, F_R = 0, 3
# columns of Joints.chain and Joints.value
CHAIN_AT, CHAIN_END, CHAIN_NV, CHAIN_NQ = range(4)
AXIS, PITCH, FIXED_ROTATION = 0, 3, 4
# columns of System.cuts; rows are the constrained directions (CLOSED of them), then the driven coordinates; CONSTANT: C does not
# depend on the joint's coordinates; POSITIONS: how many of the CLOSED rows, the first ones, are holonomic
CUT_JOINT, CUT_P, CUT_C, CUT_ROW, CUT_CLOSED, CUT_ROWS, CUT_BETA, CUT_NODE, CUT_TOP, CUT_PATH, CUT_PATH_END = range(11)
# CUT_KERNEL: of the rows of a relation, or OF_CHAIN, OF_FUNCTIONS; CUT_PLACE: its place among all kernels
CUT_NV, CUT_CONSTANT, CUT_KERNEL, CUT_POSITIONS, CUT_PLACE = range(11, 16)
OF_CHAIN, OF_FUNCTIONS = -1, -2  # rows of the joint's chain, of functions of the user
# columns of System.relations for functions: told in the parent's axes, laws of g and of (A | a₀) or −1, else constant rows
USER_PARENT, USER_POSITION, USER_VELOCITY, USER_CONSTANTS = range(4)
USER_ALONG = USER_CONSTANTS  # of rows by a function: ROWS_ALONG, VALUES_ALONG, or the law of ġ along a motion
ROWS_ALONG, VALUES_ALONG = -1, -2  # a rate is that of the rows, or by differences of the values
# columns of System.drives: body of a driven primary joint or −1, cut joint or −1
DRIVE_BODY, DRIVE_CUT, DRIVE_V, DRIVE_Q, DRIVE_ROW, DRIVE_NODE, DRIVE_LAW = range(7)
# columns of Laws.info
LAW_KIND, LAW_AT, LAW_ADDRESS = range(3)
# first columns of the rows of all forces: number of the law's kernel; its first law of time or function of the user, how many
# they are and how many numbers each gives; 1 if the kernel gives slopes; 1 if it is strongly nonlinear: then Newton's matrix is
# renewed; place among all kernels; row of System.couplings or −1
LAW_KERNEL, LAW_FIRST, LAW_COUNT, LAW_GIVES, HAS_SLOPES, STRONGLY_NONLINEAR, LAW_PLACE, COUPLING = range(8)
# next ones of Forces.joint: body of a primary joint or −1, cut joint or −1, place of velocity and position, force state or −1
JF_BODY, JF_CUT, JF_V, JF_Q, JF_STATE = range(8, 13)
END_A, END_B = 8, 9  # of the other forces: their frames
# columns of Contacts.info: kernel of the geometry between frames or −1 where a coordinate is bounded; frames of the contact;
# kernel of the law of its force or −1 where it is rigid; Poisson's law; place of a bounded coordinate: body of a primary joint
# or −1, cut joint or −1, velocity and position; coupling of the law; places of law and geometry among all kernels
CO_SHAPE, CO_A, CO_B, CO_LAW, CO_POISSON, CO_BODY, CO_CUT, CO_V, CO_Q, CO_COUPLING, CO_PLACE, CO_SHAPE_PLACE = range(12)
# columns of Contacts.value: coefficients of restitution and friction, sign and bound of a bounded coordinate
CO_E, CO_ET, CO_MU, CO_SIGN, CO_BOUND = range(5)
CO_WIDTH = 5
# columns of Work.contact: gap; velocities along normal and tangents; force along them; 1 beside an edge; poses of the frames in
# their bodies, relative pose; covectors of normal and tangents on the relative twist, axes of frame b
GAP, GAP_RATE, GAP_FORCE, BESIDE, CO_RA, CO_XA, CO_RB, CO_XB, CO_RR, CO_XR, COVECTORS = 0, 1, 4, 7, 8, 17, 20, 29, 32, 41, 44
CONTACT_WIDTH = 62

# columns of System.couplings
PAIR_A, PAIR_B, PAIR_TOP, PAIR_PATH, PAIR_PATH_END = range(5)

# columns of Work.motion; relative poses are (R, x), twists in own axes, accelerations include −gravity
POS, ROT, VEL, ACC = 0, 3, 12, 18  # world position and rotation, twist and its rate
RP, XP, RJ, XJ, RC, XC = 24, 33, 36, 45, 48, 57  # parent's frame in the parent, joint, own frame in the body
WRENCH, THROUGH, APPLIED = 60, 66, 72  # inertia minus applied; through the primary joint at its frame, child axes; applied
FREE_DIRECTIONS = 78  # six twists of the primary joint's velocities
MOTION_WIDTH = 114
# columns of Work.cut
ETA, CUT_RA, CUT_XA, CUT_RB, CUT_XB, CUT_RR, CUT_XR = 0, 6, 15, 18, 27, 30, 39
DIRECTIONS, INVERSE, CLOSED_ROWS = 42, 78, 114  # C, C⁺ and the constraint covectors, six of 6 each
KEEPS = DIRECTIONS  # of relations: what they keep of this state if it is accepted
CUT_WIDTH = 150
SPARE = 8  # scratch places behind Work.beta
# places in Work.calls
KINEMATICS, RESIDUAL, KKT, N_CALLS = range(4)
# rows of Work.gs
G_POSITION, G_VELOCITY, G_ACCELERATION = range(3)
# places in Work.power
POWER_FORCES, POWER_LOSS, POWER_DRIVES = range(3)


class Bodies(NamedTuple):
    """Inertia shape integrals and modal matrices (docs/theory.md, sections 4, 5 and 8) of u = x + φ q + ψ z, body axes.

    Columns F: modes φ, then second-order fields ψ; beside these the modes φ are without their part in ψ, see `second_order`.
    """

    rigid: np.ndarray  # (nb, 15) mass, ∫x dm, ∫x xᵀ dm, diagonal modal matrices, number of fields
    linear: np.ndarray  # (nb, 12 F) row by row
    quadratic: np.ndarray  # (nb, F, 12 F)  [l, row F + k]
    matrices: np.ndarray  # (nb, 4, n, n)
    curvature: np.ndarray  # (nb, n, R n)  [l, r n + k] C_r
    mixed: np.ndarray  # (nb, R n)  ∫ψ_r·φ_k dm


class Frames(NamedTuple):
    """Frames on bodies: position x + φ q − ½ qᵀ K0 q, orientation exp(ψ q − ½ qᵀ K0 q) R; K0 where geometric stiffness stands."""

    info: np.ndarray  # (nm, 6)
    place: np.ndarray  # (nm, 12)
    shape: np.ndarray  # (nm, 6, F)  φ, ψ
    second: np.ndarray  # (n, F, 6 F)  [l, row F + k] K0 of unit forces and moments


class FramesNow(NamedTuple):
    """The frames with their shapes at hand."""

    info: np.ndarray
    place: np.ndarray
    shape: np.ndarray  # (nm, 6 F)
    second: np.ndarray
    now: np.ndarray  # (nm, 6 F)  φ − K0 q, ψ − K0 q of the last kinematics
    rate: np.ndarray  # (nm, 6 F)  −K0 q̇ of the last kinematics, of frames with second-order displacements


class Joints(NamedTuple):
    """Chains of elementary motions from the parent's frame to the child's frame."""

    chain: np.ndarray  # (nj, 4)
    code: np.ndarray  # (nmotions,)
    value: np.ndarray  # (nmotions, 13) axis, pitch, constant turn


class Laws(NamedTuple):
    """Scalar laws: kind, place of parameters, address of a user function."""

    info: np.ndarray  # (nl, 3)
    value: np.ndarray


class ForceRows(NamedTuple):
    """Forces that act at places of one kind."""

    info: np.ndarray  # (n, 8 and more)
    value: np.ndarray  # (n, width) parameters of the laws; of forces along lines last the length without load


class Forces(NamedTuple):
    """Applied forces by the place where they act: freedoms of joints, frames, lines between two frames, two frames."""

    joint: ForceRows
    frame: ForceRows
    line: ForceRows
    pair: ForceRows


class Contacts(NamedTuple):
    """Unilateral constraints g ≥ 0 between frames, and bounds of joint coordinates."""

    info: np.ndarray  # (n, 12)
    value: np.ndarray  # (n, 5)
    shape: np.ndarray  # (n, width) parameters of the geometries
    law: np.ndarray  # (n, width) parameters of the laws of force


class LawArguments(NamedTuple):
    """What the kernel of a law is given (`flexmbs.law_kernel.LawKernel`)."""

    p: np.ndarray
    u: np.ndarray
    x: np.ndarray
    out: np.ndarray


class LawWorkspace(NamedTuple):
    """Kernels of relations, of the laws of forces and contacts and of the geometries of these by their indices, and workspace for
    their arguments and results."""

    calls: np.ndarray  # (n,) int64 addresses
    words: np.ndarray  # (n, …) of their `LawArguments`
    u: np.ndarray
    x: np.ndarray
    out: np.ndarray


class Evaluation(NamedTuple):
    """The state of a call for the residual, and where it goes."""

    q: np.ndarray
    s: np.ndarray
    sd: np.ndarray
    lam: np.ndarray
    z: np.ndarray
    r: np.ndarray


class System(NamedTuple):
    """Everything a formalism reads. It never changes: its arrays cannot be written to."""

    tree: np.ndarray  # (nb, 11)
    bodies: Bodies
    frames: Frames
    joints: Joints
    cuts: np.ndarray  # (ncut, 16)
    directions: np.ndarray  # (ncut, 108) C, C⁺ and the constraint covectors of cut joints where they are constant
    relations: np.ndarray  # (ncut, width) parameters of relations
    drives: np.ndarray  # (nd, 7)
    laws: Laws
    forces: Forces
    contacts: Contacts
    couplings: np.ndarray  # (n, 5) pairs of frames with forces between: springs, bushings, joint forces on cut joints, contacts
    paths: np.ndarray  # bodies that move a cut joint or a coupling
    elimination: Elimination
    gravity: np.ndarray  # (3,)
    layout: np.ndarray  # (5,) nb, nq, ns, nc, nz


class Path(NamedTuple):
    """What the future depends on besides t, q, s and the force states: evaluations read it, only an accepted step writes it."""

    beta: np.ndarray  # coordinates of the cut joints, with their whole turns
    kept: np.ndarray  # (ncut, 3) what relations kept at the last accepted step
    pivot: np.ndarray  # (ns + nc,) largest pivot so far of each constraint row
    force: np.ndarray  # (ncontacts, 3) forces of rigid contacts, as the method of integration gives them
    impulse: np.ndarray  # (ncontacts, 3) of the last step
    mode: np.ndarray  # (ncontacts,) int64 of contact and friction
    slip: np.ndarray  # (ncontacts, 2) direction of slip
    choice: (
        np.ndarray
    )  # (3 + nc + ns,) int64: rank of G_d, coordinates named by the user, choices made; order of rows, of columns
    scale: np.ndarray  # (nc + ns,) factors of the rows and columns of that choice


class Work(NamedTuple):
    """Scratch of one evaluation, allocated once: nothing in it matters to the next one, but ``path``, which it reads."""

    path: Path
    frames: FramesNow
    calls: np.ndarray  # (3,) int64 addresses of the kernels that all others share
    memory: np.ndarray  # words of (system, work): how those are given the records
    motion: np.ndarray  # (nb, MOTION_WIDTH)
    force: np.ndarray  # (ns,) applied generalized forces
    cut: np.ndarray  # (ncut, CUT_WIDTH)
    beta: np.ndarray  # coordinates of the cut joints of the last evaluation, and 8 spare places
    gs: np.ndarray  # (3, nc) g, G s + γ̄, G ṡ − γ
    U: np.ndarray  # scratch of one body: shape products, sums of its gyroscopic forces, c and Θ, coordinates
    E: np.ndarray  # (nb, n, n), n = 6+F: (V, q̇_f) per own coordinates
    X: np.ndarray  # (nb, 6, n) body twist per the parent's (V, q̇_f)
    M: np.ndarray  # (nb, n, n) (composite) mass matrices
    B: np.ndarray  # (4, n, n)
    rows: np.ndarray  # (6, ns)
    values: np.ndarray  # KKT blocks
    stiffness: np.ndarray  # (ns + nc,)
    r: np.ndarray  # (ns,)
    x: np.ndarray  # (ns + nc,)
    io: np.ndarray  # (2, 48) arguments and results of user functions
    laws: LawWorkspace
    power: np.ndarray  # (3,) of forces, dissipation, drives
    status: np.ndarray  # (4,)
    zero: np.ndarray  # (ns,) zeros
    products: np.ndarray  # (nb, …) the same of all bodies
    force_rate: np.ndarray  # (nz,) rates of force states
    drive_rate: np.ndarray  # (nc,) ḟ of the driven rows, 0 elsewhere
    slopes: np.ndarray  # (ncouplings, 12, 6) stiffness and damping of couplings
    joint_slope: np.ndarray  # (njf, 2) −∂τ/∂β, −∂τ/∂η
    contact: np.ndarray  # (ncontacts, CONTACT_WIDTH)


class Equations(NamedTuple):
    """A system with its scratch: what the shared kernels are given by address."""

    system: System
    work: Work
