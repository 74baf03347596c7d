"""Verification of states without integration: equilibria, driven motions, inverse dynamics.

The model in absolute coordinates has the same motion, and hence the same virtual power of inertia
and applied forces along any velocities ṽ of the tree,

    ṽᵀ (M ṡ − k) = ṽ'ᵀ (M' ṡ' − k'),

with ' in absolute coordinates. If only constraints balance these forces, λ' of min |M' ṡ' − k' −
G'ᵀλ'| leaves no residual, and its reactions are those of the joints. Forces that depend on
reactions are those of ṡ and λ of the state, in both coordinates. Forces that change by as much
under a displacement by round-off count as zero.
"""

from typing import NamedTuple

import numpy as np

from flexmbs.audit.audit_samples import largest_row, loads_at
from flexmbs.audit.cross_check import LIMITS, REMEDY, WEIGHTLESS
from flexmbs.audit.force_differences import joint_loads, largest_load, load_differences
from flexmbs.audit.range_of_laws import range_of_laws
from flexmbs.audit.reduction import reduction
from flexmbs.diagnosis.rank import displaced
from flexmbs.dynamics.dense import Terms, terms
from flexmbs.dynamics.work import make_work, start_from
from flexmbs.errors import shown
from flexmbs.initial.initial_state import InitialState, converted
from flexmbs.results.joints import joint_histories, start_coordinates
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import PASS, WARN, Check, graded
from flexmbs.system.compile import Compiled, compile_model
from flexmbs.system.records import SPARE, Loads, copied
from flexmbs.system.step_scales import displacement_sizes, model_size
from flexmbs.system.trajectory import RunInfo, Trajectory
from flexmbs.time_stepping.records import facts, make_outputs

MOST = 16  # states, beside those of the largest accelerations and multipliers
ROUND_OFF = 1e-9  # rad or of the size of the model: displacements below which equilibria are found
PRELOAD = 1e4  # times their forces: smaller joint forces are residuals of others in balance


def audited_states(
    solution: SolutionData, *, balanced: bool, deformed: bool = True, shape: bool = False
) -> list[Check]:
    """Checks of the states of statics, kinematics and similar analyses.

    balanced: nothing but constraints balances inertia and applied forces.  deformed: the elastic
    coordinates are those of the loads.  shape: the result depends on displacements as on the shape.
    """
    try:
        mine = _few_outputs(solution)
        found = reduction(mine, shape=shape) if deformed else []
        return range_of_laws(solution) + found + _second_opinion(mine, balanced=balanced)
    except Exception as error:  # a user function that is undefined there
        text = f"was not possible: {type(error).__name__}: {shown(str(error))}"
        return [Check("Second opinion", WARN, text)]


def _few_outputs(solution: SolutionData) -> SolutionData:
    """Solution reduced to at most `MOST` outputs, including extremes.

    The extremes are the largest accelerations and multipliers.
    """
    count = len(solution.t)
    extreme = [
        int(np.abs(each).max(axis=1, initial=0.0).argmax()) for each in (solution.sd, solution.lam)
    ]
    even = np.linspace(0, count - 1, min(count, MOST)).round().astype(int)
    pick = np.unique([*even, *extreme])
    parts = (each[pick] if len(each) == count else each for each in solution.trajectory)
    info = RunInfo(redundant=solution.run.redundant)
    return SolutionData(solution.compiled, Trajectory(*parts), {}, info)


class _Motion(NamedTuple):
    """Velocities and accelerations (nt, ns') in absolute coordinates."""

    s: np.ndarray
    sd: np.ndarray


