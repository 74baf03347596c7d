"""Certified reductions: proved bounds of a reduction's errors up to a frequency.

The bounds refer to the finite-element model with rigid interfaces and connections as constraints,
with K and M as assembled, free and with each interface held in turn. They include margins for
round-off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from flexmbs.errors import InputError, SolverError
from flexmbs.flexible_body.components import FloatArray
from preprocess.reduction.enclosures import Enclosure, enclosure
from preprocess.reduction.free_reduction import FreeReduction
from preprocess.reduction.sturm_check import SturmCounts
from preprocess.reduction.transfer_error import LOSS, FullSpectrum, TransferError, TransferReference
from preprocess.reduction.trial_space import TrialSpace

# range of the shift, as multiples of the band: beyond the highest frequency in it, and low enough
# for few more modes
_ABOVE, _HIGHEST = 1.05, 1.6
_BOUNDED = 1.0  # relative error bound; a larger one contains no information
# factor on the backward error of the count, which is estimated with one random vector
_MARGIN = 10.0
_MOST_NOISE = 0.1  # round-off relative to the tolerance; more would use up the tolerance


class AccuracyRequest(NamedTuple):
    """Accuracy to be proved: relative errors of at most ``tolerance`` up to ``band`` [Hz]."""

    band: float
    tolerance: float

    @property
    def omega(self) -> float:
        """Band in rad/s."""
        return 2 * np.pi * self.band


class SupportBounds(NamedTuple):
    """Frequencies (m,) [Hz] of the reduction under a support, and bounds of the full model's."""

    support: str
    reduced: FloatArray
    lower: FloatArray
    upper: FloatArray

    @property
    def error(self) -> FloatArray:
        """Largest possible relative error of each frequency, (m,)."""
        return np.asarray(self.reduced / self.lower - 1.0)


@dataclass(frozen=True, eq=False)
class Certificate:
    """Proved bounds of a reduction.

    Of frequencies by support, with the number of the full model's modes below ``shift`` [Hz], and
    of the interface transfer functions; noise: relative round-off of the eigenvalues.
    """

    request: AccuracyRequest
    supports: tuple[SupportBounds, ...]
    counts: Mapping[str, int]
    shift: float
    transfer: TransferError
    noise: float

    @property
    def frequency_error(self) -> float:
        """Largest possible relative error of a frequency in the band."""
        return max(float(each.error.max(initial=0.0)) for each in self.supports)

    @property
    def proved(self) -> bool:
        """True if all errors are within the tolerance."""
        return max(self.frequency_error, self.transfer.as_frequency) <= self.request.tolerance

    def facts(self) -> dict[str, str | float]:
        """Bounds by name, for the provenance of a body."""
        found: dict[str, str | float] = {
            "certificate: band [Hz]": self.request.band,
            "certificate: tolerance": self.request.tolerance,
            "certificate: frequencies": self.frequency_error,
            "certificate: transfer functions": self.transfer.as_frequency,
            "certificate: transfer functions, largest relative error": f"{self.transfer.relative:.2g}, loss factor {LOSS:g}",
            "certificate: round-off of the frequencies": 0.5 * self.noise,
        }
        for each in self.supports:
            count = f"{self.counts[each.support]} modes below {self.shift:.6g} Hz"
            rows = zip(each.lower, each.upper, each.reduced, each.error)
            pairs = [
                f"{low:.7g} … {high:.7g} Hz (reduced {f:.7g} Hz, error ≤ {e:.2g})"
                for low, high, f, e in rows
            ]
            found[f"certificate: {each.support}"] = "; ".join(
                [count, *(pairs or ["none in the band"])]
            )
        return found

    def refusal(self) -> str:
        """Text that names the bounds that exceed the tolerance."""
        name, band = f"{self.request.tolerance:g}", f"{self.request.band:g} Hz"
        worst = max(self.supports, key=lambda each: float(each.error.max(initial=0.0)))
        if self.frequency_error >= self.transfer.as_frequency:
            k = int(np.argmax(worst.error))
            error = f"at {worst.reduced[k]:.6g} Hz {_bounded(worst.error[k])}"
            what = (
                f"mode {k + 1} {worst.support} "
                f"{error if np.isfinite(worst.error[k]) else 'is missing'}"
            )
        else:
            what = (
                f"the transfer function at {self.transfer.at:.6g} Hz "
                f"{_bounded(self.transfer.as_frequency)}"
            )
        return (
            f"tolerance: {name} is not proved up to {band}: {what}; keep more modes, raise "
            "the tolerance or lower the band"
        )


