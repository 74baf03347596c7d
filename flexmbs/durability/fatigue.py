"""Fatigue damage at the nodes of a flexible body over a run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from flexmbs.durability.critical_plane import in_plane, worst_plane
from flexmbs.durability.cycles import counted
from flexmbs.durability.sn_curve import SNCurve
from flexmbs.errors import InputError, ModelWarning, warn_caller
from flexmbs.files.output import write_text
from flexmbs.flexible_body.components import Surface
from flexmbs.flexible_body.stress import von_mises
from flexmbs.results.solution import SolutionData
from flexmbs.results.stress import StressView
from flexmbs.results.stress_values import FloatArray, IntArray, NodalStress, principal
from flexmbs.results.tables import table_text
from flexmbs.signals.signal_arguments import whole_number, whole_numbers

BLOCK = 256  # nodes processed at a time
DAMAGE_CHANGE = 0.1  # relative change of the damage with more outputs that triggers a warning
PERPENDICULAR = 0.2  # cosine below which two deviators are neither along nor against each other
# relative difference of the largest principal stress magnitudes below which stress counts as shear
SHEAR_TOLERANCE = 0.1
MEASURES = ("signed von Mises", "principal", "critical plane")


class FatiguePart(NamedTuple):
    """Body: SHA-256 of its data, and its surface."""

    digest: str
    surface: Surface


@dataclass(frozen=True, eq=False)
class FatigueData:
    """Damage D (n,) of one run at nodes of a body by the Palmgren–Miner rule.

    Prints the worst nodes.

    node_ids (n,), positions (n, 3): undeformed, body axes [m].  amplitude, mean (n,): of the cycle
    with the largest share of the damage, or with the largest range without damage [Pa].  part:
    surface of the body and digest of its data.

    """

    body: str
    measure: str
    curve: SNCurve
    node_ids: IntArray
    positions: FloatArray
    damage: FloatArray
    amplitude: FloatArray
    mean: FloatArray
    part: FatiguePart

    @property
    def life(self) -> FloatArray:
        """Runs to failure 1/D (n,); infinite without damage."""
        return np.divide(
            1.0, self.damage, out=np.full_like(self.damage, np.inf), where=self.damage > 0.0
        )

    def worst(self, count: int = 10) -> IntArray:
        """Rows of the nodes with the largest damage, worst first."""
        return np.lexsort((-self.amplitude, -self.damage))[:count]

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write a table of all nodes. Raises InputError, MachineError."""
        columns = [("x [m]", "y [m]", "z [m]")[k] for k in range(3)]
        places = [(name, self.positions[:, k]) for k, name in enumerate(columns)]
        values = [
            ("damage", self.damage),
            ("amplitude [Pa]", self.amplitude),
            ("mean [Pa]", self.mean),
        ]
        write_text(path, table_text([("node", self.node_ids.astype(float)), *places, *values]))

    def __str__(self) -> str:
        lines = [f"fatigue of {self.body} by {self.measure}, mean stress: {self.curve.mean_stress}"]
        lines.append("    node      damage  runs to failure  amplitude [MPa]  mean [MPa]")
        for k in self.worst():
            sizes = f"{1e-6 * self.amplitude[k]:15.4g}  {1e-6 * self.mean[k]:10.4g}"
            lines.append(
                f"{self.node_ids[k]:8d}  {self.damage[k]:10.3e}  {self.life[k]:15.4g}  {sizes}"
            )
        return "\n".join(lines)


