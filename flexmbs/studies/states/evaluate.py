"""Accelerations and multipliers of one state under a formalism."""

from typing import NamedTuple

import numpy as np

from flexmbs._jit.address import Entry, Packed
from flexmbs.dynamics.work import make_work
from flexmbs.errors import SolverError
from flexmbs.formalisms.calls import FormalismRecords, of_formalism
from flexmbs.formalisms.formalism import Formalism
from flexmbs.integrators.run_context import Exchange, Gauge, make_coupled, make_point
from flexmbs.system.compile import Compiled


class Evaluated(NamedTuple):
    """ṡ, λ, rates of the force states, powers of forces, dissipation and drives."""

    sd: np.ndarray
    lam: np.ndarray
    zd: np.ndarray
    power: np.ndarray


def evaluate(
    compiled: Compiled,
    formalism: Formalism,
    t: float,
    q: np.ndarray,
    s: np.ndarray,
    z: np.ndarray | None = None,
    beta: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """(ṡ, λ) of a consistent state (t, q, s, force states z).

    beta: coordinates of the cut joints from which to start.

    Raises `SolverError` if the mass matrix is not definite.
    """
    found = Evaluator(compiled, formalism, beta).at(t, q, s, z)
    return found.sd, found.lam


class Evaluator:
    """A formalism at single states of a model."""

    def __init__(
        self, compiled: Compiled, formalism: Formalism, beta: np.ndarray | None = None
    ) -> None:
        """Evaluator of a formalism with its own work arrays."""
        formalism = formalism.fitting(compiled, "accelerations")
        self.compiled, self.kernels = compiled, of_formalism(type(formalism))
        _, nq, ns, nc, nz = (int(n) for n in compiled.system.layout)
        self.work, self.workspace = make_work(compiled.system, beta), formalism.workspace(compiled)
        work, z = self.work, np.zeros
        exchange = Exchange(
            work.r,
            work.x,
            *work.gs,
            work.beta,
            work.status,
            Gauge(),
            work.drive_rate,
            z(ns),
            z(ns),
            z(nc, np.int64),
            z(2),
            z(1),
            work.path.stage,
            make_coupled((z(0, np.int64),) * 3, len(work.x)),
        )
        self.point = make_point(nq, ns, nz, nc)
        self.model, self.packed = (
            Packed(FormalismRecords(compiled.system, work, self.workspace, exchange)),
            Packed(self.point),
        )

    def at(
        self,
        t: float,
        q: np.ndarray,
        s: np.ndarray,
        z: np.ndarray | None = None,
        *,
        prepared: bool = True,
    ) -> Evaluated:
        """(ṡ, λ) by the formalism at a state.

        prepared: corrected and with its stored data, as after a step.
        """
        point = self.point
        point.q[:], point.s[:], point.z[:] = q, s, 0.0 if z is None else z
        if prepared:
            self._call(self.kernels.accepted, t)
            self._call(self.kernels.keep, t)
        status = self._call(self.kernels.derivative, t)
        if status < 0:
            body = self.compiled.bodies[-1 - status]
            raise SolverError(
                f"the mass matrix of body '{body}' is not definite at t = {t:g} s; check "
                "its masses and deflections"
            )
        return Evaluated(point.sd.copy(), point.lam.copy(), point.zd.copy(), point.power.copy())

    def _call(self, kernel: Entry | None, t: float) -> int:
        """Call a kernel at time t; its status, 0 without a kernel."""
        return 0 if kernel is None else kernel(self.model, self.packed, self.packed, float(t))
