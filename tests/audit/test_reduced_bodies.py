"""A body whose modes cannot represent its loads is reported; with modes for inertia loads its deformation is correct."""

import numpy as np
import pytest
from audited_models import found

import flexmbs as fm
import preprocess as pp
from flexmbs.audit.spectrum import above

E, RHO, LENGTH = 2.0e9, 7800.0, 0.4
SPEED = 20.0


def bar(**options):
    """A bar held at one end, with two bending modes only."""
    mesh = pp.box_mesh((LENGTH, 0.02, 0.02), (16, 2, 2), "hex20", origin=(0, -0.01, -0.01))
    material = pp.Isotropic(E=E, nu=0.0, rho=RHO)
    return pp.reduce(
        mesh, material, interfaces={"hub": pp.Rigid("x0")}, method=pp.CraigBampton(modes=2), reference="hub", stiffening=False,
        **options,
    )  # fmt: skip


def spun(data):
    """The bar turning about its end at a constant rate, at its steady elongation."""
    model = fm.Model("spun", gravity=(0, 0, 0))
    body = model.add(fm.FlexibleBody("bar", data=data, damping=0.5))
    model.add(fm.Revolute("hub", model.ground, body["hub"], axis="z", v0=SPEED))
    model.add(fm.Drive("motor", "hub", fm.Ramp(0.0, SPEED)))
    return fm.simulate(model, t_end=0.02, step=2e-5, output_step=1e-3)


def elongation(solution):
    """Of the free end: ρ Ω² L³/(3 E)."""
    data = solution.compiled.data["bar"]
    end = np.abs(data.surface.nodes[:, 0] - LENGTH) < 1e-9
    return (data.surface.phi[end, 0] @ solution.body("bar").elastic[-1]).mean()


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
def test_a_bar_that_cannot_stretch_is_reported():
    solution = spun(bar())
    check = next(check for check in solution.audit if check.title == "Modes of bar")
    assert abs(elongation(solution)) < 0.01 * RHO * SPEED**2 * LENGTH**3 / (3 * E)
    assert check.status == "FAIL"
    assert "inertia_loads=True" in check.remedy


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
def test_with_the_modes_of_inertia_loads_it_stretches():
    solution = spun(bar(inertia_loads=True))
    check = next(check for check in solution.audit if check.title == "Modes of bar")
    assert elongation(solution) == pytest.approx(RHO * SPEED**2 * LENGTH**3 / (3 * E), rel=5e-3)
    assert check.status == "PASS"


def test_what_is_missing_is_what_a_full_solution_shows():
    """√W of the centrifugal load is the mean displacement of u = ρ Ω² (L² x/2 − x³/6)/E, which the modes do not span."""
    missing = bar().stress.missing
    x = np.linspace(0, LENGTH, 100001)
    u = RHO / E * (LENGTH**2 * x / 2 - x**3 / 6)
    exact = np.sqrt(np.trapezoid(u**2, x) / LENGTH)
    assert np.sqrt(missing[8, 8]) == pytest.approx(exact, rel=1e-4)  # ω_z²


def test_files_keep_it(tmp_path):
    body = bar()
    body.save(tmp_path / "bar.h5")
    assert np.array_equal(fm.FlexibleBodyData.load(tmp_path / "bar.h5").stress.missing, body.stress.missing)


def pushed(data, frequency):
    """The bar fixed at its hub, with an alternating force at its free end."""
    model = fm.Model("pushed", gravity=(0, 0, 0))
    body = model.add(fm.FlexibleBody("bar", data=data, damping=0.02))
    model.add(fm.Fixed("wall", model.ground, body["hub"]))
    model.add(fm.FrameForce("push", body["tip"], force=(0, fm.Sine(1.0, frequency=frequency), 0)))
    return fm.simulate(model, t_end=0.25, step=2e-4, output_step=4e-4)


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
def test_loads_faster_than_the_modes_are_reported():
    mesh = pp.box_mesh((LENGTH, 0.02, 0.02), (16, 2, 2), "hex20", origin=(0, -0.01, -0.01))
    faces = {"hub": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
    data = pp.reduce(
        mesh, pp.Isotropic(E=E, nu=0.0, rho=RHO), interfaces=faces, method=pp.ClampedModes(modes=4, at="hub"), reference="hub"
    )
    highest = float(data.modes.frequency.max())
    slow, fast = (found(pushed(data, part * highest), "Load spectrum of bar") for part in (0.3, 3.0))
    assert slow is None
    assert fast.status == "WARN"
    assert "9" in fast.found.split("%")[0]
    t = np.arange(400) * 1e-3
    both = np.column_stack([np.sin(2 * np.pi * 20 * t) + 3.0 + 5.0 * t, 2.0 * np.sin(2 * np.pi * 180 * t)])
    assert above(both, 1e-3, 100.0) == pytest.approx(0.8, abs=0.01)
