"""Frequency responses against closed forms of oscillators, and of a cantilever against the full
finite-element model.
"""

from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
from linkages import pendulum

import flexmbs as fm
from flexmbs.motions import Slide
from preprocess import CraigBampton, Isotropic, Rigid, assemble, box_mesh, reduce

F = np.linspace(0.05, 6.0, 240)
OMEGA = 2.0 * np.pi * F


def oscillator(mass: float = 2.0, c: float = 3.0, k: float = 400.0) -> fm.Model:
    model = fm.Model("oscillator", gravity=(0.0, 0.0, 0.0))
    block = model.add(fm.PointMass("block", mass=mass))
    model.add(fm.Prismatic("rail", model.ground, block))
    model.add(fm.JointSpring("spring", "rail", k=k, c=c))
    return model


def two_masses() -> tuple[fm.Model, np.ndarray, np.ndarray, np.ndarray]:
    """Two masses in a row between walls, the second on the first: M, C, K in absolute
    displacements.
    """
    m, c, k = (1.0, 0.5), (0.8, 1.1), (150.0, 90.0)
    model = fm.Model("two masses", gravity=(0.0, 0.0, 0.0))
    first, second = (
        model.add(fm.PointMass(name, mass=mass)) for name, mass in zip(("first", "second"), m)
    )
    model.add(fm.Prismatic("wall", model.ground, first))
    model.add(fm.Prismatic("between", first, second))
    model.add(fm.JointSpring("left", "wall", k=k[0], c=c[0]))
    model.add(fm.JointSpring("middle", "between", k=k[1], c=c[1]))
    C, K = (np.array([[a[0] + a[1], -a[1]], [-a[1], a[1]]]) for a in (c, k))
    return model, np.diag(m), C, K


def test_one_mass() -> None:
    """x/F = 1/(k − m ω² + i ω c)."""
    linear = fm.linearize(
        oscillator(),
        inputs=[("effort", "rail")],
        outputs=[("coordinate", "rail"), ("rate", "rail")],
    )
    found = linear.response(F)
    expected = 1.0 / (400.0 - 2.0 * OMEGA**2 + 3j * OMEGA)
    np.testing.assert_allclose(found["coordinate rail", "effort rail"], expected, rtol=1e-7)
    np.testing.assert_allclose(
        found["rate rail", ("effort", "rail")], 1j * OMEGA * expected, rtol=1e-7
    )
    accelerance = found.derivative(2)["coordinate rail acceleration", "effort rail"]
    np.testing.assert_allclose(accelerance, -(OMEGA**2) * expected, rtol=1e-7)
    units = [found.unit(name, "effort rail") for name in found.outputs]
    assert units == ["m/N", "m/s/N"]
    assert [found.derivative().unit(name + " rate", "effort rail") for name in found.outputs] == [
        "m/s/N",
        "m/s²/N",
    ]
    np.testing.assert_allclose(
        found.phase[:, 0, 0],
        -np.rad2deg(np.arctan2(3.0 * OMEGA, 400.0 - 2.0 * OMEGA**2)),
        atol=1e-4,
    )


def test_two_masses_with_two_inputs_and_outputs() -> None:
    """H = (K + i ω C − ω² M)⁻¹ of forces on both masses, in world axes; at 0 Hz the compliance."""
    model, M, C, K = two_masses()
    forces, places = (
        [(kind, name, "x") for name in ("first", "second")] for kind in ("force", "position")
    )
    linear = fm.linearize(model, inputs=forces, outputs=places)
    f = np.concatenate([[0.0], F])
    omega = 2.0 * np.pi * f[:, None, None]
    expected = np.linalg.inv(K + 1j * omega * C - omega**2 * M)
    found = linear.response(f)
    np.testing.assert_allclose(
        found.values, expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max()
    )
    one = linear.response(f, inputs=[forces[1]], outputs=["position first x"])
    np.testing.assert_array_equal(one.values[:, 0, 0], found["position first x", "force second x"])
    np.testing.assert_allclose(
        found.deflection(2.0, forces[0]), expected[np.argmin(np.abs(f - 2.0)), :, 0], rtol=1e-7
    )


