"""Damage on critical planes: closed forms of proportional stress, a dense search of others, and
independence of the axes."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import flexmbs as fm
from flexmbs.durability.critical_plane import in_plane, worst_plane
from flexmbs.durability.fatigue import _worst_cycle
from tests.draws import drawn

pytest.importorskip("rainflow")


def damage(curve, stress, normal):
    """Of a history of stress tensors (nt, 3, 3) on planes across a normal."""
    six = stress[:, [0, 1, 2, 0, 1, 2], [0, 1, 2, 1, 2, 0]]
    return worst_plane(
        lambda x: _worst_cycle(curve, x), in_plane(six[:, None], np.asarray(normal)[None])[:, 0]
    )


def turned(stress, R):
    return R @ stress @ R.T


@pytest.mark.parametrize("seed", drawn(4, 40))
@pytest.mark.parametrize("slope", [3.0, 5.0, 12.0])
def test_pure_shear_does_the_damage_of_its_principal_stress(slope, seed):
    """τ cos t on axes of any direction: D = n/N(τ), as of the tension at 45°, which 18 planes
    missed by 7.4 % at slope 5."""
    curve = fm.SNCurve(amplitude=20e6, cycles=1e6, slope=slope)
    R = Rotation.random(random_state=seed).as_matrix()
    shear = np.zeros((401, 3, 3))
    shear[:, 0, 1] = shear[:, 1, 0] = 80e6 * np.cos(np.linspace(0, 10 * np.pi, 401))
    found = damage(curve, turned(shear, R), R[:, 2])
    assert found[0] == pytest.approx(5.0 * (80 / 20) ** slope / 1e6, rel=2e-5 * slope)
    assert found[1] == pytest.approx(80e6, rel=2e-5)


def test_an_endurance_limit_just_below_the_worst_plane_is_exceeded():
    """Few planes of the first search have damage."""
    t = np.linspace(0, 2 * np.pi, 201)
    curve = fm.SNCurve(amplitude=99.5e6, cycles=1e6, slope=5.0)
    stress = np.zeros((len(t), 3, 3))
    stress[:, 0, 1] = stress[:, 1, 0] = 100e6 * np.cos(t)
    for turn in np.radians([0.0, 3.0, 5.0, 7.5]):
        R = Rotation.from_rotvec([0, 0, turn]).as_matrix()
        assert damage(curve, turned(stress, R), [0, 0, 1])[0] == pytest.approx(
            (100 / 99.5) ** 5 / 1e6, rel=2e-4
        )


def shears(turns, sizes, points=41):
    """Reversed shears, one after the other, on axes turned by angles; histories (nt, 3, 3)."""
    wave = np.sin(np.linspace(0, 2 * np.pi, points))
    one = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    axes = Rotation.from_rotvec(np.outer(turns, [0, 0, 1])).as_matrix()
    return np.vstack([size * wave[:, None, None] * turned(one, R) for size, R in zip(sizes, axes)])


def test_the_only_damaging_plane_of_three_shears():
    """At 0°, 30° and 65°, of which only the last one exceeds the endurance limit: its plane was
    not among the three largest amplitudes of planes 10° apart, and the damage was zero."""
    curve = fm.SNCurve(amplitude=100e6, cycles=1e6, slope=5.0)
    for start in np.radians(np.arange(0.0, 10.0, 1.3)):
        stress = shears(start + np.radians([0, 30, 65]), [99e6, 99e6, 100.3e6])
        # of a whole cycle, or of half a one of the residue
        found = damage(curve, stress, [0, 0, 1])
        count = 1.0 if found[0] > 0.75 / 1e6 else 0.5
        assert found[0] == pytest.approx(count * 1.003**5 / 1e6, rel=2e-4)
        assert found[1] == pytest.approx(100.3e6, rel=2e-5)


@pytest.mark.parametrize("seed", drawn(30, 600))
def test_loads_near_the_endurance_limit_are_damaging_as_on_planes_half_a_degree_apart(seed):
    """Three to five directions of load, some of them close: damage and amplitude are not below
    those of a dense search, which the limit makes zero on almost all planes."""
    random = np.random.default_rng(seed)
    count = int(random.integers(3, 6))
    turns = random.uniform(0, np.pi, count)
    turns[0] = turns[1] + np.radians(random.uniform(0, 8))
    curve = fm.SNCurve(
        amplitude=100e6,
        cycles=1e6,
        slope=5.0,
        ultimate=900e6,
        mean_stress=random.choice(["none", "goodman"]),
    )
    stress = shears(turns, 1e6 * random.uniform(98.5, 100.4, count))
    stress[:, [0, 1], [0, 1]] += 0.2e6 * random.standard_normal((1, 2))
    found = damage(curve, stress, [0, 0, 1])
    plane = in_plane(
        stress[:, None].reshape(-1, 1, 9)[..., [0, 4, 8, 1, 5, 6]], np.array([[0.0, 0, 1]])
    )[:, 0]
    angles = np.radians(np.arange(0, 180, 0.5))
    dense = max(_worst_cycle(curve, plane @ [1.0, np.cos(2 * a), np.sin(2 * a)]) for a in angles)
    assert found[0] >= dense[0] * (1 - 1e-3)


@pytest.mark.parametrize("seed", drawn(4, 60))
def test_damage_of_any_history_does_not_depend_on_axes(seed):
    """Random sums of sines, not proportional: turned bodies have equal damage, the largest of
    planes 0.1° apart."""
    random = np.random.default_rng(seed)
    curve = fm.SNCurve(
        amplitude=20e6,
        cycles=1e6,
        slope=random.uniform(3, 8),
        ultimate=900e6,
        mean_stress="goodman",
    )
    t = np.linspace(0, 1, 300)
    waves = np.sin(2 * np.pi * (np.outer(t, random.integers(1, 9, 3)) + random.uniform(0, 1, 3)))
    parts = 1e8 * random.standard_normal((3, 2, 2))
    stress = np.zeros((len(t), 3, 3))
    stress[:, :2, :2] = np.einsum("tk,kij->tij", waves, parts + parts.transpose(0, 2, 1))
    found = damage(curve, stress, [0, 0, 1])[0]
    R = Rotation.random(random_state=seed).as_matrix()
    assert damage(curve, turned(stress, R), R[:, 2])[0] == pytest.approx(found, rel=2e-3)
    planes = in_plane(
        stress[:, None].reshape(-1, 1, 9)[..., [0, 4, 8, 1, 5, 6]], np.array([[0.0, 0, 1]])
    )[:, 0]
    dense = max(
        _worst_cycle(curve, planes @ [1.0, np.cos(2 * a), np.sin(2 * a)])[0]
        for a in np.radians(np.arange(0, 180, 0.5))
    )
    assert found > dense * (1 - 1e-3)
