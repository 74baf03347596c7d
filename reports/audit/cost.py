"""Cost of the audit: the time from the end of a run to its verdict, of second opinion and second
run, and the time of the run.

    python reports/audit/cost.py        -> cost.json, which study.py puts into README.md

The minimum of five calls of `simulate`; kernels are compiled in advance. For a machine without
other load.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "integrators"))
from models import CASES  # noqa: E402

import flexmbs as fm  # noqa: E402
from flexmbs.audit import audit as judged  # noqa: E402

CALLS = 5
LIMIT, SHARE = 0.02, 0.05  # s, or of the run: of the second opinion
SECOND = 2.0  # of the run, beyond that limit: of the second run
PARTS = {"second_opinion": "second opinion [s]", "second_run": "second run [s]"}
LENGTHS = (1.0, 10.0)  # times the length of the study of integrators


def measured(name: str, length: float) -> dict[str, Any]:
    """Seconds of the run, of its audit, and of two parts of that: second opinion and second run."""
    case = CASES[name]
    model, t_end = case.make(), case.t_end * length
    times: dict[str, list[float]] = {"run [s]": [], "audit [s]": []}
    proper = {part: getattr(judged, part) for part in PARTS}
    for part, function in proper.items():
        times[PARTS[part]] = []
        setattr(judged, part, timed(function, times[PARTS[part]]))
    for _ in range(CALLS + 1):
        begun = time.perf_counter()
        solution = fm.simulate(model, t_end=t_end, output_step=t_end / 100)
        whole = time.perf_counter() - begun
        counts = solution.statistics
        times["run [s]"].append(float(counts["solve_seconds"]))
        times["audit [s]"].append(whole - counts["prepare_seconds"] - counts["solve_seconds"])
    for part, function in proper.items():
        setattr(judged, part, function)
    return {"steps": solution.statistics["steps"]} | {
        key: min(values[1:]) for key, values in times.items()
    }


def timed(function: Callable[..., Any], seconds: list[float]) -> Callable[..., Any]:
    """The function, its times appended to ``seconds``."""

    def call(*given: Any) -> Any:
        begun = time.perf_counter()
        result = function(*given)
        seconds.append(time.perf_counter() - begun)
        return result

    return call


def main() -> None:
    warnings.simplefilter("ignore")
    found = {
        f"{name}, {length:g} ×": measured(name, length) for name in CASES for length in LENGTHS
    }
    for name, row in found.items():
        allowed = max(LIMIT, SHARE * row["run [s]"])
        again = LIMIT + SECOND * row["run [s]"]
        good = row["second opinion [s]"] <= allowed and row["second run [s]"] <= again
        text = ", ".join(
            f"{key[:-4]} {1e3 * seconds:.1f} ms" for key, seconds in row.items() if key != "steps"
        )
        print(
            f"{'PASS' if good else 'FAIL'} {name}: {text}; allowed {1e3 * allowed:.1f} "
            f"and {1e3 * again:.1f} ms"
        )
    (HERE / "cost.json").write_text(
        json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