@pytest.mark.parametrize("suffix, order", [("", 0), (" rate", 1), (" acceleration", 2)])
def test_base_excitation(suffix: str, order: int) -> None:
    """A mass on a moved base: transmissibility T = (k + i ω c)/(k − m ω² + i ω c); per unit rate
    and acceleration T/(iω)ⁿ.
    """
    model = fm.Model("base", gravity=(0.0, 0.0, 0.0))
    base, block = (model.add(fm.PointMass(name, mass=2.0)) for name in ("base", "block"))
    model.add(fm.Prismatic("shaker", model.ground, base))
    model.add(fm.Prismatic("mount", base, block))
    model.add(fm.JointSpring("spring", "mount", k=400.0, c=3.0))
    model.add(fm.Drive("table", "shaker", 0.0))
    linear = fm.linearize(
        model,
        inputs=[("drive", "table")],
        outputs=[("position", "block", "x"), ("coordinate", "mount")],
    )
    found = linear.response(F, inputs=["drive table" + suffix])
    T = (400.0 + 3j * OMEGA) / (400.0 - 2.0 * OMEGA**2 + 3j * OMEGA)
    divisor = (1j * OMEGA) ** order
    np.testing.assert_allclose(
        found["position block x", "drive table" + suffix], T / divisor, rtol=1e-6
    )
    np.testing.assert_allclose(
        found["coordinate mount", "drive table" + suffix], (T - 1.0) / divisor, rtol=1e-6, atol=1e-9
    )
    assert (
        found.unit("position block x", "drive table" + suffix)
        == ("1", "m/(m/s)", "m/(m/s²)")[order]
    )
    if not suffix:
        assert linear.response(F).inputs == ("drive table",)


def test_cantilever_against_the_harmonic_response_of_the_full_model() -> None:
    """(K + i ω C − ω² M) u = F over all nodes, with damping of the same modal ratio, base held and
    tip rigid.
    """
    damping, steel = 0.02, Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    mesh = box_mesh((1.0, 0.06, 0.04), (6, 1, 1), "hex20", origin=(0.0, -0.03, -0.02))
    faces = {"base": Rigid("x0"), "tip": Rigid("x1")}
    data = reduce(
        mesh,
        steel,
        interfaces=faces,
        method=CraigBampton(modes=40),
        reference="base",
        damping=damping,
    )
    fe = assemble(mesh, steel)
    tip, base = mesh.node_set("x1"), mesh.node_set("x0")
    free = np.setdiff1d(np.arange(len(mesh.nodes)), np.concatenate([tip, base]))
    L = np.zeros((3 * len(mesh.nodes), 3 * len(free) + 6))
    L[(3 * free[:, None] + np.arange(3)).ravel(), np.arange(3 * len(free))] = 1.0
    for node in tip:
        x, y, z = mesh.nodes[node] - np.array([1.0, 0.0, 0.0])
        L[3 * node : 3 * node + 3, -6:] = np.hstack(
            [np.eye(3), [[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]]]
        )
    squares, shapes = scipy.linalg.eigh(L.T @ fe.K @ L, L.T @ fe.M @ L)
    natural = np.sqrt(squares)
    model = fm.Model("cantilever", gravity=(0.0, 0.0, 0.0))
    body = model.add(fm.FlexibleBody("arm", data=data, stiffening=False))
    model.add(fm.Fixed("clamp", model.ground, body["base"]))
    ports = [("arm/tip", axis) for axis in "xyz"]
    linear = fm.linearize(
        model,
        inputs=[("force", *port) for port in ports],
        outputs=[("position", *port) for port in ports],
    )
    f = np.geomspace(1.0, 1.3 * natural[5] / (2.0 * np.pi), 300)
    omega = 2.0 * np.pi * f[:, None]
    gain = 1.0 / (natural**2 - omega**2 + 2j * damping * natural * omega)
    expected = np.einsum("am,fm,bm->fab", shapes[-6:-3], gain, shapes[-6:-3])
    found = linear.response(f).values
    for axis in range(3):
        error = (
            np.abs(found[:, axis, axis] - expected[:, axis, axis]).max()
            / np.abs(expected[:, axis, axis]).max()
        )
        assert error < 2e-3, "xyz"[axis]
        np.testing.assert_allclose(found[0, axis, axis], expected[0, axis, axis], rtol=1e-5)


def test_it_is_the_amplitude_of_a_run_in_its_steady_state() -> None:
    model = oscillator(c=20.0)
    model.add(fm.JointTorque("shaker", "rail", fm.Function(lambda t: 5.0 * np.cos(9.0 * t))))
    linear = fm.linearize(
        oscillator(c=20.0), inputs=[("effort", "rail")], outputs=[("coordinate", "rail")]
    )
    H = linear.response([9.0 / (2.0 * np.pi)]).values[0, 0, 0]
    run = fm.simulate(model, t_end=4.0, step=2e-3)
    late = run.t > 3.0
    expected = (5.0 * H * np.exp(9j * run.t[late])).real
    np.testing.assert_allclose(
        run.joint("rail").position[late, 0], expected, atol=2e-3 * 5.0 * abs(H)
    )


def test_python_control_has_the_same_response() -> None:
    control = pytest.importorskip("control")
    model, *_ = two_masses()
    inputs, outputs = (
        [("effort", "wall"), ("force", "second", "x")],
        [("coordinate", "wall"), ("rate", "between")],
    )
    linear = fm.linearize(model, inputs=inputs, outputs=outputs)
    system = linear.to_control()
    assert isinstance(system, control.StateSpace)
    assert (tuple(system.input_labels), tuple(system.output_labels)) == (
        linear.inputs,
        linear.outputs,
    )
    found = np.moveaxis(system(1j * OMEGA), -1, 0)
    np.testing.assert_allclose(found, linear.response(F).values, rtol=1e-8, atol=1e-14)


