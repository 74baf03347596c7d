"""Records of a compiled model: arrays with one row per instance, a named field for each quantity.

Bodies are numbered so that a parent precedes its children; −1 is the ground. Modal data are padded
to the largest number of modes F. Positions q and velocities s are ordered by body: joint
coordinates of the primary joint, then elastic coordinates. Compiled code is given a record by its
address and reads the fields where they are used (`flexmbs._jit.by_reference`).
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from flexmbs._jit.scalars import Scalars
from flexmbs.algebra.blocks import Elimination
from flexmbs.algebra.works import Works

R = TypeVar("R", bound=tuple[np.ndarray, ...])

# kinds of laws
LAW_CONSTANT, LAW_RAMP, LAW_SMOOTH, LAW_SINE, LAW_TABLE, LAW_FUNCTION = range(6)
# Contacts.geometry_kernel for a bounded coordinate, for gaps that are user functions of a pose or of
# coordinates, and for dry friction
OF_BOUND, OF_POSE, OF_COORDINATES, OF_FRICTION = -1, -2, -3, -4
# Cuts.kernel for rows that are those of the joint's chain, or user functions
OF_CHAIN, OF_FUNCTIONS = -1, -2

# rows of Bodies.linear: 3a+b for ∫x_a φ_b dm, MOMENT + a for ∫φ_a dm; of Bodies.quadratic: 3a+b for
# ∫φ_a φ_b dm, GYROSCOPIC + a for ∫φ×φ dm, which shape products and sums in the scratch of a body
# have too; c and Θ come BEHIND these
MOMENT, GYROSCOPIC, CENTRE, BEHIND = 9, 9, 12, 12
# columns of System.relations for functions: given in the parent's axes, laws of g and of (A | a₀)
# or −1, else constant rows
USER_PARENT, USER_POSITION, USER_VELOCITY, USER_CONSTANTS = range(4)
# of rows by a function: ROWS_ALONG, VALUES_ALONG, or the law of ġ along a motion
USER_ALONG = USER_CONSTANTS
ROWS_ALONG, VALUES_ALONG = -1, -2  # rates of the rows, or from differences of the values
SPARE = 8  # scratch behind Work.beta
# forces that depend on reactions: largest number of fixed-point iterations; relative change at which
# they have converged; size of a load that counts as divergence
LOADINGS, SETTLED, UNBOUNDED = 200, 1e-13, 1e60


class Tree(NamedTuple):
    """Tree of primary joints, (nb,) int64 each.

    Body i is attached by its primary joint to frame `frame_p` of its parent, at its own frame
    `frame_c`.
    """

    parent: np.ndarray
    frame_p: np.ndarray
    frame_c: np.ndarray
    joint: np.ndarray
    plain: np.ndarray  # 1: the velocities are the twist of the body itself
    nv: np.ndarray
    nf: np.ndarray
    q_at: np.ndarray
    s_at: np.ndarray
    qf_at: np.ndarray
    sf_at: np.ndarray


class Bodies(NamedTuple):
    """Inertia shape integrals and modal matrices of u = x + φ q + ψ z, body axes.

    The F columns are modes φ, then second-order fields ψ; in these columns the part of the modes
    that lies in ψ is removed, see `second_order_fields`.
    """

    mass: np.ndarray  # (nb,)
    first: np.ndarray  # (nb, 3) ∫x dm
    second: np.ndarray  # (nb, 9) ∫x xᵀ dm
    diagonal: np.ndarray  # (nb,) 1: m_ff, K_ff and D_ff are diagonal
    n_fields: np.ndarray  # (nb,) number of second-order fields
    # (nb,) index of the shape integrals; bodies with the same data share them, which saves cache
    integrals: np.ndarray
    linear: np.ndarray  # (n, 12 F) row by row
    quadratic: np.ndarray  # (n, F, 12 F)  [l, row F + k]
    m_ff: np.ndarray  # (nb, modes, modes)
    k_ff: np.ndarray
    d_ff: np.ndarray
    m_rest: np.ndarray  # m_ff without the part of φ in the second-order fields ψ
    curvature: np.ndarray  # (n, modes, R modes)  [l, r modes + k] C_r
    mixed: np.ndarray  # (n, R modes)  ∫ψ_r·φ_k dm


class PiecesDamping(NamedTuple):
    """Damping D = UᵀU over the elastic coordinates of all pieces of a divided body, (n,).

    It is added to the damping of each piece. The pieces are `System.paths` from ``path`` to
    ``path_end``, their coordinates one after the other.
    """

    path: np.ndarray
    path_end: np.ndarray
    size: np.ndarray  # number of these coordinates
    rows: np.ndarray  # number of rows of U
    at: np.ndarray  # (n, size) places of the coordinates in s
    U: np.ndarray  # (n, rows, size)
    D: np.ndarray  # (n, size, size)


class Frames(NamedTuple):
    """Frames on bodies.

    Position x + φ q − ½ qᵀ K0 q and orientation exp(ψ q − ½ qᵀ K0 q) R, with the geometric
    stiffness K0, if there is any, of unit forces and moments at the frame.
    """

    body: np.ndarray  # (nm,)
    elastic: np.ndarray  # 1: its shapes are not all zero
    nf: np.ndarray
    qf_at: np.ndarray
    sf_at: np.ndarray
    second_at: np.ndarray  # index in `second` or −1
    x: np.ndarray  # (nm, 3)
    R: np.ndarray  # (nm, 9)
    shape: np.ndarray  # (nm, 6, F)  φ, ψ
    second: np.ndarray  # (n, F, 6 F)  [l, row F + k] K0 of unit forces and moments


class CurrentFrames(NamedTuple):
    """The frames, with their shape functions at the last kinematics."""

    body: np.ndarray
    elastic: np.ndarray
    nf: np.ndarray
    qf_at: np.ndarray
    sf_at: np.ndarray
    second_at: np.ndarray
    x: np.ndarray
    R: np.ndarray
    shape: np.ndarray  # (nm, 6 F)
    second: np.ndarray
    current: np.ndarray  # (nm, 6 F)  φ − K0 q, ψ − K0 q of the last kinematics
    # (nm, 6 F)  −K0 q̇ of the last kinematics, of frames with second-order displacements
    rate: np.ndarray


class Joints(NamedTuple):
    """Chains of elementary motions from the parent's frame to the child's frame.

    Joint j has the motions `first` … `end` − 1.
    """

    first: np.ndarray  # (nj,)
    end: np.ndarray
    nv: np.ndarray
    nq: np.ndarray
    # (nmotions,) velocities of each motion (`flexmbs.model.motions`): 0, 1, 3 or 6
    motion_nv: np.ndarray
    unit_twist: np.ndarray  # (nmotions, 6) of motions with one velocity
    # (nmotions, 9) rotation of motions without coordinate; of prescribed ones that of the last
    # kinematics
    R: np.ndarray
    x: np.ndarray  # (nmotions, 3) and their displacement
    # (nmotions, 2) ḟ and f̈ of prescribed motions in the last kinematics, zero elsewhere
    rate: np.ndarray


class Cuts(NamedTuple):
    """Cut joints, (ncut,).

    Each has `closed` constrained directions, the first `positions` of them holonomic, then the rows
    of its driven coordinates.
    """

    joint: np.ndarray
    frame_p: np.ndarray
    frame_c: np.ndarray
    row: np.ndarray  # first constraint row
    closed: np.ndarray
    rows: np.ndarray
    beta_at: np.ndarray
    node: np.ndarray
    top: np.ndarray
    path: np.ndarray
    path_end: np.ndarray
    nv: np.ndarray
    constant: np.ndarray  # 1: C does not depend on the joint coordinates
    kernel: np.ndarray  # of the rows of a relation, or OF_CHAIN, OF_FUNCTIONS
    positions: np.ndarray
    kernel_index: np.ndarray  # among all kernels


class Drives(NamedTuple):
    """Driven coordinates with a constraint row, (nd,).

    Drive of the model, body of a primary joint or −1, cut joint or −1.
    """

    drive: np.ndarray
    body: np.ndarray
    cut: np.ndarray
    v: np.ndarray
    q: np.ndarray
    row: np.ndarray
    node: np.ndarray
    law: np.ndarray


class Prescribed(NamedTuple):
    """Coordinates of the tree that are functions of time, (np,).

    Drive, body of the primary joint, motion of `Joints`, law.
    """

    drive: np.ndarray
    body: np.ndarray
    motion: np.ndarray
    law: np.ndarray


class CouplerTerms(NamedTuple):
    """Terms a β of couplers, (n,).

    Coupler, body of a primary joint or −1, cut joint or −1, velocity, position, factor a, and for
    user functions the comparable change (1 rad or a length of the model).
    """

    coupler: np.ndarray
    body: np.ndarray
    cut: np.ndarray
    v: np.ndarray
    q: np.ndarray
    factor: np.ndarray
    size: np.ndarray


class Couplers(NamedTuple):
    """Linear equations between joint coordinates, Σ a β = b(t) + constant; (n,)."""

    row: np.ndarray
    node: np.ndarray
    law: np.ndarray
    first: np.ndarray  # of its terms
    end: np.ndarray
    path: np.ndarray  # bodies that move its coordinates
    path_end: np.ndarray
    function: np.ndarray  # law of g of a user function, or −1
    # law of (a | a₀) of a user function, −1 for constant factors
    row_function: np.ndarray
    constant: np.ndarray  # NaN if the initial position determines it
    terms: CouplerTerms


class Couplings(NamedTuple):
    """Pairs of frames with forces between them, (n,).

    Springs, bushings, joint forces on cut joints, contacts.
    """

    a: np.ndarray
    b: np.ndarray
    top: np.ndarray
    path: np.ndarray
    path_end: np.ndarray


class Rotors(NamedTuple):
    """Rotors geared to joint coordinates, (n,).

    Body of a primary joint or −1, cut joint or −1, its velocity; the carrier's frame. The bodies
    whose velocities enter are `System.paths` from ``path`` to ``path_end``.
    """

    body: np.ndarray
    cut: np.ndarray
    v: np.ndarray
    frame: np.ndarray
    reversed: np.ndarray  # 1: a primary joint that carries its declared parent in the tree
    path: np.ndarray
    path_end: np.ndarray
    reflected: np.ndarray  # n² I
    # (n, 3) n I a in the axes of the carrier's frame, zero without the gyroscopic part
    spin: np.ndarray


class Laws(NamedTuple):
    """Scalar laws: kind, index of the first parameter in `value`, address of a user function."""

    kind: np.ndarray  # (nl,)
    at: np.ndarray
    address: np.ndarray
    value: np.ndarray
    length: (
        np.ndarray
    )  # (1,) about the size of the model: scale of the steps of differences of user functions


class ForceLaws(NamedTuple):
    """Force laws, (n,).

    Kernel, the laws of time or user functions that it reads, and the numbers that it gives.
    """

    kernel: np.ndarray
    first: np.ndarray  # first law of time or user function
    n_given: np.ndarray  # number of these laws
    gives: np.ndarray  # number of values that each gives
    has_slopes: np.ndarray  # 1: the kernel gives slopes
    strongly_nonlinear: np.ndarray  # 1: the iteration matrix of Newton's method is renewed
    kernel_index: np.ndarray  # among all kernels
    state: np.ndarray  # first force state
    n_states: np.ndarray  # number of force states of the law
    n_held: np.ndarray  # number of further states with zero rates


class JointForces(NamedTuple):
    """Forces on joint coordinates.

    Body of a primary joint or −1, cut joint or −1, its velocity and position.
    """

    law: ForceLaws
    coupling: np.ndarray  # row of System.couplings or −1
    body: np.ndarray
    cut: np.ndarray
    v: np.ndarray
    q: np.ndarray
    # 1: its law takes the loads of the joint; 2: the same for a joint that the tree traverses from
    # child to parent
    loaded: np.ndarray
    value: np.ndarray  # (n, width) parameters of the laws


class JointsForces(NamedTuple):
    """Forces on several joint coordinates.

    n (n,): number of coordinates. combined (n,): 1 for a force on a linear combination. For each
    coordinate, its factor and the columns of `JointForces`, (n, most).
    """

    law: ForceLaws
    n: np.ndarray
    combined: np.ndarray
    factor: np.ndarray
    coupling: np.ndarray
    body: np.ndarray
    cut: np.ndarray
    v: np.ndarray
    q: np.ndarray
    value: np.ndarray  # (n, width) parameters of the laws


class FrameForces(NamedTuple):
    """Forces on a frame a, or between two frames a and b."""

    law: ForceLaws
    coupling: np.ndarray
    a: np.ndarray
    b: np.ndarray  # −1 for forces on one frame
    reading: np.ndarray  # first row of System.readings
    n_readings: np.ndarray  # number of its rows
    world_axes: np.ndarray  # 1: readings in world axes, 0: in those of the child's frame
    # (n, width) parameters of the laws; for forces along lines the unloaded length is last
    value: np.ndarray


class Forces(NamedTuple):
    """Applied forces by place.

    Joint coordinates, several of them, frames, lines between two frames, two frames.
    """

    joint: JointForces
    joints: JointsForces
    frame: FrameForces
    line: FrameForces
    pair: FrameForces


class Readings(NamedTuple):
    """Joints whose reactions are read by forces on frames, (n,).

    Body of a primary joint or −1, cut joint or −1.
    """

    body: np.ndarray
    cut: np.ndarray
    reversed: np.ndarray  # 1: the tree traverses the joint from child to parent
    frame: np.ndarray  # of the child


class Samplers(NamedTuple):
    """Discrete controllers of joint forces.

    Their force states are the output, the time to the next sample, the measured values (positions,
    then rates, latest first), the coming outputs (latest first), and the memory; (n,).
    """

    law: ForceLaws  # evaluated once per sample
    force: np.ndarray  # row of Forces.joint
    n_measured: np.ndarray  # number of stored positions, and of rates
    n_coming: np.ndarray  # number of stored outputs
    n_memory: np.ndarray
    period: np.ndarray
    phase: np.ndarray  # (n, 3) of the measurement, the sample and the output within a period
    begin: np.ndarray  # (n, width) memory at the start
    value: np.ndarray  # (n, width) parameters of the laws


class Contacts(NamedTuple):
    """Unilateral constraints g ≥ 0 between frames, and bounds of joint coordinates, (n,)."""

    geometry_kernel: np.ndarray  # or OF_BOUND, OF_POSE, OF_COORDINATES, OF_FRICTION
    a: np.ndarray
    b: np.ndarray
    law_kernel: np.ndarray  # of its force law, −1 for a rigid contact
    poisson: np.ndarray
    # bounded coordinate: body of a primary joint or −1, cut joint or −1, velocity and position
    body: np.ndarray
    cut: np.ndarray
    v: np.ndarray
    q: np.ndarray
    coupling: np.ndarray
    law_index: np.ndarray  # among all kernels
    geometry_index: np.ndarray
    # laws of the gap, its row and the rows of slip by user functions, or −1
    function: np.ndarray
    row_function: np.ndarray
    slip_function: np.ndarray
    first: np.ndarray  # first coordinate of a user function
    end: np.ndarray
    path: np.ndarray  # bodies that move these coordinates
    path_end: np.ndarray
    e: np.ndarray  # coefficients of restitution, normal and tangential, and of friction
    et: np.ndarray
    mu: np.ndarray
    # force laws: lever arms (m) of rolling and torsional friction, rate (rad/s) below which they are
    # smoothed
    rolling: np.ndarray
    torsional: np.ndarray
    turn_rate: np.ndarray
    sign: np.ndarray  # of a bounded coordinate
    bound: np.ndarray
    geometry: np.ndarray  # (n, width) parameters; of dry friction F_c, F_s, v_s
    law: np.ndarray  # (n, width) parameters
    terms: CouplerTerms  # coordinates of user functions; their factors are evaluated


class LawArguments(NamedTuple):
    """Arguments of the kernel of a law (`flexmbs.law_kernel.LawKernel`)."""

    p: np.ndarray
    u: np.ndarray
    x: np.ndarray
    out: np.ndarray


class LawWorkspace(NamedTuple):
    """Kernels of relations, force laws, contact laws and contact geometries, with their arguments.

    By their indices.
    """

    calls: np.ndarray  # (n,) int64 addresses
    words: np.ndarray  # (n, …) of their `LawArguments`
    u: np.ndarray
    x: np.ndarray
    out: np.ndarray


class Evaluation(NamedTuple):
    """State passed to the kernels, and the array for the residual of the equations.

    Entries that are not read are work.zero.
    """

    q: np.ndarray
    s: np.ndarray
    sd: np.ndarray
    lam: np.ndarray
    z: np.ndarray
    r: np.ndarray


class Directions(NamedTuple):
    """C, C⁺ and the constraint covectors of cut joints, up to six rows of six each."""

    directions: np.ndarray  # (ncut, 36)
    inverse: np.ndarray
    covectors: np.ndarray


class System(NamedTuple):
    """All records that a formalism reads; read-only."""

    tree: Tree
    bodies: Bodies
    frames: Frames
    joints: Joints
    cuts: Cuts
    constant: Directions  # of cut joints with constant directions
    relations: np.ndarray  # (ncut, width) parameters of relations
    drives: Drives
    prescribed: Prescribed
    couplers: Couplers
    laws: Laws
    forces: Forces
    readings: Readings
    samplers: Samplers
    contacts: Contacts
    couplings: Couplings
    rotors: Rotors
    pieces_damping: PiecesDamping
    # bodies that move a cut joint, a coupler, a coupling or a rotor, and pieces of divided bodies
    paths: np.ndarray
    elimination: Elimination
    gravity: np.ndarray  # (3,)
    layout: np.ndarray  # (5,) nb, nq, ns, nc, nz


class Path(NamedTuple):
    """Path variables: state besides t, q, s and the force states.

    Evaluations read them; only an accepted step writes them.
    """

    beta: np.ndarray  # coordinates of the cut joints, with their whole turns
    change: (
        np.ndarray
    )  # (nβ, 2) rate and length (s) of the step in which each coordinate changed most
    kept: np.ndarray  # (ncut, 3) values stored by relations at the last accepted step
    # (ncut, 36) rows of cut joints with position-dependent directions, likewise; zero before the
    # first step
    covectors: np.ndarray
    pivot: np.ndarray  # (ns + nc,) largest pivot so far of each constraint row
    # (ns + nc,) `LEFT_OUT` for constraint rows that are redundant everywhere, else 0
    left_out: np.ndarray
    # (ncontacts, 3) forces of rigid contacts, as the method of integration gives them
    force: np.ndarray
    impulse: np.ndarray  # (ncontacts, 3) of the last step
    mode: np.ndarray  # (ncontacts,) int64 of contact and friction
    slip: np.ndarray  # (ncontacts, 2) direction of slip
    choice: (
        np.ndarray
        # (3 + nc + ns,) int64: rank of G_d, coordinates named by the user, choices made; order of
        # rows, of columns
    )
    scale: np.ndarray  # (nc + ns,) factors of the rows and columns of that choice
    # (1 + nz,) weight a and base c of force states z = c + a ż in an implicit stage; zero between
    # steps
    stage: np.ndarray


class BodyMotion(NamedTuple):
    """Kinematics and forces of the bodies.

    Relative poses are (R, x), twists are in the own axes, accelerations include −gravity.
    """

    x: np.ndarray  # (nb, 3) position of the body frame in the world
    A: np.ndarray  # (nb, 9) its rotation matrix
    twist: np.ndarray  # (nb, 6)
    acceleration: np.ndarray  # (nb, 6) rate of the twist
    Rp: np.ndarray  # (nb, 9) parent's frame in the parent
    xp: np.ndarray  # (nb, 3)
    Rj: np.ndarray  # joint
    xj: np.ndarray
    Rc: np.ndarray  # own frame in the body
    xc: np.ndarray
    wrench: np.ndarray  # (nb, 6) inertia minus applied
    through: np.ndarray  # (nb, 6) through the primary joint at its frame, child axes
    applied: np.ndarray  # (nb, 6)
    directions: np.ndarray  # (nb, 36) six twists of the primary joint's velocities


class Pairs(NamedTuple):
    """Pairs of frames a and b: their poses (R, x) in their bodies, and the pose of b in a; (n,)."""

    a: np.ndarray  # index of the frame
    b: np.ndarray
    top: np.ndarray  # body above which the motions of both frames are the same, or −1
    node: np.ndarray  # in the Schur complement of the recursive formalism
    Ra: np.ndarray  # (n, 9)
    xa: np.ndarray  # (n, 3)
    Rb: np.ndarray
    xb: np.ndarray
    R: np.ndarray
    x: np.ndarray


class CutMotion(NamedTuple):
    """Kinematics of the cut joints.

    Velocities η and their rates, poses of the two frames, directions.
    """

    eta: np.ndarray  # (ncut, 6)
    etad: np.ndarray  # (ncut, 6)
    pair: Pairs
    directions: np.ndarray  # (ncut, 36) C, rows are the columns of theory
    inverse: np.ndarray  # (ncut, 36) C⁺
    covectors: np.ndarray  # (ncut, 36) constraint rows
    scratch: np.ndarray  # (ncut, 72) of their orthonormalization
    keeps: np.ndarray  # (ncut, 3) values that a relation stores if this state is accepted
    # (ncut, 6) of the child relative to the parent, child's axes, of relations and user functions
    twist: np.ndarray
    twist_rate: np.ndarray  # (ncut, 6)


class ContactState(NamedTuple):
    """Geometry and forces of the contacts."""

    gap: np.ndarray  # (n,)
    velocity: np.ndarray  # (n, 3) along normal and tangents
    moving: np.ndarray  # (n, 3) its part for s = 0, w = ∂g/∂t
    force: np.ndarray  # (n, 3) along normal and tangents
    turning: np.ndarray  # (n, 3) angular velocities about them
    moment: np.ndarray  # (n, 3) of rolling and torsional friction about them
    beside: np.ndarray  # (n,) 1 beside the edge
    pair: Pairs
    covectors: np.ndarray  # (n, 18) of normal and tangents on the relative twist, axes of frame b
    slope: np.ndarray  # (n, 2) −∂N/∂g, −∂N/∂ġ of laws
    factor: np.ndarray  # (nterms,) ∂g/∂x of the coordinates of user functions


class RotorMotion(NamedTuple):
    """Frames that carry the rotors, and the inertia forces of these."""

    pair: Pairs  # of the carrier's frame b alone
    # (n, 4) generalized force on the coordinate; moment on the carrier, axes of its frame
    load: np.ndarray


class Loads(NamedTuple):
    """Reactions on which forces depend."""

    joint: (
        np.ndarray
    )  # (njf, 8) joint loads of loaded joint forces, and those of the previous iteration
    # (nr, 18) constraint wrenches that are read: current, previous iteration, last sweep
    read: np.ndarray
    free: np.ndarray  # (nr, 36) scratch: C of a joint, rows are the columns of theory
    dual: np.ndarray  # (nr, 36) scratch: C⁺


class ConstraintValues(NamedTuple):
    """g, G s + γ̄ and G ṡ − γ of the constraint rows; (nc,)."""

    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray


class SharedCalls(Scalars):
    """Addresses of the kernels that all others share, −1 where a model does not need one."""

    kinematics: int
    residual: int
    kkt: int
    # of what few models have
    joint_forces: int
    frame_forces: int
    contact_forces: int
    joint_rows: int
    cut_rows: int
    force_blocks: int


class Work(NamedTuple):
    """Scratch of one evaluation, allocated once.

    No evaluation depends on what an earlier one left in it, except for ``path``, which is read.
    """

    path: Path
    frames: CurrentFrames
    joints: Joints  # with the prescribed motions of the last kinematics
    calls: SharedCalls
    memory: np.ndarray  # words of (system, work): form in which these kernels get the records
    motion: BodyMotion
    force: np.ndarray  # (ns,) applied generalized forces
    cut: CutMotion
    beta: np.ndarray  # coordinates of the cut joints of the last evaluation, and SPARE more
    gs: ConstraintValues
    # scratch of one body: shape products, sums of its gyroscopic forces, c and Θ, coordinates
    U: np.ndarray
    E: np.ndarray  # (nb, n, n), n = 6+F: (V, q̇_f) per own coordinates
    X: np.ndarray  # (nb, 6, n) body twist per the parent's (V, q̇_f)
    M: np.ndarray  # (nb, n, n) (composite) mass matrices
    B: np.ndarray  # (4, n, n)
    rows: np.ndarray  # (6, ns)
    values: np.ndarray  # KKT blocks
    stiffness: np.ndarray  # (ns + nc,)
    r: np.ndarray  # (ns,)
    x: np.ndarray  # (ns + nc,)
    io: np.ndarray  # (2, …) arguments and results of user functions
    laws: LawWorkspace
    power: Works
    status: np.ndarray  # (4,)
    zero: np.ndarray  # (ns,) zeros
    products: np.ndarray  # (nb, …) `U` of all bodies
    force_rate: np.ndarray  # (nz,) rates of force states
    factor: np.ndarray  # (nterms,) factors a of the couplers' coordinates
    drive_rate: np.ndarray  # (nc,) ḟ of the driven rows, ḃ of couplers, 0 elsewhere
    coupling: Pairs
    slopes: np.ndarray  # (ncouplings, 12, 6) stiffness and damping of couplings
    joint_slope: np.ndarray  # (njf, 2) −∂τ/∂β, −∂τ/∂η
    joints_slope: np.ndarray  # (n, most, 2) the same for forces on several coordinates
    # (n, most, 2 most) −∂τ_a/∂β_b, then −∂τ_a/∂η_b, of laws without slopes of their own
    joints_slopes: np.ndarray
    joints_force: np.ndarray  # (n, most) forces on several coordinates
    loads: Loads
    contact: ContactState
    rotor: RotorMotion


class Equations(NamedTuple):
    """A system with its scratch, whose addresses are passed to the shared kernels."""

    system: System
    work: Work


def depends_on_reactions(system: System) -> bool:
    """True if a force depends on the reaction of a joint."""
    return bool(system.forces.joint.loaded.any()) or len(system.readings.body) > 0


def held_states(system: System) -> np.ndarray:
    """Indices of the force states that discrete controllers hold constant."""
    law, chosen = system.forces.joint.law, system.samplers.force
    ends = law.state[chosen] + law.n_states[chosen] + law.n_held[chosen]
    return np.concatenate([np.zeros(0, np.int64), *map(np.arange, law.state[chosen], ends)]).astype(
        np.int64
    )


def rows_of(record: R) -> Iterator[R]:
    """Iterate over the rows of a record, each a record with the same fields."""
    return map(type(record)._make, zip(*record))  # type: ignore[attr-defined]


def some_rows(record: Any, chosen: Any) -> Any:
    """The record with the chosen rows of its arrays.

    Nested records are treated likewise.
    """
    return type(record)(
        *(some_rows(each, chosen) if isinstance(each, tuple) else each[chosen] for each in record)
    )


def copied(record: R) -> R:
    """The record with copies of its arrays."""
    made: R = type(record)(*(each.copy() for each in record))  # type: ignore[call-arg, arg-type]
    return made


def columns(kind: type[R], rows: Sequence[tuple[int, ...]]) -> R:
    """Record of integer arrays from its rows."""
    table = np.array(rows, np.int64).reshape(-1, len(kind._fields))  # type: ignore[attr-defined]
    made: R = kind(*np.ascontiguousarray(table.T))
    return made
