"""Content of the report of a run for all output formats: key numbers, pictures, curves, tables."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from flexmbs.diagnosis.planar import planar_line
from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.work import make_work
from flexmbs.flexible_body.divided import DividedBodyData, in_one_piece
from flexmbs.initial.initial_state import InitialState
from flexmbs.model.check_topology import degree_of_freedom_lines
from flexmbs.page.curve_panels import readable
from flexmbs.page.drawings import field_drawing, side_by_side
from flexmbs.page.html import Picture, number
from flexmbs.player.modes import mode_pictures
from flexmbs.player.surface import has_triangles
from flexmbs.report.contacts import ContactSection, contact_section
from flexmbs.report.curves import SECTIONS, SMALL, CurveSection, largest_reactions
from flexmbs.report.equations import EquationSummary, equations
from flexmbs.report.fatigue import FatigueSection
from flexmbs.report.fatigue import sections as fatigue_sections
from flexmbs.report.poster import motion_drawing
from flexmbs.report.stress_pictures import surface_values
from flexmbs.results.bodies import data_of, flexible_bodies, mass_of, surface_of, whole_of
from flexmbs.results.impact_steps import outputs_without_impacts
from flexmbs.results.joints import path_coordinates
from flexmbs.results.stress_summary import PASCALS, StressReport, stress_reports
from flexmbs.system.check import FAIL, NOT_JUDGED, PASS, WARN
from flexmbs.system.topology import topology

if TYPE_CHECKING:
    from flexmbs.durability.fatigue import FatigueData
    from flexmbs.flexible_body.components import FloatArray, Surface
    from flexmbs.flexible_body.record import FlexibleBodyData
    from flexmbs.page.curve_panels import PlotPanel
    from flexmbs.results.solution import SolutionData

MOST_NAMED = 3  # checks named beside the verdict
MODES_DRAWN, MODES_LISTED, ROWS_LISTED = 6, 24, 60
MOST_LISTED = 40  # curves in a panel of the page


class DrawnSection(NamedTuple):
    """Section with curves; the page shows all of them, a printed document those that differ."""

    section: CurveSection
    panels: list[PlotPanel]
    caption: str


@dataclass(frozen=True)
class Content:
    """Sections of a report in reading order; ``numbers`` is the result of `summary`."""

    numbers: dict[str, Any]
    sentence: str
    tiles: list[tuple[str, str, str]]
    still: Picture
    model: dict[str, Any]
    equations: EquationSummary
    parts: list[dict[str, Any]]
    contacts: ContactSection | None
    curves: list[DrawnSection]
    stresses: list[tuple[StressReport, Picture | None]]
    damages: list[FatigueSection]
    model_text: str

    @property
    def contact_panels(self) -> list[PlotPanel]:
        """Panels of contacts and friction, with as many curves as can be distinguished."""
        return readable(self.contacts.panels) if self.contacts else []


def content(
    solution: SolutionData, numbers: dict[str, Any], fatigue: Sequence[FatigueData] = ()
) -> Content:
    """Everything that a report shows of a solution and its fatigue results."""
    return Content(
        numbers=numbers,
        sentence=verdict_sentence(numbers),
        tiles=_tiles(solution, numbers),
        still=_motion(solution),
        model=_model(solution),
        equations=equations(solution),
        parts=_parts(solution),
        contacts=contact_section(solution),
        curves=_curves(solution),
        stresses=_stresses(solution),
        damages=fatigue_sections(fatigue),
        model_text=solution.model_text,
    )


def verdict_sentence(numbers: dict[str, Any]) -> str:
    """Sentence on the meaning of the verdict, with the checks that caused it."""
    verdict, checks = numbers["verdict"], numbers["checks"]
    if verdict == PASS:
        return f"The run reached its end and all {len(checks)} checks passed."
    if verdict == NOT_JUDGED:
        return "The result was not checked: the audit of this run was switched off."
    status = WARN if verdict == WARN else FAIL
    found = [check["title"] for check in checks if check["status"] == status]
    named = ", ".join(found[:MOST_NAMED]) + (" and others" if len(found) > MOST_NAMED else "")
    count = f"{len(found)} of {len(checks)} checks"
    if verdict == WARN:
        return (
            f"The run reached its end; {count} warn: {named}. Read them before using the numbers."
        )
    return f"{count} failed: {named}. Do not use the numbers before the cause is found."


def _tiles(solution: SolutionData, numbers: dict[str, Any]) -> list[tuple[str, str, str]]:
    """(value, unit, description) of the key numbers at the top."""
    scale = max(solution.energy.scale, 1e-300)
    wall = solution.statistics.get("solve_seconds")
    tiles = [
        (number(numbers["t_end"]), "s", "simulated"),
        (str(solution.statistics.get("steps", len(solution.t) - 1)), "", "steps"),
        (
            str(numbers["coordinates"]),
            "",
            f"coordinates, {numbers['elastic_coordinates']} of them elastic",
        ),
        (number(numbers["energy_missing"] / scale, 2), "", "energy error, relative"),
        (number(numbers["drift"][0], 2), "", "largest position drift"),
    ]
    return tiles + (
        [(number(float(wall), 3), "s", "solving")] if isinstance(wall, (int, float)) else []
    )


def _motion(solution: SolutionData) -> Picture:
    """Picture of the mechanism at several times."""
    caption = (
        "Bodies at equal time intervals, the last one darkest, with the paths of the free "
        "frames; deflections to scale."
    )
    return Picture(motion_drawing(solution), "The mechanism at several instants", caption)


def _curves(solution: SolutionData) -> list[DrawnSection]:
    """Sections of curves that the solution has."""
    found = ((section, section.panels(solution)) for section in SECTIONS)
    return [
        DrawnSection(section, readable(panels, MOST_LISTED), _caption(section, solution))
        for section, panels in found
        if panels
    ]


def _caption(section: CurveSection, solution: SolutionData) -> str:
    """Caption of a section of a solution."""
    return section.caption if isinstance(section.caption, str) else section.caption(solution)


def _stresses(solution: SolutionData) -> list[tuple[StressReport, Picture | None]]:
    """Stress of each body with its picture; None without triangles to draw."""
    reports = stress_reports(solution)
    fields = {each.body: field for each in reports if (field := _stress_field(solution, each))}
    drawings = dict(zip(fields, side_by_side(field_drawing, *zip(*fields.values()))))
    return [(each, _stress_picture(each, drawings.get(each.body))) for each in reports]


def _stress_field(
    solution: SolutionData, report: StressReport
) -> tuple[Surface, FloatArray, str, FloatArray] | None:
    """Arguments of the drawing: surface stress at the time of its maximum, and hot spots."""
    joined = surface_of(solution, report.body)
    if joined is None or not has_triangles(joined.surface):
        return None
    surface = joined.surface
    view, spots = solution.body(report.body).stress.glance, report.spots
    values = PASCALS * surface_values(view.field(spots[0].time), surface.node_ids)
    return surface, values, "MPa", np.array([spot.position for spot in spots])


def _stress_picture(report: StressReport, drawing: str | None) -> Picture | None:
    """Picture of the von Mises stress; None without a drawing."""
    return (
        Picture(drawing, f"Von Mises stress of {report.body}", report.caption) if drawing else None
    )


def _model(solution: SolutionData) -> dict[str, Any]:
    """Tables of the model: bodies, joints, drives, forces, contacts."""
    compiled, (force, moment) = solution.compiled, largest_reactions(solution)
    modes = sum(data.nf for data in compiled.data.values())
    table = tomllib.loads(solution.model_text)
    bodies, quiet = solution.model.bodies.items(), (SMALL * force, SMALL * moment)
    lines = [
        *degree_of_freedom_lines(solution.model, modes, _planar(solution)),
        *_dependent(solution, modes),
    ]
    return {
        "bodies": [
            (name, body.kind, mass_of(solution, name), _frames(solution, name))
            for name, body in bodies
        ],
        "joints": [_joint_row(solution, name, quiet) for name in solution.joints],
        "forces": [
            (name, item.get("kind", ""), _target(item))
            for section in ("forces", "contacts", "rotors")
            for name, item in table.get(section, {}).items()
        ],
        "drives": [
            (name, _motion_kind(item), item["joint"])
            for name, item in table.get("drives", {}).items()
        ],
        "couplings": [
            (name, item.kind, item.equation) for name, item in solution.model.couplings.items()
        ],
        "degrees_of_freedom": lines,
        "tree": str(topology(solution.model, compiled.topology.coordinates)),
        "calm": bool(solution.run.impacts),
        "limit": ROWS_LISTED,
    }


def _planar(solution: SolutionData) -> str:
    """Text that counts the degrees of freedom of a planar mechanism; "" otherwise."""
    compiled, q, s = solution.compiled, solution.q[0], solution.s[0]
    beta = path_coordinates(compiled, solution.trajectory)[0]
    work = make_work(compiled.system, beta)
    terms(compiled.system, work, float(solution.t[0]), q, s)
    return planar_line(compiled, InitialState(q, s, beta, motion=work.motion))


def _dependent(solution: SolutionData, modes: int) -> list[str]:
    """Text line on redundant constraint rows and the degrees of freedom left; empty if none."""
    rows = sum(count for _, count in solution.run.redundant)
    left = int(solution.s.shape[1]) - modes - solution.compiled.n_constraints + rows
    return (
        [f"{rows} redundant constraint rows, {left} rigid-body degrees of freedom"] if rows else []
    )


def _frames(solution: SolutionData, body: str) -> str:
    """Text with the frames and number of modes of a body."""
    names = [ref.frame for ref in solution.compiled.frames if ref.body == body and ref.frame]
    data = data_of(solution, body)
    return ", ".join(names) + (f" · {sum(own.nf for own in data)} modes" if data else "")


def _joint_row(solution: SolutionData, name: str, quiet: tuple[float, float]) -> tuple[Any, ...]:
    """Row of the table of joints: kind, bodies, place in the tree, largest loads."""
    joint, place = solution.model.joints[name], solution.compiled.places[name]
    view = solution.joint(name)
    calm = outputs_without_impacts(solution)
    largest = [
        float((part[calm] ** 2).sum(axis=1).max() ** 0.5) for part in (view.force, view.torque)
    ]
    force, torque = (value if value > below else 0.0 for value, below in zip(largest, quiet))
    where = "cut" if place.cut >= 0 else "tree, reversed" if place.reversed else "tree"
    return (
        name,
        joint.kind,
        str(joint.parent),
        str(joint.child),
        joint.nv,
        where,
        force,
        torque,
        view.unique,
    )


def _target(item: dict[str, Any]) -> str:
    """Text of the items on which a force or contact acts."""
    places = [
        str(item[key])
        for key in ("joint", "frame", "frame_a", "frame_b", "parent", "child")
        if key in item
    ]
    return " – ".join(places) or ", ".join(map(str, item.get("of", ())))


def _motion_kind(item: dict[str, Any]) -> str:
    """Kind of the motion of a drive; "constant" for a number."""
    motion = item.get("motion")
    return str(motion.get("kind", "")) if isinstance(motion, dict) else "constant"


def _parts(solution: SolutionData) -> list[dict[str, Any]]:
    """Flexible bodies: mode table, pictures, provenance; bodies with the same data are grouped."""
    parts: dict[str, dict[str, Any]] = {}
    for name in flexible_bodies(solution):
        whole = whole_of(solution, name)
        digest = whole.digest
        if digest in parts:
            parts[digest]["names"].append(name)
            continue
        data = in_one_piece(whole, MODES_LISTED)
        parts[digest] = {
            "names": [name],
            "part": whole.name,
            "nf": data.nf,
            "digest": digest,
            "mass": whole.mass,
            "modes": list(_mode_rows(data)),
            "listed": MODES_LISTED,
            "pieces": isinstance(whole, DividedBodyData),
            "pictures": mode_pictures(data, MODES_DRAWN),
            "provenance": dict(whole.provenance),
        }
    return list(parts.values())


def _mode_rows(data: FlexibleBodyData) -> Iterator[tuple[Any, ...]]:
    """Number, frequency, kind, damping and effective mass of each mode."""
    modes = data.modes
    for k, (f, kind, d, mass) in enumerate(
        zip(modes.frequency, modes.kind, modes.damping, modes.effective_mass[:, :3]), 1
    ):
        yield k, float(f), kind, float(d), [float(m) for m in mass]
