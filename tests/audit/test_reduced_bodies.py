"""A body whose modes cannot represent its loads is reported; with modes for inertia loads its
deformation is correct.
"""

import dataclasses
import math
import warnings

import numpy as np
import pytest
from audited_models import found

import flexmbs as fm
import preprocess as pp
from flexmbs.audit.force_differences import at_instants
from flexmbs.audit.spectrum import variation_above
from flexmbs.audit.truncation import driven_oscillators
from flexmbs.audit.unresolved_modes import highest_mode
from flexmbs.dynamics.dense import terms
from flexmbs.dynamics.work import make_work
from flexmbs.studies.run.options import requested_options
from flexmbs.studies.run.run_setup import RunStart, prepared
from flexmbs.studies.sweeps.batch import NOTHING
from flexmbs.system.step_scales import model_size

E, RHO, LENGTH = 2.0e9, 7800.0, 0.4
SPEED = 20.0


def bar(**options):
    """A bar held at one end, with two bending modes only."""
    mesh = pp.box_mesh((LENGTH, 0.02, 0.02), (16, 2, 2), "hex20", origin=(0, -0.01, -0.01))
    material = pp.Isotropic(E=E, nu=0.0, rho=RHO)
    return pp.reduce(
        mesh,
        material,
        interfaces={"hub": pp.Rigid("x0")},
        method=pp.CraigBampton(modes=2),
        reference="hub",
        stiffening=False,
        **options,
    )


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
    """√W of the centrifugal load is the mean displacement of u = ρ Ω² (L² x/2 − x³/6)/E, which the
    modes do not span.
    """
    missing = bar().stress.missing
    x = np.linspace(0, LENGTH, 100001)
    u = RHO / E * (LENGTH**2 * x / 2 - x**3 / 6)
    exact = np.sqrt(np.trapezoid(u**2, x) / LENGTH)
    assert np.sqrt(missing[8, 8]) == pytest.approx(exact, rel=1e-4)  # ω_z²


def test_files_keep_it(tmp_path):
    body = bar()
    body.save(tmp_path / "bar.h5")
    assert np.array_equal(
        fm.FlexibleBodyData.load(tmp_path / "bar.h5").stress.missing, body.stress.missing
    )


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
        mesh,
        pp.Isotropic(E=E, nu=0.0, rho=RHO),
        interfaces=faces,
        method=pp.ClampedModes(modes=4, at="hub"),
        reference="hub",
    )
    highest = float(data.modes.frequency.max())
    slow, fast = (
        found(pushed(data, part * highest), "Load spectrum of bar") for part in (0.3, 3.0)
    )
    assert slow is None
    assert fast.status == "WARN"
    assert "9" in fast.found.split("%")[0]
    t = np.arange(400) * 1e-3
    both = np.column_stack(
        [np.sin(2 * np.pi * 20 * t) + 3.0 + 5.0 * t, 2.0 * np.sin(2 * np.pi * 180 * t)]
    )
    assert variation_above(both, 1e-3, 100.0) == pytest.approx(0.8, abs=0.01)


