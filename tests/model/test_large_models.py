"""The work of checking, compiling, running and auditing a model grows in proportion to its size:
calls are counted, not seconds."""

import functools
import math
import sys

import numpy as np
import pytest

import flexmbs as fm
from flexmbs._jit import COMPILED
from flexmbs.model.check import declaration_report
from flexmbs.system.compile import compile_model
from flexmbs.system.elimination import symbolic

N = 12  # bodies or contacts of the smallest model
# of the increase from 2 N to 4 N over that from N to 2 N, which is 2 for work in proportion to the
# size and 4 for its square
LINEAR = 2.2


def chain(n, *, closed=False):
    """Bars on hinges, one after the other."""
    model, end = fm.Model("chain"), "ground"
    for k in range(n):
        bar = fm.RigidBody(f"bar {k}", mass=1.0, inertia=(0.1, 0.1, 0.1), frames={"end": (0, 0, 1)})
        model.add(bar)
        model.add(fm.Revolute(f"hinge {k}", end, bar.name, axis="y"))
        end = f"{bar.name}/end"
    if closed:
        model.add(fm.Spherical("last", end, "ground"))
    return model


def balls(n, **law):
    """Balls over a floor, each on a guide of its own."""
    model = fm.Model("balls")
    for k in range(n):
        model.add(fm.RigidBody(f"ball {k}", mass=1.0, inertia=(0.1, 0.1, 0.1)))
        model.add(fm.Prismatic(f"guide {k}", "ground", f"ball {k}", axis="z", q0=1.0))
        model.add(fm.SpherePlane(f"floor {k}", "ground", f"ball {k}", radius=0.1, **law))
    return model


def stones(n):
    """Point masses without joints, of which springs hold each."""
    model = fm.Model("stones")
    for k in range(n):
        model.add(fm.PointMass(f"stone {k}", mass=1.0))
        model.add(fm.PointSpring(f"spring {k}", "ground", f"stone {k}", k=1.0, length=0.0))
    return model


MODELS = {
    "chain": chain,
    "stones": stones,
    "loop": lambda n: chain(n, closed=True),
    "rigid contacts": balls,
    "force laws": lambda n: balls(n, law=fm.HuntCrossley(stiffness=1e5, damping=0.1)),
}


def calls(work):
    """Number of calls, of steps of generators too, in some work."""
    count = 0

    def tell(frame, event, given):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(tell)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("kind", MODELS)
def test_work_in_proportion_to_the_size(kind, coordinates):
    counts = []
    for n in (N, N, 2 * N, 4 * N):  # the first one builds validators
        model = MODELS[kind](n)
        checked = calls(lambda model=model: declaration_report(model))
        compiled = calls(lambda model=model: compile_model(model, coordinates))
        counts.append((checked, compiled))
    once, twice = np.diff(counts[1:], axis=0)
    assert (twice <= LINEAR * once).all()


@pytest.mark.skipif(COMPILED, reason="calls of compiled functions are not counted")
@pytest.mark.parametrize(
    ("kind", "options"), [("rigid contacts", {"integrator": "moreau-jean"}), ("force laws", {})]
)
def test_run_and_audit_in_proportion_to_the_contacts(kind, options, monkeypatch):
    for limit in ("SECONDS", "SLOWEST"):  # a second run without time limits does the same each time
        monkeypatch.setattr(f"flexmbs.audit.second_run.{limit}", math.inf, raising=False)
    counts = []
    for n in (3, 3, 6, 12):
        model = MODELS[kind](n)
        work = functools.partial(fm.simulate, model, t_end=0.004, step=1e-3, **options)
        counts.append(calls(work))
    once, twice = np.diff(counts[1:])
    assert twice <= LINEAR * once


def eliminated(sizes, pairs, order):
    """For each node, in this order: its neighbours eliminated later, with fill, and the sizes of
    the fronts of all that are left, before its elimination."""
    around = {k: set() for k in order}
    for i, j in pairs:
        around[i].add(j)
        around[j].add(i)
    for k in order:
        sizes_of_fronts = {i: int(sizes[list(near)].sum()) for i, near in around.items()}
        front = around.pop(k)
        for i in front:
            around[i] = (around[i] | front) - {i, k}
        yield front, sizes_of_fronts


@pytest.mark.parametrize("seed", range(30))
def test_fill_of_groups(seed):
    """Groups of coupled nodes have the order and the fill of all their pairs, and each node has the
    smallest front of those that may come next."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 25))
    sizes, signs = rng.integers(1, 5, n), np.ones(n, np.int64)
    groups = [
        rng.choice(n, int(rng.integers(1, min(n, 6) + 1)), replace=False).tolist()
        for _ in range(int(rng.integers(0, 12)))
    ]
    turn = rng.permutation(n).tolist()
    after = {
        k: {i for i in turn[:at] if rng.random() < 0.15}
        for at, k in enumerate(turn)
        if rng.random() < 0.5
    }
    pairs = [(i, j) for group in groups for i in group for j in group if i < j]
    e = symbolic(sizes, signs, groups, after)
    for one, other in zip(e, symbolic(sizes, signs, pairs, after)):
        np.testing.assert_array_equal(one, other)
    order = e.order[:n].tolist()
    for at, (front, sizes_of_fronts) in enumerate(eliminated(sizes, pairs, order)):
        k, done = order[at], set(order[:at])
        found = e.neighbour[e.column[k] : e.column[k + 1]].tolist()
        assert found == sorted(front, key=order.index)
        ready = [i for i in order[at:] if after.get(i, set()) <= done]
        assert k == min(ready, key=lambda i: (sizes_of_fronts[i], i))
