"""Equations of a run for the report.

Sizes and class of the system, its block pattern, treatment by the formalism.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flexmbs.dynamics.dense import elastic_velocities, terms
from flexmbs.dynamics.work import make_work
from flexmbs.initial.inconsistent_rates import row_owners
from flexmbs.model.declared_values import items_with_constraints
from flexmbs.page.html import Picture
from flexmbs.report.poster import pattern_drawing
from flexmbs.results.block_system import BlockSystem, bordered, bordered_by_items
from flexmbs.results.joints import path_coordinates
from flexmbs.system.names import velocity_names

if TYPE_CHECKING:
    from flexmbs.results.solution import SolutionData

MOST_BLOCKS, MOST_UNKNOWNS, LISTED = 18, 2000, 40
FORMULA = "M ṡ = k + Gᵀλ,  G ṡ = γ,  q̇ = H s,  g(q, t) = 0"
TREATMENT = {
    "multiplier": "Lagrange multipliers: ṡ and λ together from [[M, Gᵀ], [G, 0]] (ṡ, −λ) = (k, γ), "
    "factored by blocks along the "
    "tree of bodies.",
    "embedding": "Embedding: G J = 0 with independent velocities σ, chosen by pivoting; JᵀMJ σ̇ = Jᵀ(k "
    "− M p), λ afterwards.",
    "partitioning": "Coordinate partitioning: independent coordinates are integrated, the dependent ones "
    "follow from g = 0 and "
    "G s + γ̄ = 0 at every evaluation.",
    "recursive": "Recursion in O(n): bodies are eliminated from the leaves to the root, "
    "M*_p = M_p + Σ B_piᵀ Λ_i M*_i B_pi, and ṡ follows outward",
}


@dataclass(frozen=True)
class EquationSummary:
    """Sentences, rows (name, kind, rows, class) of the constraints, and the block pattern."""

    formula: str
    lines: tuple[str, ...]
    constraints: tuple[tuple[str, str, int, str], ...]
    more: int
    picture: Picture | None


def equations(solution: SolutionData) -> EquationSummary:
    """Equations at the first output of a run."""
    rows = [
        (item.name, item.kind, found.rows, ", ".join(found.words))
        for item in items_with_constraints(solution.model)
        for found in item.constraint_classes()
    ]
    return EquationSummary(
        FORMULA,
        tuple(_lines(solution)),
        tuple(rows[:LISTED]),
        max(len(rows) - LISTED, 0),
        _picture(solution),
    )


def _lines(solution: SolutionData) -> list[str]:
    """Lines on sizes, class and treatment of the equations."""
    compiled, name = solution.compiled, str(solution.run.options.get("formalism", ""))
    ns, nc, elastic = (
        int(compiled.system.layout[2]),
        compiled.n_constraints,
        len(elastic_velocities(compiled.system)),
    )
    redundant = sum(count for _, count in solution.run.redundant)
    count: Counter[str] = Counter()
    for found in (
        each
        for item in items_with_constraints(compiled.model)
        for each in item.constraint_classes()
    ):
        count.update({word: found.rows for word in found.words})
    classes = ", ".join(
        f"{count[word]} {word}" for word in sorted(count, key=lambda word: -count[word])
    )
    cut = int(compiled.system.cuts.rows.sum())
    counts = {"cut joints": cut, "couplings": len(compiled.system.couplers.row)}
    rows = " and ".join(f"{n} rows of {name}" for name, n in counts.items() if n)
    loops = f"; {rows} by the Schur complement S = G M⁻¹ Gᵀ" if rows else ""
    treatment = TREATMENT.get(name, "")
    return [
        f"{ns} velocities in {compiled.topology.coordinates} coordinates, {elastic} of "
        f"them elastic; {nc} constraint rows"
        + (f", {redundant} of them redundant" if redundant else "")
        + f"; {ns - nc + redundant} degrees of freedom.",
        f"Constraints of the model by class: {classes} rows." if classes else "No constraints.",
        treatment + (f"{loops}." if name == "recursive" else ""),
    ]


def pattern(solution: SolutionData) -> BlockSystem | None:
    """Matrices M and G at the first output, by items if these are few.

    None for a system too large to draw, without unknowns or without outputs.
    """
    compiled, trajectory = solution.compiled, solution.trajectory
    if (
        len(solution.t) == 0
        or not 0 < int(compiled.system.layout[2]) + compiled.n_constraints <= MOST_UNKNOWNS
    ):
        return None
    work = make_work(compiled.system, path_coordinates(compiled, trajectory)[0])
    known = terms(
        compiled.system, work, float(solution.t[0]), solution.q[0], solution.s[0], trajectory.z[0]
    )
    owners = [compiled.owner_of(name) for name in row_owners(compiled)]
    by_items = bordered_by_items(known, velocity_names(compiled), owners)
    return (
        by_items
        if len(by_items.equations) <= MOST_BLOCKS
        else bordered(known, elastic_velocities(compiled.system))
    )


def _picture(solution: SolutionData) -> Picture | None:
    """Picture of the block pattern of the equations; None without it."""
    found = pattern(solution)
    if found is None:
        return None
    caption = (
        "Nonzero entries at the first output: M with G below and Gᵀ to its right, by "
        "joints, bodies and constraints."
    )
    return Picture(pattern_drawing(found), "Block pattern of the equations", caption)
