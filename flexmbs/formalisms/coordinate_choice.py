"""Independent and dependent coordinates: choice by complete pivoting on G, and the factor of G_d.

    G_d s_d = −G_i s_i − γ̄,   Ĝ_rc = l_r G_rc w_c,   w_c = M_cc^(−½) (× 10⁻² for elastic coordinates),   l_r = 1/|G_r w|,

with a regular G_d of as many rows as G has rank. Rows are scaled to unit length and columns by
their inertia, so that the choice does not depend on units or sizes; elastic coordinates become
dependent only if there are not enough rigid ones. Redundant rows are left out. A new choice is made
if a pivot of Ĝ_d falls below 1e-10, if an entry of X = Ĝ_d⁻¹Ĝ_i exceeds the limit, if a row that
was left out becomes independent again, |Ĝ_r,i − Ĝ_r,d X| > 1e-6, or if such a row is more than
twice one of those on which it depends, |Ĝ_r,d Ĝ_d⁻¹| > 2.

Overconstrained linkages have their rank only where the loops are closed. Near such positions, as at
the stages of a step, redundant rows are independent due to the error of the position. If the rank
at regular positions is known (`Compiled.rank`), no more rows are taken, and factorizations leave
out the others (`keep_rows`).

Theory: docs/theory.md, sections 27 and 28. Wehage and Haug (1982), J. Mech. Des. 104, 247; Golub
and Van Loan, Matrix Computations, the chapter on general linear systems (complete pivoting).
"""

from typing import NamedTuple

import numpy as np

from flexmbs._jit import called, part
from flexmbs._jit.address import address_of, call, memory_of, seldom_entry
from flexmbs._jit.record_layout import with_own_words
from flexmbs.algebra.blocks import LEFT_OUT
from flexmbs.algebra.pivoting import (
    complete_pivots,
    lu,
    lu_solve,
    lu_solve_rows,
    lu_solve_transposed,
)
from flexmbs.dynamics.dense import dense_constraints
from flexmbs.dynamics.equations import kinematics
from flexmbs.dynamics.kkt import kkt_blocks
from flexmbs.dynamics.work import unconnected
from flexmbs.formalisms.quasi_velocities import rows_in_quasi_velocities
from flexmbs.system.compile import Compiled, frozen
from flexmbs.system.names import velocity_names
from flexmbs.system.records import Equations, Evaluation

DEPENDENT = 1e-6  # of the first pivot: rows with smaller pivots depend on others
SINGULAR = 1e-10  # smaller pivots of G_d need another choice
# largest entry of G_d⁻¹G_i, in the scale of inertia, before the independent velocities are
# re-selected
LIMIT = 2.0
# largest component of a row that is left out along one that is taken, as LIMIT: it may grow without
# bound within a step
MOST_OF_ROW = 2.0
# length of the rows of drives, larger than any entry of others, so that they are taken first
PRESCRIBED = 2.0
ROUND_OFF = 1e-12  # m or rad per unit of a coordinate: rows not longer than this are round-off
VANISHING = 1e-5  # of the longest row: shorter rows are not scaled to unit length
ELASTIC = 1e-2  # weight of elastic relative to reference coordinates
REMEMBERED = 256  # number of choices stored for the notes

# indices into Choice.numbers
RANK, NAMED, MADE = range(3)  # rank of G_d, dependent coordinates the user left over, choices made


class CoordinateChoice(NamedTuple):
    """The choice of an evaluation, the factor of G_d, and the history of accepted choices.

    start and T are constants; time, rank and independent are the history. Theory, section 28.
    """

    calls: np.ndarray  # (1,) address of `choose_at`
    memory: np.ndarray  # words that describe this record
    start: np.ndarray  # (3 + nc + ns,) start of the first choice, in the form of `Path.choice`
    most: np.ndarray  # (1,) int64 rank of G at regular positions, at least
    numbers: np.ndarray  # (3,)
    row: np.ndarray  # (nc,) rows of G, those of G_d first
    column: np.ndarray  # (ns,) coordinates, dependent ones first
    length: np.ndarray  # (nc,) factor of each row
    weight: np.ndarray  # (ns,) factor of each column
    G: np.ndarray  # (nc, ns)
    A: np.ndarray  # (nc, ns) weighted G
    factor: np.ndarray  # (n, n), n = min(nc, ns): L and U of the weighted G_d
    order: np.ndarray  # (n,)
    X: np.ndarray  # (n, ns) weighted G_d⁻¹ G_i
    x: np.ndarray  # (n,)
    d: np.ndarray  # (ns,)
    # (ns, ns) s = T w for a choice among quasi-velocities w, else (0, 0)
    T: np.ndarray
    q: np.ndarray  # (nq,)
    s: np.ndarray  # (ns,)
    time: np.ndarray  # (REMEMBERED,)
    rank: np.ndarray  # (REMEMBERED,)
    independent: np.ndarray  # (REMEMBERED, ns) 1 for independent coordinates


