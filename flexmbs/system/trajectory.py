"""Trajectory of a run: states at the output times, and run information."""

import datetime
import functools
import importlib.metadata
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from flexmbs import __version__
from flexmbs.system.check import Check

NO_CONTACTS = np.zeros((0, 0, 3))
NO_CUTS = np.zeros((0, 0))


class Trajectory(NamedTuple):
    """State at the output times."""

    t: np.ndarray  # (nt,)
    q: np.ndarray  # (nt, nq)
    s: np.ndarray  # (nt, ns)
    sd: np.ndarray  # (nt, ns)
    lam: np.ndarray  # (nt, nc)
    z: np.ndarray  # (nt, nz)
    work: np.ndarray  # (nt, 3) work of forces, dissipated energy, work of drives
    drift: np.ndarray  # (nt, 2) max |g|, max |G s + γ̄|
    step: np.ndarray  # (nt,) last step
    # (nt, ncontacts, 3) normal and tangential impulses of the last step over its length
    contact: np.ndarray = NO_CONTACTS
    beta: np.ndarray = NO_CUTS  # (nt, nβ) coordinates of the cut joints with their whole turns


class EventRecord(NamedTuple):
    """An event of a run: its name, its time (s), positions and velocities there."""

    name: str
    t: float
    q: np.ndarray  # (nq,)
    s: np.ndarray  # (ns,)


class Impact(NamedTuple):
    """An impact.

    The contact, its time (s), normal and two tangential impulses (N s), and the energy lost in it
    (J). Contacts that transmit an impact of others have impacts of their own at the same time.
    Their shares −½ p · (U⁻ + U⁺) of the energy lost may be negative; the sum is the energy lost.
    """

    contact: str
    t: float
    impulse: tuple[float, float, float]
    lost: float


AT_EVENT = "stopped at event "  # prefix of the outcome of a run with a terminal event

PACKAGES = ("numpy", "scipy", "numba", "h5py")


@functools.cache
def _version(name: str) -> str:
    """Version of an installed package, empty if it is not installed."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def provenance() -> dict[str, str]:
    """Date, machine and program versions of a run."""
    versions = {name: _version(name) for name in PACKAGES if _version(name)}
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        "flexmbs": __version__,
        "python": platform.python_version(),
        **versions,
    }


@dataclass(frozen=True)
class RunInfo:
    """Run information: options and outcome.

    options: what the user chose.  outcome: "finished", the terminal event, or why the run stopped.
    events: in order of time. redundant: (joint, number of dependent rows).  impacts: of rigid
    contacts, in order of time. moved: what assembly changed.  notes: warnings, one line each.
    provenance: date, machine, versions. checks: findings of the audit from the equations, beside
    those from the outputs. model_text: the model as a TOML text where it is not the text of the
    compiled model (a solution read from a file).
    """

    options: dict[str, Any] = field(default_factory=dict)
    outcome: str = "finished"
    events: Sequence[EventRecord] = ()
    redundant: Sequence[tuple[str, int]] = ()
    impacts: Sequence[Impact] = ()
    moved: Sequence[str] = ()
    notes: Sequence[str] = ()
    provenance: dict[str, str] = field(default_factory=provenance)
    checks: Sequence[Check] = ()
    model_text: str | None = None

    @property
    def finished(self) -> bool:
        """True when the run reached its end or a terminal event."""
        return self.outcome == "finished" or self.outcome.startswith(AT_EVENT)
