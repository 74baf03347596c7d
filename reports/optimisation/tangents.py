"""Tangents of random models by all of their parameters, against fourth-order differences of whole
runs.

    python reports/optimisation/tangents.py [--jobs 2]        -> tangents.json, the table of README.md (see there)

The models and the comparison are those of `tests/contract/random_tangents.py`. A study that is run
again continues.
"""

import argparse
import json
import os
import re
import statistics
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FOUND = HERE / "tangents.json"
sys.path.insert(0, str(HERE.parents[1] / "tests" / "contract"))
from random_tangents import (  # noqa: E402
    ABSOLUTE,
    EMBEDDED,
    EXPLICIT,
    LOOP,
    RECURSIVE,
    TREE,
    compared,
    require_smooth,
)

from flexmbs.errors import InputError, SolverError  # noqa: E402

RECIPES = {"tree": TREE, "loop": LOOP}
WAYS = {" ".join(how): how for how in (RECURSIVE, ABSOLUTE, EXPLICIT, EMBEDDED)}
ALLOWED = {"tree": [how for how in WAYS if how != " ".join(EMBEDDED)], "loop": list(WAYS)}
# 20 models
CASES = [
    (recipe, seed, ways[seed % len(ways)]) for seed in range(10) for recipe, ways in ALLOWED.items()
]


APART = 1e-5  # relative, of motion: what the function for users is asked to refuse


def examined(case: tuple[str, int, str]) -> dict[str, Any]:
    """The errors of one model, or why it has no tangent."""
    recipe, seed, how = case
    found: dict[str, Any] = {"model": f"{recipe} {seed}", "how": how}
    try:
        rows = list(compared(RECIPES[recipe], seed, WAYS[how], sys.maxsize))
        require_smooth(
            RECIPES[recipe], seed, WAYS[how], [row.parameter for row in rows if row.motion > APART]
        )
    except (InputError, SolverError) as error:
        return found | {"refused": str(error)}
    return found | {"rows": [list(row) for row in rows]}


def table(found: list[dict[str, Any]]) -> str:
    """The figures by way of integration."""
    head = [
        "formalism, coordinates, integrator",
        "models",
        "derivatives",
        "positions, velocities: median",
        "largest",
        "accelerations, multipliers: median",
        "largest",
        "rejected",
    ]
    lines = [" | ".join(head), " | ".join(["---"] * len(head))]
    for how in WAYS:
        mine = [each for each in found if each["how"] == how]
        rows = [row for each in mine for row in each.get("rows", [])]
        if not rows:
            continue
        errors = [[row[k] for row in rows] for k in (1, 2)]
        figures = [
            f"{value:.0e}" for each in errors for value in (statistics.median(each), max(each))
        ]
        done = sum("rows" in each for each in mine)
        lines.append(" | ".join([how, str(done), str(len(rows)), *figures, str(len(mine) - done)]))
    return "\n".join(f"| {line} |" for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--write", action="store_true", help="only the table, of the file")
    given = parser.parse_args()
    found = json.loads(FOUND.read_text(encoding="utf-8")) if FOUND.exists() else []
    done = {(each["model"], each["how"]) for each in found}
    left = (
        []
        if given.write
        else [case for case in CASES if (f"{case[0]} {case[1]}", case[2]) not in done]
    )
    with ProcessPoolExecutor(given.jobs) as pool:
        for each in pool.map(examined, left):
            found.append(each)
            FOUND.write_text("[\n" + ",\n".join(map(json.dumps, found)) + "\n]\n", encoding="utf-8")
    text = table(found)
    readme = HERE / "README.md"
    mark = r"(<!-- random tangents -->\n).*?(\n<!-- end -->)"
    readme.write_text(
        re.sub(
            mark,
            lambda m: m[1] + text + "\n" + m[2],
            readme.read_text(encoding="utf-8"),
            flags=re.DOTALL,
        ),
        encoding="utf-8",
    )
    print(text)


if __name__ == "__main__":
    main()
