"""Complex modes of a linearised model, and their motion as a solution for views and pictures."""

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.linalg import eig

from flexmbs.api.solution import Solution
from flexmbs.errors import InputError
from flexmbs.page.notebook import Table, card
from flexmbs.results.state import State
from flexmbs.studies.states.balance import moved
from flexmbs.studies.states.state_sequence import solution_of
from flexmbs.system.names import velocity_names
from flexmbs.system.step_scales import displacement_sizes

UNDAMPED = 5e-5  # half of the last digit shown: the sign of smaller ratios is round-off
REST = 1e-9  # of the largest eigenvalue
ROUND_OFF = 1e-10  # of the entries of A, which are differences of fourth order


@dataclass(frozen=True, eq=False)
class Modes:
    """Modes of ẋ = A x, one of each conjugate pair, slowest first.

    eigenvalue (m,) [1/s].  frequency |λ|/2π (m,) [Hz].  damping −Re λ/|λ| (m,), 1 for
    non-oscillatory modes. shape (ns, m): displacements of all velocity coordinates, largest
    component 1 rad or the size of the model. round_off (m,) [1/s]: estimated error of the
    eigenvalues by the round-off of A.
    """

    state: State = field(repr=False)
    eigenvalue: np.ndarray
    shape: np.ndarray
    round_off: np.ndarray = field(repr=False)

    @property
    def frequency(self) -> np.ndarray:
        """|λ|/2π (m,) [Hz]."""
        return np.abs(self.eigenvalue) / (2.0 * np.pi)

    @property
    def damping(self) -> np.ndarray:
        """Damping ratios (m,), negative for unstable modes."""
        size = np.abs(self.eigenvalue)
        return np.divide(-self.eigenvalue.real, size, out=np.zeros_like(size), where=size > 0.0)

    @property
    def growing(self) -> np.ndarray:
        """True (m,) for modes that grow: Re λ above its round-off."""
        return np.asarray(self.eigenvalue.real > self.round_off)

    def motion(self, mode: int, *, amplitude: float = 0.1, frames: int = 32) -> Solution:
        """One period of a mode about its state: displacements amplitude · Re(shape e^{iφ}).

        1 s for non-oscillatory modes.

        amplitude: largest displacement, rad or relative to the size of the model. Raises
        `InputError`.
        """
        if not 0 <= mode < len(self.eigenvalue):
            raise InputError(f"mode: {mode} is not within 0 … {len(self.eigenvalue) - 1}")
        swing = float(np.abs(self.eigenvalue[mode].imag))
        period = 2.0 * np.pi / swing if swing > 0.0 else 1.0
        found = []
        for t in np.linspace(0.0, period, frames + 1):
            delta = amplitude * self.shape[:, mode] * np.exp(2j * np.pi * t / period)
            here = moved(self.state, delta.real)
            found.append(
                replace(
                    here,
                    t=float(t),
                    s=self.state.s + (1j * swing * delta).real,
                    sd=np.zeros_like(here.sd),
                )
            )
        return solution_of(
            found,
            options={"analysis": "mode", "mode": mode, "frequency": float(self.frequency[mode])},
        )

    def table(self) -> Table:
        """Frequency, damping and largest coordinate of each mode."""
        names = velocity_names(self.state.compiled)
        sizes = displacement_sizes(self.state.compiled)
        rows = [
            (
                k,
                f"{frequency:.6g}",
                f"{damping if abs(damping) > UNDAMPED else 0.0:.4f}",
                names[int(np.argmax(np.abs(self.shape[:, k]) / sizes))],
            )
            for k, (frequency, damping) in enumerate(zip(self.frequency, self.damping))
        ]
        return Table("Modes", ("mode", "frequency [Hz]", "damping", "largest in"), rows)

    def _repr_html_(self) -> str:
        """Card of the modes in a notebook."""
        return card("Modes", tables=[self.table()._replace(title="")])

    def __str__(self) -> str:
        _, heads, rows, _ = self.table()
        lines = [
            f"{mode:>4}  {frequency:>14}  {damping:>7}  {name}"
            for mode, frequency, damping, name in (heads, *rows)
        ]
        return "\n".join(lines)


def complex_modes(state: State, A: np.ndarray, basis: np.ndarray) -> Modes:
    """Modes of ẋ = A x, x = (y, ẏ, …), with δ = basis y.

    Errors of the eigenvalues are those of first order, |w|ᵀ E |v| / |wᴴ v| with the left
    eigenvectors w and errors E of the entries of A, ε |A| (Wilkinson, The Algebraic Eigenvalue
    Problem (1965), section 2.8); they do not depend on units.
    """
    value, left, vector = eig(A, left=True, right=True)
    size = np.abs(value)
    value = np.where(size <= REST * size.max(initial=0.0) ** 0.5, 0.0, value)
    keep = np.flatnonzero(value.imag >= 0.0)
    keep = keep[np.argsort(np.abs(value[keep]), kind="stable")]
    left, vector = left[:, keep], vector[:, keep]
    spread = np.einsum("im,ij,jm->m", np.abs(left), np.abs(A), np.abs(vector))
    along = np.maximum(np.abs(np.einsum("im,im->m", left.conj(), vector)), np.finfo(float).tiny)
    round_off = ROUND_OFF * spread / along
    shape = basis @ vector[: basis.shape[1]]
    if shape.size == 0:
        return Modes(state, value[keep], shape, round_off)
    sizes = displacement_sizes(state.compiled)
    span = np.abs(shape / sizes[:, None])
    peak = np.argmax(span, axis=0)
    most = shape[peak, np.arange(shape.shape[1])] / sizes[peak]
    shape = np.divide(shape, most, out=np.zeros_like(shape), where=np.abs(most) > 0.0)
    return Modes(state, value[keep], shape, round_off)
