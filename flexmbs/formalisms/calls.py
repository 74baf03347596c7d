"""The equations as seen by an integration method: kernels called by address, each compiled once.

    ẏ = Ψ(y, t),  y = (q, s, z, w);   r = M ṡ − k − Gᵀ λ with g, G s + γ̄, G ṡ − γ;   x ← K_b⁻¹ x;   q = q₀ ⊕ d.

Kernels of a formalism take (`FormalismRecords`, point, point, t, a, b), those shared by all
formalisms (`SharedRecords`, point, point, t, a, b). Theory: docs/theory.md, sections 26 and 33.
"""

import functools
import math
from typing import Any, NamedTuple

from flexmbs._jit import part
from flexmbs._jit.address import Entry, bound_entry, entry
from flexmbs.algebra.works import copy_works
from flexmbs.dynamics.blocks import transmission
from flexmbs.dynamics.constraints import canonical_multipliers, turning
from flexmbs.dynamics.contacts import contact_kinematics, contact_rows
from flexmbs.dynamics.equations import balanced, kinematics
from flexmbs.dynamics.equations import residual_with_reactions as residual_of
from flexmbs.dynamics.events import Events, crossings, event_values
from flexmbs.dynamics.joint_forces import coupled_slopes
from flexmbs.dynamics.joint_loads import without_loads
from flexmbs.dynamics.kinematics import displace as displaced
from flexmbs.dynamics.kinematics import midpoint, normalize_positions, rates
from flexmbs.dynamics.kkt import independence, project
from flexmbs.dynamics.sampled_controllers import take_samples
from flexmbs.dynamics.variation import Variation, gap_at_start, keep_gap
from flexmbs.dynamics.variation import variation as variation_of
from flexmbs.formalisms.formalism import Formalism, unchanged
from flexmbs.formalisms.multiplier import accelerations, correction, iteration_matrix
from flexmbs.integrators.run_context import (
    NOT_FINITE,
    STEPPED,
    ContactData,
    Exchange,
    SampledControllers,
)
from flexmbs.system.records import OF_CHAIN, Evaluation, System, Work

CLOSED = 1e-10  # m or rad: gaps of the loops after a step with impacts
PROJECTIONS = 4


class SharedRecords(NamedTuple):
    """Records for the kernels of all formalisms."""

    system: System
    work: Work
    exchange: Exchange
    contact: ContactData
    events: Events
    variation: Variation
    sampled: SampledControllers


class FormalismRecords(NamedTuple):
    """Records for the kernels of one formalism."""

    system: System
    work: Work
    workspace: Any
    exchange: Exchange


def derivative(model, here, /, t):
    """Kernel of ẏ and λ at a point; the rates of the works are powers.

    The formalism may move q and s onto the constraints that it satisfies. Theory, section 33.
    """
    work = model.work
    without_loads(work)
    status = accelerations(model.system, work, model.workspace, t, here)
    turns = 0
    while status >= 0 and not balanced(model.system, work, t, here, turns):
        status = accelerations(model.system, work, model.workspace, t, here)
        turns += 1
    without_loads(work)
    rates(model.system.tree, model.system.joints, here.q, here.s, here.qd)
    for i in range(here.zd.shape[0]):
        here.zd[i] = work.force_rate[i]
    copy_works(work.power, here.powers)
    model.exchange.gauge.independent = independence(work, here.s.shape[0])
    return status


def put_right(model, here, /, t):
    """Kernel that projects an accepted state; exchange.gauge ← largest remaining |g|."""
    normalize_positions(model.system.tree, model.system.joints, here.q)
    model.exchange.gauge.left = accepted(
        model.system, model.work, model.workspace, t, here.q, here.s
    )
    model.exchange.gauge.independent = independence(model.work, here.s.shape[0])
    return 0


def kept(model, here, /, t):
    """Kernel that updates the path variables of the formalism after an accepted step."""
    keep(model.system, model.work, model.workspace, t, here.q, here.s)
    return 0


def matrix(model, here, /, c_mass, c_damping):
    """Kernel that factors the iteration matrix K_b at a point whose residual is up to date.

    The pivots of constraint rows are scaled as if c_mass were 1.
    """
    work = model.work
    status = iteration_matrix(model.system, work, model.workspace, here.q, c_mass, c_damping)
    # a pivot is G_j (c M + …)⁻¹ G_jᵀ, about 1/c of that of M: rescaled to compare it with others
    # on the path
    if c_mass > 0.0:
        for a in range(here.s.shape[0], work.stiffness.shape[0]):
            work.stiffness[a] *= c_mass
    model.exchange.gauge.independent = independence(work, here.s.shape[0])
    return status


