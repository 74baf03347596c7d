"""The interpreted tests, the longest of all, start first: they run during the compilation of the kernels."""

import os

import pytest

from flexmbs.time_stepping.second_process import OFF

os.environ.setdefault(OFF, "1")  # the tests run on all processors already


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Interpreted tests first, the others in their order."""
    items.sort(key=lambda item: not item.nodeid.startswith("tests/test_interpreted.py"))
