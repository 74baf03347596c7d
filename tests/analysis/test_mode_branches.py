"""Campbell diagrams and root loci against closed forms: a Jeffcott rotor with gyroscopic moments, a
blade, oscillators.
"""

import numpy as np
import pytest

import flexmbs as fm
import preprocess as pp
from flexmbs.motions import Rotate, Slide

MASS, I_T, I_P, K, K_TILT = 2.0, 0.05, 0.08, 8e4, 900.0
SPEEDS = np.linspace(0.0, 300.0, 31)


def rotor(*, c: float = 0.0, polar: float = I_P) -> fm.Model:
    """A disc on elastic bearings: slides x, y, tilts about x, y, then its spin by a motor."""
    model = fm.Model("rotor", gravity=(0.0, 0.0, 0.0))
    disc = model.add(
        fm.RigidBody("disc", mass=MASS, inertia=(I_T, I_T, polar), frames={"end": (0.0, 0.0, 0.1)})
    )
    motions = (Slide("x"), Slide("y"), Rotate("x"), Rotate("y"), Rotate("z"))
    model.add(fm.Chain("shaft", model.ground, disc, motions=motions))
    for k in range(4):
        model.add(
            fm.JointSpring(
                f"spring {k}",
                "shaft",
                coordinate=k,
                k=K if k < 2 else K_TILT,
                c=c if k < 2 else 0.0,
            )
        )
    model.add(fm.Drive("motor", "shaft", fm.Ramp(0.0, 1.0), coordinate=4))
    return model


def tilting(speed: np.ndarray, sign: float, polar: float = I_P) -> np.ndarray:
    """I_t ω² ∓ I_p Ω ω − k = 0: forward (+) and backward (−) whirl of the tilting disc."""
    return (sign * polar * speed + np.sqrt((polar * speed) ** 2 + 4.0 * I_T * K_TILT)) / (2.0 * I_T)


def test_whirl_of_a_rotor_with_gyroscopic_moments() -> None:
    """Forward tilting crosses the constant frequency of translation, and no branch changes to
    another one.
    """
    bounce = np.sqrt(K / MASS)
    assert tilting(SPEEDS[0], 1.0) < bounce < tilting(SPEEDS[-1], 1.0)
    found = fm.campbell(rotor(), SPEEDS, drive="motor", frame="disc/end")
    omega = 2.0 * np.pi * found.frequency
    assert omega.shape == (31, 4)
    expected = np.stack(
        [tilting(SPEEDS, -1.0), tilting(SPEEDS, 1.0), np.full(31, bounce), np.full(31, bounce)],
        axis=1,
    )
    order = np.argsort(omega[-1])[[0, 3, 1, 2]]
    np.testing.assert_allclose(omega[:, order], expected, rtol=1e-6)
    np.testing.assert_allclose(found.whirl[1:, order[:2]], np.tile([-1.0, 1.0], (30, 1)), atol=1e-6)
    assert found.doubtful == ()
    assert found.mac.min() > 0.9


def test_critical_speeds() -> None:
    """Ω = √(k/m) of the translation, twice; forward tilting at Ω = √(k/(I_t − I_p)), backward at
    √(k/(I_t + I_p)).
    """
    found = fm.campbell(rotor(polar=0.02), SPEEDS, drive="motor", frame="disc/end").critical()
    expected = sorted(
        [np.sqrt(K / MASS)] * 2 + [np.sqrt(K_TILT / (I_T + sign * 0.02)) for sign in (1.0, -1.0)]
    )
    np.testing.assert_allclose([point.speed for point in found], expected, rtol=1e-5)
    np.testing.assert_allclose(
        [point.frequency * 2.0 * np.pi for point in found], expected, rtol=1e-5
    )


def test_critical_speeds_of_both_senses() -> None:
    """Speeds of both senses, some given twice: each sense has its own, which do not follow from
    those of the other.
    """
    speeds = np.concatenate([-SPEEDS[:0:-1], SPEEDS[::2], SPEEDS[-1:]])
    found = fm.campbell(rotor(polar=0.02), speeds, drive="motor", frame="disc/end")
    own = np.array(
        [np.sqrt(K / MASS)] * 2 + [np.sqrt(K_TILT / (I_T + sign * 0.02)) for sign in (1.0, -1.0)]
    )
    np.testing.assert_allclose(
        [point.speed for point in found.critical()], np.sort([*-own, *own]), rtol=1e-4
    )
    assert len(found.plot().axes[0].lines) > 0
    for order in ("one", np.nan, -1.0):
        with pytest.raises(fm.InputError, match="order: "):
            found.critical(order)  # type: ignore[arg-type]


