"""These tests run interpreted, by `tests/test_interpreted.py`; only those of compiled user
functions need kernels.

Manually: ``NUMBA_DISABLE_JIT=1 python -m pytest tests/bad_inputs``.
"""

from flexmbs._jit import COMPILED

collect_ignore_glob = ["test_*_rows.py"] if COMPILED else []
