"""A clamped flexible arm against the full finite-element model it was reduced from."""

from typing import NamedTuple

import numpy as np
import pytest
import scipy.linalg

import flexmbs as fm
from preprocess import CraigBampton, Isotropic, Rigid, assemble, box_mesh, reduce

STEEL = Isotropic(E=2.1e11, nu=0.3, rho=7850.0)


class Arm(NamedTuple):
    """The reduced arm, and the full matrices with the base held and the tip rigid: the tip's six
    displacements come last.
    """

    data: fm.FlexibleBodyData
    K: np.ndarray
    M: np.ndarray


@pytest.fixture(scope="module")
def arm() -> Arm:
    mesh = box_mesh((1.0, 0.06, 0.04), (6, 1, 1), "hex20", origin=(0.0, -0.03, -0.02))
    faces = {"base": Rigid("x0"), "tip": Rigid("x1")}
    data = reduce(
        mesh, STEEL, interfaces=faces, method=CraigBampton(modes=40), reference="base", name="arm"
    )
    fe = assemble(mesh, STEEL)
    tip, base = mesh.node_set("x1"), mesh.node_set("x0")
    free = np.setdiff1d(np.arange(len(mesh.nodes)), np.concatenate([tip, base]))
    L = np.zeros((3 * len(mesh.nodes), 3 * len(free) + 6))
    for column, dof in enumerate((3 * free[:, None] + np.arange(3)).ravel()):
        L[dof, column] = 1.0
    for node in tip:
        d = mesh.nodes[node] - np.array([1.0, 0.0, 0.0])
        L[3 * node : 3 * node + 3, -6:-3] = np.eye(3)
        L[3 * node : 3 * node + 3, -3:] = [
            [0.0, d[2], -d[1]],
            [-d[2], 0.0, d[0]],
            [d[1], -d[0], 0.0],
        ]
    return Arm(data, L.T @ fe.K @ L, L.T @ fe.M @ L)


def clamped(arm: Arm) -> fm.Model:
    """The arm on the ground; linear like the full model, hence without geometric stiffening."""
    model = fm.Model("cantilever", gravity=(0.0, 0.0, 0.0))
    body = model.add(fm.FlexibleBody("arm", data=arm.data, stiffening=False))
    model.add(fm.Fixed("clamp", model.ground, body["base"]))
    return model


def test_tip_under_a_load_moves_as_in_the_full_model(arm: Arm) -> None:
    model, load = clamped(arm), (300.0, 40.0, -25.0)
    model.add(fm.FrameForce("load", "arm/tip", force=load))
    right = np.zeros(len(arm.K))
    right[-6:-3] = load
    expected = scipy.linalg.solve(arm.K, right, assume_a="pos")[-6:-3]
    found = fm.statics(model).solution.frame("arm/tip").position[0] - (1.0, 0.0, 0.0)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_frequencies_are_those_of_the_full_model(arm: Arm) -> None:
    expected = np.sqrt(
        scipy.linalg.eigh(arm.K, arm.M, eigvals_only=True, subset_by_index=(0, 5))
    ) / (2.0 * np.pi)
    found = fm.linearize(clamped(arm)).modes
    np.testing.assert_allclose(found.frequency[:6], expected, rtol=1e-4)
    np.testing.assert_allclose(found.damping[:6], 0.0, atol=1e-9)


def test_arm_bends_under_its_weight_and_swings_about_there(arm: Arm) -> None:
    """On a driven hinge: static deflection, and a run that starts there remains at rest."""
    model = fm.Model("arm", gravity=(0.0, 0.0, -9.81))
    body = model.add(fm.FlexibleBody("arm", data=arm.data))
    model.add(fm.Revolute("hinge", model.ground, body["base"], axis="y"))
    model.add(fm.Drive("motor", "hinge", 0.0))
    found = fm.statics(model)
    weight = arm.data.mass * 9.81
    np.testing.assert_allclose(
        found.reactions["hinge"].force[0], (0.0, 0.0, weight), atol=1e-7 * weight
    )
    assert found.solution.frame("arm/tip").position[0, 2] < -1e-5
    run = fm.simulate(model, t_end=2e-3, step=1e-4, start=found)
    assert np.ptp(run.frame("arm/tip").position[:, 2]) < 1e-10


def test_turning_bar_stretches_at_rest_on_its_hub() -> None:
    """u'' + k² (x + u) = 0 with k = Ω √(ρ/E) and linear strains: the end moves by tan(kL)/k − L."""
    steel = Isotropic(E=2.1e11, nu=0.0, rho=7850.0)
    mesh = box_mesh((1.0, 0.06, 0.04), (4, 1, 1), "hex20", origin=(0.0, -0.03, -0.02))
    faces = {"base": Rigid("x0"), "tip": Rigid("x1")}
    data = reduce(
        mesh, steel, interfaces=faces, method=CraigBampton(modes=20), reference="base", name="bar"
    )
    model = fm.Model("bar", gravity=(0.0, 0.0, 0.0))
    body = model.add(fm.FlexibleBody("bar", data=data, stiffening=False))
    model.add(fm.Revolute("shaft", model.ground, body["base"]))
    model.add(fm.Drive("motor", "shaft", fm.Ramp(0.0, 60.0)))
    found = fm.statics(model, steady=True)
    k = 60.0 * np.sqrt(7850.0 / 2.1e11)
    stretch = found.solution.frame("bar/tip").position[0, 0] - 1.0
    assert stretch == pytest.approx(np.tan(k) / k - 1.0, rel=1e-6)
