"""The file of a solution: round trip, atomic writing, hostile files."""

import json
import re
from pathlib import Path

import h5py
import numpy as np
import pytest
from hdf5_edits import open_unverified
from runs import MASS, G, driven_rod

import flexmbs as fm
from flexmbs.api.solution import Solution


@pytest.fixture(scope="module")
def solution() -> Solution:
    return fm.simulate(driven_rod(2.0), t_end=0.05, step=0.01)


@pytest.fixture
def file(solution: Solution, tmp_path: Path) -> Path:
    solution.save(tmp_path / "rod.h5")
    return tmp_path / "rod.h5"


def flexible_pendulum(*, rate: float = 0.0) -> fm.Model:
    """Beam of one bending mode (100 rad/s), data in memory, with a force from a function that has
    no name in a module.
    """
    nf = 1
    shapes = np.zeros((3, 3, nf))
    shapes[0, 2, 0] = 0.2
    SS = np.zeros((3, 3, nf, nf))
    SS[2, 2] = 0.4
    tip = fm.FlexibleFrame.at_node((1.0, 0, 0), [[0.0], [0.0], [1.5]], psi=[[0.0], [-2.0], [0.0]])
    hub = fm.FlexibleFrame.at_node((0.0, 0, 0), np.zeros((3, nf)))
    data = fm.FlexibleBodyData.from_integrals(
        "beam",
        mass=1.0,
        first_moment=(0.5, 0, 0),
        second_moment=np.diag([1 / 3, 1e-4, 1e-4]),
        S_bar=[[0.0], [0.0], [0.3]],
        xS=shapes,
        SS=SS,
        K_ff=[[4000.0]],
        D_ff=[[2.0]],
        frames={"hub": hub, "tip": tip},
    )
    model = fm.Model("beam", gravity=(0, 0, -9.81))
    beam = model.add(fm.FlexibleBody("beam", data=data, qf_dot0=(rate,)))
    model.add(fm.Revolute("hinge", model.ground, beam["hub"], axis="y"))
    model.add(fm.FrameForce("push", beam["tip"], force=(0, 0, lambda t: 3.0 * t)))
    return model


def test_round_trip(solution: Solution, file: Path) -> None:
    read = Solution.load(file)
    for name in solution.trajectory._fields:
        np.testing.assert_array_equal(
            getattr(read.trajectory, name), getattr(solution.trajectory, name)
        )
    np.testing.assert_array_equal(read.joint("hinge").wrench, solution.joint("hinge").wrench)
    np.testing.assert_array_equal(
        read.frame("rod/tip").acceleration, solution.frame("rod/tip").acceleration
    )
    np.testing.assert_array_equal(read.drive("motor").power, solution.drive("motor").power)
    assert read.run.options == solution.run.options
    assert read.statistics == solution.statistics
    assert read.model_text == solution.model_text


def test_flexible_bodies_and_functions_need_no_other_file(tmp_path: Path) -> None:
    solution = fm.simulate(flexible_pendulum(), t_end=0.05, step=0.005)
    solution.save(tmp_path / "beam.h5")
    read = Solution.load(tmp_path / "beam.h5")
    assert "<function" in read.model_text
    np.testing.assert_array_equal(
        read.frame("beam/tip").velocity, solution.frame("beam/tip").velocity
    )
    np.testing.assert_array_equal(read.joint("hinge").force, solution.joint("hinge").force)
    np.testing.assert_array_equal(read.energy.strain, solution.energy.strain)
    assert read.energy.strain.max() > 0.0
    assert read.compiled.data["beam"].digest == solution.compiled.data["beam"].digest
    read.save(tmp_path / "again.h5")
    np.testing.assert_array_equal(
        Solution.load(tmp_path / "again.h5").joint("hinge").torque, solution.joint("hinge").torque
    )


def test_flexible_frame_moves_as_its_positions_do(tmp_path: Path) -> None:
    """Velocity and acceleration of a frame that moves with a mode are the derivatives of its
    position.
    """
    solution = fm.simulate(
        flexible_pendulum(rate=2.0), t_end=0.02, step=1e-4, integrator="dormand-prince"
    )
    tip = solution.frame("beam/tip")
    h = solution.t[1]
    np.testing.assert_allclose(
        (tip.position[2:] - tip.position[:-2]) / (2 * h), tip.velocity[1:-1], atol=1e-4
    )
    second = (tip.position[2:] - 2 * tip.position[1:-1] + tip.position[:-2]) / h**2
    np.testing.assert_allclose(second, tip.acceleration[1:-1], atol=6e-3)
    rest = solution.body("beam")
    assert np.abs(rest.elastic).max() > 0.01
    np.testing.assert_allclose(
        (rest.elastic[2:] - rest.elastic[:-2]) / (2 * h), rest.elastic_rate[1:-1], atol=1e-4
    )


