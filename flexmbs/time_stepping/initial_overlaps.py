"""Overlaps of contacts at the start of a run.

A rigid contact must not overlap. The force of a contact with a law is balanced if the acceleration
a_N of its gap is zero; otherwise it drives its bodies apart at about

    v² = a_N δ,

the work of an acceleration that falls to zero over the overlap δ. The overlap is rejected unless v
is small relative to the speed at the contact, or too small to lift a body or to move it during the
run by a small part of the contact's size. Theory: docs/theory.md, section 41.
"""

from collections.abc import Callable

import numpy as np

from flexmbs.errors import raise_problems
from flexmbs.initial.assembly import displaced
from flexmbs.integrators.run_context import ContactData, Point
from flexmbs.model.contacts import declared_contact
from flexmbs.system.compile import Compiled

OVERLAP = 1e-6  # overlap of rigid contacts, relative to the size of the model, or rad
SMALL = 0.01  # acceptable effect of an overlap, relative to speed and size of the contact
LATER = 1e-7  # s: step of the difference for accelerations of gaps


def refuse_overlaps(compiled: Compiled, contact: ContactData) -> None:
    """Raise `InputError` for rigid contacts that overlap at the start.

    The gaps must be up to date.
    """
    overlaps = [
        f"contacts.{name}: overlaps by {-g:.4g} (m or rad) at the start; move its bodies by q0, "
        "or correct its normal, radius or bounds"
        for name, g, rigid, length in zip(
            compiled.contacts, contact.gap, contact.rigid, contact.length
        )
        if g < -OVERLAP * length and rigid
    ]
    raise_problems(overlaps)


def check_loaded_overlaps(
    compiled: Compiled,
    contact: ContactData,
    points: tuple[Point, Point],
    end: float,
    evaluate: Callable[[int], object],
) -> list[str]:
    """Notes on preloaded contacts that overlap at the start.

    points: the state and workspace. evaluate(k): gaps and velocities of point k. end: that of the
    run (s). Raises `InputError` if other contacts drive their bodies apart.
    """
    evaluate(0)
    overlaps = np.where(
        (contact.rigid == 0) & (contact.outside == 0.0), np.maximum(-contact.gap, 0.0), 0.0
    )
    if not overlaps.any():
        return []
    state, later = points
    rate = contact.rate.copy()
    later.y[:] = state.y
    displaced(compiled.system, state.q, LATER * state.s, later.q)
    later.s[:] = state.s + LATER * state.sd
    evaluate(1)
    accelerations = np.maximum(contact.rate[:, 0] - rate[:, 0], 0.0) / LATER
    evaluate(0)
    thrown = np.sqrt(accelerations * overlaps)
    small = np.maximum(SMALL * np.linalg.norm(rate, axis=1), SMALL * contact.size / end)
    small = np.maximum(small, np.sqrt(2.0 * contact.weight * SMALL * contact.size))
    notes, refused = [], []
    for k in np.flatnonzero(thrown > small):
        name = compiled.contacts[k]
        declared = declared_contact(compiled.model.contacts, name)
        text = (
            f"contacts.{name}: overlaps by {overlaps[k]:.4g} (m or rad) at the start, which "
            "drives its bodies apart"
        )
        text += f" at {thrown[k]:.3g} m/s or rad/s"
        if declared.preloaded:  # type: ignore[attr-defined]
            notes.append(f"{text}, as declared by preloaded")
        else:
            refused.append(
                f"{text}; move its bodies by q0, start from statics, or set preloaded=True"
            )
    raise_problems(refused)
    return notes
