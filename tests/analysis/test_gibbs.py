"""The function of Gibbs and quasi-forces against closed forms and known applied forces."""

import numpy as np
import pytest
from linkages import slider_crank

import flexmbs as fm
from flexmbs.flexible_body.components import GeometricStiffness
from flexmbs.studies.terms.gibbs import gibbs

M1, M2, L = 2.0, 3.0, 0.7
FORCES = (1.1, 0.7)


def cart() -> fm.Model:
    """Two masses on a rod along x, a wheel under the first, moving with (1.3 m/s, 0.9 rad/s)."""
    model = fm.Model("cart", gravity=(0.0, 0.0, 0.0))
    whole, about = M1 + M2, M1 * M2 / (M1 + M2) * L**2
    frames = {"end": (L, 0, 0)}
    model.add(
        fm.RigidBody(
            "rod", mass=whole, com=(M2 * L / whole, 0, 0), inertia=(0, about, about), frames=frames
        )
    )
    model.add(fm.Planar("floor", "ground", "rod", v0=(1.3, 0.0, 0.9)))
    model.add(fm.KnifeEdge("wheel", "ground", "rod"))
    model.add(fm.FrameForce("along", "rod", force=(FORCES[0], 0, 0), axes="follower"))
    model.add(fm.FrameForce("across", "rod/end", force=(0, FORCES[1], 0), axes="follower"))
    return model


def test_shopping_cart() -> None:
    """S = ½ m₁ |a₁|² + ½ m₂ |a₂|² with a₁ = (σ̇₁, σ₁σ₂), a₂ =
    a₁ + l (−σ₂², σ̇₂); Π = (F₁, F₂ l).
    """
    found, (u, w) = gibbs(cart(), velocities=["floor.0", "floor.2"]), (1.3, 0.9)
    np.testing.assert_allclose(found.quasi_forces, (FORCES[0], FORCES[1] * L), atol=1e-12)
    for ud, wd in ((0.0, 0.0), (0.3, -0.2), (-1.4, 2.0)):
        first, second = np.array([ud, u * w]), np.array([ud - L * w * w, u * w + L * wd])
        assert found.value((ud, wd)) == pytest.approx(
            0.5 * M1 * first @ first + 0.5 * M2 * second @ second, rel=1e-12
        )
        slope = ((M1 + M2) * ud - M2 * L * w * w, M2 * L * u * w + M2 * L**2 * wd)
        np.testing.assert_allclose(found.derivative((ud, wd)), slope, atol=1e-10)
    np.testing.assert_allclose(found.derivative(found.rates), found.quasi_forces, atol=1e-10)


def test_arguments_and_print() -> None:
    found = gibbs(cart(), velocities=["floor.0", "floor.2"])
    for wrong in ([1.0, 2.0, 3.0], [np.nan, 0.0], ["a", "b"]):
        for function in (found.value, found.derivative):
            with pytest.raises(
                fm.InputError,
                match=r"^rates: must be 2 finite numbers, one for each of floor\.0, floor\.2, not",
            ):
                function(wrong)
    assert str(found).splitlines()[0] == "Gibbs function of 'cart' at t = 0 s: ∂S/∂σ̇ = Π"
    assert f"floor.0  σ̇ = {found.rates[0]:.6g}  Π = 1.1" in str(found)


def test_closed_loop_under_its_weight() -> None:
    """One freedom: the quasi-force is the power of the weights over the crank's rate, also in
    motion.
    """
    model = slider_crank(0.5)
    crank = model.joints["main"]
    model.joints["main"] = fm.Revolute(crank.name, crank.parent, crank.child, q0=0.5, v0=4.0)
    found = gibbs(model, velocities=["main"])
    run = fm.state(model)
    rate = float(run.s[fm.matrices(model).velocities.index("main.0")])
    solution = fm.simulate(
        model, t_end=1e-4, output_step=1e-4, integrator=fm.DormandPrince(step=1e-4)
    )
    power = 0.0
    for name, com in (("crank", 0.1), ("rod", 0.3), ("slider", 0.0)):
        body, mass = solution.body(name), model.bodies[name].mass
        along = body.rotation[0][:, 0]
        power += (
            mass
            * np.array([0.0, -9.81, 0.0])
            @ (body.velocity[0] + com * np.cross(body.angular_velocity[0], along))
        )
    assert found.quasi_forces[0] * rate == pytest.approx(power, rel=1e-9)
    np.testing.assert_allclose(found.derivative(found.rates), found.quasi_forces, rtol=1e-8)


def flexible(*, stiffened: bool) -> fm.FlexibleBodyData:
    """A bar of points: ten masses with two shapes; ``stiffened``: with some geometric stiffness."""
    x = np.linspace(0.1, 1.0, 10)
    m, phi = 0.2, np.zeros((10, 3, 2))
    phi[:, 1, 0], phi[:, 2, 1], phi[:, 0, 1] = x**2, x**3, 0.3 * x
    points = np.column_stack([x, 0.0 * x, 0.0 * x])
    K0 = np.random.default_rng(1).normal(size=(12, 2, 2))
    K0 += K0.transpose(0, 2, 1)
    return fm.FlexibleBodyData.from_integrals(
        "bar",
        mass=10 * m,
        first_moment=m * points.sum(0),
        second_moment=m * points.T @ points + 1e-3 * np.eye(3),
        S_bar=m * phi.sum(0),
        xS=m * np.einsum("na,nbk->abk", points, phi),
        SS=m * np.einsum("nak,nbl->abkl", phi, phi),
        K_ff=np.diag([40.0, 70.0]),
        D_ff=np.diag([0.3, 0.5]),
        geometric=GeometricStiffness(K0[:3], K0[3:6], K0[6:]) if stiffened else None,
    )


@pytest.mark.parametrize("stiffened", [False, True])
def test_flexible_body(stiffened: bool) -> None:
    """A free bar that rotates and vibrates: quasi-forces are those of its springs and dampers only,
    −K q − D q̇.
    """
    model = fm.Model("bar", gravity=(0.0, 0.0, 0.0))
    qf, rate = np.array([0.02, -0.03]), np.array([0.4, 0.7])
    model.add(fm.FlexibleBody("bar", data=flexible(stiffened=stiffened), qf0=qf, qf_dot0=rate))
    model.add(fm.Free("motion", "ground", "bar", v0=(0.3, -0.5, 0.2, 1.1, 0.8, -1.7)))
    found = gibbs(model)
    names = list(found.velocities)
    elastic = [names.index("bar.mode1"), names.index("bar.mode2")]
    forces = -np.array([40.0, 70.0]) * qf - np.array([0.3, 0.5]) * rate
    np.testing.assert_allclose(found.quasi_forces[elastic], forces, atol=1e-9)
    np.testing.assert_allclose(np.delete(found.quasi_forces, elastic), 0.0, atol=1e-9)
    np.testing.assert_allclose(found.derivative(found.rates), found.quasi_forces, atol=1e-8)
