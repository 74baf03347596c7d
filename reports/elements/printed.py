"""Masses, centres and frequencies that Nastran printed, against those of the deck.

A file .f06 beside a deck, of its name or a longer one, has the grid point weight generator's table
and the eigenvalues. Frequencies are those of the whole model with the supports of the deck, with a
consistent and a lumped mass matrix, and that of the deck. Supports are taken along basic axes;
reduced models (ASET, superelements) are not compared.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

import preprocess as pp
from preprocess.mesh_files.include import Includes
from preprocess.mesh_files.nastran_cards import (
    Card,
    cards_of,
    integer_field,
    listed_numbers,
    text_field,
)

NUMBER = r"[-+]?\d+\.\d*(?:[ED][-+]\d+)?"
MODES = 8  # number of frequencies that are compared
RIGID = 1e-3  # frequency relative to the largest compared one below which a mode is a rigid one
DENSE = 1500  # degrees of freedom up to which all eigenvalues are computed
LOOSE = 1e-9  # stiffness relative to the largest, of degrees of freedom that AUTOSPC holds


def printed(path: Path) -> dict[str, Any]:
    """Mass, centre and frequencies of the first tables of an .f06; without those it lacks."""
    text = path.read_text("utf-8", "replace")
    found: dict[str, Any] = {}
    weight = re.search(r"MASS AXIS SYSTEM \(S\)(.*?)I\(S\)", text, re.S)
    if weight:
        rows = [
            [float(x.replace("D", "E")) for x in re.findall(NUMBER, line)]
            for line in weight[1].splitlines()
        ]
        (mass, _, *_), (_, x, *_), _ = ([*row, 0.0, 0.0, 0.0] for row in rows if len(row) == 4)
        y, z = next(row for row in rows if len(row) == 4)[2:]
        point = re.search(r"REFERENCE POINT =\s+(\d+)", text)
        found |= {"mass": mass, "centre": [x, y, z], "from": int(point[1]) if point else 0}
    table = re.search(r"R E A L   E I G E N V A L U E S(.*?)(?:\n1 |\n0 |\Z)", text, re.S)
    if table:
        rows = re.findall(rf"^\s+\d+\s+\d+\s+{NUMBER}\s+{NUMBER}\s+({NUMBER})", table[1], re.M)
        found["frequencies"] = [float(each) for each in rows[:MODES]]
    return found


def answers_of(deck: Path) -> Path | None:
    """The .f06 of a deck: of the same name in any case, or the only longer one."""
    stem = deck.stem.lower()
    known = {each.stem.lower(): each for each in deck.parent.iterdir() if each.suffix == ".f06"}
    longer = [each for name, each in known.items() if name.startswith(stem)]
    return known.get(stem) or (longer[0] if len(longer) == 1 else None)


def supports(path: Path, allow_outside: bool = True) -> dict[int, set[int]]:
    """Components 0 … 5 that the selected SPC and the grids of a Nastran deck hold, by node."""
    lines = path.read_text("utf-8", "replace").splitlines()
    start = next(
        (n for n, each in enumerate(lines) if re.match(r"\s*BEGIN\s+BULK", each, re.I)), -1
    )
    includes = Includes(path, allow_outside)
    cards = list(cards_of(path, lines[start + 1 :], start + 1, includes))
    selected = re.search(r"^\s*SPC\s*=\s*(\d+)", "\n".join(lines[: max(start, 0)]), re.M | re.I)
    sets = {int(selected[1])} if selected else set()
    for card in (each for each in cards if each.name == "SPCADD"):
        if integer_field(card, 0) in sets:
            sets |= {int(each) for each in card.fields[1:] if each.strip()}
    held: dict[int, set[int]] = {}

    def hold(node: int, components: str) -> None:
        held.setdefault(node, set()).update(int(c) - 1 for c in components if c in "123456")

    default = next((card for card in cards if card.name == "GRDSET"), Card("GRDSET", [], ""))
    for card in cards:
        if card.name == "GRID":
            hold(integer_field(card, 0), text_field(card, 6) or text_field(default, 6))
        elif card.name == "SPC1" and integer_field(card, 0) in sets:
            for node in listed_numbers(card.fields[2:], card.line, card.claims):
                hold(node, text_field(card, 1))
        elif card.name == "SPC" and integer_field(card, 0) in sets:
            for k in (1, 4):
                if text_field(card, k):
                    hold(integer_field(card, k), text_field(card, k + 1))
    return {node: components for node, components in held.items() if components}


def _mass_factor(deck: Path) -> float:
    """PARAM,WTMASS, which the printed masses are without."""
    given = re.findall(
        r"PARAM[\s,]+WTMASS[\s,]+([\d.+-]+)", deck.read_text("utf-8", "replace"), re.I
    )
    return float(re.sub(r"(?<=[\d.])([+-])", r"e\1", given[-1])) if given else 1.0


def _differs(deck: Path) -> bool:
    """True for eigenvalues that are load factors (buckling), or of a reduced model (ASET)."""
    text = deck.read_text("utf-8", "replace")
    loads = r"^\s*SOL\s+(105|106|5|SEBUCKL|NLSTATIC)\b"
    return bool(re.search(rf"{loads}|^(ASET|OMIT|BEGIN SUPER)", text, re.M | re.I))


def frequencies(fe: pp.FEModel, held: dict[int, set[int]], near: float) -> list[float]:
    """Lowest frequencies [Hz] of a model with supports; near: one of its positive frequencies."""
    row = {int(number): k for k, number in enumerate(fe.node_ids)}
    turns = set(fe.rotating.tolist())
    fixed = [
        int(fe.freedoms.six(np.array([row[node]]))[0, c]) if c > 2 else 3 * row[node] + c
        for node, components in held.items()
        for c in components
        if node in row and (c < 3 or row[node] in turns)
    ]
    T = (
        sp.identity(fe.freedoms.size, format="csr")
        if fe.constraints.T is None
        else fe.constraints.T
    )
    stiff = np.zeros(fe.freedoms.size)
    stiff[fixed] = 1e6 * abs(fe.K).max()
    K, M = (sp.csr_matrix(T.T @ A @ T) for A in (fe.K + sp.diags(stiff), fe.M))
    diagonal = K.diagonal()
    used = np.flatnonzero(diagonal > LOOSE * np.median(diagonal[diagonal > 0]))
    used = np.setdiff1d(used, np.setdiff1d(fixed, fe.constraints.dependent))
    K, M = K[used][:, used].tocsc(), M[used][:, used].tocsc()
    shift = -((0.1 * 2 * np.pi * near) ** 2)
    if len(used) <= DENSE:  # 1/(ω² − shift) of M, which may be singular
        large = scipy.linalg.eigvalsh(M.toarray(), (K - shift * M).toarray())[::-1][:MODES]
        omega2 = 1 / large[large > LOOSE * large[0]] + shift
    else:
        omega2 = eigsh(K, MODES, M=M, sigma=shift, return_eigenvectors=False)
    return (np.sqrt(np.maximum(np.sort(omega2), 0.0)) / (2 * np.pi)).tolist()


def compared(deck: Path, mesh: pp.Mesh, fe: pp.FEModel) -> dict[str, Any]:
    """Relative differences from the printed answers of a deck; empty without any.

    mass; centre: distance by the size of the part; consistent, lumped, deck: largest difference of
    frequencies that are not zero; formulation: that of the deck.
    """
    answers = answers_of(deck)
    expected = printed(answers) if answers is not None else {}
    found: dict[str, Any] = {}
    if expected.get("mass"):
        found["mass"] = fe.mass / (_mass_factor(deck) * expected["mass"]) - 1
        origin = fe.nodes[fe.node_ids == expected["from"]].sum(axis=0)  # of the basic system: none
        apart = fe.centre_of_mass - origin - expected["centre"]
        found["centre"] = float(np.linalg.norm(apart) / np.ptp(fe.nodes, axis=0).max())
    given = np.array(() if _differs(deck) else expected.get("frequencies", ()))
    if given.size and given.max() > 0:
        held = supports(deck)
        elastic = given > RIGID * given.max()
        choices = ["consistent", "lumped"] + ["deck"] * (mesh.declared.mass is not None)
        for mass in choices:
            model = fe if mass == "consistent" else pp.assemble(mesh, mass=mass)
            own = np.array(frequencies(model, held, float(given[elastic][0])))[: len(given)]
            both = elastic[: len(own)]
            apart = own[both] / given[: len(own)][both] - 1
            if apart.size:
                found[mass] = float(apart[np.abs(apart).argmax()])
        found["formulation"] = str(mesh.declared.mass)
    return found
