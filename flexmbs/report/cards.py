"""Cards of models, solutions and states in notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from flexmbs.errors import InputError
from flexmbs.page.html import Picture
from flexmbs.page.notebook import Table, card
from flexmbs.report.model_at_start import start_of
from flexmbs.report.poster import motion_drawing
from flexmbs.system.check import PASS

if TYPE_CHECKING:
    from flexmbs.model.model import ModelData
    from flexmbs.results.solution import SolutionData
    from flexmbs.system.check import Check

HEADS = ("check", "status", "finding", "remedy")


def checks_as_tables(checks: Sequence[Check]) -> list[Table]:
    """Findings of an audit, and the passed checks folded."""
    rows = [(check.title, check.status, check.found, check.remedy) for check in checks]
    found = [row for row in rows if row[1] != PASS]
    passed = [row[::2] for row in rows if row[1] == PASS]
    return [
        Table("Findings", HEADS, found),
        Table(f"{len(passed)} checks passed", HEADS[::2], passed, folded=True),
    ]


def solution_card(solution: SolutionData) -> str:
    """Verdict, picture and checks of a solution."""
    picture = None
    if len(solution.t):
        picture = Picture(motion_drawing(solution), "The mechanism at several instants")
    return card(
        solution.model.name,
        verdict=solution.verdict,
        lines=[repr(solution)[1:-1], solution.run.outcome, "Methods: show(), report(path), plot"],
        tables=checks_as_tables(solution.audit),
        picture=picture,
    )


def model_card(model: ModelData) -> str:
    """Contents of a model, with its picture at the start if it can be assembled."""
    try:
        start = start_of(model)
        notes = start.notes
        picture = Picture(motion_drawing(start.solution), "The model at its start")
    except InputError as error:
        notes, picture = [f"not complete: {problem}" for problem in error.problems], None
    bodies = [(body.name, body.kind) for body in model.bodies.values()]
    joints = [
        (joint.name, joint.kind, joint.parent, joint.child) for joint in model.joints.values()
    ]
    others = [
        (item.name, item.section, item.kind)
        for items in (model.forces, model.drives, model.couplings, model.contacts)
        for item in items.values()
    ]
    return card(
        model.name,
        lines=[*notes, "Methods: check(), show()"],
        tables=[
            Table("Bodies", ("name", "kind"), bodies),
            Table("Joints", ("name", "kind", "parent", "child"), joints),
            Table("Forces, drives, couplings, contacts", ("name", "table", "kind"), others),
        ],
        picture=picture,
    )
