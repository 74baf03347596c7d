"""These tests call the parts of kernels, which only interpreted Python can:
`tests/test_interpreted.py` runs them so.

Manually: ``NUMBA_DISABLE_JIT=1 python -m pytest tests/algebra``.
"""

from flexmbs._jit import COMPILED

collect_ignore_glob = ["test_*.py"] if COMPILED else []
