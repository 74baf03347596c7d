"""What only the compiled system knows of a model: its tree, its cut joints, redundant constraints."""

from flexmbs.analysis.assemble import assembly, redundancy_text
from flexmbs.model.model import Model
from flexmbs.system.records import NF


def diagnose(model: Model) -> tuple[list[str], list[str], list[str]]:
    """(lines, warnings, errors): tree and cuts, freedoms f = n_s − rank G, redundant rows by joint, what assembly moved.

    Raises `InputError` where a loop does not close.
    """
    found = assembly(model, 0.0)
    compiled, redundant = found.compiled, found.redundant
    lines = str(compiled.topology).splitlines()
    dependent = sum(rows for _, rows in redundant)
    ns, nc = int(compiled.system.layout[2]), compiled.n_constraints
    modes = int(compiled.system.tree[:, NF].sum())
    lines.append(
        f"{ns - modes} joint velocities + {modes} modes − {nc} constraints + {dependent} redundant"
        f" = {ns - nc + dependent} freedoms"
    )
    warnings = [redundancy_text(name, rows) for name, rows in redundant]
    warnings += [f"assembly moved {moved}" for moved in found.moved]
    warnings += [f"model: {found.singular}"] if found.singular else []
    return lines, warnings, []
