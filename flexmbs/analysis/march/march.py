"""What a time loop is: an integrator over a formalism in one run."""

import abc
from typing import Any, NamedTuple

import numpy as np

from flexmbs.analysis.march.events import Events
from flexmbs.analysis.march.state import Now
from flexmbs.formalisms.formalism import Formalism
from flexmbs.integrators.integrator import Integrator
from flexmbs.results.trajectory import Impact, Trajectory
from flexmbs.system.compile import Compiled
from flexmbs.system.records import System, Work


class Course(NamedTuple):
    """Everything a time loop works on: the equations, the method, the running state, output times and outputs."""

    compiled: Compiled
    system: System
    work: Work
    form: Formalism
    room: Any
    method: Integrator
    now: Now
    events: Events
    times: np.ndarray
    out: Trajectory


class March(abc.ABC):
    """Time loop of an integrator over a formalism."""

    def __init__(self, course: Course) -> None:
        self.course = course
        self.watched = len(course.events.info) > 0
        self.impacts: list[Impact] = []

    @abc.abstractmethod
    def outputs(self, first: int, last: int) -> tuple[int, int]:
        """March until the outputs first … last−1 are there. Returns the status and the number of outputs reached.

        Where the run is watched for events, ``STEPPED`` comes after every step, else after `PAUSE` of them; the next call goes on
        from there.
        """

    def notes(self) -> list[str]:
        """What the user should know after a run, one line each."""
        return []

    @abc.abstractmethod
    def look_at(self, t: float) -> None:
        """q and s at a time within the last step, into ``now.at``."""
