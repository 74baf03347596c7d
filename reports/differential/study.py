"""Random models under every formalism × coordinates × integrator, compared with each other.

    python reports/differential/study.py --models 2000 --minutes 30 --jobs 2     -> README.md
    python reports/differential/study.py --only SEED                            one model, reported in detail

The results of each seed are stored (found.jsonl.gz): a study that is run again continues with the
missing seeds. The models draw from every registry (`tests/contract/any_models.py`), the comparisons
are in `tests/contract/differential.py`.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
# results of each seed; a study that is run again continues from it and from the packed ones
FOUND = HERE / "found.jsonl"
PACKED = HERE / "found.jsonl.gz"
sys.path.insert(0, str(HERE.parents[1] / "tests" / "contract"))
from any_models import any_model, contents, described, registered  # noqa: E402
from differential import (  # noqa: E402
    BAD,
    BAD_LOADS,
    FLOOR,
    GOOD,
    SAME,
    STEP,
    T_END,
    Pair,
    Report,
    examine,
    general,
    pairs,
)

BEGIN = """# Random models under every combination

`study.py` creates random models from all registered kinds: bodies, joints, relations, forces, laws of time and of joints,
contacts (rigid and with force laws), drives, user-defined cuts; trees, closed loops, redundant planar loops. Each model is
checked as follows:

* At the initial state and at two states of a run, the accelerations of all bodies and the unique reactions of all joints under
  every formalism × coordinates are compared with the formula of Udwadia and Kalaba, evaluated with the dense terms: the relative
  difference must be below {same:g}.
* Repeating the evaluation of the first state after the last one must give bitwise identical results.
* Runs of {t_end:g} s under every formalism × coordinates × integrator are compared with a run with tolerance 1e-10: the relative
  difference of positions, rotations, velocities and elastic coordinates must be below {floor:g}, or at most twice the change when
  the step (first {step:g} s) is halved or the tolerance (first 1e-7) is reduced to a hundredth.
* The verdict of the audit of each run is compared with the error relative to the largest change of positions or rotations: PASS
  with an error of {bad:g} or more is a failure.
* Reactions and accelerations at the first output, and with PASS at all outputs away from impacts and corners of laws, must
  differ by at most {loads:g} of the largest ones.
* A run loaded from its file, and its states, must be identical.
* Unsupported combinations must be rejected by an `InputError` or `SolverError` with one line per problem, and only warnings of
  the package may occur.

