"""Joints with dependent motions in a position are rejected by name, by every study; rods have no
such position.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexmbs as fm
from flexmbs.motions import Rotate

G = 9.81


def chain(axes, q0=None):
    model = fm.Model("chain")
    body = model.add(fm.RigidBody("b", mass=1, inertia=(0.1, 0.2, 0.25)))
    model.add(
        fm.Chain("j", model.ground, body, motions=tuple(Rotate(axis) for axis in axes), q0=q0)
    )
    return model


def rod(axis="x", force=(0, 0, 0)):
    model = fm.Model("rod", gravity=(0, 0, -G))
    body = model.add(fm.RigidBody("b", mass=1, inertia=(0.01, 0.02, 0.03)))
    model.add(fm.Distance("d", model.ground, body, length=1.0, axis=axis))
    model.add(fm.FrameForce("f", body, force=force))
    return model


STUDIES = {
    "simulate": lambda model: fm.simulate(model, t_end=0.01),
    "absolute": lambda model: fm.simulate(model, t_end=0.01, coordinates="absolute"),
    "compare": lambda model: fm.compare(model, t_end=0.01),
    "statics": lambda model: fm.statics(model, allow_indifferent=True),
    "linearize": fm.linearize,
    "matrices": fm.matrices,
    "assemble": fm.assemble,
    "state": fm.state,
    "check": lambda model: model.check().raise_errors(),
}


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("axes", ["zyz", "zz"])
def test_rejected(axes, study):
    with pytest.raises(
        fm.InputError, match=r"joints\.j: its motions are dependent in this position"
    ):
        STUDIES[study](chain(axes))


@pytest.mark.parametrize("coordinates", ["absolute", "joint"])
@pytest.mark.parametrize("integrator", ["dormand-prince", "generalized-alpha"])
def test_a_run_that_comes_to_such_a_position_says_so(integrator, coordinates):
    """The middle one of three angles turns into its pole, where the others are not zero: with zeros
    the rates stay finite, and the body turns on.
    """
    model = chain("zyz", (0.3, 0.5, -0.2))
    model.add(fm.Drive("d", "j", fm.Ramp(0.5, -0.5), coordinate=1))
    with pytest.raises(fm.SolverError, match="motions of 'j' nearly depend on each other"):
        fm.simulate(model, t_end=2.0, coordinates=coordinates, integrator=integrator)


@pytest.mark.parametrize("axis", ["x", "y", "-z", (1, 1, 1), (0.1, -0.2, 0.97)])
def test_axis_of_a_rod(axis):
    """The rod is along its axis at the start."""
    model = rod(axis)
    e = np.array(model.joints["d"].axis)
    assert fm.simulate(model, t_end=1e-3).frame("b").position[0] == pytest.approx(e, abs=1e-14)


@pytest.mark.parametrize(
    "formalism, coordinates",
    [("recursive", "joint"), ("multiplier", "absolute"), ("embedding", "absolute")],
)
def test_a_rod_that_hangs_down(formalism, coordinates):
    """A force to the side on a spherical pendulum at rest: x'' = f − λ x with |x| = 1; both modes
    have the frequency √(g/l).
    """
    force = np.array([1.0, 3.0, 0.0])
    load = force + [0, 0, -G]

    def rate(t, y):
        x, v = y[:3], y[3:]
        return np.concatenate([v, load - (load @ x + v @ v) * x])

    exact = solve_ivp(rate, (0, 1), [0, 0, -1, 0, 0, 0], rtol=1e-11, atol=1e-12).y[:3, -1]
    found = fm.simulate(
        rod("-z", force=tuple(force)), t_end=1.0, formalism=formalism, coordinates=coordinates,
        integrator="dormand-prince", rtol=1e-9, atol=1e-10,
    )  # fmt: skip
    assert found.frame("b").position[-1] == pytest.approx(exact, abs=1e-7)
    frequency = np.sort(fm.linearize(rod("-z")).modes.frequency)
    assert frequency[-2:] == pytest.approx(np.sqrt(G) / (2 * np.pi), rel=1e-6)
    assert frequency[-3] < 1e-3