def _second_opinion(mine: SolutionData, *, balanced: bool) -> list[Check]:
    """Differences of virtual powers, residuals and reactions in absolute coordinates.

    None for absolute coordinates.
    """
    source = mine.compiled
    if source.topology.coordinates != "joint":
        return []
    target = compile_model(source.declared, "absolute")
    target = target.with_initial_constants(source.initial_constants)
    rng, shares = np.random.default_rng(0), np.zeros((len(mine.t), 2))
    sizes = displacement_sizes(source)
    speed = max(1.0, float(np.abs(mine.s).max(initial=0.0)))
    virtual = speed * sizes * rng.uniform(-1.0, 1.0, mine.s.shape)
    along = mine.trajectory._replace(s=mine.s + virtual)
    motion = _motion(mine, target)
    directions = _motion(SolutionData(source, along, {}, mine.run), target).s - motion.s
    out = Trajectory(*make_outputs(mine.t, facts(target), len(start_coordinates(target))))
    force = 0.0
    for k, t in enumerate(mine.t):
        own, start, loads = _absolute(mine, target, k)
        other = _Equations(target, start, float(t), motion.s[k], motion.sd[k], loads)
        shares[k, 0] = other.power_share(own, mine.sd[k], virtual[k], directions[k])
        if balanced:
            lam, shares[k, 1], least = other.balance()
            force = max(force, least)
            out.q[k], out.s[k], out.sd[k], out.z[k] = start.q, motion.s[k], motion.sd[k], start.z
            out.lam[k], out.beta[k] = lam, start.beta
    reactions = _reactions(mine, target, out, force) if balanced else 0.0
    return _checks(mine, shares.max(axis=1), reactions)


def _checks(mine: SolutionData, shares: np.ndarray, reactions: float) -> list[Check]:
    """Checks of the deviations of equations and of reactions in absolute coordinates."""
    k = int(np.nan_to_num(shares, nan=np.inf).argmax())
    text = f"{len(mine.t)} state{'s' * (len(mine.t) > 1)}: the equations in absolute coordinates"
    status, other = graded(float(shares[k]), LIMITS), graded(reactions, LIMITS)
    place = f" at t = {mine.t[k]:.4g} s" if status != PASS else ""
    remedy = "" if status == PASS else REMEDY
    found = f"{text} differ by {shares[k]:.1e} of the largest force{place}"
    checks = [Check("Second opinion", status, found, remedy)]
    if other != PASS:
        found = f"{text} differ by {reactions:.1e} of the largest force of a joint"
        checks.append(Check("Reactions", other, found, REMEDY))
    return checks


def _motion(solution: SolutionData, target: Compiled) -> _Motion:
    """Velocities and accelerations of a solution in absolute coordinates.

    s = (Aᵀv, Aᵀω), ṡ = (Aᵀ(a − ω × v), Aᵀω̇) of free bodies, (v, a) of points, s and ṡ of others.
    """
    tree, own = target.system.tree, solution.compiled.system.tree
    s, sd = np.zeros((2, len(solution.t), int(target.system.layout[2])))
    for i, primary in enumerate(target.topology.tree):
        b, nf = solution.compiled.topology.numbers[primary.body], int(tree.nf[i])
        elastic = slice(int(tree.sf_at[i]), int(tree.sf_at[i]) + nf)
        for to, given in ((s, solution.s), (sd, solution.sd)):
            to[:, elastic] = given[:, own.sf_at[b] :][:, :nf]
        n = sum(motion.nv for motion in primary.motions)
        place = slice(int(tree.s_at[i]), int(tree.s_at[i]) + n)
        if primary.joint is not None:
            s[:, place], sd[:, place] = (
                x[:, own.s_at[b] :][:, :n] for x in (solution.s, solution.sd)
            )
            continue
        body = solution.body(primary.body)
        v, w, a, wd = (
            body.velocity,
            body.angular_velocity,
            body.acceleration,
            body.angular_acceleration,
        )
        if n == 3:
            s[:, place], sd[:, place] = v, a
        else:
            parts = (v, w), (a - np.cross(w, v), wd)
            s[:, place], sd[:, place] = (
                np.hstack([np.einsum("tji,tj->ti", body.rotation, x) for x in part])
                for part in parts
            )
    return _Motion(s, sd)


def _absolute(mine: SolutionData, target: Compiled, k: int) -> tuple[Terms, InitialState, Loads]:
    """State and terms of output k in absolute coordinates.

    The terms are in its own coordinates.
    """
    q, s, z = mine.q[k].copy(), mine.s[k].copy(), mine.trajectory.z[k].copy()
    work = make_work(mine.compiled.system, mine.trajectory.beta[k])
    loads = loads_at(mine.compiled, mine.trajectory, work, k)
    own = terms(mine.compiled.system, work, float(mine.t[k]), q, s, z, loads)
    beta, eta = work.beta[:-SPARE].copy(), work.cut.eta.copy()
    here = InitialState(q, s, beta, (), copied(work.motion), eta, z)
    return own, converted(mine.compiled, here, target), loads


