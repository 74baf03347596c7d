"""Coulomb's law at the outputs of rigid contacts that slide."""

import numpy as np

from flexmbs.audit.audit_samples import largest_row
from flexmbs.model.contacts import DryFriction
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import PASS, Check, graded
from flexmbs.system.step_scales import model_size

TITLE = "Friction of contacts"
# of μ N: average steps and forces belong to different instants, by a few percent where slip changes
LIMITS = (0.1, 0.5)
# of the largest slip of the contact, and of the largest speed of the model or its size over the
# time of the run: slower slip may be the round-off of a contact that sticks or rolls
SLIDES, CREEPS = 1e-2, 1e-4
LOADED = 1e-3  # of the largest normal force of the contact: smaller ones count as open
STEADY = 0.9  # cosine between directions of slip at neighbouring outputs, and ratio of its speeds


def friction_law(solution: SolutionData) -> list[Check]:
    """Check that friction of sliding contacts is μ N against the slip, T = −μ N v/|v|.

    At outputs where the slip hardly changes from the output before to the one after. Independent of
    the method that solved the contact problem.
    """
    worst, where, when = 0.0, "", 0.0
    named = zip(solution.compiled.contacts, solution.compiled.system.contacts.mu)
    speed, size = 0.0, model_size(solution.compiled)
    for body in map(solution.body, solution.bodies):
        spin = largest_row(body.angular_velocity)
        speed = max(speed, largest_row(body.velocity), size * spin)
    speed = max(speed, size / max(float(solution.t[-1] - solution.t[0]), 1e-150))
    for name, mu in named:
        declared = solution.compiled.model.contacts.get(name)
        if declared is None or not declared.rigid or isinstance(declared, DryFriction) or mu <= 0.0:
            continue
        view = solution.contact(name)
        slip, limit = np.linalg.norm(view.slip, axis=1), mu * view.normal
        direction = view.slip / np.maximum(slip, 1e-300)[:, None]
        slides = slip > max(SLIDES * slip.max(initial=0.0), CREEPS * speed)
        slides &= view.normal > LOADED * view.normal.max(initial=0.0)
        along = np.einsum("ti,ti->t", direction[1:], direction[:-1])
        alike = (along > STEADY) & (
            np.minimum(slip[1:], slip[:-1]) > STEADY * np.maximum(slip[1:], slip[:-1])
        )
        steady = slides[1:-1] & slides[2:] & slides[:-2] & alike[1:] & alike[:-1]
        off = np.linalg.norm(view.friction + limit[:, None] * direction, axis=1)
        share = np.where(steady, off[1:-1] / np.maximum(limit[1:-1], 1e-300), 0.0)
        if len(share) and not share.max() <= worst:
            worst, where = float(share.max()), name
            when = float(view.t[1 + int(share.argmax())])
    if not where:
        return []
    status = graded(worst, LIMITS)
    text = f"differs by up to {worst:.1e} from that of Coulomb's law where contacts slide"
    if status == PASS:
        return [Check(TITLE, status, text)]
    text += f", at {where}, t = {when:.4g} s"
    return [Check(TITLE, status, text, "use smaller steps, or compare with the other method")]
