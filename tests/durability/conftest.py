"""These tests need no compiled kernels: `tests/test_interpreted.py` runs them interpreted."""

from flexmbs._jit import COMPILED

collect_ignore_glob = ["test_*.py"] if COMPILED else []
