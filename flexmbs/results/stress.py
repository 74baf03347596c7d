"""Stress of a flexible body over a run: histories at nodes, fields at instants, envelope and hot spots.

    σ(t) = σ₀ + Σ_k q_k(t) σ_k + Σ_j ζ_j(t) τ_j        (see `flexmbs.flexible_body.stress`)

Nodes are processed in blocks, so that neither the stress modes nor the histories of a large body need to be in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from flexmbs.errors import InputError
from flexmbs.flexible_body.parts import Surface
from flexmbs.flexible_body.stress import StressModes, von_mises
from flexmbs.results.body_loads import BodyLoads
from flexmbs.results.hot_spots import Envelope, HotSpots, hot_spots
from flexmbs.results.ply_stress import PlyView
from flexmbs.results.stress_values import FloatArray, IntArray, NodalStress

BLOCK = 4 * 2**20  # bytes of the stresses of one block of nodes, for which the fast memory of a processor has room
MOST_TIMES = 2000  # evaluated by summary and report


@dataclass(frozen=True, eq=False)
class StressView:
    """Stress of one body at the nodes with stress data, in body axes.

    name: the body's.  t (nt,): output times.  history, field, envelope and hot_spots are evaluated on demand.
    """

    name: str
    t: FloatArray
    _modes: StressModes
    _surface: Surface
    _elastic: FloatArray
    _find_loads: Callable[[], BodyLoads]

    @property
    def node_ids(self) -> IntArray:
        """Numbers (n,) of the nodes in the mesh; one entry for each material of a node."""
        return self._surface.node_ids[self._modes.rows]

    @property
    def positions(self) -> FloatArray:
        """Undeformed positions (n, 3) of the nodes in the body frame, m."""
        return self._surface.nodes[self._modes.rows]

    @property
    def yield_stress(self) -> FloatArray:
        """Yield stress (n,) of the material at the nodes, Pa; infinite if unknown."""
        return self._modes.yield_stress[self._modes.material]

    @property
    def uncorrected(self) -> tuple[str, ...]:
        """Frames whose joints or forces have no static correction: their load is represented by the modes only."""
        return self._loads.uncorrected

    @property
    def open_joints(self) -> tuple[str, ...]:
        """Joints on the body whose wrench is not unique: the static correction uses the one of least norm."""
        return self._loads.open_joints

    def nearest(self, position: ArrayLike) -> int:
        """Number of the node nearest to a position in the body frame, m."""
        away = np.linalg.norm(self.positions - np.asarray(position, float), axis=1)
        return int(self.node_ids[np.argmin(away)])

    def history(self, nodes: int | Iterable[int]) -> NodalStress:
        """Stress of chosen nodes (numbers in the mesh) at all output times. Raises InputError for nodes without stress."""
        wanted = np.atleast_1d(np.asarray(nodes, np.int64)).ravel()
        ids = self.node_ids
        missing = wanted[~np.isin(wanted, ids)]
        if len(missing):
            raise InputError(f"node {missing[0]} of body '{self.name}' has no stress; use one of .node_ids or .nearest(…)")
        rows = np.concatenate([np.flatnonzero(ids == node) for node in wanted]).astype(np.int64)
        return self._nodal(self.t, rows, self._values(rows, self._factors).transpose(2, 0, 1))

    def field(self, t: float) -> NodalStress:
        """Stress of all nodes at the output time nearest to t, s. Raises InputError for times outside of the run."""
        if not self.t[0] <= t <= self.t[-1]:
            raise InputError(f"t: {t:g} s is outside of the solution, which has {self.t[0]:g} … {self.t[-1]:g} s")
        i = int(np.argmin(np.abs(self.t - t)))
        blocks = [self._values(rows, self._factors[:, i : i + 1])[:, :, 0] for rows in self._blocks(1)]
        return self._nodal(self.t[i], np.arange(len(self._modes.rows)), np.concatenate(blocks))

    @cached_property
    def envelope(self) -> Envelope:
        """Largest von Mises stress of each node over the run, and its time."""
        largest, at = np.zeros(len(self._modes.rows)), np.zeros(len(self._modes.rows), np.int64)
        for rows in self._blocks(len(self.t)):
            values = von_mises(self._values(rows, self._factors).transpose(0, 2, 1))
            at[rows] = values.argmax(axis=1)
            largest[rows] = np.take_along_axis(values, at[rows, None], axis=1)[:, 0]
        return Envelope(self.node_ids, self.positions, largest, self.t[at])

    @property
    def utilization(self) -> FloatArray:
        """Largest von Mises stress over the run by the yield stress (n,); zero if the latter is unknown."""
        return np.asarray(self.envelope.von_mises / self.yield_stress)

    def hot_spots(self, count: int = 10, *, spacing: float | None = None) -> HotSpots:
        """The ``count`` nodes of largest von Mises stress over the run, no two nearer than ``spacing`` (m; default 5 % of the
        body's size), with time, principal stresses and utilization; printable. Raises InputError."""
        return hot_spots(self, count, spacing)

    @cached_property
    def plies(self) -> PlyView:
        """Stress in the plies of laminated shells. Raises InputError for a body without them."""
        if self._modes.plies is None:
            raise InputError(
                f"body '{self.name}' has no plies; they are those of pp.LaminateSection, with stress, in the reduced part"
            )

        def values(rows: IntArray, times: slice) -> FloatArray:
            return self._values(rows, self._factors[:, times]).transpose(2, 0, 1)

        return PlyView(self.name, self.t, self._modes.plies, self.node_ids, self.positions, values)

    @property
    def has_strengths(self) -> bool:
        """Whether plies of the body have known strengths."""
        return self._modes.plies is not None and self._modes.plies.known

    @cached_property
    def glance(self) -> StressView:
        """The stress at no more than `MOST_TIMES` of the output times, equally spaced, as used by summary and report."""
        if len(self.t) <= MOST_TIMES:
            return self
        pick = np.unique(np.linspace(0, len(self.t) - 1, MOST_TIMES).astype(int))
        loads = self._loads._replace(factors=self._loads.factors[pick])
        return StressView(self.name, self.t[pick], self._modes, self._surface, self._elastic[pick], lambda: loads)

    @property
    def factors(self) -> FloatArray:
        """Elastic coordinates, unit loads, and 1 for the stress at rest if there is one, (nf + 12 + 6k [+ 1], nt)."""
        initial = self._modes.initial is not None
        return np.concatenate([self._factors, np.ones((int(initial), self._factors.shape[1]))])

    def shapes(self, rows: IntArray) -> FloatArray:
        """Stress (n, 6, L) of each of the `factors` at rows of the nodes with stress, Pa. Raises InputError as `history`."""
        units = np.eye(self._factors.shape[0])
        values = self._values(rows, units)
        initial = self._initial(rows)[:, :, None]
        return values if self._modes.initial is None else np.concatenate([values - initial, initial], axis=2)

    def at_times(self, rows: IntArray, times: IntArray) -> FloatArray:
        """Stress (m, 6) of rows (m,), each at its own output index (m,)."""
        modes, correction = (np.asarray(part[rows], float) for part in (self._modes.modes, self._modes.correction))
        shapes = np.concatenate([modes, correction], axis=2)
        return np.asarray(np.einsum("ncl,ln->nc", shapes, self._factors[:, times]) + self._initial(rows))

    @cached_property
    def _loads(self) -> BodyLoads:
        return self._find_loads()

    @cached_property
    def _factors(self) -> FloatArray:
        """q and ζ, (nf + 12 + 6k, nt)."""
        return np.ascontiguousarray(np.concatenate([self._elastic, self._loads.factors], axis=1).T)

    def _blocks(self, times: int) -> Iterator[IntArray]:
        """Rows, as many at a time as `BLOCK` allows."""
        width = 6 * 8 * max(times, self._factors.shape[0])
        n = len(self._modes.rows)
        yield from np.array_split(np.arange(n), max(1, min(n, -(-n * width // BLOCK))))

    def _values(self, rows: IntArray, factors: FloatArray) -> FloatArray:
        """Stress (rows, 6, times) for q and ζ (nf + 12 + 6k, times). Raises InputError for stress modes that are not finite."""
        parts = [np.asarray(_taken(part, rows), float) for part in (self._modes.modes, self._modes.correction)]
        shapes = np.concatenate(parts, axis=2)
        if not np.isfinite(shapes).all():
            raise InputError(f"body '{self.name}': its stress modes have values that are not finite; reduce it again")
        stress = (shapes.reshape(-1, shapes.shape[2]) @ factors).reshape(len(rows), 6, -1)
        return np.asarray(stress + self._initial(rows)[:, :, None])

    def _initial(self, rows: IntArray) -> FloatArray:
        return np.zeros((len(rows), 6)) if self._modes.initial is None else self._modes.initial[rows]

    def _nodal(self, t: FloatArray, rows: IntArray, stress: FloatArray) -> NodalStress:
        compliance = self._modes.compliance[self._modes.material[rows]]
        plies = self._modes.plies
        laminated = plies is not None and bool(np.isin(rows, [plies.bottom, plies.top]).any())
        return NodalStress(t, self.node_ids[rows], self.positions[rows], stress, compliance, laminated)


def _taken(values: np.ndarray, rows: IntArray) -> np.ndarray:
    """values[rows], read as one block if the rows are contiguous."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
        return values[rows[0] : rows[-1] + 1]
    return values[rows]