def damage(
    solution: SolutionData,
    body: str,
    curve: SNCurve,
    nodes: Iterable[int] | None,
    hottest: int | None,
    measure: str,
) -> FatigueData:
    """Damage D = Σ n/N of the stress histories at the nodes of a body, see `flexmbs.fatigue`."""
    if measure not in MEASURES:
        raise InputError(f"measure: must be one of {', '.join(MEASURES)}, not {measure!r}")
    if not isinstance(curve, SNCurve):
        raise InputError(f"curve: must be a fm.SNCurve, not {type(curve).__name__}")
    if not isinstance(solution, SolutionData):
        raise InputError(f"solution: must be a Solution, not {type(solution).__name__}")
    if len(solution.t) < 3:
        raise InputError("fatigue: needs a run with three outputs or more")
    stress = solution.body(body).stress
    found = _damaged(solution, body, curve, _evaluated_nodes(stress, nodes, hottest), measure)
    worst = found.worst(1)
    finer = solution.at(np.linspace(solution.t[0], solution.t[-1], 4 * len(solution.t) - 3))
    again = _damaged(finer, body, curve, found.node_ids[worst], measure).damage.max()
    if again > (1.0 + DAMAGE_CHANGE) * found.damage[worst[0]]:
        warn_caller(
            f"fatigue of {body}: outputs are too sparse: with four times as many the damage "
            f"at node {found.node_ids[worst[0]]} is "
            f"{again:.3g} instead of {found.damage[worst[0]]:.3g}; run with a smaller "
            "output_step",
            ModelWarning,
        )
    return found


def _damaged(
    solution: SolutionData, body: str, curve: SNCurve, nodes: IntArray, measure: str
) -> FatigueData:
    """Fatigue data of the worst cycles at nodes of a body."""
    rows = []
    for history in _histories(solution.body(body).stress, nodes):
        rows.append(
            (
                history.node_ids,
                history.positions,
                np.array(_worst_cycles(solution, body, curve, history, measure)),
            )
        )
    ids, positions, values = (np.concatenate([row[k] for row in rows]) for k in range(3))
    D, amplitude, mean = values.T
    return FatigueData(
        body, measure, curve, ids, positions, D, amplitude, mean, fatigue_part(solution, body)
    )


def fatigue_part(solution: SolutionData, body: str) -> FatiguePart:
    """Digest and surface of a flexible body with a surface."""
    shape, pieces = solution.shape(body), solution.compiled.pieces
    assert shape is not None
    return FatiguePart(
        (pieces[body].data if body in pieces else solution.compiled.data[body]).digest,
        shape.surface,
    )


def _evaluated_nodes(
    stress: StressView, nodes: Iterable[int] | None, hottest: int | None
) -> IntArray:
    """Identifiers of the nodes to evaluate: given, hottest by von Mises stress, or all."""
    if nodes is not None and hottest is not None:
        raise InputError("fatigue: give nodes or hottest, not both")
    if nodes is not None:
        return np.unique(whole_numbers(nodes, "nodes"))
    if hottest is None:
        return np.unique(stress.node_ids)
    count = whole_number(hottest, "hottest", least=1)
    envelope = stress.envelope
    order = envelope.node_ids[np.argsort(-envelope.von_mises, kind="stable")]
    return order[np.sort(np.unique(order, return_index=True)[1])][:count]


