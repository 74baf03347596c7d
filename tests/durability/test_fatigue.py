"""Damage at the nodes of a cantilever under a cyclic load against beam theory and the sum of
Palmgren and Miner.
"""

import csv
import warnings
from pathlib import Path

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.durability.fatigue import directions, signed_principal
from flexmbs.durability.histories import COMPONENTS
from flexmbs.flexible_body.stress import von_mises
from preprocess import CraigBampton, Isotropic, Rigid, box_mesh, reduce

LENGTH, WIDTH, HEIGHT = 1.0, 0.06, 0.04
TOP = (0.5, 0.0, HEIGHT / 2)
pytest.importorskip("rainflow")


@pytest.fixture(scope="module")
def data() -> fm.FlexibleBodyData:
    mesh = box_mesh(
        (LENGTH, WIDTH, HEIGHT), (6, 2, 2), "hex20", origin=(0.0, -WIDTH / 2, -HEIGHT / 2)
    )
    steel = Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    return reduce(
        mesh,
        steel,
        interfaces={"base": Rigid("x0"), "tip": Rigid("x1")},
        method=CraigBampton(modes=2),
        reference="base",
    )


def loaded(data: fm.FlexibleBodyData, law: object, *, count: int = 17) -> fm.Solution:
    """Equilibria of the cantilever over 4 s under a force at its tip, N."""
    model = fm.Model("cantilever", gravity=(0.0, 0.0, 0.0))
    body = model.add(fm.FlexibleBody("arm", data=data, stiffening=False))
    model.add(fm.Fixed("clamp", model.ground, body["base"]))
    model.add(fm.FrameForce("load", "arm/tip", force=(0.0, 0.0, law)))
    return fm.quasi_static(model, np.linspace(0.0, 4.0, count))


def bending(force: float, x: float) -> float:
    """M c/I on the upper side at x, Pa; a force upwards presses it together."""
    return -force * (LENGTH - x) * (HEIGHT / 2) / (WIDTH * HEIGHT**3 / 12)


@pytest.fixture(scope="module")
def cyclic(data: fm.FlexibleBodyData) -> fm.Solution:
    """Four cycles of 800 N about 400 N, from peak to peak."""
    return loaded(data, fm.Sine(800.0, 1.0, phase=np.pi / 2, offset=400.0))


@pytest.mark.parametrize("steady", [0.0, 2e3, -2e3])
@pytest.mark.parametrize("measure", ["signed von Mises", "principal"])
def test_reversed_torsion_has_its_full_range(
    data: fm.FlexibleBodyData, measure: str, steady: float
) -> None:
    """The principal stress of largest magnitude keeps its sign when shear reverses: its sign would
    halve the range.
    """
    model = fm.Model("shaft", gravity=(0.0, 0.0, 0.0))
    body = model.add(fm.FlexibleBody("arm", data=data, stiffening=False))
    model.add(fm.Fixed("clamp", model.ground, body["base"]))
    model.add(
        fm.FrameForce(
            "load",
            "arm/tip",
            force=(steady, 0.0, 0.0),
            torque=(fm.Sine(100.0, 1.0, phase=np.pi / 2), 0.0, 0.0),
        )
    )
    turned = fm.quasi_static(model, np.linspace(0.0, 4.0, 17))
    node = turned.body("arm").stress.nearest(TOP)
    found = fm.fatigue(
        turned,
        "arm",
        fm.SNCurve(amplitude=5e6, cycles=1e6, slope=4.0),
        nodes=[node],
        measure=measure,
    )
    history = turned.body("arm").stress.history([node])
    principal = np.linalg.eigvalsh(history.stress[:, 0][:, [[0, 3, 5], [3, 1, 4], [5, 4, 2]]])
    most, least = principal.max(), principal.min()
    of_principal = 0.5 * (most - least), 0.5 * (most + least)
    largest, mean = of_principal if measure == "principal" else (history.von_mises.max(), 0.0)
    assert found.amplitude[0] == pytest.approx(largest, rel=0.05)
    assert abs(found.mean[0] - mean) < 0.05 * largest


