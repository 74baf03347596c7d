"""Lecture notes 000, end of the recursive procedure: operations of both formalisms and their
break-even.
"""

import itertools
import json
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from models import rod
from operations import composite, non_recursive, recursive
from page import Study, difference, vanishes

import flexmbs as fm
from flexmbs.page.style import decades

FORMALISMS = {"recursive": recursive, "non-recursive": non_recursive, "composite bodies": composite}
TIMED = {"recursive": "recursive", "M̂ = JᵀMJ": "non-recursive", "multiplier": "composite bodies"}
SIZES = np.arange(1, 25)
MEASURED = Path(__file__).parents[2] / "formalisms" / "study.json"


def chain(n: int) -> fm.Model:
    """n rods, hinges about z and y in turn, in motion."""
    model = fm.Model("chain")
    end = model.ground
    for i in range(n):
        body = model.add(rod(f"K{i}", 0.5))
        model.add(
            fm.Revolute(
                f"joint {i}", end, body, axis="zy"[i % 2], q0=0.3 + 0.1 * i, v0=1.0 - 0.2 * i
            )
        )
        end = body["end"]
    return model


def study() -> Study:
    counts, gaps = [], []
    for n in SIZES:
        terms = fm.matrices(chain(n))
        tree, at = terms.open_chain, [slice(6 * i, 6 * i + 6) for i in range(n)]
        C = [tree.C[rows, i] for i, rows in enumerate(at)]
        B = [np.zeros((6, 6)), *(-tree.B[b, a] for a, b in itertools.pairwise(at))]
        given = (
            [tree.M[k, k] for k in at],
            [(tree.f_c + tree.f_t)[k] for k in at],
            C,
            B,
            [tree.a_rel[k] for k in at],
        )
        found, operations = zip(*(formalism(*given) for formalism in FORMALISMS.values()))
        counts.append(operations)
        gaps.append([difference(rates, terms.state.sd) for rates in found])
    few, many, some = np.array(counts).T
    identities = {
        f"{name}, counted, against the program: η̇": gap
        for name, gap in zip(FORMALISMS, np.max(gaps, axis=0))
    } | {
        "recursive: the count is linear in n": difference(np.diff(few), few[1] - few[0]),
        "non-recursive: the count is a cubic in n": vanishes(np.diff(many, 4), many),
    }
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))["seconds"]["0"]
    numbers = {
        "operations of a further body, recursive": int(few[1] - few[0]),
        "fewest operations: recursive against non-recursive from n": int(
            SIZES[np.argmax(few < many)]
        ),
        "fewest operations: recursive against composite bodies from n": int(
            SIZES[np.argmax(few < some)]
        ),
        "operations at 6, 10 and 20 bodies, recursive": few[[5, 9, 19]],
        "operations at 6, 10 and 20 bodies, non-recursive": many[[5, 9, 19]],
        "operations at 6, 10 and 20 bodies, composite bodies": some[[5, 9, 19]],
    }

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        left.plot(SIZES, np.array(counts) / 1e3, "o-", markersize=3, label=list(FORMALISMS))
        left.axvspan(6, 10, color="#e3e9ef", label="break-even of the notes")
        left.set(xlabel="bodies", title="Thousand operations, dense 6×6 matrices")
        left.legend()
        for name, label in TIMED.items():
            n, t = np.array(measured[name]).T
            right.loglog(n, 1e6 * t, "o-", markersize=3, label=label)
        right.set(xlabel="bodies", title="Time of the program (µs), reports/formalisms")
        decades(right.xaxis)
        decades(right.yaxis)
        right.legend()

    return Study(identities, numbers, draw, 3.4)
