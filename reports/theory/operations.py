"""The recursive and the non-recursive formalism of lecture notes 000 and 001, and composite bodies,
with a count of operations.

Both take M_i, f^tc_i, C_i, B_pi and ā_rel,i of a chain of bodies on joints with one freedom and
return η̇ and the number of additions and multiplications, of dense 6×6 matrices as in the notes.
"""

import numpy as np


class Count:
    """Products of dense matrices, and the floating-point operations they take."""

    def __init__(self) -> None:
        self.operations = 0

    def product(self, *factors: np.ndarray) -> np.ndarray:
        found = factors[-1]
        for factor in reversed(factors[:-1]):
            found = self.sum(
                factor @ found, np.size(factor) * (2 if found.ndim == 1 else 2 * found.shape[1])
            )
        return found

    def sum(self, found: np.ndarray, operations: int = 0) -> np.ndarray:
        self.operations += operations or np.size(found)
        return found


def recursive(M: list, f: list, C: list, B: list, a: list) -> tuple[np.ndarray, int]:
    """Steps 2 to 4 of the notes."""
    c, M, f = Count(), list(M), list(f)
    MC, N, eta, before = [None] * len(M), [0.0] * len(M), [], np.zeros(6)
    for i in reversed(range(len(M))):
        MC[i] = c.product(M[i], C[i])
        N[i] = c.product(C[i], MC[i])
        if i:
            load = c.sum(f[i] - c.product(M[i], a[i]))
            M[i - 1] = c.sum(
                M[i - 1] + c.product(B[i].T, c.sum(M[i] - np.outer(MC[i], MC[i]) / N[i], 78), B[i])
            )
            f[i - 1] = c.sum(
                f[i - 1] + c.product(B[i].T, c.sum(load - MC[i] * c.product(C[i], load) / N[i], 13))
            )
    for i in range(len(M)):
        carried = c.sum(c.product(B[i], before) + a[i])
        eta.append(c.product(C[i], c.sum(f[i] - c.product(M[i], carried))) / N[i])
        before = c.sum(carried + C[i] * eta[i], 12)
    return np.array(eta), c.operations + len(eta)


def non_recursive(M: list, f: list, C: list, B: list, a: list) -> tuple[np.ndarray, int]:
    """V̇ = Jη̇ + ā, M̂ = JᵀMJ, k = Jᵀ(f − Mā); the lower half of M̂, Cholesky's method."""
    c, n = Count(), len(M)
    J, bias, mass, k = [], np.zeros(6), np.zeros((n, n)), np.zeros(n)
    for i in range(n):
        J = [c.product(B[i], column) for column in J] + [C[i]]
        bias = c.sum(c.product(B[i], bias) + a[i])
        load, MJ = c.sum(f[i] - c.product(M[i], bias)), [c.product(M[i], column) for column in J]
        for p in range(i + 1):
            k[p] = c.sum(k[p] + c.product(J[p], load))
            for r in range(p + 1):
                mass[p, r] = c.sum(mass[p, r] + c.product(J[p], MJ[r]))
    L = np.linalg.cholesky(mass + np.tril(mass, -1).T)
    return np.linalg.solve(L.T, np.linalg.solve(L, k)), c.operations + n * (n + 1) * (
        2 * n + 1
    ) // 6 + 2 * n * n


def composite(M: list, f: list, C: list, B: list, a: list) -> tuple[np.ndarray, int]:
    """M̂_pi = C_pᵀ B_piᵀ … M^c_i C_i with the masses M^c_i of all bodies beyond joint i, k by the
    wrenches at η̇ = 0.
    """
    c, n, M = Count(), len(M), list(M)
    mass, bias, loads = np.zeros((n, n)), np.zeros(6), []
    for i in range(n):
        bias = c.sum(c.product(B[i], bias) + a[i])
        loads.append(c.sum(f[i] - c.product(M[i], bias)))
    k = np.zeros(n)
    for i in reversed(range(n)):
        k[i], wrench = c.product(C[i], loads[i]), c.product(M[i], C[i])
        for p in range(i, -1, -1):
            mass[i, p] = c.product(C[p], wrench)
            wrench = c.product(B[p].T, wrench) if p else wrench
        if i:
            M[i - 1] = c.sum(M[i - 1] + c.product(B[i].T, M[i], B[i]))
            loads[i - 1] = c.sum(loads[i - 1] + c.product(B[i].T, loads[i]))
    L = np.linalg.cholesky(mass + np.tril(mass, -1).T)
    return np.linalg.solve(L.T, np.linalg.solve(L, k)), c.operations + n * (n + 1) * (
        2 * n + 1
    ) // 6 + 2 * n * n