def test_without_python_control_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "control", None)
    with pytest.raises(
        fm.MachineError,
        match=r"^to_control: needs python-control; install it: pip install control$",
    ):
        fm.linearize(oscillator()).to_control()


def test_what_has_no_response_is_refused() -> None:
    rail = {"inputs": [("effort", "rail")], "outputs": [("coordinate", "rail")]}
    undamped = fm.linearize(oscillator(c=0.0), **rail)
    with pytest.raises(
        fm.InputError,
        match="unbounded, it is the undamped natural frequency of mode 0; add damping",
    ):
        undamped.response([1.0, np.sqrt(200.0) / (2.0 * np.pi)])
    free = fm.linearize(oscillator(c=0.0, k=0.0), **rail)
    with pytest.raises(fm.InputError, match="at 0 Hz the response is unbounded"):
        free.response([0.0])
    np.testing.assert_allclose(free.response(F).values[:, 0, 0], -1.0 / (2.0 * OMEGA**2), rtol=1e-9)
    with pytest.raises(fm.InputError, match="'effort rial' is not there"):
        undamped.response(F, inputs=["effort rial"])
    with pytest.raises(fm.InputError, match="needs inputs and outputs"):
        fm.linearize(oscillator()).response(F)
    for bad in (-1.0, np.nan, "1", [[1.0]], [2.0, 1.0]):
        with pytest.raises(fm.InputError, match=r"^f: "):
            undamped.response(bad)
    with pytest.raises(fm.InputError, match="does not rest or move steadily"):
        fm.linearize(
            pendulum(-1.0), inputs=[("effort", "hinge")], outputs=[("rate", "hinge")]
        ).response(F)


def test_a_stiffness_that_changes_with_time_is_not_steady() -> None:
    """At rest in equilibrium all the time; a load of time, which moves the model, does not change
    its matrices.
    """

    def steady(law: object) -> bool:
        model = oscillator()
        model.add(fm.JointTorque("law", "rail", fm.Function(law)))
        return fm.linearize(model).steady

    assert not steady(lambda t, x, v: -(50.0 + 10.0 * np.sin(3.0 * t)) * x)
    assert steady(lambda t, x, v: -50.0 * x)
    assert steady(lambda t: np.sin(3.0 * t))


def test_a_shaft_across_springs_of_the_ground_is_not_steady() -> None:
    """Constant velocities, but stiffness that turns with the
    shaft: the matrices change with time.
    """

    def shaft(k: tuple[float, float]) -> fm.Linearization:
        model = fm.Model("shaft", gravity=(0.0, 0.0, 0.0))
        carrier = model.add(fm.RigidBody("carrier", mass=1.0, inertia=(1.0, 1.0, 1.0)))
        disc = model.add(fm.PointMass("disc", mass=1.0))
        model.add(fm.Revolute("spin", model.ground, carrier))
        model.add(fm.Chain("slides", carrier, disc, motions=(Slide("x"), Slide("y"))))
        model.add(fm.Drive("motor", "spin", fm.Ramp(0.0, 3.0)))
        model.add(fm.Bushing("bearing", model.ground, disc, k=(*k, 0.0, 0.0, 0.0, 0.0)))
        return fm.linearize(model, start=fm.statics(model, steady=True))

    assert shaft((500.0, 500.0)).steady
    assert not shaft((500.0, 700.0)).steady


def test_universal_file_for_modal_programs(tmp_path: Path) -> None:
    """Read back by pyuff: two outputs at two places, one input, complex receptances at uneven
    frequencies.
    """
    pyuff = pytest.importorskip("pyuff")
    model = two_masses()[0]
    places = [("position", name, "x") for name in ("first", "second")]
    found = fm.linearize(model, inputs=[("force", "second", "x")], outputs=places).response(
        np.geomspace(0.1, 5.0, 50)
    )
    found.to_uff(tmp_path / "response.uff")
    with pytest.raises(fm.MachineError, match="cannot be written"):
        found.to_uff(tmp_path / "no folder" / "response.uff")
    units, *read = pyuff.UFF(str(tmp_path / "response.uff")).read_sets()
    assert (units["type"], units["units_code"]) == (164, 1)
    assert [each["id1"].strip() for each in read] == [
        f"position {name} x / force second x" for name in ("first", "second")
    ]
    for o, each in enumerate(read):
        assert (each["func_type"], each["abscissa_spec_data_type"]) == (4, 18)
        assert (each["rsp_node"], each["rsp_dir"], each["ref_node"], each["ref_dir"]) == (
            o + 1,
            1,
            2,
            1,
        )
        assert (
            each["ordinate_axis_units_lab"].strip(),
            each["orddenom_axis_units_lab"].strip(),
        ) == ("m", "N")
        np.testing.assert_array_equal(each["x"], found.f)
        np.testing.assert_array_equal(each["data"], found.values[:, o, 0])