@pytest.mark.parametrize("measure", ["signed von Mises", "principal", "critical plane"])
def test_damage_of_a_cantilever(cyclic: fm.Solution, measure: str) -> None:
    """Four cycles: amplitude and mean by beam theory, damage of each by the S–N curve; no credit
    for compression.
    """
    curve = fm.SNCurve(amplitude=5e6, cycles=1e6, slope=4.0, ultimate=1e9, mean_stress="goodman")
    node = cyclic.body("arm").stress.nearest(TOP)
    found = fm.fatigue(cyclic, "arm", curve, nodes=[node], measure=measure)
    x = float(found.positions[0, 0])
    assert found.amplitude[0] == pytest.approx(abs(bending(800.0, x)), rel=0.02)
    assert found.mean[0] == pytest.approx(bending(400.0, x), rel=0.02)
    assert found.damage[0] == pytest.approx(
        4.0 / (1e6 * (found.amplitude[0] / 5e6) ** -4.0), rel=1e-6
    )
    assert found.life[0] == pytest.approx(1.0 / found.damage[0])


def test_tension_with_mean_stress_does_more_damage_than_compression(cyclic: fm.Solution) -> None:
    """On the lower side the mean is tension: Goodman raises the amplitude there only."""
    view = cyclic.body("arm").stress
    upper, lower = (view.nearest((0.5, 0.0, sign * HEIGHT / 2)) for sign in (1.0, -1.0))
    strength = 4.0 * abs(bending(400.0, 0.5))
    curve = fm.SNCurve(
        amplitude=5e6, cycles=1e6, slope=4.0, ultimate=strength, mean_stress="goodman"
    )
    found = fm.fatigue(cyclic, "arm", curve, nodes=[upper, lower])
    damage = dict(zip(found.node_ids.tolist(), found.damage))
    assert damage[lower] / damage[upper] == pytest.approx((1.0 / 0.75) ** 4, rel=0.05)


def test_the_worst_nodes_are_at_the_clamp(cyclic: fm.Solution, tmp_path: Path) -> None:
    curve = fm.SNCurve(amplitude=5e6, cycles=1e6, slope=4.0)
    found = fm.fatigue(cyclic, "arm", curve)
    assert len(found.node_ids) == len(np.unique(cyclic.body("arm").stress.node_ids))
    assert (found.positions[found.worst(4), 0] < 1.01 * LENGTH / 6).all()
    few = fm.fatigue(cyclic, "arm", curve, hottest=5)
    assert len(few.node_ids) == 5
    assert few.damage.max() == pytest.approx(found.damage.max())
    assert str(few).splitlines()[2].split()[0] == str(few.node_ids[few.worst(1)[0]])
    found.to_csv(tmp_path / "damage.csv")
    rows = list(csv.reader((tmp_path / "damage.csv").open(newline="")))
    assert rows[0] == ["node", "x [m]", "y [m]", "z [m]", "damage", "amplitude [Pa]", "mean [Pa]"]
    np.testing.assert_array_equal(np.array(rows[1:], float)[:, 4], found.damage)


def test_without_damage_below_the_endurance_limit(cyclic: fm.Solution) -> None:
    found = fm.fatigue(cyclic, "arm", fm.SNCurve(amplitude=1e9, cycles=1e6, slope=4.0), hottest=3)
    assert (found.damage == 0.0).all()
    assert np.isinf(found.life).all()


def test_histories_as_table(cyclic: fm.Solution, tmp_path: Path) -> None:
    view = cyclic.body("arm").stress
    node = view.nearest(TOP)
    cyclic.stress_to_csv(tmp_path / "stress.csv", "arm", node)
    rows = list(csv.reader((tmp_path / "stress.csv").open(newline="")))
    assert rows[0][:3] == ["t [s]", f"node {node} xx [Pa]", f"node {node} yy [Pa]"]
    values = np.array(rows[1:], float)
    np.testing.assert_array_equal(values[:, 1:7], view.history(node).stress[:, 0])
    np.testing.assert_array_equal(values[:, 7], view.history(node).von_mises[:, 0])


def test_outputs_that_miss_the_extremes_are_reported(data: fm.FlexibleBodyData) -> None:
    """A shaken arm with few outputs: its stress is larger between them."""
    model = fm.Model("arm", gravity=(0.0, 0.0, 0.0))
    body = model.add(fm.FlexibleBody("arm", data=data, stiffening=False))
    model.add(fm.Fixed("clamp", model.ground, body["base"]))
    model.add(fm.FrameForce("load", "arm/tip", force=(0.0, 0.0, fm.Sine(800.0, 5.0, phase=0.3))))
    with warnings.catch_warnings(action="ignore", category=fm.AuditWarning):
        sparse = fm.simulate(model, t_end=0.4, step=5e-3, output_step=0.05)
    curve = fm.SNCurve(amplitude=5e6, cycles=1e6, slope=4.0)
    with pytest.warns(
        fm.ModelWarning, match="outputs are too sparse: with four times as many the damage"
    ):
        fm.fatigue(sparse, "arm", curve, nodes=[sparse.body("arm").stress.nearest(TOP)])