def make_choice(compiled: Compiled, T: np.ndarray | None = None) -> CoordinateChoice:
    """Workspace for the choices of a run.

    Independent ones are chosen among the velocities s, or the quasi-velocities w, s = T w (theory,
    sections 28 and 34).
    """
    _, nq, ns, nc, _ = (int(n) for n in compiled.system.layout)
    most = min(nc, ns) if compiled.rank is None else compiled.rank
    choice = with_own_words(_choice((nq, ns, nc), most, T), lambda choice: choice)
    equations = Equations(compiled.system, unconnected(compiled.system))
    choice.calls[0] = choose_at.address(equations, choice, Evaluation(*[np.zeros(0)] * 6))
    frozen((choice.calls, choice.memory, choice.most))
    return choice


def make_row_choice(compiled: Compiled) -> CoordinateChoice:
    """Workspace for the choice of independent rows; empty if no rows are known to be redundant."""
    if redundant(compiled):
        choice = make_choice(compiled)
        frozen((choice.start, choice.T))
        return choice
    return frozen(_choice((0, 0, 0), 0, None))


def redundant(compiled: Compiled) -> bool:
    """True if some constraint rows are known to be redundant at regular positions."""
    return compiled.rank is not None and compiled.rank < compiled.n_constraints


def _choice(sizes: tuple[int, int, int], most: int, T: np.ndarray | None) -> CoordinateChoice:
    """Allocate the arrays of a coordinate choice for sizes (nq, ns, nc)."""
    nq, ns, nc = sizes
    n, z = min(nc, ns), np.zeros
    start = np.concatenate([z(3), np.arange(nc), np.arange(ns)]).astype(np.int64)
    return CoordinateChoice(
        calls=z(1, np.int64),
        memory=z(0, np.int64),
        start=start,
        most=np.array([most]),
        numbers=z(3, np.int64),
        row=np.arange(nc),
        column=np.arange(ns),
        length=z(nc),
        weight=np.ones(ns),
        G=z((nc, ns)),
        A=z((nc, ns)),
        factor=z((n, n)),
        order=z(n, np.int64),
        X=z((n, ns)),
        x=z(n),
        d=z(ns),
        T=z((0, 0)) if T is None else T,
        q=z(nq),
        s=z(ns),
        time=z(REMEMBERED),
        rank=z(REMEMBERED, np.int64),
        independent=z((REMEMBERED, ns), np.int8),
    )


def choice_notes(
    compiled: Compiled, choice: CoordinateChoice, names: tuple[str, ...] | None = None
) -> list[str]:
    """Note for each change of the independent coordinates during a run."""
    names = names or velocity_names(compiled)
    made = int(choice.numbers[MADE])
    lines = []
    for k in range(1, min(made, REMEMBERED)):
        before, after = choice.independent[k - 1], choice.independent[k]
        old, new = (
            ", ".join(names[c] for c in np.flatnonzero(a > b))
            for a, b in ((before, after), (after, before))
        )
        text = (
            f"{new} instead of {old}"
            if new and old
            else f"{new} too"
            if new
            else f"no longer {old}"
        )
        rows = " (a singular position: rows of the constraints depend on others there)"
        lost = choice.rank[k] < choice.rank[k - 1]
        lines.append(
            f"independent coordinates from t = {choice.time[k]:.6g} s: {text}{rows if lost else ''}"
        )
    if made > REMEMBERED:
        lines.append(f"independent coordinates: re-selected {made - REMEMBERED} more times")
    return lines


