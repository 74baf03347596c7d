"""This file puts the folder on the path, so that the tests of
every folder find the helpers here.
"""

import pytest
from bars import solid_bar

from preprocess import FEModel


@pytest.fixture(scope="session")
def bar() -> FEModel:
    """The bar of solid elements."""
    return solid_bar()