ENDS = {"hub": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
SMOOTH = {"angle": 0.2, "duration": 0.05}
ALUMINIUM = pp.Isotropic(E=7.0e10, nu=0.33, rho=2700.0)
PLASTIC = pp.Isotropic(E=3e9, nu=0.33, rho=1200.0)


def link(modes, damping=0.0, size=(0.5, 0.03, 0.02), material=ALUMINIUM):
    """A link of coarse elements, whose 8 lowest fixed-interface modes leave out the axial one with
    80 % of its mass.
    """
    origin = (0, -size[1] / 2, -size[2] / 2)
    mesh = pp.box_mesh(size, (10, 1, 1), "hex20", origin=origin)
    return pp.reduce(
        mesh,
        material,
        interfaces=ENDS,
        method=pp.CraigBampton(modes=modes),
        reference="hub",
        damping=damping,
        stiffening=False,
        stress=None,
    )


def kicked(data, *, angle=1e-3, duration=1e-3, t_end=0.01, output_step=2e-5, **options):
    """A carrier that two motors turn within a duration, the link clamped to it, and a tool at its
    end.
    """
    model = fm.Model("spatial arm", gravity=(0, 0, 0))
    column = model.add(
        fm.RigidBody("column", mass=1.0, inertia=(0.01,) * 3, frames={"top": (0, 0, 0.3)})
    )
    model.add(fm.Revolute("yaw", model.ground, column, axis="z"))
    carrier = model.add(fm.RigidBody("carrier", mass=0.3, inertia=(1e-3,) * 3))
    model.add(fm.Revolute("pitch", column["top"], carrier, axis="y"))
    arm = model.add(fm.FlexibleBody("link", data=data))
    model.add(fm.Fixed("clamp", carrier, arm["hub"]))
    tool = model.add(fm.RigidBody("tool", mass=0.4, inertia=(2e-4, 2e-4, 1e-4), com=(0.05, 0, 0)))
    model.add(fm.Fixed("wrist", arm["tip"], tool))
    model.add(
        fm.Drive("yaw motor", "yaw", fm.SmoothStep(1.6 * angle, start=0.0, duration=duration))
    )
    model.add(fm.Drive("pitch motor", "pitch", fm.SmoothStep(-angle, start=0.0, duration=duration)))
    return fm.simulate(model, t_end=t_end, output_step=output_step, **options)


def stated(check):
    """The relative error of reactions that a check states."""
    return float(check.found.partition(" of the largest reaction")[0].split()[-1])


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
@pytest.mark.parametrize("damping", [0.0, 0.02])
def test_reactions_of_truncated_modes(damping):
    """The missing reaction is that of a body with 40 modes, within a factor of 1.5."""
    method = fm.DormandPrince(rtol=1e-7, atol=1e-10)
    force = kicked(link(40, damping), integrator=method).joint("clamp").force
    run = kicked(link(8, damping), integrator=method)
    actual = (
        np.linalg.norm(run.joint("clamp").force - force, axis=1).max()
        / np.linalg.norm(force, axis=1).max()
    )
    check = found(run, "Truncated modes")
    assert actual / 1.5 < stated(check) < 1.5 * actual
    assert check.status == ("PASS" if stated(check) <= 0.02 else "WARN")
    if damping == 0.0:
        assert actual > 0.02
        assert check.remedy.startswith("reduce link with")


def released(**options):
    """A clamped undamped link whose weight acts from the start."""
    model = fm.Model("blade", gravity=(0, 0, -9.81))
    blade = model.add(fm.FlexibleBody("link", data=link(1)))
    model.add(fm.Fixed("root", model.ground, blade["hub"]))
    start = fm.statics(model) if options.pop("settled", False) else None
    return fm.simulate(model, t_end=0.02, output_step=2e-5, start=start, **options)


def axial_reaction(t, load, omega, mass, stiffness):
    """Force [N] at the held end of an undamped rod under load·sin(ω t) at its free end, from rest.

    mass [kg], stiffness EA/L [N/m]. Modes sin((2k − 1) π x/(2 L)) of the rod, with
    (L_k ω_k² q_k − L_k p_k F) summed beside F: the series converges as k⁻².
    """
    n = 2 * np.arange(1, 4001)[:, None] - 1.0
    own = n * np.pi / 2 * math.sqrt(stiffness / mass)
    share = 4 / (n * np.pi) * np.where(n % 4 == 1, 1.0, -1.0)  # L_k p_k
    of_mode = omega * (omega * np.sin(omega * t) - own * np.sin(own * t)) / (own**2 - omega**2)
    return load * (np.sin(omega * t) + (share * of_mode).sum(axis=0))


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
@pytest.mark.parametrize("modes", [0, 2, 8])
def test_truncated_modes_along_the_axis(modes):
    """The first longitudinal mode with both ends held is above many modes of bending."""
    side, rho, modulus, load, frequency = 0.02, 2700.0, 70e9, 100.0, 400.0
    x = np.linspace(0.0, 1.0, 11)
    mesh = pp.Mesh.from_arrays(
        np.column_stack([x, 0 * x, 0 * x]),
        {"line2": [(k, k + 1) for k in range(10)]},
        node_sets={"a": [0], "b": [10]},
    )
    section = pp.RectangularSection(side, side, orientation=(0, 0, 1))
    fe = pp.assemble(mesh, pp.Isotropic(E=modulus, nu=0.3, rho=rho), sections=section)
    data = pp.reduce(
        fe,
        interfaces={"a": pp.Rigid("a"), "b": pp.Rigid("b")},
        method=pp.CraigBampton(modes=modes) if modes else pp.Guyan(),
        reference="a",
    )
    model = fm.Model("rod", gravity=(0, 0, 0))
    rod = model.add(fm.FlexibleBody("rod", data=data))
    model.add(fm.Fixed("wall", model.ground, rod["a"]))
    push = fm.Sine(amplitude=load, frequency=frequency)
    model.add(fm.FrameForce("push", rod["b"], force=(push, 0, 0)))
    solution = fm.simulate(model, t_end=0.01, output_step=5e-5)
    area = side * side
    exact = axial_reaction(solution.t, load, 2 * np.pi * frequency, rho * area, modulus * area)
    force = solution.joint("wall").force[:, 0]
    actual = np.abs(np.abs(force) - np.abs(exact)).max() / np.abs(exact).max()
    check = found(solution, "Truncated modes")
    estimate = float(check.found.split()[1])
    assert actual > 0.2
    assert check.status == "FAIL"
    assert actual / 3 < estimate < 3 * actual


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
@pytest.mark.parametrize("second", [1.0, 1e3, 1e6])
def test_truncated_modes_in_units_of_time(second):
    """The default absolute tolerance, 1e-8 m/µs, would leave steps without the vibrations."""
    rho, modulus, g = 2700.0, 70e9 / second**2, 9.81 / second**2
    x = np.linspace(0.0, 1.0, 11)
    mesh = pp.Mesh.from_arrays(
        np.column_stack([x, 0 * x, 0 * x]),
        {"line2": [(k, k + 1) for k in range(10)]},
        node_sets={"a": [0], "b": [10]},
    )
    section = pp.RectangularSection(0.02, 0.02, orientation=(0, 0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pp.PreprocessWarning)
        fe = pp.assemble(mesh, pp.Isotropic(E=modulus, nu=0.3, rho=rho), sections=section)
    data = pp.reduce(
        fe,
        interfaces={"a": pp.Rigid("a"), "b": pp.Rigid("b")},
        method=pp.CraigBampton(modes=8),
        reference="a",
        damping=0.01,
    )
    model = fm.Model("arm", gravity=(0, 0, -g))
    arm = model.add(fm.FlexibleBody("arm", data=data))
    model.add(fm.Revolute("hinge", model.ground, arm["a"], axis="y", q0=0.3))
    run = fm.simulate(model, t_end=0.05 * second, output_step=0.01 * second)
    assert 0.2 < stated(found(run, "Truncated modes")) < 0.45


def beam(**options):
    """A slender beam, reduced with twelve modes."""
    x = np.linspace(0.0, 1.0, 21)
    mesh = pp.Mesh.from_arrays(
        np.column_stack([x, 0 * x, 0 * x]),
        {"line2": [(k, k + 1) for k in range(20)]},
        node_sets={"a": [0], "b": [20]},
    )
    section = pp.RectangularSection(0.02, 0.02, orientation=(0, 0, 1))
    fe = pp.assemble(mesh, pp.Isotropic(E=70e9, nu=0.3, rho=2700.0), sections=section)
    interfaces = {"a": pp.Rigid("a"), "b": pp.Rigid("b")}
    return pp.reduce(fe, interfaces=interfaces, reference="a", inertia_loads=True, **options)


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
@pytest.mark.parametrize("where", ["reduction", "body"])
@pytest.mark.parametrize("share", [0.02, 0.5, 1.0])
def test_geometric_stiffness_of_a_column(share, where):
    """Under P of Euler's load π²EI/(4 L²) it is about P/P_E of the elastic stiffness."""
    data = beam(stiffening=where != "reduction")
    load = share * np.pi**2 * 70e9 * 0.02**4 / 12 / 4
    model = fm.Model("column", gravity=(0, 0, 0))
    column = model.add(fm.FlexibleBody("column", data=data, stiffening=where != "body"))
    model.add(fm.Fixed("foot", model.ground, column["a"]))
    model.add(fm.FrameForce("load", column["b"], force=(-load, 0, 0)))
    rest = fm.statics(model)
    for result in (rest, fm.simulate(model, start=rest, t_end=1e-3)):
        check = found(result, "Geometric stiffness of column")
        assert check.status == ("WARN" if share > 0.1 else "PASS")
        estimate = float(check.found.split("about ")[1].split()[0])
        assert share / 2 < estimate < 2 * share
    linear = found(fm.linearize(model, start=rest), "Geometric stiffness of column")
    assert linear.status == check.status


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_geometric_stiffness_of_a_blade(share):
    """Of its first flapping mode 1.19 (Ω/ω₁)², by Southwell's formula; of the force at the hub three
    times (Ω/ω₁)².
    """
    data = beam(stiffening=False)
    speed = share * float(data.modes.frequency.min()) * 2 * np.pi
    model = fm.Model("blade", gravity=(0, 0, 0))
    blade = model.add(fm.FlexibleBody("blade", data=data))
    model.add(fm.Revolute("hub", model.ground, blade["a"], axis="z"))
    model.add(fm.Drive("motor", "hub", fm.Ramp(0.0, rate=speed)))
    check = found(
        fm.linearize(model, start=fm.statics(model, steady=True)), "Geometric stiffness of blade"
    )
    estimate = float(check.found.split("about ")[1].split()[0])
    assert 1.19 * share**2 < estimate < 4.0 * share**2
    assert check.status == ("WARN" if share > 0.2 else "PASS")


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
def test_a_sudden_start_is_named_first():
    """Its simplest remedy is an equilibrium, from which nothing is missing."""
    method = fm.DormandPrince(rtol=1e-7, atol=1e-10)
    sudden = found(released(integrator=method), "Truncated modes")
    assert sudden.status != "PASS"
    assert sudden.remedy.startswith(
        "start in equilibrium, with start=fm.statics(model), or reduce link"
    )
    assert "\n" not in str(sudden)
    settled = found(released(integrator=method, settled=True), "Truncated modes")
    assert stated(settled) < 1e-3


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
@pytest.mark.parametrize("order", [1, -1])
def test_reactions_of_clamped_modes(order):
    """Two bending modes in each plane carry 0.613 and 0.188 of the mass of a cantilever: under its
    weight from t = 0 on the clamp has a force of 0.199 m g at first, where the exact one is zero.
    """
    x = np.linspace(0.0, 1.0, 21)
    mesh = pp.Mesh.from_arrays(
        np.column_stack([x, 0 * x, 0 * x]),
        {"line2": [(k, k + 1) for k in range(20)]},
        node_sets={"a": [0], "b": [20]},
    )
    section = pp.RectangularSection(0.01, 0.01, orientation=(0, 0, 1))
    fe = pp.assemble(mesh, ALUMINIUM, sections=section)
    root, tip = ("a", "b")[::order]
    data = pp.reduce(
        fe,
        interfaces={root: pp.Rigid("a"), tip: pp.Rigid("b")},
        method=pp.ClampedModes(modes=4, at=root),
        reference=root,
        damping=0.01,
    )
    model = fm.Model("cantilever", gravity=(0, 0, -9.81))
    beam = model.add(fm.FlexibleBody("beam", data=data))
    model.add(fm.Fixed("clamp", model.ground, beam[root]))
    solution = fm.simulate(model, t_end=0.05, output_step=1e-4)
    force = np.abs(solution.joint("clamp").force[:, 2])
    check = found(solution, "Truncated modes")
    assert force[0] == pytest.approx(0.199 * data.mass * 9.81, rel=0.01)
    assert force[0] / 1.5 < stated(check) * force.max() < 1.5 * force[0]
    assert check.status == "WARN"
    assert "reduce beam with CraigBampton or Rubin" in check.remedy


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
def test_bodies_without_residual_modes_are_named(monkeypatch):
    """The inertia that their modes omit may be a part of the reactions, or cannot."""
    data = dataclasses.replace(link(12), residual=None)
    model = fm.Model("swing")
    arm = model.add(fm.FlexibleBody("link", data=data, damping=0.05))
    model.add(fm.Revolute("pin", model.ground, arm["hub"], axis="z"))
    check = found(fm.simulate(model, t_end=0.01), "Truncated modes")
    assert check.status == "WARN"
    assert check.found.startswith(
        "reactions not judged: the data have no modes outside the basis; the omitted inertia may be"
    )
    weight = model.add(fm.RigidBody("weight", mass=1e3, inertia=(1e2, 1e2, 1e2)))
    model.add(fm.Fixed("load", arm["tip"], weight))
    check = found(fm.simulate(model, t_end=0.01), "Truncated modes")
    assert check.status == "PASS"
    assert "the omitted inertia is at most" in check.found


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
def test_reactions_of_large_models_are_not_passed_over(monkeypatch):
    monkeypatch.setattr("flexmbs.audit.truncation.MOST_UNKNOWNS", 10)
    check = found(released(), "Truncated modes")
    assert check.status == "WARN"
    assert "unknowns need too much work" in check.found
    assert 'use audit="full"' in check.remedy
    assert "is missing" in found(released(audit="full"), "Truncated modes").found


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
def test_forces_of_modes_that_steps_do_not_resolve():
    """Positions are right to 1e-5 m, forces are not; where a smooth motion excites no mode they
    are.
    """
    run = kicked(link(8), step=5e-5)
    exact = kicked(link(8), integrator=fm.DormandPrince(rtol=1e-7, atol=1e-10))
    away = np.linalg.norm(run.frame("tool").position - exact.frame("tool").position, axis=1).max()
    force = exact.joint("clamp").force
    actual = (
        np.linalg.norm(run.joint("clamp").force - force, axis=1).max()
        / np.linalg.norm(force, axis=1).max()
    )
    assert away < 1e-5
    assert actual > 0.1
    assert found(run, "Unresolved modes").status != "PASS"
    assert found(run, "Forces of the second run").status != "PASS"
    still = kicked(link(8), step=5e-5, **SMOOTH)
    assert (
        found(still, "Unresolved modes").status
        == found(still, "Forces of the second run").status
        == "PASS"
    )


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
def test_modes_are_not_passed_over_where_they_need_too_much_work(monkeypatch):
    """The verdict says that they were not judged; the check was absent."""
    monkeypatch.setattr("flexmbs.audit.unresolved_modes.MOST_WORK", 0.0)
    check = found(kicked(link(8), step=5e-5, **SMOOTH), "Unresolved modes")
    assert check.status == "WARN"
    assert "were not judged" in str(check)


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
@pytest.mark.parametrize(("damping", "step"), [(0.0, 2e-5), (0.0, 1e-5), (0.02, 1e-5)])
def test_errors_of_fixed_steps(damping, step, monkeypatch):
    """The estimate is the actual lasting error, though vibrations of twice the step are out of
    phase or damped out; with errors at instants, the largest one.
    """
    exact = kicked(link(8, damping), integrator=fm.DormandPrince(rtol=1e-7, atol=1e-10))
    run = kicked(link(8, damping), step=step)
    lasting, largest = errors(run, exact)
    told = stated(found(run, "Forces of the second run"))
    assert largest / 1.3 < told < 2.2 * largest
    monkeypatch.setattr(
        "flexmbs.audit.force_differences.at_instants", lambda a, b: np.zeros(len(a))
    )
    told = stated(found(kicked(link(8, damping), step=step), "Forces of the second run"))
    assert lasting / 1.3 < told < 1.3 * lasting


def errors(run, exact):
    """Lasting and largest errors of joint forces and moments, relative to the largest."""
    size = model_size(run.compiled)
    loads = [
        np.stack([(at.force, at.torque / size) for at in map(each.joint, each.joints)])
        for each in (run, exact)
    ]
    largest = np.linalg.norm(loads[1], axis=3).max()
    apart = np.linalg.norm(loads[0] - loads[1], axis=3) / largest
    return np.sqrt(2.0 * np.mean(apart**2, axis=2)).max(), apart.max()


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
@pytest.mark.parametrize("seed", range(3))
def test_short_transients_of_fixed_steps(seed):
    """Errors within few milliseconds are ten times those in root mean square: no run passes with
    one above 2 %, and none is warned of one above that which is below 1 %.
    """
    rng = np.random.default_rng(seed)
    size = tuple(rng.uniform((0.3, 0.015, 0.012), (0.6, 0.03, 0.025)))
    arm = link(8, 0.002, size, PLASTIC)
    options = {"duration": 2.9e-3 + 1e-3 * rng.random(), "angle": 2e-4, "t_end": 0.03}
    options["output_step"] = 5e-5
    exact = kicked(arm, integrator=fm.DormandPrince(rtol=1e-7, atol=1e-10), **options)
    for step in (2.5e-5, 1e-5):
        run = kicked(arm, step=step, **options)
        actual = max(errors(run, exact))
        told = max(
            stated(found(run, title))
            for title in ("Forces of the second run", "Unresolved modes")
            if found(run, title)
        )
        assert told > 0.02 or actual < 0.02
        assert told < 0.02 or actual > 0.01


def test_differences_at_instants():
    """A jump one output later is no difference; a pulse of other height, or errors of two outputs,
    are.
    """
    jump = np.repeat([0.0, 1.0], [20, 21])[:, None] * [1.0, 2.0, 0.0]
    assert at_instants(jump, np.roll(jump, 1, axis=0))[1:].max() == 0.0
    pulse = np.zeros((41, 3))
    pulse[20, 1] = 1.0
    assert at_instants(pulse, 1.3 * pulse).max() == pytest.approx(0.3)
    assert at_instants(1.3 * pulse, pulse).max() == pytest.approx(0.3)
    t = np.linspace(0.0, 1.0, 41)[:, None]
    wave = np.sin(60.0 * t) * [1.0, 0.0, 0.0]
    off = 0.02 * np.exp(-(((t - 0.3) / 0.05) ** 2)) * np.sin(200.0 * t) * [0.0, 1.0, 0.0]
    assert at_instants(wave, wave + off).max() > 0.8 * np.abs(off).max()


def test_an_oscillator_of_a_step_is_exact():
    """z = (1 − cos ω_d t e^(−ζωt) …)/ω² for p = 1, of any steps, and p/ω² for a start in
    equilibrium.
    """
    omega, zeta, t = (
        np.array([30.0]),
        np.array([0.1]),
        np.sort(np.random.default_rng(0).uniform(0, 1, 50)),
    )
    t[0] = 0.0
    z, zd, zdd = driven_oscillators(omega, zeta, t, np.ones((50, 1)), 0.0)
    wd = 30.0 * np.sqrt(1 - 0.01)
    exact = (1 - np.exp(-3.0 * t) * (np.cos(wd * t) + 3.0 / wd * np.sin(wd * t))) / 900.0
    assert z[:, 0] == pytest.approx(exact, abs=1e-15)
    assert zdd == pytest.approx(1.0 - 6.0 * zd - 900.0 * z, abs=1e-12)
    still = driven_oscillators(omega, zeta, t, np.ones((50, 1)), 1.0)
    assert still[0] == pytest.approx(np.full((50, 1), 1 / 900.0), abs=1e-15)
    ramp = driven_oscillators(omega, np.zeros(1), t, t[:, None], 0.0)[0]
    assert ramp[:, 0] == pytest.approx((t - np.sin(30.0 * t) / 30.0) / 900.0, abs=1e-15)


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")
def test_the_highest_mode_with_force_states_that_start_at_zero():
    """They were read beyond an empty array: the frequency was any number."""
    model = fm.Model("mount", gravity=(0, 0, 0))
    block = model.add(fm.RigidBody("block", mass=2.0, inertia=(1.0, 1.0, 1.0)))
    model.add(fm.Free("free", model.ground, block))
    stiffness = {"k": (200.0,) * 6, "branch_k": (600.0,) * 6, "relaxation_time": (0.1,) * 6}
    model.add(fm.Bushing("mount", model.ground, block, **stiffness))
    run = prepared(
        model,
        requested_options(model, NOTHING | {"t_end": 0.01, "step": 1e-3}),
        RunStart(),
        (),
        None,
    ).run
    assert len(run.begun.z) == 0
    rotation = math.sqrt(200.0 / 1.0)  # the forces of the branches are states, held here
    assert highest_mode(run, run.compiled.bodies) == pytest.approx(rotation, rel=1e-6)
    work = make_work(run.compiled.system, run.begun.beta)
    with pytest.raises(ValueError, match="z has 2 force states instead of 6"):
        terms(run.compiled.system, work, 0.0, run.begun.q, run.begun.s, np.zeros(2))