def _histories(stress: StressView, nodes: IntArray) -> Iterator[NodalStress]:
    """Stress histories of nodes, in blocks to limit the memory."""
    for part in np.array_split(nodes, -(-len(nodes) // BLOCK)):
        yield stress.history(part)


def _worst_cycles(
    solution: SolutionData, body: str, curve: SNCurve, history: NodalStress, measure: str
) -> list[tuple[float, float, float]]:
    """Damage, and amplitude and mean of the most damaging cycle, at each node."""
    judged, stress = partial(_worst_cycle, curve), history.stress
    if measure == "critical plane":
        planes = in_plane(stress, _normals(solution, body, history.node_ids))
        return [worst_plane(judged, planes[:, k]) for k in range(len(history.node_ids))]
    values = (
        signed_principal(stress)
        if measure == "principal"
        else directions(stress) * von_mises(stress)
    )
    return [judged(values[:, k]) for k in range(len(history.node_ids))]


def signed_principal(stress: FloatArray) -> FloatArray:
    """Largest or smallest principal stress (nt, m), where `directions` are positive or negative.

    In shear, where both have equal magnitude, it reverses with the load.
    """
    sizes = principal(stress)[0]
    return np.where(directions(stress) > 0.0, sizes[..., 0], sizes[..., 2])


def directions(stress: FloatArray) -> FloatArray:
    """Signs 1 or −1 (nt, m) of the von Mises stress, by the direction of the deviator.

    Positive if the deviator is along, negative if it is against the deviator of the largest von
    Mises stress of the history. There the sign is that of the principal stress of largest
    magnitude, in shear positive. A reversing load changes the sign. For a deviator perpendicular to
    it the sign of the principal stress of largest magnitude applies, and in perpendicular shear the
    previous sign, so that small changes of the stress never change it.
    """
    deviator = stress - np.repeat([1.0, 0.0], 3) * stress[..., :3].mean(axis=-1, keepdims=True)
    equivalent, (balance, whole) = von_mises(stress), _dominance(stress)
    peak = equivalent.argmax(axis=0), np.arange(stress.shape[1])
    there = np.where(
        balance[peak] < -SHEAR_TOLERANCE * whole[peak], -1.0, 1.0
    )  # in shear: positive
    along = (
        1.5 * there * np.einsum("tmc,mc,c->tm", deviator, deviator[peak], np.repeat([1.0, 2.0], 3))
    )
    limit = PERPENDICULAR * equivalent * equivalent[peak]
    signs = np.where(
        np.abs(along) > limit,
        np.sign(along),
        np.where(np.abs(balance) > SHEAR_TOLERANCE * whole, np.sign(balance), 0.0),
    )
    return _without_zero_signs(signs)


def _dominance(stress: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(σ₁ + σ₃, largest magnitude of a principal stress) (nt, m); the sum tells the sign."""
    sizes = principal(stress)[0]
    return sizes[..., 0] + sizes[..., 2], np.maximum(np.abs(sizes[..., 0]), np.abs(sizes[..., 2]))


def _without_zero_signs(signs: FloatArray) -> FloatArray:
    """Signs (nt, m) with zeros replaced by the previous or, at the start, the next sign."""
    last = np.maximum.accumulate(np.where(signs != 0.0, np.arange(len(signs))[:, None], -1), axis=0)
    first = (signs != 0.0).argmax(axis=0)
    found = np.take_along_axis(signs, np.where(last < 0, first, last), axis=0)
    return np.where(found == 0.0, 1.0, found)


def _worst_cycle(curve: SNCurve, x: FloatArray) -> tuple[float, float, float]:
    """Damage of a history, and amplitude and mean of its most damaging cycle."""
    cycles = counted(x)
    if not len(cycles.range):
        return 0.0, 0.0, float(x[0])
    share = curve.shares(cycles.amplitude, cycles.mean, cycles.count)
    worst = int(np.argmax(share)) if share.max() > 0.0 else int(np.argmax(cycles.range))
    return float(share.sum()), float(cycles.amplitude[worst]), float(cycles.mean[worst])


def _normals(solution: SolutionData, body: str, node_ids: IntArray) -> FloatArray:
    """Unit normals (m, 3) of the surface at nodes, weighted by triangle areas.

    Raises InputError for interior nodes.
    """
    shape = solution.shape(body)
    assert shape is not None
    surface = shape.surface
    a, b, c = (surface.nodes[surface.triangles[:, k]] for k in range(3))
    areas, normals = np.cross(b - a, c - a), np.zeros_like(surface.nodes)
    for k in range(3):
        np.add.at(normals, surface.triangles[:, k], areas)
    order = np.argsort(surface.node_ids)
    found = normals[order[np.searchsorted(surface.node_ids, node_ids, sorter=order)]]
    size = np.linalg.norm(found, axis=1, keepdims=True)
    if not size.all():
        raise InputError(
            f"fatigue: node {node_ids[np.argmin(size)]} of '{body}' is not on its "
            "surface; give other nodes"
        )
    return found / size
