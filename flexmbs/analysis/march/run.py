"""One run: the state of a time loop, marched in batches of outputs."""

import math
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from flexmbs.analysis.initial import InitialState, settle
from flexmbs.analysis.march import state
from flexmbs.analysis.march.explicit import explicit_loop
from flexmbs.analysis.march.implicit import alpha_loop
from flexmbs.analysis.stop import INTERRUPTED
from flexmbs.dynamics.work import make_work
from flexmbs.errors import InputError, MachineError
from flexmbs.formalisms.formalism import Formalism
from flexmbs.integrators import dormand_prince as dp
from flexmbs.integrators.dormand_prince import DormandPrince
from flexmbs.integrators.generalized_alpha import GeneralizedAlpha
from flexmbs.system.compile import Compiled
from flexmbs.system.records import PARENT, System, Work

Progress = Callable[[float, str], None]
Integrator = GeneralizedAlpha | DormandPrince
BATCH_SECONDS = 0.25  # between two calls of the progress function


class Run:
    """State of one run, marched in batches of outputs."""

    def __init__(
        self,
        compiled: Compiled,
        method: GeneralizedAlpha | DormandPrince,
        form: Formalism,
        times: np.ndarray,
        start: InitialState,
    ) -> None:
        system: System = compiled.system
        _, nq, ns, nc, nz = (int(n) for n in system.layout)
        self.compiled, self.system, self.method, self.form, self.times = compiled, system, method, form, times
        self.work: Work = make_work(system, start.beta)
        self.room: Any = form.room(compiled)
        self.now = state.make_now(nq, ns, nc, nz)
        _check_memory(len(times), int(system.layout[1:].sum()) + ns)
        self.out = state.make_trajectory(times, nq, ns, nc, nz)
        self.now.q[:], self.now.s[:] = start.q, start.s
        if len(start.z):
            self.now.z[:] = start.z
        settled = settle(compiled, self.work, 0.0, self.now.q, self.now.s, self.now.z)
        if settled.status < 0:
            body = compiled.bodies[-1 - settled.status]
            raise InputError(
                f"bodies.{body}: nothing gives its motion inertia (mass matrix not positive definite); give it mass or a joint"
            )
        form.begin(compiled, self.work, self.now.q, self.now.s)
        self.now.sd[:], self.now.lam[:], self.now.a[:] = settled.sd, settled.lam, settled.sd
        self.now.clock[1] = method.step or min(1e-3, float(times[-1]) / 100.0)

    def march(self, progress: Progress | None) -> tuple[int, int]:
        """Run to the end. Returns the last status and the number of outputs reached."""
        reached, batch, n = 0, 2, len(self.times)
        while reached < n:
            begun = time.perf_counter()
            last = min(n, reached + batch)
            try:
                with self.compiled.callbacks.interrupts_kept():
                    status, reached = self._batch(reached, last)
            except KeyboardInterrupt:
                self.compiled.callbacks.error = None
                return INTERRUPTED, reached
            if isinstance(self.compiled.callbacks.error, KeyboardInterrupt):
                self.compiled.callbacks.error = None
                return INTERRUPTED, reached
            if status != state.DONE or self.compiled.callbacks.error is not None:
                return (state.NOT_FINITE if status == state.DONE else status), reached
            if progress:
                progress(reached / n, f"t = {self.now.clock[0]:.4g} s")
            seconds = time.perf_counter() - begun
            batch = int(min(max(1.0, batch * BATCH_SECONDS / max(seconds, 1e-3)), 4.0 * batch)) if last - 2 > 0 else batch
        return state.DONE, n

    def _batch(self, first: int, last: int) -> tuple[int, int]:
        status, reached = MARCHES[type(self.method)](self, first, last)
        return int(status), int(reached)


def generalized_alpha(run: Run, first: int, last: int) -> tuple[int, int]:
    """Outputs first … last−1 by generalized-α."""
    m, system = run.method, run.system
    assert isinstance(m, GeneralizedAlpha)
    absolute = bool((system.tree[:, PARENT] < 0).all())
    march = alpha_loop(type(run.form))
    return march(  # type: ignore[no-any-return]
        system, run.work, run.room, run.now, m.parameters(), m.step or 0.0, m.rtol, m.atol, m.newton_tolerance, m.max_iterations,
        absolute, run.times, first, last, run.out,
    )  # fmt: skip


def dormand_prince(run: Run, first: int, last: int) -> tuple[int, int]:
    """Outputs first … last−1 by Dormand–Prince."""
    m = run.method
    march = explicit_loop(type(run.form))
    return march(  # type: ignore[no-any-return]
        run.system, run.work, run.room, run.now, dp.A, dp.C, dp.ERROR, m.step or 0.0, m.rtol, m.atol, run.times, first, last,
        run.out,
    )  # fmt: skip


MARCHES: dict[type, Callable[[Run, int, int], tuple[int, int]]] = {
    GeneralizedAlpha: generalized_alpha, DormandPrince: dormand_prince,
}  # fmt: skip
INTEGRATORS: dict[str, type[Integrator]] = {method.name: method for method in MARCHES}  # type: ignore[attr-defined]


def _check_memory(outputs: int, numbers: int) -> None:
    """MachineError when the outputs of so many numbers each cannot fit in the machine's memory."""
    need, there = 8.0 * outputs * (numbers + 7), memory()
    if need > there:
        raise MachineError(
            f"output_step: {outputs} outputs of {numbers} numbers need {need / 1e9:.3g} GB, "
            f"the machine has {there / 1e9:.3g} GB; choose a longer output_step"
        )


def memory() -> float:
    """Bytes of memory of the machine; infinity where the system does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def statistics(now: state.Now, prepare: float, march: float) -> dict[str, Any]:
    names = ("steps", "rejected", "iterations", "factorizations", "evaluations", "dependent_rows")
    counts = {name: int(now.statistics[k]) for k, name in enumerate(names)}
    return {**counts, "prepare_seconds": prepare, "solve_seconds": march}
