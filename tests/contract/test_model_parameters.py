"""Each number of random models is read and changed by its path."""

import pytest
from any_models import any_model

import flexmbs as fm
from flexmbs.studies.parameters import changed, number_at


@pytest.mark.parametrize("seed", range(12))
def test_each_number_of_a_random_model_is_changed_and_back(seed):
    model = any_model(seed).model
    found = fm.parameters(model)
    assert len(found) > 10
    for path, value in found.items():
        assert number_at(model, path) == value
        try:
            other = changed(model, {path: value * (1.0 + 1e-6) + 1e-9})
        except fm.InputError:  # at a bound, such as that of an inertia
            continue
        assert number_at(other, path) != value or ".axis." in path  # axes are normalised
