"""What only the compiled system knows of a model: its tree, its cut joints, redundant constraints."""

import numpy as np

from flexmbs.analysis.assemble import redundancy_text
from flexmbs.analysis.initial import consistent_state, redundant_rows
from flexmbs.model.model import Model
from flexmbs.system.records import NF


def diagnose(model: Model) -> tuple[list[str], list[str], list[str]]:
    """(lines, warnings, errors): tree and cuts, freedoms f = n_s − rank G, redundant rows by joint, what assembly moved.

    Raises `InputError` where a loop does not close.
    """
    compiled, start = consistent_state(model)
    redundant = redundant_rows(compiled, start.q, start.s, start.beta)
    lines = str(compiled.topology).splitlines()
    dependent = sum(rows for _, rows in redundant)
    ns, nc = int(compiled.system.layout[2]), compiled.n_constraints
    modes = int(compiled.system.tree[:, NF].sum())
    lines.append(
        f"{ns - modes} joint velocities + {modes} modes − {nc} constraints + {dependent} redundant"
        f" = {ns - nc + dependent} freedoms"
    )
    warnings = [redundancy_text(name, rows) for name, rows in redundant]
    warnings += [f"assembly moved {moved}" for moved in start.moved]
    if not np.isfinite(start.q).all():
        return lines, warnings, ["model: the initial positions are not finite; mend q0 of its joints"]
    return lines, warnings, []