def corrected(model, /):
    """Kernel of the Newton correction: exchange.x (ns + nc,) ← K_b⁻¹ exchange.x."""
    correction(model.system, model.work, model.workspace, model.exchange.x)
    return 0


@entry
def residual(common, here, /, t, slopes):
    """exchange.r = M ṡ − k − Gᵀ λ and exchange.gs of a point.

    Also the rates of its force states and its powers.
    """
    work = common.work
    at = Evaluation(here.q, here.s, here.sd, here.lam, here.z, common.exchange.r)
    residual_of(common.system, work, t, at, slopes != 0.0)
    for i in range(here.zd.shape[0]):
        here.zd[i] = work.force_rate[i]
    copy_works(work.power, here.powers)
    return 0


@entry
def displace(common, here, base, /, by_midpoint):
    """Kernel of the displacement q = q_base ⊕ d of a point.

    by_midpoint: d of free motions is first replaced by that of the midpoint rule (theory, sections
    2 and 42).
    """
    if by_midpoint != 0.0:
        midpoint(common.system.tree, common.system.joints, here.d)
    displaced(common.system.tree, common.system.joints, base.q, here.d, here.q)
    return 0


@entry
def position_rates(common, here, /):
    """Kernel of the position rates q̇ = H(q) s of a point."""
    rates(common.system.tree, common.system.joints, here.q, here.s, here.qd)
    return 0


@entry
def normalize(common, here, /):
    """Kernel that normalizes the Euler parameters of a point."""
    normalize_positions(common.system.tree, common.system.joints, here.q)
    return 0


@entry
def evaluate_constraints(common, here, /, t):
    """exchange.gs and the coordinates of the cut joints at a point."""
    kinematics(common.system, common.work, t, here.q, here.s, common.work.zero)
    return 0


@part
def keep_changes(system, work, path, h):
    """Record the largest change of each cut joint coordinate in a step, with its rate."""
    cuts = system.cuts
    for k in range(cuts.row.shape[0]):
        at = cuts.beta_at[k]
        for c in range(cuts.nv[k] if cuts.kernel[k] == OF_CHAIN else 0):
            rate = work.cut.eta[k, c]
            if abs(rate) * h > abs(path.change[at + c, 0]) * path.change[at + c, 1]:
                path.change[at + c, 0] = rate
                path.change[at + c, 1] = h


@entry
def commit(common, /, h):
    """Kernel that updates the path variables after an accepted step of length h.

    The end of the step must have been evaluated last.
    """
    system, work, path = common.system, common.work, common.work.path
    for i in range(path.beta.shape[0]):
        path.beta[i] = work.beta[i]
    keep_changes(system, work, path, h)
    for k in range(system.cuts.row.shape[0]):
        if system.cuts.kernel[k] >= 0:
            for c in range(path.kept.shape[1]):
                path.kept[k, c] = work.cut.keeps[k, c]
        if turning(system.cuts, k):
            for c in range(6 * system.cuts.closed[k]):
                path.covectors[k, c] = work.cut.covectors[k, c]
    for i in range(path.pivot.shape[0]):
        if work.stiffness[i] > path.pivot[i]:
            path.pivot[i] = work.stiffness[i]
    return 0


@entry
def canonical(common, here, /, t):
    """Kernel that expresses the multipliers of a point as they are outside of the run.

    For rows of cut joints that depend on the coordinates alone. Evaluates the point if any turn.
    """
    system, work = common.system, common.work
    for k in range(system.cuts.row.shape[0]):
        if turning(system.cuts, k):
            kinematics(system, work, t, here.q, here.s, work.zero)
            canonical_multipliers(system.cuts, work.cut, here.lam)
            break
    return 0


@entry
def watch(common, here, /, t, judged):
    """Kernel of the event functions at a point.

    judged: compare signs with the last values; returns `STEPPED` if one has changed and
    `NOT_FINITE` if a value is NaN.
    """
    event_values(common.system, common.work, common.events, t, here.q, here.s)
    if judged == 0.0:
        return 0
    found = crossings(common.events)
    return STEPPED if found == 1 else NOT_FINITE if found == -1 else 0


