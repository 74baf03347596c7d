"""Derivatives of runs of divided bodies: right through the pieces, refused by name where these are
reduced anew.
"""

import numpy as np
import pytest

import flexmbs as fm
import preprocess as pp
from flexmbs.errors import SolverError
from flexmbs.flexible_body.divided import DividedBodyData
from flexmbs.studies.parameters.parameter_paths import changed, number_of

STEP, END = 4e-6, 2e-4
EXACT = fm.GeneralizedAlpha(step=STEP, newton_tolerance=1e-13)
PARAMETERS = ["bodies.tool.mass", "joints.hinge.v0", "forces.push.force.z", "bodies.boom.damping"]
CHANNELS = [
    "last joint hinge.0 velocity",
    "last frame boom/tip velocity z",
    "last frame boom/tip velocity y",
]


def boom(rho: float = 7850.0) -> DividedBodyData:
    """A square bar in three pieces, whose modes come in pairs."""
    return pp.reduce_divided(
        pp.divide(pp.box_mesh((0.6, 0.02, 0.02), (9, 1, 1)), pieces=3),
        pp.Isotropic(E=2.1e11, nu=0.3, rho=rho),
        interfaces={"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")},
        reference="root",
        method=pp.CraigBampton(modes=2),
        damping=0.01,
        estimate=False,
    )


def crane(**body: object) -> fm.Model:
    """The boom swings with a tool at its tip and a push on it."""
    model = fm.Model("crane")
    own = model.add(fm.FlexibleBody("boom", damping=0.02, **body))
    tool = model.add(fm.RigidBody("tool", mass=0.5, inertia=(1e-3, 1e-3, 1e-3)))
    model.add(fm.Revolute("hinge", model.ground, own["root"], axis="y", q0=-0.3, v0=1.0))
    model.add(fm.Fixed("wrist", own["tip"], tool))
    model.add(fm.FrameForce("push", own["tip"], force=(0.0, 30.0, 10.0)))
    return model


def stress(solution: fm.Solution) -> float:
    """Von Mises stress of a node of the middle piece at the end."""
    found = solution.body("boom").stress
    return float(found.history(found.nearest((0.3, 0.01, 0.01))).von_mises[-1, 0])


def by_differences(model: fm.Model, name: str) -> np.ndarray:
    """Fourth-order differences of whole runs."""

    def outputs(change: float) -> np.ndarray:
        run = fm.simulate(
            changed(model, {name: at + change}), t_end=END, integrator=EXACT, output_step=STEP
        )
        tip = run.frame("boom/tip").velocity[-1]
        return np.array([run.joint("hinge").velocity[-1, 0], tip[2], tip[1], stress(run)])

    at = number_of(model, model, name)
    step = 4e-3 * at
    near, far = ((outputs(h) - outputs(-h)) / (2.0 * h) for h in (step, 2.0 * step))
    return (4.0 * near - far) / 3.0


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")  # the highest modes are not resolved
def test_tangents_and_adjoints_through_the_pieces() -> None:
    model, run = crane(data=boom()), fm.Run(t_end=END, step=STEP)
    expected = np.array([by_differences(model, name) for name in PARAMETERS]).T
    tangent = fm.sensitivities(model, PARAMETERS, [*CHANNELS, stress], run=run, method="tangent")
    adjoint = fm.sensitivities(model, PARAMETERS, CHANNELS, run=run, method="adjoint")
    sizes = np.array([number_of(model, model, name) for name in PARAMETERS])
    for found in (tangent.gradient, adjoint.gradient):
        own = expected[: len(found)]
        largest = np.abs(own * sizes).max(axis=1, keepdims=True)
        # of differences: stress follows accelerations
        noise = np.array([1e-9, 1e-9, 1e-9, 1e-6])[: len(found), None]
        assert (np.abs((found - own) * sizes) < 1e-6 * np.abs(own * sizes) + noise * largest).all()


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
def test_pieces_that_are_reduced_anew_are_named() -> None:
    model = fm.ModelWithParts(crane(file="boom.h5"), {"boom": boom})
    with pytest.raises(
        SolverError,
        match="modes of body 'boom', reduced anew, turn or change their sign; take method='diff",
    ):
        fm.sensitivities(
            model, ["parts.boom.rho"], CHANNELS[:2], t_end=END, step=STEP, method="tangent"
        )