def test_bad_arguments(cyclic: fm.Solution) -> None:
    curve = fm.SNCurve(amplitude=5e6, cycles=1e6, slope=4.0)
    with pytest.raises(fm.InputError, match="measure: must be one of"):
        fm.fatigue(cyclic, "arm", curve, measure="von Mises")
    with pytest.raises(fm.InputError, match=r"curve: must be a fm.SNCurve, not float"):
        fm.fatigue(cyclic, "arm", 5.0)
    for nodes in ([1.5], [], "one", [float("nan")], [True], [1e30]):
        for call in (cyclic.body("arm").stress.history, cyclic.body("arm").displacement):
            with pytest.raises(fm.InputError, match="nodes: "):
                call(nodes)  # type: ignore[arg-type]
        with pytest.raises(fm.InputError, match="nodes: "):
            fm.fatigue(cyclic, "arm", curve, nodes=nodes)  # type: ignore[arg-type]
    with pytest.raises(fm.InputError, match="give nodes or hottest, not both"):
        fm.fatigue(cyclic, "arm", curve, nodes=[1], hottest=3)
    with pytest.raises(fm.InputError, match="node 123456 of body 'arm' has no stress"):
        fm.fatigue(cyclic, "arm", curve, nodes=[123456])


def test_histories_as_universal_file(cyclic: fm.Solution, tmp_path: Path) -> None:
    """Read back by pyuff: units SI, one function for each component, on the times of the run."""
    pyuff = pytest.importorskip("pyuff")
    view = cyclic.body("arm").stress
    node = view.nearest(TOP)
    cyclic.stress_to_uff(tmp_path / "stress.uff", "arm", [node])
    units, *found = pyuff.UFF(str(tmp_path / "stress.uff")).read_sets()
    assert units["units_code"] == 1
    assert [each["id1"].strip() for each in found] == [
        f"stress {name} node {node}" for name in (*COMPONENTS, "von Mises")
    ]
    for c, each in enumerate(found[:6]):
        assert (each["func_type"], each["rsp_node"], each["ordinate_spec_data_type"]) == (
            1,
            node,
            2,
        )
        assert each["ordinate_axis_units_lab"].strip() == "Pa"
        np.testing.assert_array_equal(each["data"], view.history(node).stress[:, 0, c])
        np.testing.assert_allclose(each["x"], cyclic.t, atol=1e-3 * (cyclic.t[1] - cyclic.t[0]))


TURN = 2.0 * np.pi
NOISE = np.random.default_rng(0).normal(scale=1e5, size=(4000, 3))
SECONDS = np.linspace(0.0, 20.0, 4000)
WAVE, STARTING = np.sin(TURN * SECONDS), np.where(SECONDS < 1.0, np.sin(0.5 * TURN * SECONDS), 0.0)


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize(
    ("stress", "by_mises", "by_principal"),
    [
        ((0.0, 0.0, 100e6), 0.0, 0.0),  # a shaft at constant torque
        ((80e6, 0.0, 100e6 * STARTING), 56.0, 34.0),  # tension after a torque at the start
        ((0.0, 0.0, 100e6 * WAVE), 173.0, 100.0),
        ((15e6, 0.0, 100e6 * WAVE), 174.0, 100.0),
        ((100e6 * WAVE, 0.0, 0.0), 100.0, 100.0),
        ((80e6 * WAVE, 0.0, 100e6 * STARTING), 127.0, 104.0),  # bending that reverses after that
        ((50e6 * (1.0 + WAVE), -50e6, 0.0), 41.0, 50.0),
    ],
)
def test_small_changes_do_not_turn_the_sign_of_large_stress(
    stress: tuple, by_mises: float, by_principal: float, side: float
) -> None:
    """Amplitudes (MPa) of the worst cycles of plane stress xx, yy, xy with noise: the sign of the
    principal stress of largest magnitude turned in constant torsion, that along the largest stress
    in constant tension after a torque."""
    history = np.zeros((len(SECONDS), 1, 6))
    history[:, 0, [0, 1, 3]] = (
        np.stack([np.broadcast_to(part, len(SECONDS)) for part in stress], axis=1) + side * NOISE
    )
    for values, amplitude in (
        (directions(history) * von_mises(history), by_mises),
        (signed_principal(history), by_principal),
    ):
        cycles = fm.rainflow(values[:, 0])
        worst = np.argmax(cycles.count * cycles.amplitude**5)
        assert 1e-6 * cycles.amplitude[worst] == pytest.approx(amplitude, abs=1.5)
