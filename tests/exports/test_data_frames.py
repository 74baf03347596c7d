"""Data frames, datasets and MAT-files hold the arrays of the views, with names and units; read back
by their own programs.
"""

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.io
from machines import machine

import flexmbs as fm
from flexmbs.exports.labelled import labelled
from flexmbs.results.channels import channels, coordinate_units


def test_data_frame_has_channels_with_units_over_the_times() -> None:
    pytest.importorskip("pandas")
    solution = machine()
    frame = solution.to_dataframe()
    np.testing.assert_array_equal(frame.index, solution.t)
    assert frame.index.name == "t [s]"
    np.testing.assert_array_equal(
        frame["frame arm/tip acceleration z [m/s2]"], solution.frame("arm/tip").acceleration[:, 2]
    )
    np.testing.assert_array_equal(
        frame["joint arm.0 velocity [rad/s]"], solution.joint("arm").velocity[:, 0]
    )
    np.testing.assert_array_equal(
        frame["joint rail.0 effort [N]"], solution.joint("rail").effort[:, 0]
    )
    np.testing.assert_array_equal(
        frame["joint socket.3 position"], solution.joint("socket").position[:, 3]
    )
    np.testing.assert_array_equal(frame["drive motor torque [N m]"], solution.drive("motor").torque)
    np.testing.assert_array_equal(frame["energy total [J]"], solution.energy.total)
    assert frame.attrs["units"]["joint socket.2 acceleration [rad/s2]"] == "rad/s²"
    assert frame.columns.is_unique
    assert next(iter(solution.to_dataframe("energy").columns)) == "energy kinetic [J]"
    with pytest.raises(
        fm.InputError, match="tables: 'frame' is not a table; did you mean 'frames'"
    ):
        solution.to_dataframe(["frame"])


def test_dataset_selects_by_names() -> None:
    pytest.importorskip("xarray")
    solution = machine()
    data = solution.to_xarray()
    tip = data.frame_position.sel(frame="arm/tip", axis="z")
    np.testing.assert_array_equal(tip, solution.frame("arm/tip").position[:, 2])
    assert (tip.attrs["units"], data.time.attrs["units"]) == ("m", "s")
    np.testing.assert_array_equal(
        data.joint_velocity.sel(freedom="socket.1"), solution.joint("socket").velocity[:, 1]
    )
    units = dict(zip(data.freedom.values.tolist(), data.freedom_unit.values.tolist()))
    assert units == {
        "arm.0": "rad",
        "socket.0": "rad",
        "socket.1": "rad",
        "socket.2": "rad",
        "rail.0": "m",
    }
    np.testing.assert_array_equal(
        data.joint_force.sel(joint="socket"), solution.joint("socket").force
    )
    np.testing.assert_allclose(
        data.energy_total, data.energy_kinetic + data.energy_strain + data.energy_potential
    )
    half = data.frame_position.interp(time=0.0125).sel(frame="arm/tip")
    np.testing.assert_allclose(half, solution.frame("arm/tip").position[2:4].mean(axis=0))


def test_mat_file_is_read_back_with_its_names(tmp_path: Path) -> None:
    solution = machine()
    solution.to_mat(tmp_path / "machine.mat")
    found = scipy.io.loadmat(tmp_path / "machine.mat", simplify_cells=True)
    np.testing.assert_array_equal(found["t"], solution.t)
    tip = found["names"]["frame"].tolist().index("arm/tip")
    np.testing.assert_array_equal(
        found["frame_velocity"][:, tip], solution.frame("arm/tip").velocity
    )
    places = found["names"]["place"].tolist()
    np.testing.assert_array_equal(
        found["joint_position"][:, places.index("rail.0")], solution.joint("rail").position[:, 0]
    )
    assert found["units"]["place"].tolist() == ["rad", "1", "1", "1", "1", "m"]
    assert found["units"]["joint_force"] == "N"
    assert found["dims"]["joint_force"].tolist() == ["time", "joint", "axis"]
    assert found["model"] == "machine"
    other = tmp_path / "notes.mat"
    other.write_text("kept")
    with pytest.raises(fm.InputError, match="exists and is not"):
        solution.to_mat(other)
    assert other.read_text() == "kept"


