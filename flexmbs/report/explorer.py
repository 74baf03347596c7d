"""Signals of a run from which the reader of a page chooses curves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from flexmbs.player.plots import ItemSignals, QuantitySignals, SignalTable
from flexmbs.results.channels import ONE, Channel, channels

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData

MOST_NUMBERS = 600_000  # of all signals: limits the size of the page to about 1 MB
MOST_ROWS = 2_000_000  # items times outputs of a table: limits the memory to about 200 MB
FEWEST = 200  # instants of a signal, below which the tables at the end of ORDER are left out
# tables in the order of the lists; the last ones are the first to be left out
ORDER = ("joints", "forces", "drives", "contacts", "couplings", "energy", "frames", "bodies")
_ROTATION = re.compile(r"^rotation A[xyz][xyz]$")  # matrices are of no use as curves
_PART = re.compile(r"^(.*\S) (x|y|z|1|2)$")


def chosen_signals(solution: SolutionData) -> SignalTable:
    """All channels of a solution at common times, as many as a page can hold, and notes."""
    notes: list[str] = []
    items: list[tuple[str, ItemSignals]] = []
    for table in ORDER:
        names = _names(solution, table)
        if len(names) * len(solution.t) > MOST_ROWS:
            notes.append(f"Signals of {len(names)} {table} are left out: solution.signal has them.")
            continue
        made = channels(solution, [table]).get(table, [])
        items += [(table, item) for item in _items(table, made, names)]
    most = MOST_NUMBERS // FEWEST
    shown: list[ItemSignals] = []
    left: dict[str, int] = {}
    for table, item in items:
        count = sum(len(each.parts) for each in item.quantities)
        if most >= count:
            most -= count
            shown.append(item)
        else:
            left[table] = left.get(table, 0) + 1
    if left:
        told = ", ".join(f"{count} {table}" for table, count in left.items())
        notes.append(f"Signals of {told} are left out: solution.signal has them.")
    total = sum(len(each.parts) for item in shown for each in item.quantities)
    nt = len(solution.t)
    few = min(nt, max(MOST_NUMBERS // max(total, 1), FEWEST))
    pick = np.unique(np.linspace(0, nt - 1, few).round().astype(int))
    if len(pick) < nt:
        notes.append(f"Curves of {len(pick)} of the {nt} outputs; solution.signal has all of them.")
    return SignalTable(solution.t, pick, shown, notes)


def _names(solution: SolutionData, table: str) -> Sequence[str]:
    """Names of the items of a table, longest first; the energies are one item without a name."""
    names = list(solution.model.forces) if table == "forces" else getattr(solution, table, None)
    return sorted(names, key=len, reverse=True) if isinstance(names, (tuple, list)) else [""]


def _items(table: str, found: Sequence[Channel], names: Sequence[str]) -> Iterator[ItemSignals]:
    """Channels of a table by item, quantity and component."""
    one = ONE.get(table, table)
    items: dict[str, dict[str, list[tuple[str, Channel]]]] = {}
    for channel in found:
        name = next((n for n in names if channel.name.startswith((f"{n} ", f"{n}."))), "")
        rest = channel.name.removeprefix(name).strip()
        if _ROTATION.match(rest):
            continue
        quantity, part = _parted(rest)
        items.setdefault(f"{one} {name}".strip(), {}).setdefault(quantity, []).append(
            (part, channel)
        )
    for item, quantities in items.items():
        yield ItemSignals(
            item,
            [
                QuantitySignals(
                    quantity,
                    own[0][1].unit,
                    [part for part, _ in own],
                    [f"{one} {channel.name}" for _, channel in own],
                    np.column_stack([channel.values for _, channel in own]),
                )
                for quantity, own in quantities.items()
            ],
        )


def _parted(rest: str) -> tuple[str, str]:
    """Quantity and component of a channel: ``force x``, ``.0 position``, ``.mode3``."""
    if rest.startswith("."):
        number, _, quantity = rest[1:].partition(" ")
        if quantity:
            return quantity, number
        return "mode", number.removeprefix("mode")
    match = _PART.match(rest)
    return (match[1], match[2]) if match else (rest, "")
