"""Modes by SLEPc in several processes, an independent check of the block Lanczos iteration."""

from __future__ import annotations

from typing import Any, final

import numpy as np
import scipy.linalg

from flexmbs.errors import SolverError
from flexmbs.flexible_body.components import FloatArray
from preprocess.distributed.engine import PetscEngine
from preprocess.solve.lanczos import Modes, Operator

TOLERANCE = 1e-11  # relative residual of an eigenpair; frequencies have twice as many digits
MORE = 8  # number of eigenpairs beyond those wanted, against the loss of one of a close pair
# number of eigenpairs sought first if their number is unknown; it is doubled as long as all are in
# the band
FIRST = 24


@final
class SlepcEngine(PetscEngine):
    """Engine with modes by the Krylov–Schur iteration of SLEPc.

    It works with single vectors: it needs more solutions, and the number of modes is proved by the
    inertia of another factor.
    """

    single_vectors = True

    def modes(
        self,
        response: Operator,
        mass: Operator,
        size: int,
        *,
        count: int = 0,
        omega_max: float = 0.0,
    ) -> Modes:
        """Lowest modes by SLEPc's Krylov–Schur method."""
        wanted = count or FIRST
        while True:
            found = self._lowest(response, mass, wanted)
            if count:
                return Modes(found.omega[:count], found.shapes[:, :count])
            if len(found.omega) < wanted or found.omega[-1] > omega_max:
                below = found.omega <= omega_max
                return Modes(found.omega[below], found.shapes[:, below])
            wanted *= 2

    def _lowest(self, response: Operator, mass: Operator, count: int) -> Modes:
        """Lowest modes by the Krylov–Schur iteration of SLEPc.

        The operator is A M, the inner product that of M. Source: Stewart, SIAM J. Matrix Anal.
        Appl. 23 (2001) 601; Hernandez, Roman, Vidal, ACM TOMS 31 (2005) 351.
        """
        from petsc4py import PETSc
        from slepc4py import SLEPc

        own = int(np.count_nonzero(self._mine))
        comm = PETSc.COMM_WORLD
        size = int(self.total(np.array(float(own))))
        shape = (own, size), (own, size)
        M, A = (
            PETSc.Mat().createPython(shape, self._product(each), comm=comm)
            for each in (mass, response)
        )
        ksp = PETSc.KSP().create(comm)
        ksp.setType("preonly")
        ksp.getPC().setType("python")
        ksp.getPC().setPythonContext(self._product(response))
        eps = SLEPc.EPS().create(comm)
        eps.setOperators(A, M)  # A stands for the stiffness, of which only the inverse is applied
        eps.setProblemType(SLEPc.EPS.ProblemType.GHEP)
        eps.setType(SLEPc.EPS.Type.KRYLOVSCHUR)
        transform = eps.getST()
        transform.setType(SLEPc.ST.Type.SINVERT)
        transform.setMatMode(SLEPc.ST.MatMode.SHELL)
        transform.setKSP(ksp)
        eps.setTarget(0.0)
        eps.setWhichEigenpairs(SLEPc.EPS.Which.TARGET_MAGNITUDE)
        nev = min(count + MORE, size)
        eps.setDimensions(nev, min(2 * nev + 16, size))
        eps.setTolerances(TOLERANCE, 200)
        eps.setInitialSpace(self._start(response, mass, M.createVecRight()))
        eps.solve()
        converged = eps.getConverged()
        if converged < min(count, size):
            raise SolverError(
                f"modes: {converged} of {count} converged; request fewer modes or repair the mesh"
            )
        return self._pairs(eps, min(converged, nev), response, mass)

    def _product(self, operator: Operator) -> _Product:
        """Product of an operator on fields with vectors, which have the owned rows."""

        def applied(x: FloatArray) -> FloatArray:
            """Operator applied to the owned rows of a vector."""
            field = np.zeros((len(self._mine), 1))
            field[self._mine, 0] = x
            return operator(self.assembled(field))[self._mine, 0]

        return _Product(applied)

    def _start(self, response: Operator, mass: Operator, vector: Any) -> Any:
        """Start vector A M x with random x, which obeys the constraints."""
        x = np.zeros((len(self._mine), 1))
        x[self._mine, 0] = np.random.default_rng(self.process).standard_normal(
            np.count_nonzero(self._mine)
        )
        vector.getArray()[:] = response(mass(self.assembled(x)))[self._mine, 0]
        return vector

    def _pairs(self, eps: Any, count: int, response: Operator, mass: Operator) -> Modes:
        """Modes from the eigenvectors, after one step of inverse iteration.

        The step makes them satisfy all constraints.
        """
        vector = eps.getOperators()[1].createVecRight()
        V = np.zeros((len(self._mine), count))
        for k in range(count):
            eps.getEigenpair(k, vector)
            V[self._mine, k] = vector.getArray()
        MV = mass(self.assembled(V))
        U = response(MV)
        MU = mass(U)
        small, gram = self.inner(MV, U), self.inner(U, MU)
        theta, y = scipy.linalg.eigh(0.5 * (gram + gram.T), 0.5 * (small + small.T))
        order = np.argsort(-theta)
        theta, y = theta[order], y[:, order]
        shapes = U @ y
        return Modes(theta**-0.5, shapes / np.sqrt(self.squares(shapes, MU @ y)))


class _Product:
    """Python context by which PETSc multiplies a matrix or applies a preconditioner."""

    def __init__(self, applied: Operator) -> None:
        self._applied = applied

    def mult(self, _: Any, x: Any, y: Any) -> None:
        """y = A x."""
        y.getArray()[:] = self._applied(x.getArray(readonly=True))

    apply = mult