@part
def recall(path, choice):
    """Copy the coordinate choice of the last accepted step into the workspace."""
    nc, ns = choice.row.shape[0], choice.column.shape[0]
    # evaluations begin with the choice of the path: a rejected step may have changed this one
    made = path.choice[MADE] > 0
    for a in range(3):
        choice.numbers[a] = path.choice[a] if made else choice.start[a]
    for r in range(nc):
        choice.row[r] = path.choice[3 + r] if made else choice.start[3 + r]
        choice.length[r] = path.scale[r]
    for c in range(ns):
        choice.column[c] = path.choice[3 + nc + c] if made else choice.start[3 + nc + c]
        choice.weight[c] = path.scale[nc + c]


@called
def keep(choice, path):
    """Store the present coordinate choice in the path variables, for the next steps."""
    nc, ns = choice.row.shape[0], choice.column.shape[0]
    for a in range(3):
        path.choice[a] = choice.numbers[a]
    for r in range(nc):
        path.choice[3 + r] = choice.row[r]
        path.scale[r] = choice.length[r]
    for c in range(ns):
        path.choice[3 + nc + c] = choice.column[c]
        path.scale[nc + c] = choice.weight[c]


@called
def constraint_matrix(system, work, q, c_mass, G):
    """G (nc, ns) at the positions of the last kinematics.

    c_mass M is left in ``work.values``.
    """
    kkt_blocks(system, work, q, c_mass)
    dense_constraints(system.elimination, work.values, G)


@part
def chosen_constraints(system, work, choice, q, c_mass):
    """``choice.G`` at the positions of the last kinematics: G, or G T for quasi-velocities.

    Theory, section 34.
    """
    constraint_matrix(system, work, q, c_mass, choice.G)
    if choice.T.shape[0] > 0:
        rows_in_quasi_velocities(choice.T, choice.G, choice.d)


@called
def quasi_weights(T, weight, scratch):
    """Weights of quasi-velocities from those of the velocities: w_c ← 1/√Σ_a (T_ac/w_a)²."""
    n = T.shape[0]
    for a in range(n):
        scratch[a] = weight[a]
    for c in range(n):
        size = 0.0
        for a in range(n):
            size += (T[a, c] / scratch[a]) ** 2
        weight[c] = 1.0 / size**0.5


@called
def column_weights(system, work, q, weight):
    """w_c = 1/√M_cc (ns,), times `ELASTIC` for elastic coordinates (theory, section 28)."""
    e = system.elimination
    values = work.values
    kkt_blocks(system, work, q, 1.0)
    for i in range(system.tree.parent.shape[0]):
        n = e.size[i]
        for a in range(n):
            m = values[e.diagonal[i] + a * (n + 1)]
            weight[e.offset[i] + a] = 1.0 / m**0.5 if m > 0.0 else 1.0
        for k in range(system.tree.nf[i]):
            # elastic coordinates are small and stiff: as dependent ones they would amplify the
            # errors of the others
            weight[system.tree.sf_at[i] + k] *= ELASTIC


@called
def row_lengths(G, weight, length):
    """length (nc,) ← reciprocal norms l_r = 1/|G_r w| of the weighted constraint rows.

    Nearly vanishing rows remain short; 0 for rows that are round-off (theory, section 28).
    """
    longest = 0.0
    for r in range(G.shape[0]):
        size = 0.0
        entry = 0.0
        for c in range(G.shape[1]):
            entry = max(entry, abs(G[r, c]))
            size += (G[r, c] * weight[c]) ** 2
        length[r] = size**0.5 if entry > ROUND_OFF else 0.0
        longest = max(longest, length[r])
    for r in range(G.shape[0]):
        if length[r] > 0.0:
            # scaling a vanishing row to unit length would turn its round-off into a constraint
            length[r] = 1.0 / max(length[r], VANISHING * longest)


@called
def lengths_among_redundant(drives, choice):
    """l_r = 1/|G_r w| with the largest length that row r has had at any choice.

    With it a row that vanishes at a position is not chosen there.
    """
    before = choice.A[:, 0]  # scratch
    for r in range(choice.row.shape[0]):
        before[r] = choice.length[r] if choice.numbers[MADE] > 0 else 0.0
    row_lengths(choice.G, choice.weight, choice.length)
    for d in range(drives.row.shape[0]):
        choice.length[drives.row[d]] *= PRESCRIBED
    for r in range(choice.row.shape[0]):
        if before[r] > 0.0:
            choice.length[r] = (
                min(choice.length[r], before[r]) if choice.length[r] > 0.0 else before[r]
            )


