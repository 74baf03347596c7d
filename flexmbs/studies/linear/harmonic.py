"""Harmonic response of a linearised model, and its hand-over to python-control."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from flexmbs.errors import InputError, MachineError
from flexmbs.exports.linear_code import LinearSystem
from flexmbs.signals.frequency_response import TURN, ComplexArray, FrequencyResponse, transfer
from flexmbs.signals.random_vibration import RandomResponse, band, random_response, read_inputs
from flexmbs.signals.signal_arguments import FloatArray, chosen_names, number_list
from flexmbs.signals.spectra import Psd

if TYPE_CHECKING:
    from flexmbs.studies.linear.linearize import Linearization

STABLE = 1e-12  # damping ratio of a mode that decays
SINGULAR = 1e-9  # distance of iω from an eigenvalue, over its size: the response is unbounded there


def frequency_response(
    linear: Linearization,
    f: ArrayLike,
    inputs: Iterable[Any] | None = None,
    outputs: Iterable[Any] | None = None,
) -> FrequencyResponse:
    """H(f) = C (iω − A)⁻¹ B + D of a linearised model at ascending frequencies f (Hz).

    inputs, outputs: some of those of the linearization, by name or tuple; all by default. A drive
    is one input here: its coordinate oscillates with its rate and acceleration, H = H₀ + iω H₁ − ω²
    H₂ (base excitation); ``drive motor rate`` and ``drive motor acceleration`` are the same motion
    per unit rate and acceleration. Raises `InputError` for unknown names, motions that are not
    steady, and frequencies at which the response is unbounded: undamped natural frequencies, and 0
    Hz where the model can move freely. Source: Ewins, Modal Testing (2000), section 2.
    """
    f = number_list(f, "f", least=0.0)
    if (np.diff(f) <= 0.0).any():
        raise InputError("f: must be ascending frequencies")
    if not linear.steady:
        raise InputError(
            "response: the model does not rest or move steadily at this state, so that "
            "its matrices change with time; "
            "linearize an equilibrium, fm.linearize(model, start=fm.statics(model))"
        )
    efforts = len(linear.inputs) - 3 * linear.drives
    first = linear.inputs[: efforts + linear.drives]
    wanted = chosen_names(first if inputs is None else inputs, linear.inputs, "inputs")
    shown = chosen_names(outputs, linear.outputs, "outputs")
    if not wanted or not shown:
        raise InputError(
            "response: needs inputs and outputs; name them in fm.linearize(model, "
            "inputs=[…], outputs=[…])"
        )
    _require_bounded(linear, f)
    rows = [linear.outputs.index(name) for name in shown]
    H = transfer((linear.A, linear.B, linear.C[rows], linear.feedthrough[rows]), f)
    columns = [linear.inputs.index(name) for name in wanted]
    values = np.stack([_column(H, f, efforts, linear.drives, k) for k in columns], axis=2)
    units = (
        tuple(linear.input_units[k] for k in columns),
        tuple(linear.output_units[k] for k in rows),
    )
    return FrequencyResponse(f, values, tuple(wanted), tuple(shown), *units)


def random_vibration(
    linear: Linearization, inputs: Mapping[Any, Psd], outputs: Iterable[Any] | None = None
) -> RandomResponse:
    """Power spectral densities and RMS values of outputs for random inputs, G_y = Σ |H|² G.

    The inputs are stationary and uncorrelated.

    inputs: one-sided densities by the names of inputs, ``{"drive table acceleration": fm.Psd(f,
    values, unit="m/s²")}``. The frequencies are chosen: the band of the inputs, dense at
    resonances. Raises `InputError` as `frequency_response`, for units that do not match, and for
    systems that are not stable, which have no stationary response. Source: Newland, Random
    Vibrations (1993), chapter 7.
    """
    given = read_inputs(inputs, linear.inputs, linear.input_units)
    value = linear.modes.eigenvalue
    unstable = np.flatnonzero(value.real >= -STABLE * np.abs(value))
    if len(unstable):
        raise InputError(
            f"random_response: mode {unstable[0]} is not damped, so that no response is "
            "stationary; add damping or support"
        )
    return random_response(frequency_response(linear, band(given, value), given, outputs), given)


def state_space(linear: Linearization) -> Any:
    """The linearised model as a `control.StateSpace`.

    With the names of its inputs, outputs and states.

    A drive stays three inputs, its coordinate, rate and acceleration, which its signal must match.
    Raises `MachineError` without python-control, and `InputError` for a motion that is not steady.
    """
    try:
        from control import ss
    except ImportError:
        raise MachineError(
            "to_control: needs python-control; install it: pip install control"
        ) from None
    if not linear.steady:
        raise InputError(
            "to_control: the model does not rest or move steadily at this state; "
            "linearize an equilibrium"
        )
    names = {
        "inputs": list(linear.inputs),
        "outputs": list(linear.outputs),
        "states": _state_names(linear),
    }
    # control reserves the dot
    plain = {key: [name.replace(".", ":") for name in value] for key, value in names.items()}
    return ss(linear.A, linear.B, linear.C, linear.feedthrough, **plain)


def linear_system(linear: Linearization) -> LinearSystem:
    """The linearised model in the form of export files.

    Raises `InputError` for a motion that is not steady.
    """
    if not linear.steady:
        raise InputError(
            "export: the model does not rest or move steadily at this state; linearize an "
            "equilibrium"
        )
    both = ((linear.inputs, linear.input_units), (linear.outputs, linear.output_units))
    inputs, outputs = ([f"{name} ({unit})" for name, unit in zip(*each)] for each in both)
    title = f"{linear.state.compiled.model.name}, linearized at t = {linear.state.t:g} s"
    return LinearSystem(
        title,
        linear.A,
        linear.B,
        linear.C,
        linear.feedthrough,
        _state_names(linear),
        inputs,
        outputs,
    )


def _state_names(linear: Linearization) -> list[str]:
    """Names of the states x = (y, σ, z)."""
    rest = len(linear.A) - len(linear.coordinates) - len(linear.velocities)
    return [
        *linear.coordinates,
        *(f"{name} rate" for name in linear.velocities),
        *(f"force state {k}" for k in range(rest)),
    ]


def _column(H: ComplexArray, f: FloatArray, efforts: int, drives: int, k: int) -> ComplexArray:
    """Column of the frequency response to input k; drives with rate and acceleration.

    Per unit of the one that is named.
    """
    if k < efforts:
        return H[:, :, k]
    order, drive = divmod(k - efforts, drives)
    rate = 1j * TURN * f[:, None]
    position, speed, acceleration = (H[:, :, efforts + drive + n * drives] for n in range(3))
    whole = position + rate * speed + rate**2 * acceleration
    if order and (f == 0.0).any():
        raise InputError(
            "f: a drive's rate or acceleration of 0 Hz is an unbounded motion; begin above 0 Hz"
        )
    return np.asarray(whole / rate**order)


def _require_bounded(linear: Linearization, f: FloatArray) -> None:
    """Raise `InputError` at frequencies where iω is an eigenvalue."""
    value = linear.modes.eigenvalue
    omega = TURN * f
    away = np.abs(1j * omega[:, None] - value)
    at = np.argwhere(away <= SINGULAR * np.maximum(np.abs(value), omega[:, None]))
    if len(at):
        raise InputError(
            f"f: at {f[at[0, 0]]:g} Hz the response is unbounded, it is the undamped "
            f"natural frequency of mode {at[0, 1]}; "
            "add damping, or leave this frequency out"
        )