def test_names_say_the_format(tmp_path: Path) -> None:
    """A file for ParaView named .vtu, say, is one that it cannot read."""
    solution = machine()
    for write, name in (
        (solution.to_mat, "run.csv"),
        (solution.to_vtkhdf, "run.vtu"),
        (solution.to_gltf, "run.obj"),
    ):
        with pytest.raises(fm.InputError, match=rf"{name}: must end with .*, not '{name[3:]}'"):
            write(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_csv_tables_are_those_of_the_command_line(tmp_path: Path) -> None:
    written = machine().to_csv(tmp_path / "new" / "folder")
    assert [path.name for path in written] == [
        "bodies.csv",
        "frames.csv",
        "joints.csv",
        "drives.csv",
        "forces.csv",
        "energy.csv",
    ]
    heading = written[2].read_text().splitlines()[0].split(",")
    assert heading[:4] == [
        "t [s]",
        "arm.0 position [rad]",
        "arm.0 velocity [rad/s]",
        "arm.0 acceleration [rad/s2]",
    ]


@pytest.mark.parametrize("package, method", [("pandas", "to_dataframe"), ("xarray", "to_xarray")])
def test_a_missing_package_is_named(
    package: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        fm.MachineError, match=rf"^{method}: needs {package}; install it: pip install {package}$"
    ):
        getattr(machine(), method)()


def test_channels_become_signals() -> None:
    solution = machine()
    found = solution.signal("frame arm/tip acceleration z")
    np.testing.assert_array_equal(found.values, solution.frame("arm/tip").acceleration[:, 2])
    assert (found.unit, found.rate) == ("m/s²", pytest.approx(200.0))
    np.testing.assert_array_equal(
        solution.signal("drive motor torque [N m]").values, solution.drive("motor").torque
    )
    with pytest.raises(
        fm.InputError,
        match=r"signal: 'drive motor torqe' is not in .*; did you mean 'drive motor torque'",
    ):
        solution.signal("drive motor torqe")


UNITS = {
    fm.Fixed: ([], []),
    fm.Revolute: (["rad"], ["rad"]),
    fm.Prismatic: (["m"], ["m"]),
    fm.Cylindrical: (["m", "rad"],) * 2,
    fm.Universal: (["rad", "rad"],) * 2,
    fm.Planar: (["m", "m", "rad"],) * 2,
    fm.Screw: (["rad"], ["rad"]),
    fm.Spherical: ([""] * 4, ["rad"] * 3),
    fm.Translation: (["m"] * 3,) * 2,
    fm.Free: (["m"] * 3 + [""] * 4, ["m"] * 3 + ["rad"] * 3),
}


@pytest.mark.parametrize("coordinates", ["joint", "absolute", "rheonomic"])
@pytest.mark.parametrize("kind", UNITS, ids=lambda kind: kind.__name__)
def test_every_coordinate_has_its_unit(kind: type, coordinates: str) -> None:
    """Also of joints declared from the other body, cut or driven."""
    model = fm.Model("joint", gravity=(0.0, 0.0, 0.0))
    first, second = (
        model.add(fm.RigidBody(name, mass=1.0, inertia=(0.1, 0.2, 0.3)))
        for name in ("first", "second")
    )
    given = {"pitch": 0.1} if kind is fm.Screw else {}
    model.add(kind("one", model.ground, first, **given))
    model.add(kind("other", second, first, **given))
    if kind in (fm.Revolute, fm.Prismatic, fm.Planar):
        model.add(fm.Drive("motor", "one", fm.Ramp(0.0, 1.0)))
    elif coordinates == "rheonomic":
        pytest.skip("no drive")
    solution = fm.simulate(model, t_end=0.01, step=5e-3, coordinates=coordinates)
    places, rates = UNITS[kind]
    for name in ("one", "other"):
        view = solution.joint(name)
        assert (view.position.shape[1], view.velocity.shape[1], view.effort.shape[1]) == (
            len(places),
            len(rates),
            len(rates),
        )
        assert coordinate_units(solution, name) == (places, rates)
    assert {each.name for each in channels(solution)["joints"]} >= {
        f"one.{k} position" for k in range(len(places))
    }
    assert labelled(solution)["joint_force"].values.shape == (3, 2, 3)
