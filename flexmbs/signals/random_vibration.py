"""Response of a linear system to stationary random inputs: power spectral densities and RMS values.

    G_y(f) = Σ_j |H_j(f)|² G_j(f),    σ² = ∫ G_y df

for uncorrelated inputs j, one-sided densities. Source: Newland, Random Vibrations (1993), chapter
7.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from flexmbs.errors import InputError
from flexmbs.signals.frequency_response import TURN, FrequencyResponse
from flexmbs.signals.signal_arguments import FloatArray, chosen_names
from flexmbs.signals.spectra import ComplexArray, Psd

# relative growth of the distance from a resonance per frequency: errors of RMS values below 0.1 %
RATIO = 0.05
TINY = 1e-9  # damping ratio below which resonances are not resolved further
BACKGROUND = 600  # frequencies over the whole band


class RandomResponse(dict[str, Psd]):
    """Power spectral density of each output by name; `rms` has the RMS values."""

    @property
    def rms(self) -> dict[str, float]:
        """RMS values of the outputs over the band of the inputs."""
        return {name: psd.rms for name, psd in self.items()}


def band(inputs: Mapping[str, Psd], eigenvalue: ComplexArray) -> FloatArray:
    """Frequencies over the band of the inputs, dense around each resonance.

    They include the inputs' points and points next to their ends, where they jump to zero.
    """
    low, high = min(psd.f[0] for psd in inputs.values()), max(psd.f[-1] for psd in inputs.values())
    swing = eigenvalue[(eigenvalue.imag > 0.5 * TURN * low) & (eigenvalue.imag < 2.0 * TURN * high)]
    near = [
        _frequencies_around(value.imag / TURN, max(-value.real, TINY * value.imag) / TURN)
        for value in swing
    ]
    first = max(low, 1e-6 * high)
    whole = [
        np.geomspace(first, high, BACKGROUND),
        np.linspace(low, high, BACKGROUND),
        *near,
        *(psd.f for psd in inputs.values()),
        *(np.nextafter(psd.f[[0, -1]], [-np.inf, np.inf]) for psd in inputs.values()),
    ]
    f = np.unique(np.concatenate(whole))
    return f[(f >= low) & (f <= high)]


def _frequencies_around(f: float, width: float) -> FloatArray:
    """Frequencies from 0 to 2 f, dense around the resonance f.

    Distances from f grow geometrically beyond its half-power width.
    """
    away = width * np.sinh(np.arange(0.0, np.arcsinh(f / width) + RATIO, RATIO))
    return np.concatenate([f - away, f + away])


def read_inputs(inputs: Any, known: tuple[str, ...], units: tuple[str, ...]) -> dict[str, Psd]:
    """Densities by input name, in the units of the inputs. Raises InputError."""
    if not isinstance(inputs, Mapping) or not inputs:
        raise InputError(
            "inputs: must be a mapping of inputs to power spectral densities, "
            "{'force tip z': fm.Psd(…)}"
        )
    names = chosen_names(inputs, known, "inputs")
    _require_apart(names)
    for name, psd in zip(names, inputs.values()):
        if not isinstance(psd, Psd):
            raise InputError(f"inputs: '{name}' needs a fm.Psd, not {type(psd).__name__}")
        unit = units[known.index(name)]
        if psd.unit != unit:
            raise InputError(
                f"inputs: '{name}' is in {unit}, its density in ({psd.unit})²/Hz; convert "
                f"it to ({unit})²/Hz"
            )
    return dict(zip(names, inputs.values()))


def _require_apart(names: list[str]) -> None:
    """Raise InputError for inputs that are the same motion or force, whose densities do not add."""
    seen: dict[str, str] = {}
    for name in names:
        cause = (
            name.removesuffix(" rate").removesuffix(" acceleration")
            if name.startswith("drive ")
            else name
        )
        if cause in seen:
            same = (
                f"'{name}' twice"
                if seen[cause] == name
                else f"'{seen[cause]}' and '{name}', one motion"
            )
            raise InputError(f"inputs: has {same}; give a single density")
        seen[cause] = name


def random_response(response: FrequencyResponse, inputs: Mapping[str, Psd]) -> RandomResponse:
    """Densities of the outputs for uncorrelated inputs, at the frequencies of the response."""
    density = np.stack([inputs[name].at(response.f) for name in response.inputs], axis=1)
    found = np.einsum("foi,fi->fo", np.abs(response.values) ** 2, density)
    return RandomResponse(
        {
            name: Psd(response.f, found[:, k], name, response.output_units[k])
            for k, name in enumerate(response.outputs)
        }
    )