@called
def weighted(choice):
    """Scaled constraint matrix Ĝ_rc = l_r G_rc w_c in the current order of coordinates."""
    for r in range(choice.G.shape[0]):
        choice.row[r] = r
        for c in range(choice.G.shape[1]):
            j = choice.column[c]
            choice.A[r, c] = choice.G[r, j] * choice.weight[j] * choice.length[r]


@called
def remember(choice, t):
    """Append the coordinate choice to the history if it differs from the last one."""
    made = choice.numbers[MADE]
    if made >= choice.time.shape[0]:
        choice.numbers[MADE] += 1
        return
    choice.time[made] = t
    choice.rank[made] = choice.numbers[RANK]
    differs = made == 0
    for c in range(choice.column.shape[0]):
        j = choice.column[c]
        choice.independent[made, j] = 1 if c >= choice.numbers[RANK] else 0
        if made > 0 and choice.independent[made, j] != choice.independent[made - 1, j]:
            differs = True
    if differs:
        choice.numbers[MADE] += 1


@called
def factor_dependent(choice):
    """Factor the dependent block Ĝ_d = L U of ``choice.G``; its smallest relative pivot.

    Returns the smallest |pivot|, infinite for rank 0.
    """
    n = choice.numbers[RANK]
    for a in range(n):
        r = choice.row[a]
        for b in range(n):
            j = choice.column[b]
            choice.factor[a, b] = choice.G[r, j] * choice.weight[j] * choice.length[r]
    return lu(choice.factor, n, choice.order)


@seldom_entry
def choose_at(equations, choice, here, /):
    """Kernel of `choose`; by address since it is long and rarely called."""
    numbers = choice.numbers
    column_weights(equations.system, equations.work, here.q, choice.weight)
    if choice.T.shape[0] > 0:
        quasi_weights(choice.T, choice.weight, choice.d)
    if choice.most[0] < choice.row.shape[0]:
        lengths_among_redundant(equations.system.drives, choice)
    else:
        row_lengths(choice.G, choice.weight, choice.length)
    ns = choice.column.shape[0]
    named = numbers[NAMED]
    # the user's names apply to the first choice only: later the pivots decide
    numbers[NAMED] = 0
    numbers[RANK] = -1
    if named > 0:
        weighted(choice)
        numbers[RANK] = complete_pivots(choice.A, named, choice.row, choice.column, DEPENDENT)
    # without names the rank is −1; with them G_d is singular here
    if numbers[RANK] < named:
        for c in range(ns):
            choice.column[c] = c
        weighted(choice)
        numbers[RANK] = complete_pivots(choice.A, ns, choice.row, choice.column, DEPENDENT)
    numbers[RANK] = min(numbers[RANK], choice.most[0])
    factor_dependent(choice)
    return 0


@part
def choose(system, work, choice, q):
    """Choose dependent coordinates and the rows of G_d by complete pivoting on Ĝ, and factor Ĝ_d.

    ``choice.G`` must be that of q. The first choice has the coordinates named by the user if G_d is
    regular with them. Theory, section 28.
    """
    here = address_of(Evaluation(q, work.r, work.r, work.r, work.r, work.r))
    call(
        choice.calls[0],
        memory_of(work.memory, Equations(system, work)),
        memory_of(choice.memory, choice),
        here,
        0.0,
        0.0,
        0.0,
    )


@called
def dependent_solution(choice, b, d):
    """Solve G_d d_d = −b for dependent entries of d (ns,); independent ones zero.

    For the δ of positions and corrections of velocities. Theory, section 27.
    """
    n = choice.numbers[RANK]
    x = choice.x
    for a in range(n):
        # Ĝ_d = diag(l) G_d diag(w): rows scale the right-hand side, columns the solution
        x[a] = -b[choice.row[a]] * choice.length[choice.row[a]]
    lu_solve(choice.factor, n, choice.order, x)
    for c in range(d.shape[0]):
        d[choice.column[c]] = x[c] * choice.weight[choice.column[c]] if c < n else 0.0


