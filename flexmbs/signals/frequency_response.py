"""`FrequencyResponse`: complex amplitudes of outputs per unit amplitude of harmonic inputs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.declaration import shown
from flexmbs.errors import InputError
from flexmbs.files.universal import DIRECTIONS
from flexmbs.signals.signal_arguments import FloatArray, chosen_names, number_list

if TYPE_CHECKING:
    from flexmbs.signals.frequency_plots import FrequencyPlots

ComplexArray = NDArray[np.complex128]
TURN = 2.0 * np.pi


@dataclass(frozen=True, eq=False)
class FrequencyResponse:
    """Frequency response H(f) of steady-state outputs to harmonic inputs.

    Inputs Re(u e^{iωt}) give outputs Re(H u e^{iωt}), ω = 2π f.

    f (nf,) [Hz].  values (nf, no, ni), complex, in `unit(output, input)`.  inputs, outputs: names;
    input_units, output_units. ``response[output, input]`` is one element (nf,). H is also defined
    for unstable systems, which have no steady state.

    """

    f: FloatArray
    values: ComplexArray
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    input_units: tuple[str, ...]
    output_units: tuple[str, ...]

    @property
    def omega(self) -> FloatArray:
        """ω = 2π f (nf,) [rad/s]."""
        return TURN * self.f

    @property
    def magnitude(self) -> FloatArray:
        """|H| (nf, no, ni)."""
        return np.abs(self.values)

    @property
    def phase(self) -> FloatArray:
        """Phase of H (nf, no, ni) [deg], continuous over the frequency."""
        return np.rad2deg(np.unwrap(np.angle(self.values), axis=0))

    def unit(self, output: Any, input: Any) -> str:
        """Unit of one element, such as ``m/N``; ``1`` for equal units. Raises InputError."""
        o, i = self._place(output, input)
        return quotient(self.output_units[o], self.input_units[i])

    def __getitem__(self, pair: tuple[Any, Any]) -> ComplexArray:
        """Element (nf,), by the names of output and input. Raises InputError."""
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise InputError(
                f"response[{shown(pair)}]: give an output and an input, response[output, input]"
            )
        o, i = self._place(*pair)
        return self.values[:, o, i]

    def derivative(self, order: int = 1) -> FrequencyResponse:
        """Time derivative (iω)^order H of the response.

        For displacements per force (receptance) the mobility, and for order 2 the accelerance.
        """
        if not isinstance(order, int) or order not in (1, 2):
            raise InputError(f"order: must be 1 or 2, not {shown(order)}")
        suffix = "/s" if order == 1 else "/s²"
        factor = (1j * self.omega[:, None, None]) ** order
        outputs = tuple(
            f"{name} {'rate' if order == 1 else 'acceleration'}" for name in self.outputs
        )
        units = tuple(_per_second(unit, suffix) for unit in self.output_units)
        return replace(self, values=factor * self.values, outputs=outputs, output_units=units)

    def deflection(self, f: float, input: Any = None) -> ComplexArray:
        """Operating deflection shape (no,) at the frequency nearest to f (Hz).

        Amplitudes of all outputs per unit of the given input (or the only one). Raises InputError
        for frequencies outside the response.
        """
        if len(number_list(f, "f")) != 1:
            raise InputError(f"f: must be one frequency (Hz), not {shown(f)}")
        if not self.f.min() <= f <= self.f.max():
            raise InputError(
                f"f: {f:g} Hz is outside the response, {self.f.min():g} … {self.f.max():g} Hz"
            )
        if input is None and len(self.inputs) != 1:
            raise InputError(
                f"input: the response has {len(self.inputs)} inputs; name one of: "
                f"{', '.join(self.inputs)}"
            )
        i = self.inputs.index(
            chosen_names([self.inputs[0] if input is None else input], self.inputs, "input")[0]
        )
        return self.values[int(np.argmin(np.abs(self.f - f))), :, i]

    def to_uff(self, path: str | os.PathLike[str]) -> None:
        """Write all elements as a universal file (.uff) for modal and test programs.

        Datasets 164 and 58.

        Each location of an output or input is a node, numbered in order, with the direction of its
        axis x, y or z; names are in the first text of each function. Raises InputError, and
        MachineError without pyuff.
        """
        from flexmbs.files.universal import (
            FREQUENCY,
            FREQUENCY_RESPONSE,
            NodalDirection,
            NodalFunction,
            write_functions,
        )

        ends = [_place_and_direction(name) for name in (*self.outputs, *self.inputs)]
        order = list(dict.fromkeys(place for place, _ in ends))
        nodes = [(order.index(place) + 1, direction) for place, direction in ends]
        count = len(self.outputs)
        functions = []
        for o, output in enumerate(self.outputs):
            for i, input in enumerate(self.inputs):
                response, excitation = (
                    NodalDirection(self.output_units[o], *nodes[o]),
                    NodalDirection(self.input_units[i], *nodes[count + i]),
                )
                curve = FREQUENCY, self.f, self.values[:, o, i]
                functions.append(
                    NodalFunction(
                        f"{output} / {input}", FREQUENCY_RESPONSE, *curve, response, excitation
                    )
                )
        write_functions(path, "frequency response", functions)

    @property
    def plot(self) -> FrequencyPlots:
        """Plotter with Bode, Nyquist and Nichols figures."""
        from flexmbs.signals.frequency_plots import FrequencyPlots

        return FrequencyPlots(self)

    def __repr__(self) -> str:
        return (
            f"<FrequencyResponse of {len(self.outputs)} outputs to {len(self.inputs)} inputs "
            f"at {len(self.f)} frequencies>"
        )

    def _place(self, output: Any, input: Any) -> tuple[int, int]:
        """Indices of an output and an input. Raises `InputError`."""
        (o,), (i,) = (
            chosen_names([output], self.outputs, "output"),
            chosen_names([input], self.inputs, "input"),
        )
        return self.outputs.index(o), self.inputs.index(i)


def _place_and_direction(name: str) -> tuple[str, int]:
    """Location arm/tip in the name of a port, ``position arm/tip x``, and the index of its axis.

    0 without an axis.
    """
    place, _, axis = name.partition(" ")[2].rpartition(" ")
    return (
        (place, DIRECTIONS[axis]) if place and axis in DIRECTIONS else (name.partition(" ")[2], 0)
    )


def transfer(
    matrices: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    f: FloatArray,
    *,
    block: int = 2**22,
) -> ComplexArray:
    """Transfer function C (iω − A)⁻¹ B + D (nf, no, ni) at frequencies f (Hz), with A balanced.

    Frequencies are processed in blocks of ``block`` numbers.
    """
    from scipy.linalg import matrix_balance

    A, B, C, D = matrices
    n = len(A)
    if n == 0:
        return np.broadcast_to(D, (len(f), *D.shape)).astype(complex)
    balanced, (scale, _) = matrix_balance(A, permute=False, separate=True)
    B, C = B / scale[:, None], C * scale
    parts: Sequence[FloatArray] = np.array_split(
        f, max(1, min(len(f), -(-len(f) * n * n // block)))
    )
    found = []
    for part in parts:
        shifted = 1j * TURN * part[:, None, None] * np.eye(n) - balanced
        found.append(
            C @ np.linalg.solve(shifted, np.broadcast_to(B.astype(complex), (len(part), *B.shape)))
            + D
        )
    return np.concatenate(found)


def quotient(numerator: str, denominator: str) -> str:
    """Unit text of a quotient a/b: ``m/N``, ``1``, ``m/s/(N m)``."""
    if numerator == denominator:
        return "1"
    return (
        f"{numerator}/({denominator})"
        if " " in denominator or "/" in denominator
        else f"{numerator}/{denominator}"
    )


def _per_second(unit: str, suffix: str) -> str:
    """Unit text of a time derivative: m → m/s, m/s → m/s²."""
    powers = {"/s": 1, "/s²": 2}
    base, slash, _ = unit.partition("/s")
    order = powers[suffix] + (powers.get(unit[len(base) :], 0) if slash else 0)
    return f"{base}/s" if order == 1 else f"{base}/s{'⁰¹²³⁴'[order]}"