@final
class CertifiedReference:
    """Full model in a trial space, with bounds of its eigenvalues below a shift above the band.

    The bounds hold under every support.
    """

    def __init__(self, space: TrialSpace, request: AccuracyRequest) -> None:
        """Reference with bounds from a trial space, for the requested accuracy.

        Raises InputError if round-off precludes the tolerance, `MissingModes` if modes are missing.
        """
        statics, low = space.statics, (_ABOVE * request.omega) ** 2
        supports = (None, *range(len(statics.interfaces)))
        self.shift = _clear_shift(
            np.concatenate([space.reduction.ritz(held).lam for held in supports]), low
        )
        counts = SturmCounts(
            statics, self.shift, [() if held is None else (held,) for held in supports]
        )
        self.request, self.space, self.counts = request, space, dict[str, int]()
        self._enclosed, self.noise = dict[int | None, tuple[str, Enclosure]](), 0.0
        for held in supports:
            trial = space.trial(held, self.shift)
            count = counts.below(() if held is None else (held,)) - (6 if held is None else 0)
            _check_count(trial.lam, trial.noise, self.shift, count, counts.backward_error)
            self.noise = max(self.noise, trial.noise)
            self._enclosed[held], self.counts[trial.support] = (
                (trial.support, enclosure(trial, self.shift, count)),
                count,
            )
            if held is None:
                compliance = statics.interface_loads.T @ statics.free_response(
                    statics.interface_loads
                )
                spectrum = FullSpectrum(self._enclosed[None][1], self.shift)
                self._transfer = TransferReference(
                    trial, 0.5 * (compliance + compliance.T), spectrum
                )
        if not self.noise < _MOST_NOISE * request.tolerance:
            least = self.noise / _MOST_NOISE
            raise InputError(
                f"tolerance: {request.tolerance:g} is below what round-off allows, "
                f"{least:.2g}; raise it"
            )

    def frequencies(self, reduced: FreeReduction) -> tuple[SupportBounds, ...]:
        """Bounds of the frequencies in the band under every support."""
        return tuple(self._bounds(held, reduced) for held in self._enclosed)

    def certificate(self, reduced: FreeReduction) -> Certificate:
        """Certificate with bounds of a reduction's errors."""
        transfer = self._transfer.error(reduced, self.request.omega)
        hertz = float(np.sqrt(self.shift)) / (2 * np.pi)
        return Certificate(
            self.request, self.frequencies(reduced), self.counts, hertz, transfer, self.noise
        )

    def proves(self, reduced: FreeReduction) -> bool:
        """True if a reduction is within the tolerance."""
        if not len(reduced.K):
            return False
        limit = self.request.tolerance
        if max(float(each.error.max(initial=0.0)) for each in self.frequencies(reduced)) > limit:
            return False
        return self._transfer.error(reduced, self.request.omega, limit).as_frequency <= limit

    def _bounds(self, held: int | None, reduced: FreeReduction) -> SupportBounds:
        """Upper bounds and enclosures of the frequencies (Hz) for a support."""
        support, (lower, upper) = self._enclosed[held]
        m = int(np.sum(lower <= self.request.omega**2))
        lam = np.full(m, np.inf)
        own = reduced.ritz(held).lam[:m] * (1.0 + self.noise)
        lam[: len(own)] = own
        low = np.maximum(lower[:m], np.finfo(float).tiny)
        hertz = [np.sqrt(values) / (2 * np.pi) for values in (lam, low, np.minimum(upper[:m], lam))]
        return SupportBounds(support, *hertz)


def _bounded(error: float) -> str:
    """Text of an error bound; none if it is larger than the value itself."""
    return f"has an error of up to {error:.2g}" if error <= _BOUNDED else "has no useful bound"


class MissingModes(Exception):
    """Exception for a trial space that lacks modes of the full model."""


def _clear_shift(values: FloatArray, low: float) -> float:
    """Middle of the widest relative gap of the values in the range of the shift."""
    high = low * (_HIGHEST / _ABOVE) ** 2
    edges = np.sort(np.concatenate([[low, high], values[(values > low) & (values < high)]]))
    k = int(np.argmax(np.diff(np.log(edges))))
    return float(np.sqrt(edges[k] * edges[k + 1]))


def _check_count(
    lam: FloatArray, noise: float, shift: float, count: int, backward_error: float
) -> None:
    """Raise `MissingModes` for more eigenvalues than Ritz values.

    SolverError for fewer, or if round-off may have changed their number.
    """
    found = int(np.sum(lam < shift))
    gap = float((np.abs(lam - shift) / shift).min())
    change = _MARGIN * backward_error / np.finfo(float).eps * noise
    if count < found or change > gap:
        raise SolverError(
            f"certificate: the count of modes below {np.sqrt(shift) / (2 * np.pi):.6g} Hz "
            "is uncertain by round-off; "
            "change the band slightly"
        )
    if count > found:
        raise MissingModes
