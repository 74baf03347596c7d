"""These tests need no compiled kernels: `tests/test_interpreted.py` runs them interpreted.

Manually: ``NUMBA_DISABLE_JIT=1 python -m pytest tests/results``.
"""

from flexmbs._jit import COMPILED

collect_ignore_glob = ["test_*.py"] if COMPILED else []