class _Equations:
    """Equations in absolute coordinates at one state.

    Terms, inertia forces, forces of round-off.
    """

    def __init__(
        self,
        target: Compiled,
        start: InitialState,
        t: float,
        s: np.ndarray,
        sd: np.ndarray,
        loads: Loads,
    ) -> None:
        """Equations of motion of ``target`` at a state with rates ``sd`` and reaction loads."""
        system, work = target.system, make_work(target.system, start.beta)
        q, z, self.sizes = start.q.copy(), start.z.copy(), displacement_sizes(target)
        self.elastic = np.zeros(len(s), bool)
        for at, nf in zip(system.tree.sf_at, system.tree.nf):
            self.elastic[at : at + nf] = True
        self.known = terms(system, work, t, q, s, z, loads)
        self.inertia = self.known.M @ sd
        # forces of states alone may balance loads, without reactions that show their size
        self.of_states = np.abs(
            terms(system, work, t, q, s, 0.0 * z, loads, matrices=False).k - self.known.k
        )
        start_from(work, start.beta)
        signs = np.random.default_rng(1).choice([-1.0, 1.0], len(s))
        displaced(system, start.q, ROUND_OFF * self.sizes * signs, q)
        start_from(work, start.beta)
        self.noise = np.abs(terms(system, work, t, q, s, z, loads, matrices=False).k - self.known.k)
        target.callbacks.raise_error()

    @property
    def residual(self) -> np.ndarray:
        """M ṡ − k."""
        return np.asarray(self.inertia - self.known.k)

    def power_share(self, own: Terms, sd: np.ndarray, v: np.ndarray, there: np.ndarray) -> float:
        """Relative difference of virtual powers in both sets of coordinates.

        Forces perpendicular to the velocities count as well: their power is zero by cancellation.
        """
        apart = abs(float(v @ (own.M @ sd - own.k)) - float(there @ self.residual))
        apart = max(apart - float(np.abs(there) @ self.noise), 0.0)
        largest = float(
            (self.sizes * (np.abs(self.inertia) + np.abs(self.known.k) + self.of_states)).max(
                initial=0.0
            )
        )
        return apart / (largest * float(np.abs(there / self.sizes).max(initial=0.0)) or 1.0)

    def balance(self) -> tuple[np.ndarray, float, float]:
        """Multipliers λ, relative residual of the equations, and the least significant force."""
        S, G = self.sizes, self.known.G
        width = np.linalg.norm(G * S, axis=1)
        width = np.where(width > 0.0, width, 1.0)
        columns = (G * S).T / width
        lam = np.linalg.lstsq(columns, S * self.residual, rcond=1e-10)[0] / width
        held = G.T @ lam
        left = np.maximum(np.abs(self.residual - held) - 10.0 * self.noise, 0.0)
        parts = (self.inertia, self.known.k, held, self.of_states)
        largest = max(float(np.abs(S * part).max(initial=0.0)) for part in parts)
        least = PRELOAD * float((S * self.noise)[~self.elastic].max(initial=0.0))
        return lam, float((S * left).max(initial=0.0)) / (max(largest, least) or 1.0), least


def _reactions(mine: SolutionData, target: Compiled, out: Trajectory, least: float) -> float:
    """Largest difference of unique forces and moments over the largest force.

    Of joints and drives. least: moment (N m) below which these are residuals.
    """
    redundant = bool(mine.run.redundant)
    found = joint_histories(target, out, redundant=redundant, least_norm=False)
    theirs = SolutionData(target, out, {}, mine.run, stored=found)
    length = model_size(mine.compiled)
    views, bodies = [mine.body(name) for name in mine.compiled.bodies], mine.compiled.system.bodies
    fastest = max(
        float(np.linalg.norm(mine.model.gravity)),
        *(largest_row(body.acceleration) for body in views),
    )
    turning = max(
        largest_row(body.angular_acceleration) + largest_row(body.angular_velocity) ** 2
        for body in views
    )
    inertia = (
        float(bodies.mass.sum()) * fastest + float(bodies.second[:, ::4].sum()) * turning / length
    )
    size = max(WEIGHTLESS * inertia, least / length, largest_load(joint_loads(mine)))
    apart = max(
        (float(each.max()) for each in load_differences(mine, theirs).values()), default=0.0
    )
    for name in () if redundant else mine.drives:
        one, other = mine.drive(name).torque, theirs.drive(name).torque
        size = max(size, float(np.abs(one).max()) / length)
        apart = max(apart, float(np.abs(one - other).max()) / length)
    return apart / (size or 1.0)
