"""Cost of the audit: the time from the end of a run to its verdict, and the time of the run.

    python reports/audit/cost.py        -> cost.json, which study.py puts into README.md

The minimum of five calls of `simulate`; kernels are compiled in advance. For a machine without other load.
"""

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "integrators"))
from models import CASES  # noqa: E402

import flexmbs as fm  # noqa: E402

CALLS = 5
LIMIT, SHARE = 0.02, 0.05  # s, or of the run
LENGTHS = (1.0, 10.0)  # times the length of the study of integrators


def measured(name: str, length: float) -> dict[str, Any]:
    """Seconds of the run and of its audit."""
    case = CASES[name]
    model, t_end = case.make(), case.t_end * length
    run, audit = [], []
    for _ in range(CALLS + 1):
        begun = time.perf_counter()
        solution = fm.simulate(model, t_end=t_end, output_step=t_end / 100)
        whole = time.perf_counter() - begun
        counts = solution.statistics
        run.append(float(counts["solve_seconds"]))
        audit.append(whole - counts["prepare_seconds"] - counts["solve_seconds"])
    return {"steps": solution.statistics["steps"], "run [s]": min(run[1:]), "audit [s]": min(audit[1:])}


def main() -> None:
    warnings.simplefilter("ignore")
    found = {f"{name}, {length:g} ×": measured(name, length) for name in CASES for length in LENGTHS}
    for name, row in found.items():
        allowed = max(LIMIT, SHARE * row["run [s]"])
        good = "PASS" if row["audit [s]"] <= allowed else "FAIL"
        times = [f"{1e3 * seconds:.1f} ms" for seconds in (row["run [s]"], row["audit [s]"], allowed)]
        print(f"{good} {name:30s} run {times[0]:>9s}, audit {times[1]:>8s} of {times[2]} allowed")
    (HERE / "cost.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