@entry
def vary(common, here, base, t, h, kind):
    """Kernel of a variational step h that ends at t: e₀, e₁ and its gap.

    kind: 1 for constant mass, −1 for the gap in the directions of the start only. Theory, section
    48.
    """
    system, work, scratch, exchange = common.system, common.work, common.variation, common.exchange
    if kind < 0.0:
        gap_at_start(system.cuts, work.cut, scratch.gap, scratch.rows, work.gs)
        return 0
    variation_of(system, work, scratch, (base, here), h, kind == 1.0, (exchange.e0, exchange.e1))
    kinematics(system, work, t, here.q, work.zero, work.zero)
    keep_gap(system.cuts, work.cut, work.gs, scratch.gap, scratch.rows)
    return 0


@entry
def evaluate_contacts(common, here, /, t):
    """Gaps g and velocities (γ_N, γ_T1, γ_T2) of the contacts at a point.

    Returns `NOT_FINITE` if one is not finite. Theory, section 40.
    """
    work, contact = common.work, common.contact
    kinematics(common.system, work, t, here.q, here.s, work.zero)
    contact_kinematics(common.system, work, t, here.q, here.s)
    for k in range(contact.gap.shape[0]):
        contact.gap[k] = work.contact.gap[k]
        contact.outside[k] = work.contact.beside[k]
        for c in range(3):
            contact.rate[k, c] = work.contact.velocity[k, c]
            contact.moving[k, c] = work.contact.moving[k, c]
        if not math.isfinite(
            contact.gap[k] + contact.rate[k, 0] + contact.rate[k, 1] + contact.rate[k, 2]
        ):
            return NOT_FINITE
    return 0


@entry
def rows_of_contacts(common, here, /, t, m):
    """Rows W (3m, ns) of the velocities of the first m active contacts at a point.

    Theory, section 40.
    """
    system, work, contact = common.system, common.work, common.contact
    kinematics(system, work, t, here.q, here.s, work.zero)
    contact_kinematics(system, work, t, here.q, here.s)
    transmission(system, work, here.q)
    for i in range(int(m)):
        for c in range(3):
            contact.moving[contact.row[i], c] = work.contact.moving[contact.row[i], c]
        contact_rows(system, work, contact.row[i], here.q, contact.rows[3 * i : 3 * i + 3])
    return 0


@entry
def close(common, here, /, t):
    """Kernel that projects positions and velocities of a point onto the constraints.

    Theory, section 32.
    """
    common.exchange.gauge.left = project(
        common.system, common.work, t, here.q, here.s, CLOSED, PROJECTIONS
    )
    return 0


@entry
def couplings(common, here, /, damping):
    """Kernel of the slopes of forces on several joint coordinates that K_b lacks."""
    coupled = common.exchange.coupled
    coupled_slopes(common.system, common.work, coupled.force, coupled.component, damping, coupled.C)
    return 0


@entry
def samples(common, here, /, t, near):
    """Kernel that executes the discrete controllers that are due at a point.

    Outputs and memory are force states of the point (theory, section 39).
    """
    take_samples(common.system, common.work, common.sampled, t, here, near)
    return 0


# by their names in `Calls`
SHARED = {
    "residual": residual,
    "displace": displace,
    "normalize": normalize,
    "constraints": evaluate_constraints,
    "commit": commit,
    "canonical": canonical,
    "events": watch,
    "variation": vary,
    "contacts": evaluate_contacts,
    "rows": rows_of_contacts,
    "project": close,
    "rates": position_rates,
    "samples": samples,
    "couplings": couplings,
}


class FormalismCalls(NamedTuple):
    """Kernels of a formalism, None where it has none."""

    derivative: Entry  # ẏ
    accepted: Entry  # correction of accepted states
    keep: Entry | None  # on the path
    matrix: Entry | None
    correction: Entry | None  # solution with the factor of the matrix


@functools.cache
def of_formalism(formalism: type[Formalism]) -> FormalismCalls:
    """Kernels of a formalism."""
    name = formalism.__name__.lower()
    implicit = "residual" in formalism.provides
    return FormalismCalls(
        bound_entry(derivative, name, accelerations=formalism.accelerations),
        bound_entry(put_right, name, accepted=formalism.accepted),
        None
        if formalism.keep is unchanged
        else bound_entry(kept, name, lightly=True, keep=formalism.keep),
        bound_entry(matrix, name, iteration_matrix=formalism.iteration_matrix)
        if implicit
        else None,
        bound_entry(corrected, name, correction=formalism.correction) if implicit else None,
    )


def keep(system, work, workspace, t, q, s):
    """Placeholder to which the kernel of a formalism is bound."""


def accepted(system, work, workspace, t, q, s):
    """Placeholder to which the kernel of a formalism is bound."""
