"""Report as a PDF document, set by typst.

Text, tables and curves as vectors, only solids as pixels.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import pathlib
import struct
import urllib.parse
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from flexmbs.errors import MachineError
from flexmbs.files.output import write_bytes
from flexmbs.page.curve_panels import PlotPanel, readable, span_of
from flexmbs.page.html import Picture, number, powers
from flexmbs.page.style import STATES
from flexmbs.report.content import ROWS_LISTED, Content, content
from flexmbs.report.plots import curve_colour, panel_svg

if TYPE_CHECKING:
    from flexmbs.durability.fatigue import FatigueData
    from flexmbs.report.contacts import ContactRow
    from flexmbs.results.solution import SolutionData

TEMPLATE = pathlib.Path(__file__).with_name("templates") / "report.typ"
NEEDED = 'report: a PDF document needs the package typst; install it: pip install "flexmbs[pdf]"'
MOST_LINES, MOST_IMPACTS = 240, 60  # lines of the model file, and impacts, that are printed
CONTACTS = (
    "contact",
    "kind",
    "closed",
    "largest force",
    "at t [s]",
    "friction [N]",
    "impacts",
    "lost [J]",
)
FRICTIONS = (
    "friction in joints",
    "kind",
    "joint",
    "largest",
    "at t [s]",
    "largest power [W]",
    "lost [J]",
)
IMPACTS = ("t [s]", "impact of", "normal impulse [N s, N m s]", "tangential impulse", "lost [J]")
# characters across the page; longest texts of columns that keep their widths in a table with more
ROOM, NARROW = 100, 20


def write_pdf(
    solution: SolutionData,
    numbers: dict[str, Any],
    path: pathlib.Path,
    fatigue: Sequence[FatigueData] = (),
) -> None:
    """Write the document to ``path``. Raises MachineError, also without the package typst."""
    typesetter()
    write_bytes(path, document(content(solution, numbers, fatigue)))


def typesetter() -> Any:
    """Module typst. Raises MachineError if it is not installed."""
    try:
        import typst
    except ImportError:
        raise MachineError(NEEDED) from None
    return typst


def document(shown: Content) -> bytes:
    """PDF bytes of a report."""
    written = _Document(shown)
    table = json.dumps(written.table()).encode()
    files = {"main.typ": TEMPLATE.read_bytes(), "report.json": table} | written.files
    return bytes(typesetter().compile(files, ignore_system_fonts=True, font_paths=_fonts()))


def _fonts() -> list[pathlib.Path]:
    """Folder of the DejaVu fonts, which come with matplotlib."""
    found = importlib.util.find_spec("matplotlib")
    return (
        []
        if found is None or found.origin is None
        else [pathlib.Path(found.origin).parent / "mpl-data" / "fonts" / "ttf"]
    )


class _Document:
    """Blocks for the template in order, and the pictures by file name."""

    def __init__(self, shown: Content) -> None:
        """Document with all sections of a report."""
        self.shown = shown
        self.blocks: list[dict[str, Any]] = []
        self.files: dict[str, bytes] = {}
        every = [*(panel for each in shown.curves for panel in each.panels), *shown.contact_panels]
        self.span = span_of(every)
        for section in (
            self._checks,
            self._curves,
            self._contacts,
            self._stresses,
            self._damages,
            self._model,
            self._modes,
            self._equations,
            self._solver,
            self._origin,
        ):
            section()

    def table(self) -> dict[str, Any]:
        """Data of the document for the template."""
        shown, origin = self.shown, self.shown.numbers["provenance"]
        return {
            "title": str(shown.numbers["model"]),
            "verdict": shown.numbers["verdict"],
            "sentence": shown.sentence,
            "tiles": shown.tiles,
            "still": self._stored(shown.still),
            "blocks": self.blocks,
            "made": f"Written by flexmbs {origin.get('flexmbs', '')} on {origin.get('date', '')}. "
            "SI units unless stated.",
        }

    def _add(self, kind: str, **given: Any) -> None:
        """Append a block of a kind."""
        self.blocks.append({"kind": kind, **given})

    def _heading(self, text: str, level: int = 1) -> None:
        """Append a heading."""
        self._add("heading", text=text, level=level)

    def _notes(self, lines: Iterable[str]) -> None:
        """Append a note for each line."""
        for line in lines:
            self._add("note", text=powers(line))

    def _rows(
        self,
        columns: str,
        head: Sequence[str],
        rows: Sequence[Sequence[Any]],
        most: int = ROWS_LISTED,
    ) -> None:
        """Add a table with column alignments, heading and rows.

        columns: "l" and "r" for left- and right-aligned, "w" for left-aligned in the remaining
        width.
        """
        shown = [[_cell(value) for value in row] for row in rows[:most]]
        if shown:
            sides = ["right" if column == "r" else "left" for column in columns]
            self._add(
                "table",
                columns=list(zip(sides, _shares(columns, [head, *shown] if head else shown))),
                head=list(head),
                rows=shown,
            )
        if len(rows) > most:
            self._notes([f"and {len(rows) - most} more"])

    def _stored(self, picture: Picture) -> dict[str, str]:
        """Picture as a file of the template."""
        head, _, data = picture.source.partition(",")
        name = f"picture{len(self.files)}.svg"
        self.files[name] = (
            urllib.parse.unquote_to_bytes(data) if "svg" in head else _framed(picture.source)
        )
        return {"file": name, "alt": picture.alt, "caption": picture.caption}

    def _panels(self, panels: Sequence[PlotPanel]) -> None:
        """Append plots with their SVG files and legends."""
        for panel in panels:
            name = f"curves{len(self.files)}.svg"
            self.files[name] = panel_svg(panel, self.span)
            keys = [
                (curve.name, curve_colour(curve, k), curve.dashed)
                for k, curve in enumerate(panel.curves)
            ]
            states = dict.fromkeys(state.kind for bar in panel.bars for state in bar.states)
            keys += [(kind, STATES[kind], False) for kind in states]
            self._add("plot", title=panel.heading, file=name, keys=keys, notes=panel.notes)

    def _checks(self) -> None:
        """Append the section of checks."""
        numbers = self.shown.numbers
        self._heading("Checks")
        rows = [
            (
                {"badge": check["status"]},
                check["title"],
                powers("; ".join(filter(None, (check["found"], check["remedy"])))),
            )
            for check in numbers["checks"]
        ]
        self._rows("llw", (), rows, len(rows))
        self._notes(
            f"Event {event['name']} at t = {number(event['t'], 6)} s"
            for event in numbers["events"][:ROWS_LISTED]
        )
        self._notes(numbers["notes"])

    def _model(self) -> None:
        """Append the section of the model: bodies, joints and other items."""
        model = self.shown.model
        self._heading("Model")
        self._add("lines", lines=model["degrees_of_freedom"])
        self._heading("Bodies", 2)
        self._rows("llrw", ("name", "kind", "mass [kg]", "frames"), model["bodies"])
        if model["joints"]:
            self._heading("Joints", 2)
            head = (
                "name",
                "kind",
                "from",
                "to",
                "freedoms",
                "in tree",
                "largest force [N]",
                "moment [N m]",
            )
            rows = [
                (*row[:6], *(f"{number(value, 3)}{'' if row[8] else '*'}" for value in row[6:8]))
                for row in model["joints"]
            ]
            self._rows("llllrlrr", head, rows)
        if model["calm"]:
            self._notes(["Largest forces and moments exclude steps with impacts."])
        if any(not row[8] for row in model["joints"]):
            self._notes(
                [
                    "* not unique because of redundant constraints; the least-norm wrenches are "
                    "shown."
                ]
            )
        others = [
            *model["forces"], *((name, f"drive, {kind}", on) for name, kind, on in model["drives"]),
            *((name, f"coupling, {kind}", text) for name, kind, text in model["couplings"]),
        ]  # fmt: skip
        if others:
            self._heading("Forces, contacts, rotors, drives and couplings", 2)
            self._rows("llw", ("name", "kind", "acts on"), others)

    def _equations(self) -> None:
        """Append the section of the equations."""
        found = self.shown.equations
        self._heading("Equations")
        self._add("formula", text=found.formula)
        self._add("lines", lines=[line for line in found.lines if line])
        if found.picture:
            self._add("pictures", pictures=[self._stored(found.picture)], across=3)

    def _modes(self) -> None:
        """Append the section of the modes of flexible bodies."""
        if self.shown.parts:
            self._heading("Modes")
        for part in self.shown.parts:
            named = ", ".join(part["names"])
            self._heading(
                named if part["names"] == [part["part"]] else f"{named} · part {part['part']}", 2
            )
            if part["pictures"]:
                self._add(
                    "pictures",
                    pictures=[self._stored(picture) for picture in part["pictures"]],
                    across=3,
                )
            head = (
                "mode",
                "frequency [Hz]",
                "kind",
                "damping ratio",
                "effective mass x",
                "y",
                "z [kg]",
            )
            rows = [
                (
                    k,
                    number(frequency, 5),
                    kind,
                    number(damping, 3),
                    *(_mass(m, part["mass"]) for m in mass),
                )
                for k, frequency, kind, damping, mass in part["modes"]
            ]
            self._rows("rrlrrrr", head, rows, part["listed"])

    def _contacts(self) -> None:
        """Append the section of contacts, friction and impacts."""
        found = self.shown.contacts
        if found is None:
            return
        self._heading("Contacts and friction")
        self._rows("llrrrrrr", CONTACTS, [_contact_row(row) for row in found.rows])
        self._rows("lllrrrr", FRICTIONS, [_friction_row(row) for row in found.frictions])
        self._notes(found.notes)
        self._panels(self.shown.contact_panels)
        impacts = [
            (number(each["t"], 6), *(each[key] for key in ("name", "normal", "along", "lost")))
            for each in found.impacts
        ]
        self._rows("rwrrr", IMPACTS, impacts, MOST_IMPACTS)

    def _curves(self) -> None:
        """Append the sections of curves."""
        for section, panels, caption in self.shown.curves:
            self._heading(section.title)
            self._panels(readable(panels))
            self._notes([caption])

    def _stresses(self) -> None:
        """Append the section of stresses."""
        if self.shown.stresses:
            self._heading("Stress")
        for each, picture in self.shown.stresses:
            self._heading(each.body, 2)
            if picture:
                self._add("pictures", pictures=[self._stored(picture)], across=1)
            self._rows("lw", (), [({"badge": "WARN"}, line) for line in each.warnings])
            self._notes(each.notes)
            head = (
                "spot",
                "node",
                "x",
                "y",
                "z [m]",
                "t [s]",
                "von Mises [MPa]",
                "σ₁",
                "σ₂",
                "σ₃ [MPa]",
                "of yield",
            )
            rows = [
                (
                    k + 1,
                    spot.node,
                    *(number(round(x, 9)) for x in spot.position.tolist()),
                    number(spot.time),
                    number(1e-6 * spot.von_mises),
                    *map(number, spot.shown),
                    f"{number(100 * spot.utilization, 3)} %" if spot.utilization else "–",
                )
                for k, spot in enumerate(each.spots)
            ]
            self._rows("rrrrrrrrrrr", head, rows)

    def _damages(self) -> None:
        """Append the section of fatigue."""
        if self.shown.damages:
            self._heading("Fatigue")
        for each in self.shown.damages:
            self._heading(each.body, 2)
            if each.picture:
                self._add("pictures", pictures=[self._stored(each.picture)], across=1)
            self._notes([each.about, *each.notes])
            head = (
                "worst",
                "node",
                "x",
                "y",
                "z [m]",
                "damage",
                "runs to failure",
                "amplitude [MPa]",
                "mean [MPa]",
            )
            rows = [
                (
                    k,
                    spot.node,
                    *(number(round(x, 9) + 0.0) for x in spot.position),
                    *(number(value) for value in spot[2:]),
                )
                for k, spot in enumerate(each.worst, 1)
            ]
            self._rows("rrrrrrrrr", head, rows)

    def _solver(self) -> None:
        """Append the section of options and statistics of the solver."""
        numbers = self.shown.numbers
        self._heading("Solver")
        facts = {**numbers["options"], **numbers["statistics"]}
        self._rows(
            "lw", (), [(key.replace("_", " "), value) for key, value in facts.items()], len(facts)
        )

    def _origin(self) -> None:
        """Append the section of provenance with the model file."""
        self._heading("Provenance")
        digests = [
            (f"digest of {', '.join(part['names'])}", part["digest"]) for part in self.shown.parts
        ]
        facts = [*self.shown.numbers["provenance"].items(), *digests]
        self._rows("lw", (), facts, len(facts))
        self._heading("Model file", 2)
        lines = self.shown.model_text.splitlines()
        left = len(lines) - MOST_LINES
        self._add("code", text="\n".join(lines[:MOST_LINES]))
        if left > 0:
            self._notes([f"and {left} more lines in the solution file"])


def _contact_row(row: ContactRow) -> tuple[Any, ...]:
    """Cells of the table row of a contact."""
    friction = "–" if row.friction is None else row.friction
    force, lost = f"{number(row.normal)} {row.unit}", row.lost if row.impacts else "–"
    return (
        row.name,
        row.kind,
        f"{number(100 * row.closed, 3)} %",
        force,
        row.time,
        friction,
        row.impacts,
        lost,
    )


def _friction_row(row: dict[str, Any]) -> tuple[Any, ...]:
    """Cells of the table row of a joint friction."""
    largest = f"{number(row['largest'])} {row['unit']}"
    return (
        row["name"],
        row["kind"],
        row["joint"],
        largest,
        row["time"],
        row["most_power"],
        row["lost"],
    )


def _framed(source: str) -> bytes:
    """SVG file that contains the data URL of a PNG."""
    width, height = struct.unpack(">II", base64.b64decode(source.partition(",")[2][:32])[16:24])
    size = f'width="{width}" height="{height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><image {size} href="{source}"/></svg>'.encode()


def _cell(value: Any) -> Any:
    """Table value as text, but badges unchanged."""
    if isinstance(value, dict):
        return value
    return (
        "none" if value is None else number(value) if isinstance(value, int | float) else str(value)
    )


def _shares(columns: str, rows: Sequence[Sequence[Any]]) -> list[int]:
    """Share of each column in the remaining width, 0 for a column as wide as its texts.

    Names may be 100 characters long.
    """
    longest = [
        max((len(text) for text in texts if isinstance(text, str)), default=0)
        for texts in zip(*rows)
    ]
    if sum(longest) + 2 * len(longest) <= ROOM:
        return [int(column == "w") for column in columns]
    return [
        min(n, ROOM // 2) if n > NARROW or column == "w" else 0
        for column, n in zip(columns, longest)
    ]


def _mass(value: float, total: float) -> str:
    """Effective mass, or a dash if it is negligible."""
    return number(value, 3) if value > 1e-6 * total else "–"
