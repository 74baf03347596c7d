"""Tasks on threads, and the products that they make."""

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from preprocess.fe import assembly
from preprocess.fe.material import Isotropic
from preprocess.mesh.structured import box_mesh
from preprocess.solve import memory
from preprocess.solve.memory import retain_freed_memory
from preprocess.solve.sparse_products import RepeatedProduct, sparse_product
from preprocess.solve.tall_products import BLOCK, TallProducts
from preprocess.solve.threads import Threads

THREADS = [1, 3]


@pytest.mark.parametrize("threads", THREADS)
def test_a_task_waits_for_those_before_it(threads):
    """A random graph of tasks: when one begins, those it waits for are done."""
    random = np.random.default_rng(0)
    before = [sorted(set(random.integers(0, k, 3).tolist())) if k else [] for k in range(60)]
    done: list[int] = []
    too_early: list[int] = []

    def task(k: int) -> None:
        too_early.extend(j for j in before[k] if j not in done)
        done.append(k)

    with threadpool_limits(threads), Threads() as pool:
        pool.in_dependency_order(task, before)
    assert sorted(done) == list(range(60))
    assert not too_early


@pytest.mark.parametrize("threads", THREADS)
def test_an_error_in_a_task_ends_the_rest(threads):
    def task(k: int) -> None:
        raise ZeroDivisionError(k)

    with threadpool_limits(threads), pytest.raises(ZeroDivisionError), Threads() as pool:
        pool.in_dependency_order(task, [[], [0], [1]])


@pytest.mark.parametrize("threads", THREADS)
def test_results_ahead_come_in_order_and_few_at_a_time(threads):
    begun: list[int] = []

    def task(k: int) -> int:
        begun.append(k)
        return k * k

    with threadpool_limits(threads), Threads() as pool:
        for k, found in enumerate(pool.ahead(task, ((k,) for k in range(20)))):
            assert found == k * k
            assert len(begun) <= k + 2 + threads
    assert sorted(begun) == list(range(20))


def test_assembly_is_the_same_on_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(assembly, "CHUNK", 2**12)
    mesh, found = box_mesh((0.4, 0.1, 0.1), (6, 2, 2), "hex20"), []
    for threads in THREADS:
        with threadpool_limits(threads):
            found.append(assembly.assemble(mesh, Isotropic(E=2.1e11, nu=0.3, rho=7850.0)))
    np.testing.assert_array_equal(found[0].K.data, found[1].K.data)
    np.testing.assert_array_equal(found[0].m.data, found[1].m.data)


def test_inner_tasks_have_the_threads_of_the_outer_ones():
    with threadpool_limits(3):
        with Threads() as outer:
            assert outer.count == 3
            with Threads() as inner:
                assert inner.count == 3
        assert Threads().count == 3
    with threadpool_limits(2):
        assert Threads().count == 2


def test_tall_products_are_the_same_on_any_number_of_threads():
    random = np.random.default_rng(1)
    A, B, y = (
        random.standard_normal(shape) for shape in ((2 * BLOCK + 7, 5), (2 * BLOCK + 7, 3), (3, 3))
    )
    found = []
    for threads in THREADS:
        with threadpool_limits(threads), Threads() as pool:
            products, W, turned = TallProducts(len(A), pool), A.copy(), B.copy()
            inner = products.inner(A, B)
            products.subtract(W, B, inner.T)
            products.multiply_in_place(turned, y)
            found.append((inner, W, turned, products.combined(B, y)))
    expected = A.T @ B, A - B @ (A.T @ B).T, B @ y, B @ y
    for one, several, exact in zip(*found, expected):
        np.testing.assert_array_equal(one, several)
        np.testing.assert_allclose(one, exact, rtol=1e-10, atol=1e-10 * np.abs(exact).max())


@pytest.mark.parametrize("k", [0, 1, 2, 7, 8, 9, 12, 24, 25, 33])
def test_sparse_products(k):
    """Of rectangular matrices and of those with blocks of nodes, rows without entries and others;
    fields in any order.
    """
    random = np.random.default_rng(3)
    A = sp.random(9001, 500, 0.002, "csr", random_state=2)
    blocks = sp.kron(
        sp.random(1500, 1500, 0.002, "csr", random_state=4), random.standard_normal((3, 3)), "csr"
    )
    nodal = (blocks + sp.diags(random.integers(0, 2, 4500).astype(float))).tocsr()
    for matrix, product in (
        (A, lambda u: sparse_product(A, u)),
        (nodal, lambda u: sparse_product(nodal, u)),
        (nodal, RepeatedProduct(nodal)),
    ):
        n = matrix.shape[1]
        for u in (
            random.standard_normal((k, n)).T,
            random.standard_normal((2 * n, 2 * k + 1))[::2, 1::2],
        ):
            np.testing.assert_allclose(product(u), matrix @ u, atol=1e-13)


def test_memory_is_kept_until_the_last_of_several_functions_ends(monkeypatch):
    adjusted = []
    monkeypatch.setattr(memory, "_adjust", adjusted.append)

    @retain_freed_memory()
    def nested(depth):
        return nested(depth - 1) if depth else 1 / 0

    with pytest.raises(ZeroDivisionError), retain_freed_memory():
        nested(2)
    assert adjusted == [memory.KEPT, memory.USUAL]
