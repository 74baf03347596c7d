"""Observed orders of the integrators and conservation, on soft rods that swing in space."""

import numpy as np
import pytest
from rods import double_pendulum, rod

import flexmbs as fm


def energy_error(step, **options):
    method = fm.GeneralizedAlpha(step=step, newton_tolerance=1e-12, **options)
    solution = fm.simulate(double_pendulum(), t_end=0.4, integrator=method)
    return np.abs(solution.energy.balance).max() / solution.energy.scale


@pytest.mark.parametrize("rho_inf", [0.8, 1.0])
def test_energy_error_of_generalized_alpha_falls_with_order_two(rho_inf):
    errors = [energy_error(step, rho_inf=rho_inf) for step in (2e-3, 1e-3, 5e-4)]
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert errors[-1] < 1e-3
    assert np.all((orders > 1.9) & (orders < 2.2))


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_positions_of_generalized_alpha_converge_with_order_two(coordinates):
    exact = fm.simulate(
        double_pendulum(),
        t_end=0.4,
        output_step=0.4,
        integrator=fm.DormandPrince(rtol=1e-11, atol=1e-12),
    )
    errors = []
    for step in (2e-3, 1e-3, 5e-4):
        method = fm.GeneralizedAlpha(step=step, newton_tolerance=1e-12)
        found = fm.simulate(
            double_pendulum(),
            t_end=0.4,
            output_step=0.4,
            coordinates=coordinates,
            integrator=method,
        )
        errors.append(
            np.abs(
                found.frame("lower/tip").position[-1] - exact.frame("lower/tip").position[-1]
            ).max()
        )
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert np.all((orders > 1.9) & (orders < 2.15))
    if coordinates == "absolute":
        assert found.drift[:, 0].max() < 1e-9


def test_dormand_prince_converges_with_order_five():
    def final(**options):
        solution = fm.simulate(
            double_pendulum(), t_end=0.4, output_step=0.4, integrator=fm.DormandPrince(**options)
        )
        return np.concatenate([solution.q[-1], solution.s[-1]])

    exact = final(rtol=1e-13, atol=1e-14)
    errors = [np.linalg.norm(final(step=step) - exact) for step in (2e-3, 1e-3, 5e-4)]
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert errors[-1] < 1e-8
    assert np.all((orders > 4.8) & (orders < 5.4))


def momenta(solution, model):
    """Linear and angular momentum of a free rod about the
    world origin, by Gauss points along it.
    """
    points, weights = np.polynomial.legendre.leggauss(6)
    x = 0.5 * (1 + points)
    shapes = np.array(
        [np.zeros((4, len(x))), [x**2, x**3, 0 * x, 0 * x], [0 * x, 0 * x, x**2, x**3]]
    )
    body = solution.body("rod")
    mass = model.bodies["rod"].data.mass * weights / 2
    u = np.array([x, 0 * x, 0 * x]) + np.einsum("akn,tk->tan", shapes, body.elastic)
    r = body.position[:, :, None] + body.rotation @ u
    v = body.velocity[:, :, None] + np.cross(
        body.angular_velocity[:, :, None], body.rotation @ u, axis=1
    )
    v += body.rotation @ np.einsum("akn,tk->tan", shapes, body.elastic_rate)
    J = np.diag([2e-3, 1e-3, 1e-3])  # of the second moments 1e-3 kg m² across the rod
    local = np.einsum("tba,tb->ta", body.rotation, body.angular_velocity)
    spin = np.einsum("tab,tb->ta", body.rotation, local @ J)
    return np.einsum("n,tan->ta", mass, v), np.einsum(
        "n,tan->ta", mass, np.cross(r, v, axis=1)
    ) + spin


@pytest.mark.parametrize(
    "method, tolerance",
    [
        (fm.DormandPrince(rtol=1e-11, atol=1e-13), 1e-9),
        (fm.GeneralizedAlpha(step=5e-4, newton_tolerance=1e-12), 5e-5),
    ],
)
def test_a_free_flexible_body_keeps_its_momenta(method, tolerance):
    model = fm.Model("free rod", gravity=(0, 0, 0))
    body = model.add(
        fm.FlexibleBody("rod", data=rod(), qf0=(0.05, 0, -0.08, 0), qf_dot0=(1.0, 0, 0, 0.5))
    )
    model.add(
        fm.Free(
            "float",
            model.ground,
            body,
            q0=(0.3, -0.2, 0.1, 1, 0, 0, 0),
            v0=(0.5, 1.0, -0.3, 2.0, 1.5, 4.0),
        )
    )
    solution = fm.simulate(model, t_end=1.0, output_step=0.02, integrator=method)
    assert np.ptp(solution.body("rod").elastic, axis=0).max() > 0.05
    for momentum in momenta(solution, model):
        size = np.linalg.norm(momentum[0])
        assert size > 0.5
        assert np.abs(momentum - momentum[0]).max() < tolerance * size
    assert np.abs(solution.energy.balance).max() < tolerance * solution.energy.scale * 10
