"""Lecture notes 000, end of the recursive procedure: operations of both formalisms and their break-even."""

import itertools
import json
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from models import rod
from operations import non_recursive, recursive
from page import Study, difference, vanishes

import flexmbs as fm
from flexmbs.page.style import decades

SIZES = np.arange(1, 25)
MEASURED = Path(__file__).parents[2] / "formalisms" / "study.json"


def chain(n: int) -> fm.Model:
    """n rods, hinges about z and y in turn, in motion."""
    model = fm.Model("chain")
    end = model.ground
    for i in range(n):
        body = model.add(rod(f"K{i}", 0.5))
        model.add(fm.Revolute(f"joint {i}", end, body, axis="zy"[i % 2], q0=0.3 + 0.1 * i, v0=1.0 - 0.2 * i))
        end = body["end"]
    return model


def study() -> Study:
    counts, gaps = [], []
    for n in SIZES:
        terms = fm.matrices(chain(n))
        tree, at = terms.open_chain, [slice(6 * i, 6 * i + 6) for i in range(n)]
        C = [tree.C[rows, i] for i, rows in enumerate(at)]
        B = [np.zeros((6, 6)), *(-tree.B[b, a] for a, b in itertools.pairwise(at))]
        given = [tree.M[k, k] for k in at], [(tree.f_c + tree.f_t)[k] for k in at], C, B, [tree.a_rel[k] for k in at]
        (fast, few), (dense, many) = recursive(*given), non_recursive(*given)
        counts.append((few, many))
        gaps.append((difference(fast, terms.state.sd), difference(dense, terms.state.sd)))
    few, many = np.array(counts).T
    first, second = np.max(gaps, axis=0)
    identities = {
        "recursive, counted, against the program: η̇": first,
        "non-recursive, counted, against the program: η̇": second,
        "recursive: the count is linear in n": difference(np.diff(few), few[1] - few[0]),
        "non-recursive: the count is a cubic in n": vanishes(np.diff(many, 4), many),
    }
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))["seconds"]["0"]
    numbers = {
        "operations of a further body, recursive": int(few[1] - few[0]),
        "bodies from which the recursive form needs fewer operations": int(SIZES[np.argmax(few < many)]),
        "operations at 6, 10 and 20 bodies, recursive": few[[5, 9, 19]],
        "operations at 6, 10 and 20 bodies, non-recursive": many[[5, 9, 19]],
    }

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        left.plot(SIZES, few / 1e3, "o-", markersize=3, label="recursive")
        left.plot(SIZES, many / 1e3, "o-", markersize=3, label="non-recursive")
        left.axvspan(6, 10, color="#e3e9ef", label="break-even of the notes")
        left.set(xlabel="bodies", title="Thousand operations, dense 6×6 matrices")
        left.legend()
        for name, label in (("recursive", "recursive"), ("M̂ = JᵀMJ", "non-recursive, M̂ = JᵀMJ")):
            n, t = np.array(measured[name]).T
            right.loglog(n, 1e6 * t, "o-", markersize=3, label=label)
        right.set(xlabel="bodies", title="Time of the program (µs), reports/formalisms")
        decades(right.xaxis)
        decades(right.yaxis)
        right.legend()

    return Study(identities, numbers, draw, 3.4)
