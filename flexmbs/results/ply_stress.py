"""Stress in the plies of laminated shells over a run.

With the Tsai–Wu failure index (`flexmbs.flexible_body.plies`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from flexmbs.errors import InputError
from flexmbs.flexible_body.plies import PLACES, Plies, PlyPlaces, tsai_wu_parts
from flexmbs.results.stress_values import FloatArray, IntArray
from flexmbs.signals.signal_arguments import one_number, whole_numbers

BLOCK = 2**21  # numbers in one block of points, 16 MB


@dataclass(frozen=True, eq=False)
class PlyStress:
    """Stress at m places in plies, in the axes of each ply.

    At one time t () or at all output times t (nt,).

    node_ids (m,): numbers of the points on the bottom of the shell; positions (m, 3): their
    undeformed positions [m]. ply (m,): from 1 at the bottom.  place (m,): "bottom", "middle" or
    "top" of the ply. stress (m, 3) or (nt, m, 3): σ₁ along the fibres, σ₂ across, τ₁₂ [Pa].
    strengths (m, 5): X_t, X_c, Y_t, Y_c, S [Pa].

    """

    t: FloatArray
    node_ids: IntArray
    positions: FloatArray
    ply: IntArray
    place: tuple[str, ...]
    stress: FloatArray
    strengths: FloatArray

    @property
    def tsai_wu(self) -> FloatArray:
        """Failure index (m,) or (nt, m), 1 at failure; zero in plies of unknown strength.

        Raises InputError if all strengths are unknown.
        """
        return np.asarray(sum(self._parts()))

    @property
    def strength_ratio(self) -> FloatArray:
        """Strength ratio R (m,) or (nt, m): the ply fails at R times the stress.

        Infinite if it never does. Raises InputError as `tsai_wu`.
        """
        b, a = self._parts()
        with np.errstate(divide="ignore"):
            return np.asarray(2 / (b + np.sqrt(b**2 + 4 * a)))

    def _parts(self) -> tuple[FloatArray, FloatArray]:
        """Linear and quadratic parts of the Tsai–Wu criterion. Raises `InputError`."""
        if not np.isfinite(self.strengths).all(axis=1).any():
            raise InputError(
                "plies: their strengths are unknown; give Orthotropic(…, strengths=(Xt, "
                "Xc, Yt, Yc, S))"
            )
        return tsai_wu_parts(self.stress, self.strengths)


@dataclass(frozen=True, eq=False)
class PlyEnvelope:
    """Largest Tsai–Wu index over the run at each of p points.

    node_ids (p,) on the bottom, positions (p, 3) [m], tsai_wu (p,), time (p,) [s], ply (p,) from 1,
    place (p,).
    """

    node_ids: IntArray
    positions: FloatArray
    tsai_wu: FloatArray
    time: FloatArray
    ply: IntArray
    place: tuple[str, ...]

    @property
    def worst(self) -> int:
        """Index of the point with the largest failure index."""
        return int(np.argmax(self.tsai_wu))


@dataclass(frozen=True, eq=False)
class PlyView:
    """Stress in the plies of one body.

    name: of the body.  t (nt,): output times.  history, field and envelope are evaluated on demand.

    """

    name: str
    t: FloatArray
    plies: Plies
    _node_ids: IntArray
    _positions: FloatArray
    _values: Callable[[IntArray, slice], FloatArray]

    def history(self, nodes: int | Iterable[int]) -> PlyStress:
        """Stress in all plies at the given nodes at all output times.

        nodes: numbers on either face of the shell. Raises InputError for nodes without plies.
        """
        wanted = whole_numbers(nodes, "nodes")
        faces = np.stack([self._node_ids[self.plies.bottom], self._node_ids[self.plies.top]])
        missing = wanted[~np.isin(wanted, faces)]
        if len(missing):
            raise InputError(
                f"node {missing[0]} of body '{self.name}' has no plies; use .nearest(…) "
                "of its stress"
            )
        points = np.concatenate([np.flatnonzero((faces == node).any(axis=0)) for node in wanted])
        return self._at(points, slice(None), self.t)

    def field(self, t: float) -> PlyStress:
        """Stress in all plies at all points at the output time nearest to t [s].

        Raises InputError for times outside the run.
        """
        t = one_number(t, "t")
        if not self.t[0] <= t <= self.t[-1]:
            raise InputError(
                f"t: {t:g} s is outside the solution, which covers {self.t[0]:g} … {self.t[-1]:g} s"
            )
        i = int(np.argmin(np.abs(self.t - t)))
        found = self._at(np.arange(len(self.plies.bottom)), slice(i, i + 1), self.t[i])
        return replace(found, stress=found.stress[0])

    @cached_property
    def envelope(self) -> PlyEnvelope:
        """Largest failure index of each point over the run.

        Raises InputError if all strengths are unknown.
        """
        p = len(self.plies.bottom)
        size = 3 * int(np.diff(self.plies.first).max()) * len(self.t) * 3
        blocks = np.array_split(np.arange(p), max(1, min(p, -(-p * size // BLOCK))))
        index, time, ply, place = (
            np.concatenate(each) for each in zip(*(self._worst(points) for points in blocks))
        )
        rows = self.plies.bottom
        names = tuple(PLACES[k] for k in place)
        return PlyEnvelope(
            self._node_ids[rows], self._positions[rows], index, self.t[time], ply, names
        )

    def _worst(self, points: IntArray) -> tuple[FloatArray, IntArray, IntArray, IntArray]:
        """Largest failure index of each point over times and places.

        With its time, ply number and place.
        """
        places, found = self.plies.places(points), self._at(points, slice(None), self.t)
        index = found.tsai_wu
        time = index.argmax(axis=0)
        largest = index[time, np.arange(index.shape[1])]
        order = np.lexsort([-largest, places.point])
        row = order[np.searchsorted(places.point[order], np.arange(len(points)))]
        return largest[row], time[row], found.ply[row], places.place[row]

    def _at(self, points: IntArray, times: slice, t: FloatArray) -> PlyStress:
        """Ply stress at points of the surface and some outputs."""
        plies = self.plies
        places = plies.places(points)
        faces = (self._values(rows[points], times) for rows in (plies.bottom, plies.top))
        stress = plies.stress(points, places, *faces)
        found = PlyPlaces(points[places.point], places.ply, places.place)
        rows = plies.bottom[found.point]
        names = tuple(PLACES[k] for k in places.place)
        return PlyStress(
            t,
            self._node_ids[rows],
            self._positions[rows],
            plies.number(found),
            names,
            stress,
            plies.strengths[places.ply],
        )
