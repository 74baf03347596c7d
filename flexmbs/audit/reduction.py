"""Displacements of flexible bodies under the actual loads that their modes cannot represent.

Under inertia and interface loads ζ a body lacks the displacement Σ_j ζ_j w_j of its static response, w_j the part of the response
to the unit load j that its modes do not span. Its root mean square over the mass, √(ζᵀ W ζ), is compared with that of the modes,
√(qᵀ m_ff q/m), and with the size of the body. Stress includes the static correction and is not affected.
"""

import numpy as np

from flexmbs.results.body_loads import body_loads
from flexmbs.results.solution import SolutionData
from flexmbs.system.check import PASS, Check, graded
from flexmbs.system.sizes import model_size

LACKING = (0.05, 0.5)  # of the largest displacement
SMALL = 1e-7  # of the model's size: negligible displacements


def reduction(mine: SolutionData) -> list[Check]:
    """A check for each flexible body whose data include the missing displacements; ``mine``: states of the run."""
    if len(mine.t) == 0:
        return []
    found = []
    for name, data in mine.compiled.data.items():
        if data.stress is None or data.stress.missing is None:
            continue
        zeta = body_loads(mine, name, data.stress.interfaces).factors
        lacking = np.sqrt(np.maximum(np.einsum("ti,ij,tj->t", zeta, data.stress.missing, zeta), 0.0))
        q = mine.body(name).elastic
        shown = np.sqrt(np.maximum(np.einsum("ti,ij,tj->t", q, data.m_ff, q), 0.0) / data.mass)
        whole = float((lacking + shown).max())
        k = int(lacking.argmax())
        share = float(lacking[k]) / whole if whole > SMALL * model_size(mine.compiled) else 0.0
        status = graded(share, LACKING)
        text = f"lack {share:.1e} of the displacement, {lacking[k]:.1e} m in the mean, at t = {mine.t[k]:.4g} s"
        remedy = "" if status == PASS else "reduce it with inertia_loads=True or with more modes"
        found.append(Check(f"Modes of {name}", status, text, remedy))
    return found
