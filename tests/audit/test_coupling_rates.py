"""Functions of constraints whose derivatives are wrong, or that depend on time, where only the run
comes.
"""

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.audit.coupling_rates import _relative_difference
from flexmbs.system.check import FAIL

pytestmark = pytest.mark.filterwarnings(
    "ignore::flexmbs.AuditWarning", "ignore::flexmbs.AssemblyWarning"
)
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
    "wrong rate": {
        "function": circle,
        "gradient": lambda t, x: [*gradient(t, x), 0.5 * rise(t)],
        "rheonomic": True,
    },
    "right": {"function": still, "gradient": gradient},
    "right, moving": {
        "function": circle,
        "gradient": lambda t, x: [*gradient(t, x), -rise(t)],
        "rheonomic": True,
    },
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
    found = run(
        fm.HolonomicCoupling("rod", ["place.0", "place.1"], **COUPLINGS[case]), formalism=formalism
    )
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


def moving_floor(t, *_):
    return 0.1 * np.sin(3.0 * (t - 0.52)) ** 2 if t > 0.52 else 0.0


CONTACTS = {
    "undeclared time": {"function": lambda t, x, A: x[2] - (moving_floor(t) if t < 1.2 else 0.0)},
    "wrong jacobian": {
        "function": lambda t, x, A: x[2],
        "jacobian": lambda t, x, A: [0, 0, 1.2 if x[2] < 0.2 else 1.0, 0, 0, 0],
    },
    "right": {"function": lambda t, x, A: x[2] - moving_floor(t), "rheonomic": True},
}


@pytest.mark.parametrize("case", CONTACTS)
def test_contacts(case, monkeypatch) -> None:
    """Undeclared dependence on time that begins and ends between the times at which the start
    tries.
    """
    monkeypatch.setattr("flexmbs.initial.user_rows.LATER", (1.9, 11.0))
    model = fm.Model("floor")
    model.add(fm.PointMass("ball", mass=1.0))
    model.add(fm.Translation("motion", "ground", "ball", q0=(0, 0, 1.0)))
    model.add(fm.UserContact("floor", "ground", "ball", restitution=0.5, **CONTACTS[case]))
    solution = fm.simulate(model, t_end=1.0, step=1e-3, output_step=0.02, integrator="moreau-jean")
    found = [check for check in solution.audit if check.title == TITLE]
    assert [check.status for check in found] == ([] if case == "right" else [FAIL])
    assert all("contacts.floor" in check.found for check in found)


def zigzag(t):
    """Turns at every tenth of a second."""
    return 0.02 * abs((10.0 * t + 1.0) % 2.0 - 1.0)


@pytest.mark.parametrize("wrong", [0.0, 0.02])
def test_kinks_of_a_moving_floor_at_outputs_are_no_error(wrong) -> None:
    """There the derivative is that of one side, the difference the mean of both."""
    model = fm.Model("floor")
    model.add(fm.PointMass("ball", mass=1.0))
    model.add(fm.Translation("motion", "ground", "ball", q0=(0, 0, zigzag(0.05))))

    def row(t, x, A):
        rising = (10.0 * (t + 0.05) + 1.0) % 2.0 > 1.0
        return [0, 0, 1.0, 0, 0, 0, (-0.2 if rising else 0.2) + (wrong if t > 0.4 else 0.0)]

    floor = fm.UserContact(
        "floor",
        "ground",
        "ball",
        lambda t, x, A: x[2] - zigzag(t + 0.05),
        jacobian=row,
        rheonomic=True,
    )
    model.add(floor)
    solution = fm.simulate(model, t_end=1.05, step=5e-4, output_step=0.05, integrator="moreau-jean")
    found = [check for check in solution.audit if check.title == TITLE]
    assert [check.status for check in found] == ([FAIL] if wrong else [])


@pytest.mark.parametrize("begins", [0.1, 1.5, 5.0])
def test_late_dependence_on_time_is_found_at_the_start(begins) -> None:
    model = fm.Model("floor")
    model.add(fm.PointMass("ball", mass=1.0))
    model.add(fm.Translation("motion", "ground", "ball", q0=(0, 0, 1.0)))
    model.add(
        fm.UserContact("floor", "ground", "ball", lambda t, x, A: x[2] - 0.2 * max(t - begins, 0.0))
    )
    with pytest.raises(
        fm.InputError,
        match=r"contacts\.floor\.rheonomic: the function depends on time; set rheonomic=True",
    ):
        fm.simulate(model, t_end=0.1, integrator="event-driven")


@pytest.mark.parametrize("overlap", [0.0, 1e-13, 1e-11, 1e-9])
def test_a_body_at_rest_on_a_function_is_no_error(overlap) -> None:
    """Velocities that correct a start within the tolerance of closed contacts are no rates."""
    model = fm.Model("rest")
    ball = model.add(fm.RigidBody("ball", mass=1.0, inertia=(1e-3,) * 3))
    model.add(fm.Prismatic("guide", model.ground, ball, axis="z", q0=0.05 - overlap))
    model.add(fm.UserContact("floor", model.ground, ball, lambda t, x, A: x[2] - 0.05))
    run = fm.simulate(model, t_end=0.5, integrator="event-driven")
    assert run.verdict == "PASS"


def test_functions_that_nothing_moves_have_right_rates() -> None:
    """0/0 was a warning of NumPy in runs whose contact is between bodies at rest."""
    zero = np.zeros(3)
    with np.errstate(all="raise"):
        assert (_relative_difference(zero, zero, zero, zero) == 0.0).all()
        assert _relative_difference(zero + 1.0, zero + 3.0, zero, zero) == pytest.approx(0.5)
