"""Row 43: eigenvalues that do not converge, matrices that are singular."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

from flexmbs.errors import SolverError
from preprocess.solve import lanczos


def chain(n: int) -> scipy.sparse.csr_matrix:
    """Springs of 1 N/m between n masses, held at one end."""
    diagonals = [np.r_[np.full(n - 1, 2.0), 1.0], -np.ones(n - 1), -np.ones(n - 1)]
    return scipy.sparse.diags(diagonals, [0, 1, -1], format="csr")


def test_43_modes_that_do_not_converge_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A response that is right to three digits only has no mode to seven."""
    monkeypatch.setattr(lanczos, "_MAX_RESTARTS", 2)
    n = 500
    factor, rng = scipy.sparse.linalg.splu(chain(n).tocsc()), np.random.default_rng(0)

    def inexact(loads: np.ndarray) -> np.ndarray:
        return factor.solve(loads) * (1.0 + 1e-3 * rng.standard_normal(loads.shape))

    with pytest.raises(SolverError) as stopped:
        lanczos.modes_of(inexact, lambda u: u, n, count=30, block=2)
    found = int(str(stopped.value).removeprefix("modes: ").split()[0])
    assert 0 <= found < 30
    assert (
        str(stopped.value)
        == f"modes: {found} of 30 converged after 2 restarts; request fewer modes or repair "
        "the mesh"
    )
    assert stopped.value.exit_code == 3
