"""Most of these tests call the parts of kernels, which only interpreted Python can:
`tests/test_interpreted.py` runs them so.

Manually: ``NUMBA_DISABLE_JIT=1 python -m pytest tests/contract``. Those of the formalisms run
compiled, and interpreted only so; those that make many runs, or hundreds of evaluations of whole
models, compiled only. Interpreted runs are not repeated by the audit: it has tests of its own.
"""

import pathlib
from collections.abc import Iterator

import pytest

from flexmbs._jit import COMPILED

BOTH_WAYS = ("test_formalisms.py", "test_redundant_contacts.py")
FILES = (path.name for path in pathlib.Path(__file__).parent.glob("test_*.py"))
COMPILED_ALONE = (
    "test_analyses_in_other_units.py",
    "test_differential.py",
    "test_step_counts.py",
    "test_new_constraint.py",
    "test_new_force.py",
    "test_new_motion.py",
    "test_penalty_formalism.py",
    "test_rotors.py",
    "test_random_tangents.py",
    "test_law_slopes.py",
    "test_model_parameters.py",
    "test_one_state.py",
    "test_terms.py",
    "test_metamorphic.py",
)
collect_ignore = (
    [name for name in FILES if name not in BOTH_WAYS + COMPILED_ALONE]
    if COMPILED
    else list(COMPILED_ALONE)
)


@pytest.fixture(scope="session", autouse=not COMPILED)
def interpreted_runs() -> Iterator[None]:
    """No second run in interpreted Python."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("flexmbs.audit.audit.second_run", lambda *_: [])
        yield
