"""Frequencies up to which the modes of a model are accurate.

The reference are the finite-element models of its flexible bodies. The preprocessor estimates, or
proves, the errors of the frequencies of each body up to a band, free and with each interface held.
A mode depends on a body if a share of its energy is the strain energy of that body, qᵀ K_ff q
relative to |λ|² δᵀ M δ; beyond the accurate range of such a body its frequency is determined by the
basis.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.system.check import PASS, WARN, Check
from flexmbs.system.compile import Compiled

ACCURATE = 0.02  # relative error of a frequency
DEPENDS = 0.1  # of the energy of a mode: strain energy of a body by which the mode depends on it
ESTIMATE, PROOF = "accuracy: ", "certificate: "
SUPPORTS = ("free", "held at ")
PAIR = re.compile(r"([0-9.e+-]+) Hz ([0-9.e+-]+)")


class ShownModes(NamedTuple):
    """Frequencies (m,) [Hz], displacements (ns, m) of the velocity coordinates, and M (ns, ns).

    asked: the user chose how many modes are shown.
    """

    frequency: np.ndarray
    shape: np.ndarray
    M: np.ndarray
    asked: bool = False


def accurate_range(data: FlexibleBodyData) -> float | None:
    """Frequency [Hz] up to which the reduced body is accurate.

    None if the body was reduced without an estimate.
    """
    facts = data.provenance
    if f"{PROOF}band [Hz]" in facts:
        return float(facts[f"{PROOF}band [Hz]"])
    if f"{ESTIMATE}band [Hz]" not in facts:
        return None
    texts = [str(value) for key, value in facts.items() if key.startswith(_keys())]
    pairs = [(float(f), float(error)) for text in texts for f, error in PAIR.findall(text)]
    wrong = min((f for f, error in pairs if not error <= ACCURATE), default=np.inf)
    right = max((f for f, _ in pairs if f < wrong), default=0.0)
    return right if wrong < np.inf else max(float(facts[f"{ESTIMATE}band [Hz]"]), right)


def _keys() -> tuple[str, ...]:
    """Names of the estimates, one for each kind of support."""
    return tuple(f"{ESTIMATE}{support}" for support in SUPPORTS)


def modes_beyond_range(
    compiled: Compiled, modes: ShownModes, body: str, limit: float
) -> np.ndarray:
    """Modes (m,) that depend on a body or piece and have a frequency above its limit [Hz]."""
    return np.asarray(_depends(compiled, modes, body) & (modes.frequency > limit))


def _depends(compiled: Compiled, modes: ShownModes, body: str) -> np.ndarray:
    """Modes (m,) that have a share of their energy in the strain of a body."""
    tree, i = compiled.system.tree, compiled.bodies.index(body)
    q = modes.shape[int(tree.sf_at[i]) :][: int(tree.nf[i])]
    strain = np.einsum("im,ij,jm->m", q.conj(), compiled.data[body].K_ff, q).real
    kinetic = np.einsum("im,ij,jm->m", modes.shape.conj(), modes.M, modes.shape).real
    return np.asarray(strain > DEPENDS * (2.0 * np.pi * modes.frequency) ** 2 * kinetic)


def modal_band(compiled: Compiled, modes: ShownModes, bodies: Sequence[str]) -> list[Check]:
    """Checks of each flexible body: modes beyond the range of accurate frequencies.

    All modes of a model include those of the ends of its bases: they are named. It is a warning if
    the lowest mode that depends on a body is beyond, or any of those that were asked for.
    """
    found = []
    for name in bodies:
        pieces = [piece for piece in compiled.pieces_of(name) if piece in compiled.data]
        known = [(piece, accurate_range(compiled.data[piece])) for piece in pieces]
        limits = [(piece, limit) for piece, limit in known if limit is not None]
        if not limits:
            continue
        limit = min(limit for _, limit in limits)
        out = np.any(
            [modes_beyond_range(compiled, modes, piece, limit) for piece, _ in limits], axis=0
        )
        on = np.any([_depends(compiled, modes, piece) for piece, _ in limits], axis=0)
        text = f"within {ACCURATE:.0%} up to {limit:.4g} Hz"
        if out.any():
            lowest = float(modes.frequency[out].min())
            text += f"; {int(out.sum())} of {len(out)} modes are beyond, from {lowest:.4g} Hz on"
        first = int(np.argmin(np.where(on, modes.frequency, np.inf)))
        wrong = bool(out.any() and (modes.asked or out[first]))
        remedy = "reduce it with more modes" if wrong else ""
        found.append(Check(f"Frequencies of {name}", WARN if wrong else PASS, text, remedy))
    return found
