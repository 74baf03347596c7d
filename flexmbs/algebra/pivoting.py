"""Dense factorizations of small matrices.

Gauss elimination with complete or partial pivoting, and Cholesky. Complete pivoting gives the rank
of the constraints and the dependent coordinates; partial pivoting then solves with the chosen
columns, transposed for the multipliers (Golub and Van Loan 2013, sections 3.4 and 4.2).
Multiplications by zero are skipped, since most entries of constraint rows are zero.
"""

from flexmbs._jit import called, part


@called
def complete_pivots(A, width, row, column, tolerance):
    """Eliminate A (m, n) in place by complete pivoting in its first ``width`` columns.

    Returns the rank. row (m,), column (n,): permutations of A, which are updated. tolerance: the
    elimination ends at a pivot smaller than this fraction of the first one.
    """
    m = A.shape[0]
    n = A.shape[1]
    first = 0.0
    for k in range(min(m, width)):
        best, at_row, at_column = 0.0, k, k
        for r in range(k, m):
            for c in range(k, width):
                if abs(A[r, c]) > best:
                    best, at_row, at_column = abs(A[r, c]), r, c
        if best <= tolerance * first or best == 0.0:
            return k
        if k == 0:
            first = best
        exchange_rows(A, row, k, at_row)
        exchange_columns(A, column, k, at_column)
        for r in range(k + 1, m):
            f = A[r, k] / A[k, k]
            if f != 0.0:
                for c in range(k + 1, n):
                    A[r, c] -= f * A[k, c]
    return min(m, width)


@part
def exchange_rows(A, row, a, b):
    """Exchange rows a and b of A and of its permutation."""
    if a != b:
        row[a], row[b] = row[b], row[a]
        for c in range(A.shape[1]):
            A[a, c], A[b, c] = A[b, c], A[a, c]


@part
def exchange_columns(A, column, a, b):
    """Exchange columns a and b of A and of its permutation."""
    if a != b:
        column[a], column[b] = column[b], column[a]
        for r in range(A.shape[0]):
            A[r, a], A[r, b] = A[r, b], A[r, a]


@called
def lu(A, n, order):
    """Factor the leading n × n block P A = L U in place, with partial pivoting.

    Returns the smallest |pivot|. order (n,): the row exchanged for each row.
    """
    least = 1e300
    for k in range(n):
        best, at = abs(A[k, k]), k
        for r in range(k + 1, n):
            if abs(A[r, k]) > best:
                best, at = abs(A[r, k]), r
        order[k] = at
        least = min(least, best)
        if best == 0.0:
            return 0.0
        if at != k:
            for c in range(n):
                A[k, c], A[at, c] = A[at, c], A[k, c]
        for r in range(k + 1, n):
            if A[r, k] != 0.0:
                f = A[r, k] / A[k, k]
                A[r, k] = f
                for c in range(k + 1, n):
                    A[r, c] -= f * A[k, c]
    return least


@called
def lu_solve(A, n, order, x):
    """x ← A⁻¹ x by the factors of `lu`."""
    for k in range(n):
        at = order[k]
        x[k], x[at] = x[at], x[k]
    for r in range(n):
        f = x[r]
        for c in range(r):
            f -= A[r, c] * x[c]
        x[r] = f
    for r in range(n - 1, -1, -1):
        f = x[r]
        for c in range(r + 1, n):
            f -= A[r, c] * x[c]
        x[r] = f / A[r, r]


@called
def lu_solve_rows(A, n, order, X, m):
    """X ← A⁻¹ X by the factors of `lu`, for the leading n × m block of X."""
    for k in range(n):
        at = order[k]
        if at != k:
            for c in range(m):
                X[k, c], X[at, c] = X[at, c], X[k, c]
    for r in range(n):
        for b in range(r):
            f = A[r, b]
            if f != 0.0:
                for c in range(m):
                    X[r, c] -= f * X[b, c]
    for r in range(n - 1, -1, -1):
        for b in range(r + 1, n):
            f = A[r, b]
            if f != 0.0:
                for c in range(m):
                    X[r, c] -= f * X[b, c]
        for c in range(m):
            X[r, c] /= A[r, r]


@called
def lu_solve_transposed(A, n, order, x):
    """x ← A⁻ᵀ x by the factors of `lu`."""
    for r in range(n):
        f = x[r] / A[r, r]
        x[r] = f
        for c in range(r + 1, n):
            x[c] -= A[r, c] * f
    for r in range(n - 1, -1, -1):
        f = x[r]
        for c in range(r):
            x[c] -= A[r, c] * f
    for k in range(n - 1, -1, -1):
        at = order[k]
        x[k], x[at] = x[at], x[k]


@called
def cholesky(A, n):
    """Factor the leading n × n block A = Uᵀ U in place, upper triangle.

    Returns −1, or the row at which A is not positive definite.
    """
    for k in range(n):
        if not A[k, k] > 0.0:
            return k
        d = A[k, k] ** 0.5
        A[k, k] = d
        for c in range(k + 1, n):
            A[k, c] /= d
        for r in range(k + 1, n):
            f = A[k, r]
            if f != 0.0:
                for c in range(r, n):
                    A[r, c] -= f * A[k, c]
    return -1


@called
def cholesky_solve(A, n, x):
    """x ← A⁻¹ x by the factor of `cholesky`."""
    for r in range(n):
        f = x[r] / A[r, r]
        x[r] = f
        for c in range(r + 1, n):
            x[c] -= A[r, c] * f
    for r in range(n - 1, -1, -1):
        f = x[r]
        for c in range(r + 1, n):
            f -= A[r, c] * x[c]
        x[r] = f / A[r, r]
