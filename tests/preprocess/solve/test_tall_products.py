"""Products of tall matrices by blocks of rows, in all orders of storage, against those of numpy."""

import numpy as np
import pytest
import scipy.sparse as sp

from preprocess.solve.engine import SERIAL
from preprocess.solve.sparse_products import RepeatedProduct, negative_blocks
from preprocess.solve.tall_products import BLOCK, TallProducts, inner
from preprocess.solve.threads import Threads


@pytest.mark.parametrize("seed", range(24))
def test_products_of_any_shape_and_order(seed):
    random = np.random.default_rng(seed)
    n = int(random.choice([1, 7, 1025, BLOCK - 1, BLOCK + 5, 2 * BLOCK + 1000]))
    k, m = int(random.choice([0, 1, 5, 6, 13, 40])), int(random.choice([1, 3, 8, 12, 16, 24]))
    A = np.asarray(random.standard_normal((n, k + 2)), order=random.choice(["C", "F"]))[:, :k]
    W = np.asarray(random.standard_normal((n, m)), order=random.choice(["C", "F"]))
    y, factors = random.standard_normal((k, m)), random.standard_normal(m)
    with Threads() as threads:
        products = TallProducts(n, threads)
        np.testing.assert_allclose(products.inner(A, W), A.T @ W, rtol=0, atol=1e-11)
        np.testing.assert_allclose(
            products.squares(W, 2.0 * W), 2.0 * (W * W).sum(axis=0), rtol=1e-12
        )
        np.testing.assert_allclose(products.combined(A, y), A @ y, rtol=0, atol=1e-12)
        changed = W.copy(order="K")
        products.subtract(changed, A, y)
        np.testing.assert_allclose(changed, W - A @ y, rtol=0, atol=1e-12)
        products.subtract_scaled(changed, W, factors)
        np.testing.assert_allclose(changed, W - A @ y - W * factors, rtol=0, atol=1e-12)
        np.testing.assert_allclose(products.scaled(W, factors), W * factors, rtol=0, atol=1e-14)
    np.testing.assert_allclose(inner(A, W), A.T @ W, rtol=0, atol=1e-11)
    np.testing.assert_allclose(SERIAL.inner(A, W), A.T @ W, rtol=0, atol=1e-11)
    np.testing.assert_allclose(SERIAL.inner(sp.csr_matrix(A), W), A.T @ W, rtol=0, atol=1e-11)
    np.testing.assert_array_equal(SERIAL.extent(W), np.abs(W).max(axis=0))


def test_complex_fields_keep_their_imaginary_part():
    random = np.random.default_rng(0)
    A, B = np.asfortranarray(random.standard_normal((50, 3))), random.standard_normal((50, 8)) * 1j
    np.testing.assert_allclose(SERIAL.inner(A, B), A.T @ B)


@pytest.mark.parametrize("seed", range(12))
def test_blocks_of_matrices_with_and_without_whole_blocks(seed):
    random = np.random.default_rng(seed)
    N = int(random.choice([1, 4, 1500]))
    A = sp.random(N, N, min(1.0, 6 / N), format="csr", random_state=seed) + sp.eye(N, format="csr")
    K = sp.kron(A, random.standard_normal((3, 3)), format="csr")
    if seed % 3 == 1:  # an entry that completes no block
        i, j = (int(each) for each in random.integers(3 * N, size=2))
        K = K + sp.csr_matrix(([1.0], ([i], [j])), shape=K.shape)
    if seed % 3 == 2:  # zeros are not stored
        K.data[random.random(K.nnz) < 0.2] = 0.0
        K.eliminate_zeros()
    K.sort_indices()
    found, u = negative_blocks(K.tocsr()), random.standard_normal((3 * N, 11))
    blocks = K.tobsr((3, 3))
    blocks.sort_indices()
    assert np.array_equal(found.indptr, blocks.indptr)
    rebuilt = sp.bsr_matrix(
        (-found.values.reshape(-1, 3, 3), found.indices, found.indptr), shape=K.shape
    )
    assert abs(rebuilt - K).max() == 0.0
    np.testing.assert_allclose(RepeatedProduct(K.tocsr())(u), K @ u, rtol=0, atol=1e-12)
