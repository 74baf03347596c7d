"""Diagnosis that needs the compiled system: tree, cut joints, redundant constraints."""

from typing import NamedTuple

import numpy as np

from flexmbs.diagnosis.assemble import assembly, redundancy_text
from flexmbs.diagnosis.change_points import change_points
from flexmbs.diagnosis.constraint_table import class_lines, constraint_lines
from flexmbs.diagnosis.contact_planes import planes_facing_away
from flexmbs.diagnosis.locked import locked_couplings
from flexmbs.diagnosis.planar import planar_line
from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.work import make_work
from flexmbs.errors import InputError
from flexmbs.initial.assembly import holonomic_rows
from flexmbs.initial.initial_state import InitialState, settle
from flexmbs.initial.massless_bodies import body_without_inertia
from flexmbs.model.check import CheckReport, declaration_report
from flexmbs.model.check_topology import degree_of_freedom_lines
from flexmbs.model.model import ModelData
from flexmbs.system.compile import Compiled
from flexmbs.system.topology import independent_loops


class Diagnosis(NamedTuple):
    """Diagnosis of a compiled model.

    lines: the tree and its degrees of freedom. classes: those of the constraints. planar: count of
    degrees of freedom of a planar mechanism, or "".
    """

    lines: list[str]
    classes: list[str]
    warnings: list[str]
    planar: str


def check(model: ModelData) -> CheckReport:
    """Report on a model, with spanning tree, cuts and redundant constraints.

    Does not raise.
    """
    report = declaration_report(model)
    if report.errors:
        return report
    try:
        found = diagnose(model)
    except InputError as error:
        report.errors += error.problems
        return report
    if found.planar:  # planar mechanisms have rigid bodies only
        report.sections["degrees of freedom"] = degree_of_freedom_lines(model, 0, found.planar)
    report.sections["constraints"] = constraint_lines(model)
    report.classes = found.classes
    report.sections["system"] = found.lines
    report.warnings += found.warnings
    return report


def diagnose(model: ModelData) -> Diagnosis:
    """Diagnosis of a model: degrees of freedom, constraint rank and singular position.

    Tree, cuts, loops, and the degrees of freedom f = n_s − rank G; classes of constraints;
    redundant rows by joint; changes by assembly. Raises `InputError` if a loop does not close or a
    run could not start.
    """
    found = assembly(model, 0.0)
    compiled, redundant = found.compiled, found.redundant
    _require_accelerations(compiled, found.state)
    lines = str(compiled.topology).splitlines()
    loops = independent_loops(compiled.model, compiled.topology)
    lines += [
        f"loop {i}: {' – '.join((cut, *tree, cut))}"
        for i, (cut, tree) in enumerate(loops.items(), 1)
    ]
    dependent = sum(rows for _, rows in redundant)
    ns, nc = int(compiled.system.layout[2]), compiled.n_constraints
    modes = int(compiled.system.tree.nf.sum())
    lines.append(freedom_line(ns - modes, modes, nc, dependent))
    regular = found.singular.near if found.singular else found.state
    lines += _velocity_line(compiled, regular, ns - nc + dependent)
    lines += [f"assembly moved {moved}" for moved in found.moved]
    warnings = [redundancy_text(compiled.model, name, rows) for name, rows in redundant]
    warnings += [line for moved in found.moved for line in moved.contradictions]
    warnings += [f"model: {found.singular}"] if found.singular else []
    warnings += locked_couplings(compiled, regular)
    warnings += planes_facing_away(compiled, regular)
    warnings += change_points(compiled, ((cut, *tree) for cut, tree in loops.items()))
    return Diagnosis(
        lines, class_lines(model, compiled.topology), warnings, planar_line(compiled, regular)
    )


def freedom_line(velocities: int, modes: int, constraints: int, redundant: int) -> str:
    """Number of degrees of freedom as the sum of its nonzero terms."""
    terms = (
        (velocities, "joint velocit", "y", "ies"),
        (modes, "mode", "", "s"),
        (-constraints, "constraint", "", "s"),
        (redundant, "redundant constraint", "", "s"),
    )
    texts = [
        f"{'−' if n < 0 else '+'} {abs(n)} {name}{one if abs(n) == 1 else many}"
        for n, name, one, many in terms
        if n
    ]
    freedom = velocities + modes - constraints + redundant
    end = "degree of freedom" if freedom == 1 else "degrees of freedom"
    return f"{' '.join(texts).removeprefix('+ ') or '0 joint velocities'} = {freedom} {end}"


def _require_accelerations(compiled: Compiled, start: InitialState) -> None:
    """Raise `InputError` if the mass matrix is not positive definite at the start."""
    status = settle(
        compiled, make_work(compiled.system, start.beta), 0.0, start.q.copy(), start.s.copy()
    ).status
    if status < 0:
        body = body_without_inertia(compiled, status, start.q, start.beta)
        raise InputError(
            f"bodies.{body}: its motion has no inertia (mass matrix not positive "
            "definite); give it mass"
        )


def _velocity_line(compiled: Compiled, start: InitialState, f: int) -> list[str]:
    """Degrees of freedom in position and velocity.

    They differ if there are nonholonomic constraints; otherwise the list is empty.
    """
    holonomic = holonomic_rows(compiled)
    if holonomic.all():
        return []
    G = terms(compiled.system, make_work(compiled.system, start.beta), 0.0, start.q, start.s).G[
        holonomic
    ]
    in_position = len(start.s) - int(np.linalg.matrix_rank(G))
    return [f"{in_position} degrees of freedom in position, {f} in velocity"]
