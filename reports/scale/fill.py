"""Fill and floating-point operations of the stiffness of large parts, by symbolic factorization,
and their growth.

    python reports/scale/fill.py     -> fill.json, table on stdout

Cubes of hexahedra (27 neighbours, 3 degrees of freedom) and square plates of shells (9 neighbours,
6), the worst cases of solids and shells; METIS, no numbers. A power law is fitted to the measured
sizes.
"""

import json
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from preprocess.solve.cholesky import analyse
from preprocess.solve.cholesky.schedule import operations
from preprocess.solve.ordering import node_order

HERE = Path(__file__).parent
# nodes along an edge: 0.1, 0.3 and 1 million degrees of freedom
CUBES, PLATES = (32, 46, 69), (129, 224, 408)
AIMS = (1e7, 3e7, 1e8)


def graph(n: int, kind: str) -> sp.csr_matrix:
    """Blocks of three degrees of freedom of a grid with n nodes along an edge, linked where
    elements couple them.
    """
    line = sp.diags([np.ones(n), np.ones(n - 1), np.ones(n - 1)], [0, 1, -1])
    square = sp.kron(line, line)
    both = sp.kron(square, line) if kind == "cube" else sp.kron(square, np.ones((2, 2)))
    return sp.csr_matrix(
        (np.ones(both.nnz, np.int8), both.tocsr().indices, both.tocsr().indptr), shape=both.shape
    )


def measured(n: int, kind: str) -> dict[str, float]:
    """Degrees of freedom, entries of the factor, operations, order of the largest front."""
    links = graph(n, kind)
    tree = analyse(links.indptr, links.indices, node_order(links))
    fronts = 3 * (np.diff(tree.first) + np.diff(tree.start))
    return {
        "degrees of freedom": 3.0 * links.shape[0],
        "entries": float(tree.panel[-1]),
        "operations": float(operations(tree).sum()),
        "largest front": float(fronts.max()),
    }


def power(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Factor and exponent of y = c xᵖ."""
    p, c = np.polyfit(np.log(x), np.log(y), 1)
    return float(np.exp(c)), float(p)


def main() -> None:
    result = {}
    for kind, edges in (("cube", CUBES), ("plate", PLATES)):
        found = [measured(n, kind) for n in edges]
        size = np.array([each["degrees of freedom"] for each in found])
        laws = {
            name: power(size, np.array([each[name] for each in found]))
            for name in ("entries", "operations", "largest front")
        }
        aims = [
            {"degrees of freedom": n, **{name: c * n**p for name, (c, p) in laws.items()}}
            for n in AIMS
        ]
        result[kind] = {"measured": found, "laws": laws, "extrapolated": aims}
        for each in [*found, *aims]:
            print(kind, " ".join(f"{name} {value:.3g}" for name, value in each.items()))
        print({name: f"{c:.3g} n^{p:.2f}" for name, (c, p) in laws.items()})
    (HERE / "fill.json").write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
