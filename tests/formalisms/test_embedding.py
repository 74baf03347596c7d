"""Runs by embedding: conserved quantities, reactions, drift."""

import numpy as np
import pytest
from closed_loops import four_bar

import flexmbs as fm

PRECISE = fm.DormandPrince(rtol=1e-9, atol=1e-10)


def test_velocities_hold_positions_drift_unless_projected():
    loose = {"t_end": 3.0, "output_step": 0.05, "integrator": fm.DormandPrince(step=1e-2)}
    free = fm.simulate(four_bar(), formalism="embedding", **loose)
    kept = fm.simulate(four_bar(), formalism="embedding", stabilization="projection", **loose)
    assert free.drift[:, 1].max() < 1e-13
    assert kept.drift[:, 1].max() < 1e-13
    assert free.drift[-1, 0] > 1e-9
    assert kept.drift[:, 0].max() < 1e-10
    assert np.abs(free.q - kept.q).max() < 1e-3


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_energy_and_reactions_of_a_run(coordinates):
    given = {"t_end": 1.0, "output_step": 0.05, "coordinates": coordinates, "integrator": PRECISE}
    found = fm.simulate(four_bar(), formalism="embedding", **given)
    other = fm.simulate(four_bar(), formalism=fm.Multiplier(fm.Projection()), **given)
    assert np.abs(found.energy.balance).max() < 1e-7 * found.energy.scale
    assert np.abs(found.s - other.s).max() < 1e-6 * np.abs(other.s).max()
    assert np.abs(found.lam - other.lam).max() < 1e-5 * np.abs(other.lam).max()


def test_baumgarte_is_rejected():
    with pytest.raises(
        fm.InputError,
        match=r"embedding.stabilization: Baumgarte\(rate=20.0\); its velocities need none",
    ):
        fm.Embedding(stabilization=fm.Baumgarte())
    with pytest.raises(fm.InputError, match=r"embedding\.stabilization"):
        fm.simulate(
            four_bar(),
            t_end=0.1,
            formalism="embedding",
            stabilization="baumgarte",
            integrator="dormand-prince",
        )
