"""Mutation tests of central modules: changes of the code that the tests of a family find, in each
run and together with the cases that are marked slow.

    pip install cosmic-ray
    python reports/structure/mutation.py run FOLDER      draws mutants and runs the tests of each
    python reports/structure/mutation.py table FOLDER    prints what found them

cosmic-ray changes files in place: it works in a copy of the last commit, ``FOLDER/tree``. Kernels
run interpreted, without the compilation of every mutant. The tests stop at the first failure, those
that are not slow come first. `--python` runs the tests with another Python than that of cosmic-ray.
"""

import argparse
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SEED, MUTANTS = 1, 6
MOST = 900  # s: a mutant that is not found takes minutes, one that waits for ever must end
FAMILIES = {
    "rotors": ["tests/contract/test_rotors.py"],
    "formalisms": ["tests/contract/test_formalisms.py"],
    "penalty": ["tests/contract/test_penalty_formalism.py", "-k", "'not short_motion'"],
    "signatures": ["tests/model/test_signatures.py", "tests/docs/test_docstrings.py"],
    "actuators": ["tests/robots/test_random_mujoco.py", "-k", "defaults_of_other_kinds"],
    "models": ["tests/model"],
}
MODULES = {
    "flexmbs/dynamics/rotors.py": "rotors",
    "flexmbs/system/compile_rotors.py": "rotors",
    "flexmbs/formalisms/recursive.py": "formalisms",
    "flexmbs/formalisms/partitioning.py": "formalisms",
    "flexmbs/dynamics/inertia.py": "penalty",
    "flexmbs/dynamics/constraints.py": "penalty",
    "flexmbs/declaration.py": "signatures",
    "flexmbs/model/fields.py": "models",
    "flexmbs/system/topology.py": "models",
    "flexmbs/robots/mjcf/actuators.py": "actuators",
}
# no other behaviour in interpreted Python, and unions of types in annotations
IDLE = ("core/RemoveDecorator", "core/ReplaceBinaryOperator_BitOr")
NOT_FOUND, SLOW, FAST = "not found", "slow cases", "each run"


def pytest_ignore_collect() -> bool:
    """Kernels run interpreted, whatever the folders say."""
    return False


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Slow cases last."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is not None)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say which kind of case failed."""
    for report in terminalreporter.stats.get("failed", []):
        slow = SLOW if "slow" in report.keywords else FAST
        terminalreporter.write_line(f"found by {slow}: {report.nodeid}")


def command(python: str, family: str) -> str:
    """The test run of a family."""
    options = (
        "-o addopts= -q -x -p mutation -p no:cacheprovider -p no:xdist --timeout 120 -W ignore"
    )
    paths = f"PYTHONPATH=.:{Path(__file__).parent}"
    # bytecode of the files that stay: mutants are seconds apart, and are compiled anew by their time
    environment = f"-u PYTHONDONTWRITEBYTECODE {paths} NUMBA_DISABLE_JIT=1"
    return f"env {environment} {python} -m pytest {options} {' '.join(FAMILIES[family])}"


def run(folder: Path, python: str, mutants: int, modules: list[str]) -> None:
    """Draw mutants of every module, with a fixed seed, and run its family on them."""
    from cosmic_ray.work_db import use_db
    from cosmic_ray.work_item import WorkerOutcome, WorkResult

    tree = folder / "tree"
    tree.mkdir(parents=True)
    files = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", str(tree)], input=files.stdout, check=True)
    for module in modules:
        name = module.replace("/", ".")
        config, session = folder / f"{name}.toml", folder / f"{name}.sqlite"
        config.write_text(
            f'[cosmic-ray]\nmodule-path = "{module}"\ntimeout = {MOST}\nexcluded-modules = []\n'
            f'test-command = "{command(python, MODULES[module])}"\n'
            '[cosmic-ray.distributor]\nname = "local"\n'
        )
        cosmic_ray = [sys.executable, "-m", "cosmic_ray.cli"]
        subprocess.run([*cosmic_ray, "init", config, session], cwd=tree, check=True)
        with use_db(session) as db:
            items = list(db.work_items)
            changing = [k for k, item in enumerate(items) if not idle(item)]
            kept = random.Random(SEED).sample(changing, min(mutants, len(changing)))
            for item in (item for k, item in enumerate(items) if k not in kept):
                db.set_result(item.job_id, WorkResult(WorkerOutcome.SKIPPED))
        subprocess.run([*cosmic_ray, "exec", config, session], cwd=tree, check=True)


def idle(item: Any) -> bool:
    """Does a mutant change nothing that runs?"""
    return item.mutations[0].operator_name.startswith(IDLE)


def results(session: Path) -> Iterator[tuple[str, str]]:
    """(what found it, operator and line) of every mutant that was drawn."""
    from cosmic_ray.work_db import use_db
    from cosmic_ray.work_item import TestOutcome

    with use_db(session) as db:
        items = {item.job_id: item.mutations[0] for item in db.work_items}
        for job, result in db.results:
            if result.test_outcome is None:
                continue
            found = NOT_FOUND
            if result.test_outcome != TestOutcome.SURVIVED and result.output != "timeout":
                found = SLOW if f"found by {SLOW}" in (result.output or "") else FAST
            where = items[job]
            yield found, f"{where.operator_name} {where.start_pos[0]}"


def table(folder: Path) -> None:
    """Print counts by module and the mutants that only slow cases find, or none."""
    print(
        "| module | family | mutants | found in each run | with slow cases |\n" + "| --- " * 5 + "|"
    )
    rest = []
    for module, family in MODULES.items():
        session = folder / f"{module.replace('/', '.')}.sqlite"
        if session.is_file():
            found = list(results(session))
            count = Counter(each for each, _ in found)
            fast, all_of_them = count[FAST], count[FAST] + count[SLOW]
            print(f"| {module} | {family} | {len(found)} | {fast} | {all_of_them} |")
            rest += [f"{module} {where}: {each}" for each, where in found if each != FAST]
    print("", *rest, sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["run", "table"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--mutants", type=int, default=MUTANTS)
    parser.add_argument("--modules", nargs="*", default=list(MODULES))
    given = parser.parse_args()
    if given.what == "run":
        run(given.folder.resolve(), given.python, given.mutants, given.modules)
    table(given.folder.resolve())


if __name__ == "__main__":
    main()
