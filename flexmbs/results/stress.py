"""Stress of a flexible body over a run: histories, fields, envelope and hot spots.

    σ(t) = σ₀ + Σ_k q_k(t) σ_k + Σ_j ζ_j(t) τ_j        (see `flexmbs.flexible_body.stress`)

Nodes are processed in blocks, so that neither the stress modes nor the histories of a large body
need to be in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import Surface
from flexmbs.flexible_body.plies import Plies, joined_plies
from flexmbs.flexible_body.stress import StressModes, von_mises
from flexmbs.results.body_loads import LoadFactors
from flexmbs.results.hot_spots import Envelope, HotSpots, hot_spots
from flexmbs.results.output_selection import outputs_with_extremes
from flexmbs.results.ply_stress import PlyView
from flexmbs.results.stress_values import FloatArray, IntArray, NodalStress
from flexmbs.signals.signal_arguments import one_number, whole_numbers

# bytes of the stresses of one block of nodes: fits into the cache of a processor
BLOCK = 4 * 2**20
# outputs, and nodes times outputs, evaluated by summary and report
MOST_TIMES, MOST_VALUES = 2000, 20_000_000
EVEN_NODES = 40  # equally spaced nodes among those that select the outputs


class StressPiece(NamedTuple):
    """Stress data of a piece of a body.

    Its stress modes, the row in them for each of the n entries of the body (−1 if it has none),
    elastic coordinates (nt, nf), and a function for its loads.
    """

    modes: StressModes
    entries: IntArray
    elastic: FloatArray
    find_loads: Callable[[], LoadFactors]


@dataclass(frozen=True, eq=False)
class StressView:
    """Stress of one body at the nodes with stress data, in body axes.

    For a divided body in the axes of the piece, which turn with the material. name: of the body. t
    (nt,): output times. rows (n,): rows of the nodes in the surface of the body, one per material.
    history, field, envelope and hot_spots are evaluated on demand. At a cut of a divided body the
    stress is the mean of both pieces.

    """

    name: str
    t: FloatArray
    rows: IntArray
    _surface: Surface
    _pieces: tuple[StressPiece, ...]

    @property
    def node_ids(self) -> IntArray:
        """Mesh numbers (n,) of the nodes; one entry per material of a node."""
        return self._surface.node_ids[self.rows]

    @property
    def positions(self) -> FloatArray:
        """Undeformed positions (n, 3) of the nodes in the body frame, m."""
        return self._surface.nodes[self.rows]

    @property
    def yield_stress(self) -> FloatArray:
        """Yield stress (n,) of the material at the nodes, Pa; infinite if unknown."""
        found = np.zeros(len(self.rows))
        for piece in self._pieces:
            has = piece.entries >= 0
            found[has] = piece.modes.yield_stress[piece.modes.material[piece.entries[has]]]
        return found

    @property
    def uncorrected(self) -> tuple[str, ...]:
        """Frames whose joints or forces have no static correction.

        Their load is represented by the modes only.
        """
        return tuple(name for loads in self._loads for name in loads.uncorrected)

    @property
    def open_joints(self) -> tuple[str, ...]:
        """Joints on the body whose wrench is not unique.

        The static correction uses the one of least norm.
        """
        return tuple(dict.fromkeys(name for loads in self._loads for name in loads.open_joints))

    def nearest(self, position: ArrayLike) -> int:
        """Number of the node nearest to a position [m] in the body frame."""
        away = np.linalg.norm(self.positions - np.asarray(position, float), axis=1)
        return int(self.node_ids[np.argmin(away)])

    def history(self, nodes: int | Iterable[int]) -> NodalStress:
        """Stress of the given nodes (numbers in the mesh) at all output times.

        Raises InputError for nodes without stress.
        """
        wanted = whole_numbers(nodes, "nodes")
        ids = self.node_ids
        missing = wanted[~np.isin(wanted, ids)]
        if len(missing):
            raise InputError(
                f"node {missing[0]} of body '{self.name}' has no stress; use one of "
                ".node_ids or .nearest(…)"
            )
        rows = np.concatenate([np.flatnonzero(ids == node) for node in wanted]).astype(np.int64)
        return self._nodal(self.t, rows, self._values(rows, self._factors).transpose(2, 0, 1))

    def field(self, t: float) -> NodalStress:
        """Stress of all nodes at the output time nearest to t [s].

        Raises InputError for times outside the run.
        """
        t = one_number(t, "t")
        if not self.t[0] <= t <= self.t[-1]:
            raise InputError(
                f"t: {t:g} s is outside the solution, which covers {self.t[0]:g} … {self.t[-1]:g} s"
            )
        i = int(np.argmin(np.abs(self.t - t)))
        blocks = [
            self._values(rows, self._factors[:, i : i + 1])[:, :, 0] for rows in self._blocks(1)
        ]
        return self._nodal(self.t[i], np.arange(len(self.rows)), np.concatenate(blocks))

    @cached_property
    def envelope(self) -> Envelope:
        """Largest von Mises stress of each node over the run, and its time."""
        largest, at = np.zeros(len(self.rows)), np.zeros(len(self.rows), np.int64)
        for rows in self._blocks(len(self.t)):
            values = von_mises(self._values(rows, self._factors).transpose(0, 2, 1))
            at[rows] = values.argmax(axis=1)
            largest[rows] = np.take_along_axis(values, at[rows, None], axis=1)[:, 0]
        return Envelope(self.node_ids, self.positions, largest, self.t[at])

    @property
    def utilization(self) -> FloatArray:
        """Largest von Mises stress over the run divided by the yield stress (n,).

        Zero if the latter is unknown.
        """
        return np.asarray(self.envelope.von_mises / self.yield_stress)

    def hot_spots(self, count: int = 10, *, spacing: float | None = None) -> HotSpots:
        """Hot spots: the ``count`` nodes of largest von Mises stress over the run.

        spacing: least distance (m), by default 5 % of the body's size. With time, principal
        stresses and utilization; printable. Raises InputError.
        """
        return hot_spots(self, count, spacing)

    @cached_property
    def plies(self) -> PlyView:
        """Stress in the plies of laminated shells.

        Raises InputError for a body without them.
        """
        if self._plies is None:
            raise InputError(
                f"body '{self.name}' has no plies; they require pp.LaminateSection, "
                "with stress, in the reduced part"
            )

        def values(rows: IntArray, times: slice) -> FloatArray:
            """Stress (n, nt, 6) of rows of the surface at some outputs."""
            return self._values(rows, self._factors[:, times]).transpose(2, 0, 1)

        return PlyView(self.name, self.t, self._plies, self.node_ids, self.positions, values)

    @property
    def has_strengths(self) -> bool:
        """True if plies of the body have known strengths."""
        return self._plies is not None and self._plies.known

    @cached_property
    def glance(self) -> StressView:
        """Stress view restricted to few outputs, for summary and report.

        At all output times, or for a large body in a long run at most at `MOST_TIMES` outputs,
        including those where it is largest.
        """
        if len(self.t) <= MOST_TIMES or len(self.t) * len(self.rows) <= MOST_VALUES:
            return self
        pick = self._times_with_extremes()
        found = (loads._replace(factors=loads.factors[pick]) for loads in self._loads)
        pieces = [
            piece._replace(elastic=piece.elastic[pick], find_loads=lambda own=own: own)  # type: ignore[misc]
            for piece, own in zip(self._pieces, found)
        ]
        return StressView(self.name, self.t[pick], self.rows, self._surface, tuple(pieces))

    def _times_with_extremes(self) -> IntArray:
        """Indices of outputs selected by the largest stress and utilization of some nodes.

        These are the nodes with the largest stress in one of the shapes, and a few equally spaced
        ones.
        """
        shapes = self._factors.shape[0]
        found = [
            von_mises(self.shapes(rows)[:, :, :shapes].transpose(0, 2, 1))
            for rows in self._blocks(shapes)
        ]
        even = np.linspace(0, len(self.rows) - 1, min(len(self.rows), EVEN_NODES)).astype(np.int64)
        nodes = np.unique(np.concatenate([np.concatenate(found).argmax(axis=0), even]))
        scores = np.zeros((2, len(self.t)))
        for some in np.array_split(
            np.arange(len(self.t)), -(-len(self.t) * len(nodes) * 48 // BLOCK)
        ):
            values = von_mises(self._values(nodes, self._factors[:, some]).transpose(0, 2, 1))
            scores[:, some] = (
                values.max(axis=0),
                (values / self.yield_stress[nodes, None]).max(axis=0),
            )
        return outputs_with_extremes(scores, MOST_TIMES)

    @property
    def factors(self) -> FloatArray:
        """Elastic coordinates and unit loads, (nf + 12 + 6k [+ 1], nt).

        And 1 for the initial stress if there is any.
        """
        return np.concatenate(
            [self._factors, np.ones((int(self._at_rest), self._factors.shape[1]))]
        )

    def shapes(self, rows: IntArray) -> FloatArray:
        """Stress shapes (n, 6, L) [Pa], one for each of the `factors`, at rows of the nodes.

        Raises InputError as `history`.
        """
        values, initial = (
            self._values(rows, np.eye(self._factors.shape[0])),
            self._initial(rows)[:, :, None],
        )
        return np.concatenate([values - initial, initial], axis=2) if self._at_rest else values

    def at_times(self, rows: IntArray, times: IntArray) -> FloatArray:
        """Stress (m, 6) of rows (m,), each at its own output index (m,)."""
        return np.stack(
            [
                self._values(rows[k : k + 1], self._factors[:, times[k : k + 1]])[0, :, 0]
                for k in range(len(rows))
            ]
        )

    @cached_property
    def _loads(self) -> list[LoadFactors]:
        return [piece.find_loads() for piece in self._pieces]

    @cached_property
    def _factors(self) -> FloatArray:
        """Modal coordinates and load factors of all pieces, (L, nt)."""
        parts = [
            part
            for piece, loads in zip(self._pieces, self._loads)
            for part in (piece.elastic, loads.factors)
        ]
        return np.ascontiguousarray(np.concatenate(parts, axis=1).T)

    @property
    def _at_rest(self) -> bool:
        """True if the body has an initial stress."""
        return any(piece.modes.initial is not None for piece in self._pieces)

    @cached_property
    def _plies(self) -> Plies | None:
        """Plies of all pieces, with indices into the entries of the body."""
        found = []
        for piece in self._pieces:
            if piece.modes.plies is not None:
                place = np.zeros(len(piece.modes.rows), np.int64)
                has = np.flatnonzero(piece.entries >= 0)
                place[piece.entries[has]] = has
                found.append((piece.modes.plies, place))
        return joined_plies(found) if found else None

    def _blocks(self, times: int) -> Iterator[IntArray]:
        """Indices of all entries in blocks that fit within the limit `BLOCK` of memory."""
        width = 6 * 8 * max(times, self._factors.shape[0])
        n = len(self.rows)
        yield from np.array_split(np.arange(n), max(1, min(n, -(-n * width // BLOCK))))

    @cached_property
    def _sharing(self) -> FloatArray:
        """Number (n,) of pieces that share each entry."""
        return np.asarray(sum((piece.entries >= 0).astype(float) for piece in self._pieces))

    def _by_piece(self, rows: IntArray) -> Iterator[tuple[int, IntArray, IntArray]]:
        """(piece, positions in ``rows``, rows within the piece) of each piece concerned.

        With their positions in ``rows``, and their rows in the piece.
        """
        for k, piece in enumerate(self._pieces):
            own = piece.entries[rows]
            on = np.flatnonzero(own >= 0)
            if len(on):
                yield k, on, own[on]

    def _values(self, rows: IntArray, factors: FloatArray) -> FloatArray:
        """Stress (rows, 6, times) at rows for factors (L, times).

        Raises InputError for stress modes that are not finite.
        """
        if len(self._pieces) == 1 and not self._at_rest:
            return self._of_piece(0, self._pieces[0].entries[rows], factors)
        found = np.repeat(self._initial(rows)[:, :, None], factors.shape[1], axis=2)
        lengths = [
            piece.elastic.shape[1] + loads.factors.shape[1]
            for piece, loads in zip(self._pieces, self._loads)
        ]
        ends = np.cumsum([0, *lengths])
        for k, on, own in self._by_piece(rows):
            found[on] += (
                self._of_piece(k, own, factors[ends[k] : ends[k + 1]])
                / self._sharing[rows[on], None, None]
            )
        return found

    def _of_piece(self, k: int, own: IntArray, factors: FloatArray) -> FloatArray:
        """Stress (m, 6, times) at rows (m,) of a piece for its factors (L, times).

        Without the initial stress.
        """
        modes = self._pieces[k].modes
        shapes = np.concatenate(
            [np.asarray(_rows_of(part, own), float) for part in (modes.modes, modes.correction)],
            axis=2,
        )
        if not np.isfinite(shapes).all():
            raise InputError(
                f"body '{self.name}': its stress modes have values that are not finite; "
                "reduce it again"
            )
        return np.asarray((shapes.reshape(-1, shapes.shape[2]) @ factors).reshape(len(own), 6, -1))

    def _initial(self, rows: IntArray) -> FloatArray:
        """Initial stress (n, 6) at rows of the surface, averaged over the pieces sharing them."""
        found = np.zeros((len(rows), 6))
        for k, on, own in self._by_piece(rows):
            initial = self._pieces[k].modes.initial
            if initial is not None:
                found[on] += initial[own] / self._sharing[rows[on], None]
        return found

    def _nodal(self, t: FloatArray, rows: IntArray, stress: FloatArray) -> NodalStress:
        """Nodal stress of rows of the surface, with the compliance of their materials."""
        compliance = np.zeros((len(rows), 6, 6))
        for k, on, own in self._by_piece(rows):
            modes = self._pieces[k].modes
            compliance[on] = modes.compliance[modes.material[own]]
        plies = self._plies
        laminated = plies is not None and bool(np.isin(rows, [plies.bottom, plies.top]).any())
        return NodalStress(
            t, self.node_ids[rows], self.positions[rows], stress, compliance, laminated
        )


def _rows_of(values: np.ndarray, rows: IntArray) -> np.ndarray:
    """values[rows]; contiguous rows are read as one block."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
        return values[rows[0] : rows[-1] + 1]
    return values[rows]