def bead(*, turning: bool) -> fm.Model:
    """A point on springs in two directions, on a turning table or below one."""
    model = fm.Model("bead", gravity=(0.0, 0.0, 0.0))
    table, point = (
        model.add(fm.RigidBody(name, mass=1.0, inertia=(1.0, 1.0, 1.0)))
        for name in ("table", "bead")
    )
    plane, turn = (Slide("x"), Slide("y")), (Rotate("z"),)
    if turning:
        model.add(fm.Revolute("axle", model.ground, table, axis="z"))
        model.add(fm.Chain("plane", table, point, motions=plane))
    else:
        model.add(fm.Chain("plane", model.ground, point, motions=(*plane, *turn)))
        model.add(fm.Revolute("axle", model.ground, table, axis="z"))
    for k in (0, 1):
        model.add(fm.JointSpring(f"spring {k}", "plane", k=400.0, coordinate=k))
    model.add(
        fm.Drive(
            "motor",
            "axle" if turning else "plane",
            fm.Ramp(0.0, 1.0),
            coordinate=0 if turning else 2,
        )
    )
    if not turning:
        model.add(fm.Drive("brake", "axle", fm.Constant(0.0)))
    return model


@pytest.mark.parametrize("turning", [False, True])
def test_critical_speeds_say_who_sees_them(turning: bool) -> None:
    """Whirl at √(k/m) in axes at rest is |√(k/m) ∓ Ω| in turning ones, which half of √(k/m) meets:
    to a load at rest alone.
    """
    found = fm.campbell(bead(turning=turning), np.linspace(1.3, 30.0, 30), drive="motor")
    assert found.turning.tolist() == [turning, turning]
    points = found.critical()
    assert {point.turning for point in points} == {turning}
    np.testing.assert_allclose(
        [point.speed for point in points], [10.0] if turning else [20.0, 20.0], rtol=1e-6
    )
    label = "critical for stationary loads, seen from the rotor" if turning else "critical speeds"
    assert label in found.plot().axes[0].get_legend_handles_labels()[1]


def test_the_sense_of_whirl_follows_the_sense_of_rotation() -> None:
    found = fm.campbell(rotor(), [-100.0, -200.0], drive="motor", frame="disc/end")
    tilts = np.argsort(found.frequency[1])[[0, 3]]
    np.testing.assert_allclose(found.whirl[:, tilts], np.tile([-1.0, 1.0], (2, 1)), atol=1e-6)


def test_flapping_blade_by_a_function_of_the_speed() -> None:
    """Southwell: ω² = k/I + Ω² (1 + e m r/I) of a hinged rigid
    blade with a spring at the offset e.
    """
    offset, mass, r, inertia, k = 0.3, 2.0, 0.5, 0.2, 40.0

    def at(speed: float) -> fm.Model:
        model = fm.Model("rotor", gravity=(0.0, 0.0, 0.0))
        hub = model.add(
            fm.RigidBody(
                "hub", mass=1.0, inertia=(1.0, 1.0, 1.0), frames={"rim": (offset, 0.0, 0.0)}
            )
        )
        blade = model.add(
            fm.RigidBody("blade", mass=mass, inertia=(0.0, inertia, inertia), com=(r, 0.0, 0.0))
        )
        model.add(fm.Revolute("mast", model.ground, hub))
        model.add(fm.Revolute("hinge", hub["rim"], blade, axis="y"))
        model.add(fm.JointSpring("spring", "hinge", k=k))
        model.add(fm.Drive("motor", "mast", fm.Ramp(0.0, speed)))
        return model

    speeds = np.array([0.0, 5.0, 10.0, 20.0])
    found = fm.campbell(at, speeds)
    whole = inertia + mass * r**2
    expected = np.sqrt(k / whole + speeds**2 * (1.0 + offset * mass * r / whole))
    np.testing.assert_allclose(2.0 * np.pi * found.frequency[:, 0], expected, rtol=1e-8)
    assert found.critical() == []
    assert np.isnan(found.whirl).all()


def oscillator(c: float) -> fm.Model:
    model = fm.Model("oscillator", gravity=(0.0, 0.0, 0.0))
    block = model.add(fm.PointMass("block", mass=2.0))
    model.add(fm.Prismatic("rail", model.ground, block))
    model.add(fm.JointSpring("spring", "rail", k=50.0, c=c))
    return model


