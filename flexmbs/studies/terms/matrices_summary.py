"""An overview of `Matrices`: names, shapes, sizes and meanings, as text and for notebooks."""

from __future__ import annotations

import html as escaping
from typing import TYPE_CHECKING, Any

import numpy as np

from flexmbs.console.columns import aligned

if TYPE_CHECKING:
    from flexmbs.studies.terms.matrices import Matrices

ALWAYS = (
    ("M", "mass matrix, M ṡ = k + Gᵀλ"),
    ("k", "applied, elastic and quadratic velocity forces"),
    ("G", "rows of the constraints, G ṡ = γ"),
    ("gamma", "γ"),
    ("g", "constraint values (m, rad)"),
    ("gamma_bar", "γ̄ of ġ = G s + γ̄"),
    ("J", "V = J s, twists of the bodies"),
    ("J_loop", "s = J_loop σ + s̄"),
    ("s_bar", "s̄"),
    ("p", "ṡ = J_loop σ̇ + p"),
    ("H", "q̇ = H s"),
    ("H_bar", "positions of σ: H̄ σ + h̄"),
    ("h_bar", "h̄"),
)
ON_REQUEST = (
    "m_rr m_rf m_ff G_r G_f reference elastic columns rows",
    "forces: Q_v Q_g Q_k Q_d Q_e[name]; k_c k_t k_s",
    "a_bar v_bar J_free v_free a_free M_ii Q_i M_qq M_ql M_ll",
    "open_chain: M f_c f_t B C a_rel G_s gamma_bar_s gamma_s system",
    "recursion[body]: M_star f_star N C; body(name): m_TT … m_ff Q_v_T Q_v_R Q_v_f K_ff D_ff",
    "system: the equations that the formalism solves; plot() draws them",
)


def heading(terms: Matrices) -> str:
    """Heading of the description of the terms."""
    compiled = terms.state.compiled
    sizes = (
        f"{len(terms.reference)} reference and {len(terms.elastic)} elastic velocities, "
        f"{len(terms.G)} constraint rows"
    )
    where = (
        f"at t = {terms.state.t:g} s, {compiled.topology.coordinates} coordinates, formalism "
        f"'{terms.formalism}'"
    )
    free = ", ".join(terms.independent[:8]) + (", …" if len(terms.independent) > 8 else "")
    return (
        f"'{compiled.model.name}' {where}: {sizes}; degrees of freedom: "
        f"{len(terms.independent)} ({free})"
    )


def table(terms: Matrices) -> list[tuple[str, str, str, str]]:
    """(name, shape, largest entry, meaning) of the terms that are always there."""
    rows = []
    for name, meaning in ALWAYS:
        value: Any = getattr(terms, name)
        rows.append(
            (
                name,
                " × ".join(map(str, value.shape)),
                f"{np.abs(value).max(initial=0.0):.4g}",
                meaning,
            )
        )
    return rows


def summary(terms: Matrices) -> str:
    """Text description of the terms: heading, table, further names."""
    lines = aligned([("", "shape", "largest", ""), *table(terms)])
    return "\n".join([heading(terms), *lines, "on request:", *(f"  {line}" for line in ON_REQUEST)])


def html(terms: Matrices) -> str:
    """HTML description of the terms for notebooks."""
    cells = "".join(
        f"<tr><td><code>{a}</code></td><td>{b}</td><td>{c}</td><td>{d}</td></tr>"
        for a, b, c, d in table(terms)
    )
    more = "".join(f"<li><code>{escaping.escape(line)}</code></li>" for line in ON_REQUEST)
    head = "<tr><th></th><th>shape</th><th>largest</th><th></th></tr>"
    return f"<p>{escaping.escape(heading(terms))}</p><table>{head}{cells}</table><ul>{more}</ul>"
