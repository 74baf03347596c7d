"""Materials: limits of stability, and values that are probably in other units."""

import warnings

import numpy as np
import pytest

from flexmbs.errors import InputError
from preprocess.fe.material import Isotropic, Orthotropic
from preprocess.inputs.warning import PreprocessWarning

PINE = {
    "E": (12e9, 0.9e9, 0.6e9),
    "nu": (0.37, 0.45, 0.42),
    "G": (0.7e9, 0.65e9, 0.06e9),
    "rho": 500.0,
}


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"nu": 0.5}, r"nu = 0.5 is outside -1 < nu < 0.5"),
        ({"nu": -1.0}, r"nu = -1 is outside"),
        ({"nu": float("nan")}, r"nu = nan is outside"),
        ({"E": 0.0}, r"E = 0 is not positive and finite"),
        ({"E": float("inf")}, r"E = inf is not positive and finite"),
        ({"rho": -7850.0}, r"rho = -7850 is not positive"),
    ],
)
def test_unstable_isotropic_constants_are_rejected(changed, message):
    with pytest.raises(InputError, match=message):
        Isotropic(**{"E": 210e9, "nu": 0.3, "rho": 7850.0, **changed})


def test_all_problems_come_at_once():
    with pytest.raises(InputError) as caught:
        Isotropic(E=-1.0, nu=0.7, rho=-1.0)
    assert len(caught.value.problems) == 3


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"E": (12e9, 0.9e9, 0.0)}, r"E\[2\] = 0 is not positive"),
        ({"G": (0.7e9, -0.65e9, 0.06e9)}, r"G\[1\] = -6.5e\+08 is not positive"),
        ({"nu": (0.37, 5.0, 0.42)}, r"elasticity matrix indefinite"),
        ({"nu": (0.37, 0.45)}, r"nu needs three values, has 2"),
        ({"axes": [[1, 0, 0], [0, 1, 0], [0, 0, -1]]}, r"right-handed"),
        ({"axes": [[2, 0, 0], [0, 1, 0], [0, 0, 1]]}, r"orthonormal"),
    ],
)
def test_unstable_orthotropic_constants_are_rejected(changed, message):
    with pytest.raises(InputError, match=message):
        Orthotropic(**{**PINE, **changed})


def test_nearly_incompressible_material_locks():
    with pytest.warns(PreprocessWarning, match="nu = 0.495 is nearly incompressible"):
        Isotropic(E=1e9, nu=0.495, rho=1000.0)


@pytest.mark.parametrize("E, rho", [(210e3, 7850.0), (210e9, 7.85e-9)])
def test_other_units_are_doubted(E, rho):
    with pytest.warns(
        PreprocessWarning, match="is not a wave speed of solids; are E = .* in Pa, kg/m³"
    ):
        Isotropic(E=E, nu=0.3, rho=rho)


def test_ordinary_materials_pass_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        materials = Isotropic(E=210e9, nu=0.3, rho=7850.0), Orthotropic(**PINE)
    assert all(np.linalg.eigvalsh(material.elasticity).min() > 0 for material in materials)
