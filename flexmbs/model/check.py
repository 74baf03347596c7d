"""`Model.check`: contents of a model and all problems visible in its declarations."""

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING

from flexmbs.declaration import shown
from flexmbs.errors import InputError, raise_problems
from flexmbs.model.check_frequencies import frequency_warnings
from flexmbs.model.check_functions import missing_functions
from flexmbs.model.check_mechanisms import mechanism_warnings
from flexmbs.model.check_references import FrameNames, reference_problems
from flexmbs.model.check_tables import table_warnings
from flexmbs.model.check_topology import (
    degree_of_freedom_lines,
    topology_problems,
    topology_warnings,
)
from flexmbs.model.check_values import value_warnings
from flexmbs.model.model import ModelData
from flexmbs.model.rotors import rotor_warnings
from flexmbs.page.notebook import Table, card

if TYPE_CHECKING:
    from flexmbs.model.joints import Joint


@dataclasses.dataclass
class CheckReport:
    """Printable result of a check.

    sections: lines that describe the model, by heading. classes: class of each constraint, in
    columns; not printed.
    """

    title: str
    sections: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    classes: list[str] = dataclasses.field(default_factory=list)
    warnings: list[str] = dataclasses.field(default_factory=list)
    errors: list[str] = dataclasses.field(default_factory=list)

    @property
    def lines(self) -> list[str]:
        """Text lines of the report."""
        lines = [self.title]
        for heading, content in self.sections.items():
            lines += [f"{heading}:", *(f"  {line}" for line in content)] if content else []
        lines += [f"warning: {line}" for line in self.warnings]
        lines += [f"error: {line}" for line in self.errors]
        return [*lines, "not ready to run" if self.errors else "ready to run"]

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        """Card of the report in a notebook: findings first."""
        found = [("error", line) for line in self.errors]
        found += [("warning", line) for line in self.warnings]
        tables = [Table("Findings", ("", "finding"), found)]
        tables += [
            Table(name.capitalize(), ("",), [(line,) for line in lines], folded=True)
            for name, lines in self.sections.items()
        ]
        verdict = "not ready to run" if self.errors else "ready to run"
        return card(self.title, verdict=verdict, tables=tables)

    def raise_errors(self) -> None:
        """Raise `InputError` with every error, if there is any."""
        raise_problems(self.errors)


def require_model(model: object) -> None:
    """Raise `InputError` if this is not a model."""
    if not isinstance(model, ModelData):
        raise InputError(
            f"model: {shown(model)} is not a Model; load('model.toml') reads one from a file"
        )


def declaration_report(model: ModelData) -> CheckReport:
    """Report on the model that needs only its declarations.

    Raises `InputError` if this is not a model.
    """
    require_model(model)
    report = CheckReport(f"model '{model.name}'")
    frames, modes, highest = _inspect_bodies(model, report)
    report.errors += map(str, reference_problems(model, frames))
    report.errors += map(str, (*topology_problems(model), *missing_functions(model)))
    report.warnings += [
        str(warning)
        for item in (*model.joints.values(), *model.forces.values())
        for warning in item.warnings()
    ]
    report.warnings += map(str, table_warnings(model))
    report.sections = {
        "bodies": [
            _titled(body.name, body.kind, _frames_text(frames[body.name]))
            for body in model.bodies.values()
        ],
        "joints": [_joint_line(joint) for joint in model.joints.values()],
        "forces": [_titled(force.name, force.kind) for force in model.forces.values()],
        "drives": [
            _titled(drive.name, drive.motion.kind, f"joint {drive.joint}")
            for drive in model.drives.values()
        ],
        "couplings": [
            _titled(coupling.name, coupling.kind, coupling.equation)
            for coupling in model.couplings.values()
        ],
        "contacts": [_titled(contact.name, contact.kind) for contact in model.contacts.values()],
        "rotors": [_titled(rotor.name, f"joint {rotor.joint}") for rotor in model.rotors.values()],
    }
    if not report.errors:
        report.sections["degrees of freedom"] = degree_of_freedom_lines(model, modes)
        report.warnings += map(
            str,
            (
                *topology_warnings(model),
                *frequency_warnings(model, highest),
                *rotor_warnings(model),
                *value_warnings(model, highest),
            ),
        )
        report.warnings += map(str, mechanism_warnings(model, highest))
    return report


def _inspect_bodies(
    model: ModelData, report: CheckReport
) -> tuple[FrameNames, int, dict[str, float]]:
    """Frame names of every body, number of modes, highest mode of each flexible body (Hz).

    The number of modes is that of all bodies. Problems of flexible-body data are added to the
    report.
    """
    frames: FrameNames = {}
    highest: dict[str, float] = {}
    modes = 0
    for body in model.bodies.values():
        try:
            findings = body.findings()
        except InputError as error:
            report.errors += error.problems
            frames[body.name] = None
            continue
        frames[body.name] = findings.frames
        modes += findings.modes
        if findings.modes:
            highest[body.name] = findings.highest
        report.errors += map(str, findings.errors)
        report.warnings += map(str, findings.warnings)
    return frames, modes, highest


def _titled(*parts: str) -> str:
    """Non-empty parts joined by commas."""
    return ", ".join(filter(None, parts))


def _frames_text(names: Iterable[str] | None) -> str:
    """Text "frames a, b"; empty if there are none."""
    names = list(names or ())
    return f"frames {', '.join(names)}" if names else ""


def _joint_line(joint: "Joint") -> str:
    """Line of the model summary for a joint: kind, bodies, degrees of freedom or equations."""
    n, one, many = (joint.nv, "degree of freedom", "degrees of freedom")
    if not joint.carries:
        n, one, many = (joint.rows, "equation", "equations")
    return (
        f"{joint.name}, {joint.kind}, {joint.parent} → {joint.child}, {n} {one if n == 1 else many}"
    )
