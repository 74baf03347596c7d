"""The interpreted tests, the longest of all files, begin first: they run beside the compilation of the kernels."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Interpreted tests first, the others in their order."""
    items.sort(key=lambda item: not item.nodeid.startswith("tests/test_interpreted.py"))
