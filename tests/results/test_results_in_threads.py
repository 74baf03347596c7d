"""Solutions that threads read at once, and copies of solutions."""

import copy
import gc
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import flexmbs as fm


def chain(n: int) -> fm.Model:
    """Links on hinges about x and y by turns."""
    model = fm.Model("chain")
    end = model.ground
    for k in range(n):
        inertia, frames = (0.01, 0.01, 0.01), {"end": (0, 0, -0.2)}
        link = model.add(
            fm.RigidBody(f"link {k}", mass=1.0, com=(0, 0, -0.1), inertia=inertia, frames=frames)
        )
        model.add(fm.Revolute(f"hinge {k}", end, link, axis="xy"[k % 2], q0=0.3))
        end = link["end"]
    return model


def hardening(t: float, x: float, v: float) -> float:
    return -2.0 * x**3 - 0.1 * v


def test_frames_are_the_same_in_threads() -> None:
    """They shared a workspace: of twelve frames four were wrong."""
    names = [f"link {k}/end" for k in range(12)]
    expected = fm.simulate(chain(12), t_end=1.0, step=1e-3)
    for _ in range(3):
        solution = fm.simulate(chain(12), t_end=1.0, step=1e-3)
        with ThreadPoolExecutor(6) as pool:
            found = list(pool.map(solution.frame, names))
        for name, frame in zip(names, found):
            np.testing.assert_array_equal(frame.position, expected.frame(name).position)
            np.testing.assert_array_equal(frame.acceleration, expected.frame(name).acceleration)


@pytest.mark.parametrize(
    "way", [copy.copy, copy.deepcopy, lambda solution: pickle.loads(pickle.dumps(solution))]
)
def test_copies_stand_for_themselves(way: Callable[[fm.Solution], fm.Solution]) -> None:
    """Also of a solution that has been read, and is gone: workspaces of deep copies pointed into
    its memory.
    """
    expected, solution = (fm.simulate(chain(4), t_end=0.1, step=1e-3) for _ in range(2))
    assert len(solution.frame("link 0").position)
    made = way(solution)
    del solution
    gc.collect()
    filled = [np.full(20_000, 7.0) for _ in range(200)]
    for name in (f"link {k}/end" for k in range(4)):
        np.testing.assert_array_equal(made.frame(name).position, expected.frame(name).position)
    np.testing.assert_array_equal(made.joint("hinge 2").effort, expected.joint("hinge 2").effort)
    np.testing.assert_array_equal(made.energy.balance, expected.energy.balance)
    assert len(filled) == 200


def test_solutions_with_user_functions_are_copied_but_not_pickled() -> None:
    """Copies call the functions of the original, which they keep alive."""
    model = chain(2)
    model.add(fm.JointTorque("hold", "hinge 0", hardening))
    expected = fm.simulate(model, t_end=0.1, step=1e-3)
    made = copy.deepcopy(fm.simulate(model, t_end=0.1, step=1e-3))
    gc.collect()
    np.testing.assert_array_equal(made.joint("hinge 0").effort, expected.joint("hinge 0").effort)
    with pytest.raises(
        fm.InputError, match="results of a model with user functions are not pickled; save them"
    ):
        pickle.dumps(made)