def test_root_locus_of_a_damped_oscillator() -> None:
    """λ = −c/2m ± √(c²/4m² − k/m): on a circle until c = 2√(km), then two real branches."""
    c = np.linspace(0.0, 30.0, 31)
    found = fm.root_locus(oscillator, c)
    assert found.eigenvalue.shape == (31, 2)
    root = np.sqrt((c / 4.0) ** 2 - 25.0 + 0j)
    split = c > 20.0
    below = c < 20.0
    np.testing.assert_allclose(
        found.eigenvalue[below, 0], (-c / 4.0 + root)[below], rtol=1e-7, atol=1e-9
    )
    np.testing.assert_allclose(
        np.sort(found.eigenvalue[split].real, axis=1),
        np.stack([-c / 4 - root.real, -c / 4 + root.real], 1)[split],
        rtol=1e-7,
    )
    assert np.isnan(found.eigenvalue[below, 1]).all()
    assert (np.abs(np.diff(found.eigenvalue[split], axis=0)) < 2.5).all()
    assert found.stable.all()


def test_root_locus_of_a_gain_becomes_unstable() -> None:
    """PD with a gain of integral ki: m s³ + (c + kd) s² + … = 0 is stable below Routh's limit ki <
    (k + kp)(c + kd)/m.
    """

    def at(ki: float) -> fm.Model:
        model = oscillator(2.0)
        model.add(fm.JointTorque("control", "rail", fm.PID(10.0, ki, 4.0, reference=0.0)))
        return model

    limit = 60.0 * 6.0 / 2.0
    found = fm.root_locus(at, limit * np.array([0.2, 0.6, 0.99, 1.01, 1.5]))
    assert found.stable.tolist() == [True, True, True, False, False]
    for k, ki in enumerate(found.values):
        roots = np.roots([2.0, 6.0, 60.0, ki])
        np.testing.assert_allclose(
            np.sort_complex(found.eigenvalue[k]),
            np.sort_complex(roots[roots.imag >= 0.0]),
            rtol=1e-6,
        )


def test_figures_have_the_branches_and_the_orders() -> None:
    found = fm.campbell(rotor(c=20.0), SPEEDS[::3], drive="motor", frame="disc/end")
    frequencies, damping = found.plot(orders=[1.0, 2.0]).axes
    names = frequencies.get_legend_handles_labels()[1]
    assert names == [
        "mode 0",
        "mode 1",
        "mode 2",
        "mode 3",
        "critical speeds",
        "forward",
        "backward",
    ]
    np.testing.assert_allclose(damping.lines[0].get_ydata(), found.damping[:, 0])
    (plane,) = fm.root_locus(oscillator, [0.0, 5.0]).plot().axes
    np.testing.assert_allclose(plane.lines[0].get_ydata(), -plane.lines[3].get_ydata())


@pytest.mark.filterwarnings("error")
def test_what_cannot_be_followed_is_refused() -> None:
    with pytest.raises(fm.InputError, match="must be a function of the speed; or name the drive"):
        fm.campbell(rotor(), SPEEDS)
    with pytest.raises(fm.InputError, match="drive: 'moter' is not in the model"):
        fm.campbell(rotor(), SPEEDS, drive="moter")
    with pytest.raises(fm.InputError, match="axis: must be one of the world axes"):
        fm.campbell(rotor(), [1.0], drive="motor", frame="disc", axis="q")
    with pytest.raises(fm.InputError, match="value 1: the model has other coordinates than at 0"):
        fm.root_locus(lambda k: oscillator(1.0) if k < 1.0 else rotor(), [0.0, 1.0])
    with pytest.raises(fm.InputError, match="it must give a model, a state or a linearization"):
        fm.root_locus(lambda k: k, [0.0, 1.0])
    with pytest.raises(fm.InputError, match="modes: must be a whole number from 1"):
        fm.root_locus(oscillator, [0.0, 1.0], modes=0)


def test_modes_of_a_part_that_is_reduced_anew_are_followed_by_its_motion() -> None:
    """A clamped bar becomes higher than wide: the frequencies of one direction grow with its height
    and cross those of the other, where the elastic coordinates change their order."""

    def bar(height: float) -> fm.Model:
        body = pp.reduce(
            pp.box_mesh((0.4, 0.02, height), (4, 1, 1)),
            pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
            interfaces={"root": pp.Rigid("x0")},
            reference="root",
            method=pp.CraigBampton(modes=4),
            estimate=False,
        )
        model = fm.Model("bar", gravity=(0, 0, 0))
        model.add(
            fm.Fixed("clamp", model.ground, model.add(fm.FlexibleBody("bar", data=body))["root"])
        )
        return model

    found = fm.root_locus(bar, [0.016, 0.018, 0.021, 0.024])
    slender, other = found.frequency[:, [0, 2]], found.frequency[:, [1, 3]]
    assert np.allclose(slender[-1] / slender[0], 1.5, rtol=0.04)  # shear: the second less
    assert np.allclose(other[-1] / other[0], 1.0, rtol=0.01)
    assert found.mac.min() > 0.99
