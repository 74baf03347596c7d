"""Rows 30 and 31 for functions that Numba compiled: named, with arguments and the traceback of the
Python original.
"""

import ctypes
import math

import numba
import numpy as np
import pytest

import flexmbs as fm
from flexmbs._jit import COMPILED
from flexmbs.system.callbacks import SIGNATURE, Callbacks
from flexmbs.system.compile_laws import LawTable

if not COMPILED:
    pytest.skip("functions are not compiled here", allow_module_level=True)


@numba.njit
def friction(t: float, x: float, v: float) -> float:
    if x > 1.0:
        raise ValueError("beyond the table")
    return math.sqrt(x) if x >= 0.0 else math.nan


@numba.njit
def sweep(t: float) -> float:
    return math.sin(t) if t < 1.0 else math.inf


def called(address: int, *values: float) -> np.ndarray:
    """Results of a C function ``void f(double *x, double *out)``."""
    x, out = np.zeros(19), np.full(6, 5.0)
    x[: len(values)] = values
    ctypes.cast(address, SIGNATURE)(x.ctypes.data, out.ctypes.data)
    return out


@pytest.fixture
def callbacks() -> Callbacks:
    return Callbacks()


def test_30_no_number(callbacks: Callbacks) -> None:
    laws = LawTable(callbacks)
    laws.force("forces.friction", friction)
    address = laws.addresses[0]
    assert called(address, 0.5, 0.25, 0.0)[0] == 0.5
    assert callbacks.where is None
    assert math.isnan(called(address, 0.5, -1.0, 2.0)[0])
    assert callbacks.where is not None
    assert callbacks.where == ("forces.friction", 0.5, "friction(t = 0.5, x = -1, v = 2)")
    callbacks.raise_error()


def test_30_law_of_time(callbacks: Callbacks) -> None:
    from flexmbs.model.laws import Function

    laws = LawTable(callbacks)
    laws.number("drives.sweep", Function(sweep))
    np.testing.assert_allclose(
        called(laws.addresses[0], 0.5)[:3],
        [math.sin(0.5), math.cos(0.5), -math.sin(0.5)],
        atol=1e-6,
    )
    assert callbacks.where is None
    called(laws.addresses[0], 2.0)
    assert callbacks.where is not None
    assert callbacks.where.text == "sweep(t = 2)"


def test_31_exception(callbacks: Callbacks) -> None:
    laws = LawTable(callbacks)
    laws.force("forces.friction", friction)
    assert math.isnan(called(laws.addresses[0], 0.5, 2.0, 0.0)[0])
    with pytest.raises(ValueError, match="beyond the table") as raised:
        callbacks.raise_error()
    assert raised.traceback[-1].name == "friction"
    assert raised.value.__notes__ == ["in the function of forces.friction at t = 0.5 s"]


@pytest.mark.parametrize("count", [3, 7])
def test_31_wrong_number_of_results(callbacks: Callbacks, count: int) -> None:
    """Numba does not check bounds: a wrench of 3 numbers was read out of bounds."""

    @numba.njit
    def wrench(t, r, A, v, w):  # type: ignore[no-untyped-def]
        return np.zeros(count)

    address = callbacks.address(
        "forces.push", wrench, lambda f, x: f(x[0], x[1:4], x[4:13], x[13:16], x[16:19]), 19, 6
    )
    values, out = np.zeros(19), np.zeros(6)
    SIGNATURE(address)(values.ctypes.data, out.ctypes.data)
    with pytest.raises(
        fm.InputError, match=f"forces.push: its function gives {count} numbers; return 6 numbers"
    ):
        callbacks.raise_error()


@numba.njit
def mixed(t, r, A, v, w):  # type: ignore[no-untyped-def]
    return (0.0, 0, 1.5, 0, 0.0, 0)


def test_31_results_of_several_types_are_converted() -> None:
    """Numba has no loop over such a tuple."""
    model = fm.Model("rod", gravity=(0.0, 0.0, 0.0))
    rod = model.add(fm.RigidBody("rod", mass=2.0, inertia=(1.0,) * 3))
    model.add(fm.Free("free", model.ground, rod))
    model.add(fm.UserForce("push", rod, mixed))
    assert fm.simulate(model, t_end=0.1, step=0.05).body("rod").velocity[-1, 2] == pytest.approx(
        0.075
    )
