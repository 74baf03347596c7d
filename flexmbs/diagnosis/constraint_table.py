"""Constraints of a model, with one row per joint, drive, coupling or other constraint."""

from flexmbs.console.columns import aligned
from flexmbs.model.constraint_class import ConstraintClass
from flexmbs.model.declared_values import items_with_constraints
from flexmbs.model.model import ModelData
from flexmbs.system.topology import Topology


def constraint_lines(model: ModelData) -> list[str]:
    """Name, kind, number of rows and unusual properties of each constraint, in columns."""
    return aligned(
        (item.name, item.kind, _rows_text(found), found.remarks)
        for item in items_with_constraints(model)
        for found in item.constraint_classes()
    )


def class_lines(model: ModelData, shape: Topology) -> list[str]:
    """Name, kind, number of rows and class of each constraint, in columns.

    A joint of the tree is explicit: positions are given by its own coordinates; loop closure,
    drives, couplings and contacts are implicit, equations or inequalities between coordinates. In
    absolute coordinates all joints are implicit.
    """
    explicit = {primary.joint for primary in shape.tree}
    rows = [
        (
            item.name,
            item.kind,
            _rows_text(found),
            *found.words,
            "explicit" if item.name in explicit else "implicit",
        )
        for item in items_with_constraints(model)
        for found in item.constraint_classes()
    ]
    return aligned(rows)


def _rows_text(found: ConstraintClass) -> str:
    """Text "n rows" of a class of constraints."""
    return f"{found.rows} row{'' if found.rows == 1 else 's'}"
