"""What only the compiled system knows of a model: its tree, its cut joints, redundant constraints."""

from flexmbs.analysis.assemble import assembly, redundancy_text
from flexmbs.analysis.planar import planar_line
from flexmbs.model.model import Model
from flexmbs.system.records import NF
from flexmbs.system.topology import independent_loops


def diagnose(model: Model) -> tuple[list[str], list[str], list[str]]:
    """(lines, warnings, errors): tree, cuts, loops, freedoms f = n_s − rank G, redundant rows by joint, what assembly moved.

    Raises `InputError` where a loop does not close.
    """
    found = assembly(model, 0.0)
    compiled, redundant = found.compiled, found.redundant
    lines = str(compiled.topology).splitlines()
    loops = independent_loops(model, compiled.topology)
    lines += [f"loop {i}: {' – '.join((cut, *tree, cut))}" for i, (cut, tree) in enumerate(loops.items(), 1)]
    dependent = sum(rows for _, rows in redundant)
    ns, nc = int(compiled.system.layout[2]), compiled.n_constraints
    modes = int(compiled.system.tree[:, NF].sum())
    lines.append(
        f"{ns - modes} joint velocities + {modes} modes − {nc} constraints + {dependent} redundant"
        f" = {ns - nc + dependent} freedoms"
    )
    lines += [line for line in [planar_line(compiled, found.state)] if line]
    warnings = [redundancy_text(name, rows) for name, rows in redundant]
    warnings += [f"assembly moved {moved}" for moved in found.moved]
    warnings += [f"model: {found.singular}"] if found.singular else []
    return lines, warnings, []