def test_full_disk_leaves_the_old_file(
    solution: Solution, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = file.read_bytes()

    def full(*args: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(h5py.Group, "create_dataset", full)
    with pytest.raises(fm.MachineError, match="No space left on device") as error:
        solution.save(file)
    assert error.value.exit_code == 4
    assert file.read_bytes() == old
    assert [entry.name for entry in file.parent.iterdir()] == [file.name]


def replace(file: h5py.File, item: str, values: object) -> None:
    del file[item]
    file[item] = values


def external(file: h5py.File) -> None:
    del file["trajectory/q"]
    file["trajectory/q"] = h5py.ExternalLink("/etc/passwd", "q")


def record(file: h5py.File, **changes: object) -> None:
    known = json.loads(bytes(file["run"][()]))
    text = json.dumps({key: value for key, value in (known | changes).items() if value is not None})
    replace(file, "run", np.frombuffer(text.encode(), np.uint8))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: f.__delitem__("joints/lam"), "joints/lam: is missing"),
        (lambda f: f.__setitem__("extra", np.zeros(3)), "extra: is unknown to flexmbs-solution/1"),
        (external, "trajectory/q: is a soft or external link"),
        (
            lambda f: replace(f, "trajectory/q", np.zeros((6, 9))),
            r"trajectory/q: has shape \(6, 9\); the model needs \(6, 1\)",
        ),
        (
            lambda f: replace(f, "trajectory/q", np.zeros((6, 1), "f4")),
            "trajectory/q: has type float32; it must hold",
        ),
        (
            lambda f: replace(f, "trajectory/t", np.arange(6.0)[::-1].copy()),
            "trajectory/t: the times must increase",
        ),
        (
            lambda f: replace(f, "run", np.frombuffer(b"[" * 99_999, np.uint8)),
            "run: is not the record of a run",
        ),
        (lambda f: record(f, statistics=None), "run: 'statistics' is missing or damaged"),
        (lambda f: record(f, coordinates="polar"), "coordinates: no 'polar'"),
        (
            lambda f: replace(f, "model", np.frombuffer(b"[" * 99_999, np.uint8)),
            "model:1: nested deeper than",
        ),
        (
            lambda f: f.attrs.__setitem__("format", np.bytes_("flexmbs-solution/9")),
            "this version reads 'flexmbs-solution/1'",
        ),
    ],
)
def test_damaged_files_are_rejected(file: Path, damage: object, message: str) -> None:
    with open_unverified(file) as opened:
        damage(opened)  # type: ignore[operator]
    with pytest.raises(fm.InputError, match=message) as error:
        Solution.load(file)
    assert all(problem.startswith(str(file)) for problem in error.value.problems)


@pytest.mark.parametrize("content", [b"", b"t,x\n0,1\n", b"\x89HDF\r\n\x1a\n" + b"\0" * 100])
def test_other_files_are_rejected(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.h5").write_bytes(content)
    with pytest.raises(fm.InputError, match=r"x\.h5"):
        Solution.load(tmp_path / "x.h5")


def test_text_of_the_model_never_runs_code(file: Path) -> None:
    """A function named in the text of a solution is not imported when it is read."""
    with open_unverified(file) as opened:
        text = bytes(opened["model"][()]).decode()
        text += (
            '\n[forces.f]\nkind = "user-force"\nframe = "rod/tip"\nfunction = '
            '"antigravity:geohash"\n'
        )
        text += (
            '\n[forces.g]\nkind = "frame-force"\nframe = "rod/tip"\nforce = [0.0, 0.0, '
            '"antigravity:geohash"]\n'
        )
        text = text.replace("motion = {", 'motion = "antigravity:geohash"  # {')
        assert text.count("antigravity") == 3
        replace(opened, "model", np.frombuffer(text.encode(), np.uint8))
    import sys

    Solution.load(file)
    assert "antigravity" not in sys.modules


def test_user_constraints_never_run_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither does the function of a constraint, and solutions of unnamed ones load as well."""
    model = fm.Model("bead")
    model.add(fm.RigidBody("bead", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    model.add(fm.Translation("anywhere", model.ground, "bead", q0=(0.3, 0, 0.4)))
    model.add(
        fm.Holonomic(
            "rod", model.ground, "bead", lambda t, x, A: x[0] ** 2 + x[1] ** 2 + x[2] ** 2 - 0.25
        )
    )
    solution = fm.simulate(model, t_end=0.02, step=0.01)
    solution.save(tmp_path / "bead.h5")
    read = Solution.load(tmp_path / "bead.h5")
    np.testing.assert_array_equal(read.joint("rod").force, solution.joint("rod").force)
    (tmp_path / "harmful_module.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w')\ndef g(t, x, A):\n    return 0.0\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with open_unverified(tmp_path / "bead.h5") as opened:
        text = re.sub('"<function[^"]*"', '"harmful_module:g"', bytes(opened["model"][()]).decode())
        assert "harmful_module" in text
        replace(opened, "model", np.frombuffer(text.encode(), np.uint8))
    np.testing.assert_array_equal(
        Solution.load(tmp_path / "bead.h5").joint("rod").force, solution.joint("rod").force
    )
    assert not (tmp_path / "ran").exists()


def test_weight_of_the_stored_rod(file: Path) -> None:
    force = Solution.load(file).joint("hinge").force
    assert force[0, 2] == pytest.approx(MASS * G, rel=1e-6)
