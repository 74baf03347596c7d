"""Reductions with normal modes.

Their number is given, or follows from a frequency or a tolerance.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FloatArray
from flexmbs.flexible_body.file import MAX_MODES
from preprocess.inputs.argument_checks import is_number, number
from preprocess.reduction.base import Basis, Progress, Reduction
from preprocess.reduction.interface_statics import InterfaceStatics
from preprocess.reduction.mode_selection import fewest_modes
from preprocess.reduction.sturm_check import CHEAP, modes_below, prove_complete
from preprocess.solve.lanczos import Modes

AUTO = "auto"


@dataclass(frozen=True)
class NormalModeReduction(Reduction):
    """Base of the reductions with static shapes and normal modes.

    modes: number of normal modes, or "auto" for as many as ``band`` and ``tolerance`` need.
    frequency: instead of a number, include all modes up to it [Hz]. band: highest frequency that
    must be accurate [Hz]. tolerance: largest estimated relative error of the frequencies in the
    band. verify: Sturm check of K − ω² M for missing normal modes, at the cost of another
    factorization; by default for parts of up to 30 000 degrees of freedom, and always with the
    engine slepc.
    """

    _: KW_ONLY
    modes: int | Literal["auto"] | None = None
    frequency: float | None = None
    band: float | None = None
    tolerance: float | None = None
    verify: bool | None = None

    normal: ClassVar[str]
    """Name of its normal modes."""

    def __post_init__(self) -> None:
        name = type(self).__name__
        for option in ("frequency", "band", "tolerance"):
            if getattr(self, option) is not None:
                number(getattr(self, option), f"method.{option}")
        if (self.modes is None) == (self.frequency is None):
            raise InputError(f"method: {name} takes either modes=n or frequency=f_max [Hz]")
        if isinstance(self.modes, str) and self.modes == AUTO:
            self._check_auto(name)
        elif self.band is not None or self.tolerance is not None:
            raise InputError('method: band and tolerance require modes="auto"')
        elif self.modes is not None:
            self._check_number(self.modes)
        if self.frequency is not None and not (np.isfinite(self.frequency) and self.frequency > 0):
            raise InputError(f"method.frequency: is {self.frequency} Hz; give a positive limit")

    def _check_auto(self, name: str) -> None:
        """Raise `InputError` for an invalid band or tolerance of automatic selection."""
        if self.band is None or not (np.isfinite(self.band) and self.band > 0):
            given = "missing" if self.band is None else f"{self.band} Hz"
            raise InputError(
                f'method.band: is {given}; {name}(modes="auto") needs the frequency limit '
                "of the error tolerance, in Hz"
            )
        if self.tolerance is not None and not 0 < self.tolerance < 1:
            raise InputError(
                f"method.tolerance: is {self.tolerance}; give a relative error between 0 "
                "and 1, such as 0.01"
            )

    def _check_number(self, modes: Any) -> None:
        """Raise `InputError` unless the number of modes is a positive integer."""
        if not is_number(modes) or not np.isfinite(modes) or modes != int(modes):
            raise InputError(f'method.modes: is {modes!r:.60}; give an integer or "auto"')
        if modes < 1:
            raise InputError(f"method.modes: is {modes}; request at least one {self.normal} mode")
        if modes > MAX_MODES:
            raise InputError(f"method.modes: is {modes}; a flexible body has at most {MAX_MODES}")

    @abstractmethod
    def static_shapes(self, statics: InterfaceStatics) -> dict[str, FloatArray]:
        """Static shapes (3N, n) by name, without rigid-body modes."""

    def held(self, statics: InterfaceStatics) -> tuple[int, ...]:
        """Indices of the interfaces held for its normal modes."""
        return ()

    def degrees_of_freedom(self, statics: InterfaceStatics) -> int:
        """Maximum number of normal modes of the body, by default those of the free body."""
        return statics.free_degrees_of_freedom - 6

    def basis(self, statics: InterfaceStatics, progress: Progress) -> Basis:
        """Static shapes with normal modes, by number, frequency limit or tolerance."""
        static = self.static_shapes(statics)
        progress(f"{self.normal} modes", 0.0)
        if self.modes == AUTO:
            found = self._automatic(statics, static)
        else:
            found = self._normal_modes(statics)
        frequency = found.omega / (2 * np.pi)
        return Basis(static | {f"{self.normal} modes": found.shapes}, frequency, self.band or 0.0)

    def _normal_modes(self, statics: InterfaceStatics) -> Modes:
        """Normal modes by number or frequency limit. Raises `InputError`."""
        count, limit = int(self.modes or 0), 2 * np.pi * (self.frequency or 0.0)
        available = self.degrees_of_freedom(statics)
        if count > available:
            raise InputError(
                f"method.modes: {count} requested; the body has {available} degrees of "
                f"freedom {self._where}"
            )
        if self.frequency:
            self._check_mode_count(statics, self.frequency, "frequency")
        found = statics.modes(self.held(statics), count=count, omega_max=limit)
        if not found.omega.size:
            raise InputError(
                f"method.frequency: no {self.normal} mode up to {self.frequency} Hz; "
                "increase the limit"
            )
        checked = statics.fe.engine.single_vectors or statics.degrees_of_freedom <= CHEAP
        if checked if self.verify is None else self.verify:
            prove_complete(statics, found.omega, self.held(statics))
        return found

    def _check_mode_count(self, statics: InterfaceStatics, frequency: float, option: str) -> None:
        """Raise InputError for a frequency [Hz] with more modes below it than a body can have."""
        below = modes_below(statics, (2 * np.pi * frequency) ** 2, self.held(statics))
        if below > MAX_MODES:
            raise InputError(
                f"method.{option}: {below} modes are below {frequency:g} Hz, a body has "
                f"at most {MAX_MODES}; lower it"
            )

    def _automatic(self, statics: InterfaceStatics, static: dict[str, FloatArray]) -> Modes:
        """Fewest normal modes that keep the error tolerance in the band."""
        self._check_mode_count(statics, float(self.band or 0), "band")
        tolerance = 0.01 if self.tolerance is None else self.tolerance
        return fewest_modes(
            statics,
            static,
            self.held(statics),
            self.normal,
            2 * np.pi * float(self.band or 0),
            tolerance,
        )

    @property
    def _where(self) -> str:
        return "besides its rigid-body motions"
