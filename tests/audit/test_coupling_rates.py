"""Functions of constraints whose derivatives are wrong, or that depend on time, where only the run comes."""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.system.check import FAIL

pytestmark = pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning", "ignore::flexmbs.AssemblyWarning")
TITLE = "Functions of constraints"
TURNED = 0.3  # rad from where on the derivatives are wrong


def lift(t):
    """A bump between 0.5 s and 1.5 s."""
    return 0.1 * np.sin(np.pi * (t - 0.5)) ** 2 if 0.5 < t < 1.5 else 0.0


def rise(t):
    return 0.1 * np.pi * np.sin(2 * np.pi * (t - 0.5)) if 0.5 < t < 1.5 else 0.0


def circle(t, x, *_):
    return x[0] ** 2 + x[1] ** 2 - 1.0 - lift(t)


def still(t, x, *_):
    return x[0] ** 2 + x[1] ** 2 - 1.0


def gradient(t, x, *_):
    return [2 * x[0], 2 * x[1]]


def wrong(t, x, *_):
    return [2 * x[0], 2 * x[1] * (1.3 if x[1] < -TURNED else 1.0)]


COUPLINGS = {
    "undeclared time": {"function": circle},
    "wrong gradient": {"function": still, "gradient": wrong},
    "wrong rate": {"function": circle, "gradient": lambda t, x: [*gradient(t, x), 0.5 * rise(t)], "rheonomic": True},
    "right": {"function": still, "gradient": gradient},
    "right, moving": {"function": circle, "gradient": lambda t, x: [*gradient(t, x), -rise(t)], "rheonomic": True},
}


def run(item, **options):
    model = fm.Model("pendulum", gravity=(0, -9.81, 0))
    model.add(fm.PointMass("bob", mass=1.0))
    model.add(fm.Translation("place", model.ground, "bob", q0=(1.0, 0, 0), v0=(0, -0.5, 0)))
    model.add(item)
    solution = fm.simulate(model, t_end=1.0, output_step=0.05, **options)
    return [check for check in solution.audit if check.title == TITLE]


@pytest.mark.parametrize("formalism", ["multiplier", "embedding"])
@pytest.mark.parametrize("case", COUPLINGS)
def test_couplings(case, formalism) -> None:
    found = run(fm.HolonomicCoupling("rod", ["place.0", "place.1"], **COUPLINGS[case]), formalism=formalism)
    if case.startswith("right"):
        assert found == []
    else:
        assert [check.status for check in found] == [FAIL]
        assert "couplings.rod" in found[0].found


@pytest.mark.parametrize("case", ["undeclared time", "wrong gradient", "right"])
def test_relations(case) -> None:
    given = COUPLINGS[case]
    slopes = given.get("gradient")
    jacobian = None if slopes is None else lambda t, x, A: [[*slopes(t, x), 0, 0, 0, 0]]
    found = run(fm.Holonomic("rod", "ground", "bob", function=given["function"], jacobian=jacobian))
    assert [check.status for check in found] == ([] if case == "right" else [FAIL])
    assert all("joints.rod" in check.found for check in found)