@called
def dependence(choice):
    """Compute X = Ĝ_d⁻¹ Ĝ_i (dependent per independent velocities); its largest entry.

    Returns its largest |entry| (theory, section 28).
    """
    n = choice.numbers[RANK]
    free = choice.column.shape[0] - n
    for a in range(n):
        r = choice.row[a]
        for b in range(free):
            j = choice.column[n + b]
            choice.X[a, b] = choice.G[r, j] * choice.weight[j] * choice.length[r]
    lu_solve_rows(choice.factor, n, choice.order, choice.X, free)
    size = 0.0
    for a in range(n):
        for b in range(free):
            size = max(size, abs(choice.X[a, b]))
    return size


@called
def remainder(choice):
    """Largest independent part of the constraint rows left out of the choice.

    Theory, section 28.
    """
    n = choice.numbers[RANK]
    free = choice.column.shape[0] - n
    size = 0.0
    for a in range(n, choice.row.shape[0]):
        r = choice.row[a]
        for b in range(free):
            choice.d[b] = choice.G[r, choice.column[n + b]] * choice.weight[choice.column[n + b]]
        for k in range(n):
            f = choice.G[r, choice.column[k]] * choice.weight[choice.column[k]]
            if f != 0.0:
                for b in range(free):
                    choice.d[b] -= f * choice.X[k, b]
        for b in range(free):
            size = max(size, abs(choice.d[b]) * choice.length[r])
    return size


@called
def row_dependence(choice):
    """Largest coefficient of the rows left out with respect to the rows of G_d.

    Theory, section 28.
    """
    n = choice.numbers[RANK]
    x = choice.x
    shortest = 1e300  # scale factor of the longest row
    for a in range(n):
        shortest = min(shortest, choice.length[choice.row[a]])
    size = 0.0
    for a in range(n, choice.row.shape[0]):
        r = choice.row[a]
        # a row that was round-off at the choice has no scale factor
        length = choice.length[r] if choice.length[r] > 0.0 else shortest
        for k in range(n):
            x[k] = choice.G[r, choice.column[k]] * choice.weight[choice.column[k]] * length
        lu_solve_transposed(choice.factor, n, choice.order, x)
        for k in range(n):
            size = max(size, abs(x[k]))
    return size


@called
def degraded(choice, limit):
    """True if the coordinate choice is badly conditioned and a new one is needed.

    G_d is (nearly) singular, an entry of X exceeds the limit, or rows that were left out have
    become independent or much longer than those of G_d. Theory, section 28.
    """
    if choice.numbers[MADE] == 0 or not factor_dependent(choice) > SINGULAR:
        return True
    if dependence(choice) > limit:
        return True
    if choice.numbers[RANK] < choice.most[0]:
        return remainder(choice) > DEPENDENT
    return row_dependence(choice) > MOST_OF_ROW


@called
def maintain(system, work, choice, q, limit):
    """Make a new choice at q if the present one is unsuitable, and factor Ĝ_d.

    The kinematics of q must be up to date. Returns True if a new choice was made.
    """
    chosen_constraints(system, work, choice, q, 0.0)
    if degraded(choice, limit):
        choose(system, work, choice, q)
        return True
    return False


@called
def settle_choice(system, work, choice, t, q, limit):
    """Store the choice for the next step in the path variables.

    The kinematics of q must be up to date.
    """
    recall(work.path, choice)
    if maintain(system, work, choice, q, limit):
        remember(choice, t)
    keep(choice, work.path)
    leave_out(work, choice)


@part
def leave_out(work, choice):
    """Mark the rows that are redundant at regular positions in the path variables.

    At a singular position the previous marks are kept.
    """
    n, nc, ns = choice.numbers[RANK], choice.row.shape[0], choice.column.shape[0]
    left_out, changed = work.path.left_out, False
    if n == choice.most[0] and n < nc:
        for a in range(nc):
            value = 0.0 if a < n else LEFT_OUT
            changed = changed or left_out[ns + choice.row[a]] != value
            left_out[ns + choice.row[a]] = value
    if changed:  # pivots of the previous rows cannot be compared with those of the new ones
        for a in range(ns, ns + nc):
            work.path.pivot[a] = work.stiffness[a] = 0.0


@part
def keep_rows(system, work, choice, t, q, s):
    """Choose the independent rows for the next step if some rows are redundant."""
    if choice.row.shape[0] > 0:
        kinematics(system, work, t, q, s, work.zero)
        settle_choice(system, work, choice, t, q, LIMIT)
