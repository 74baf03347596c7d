"""Equations between degrees of freedom with components along axes other than those of the mesh."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from flexmbs.errors import InputError

Array = NDArray[np.float64]
Terms = list[tuple[int, int, float]]
TINY = 1e-12  # factor relative to the largest that is zero but for the round-off of rotated axes


def rotated_terms(terms: Terms, axes: Mapping[int, Array]) -> Terms:
    """Terms in mesh axes, with those of equal degrees of freedom added.

    The largest term of the first node comes first, or the largest of all if that node has none.
    axes: rows (3, 3) of the axes of nodes that have others. Raises InputError if no term is left.
    """
    total: dict[tuple[int, int], float] = {}
    for node, component, factor in terms:
        first = 3 * ((component - 1) // 3)
        parts = (
            axes[node][component - 1 - first] * factor
            if node in axes
            else factor * np.eye(3)[component - 1 - first]
        )
        for k, part in enumerate(parts):
            if abs(part) > TINY * abs(factor):
                total[node, first + k + 1] = total.get((node, first + k + 1), 0.0) + float(part)
    size = max(abs(factor) for _, _, factor in terms)
    total = {key: factor for key, factor in total.items() if abs(factor) > TINY * size}
    if not total:
        node, component, _ = terms[0]
        raise InputError(
            f"equation that begins with component {component} of node {node}: its factors "
            "vanish; remove it"
        )
    head = max(
        [key for key in total if key[0] == terms[0][0]] or total, key=lambda key: abs(total[key])
    )
    rest = [key for key in total if key != head]
    return [(*key, total[key]) for key in (head, *rest)]
