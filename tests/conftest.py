"""The interpreted tests, the longest of all, start first: they run during the compilation of the
kernels. What lives as long as the tests themselves is no garbage: it is not looked at."""

import gc
import inspect
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from flexmbs.time_stepping.second_process import OFF

os.environ.setdefault(OFF, "1")  # the tests run on all processors already


# what looks at the checks of runs, or makes errors of all warnings
OF_CHECKS = re.compile(
    r"^(?!.*ignore).*([aA]udit|verdict|examine|[\"']error\b|PASS|WARN|FAIL)", re.MULTILINE
)
# marked "quick", without slow cases: a cross-section, a minute on two processors with compiled
# kernels; other files are not even imported then
QUICK = (
    "tests/model/",
    "tests/signals/",
    "tests/exports/",
    "tests/durability/",
    "tests/formalisms/test_quasi_velocities.py",
    "tests/analysis/test_linearize.py",
    "tests/analysis/test_matrices.py",
    "tests/audit/test_initial_rates.py",
    "tests/contract/test_formalisms.py",
    "tests/contract/test_new_force.py",
    "tests/contract/test_new_motion.py",
    "tests/references/test_adams_joints.py",
    "tests/references/test_featherstone_chains.py",
    "tests/references/test_pendulum.py",
    "tests/references/test_rolling.py",
    "tests/trajectories/test_closed_forms.py",
    "tests/trajectories/test_dry_friction.py",
    "tests/bad_inputs/test_preprocess_arguments.py",
    "tests/preprocess/body/test_shape_integrals.py",
    "tests/preprocess/mesh/",
    "tests/preprocess/fe/test_beams.py",
    "tests/preprocess/reduction/test_reduction.py",
    "tests/results/test_storage.py",
    "tests/robots/test_puma.py",
    "tests/sweeps/test_study_file.py",
    "tests/test_docs.py",
)
gc.disable()  # during the collection: a quarter of its time


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files without quick tests, when these alone are wanted: their import takes as long."""
    if config.option.markexpr != "quick" or collection_path.is_dir():
        return None
    name = collection_path.relative_to(config.rootpath).as_posix()
    return None if name.startswith(QUICK) else True


def pytest_collection_finish() -> None:
    """The collected tests stay."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Interpreted tests first, the others in their order; marks of the quick ones."""
    for item in items:
        if item.nodeid.startswith(QUICK) and item.get_closest_marker("slow") is None:
            item.add_marker(pytest.mark.quick)
    items.sort(key=lambda item: not item.nodeid.startswith("tests/test_interpreted.py"))


@pytest.fixture(scope="module", autouse=True)
def single_runs(request: pytest.FixtureRequest) -> Iterator[None]:
    """In modules that do not look at the checks of a run, as the documentation does, it is not
    repeated for them: up to half of the time."""
    with pytest.MonkeyPatch.context() as patch:
        if "docs" not in request.path.parts and not OF_CHECKS.search(
            inspect.getsource(request.module)
        ):
            patch.setattr("flexmbs.audit.audit.second_run", lambda *_: [])
            patch.setattr("flexmbs.audit.audit.unresolved_modes", lambda *_: [])
            patch.setattr("flexmbs.audit.audit.truncation", lambda *_: [])
        yield
