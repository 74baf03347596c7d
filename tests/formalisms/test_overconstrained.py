"""Overconstrained linkages through full turns: rows that were independent at the start do not stay
so, though the rank does.
"""

import contextlib
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "references"))
from closed_loops import parallelograms
from combinations import Combination, combinations
from overconstrained import LOOPS, Loop, bennett, closure, linkage

import flexmbs as fm

RATE = 2.0 * np.pi
METHODS = (
    fm.DormandPrince(rtol=1e-8, atol=1e-9),
    fm.GeneralizedAlpha(step=5e-4),
    fm.ESDIRK(rtol=1e-7, atol=1e-8),
    fm.Rattle(step=5e-4),
    fm.MoreauJean(step=5e-4),
    fm.EventDriven(rtol=1e-8, atol=1e-9),
)
EVERY = [
    each.values[0]
    for each in combinations(*METHODS, coordinates=("joint", "absolute", "rheonomic"))
    if each.values[0].coordinates != "rheonomic" or each.values[0].integrator.takes_time
]
PAIRS = [(name, each) for name in LOOPS for each in EVERY]
PROJECTED = {
    "recursive": fm.Recursive(stabilization=fm.Projection()),
    "embedding": fm.Embedding(fm.Projection()),
}
CYCLE = 16.0  # s in which the loop that is not driven passes all its positions


def some(pairs: list, step: int) -> list:
    """Each step-th pair in each run, the others with the slow tests."""
    return [
        pytest.param(
            *pair, id=f"{pair[0]}-{pair[-1]}", marks=[] if k % step == 0 else pytest.mark.slow
        )
        for k, pair in enumerate(pairs)
    ]


def options(how: Combination) -> dict:
    """Options of `simulate`; explicit integrators with projection."""
    explicit = how.integrator.needs == "accelerations"
    return how.options() | (
        {"formalism": PROJECTED[how.formalism]} if explicit and how.formalism in PROJECTED else {}
    )


@pytest.mark.parametrize(("name", "how"), some(PAIRS, len(EVERY) + 1))
def test_linkages_pass_full_turns(name: str, how: Combination) -> None:
    """Closure of the joint angles by Denavit–Hartenberg matrices, energy, one branch; nothing is
    called singular.
    """
    loop = LOOPS[name]
    end = 1.0 if loop.turns else CYCLE
    run = fm.simulate(
        linkage(loop, RATE if loop.turns else 2.0), t_end=end, output_step=end / 200, **options(how)
    )
    angles = np.stack(
        [run.joint(f"joint{i}").position[:, 0] for i in range(len(loop.table))], axis=1
    )
    assert max(np.abs(closure(loop.table, each)[0]).max() for each in angles) < 1e-6
    assert np.abs(np.diff(angles, axis=0)).max() < 1.0
    if loop.turns:
        np.testing.assert_allclose(angles[:, 0] - angles[0, 0], RATE * run.t, atol=1e-8)
        # steps of first order have errors up to 2e-3
        within = 1e-2 if how.integrator.name == "moreau-jean" else 1e-3
        assert np.abs(run.energy.balance).max() < within * run.energy.scale
    else:
        np.testing.assert_allclose(run.energy.total, run.energy.total[0], rtol=1e-4)
        away = np.abs(angles - angles[0]).max(axis=1)
        assert away[50:].min() < 0.3 < 1.0 < away.max()
    assert sum(rows for _, rows in run.run.redundant) == (5 + loop.turns) - (
        loop.rank + loop.turns
    ) or "absolute" in str(how)
    assert not [note for note in run.run.notes if "singular" in note]
    assert [check.title for check in run.audit if check.status == "FAIL"] == []


def test_bennett_has_the_ratio_of_its_half_angles() -> None:
    """tan(θ₁/2) tan(θ₂/2) = sin((β + α)/2)/sin((β − α)/2) (Bennett 1903), free, over more than two
    turns.
    """
    (_, alpha, _), (_, beta, _), *_ = bennett()
    run = fm.simulate(
        linkage(Loop(bennett(), LOOPS["Bennett"].guess, turns=False), 6.0), t_end=4.0, step=2e-3
    )
    first, second = (run.joint(f"joint{i}").position[:, 0] for i in (0, 1))
    ratio = np.sin((beta + alpha) / 2) / np.sin((beta - alpha) / 2)
    left = np.sin(first / 2) * np.sin(second / 2) - ratio * np.cos(first / 2) * np.cos(second / 2)
    assert np.abs(left).max() < 1e-7
    assert abs(first[-1] - first[0]) > 4.0 * np.pi
    np.testing.assert_allclose(run.energy.total, run.energy.total[0], rtol=1e-5)


@pytest.mark.parametrize(("name", "how"), some([("parallelogram", each) for each in EVERY], 11))
def test_a_parallelogram_at_its_change_point_is_reported(name: str, how: Combination) -> None:
    """All links in line: rank is lost, the motion may branch. It keeps to the parallelogram, or
    stops; both say so.
    """
    run = None
    with contextlib.suppress(fm.SolverError):
        run = fm.simulate(parallelograms(1, -4.0), t_end=0.8, output_step=0.01, **options(how))
    if run is None:
        with pytest.raises(fm.SolverError, match="singular position"):
            fm.simulate(parallelograms(1, -4.0), t_end=0.8, output_step=0.01, **options(how))
        return
    link, rod = run.joint("foot0").position[:, 0], run.body("rod0").rotation[:, 0, 2]
    assert np.abs(np.diff(link)).sum() > np.pi / 2
    assert [note for note in run.run.notes if note.startswith("passed a singular position")]
    # the coupler stays parallel to the ground, or the audit has found the energy wrong
    assert np.abs(rod).max() < 1e-3 or str(run.verdict) == "FAIL"


@pytest.mark.parametrize("method", [fm.DormandPrince, fm.EventDriven])
def test_explicit_steps_do_not_follow_noise_at_a_change_point(method: type) -> None:
    """Accelerations are not determined there; steps cross it between two stages, and the crank
    turns on with the energy that it had.
    """
    run = fm.simulate(
        parallelograms(1, -4.0),
        t_end=0.8,
        output_step=0.01,
        formalism=fm.Embedding(stabilization=fm.Projection()),
        coordinates="absolute",
        integrator=method(rtol=1e-8, atol=1e-9),
    )
    assert np.abs(run.body("rod0").rotation[:, 0, 2]).max() < 1e-3
    assert np.abs(run.energy.balance).max() < 1e-6 * run.energy.scale
    assert str(run.verdict) != "FAIL"