`python reports/differential/study.py --only SEED` repeats one model. If kinds have been registered since the commit of a seed,
the seed gives another model.
"""


@dataclass
class Tally:
    """Sums over models."""

    models: int = 0
    commits: Counter[str] = field(default_factory=Counter)
    drawn: Counter[str] = field(default_factory=Counter)
    given_up: Counter[str] = field(default_factory=Counter)
    runs: Counter[Pair] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    warned: Counter[str] = field(default_factory=Counter)
    worst: dict[str, tuple[float, int]] = field(default_factory=dict)
    verdicts: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)

    def add(self, seed: int, drawn: Counter[str], found: Report) -> None:
        """The report of one model."""
        self.models += 1
        self.drawn += drawn
        self.runs += found.runs
        self.refused += found.refused
        self.warned += found.warned
        self.verdicts += found.verdicts
        self.failures += [(seed, text) for text in found.failures]
        for what, value in found.worst.items():
            if value > self.worst.get(what, (-1.0, 0))[0]:
                self.worst[what] = (value, seed)


class Found(NamedTuple):
    """Results of one seed: the kinds drawn, the abandoned tries and the report; no report if no
    model was found.
    """

    seed: int
    drawn: Counter[str]
    given_up: Counter[str]
    report: Report | None

    def line(self, commit: str) -> str:
        """One line of `FOUND`."""
        report = self.report and {
            "runs": [[*pair, count] for pair, count in self.report.runs.items()],
            **{
                key: getattr(self.report, key)
                for key in ("refused", "warned", "failures", "worst", "verdicts")
            },
        }
        return json.dumps(
            {
                "seed": self.seed,
                "commit": commit,
                "drawn": self.drawn,
                "given_up": self.given_up,
                "report": report,
            }
        )

    @classmethod
    def of(cls, line: dict[str, Any]) -> "Found":
        """Inverse of `line`."""
        kept = line["report"]
        report = kept and Report(
            Counter({Pair(*names): count for *names, count in kept["runs"]}),
            Counter(kept["refused"]),
            Counter(kept["warned"]),
            kept["failures"],
            kept["worst"],
            Counter(kept.get("verdicts", {})),
        )
        return cls(line["seed"], Counter(line["drawn"]), Counter(line["given_up"]), report)


def one(seed: int, without: tuple[str, ...]) -> Found:
    """A seed examined."""
    try:
        drawn = any_model(seed)
    except ValueError as error:
        return Found(seed, Counter(), Counter({str(error).split(" of seed")[0]: 1}), None)
    report = examine(
        drawn.model,
        lambda there: [pair for pair in there if pair.integrator not in without],
        without,
    )
    given_up = Counter({general(text): count for text, count in drawn.given_up.items()})
    return Found(seed, contents(drawn.model), given_up, report)


def found_before() -> dict[int, dict[str, Any]]:
    """The lines of `PACKED` and `FOUND`, the last of each seed."""
    lines = gzip.decompress(PACKED.read_bytes()).decode().splitlines() if PACKED.is_file() else []
    lines += FOUND.read_text(encoding="utf-8").splitlines() if FOUND.is_file() else []
    return {each["seed"]: each for each in map(json.loads, lines)}


def pack(found: dict[int, dict[str, Any]]) -> None:
    """All lines into one packed file."""
    text = "\n".join(json.dumps(found[seed]) for seed in sorted(found))
    PACKED.write_bytes(gzip.compress(text.encode(), mtime=0))
    FOUND.unlink(missing_ok=True)


def tally(lines: Iterable[dict[str, Any]]) -> Tally:
    """Their sums."""
    found = Tally()
    for line in lines:
        each = Found.of(line)
        found.given_up += each.given_up
        if each.report is not None:
            found.commits[line["commit"]] += 1
            found.add(each.seed, each.drawn, each.report)
    found.failures.sort()
    return found


def search(seeds: Iterable[int], minutes: float, without: tuple[str, ...], jobs: int) -> None:
    """As many seeds as fit the time, in processes side by side; each is stored in `FOUND`.
    ``without``: omitted integrators.
    """
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True
    ).stdout.strip()
    end = time.time() + 60.0 * minutes
    with ProcessPoolExecutor(jobs) as pool, FOUND.open("a", encoding="utf-8") as file:
        queue = iter(seeds)
        running = {pool.submit(one, seed, without) for seed in islice(queue, jobs)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            if time.time() < end:
                running |= {pool.submit(one, seed, without) for seed in islice(queue, len(done))}
            for each in (future.result() for future in done):
                print(each.line(commit), file=file, flush=True)
                if each.report is not None:
                    head = (
                        f"{each.seed}: {sum(each.report.runs.values())} runs, "
                        f"{len(each.report.failures)} failures"
                    )
                    print(head, *each.report.failures, sep="\n    ", flush=True)


def _counts(title: str, counts: Counter[str]) -> list[str]:
    return [
        "",
        f"## {title}",
        "",
        "| count | item |",
        "|---:|---|",
        *(f"| {n} | {what} |" for what, n in counts.most_common()),
    ]


def page(found: Tally) -> str:
    """The README."""
    limits = {"same": SAME, "floor": FLOOR, "bad": BAD, "loads": BAD_LOADS}
    lines = [BEGIN.format(t_end=T_END, step=STEP, **limits)]
    total, refused = sum(found.runs.values()), sum(found.refused.values())
    lines += [
        f"{found.models} models, {total} runs, {refused} rejected combinations, "
        f"{len(found.failures)} failures."
    ]
    lines += [
        "Models by commit: "
        + ", ".join(f"{commit} {count}" for commit, count in found.commits.items())
        + "."
    ]
    lines += [
        "",
        "## Runs",
        "",
        "| formalism | coordinates | integrator | runs |",
        "|---|---|---|---:|",
    ]
    lines += [
        f"| {pair.formalism} | {pair.coordinates} | {pair.integrator} | {found.runs[pair]} |"
        for pair in pairs()
    ]
    lines += [
        "",
        "## Verdicts",
        "",
        "| error, relative to the motion | PASS | WARN | FAIL |",
        "|---|---:|---:|---:|",
    ]
    sizes = {
        "good": f"below {GOOD:g}",
        "between": f"{GOOD:g} … {BAD:g}",
        "bad": f"{BAD:g} and more",
    }
    for size, name in sizes.items():
        lines += [
            f"| {name} | "
            + " | ".join(
                str(found.verdicts[f"{size} {status}"]) for status in ("PASS", "WARN", "FAIL")
            )
            + " |"
        ]
    lines += [
        "",
        "## Largest differences",
        "",
        "| quantity | relative difference | seed |",
        "|---|---:|---:|",
    ]
    lines += [
        f"| {what} | {value:.1e} | {seed} |" for what, (value, seed) in sorted(found.worst.items())
    ]
    lines += ["", "## Failures", "", "| seed | failure |", "|---:|---|"]
    lines += [f"| {seed} | {text} |" for seed, text in found.failures] or ["| | none |"]
    lines += _counts("Sampled kinds", Counter({kind: found.drawn[kind] for kind in registered()}))
    lines += _counts("Rejected combinations", found.refused)
    lines += _counts("Warnings", found.warned)
    lines += _counts("Rejected draws of models", found.given_up)
    return "\n".join(lines) + "\n"


def main() -> None:
    """Options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--only", type=int)
    parser.add_argument("--without", nargs="*", default=[], help="integrators to omit")
    parser.add_argument(
        "--again", action="store_true", help="include seeds that were examined before"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    if given.only is not None:
        model = any_model(given.only).model
        print(*described(model), sep="\n")
        report = examine(model)
        print(*(f"{value:.2g} {what}" for what, value in report.worst.items()), sep="\n")
        print(*report.refused.items(), *report.warned.items(), *report.failures, sep="\n")
        return
    before = {} if given.again else found_before()
    seeds = (seed for seed in range(given.seed, given.seed + given.models) if seed not in before)
    search(seeds, given.minutes, tuple(given.without), given.jobs)
    pack(found := found_before())
    (HERE / "README.md").write_text(page(tally(found.values())), encoding="utf-8")


if __name__ == "__main__":
    main()
