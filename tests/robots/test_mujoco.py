"""MJCF files against MuJoCo itself: mass matrix, forces and accelerations at random states, to
round-off.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.robots.import_result import ImportedModel
from flexmbs.robots.mjcf.build import from_mujoco_coordinates
from flexmbs.robots.mjcf.values import quaternion_rotation
from flexmbs.studies.states.tangent import dense
from flexmbs.system.names import velocity_names

mujoco = pytest.importorskip("mujoco")
KINDS = ("free", "ball", "slide", "hinge")
SOFT = "ignore:.*left out:flexmbs.ModelWarning"
pytestmark = pytest.mark.filterwarnings(SOFT)

INERTIAS = """
<mujoco model="inertias"><compiler angle="radian" eulerseq="zYx" boundinertia="1e-4"/>
<default><geom density="500"/><default class="heavy"><geom density="7800" group="2"/></default></default>
<worldbody>
  <body name="a" pos="0.1 0.2 0.3" euler="0.3 -0.4 0.5"><joint name="a" axis="1 2 3" pos="0.1 -0.2 0.05" armature="0.3"/>
    <geom type="box" size=".1 .2 .05" pos="0.1 0 0.2" axisangle="1 1 0 0.7"/>
    <geom type="capsule" fromto="0 0 0 0.2 0.1 -0.3" size="0.03" class="heavy"/>
    <body name="b" pos="0 0 -0.4" xyaxes="1 0.2 0 -0.1 1 0.3"><joint name="b1" type="slide" axis="0 1 1" ref="0.2"/>
      <joint name="b2" axis="0 1 0" pos="0 0.1 0" ref="0.4" stiffness="5" springref="0.1" damping="0.3"/>
      <geom type="ellipsoid" size=".1 .2 .15" mass="1.5" zaxis="1 1 1"/><geom type="cylinder" size=".05 .2" pos="0 .1 0"/>
      <body name="c" pos="0.3 0 0"><joint name="c" type="ball" pos="0 0 0.1" stiffness="2" damping="0.1"/>
        <inertial pos="0.01 0.02 0" mass="2" fullinertia="0.02 0.03 0.025 0.001 -0.002 0.003"/><geom type="sphere" size="0.4"/>
        <body name="shelf" pos="0 0.3 0" gravcomp="0.5"><geom type="sphere" size="0.1"/><site name="edge" pos="0.1 0 0"/></body>
      </body></body></body>
  <frame pos="1 0 0" euler="0 0 0.4"><body name="d" pos="0 1 0" quat="1 2 3 4"><freejoint name="d"/>
    <inertial pos="0 0.1 0" mass="3" diaginertia="0.1 0.2 0.25" euler="0.1 0.2 0.3"/>
    <frame pos="0.1 0 0" zaxis="1 0 0"><body name="e"><joint name="e" axis="0 1 0" pos="0.2 0 0" stiffness="1"/>
      <geom type="box" fromto="0 0 0 0.3 0.2 0.1" size="0.02"/></body></frame></body></frame>
</worldbody></mujoco>"""

ACTUATORS = """
<mujoco model="actuators"><default><position kp="30" kv="2"/><joint damping="0.1"/></default>
<worldbody><body name="a"><joint name="a" axis="0 1 0" ref="20"/><geom size=".1" pos="0 0 -.5" density="2000"/>
  <body name="b" pos="0 0 -1"><joint name="b" axis="0 1 0"/><geom size=".1" pos=".2 0 -.5"/>
  <site name="tip" pos="0 .1 -.5" euler="20 30 40"/>
  <body name="c" pos="0 0 -1"><joint name="c" type="slide" axis="0 0 1"/><geom type="box" size=".1 .1 .1"/>
  </body></body></body></worldbody>
<tendon><fixed name="both" stiffness="3" damping="0.2"><joint joint="a" coef="2"/><joint joint="b" coef="-1"/></fixed></tendon>
<actuator><motor name="m" joint="a" gear="3" ctrlrange="-1 1"/><position name="p" joint="b" gear="-2" forcerange="-20 25"/>
  <velocity name="v" joint="c" kv="4"/>
  <general name="g" joint="a" gainprm="5 0 0" biastype="affine" biasprm="1 -2 -3" gear="1.5"/>
  <motor name="t" tendon="both" gear="2"/><position name="u" tendon="both" kp="11" kv="0.7" gear="-1.5" forcerange="-3 4"/>
  <motor name="s" site="tip" gear="1 2 3 .1 .2 .3"/><damper name="d" joint="b" kv="2" ctrlrange="0 3"/>
  <general name="lag" joint="c" dyntype="filter" dynprm="0.1" gainprm="7"/></actuator>
</mujoco>"""

LOOPS = """
<mujoco model="loops"><compiler angle="radian"/><option gravity="1 2 -9"/>
<default><geom type="capsule" size=".03"/><equality solref="0.01 1"/></default>
<worldbody><body name="crank"><joint name="crank" axis="0 1 0"/><geom fromto="0 0 0 .2 0 .1"/>
    <body name="rod" pos=".2 0 .1"><joint name="pin" axis="0 1 0"/><geom fromto="0 0 0 .6 0 -.1"/></body></body>
  <body name="slider" pos=".8 0 0"><joint name="guide" type="slide" axis="1 0 0"/><geom type="sphere" size=".1"/>
    <site name="eye" euler="0.1 0 0"/></body>
  <body name="one" pos="0 1 0"><joint name="one" axis="0 1 0" ref="0.3"/><geom fromto="0 0 0 .2 0 .1"/></body>
  <body name="two" pos="0 2 0"><joint name="two" axis="0 1 0"/><geom fromto="0 0 0 .3 0 .1"/></body>
  <body name="three" pos="0 3 0"><joint name="three" axis="0 1 0"/><geom fromto="0 0 0 .3 0 .1"/></body>
  <body name="float" pos="1 3 0"><freejoint name="float"/><geom fromto="0 0 0 .3 0 .1"/></body>
</worldbody>
<tendon><fixed name="sum"><joint joint="two" coef="2"/><joint joint="three" coef="1"/></fixed></tendon>
<equality><connect name="close" body1="rod" body2="slider" anchor=".6 0 -.1"/>
  <joint name="gear" joint1="one" joint2="two" polycoef="0 -2 0 0 0"/>
  <weld name="glue" body1="float" body2="three"/><tendon name="belt" tendon1="sum" polycoef="0"/>
  <joint name="off" joint1="three" active="false"/></equality></mujoco>"""


def written(folder: Path, text: str) -> Path:
    file = folder / "model.xml"
    file.write_text(text)
    return file


class Both:
    """A file in MuJoCo and here."""

    def __init__(self, file: Path, **options: Any) -> None:
        self.found: ImportedModel = fm.from_mujoco(file, **options)
        self.model = mujoco.MjModel.from_xml_path(str(file))
        self.data = mujoco.MjData(self.model)

    def values(self, position: bool) -> dict[str, list[float]]:
        """Coordinates or velocities by joint."""
        out: dict[str, list[float]] = {}
        for j in range(self.model.njnt):
            kind, a, d = (
                KINDS[self.model.jnt_type[j]],
                self.model.jnt_qposadr[j],
                self.model.jnt_dofadr[j],
            )
            nq, nv = {"free": (7, 6), "ball": (4, 3)}.get(kind, (1, 1))
            ref = self.model.qpos0[a] if nq == 1 else 0.0
            both = from_mujoco_coordinates(
                kind, ref, self.data.qpos[a : a + nq], self.data.qvel[d : d + nv]
            )
            use = self.found.joints[mujoco.mj_id2name(self.model, mujoco.mjtObj.mjOBJ_JOINT, j)]
            out.setdefault(use.joint, []).extend(both[0 if position else 1])
        return out

    def state(self) -> Any:
        return fm.state(self.found.model, position=self.values(True), velocity=self.values(False))

    def velocity_map(self, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """T and Ṫ qvel of s = T qvel: a free joint has its velocity in world axes in MuJoCo."""
        n, T = self.model.nv, np.zeros((self.model.nv, self.model.nv))
        rate = np.zeros(n)
        for j in range(self.model.njnt):
            use = self.found.joints[mujoco.mj_id2name(self.model, mujoco.mjtObj.mjOBJ_JOINT, j)]
            d, kind = self.model.jnt_dofadr[j], KINDS[self.model.jnt_type[j]]
            count = {"free": 6, "ball": 3}.get(kind, 1)
            rows = [names.index(f"{use.joint}.{use.coordinate + k}") for k in range(count)]
            T[rows, range(d, d + count)] = 1.0
            if kind == "free":
                a = self.model.jnt_qposadr[j]
                R = quaternion_rotation(self.data.qpos[a + 3 : a + 7])
                T[np.ix_(rows[:3], range(d, d + 3))] = R.T
                rate[rows[:3]] = -np.cross(
                    self.data.qvel[d + 3 : d + 6], R.T @ self.data.qvel[d : d + 3]
                )
        return T, rate

    def mass_matrix(self) -> np.ndarray:
        M = np.zeros((self.model.nv, self.model.nv))
        for k, unit in enumerate(np.eye(self.model.nv)):
            mujoco.mj_mulM(self.model, self.data, M[k], unit)
        return M


def random_state(both: Both, rng: np.random.Generator) -> None:
    both.data.qpos[:] = both.model.qpos0
    mujoco.mj_integratePos(both.model, both.data.qpos, 0.5 * rng.normal(size=both.model.nv), 1.0)
    both.data.qvel[:] = rng.normal(size=both.model.nv)


def assert_same(both: Both) -> None:
    """M, M q̈ and q̈ in the coordinates of MuJoCo."""
    mujoco.mj_forward(both.model, both.data)
    here = both.state()
    known = dense(here)
    T, rate = both.velocity_map(list(velocity_names(here.compiled)))
    M = both.mass_matrix()
    np.testing.assert_allclose(T.T @ known.M @ T, M, atol=1e-12 * np.abs(M).max())
    parts = both.data.qfrc_passive, both.data.qfrc_actuator, both.data.qfrc_bias
    size = max(float(np.abs(part).max()) for part in parts) + float(np.abs(M).max())
    wanted = parts[0] + parts[1] - parts[2]
    np.testing.assert_allclose(T.T @ (known.k - known.M @ rate), wanted, atol=1e-11 * size)
    far = 1e-13 * np.linalg.cond(M) * size / np.abs(M).max()
    np.testing.assert_allclose(
        np.linalg.solve(T, here.sd - rate), both.data.qacc, rtol=1e-8, atol=far
    )


@pytest.mark.parametrize("seed", range(4))
def test_inertias_frames_and_joints_of_every_kind(tmp_path: Path, seed: int) -> None:
    both = Both(
        written(tmp_path, INERTIAS.replace("<geom", '<geom contype="0" conaffinity="0"', 1))
    )
    both.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    random_state(both, np.random.default_rng(seed))
    assert_same(both)


def test_places_of_bodies_and_sites_are_those_of_mujoco(tmp_path: Path) -> None:
    both = Both(written(tmp_path, INERTIAS))
    random_state(both, np.random.default_rng(7))
    mujoco.mj_forward(both.model, both.data)
    model, velocity = both.found.model, both.values(False)
    for name, q in both.values(True).items():
        model.joints[name] = replace(model.joints[name], q0=tuple(q), v0=tuple(velocity[name]))
    solution = fm.simulate(model, t_end=1e-6, step=1e-6)
    where = {each: both.data.body(each).xpos for each in ("a", "b", "c", "d", "e", "shelf")} | {
        "edge": both.data.site("edge").xpos
    }
    for name, wanted in where.items():
        np.testing.assert_allclose(
            solution.frame(str(both.found.frames[name])).position[0], wanted, atol=1e-12
        )


@pytest.mark.parametrize("seed", range(3))
def test_actuators_with_ranges_gears_and_lags(tmp_path: Path, seed: int) -> None:
    file = written(tmp_path, ACTUATORS)
    commands = {"m": 1.7, "p": 0.8, "v": -0.5, "g": 0.6, "t": 1.1, "s": 2.0, "d": 1.4}
    both = Both(file, commands=commands)
    assert not [note for note in both.found.notes if "actuator" in note]
    both.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    random_state(both, np.random.default_rng(seed))
    for name, value in commands.items():
        both.data.ctrl[mujoco.mj_name2id(both.model, mujoco.mjtObj.mjOBJ_ACTUATOR, name)] = value
    assert_same(both)


def test_a_lag_follows_its_command(tmp_path: Path) -> None:
    """F = g (1 − exp(−t/T)) on a mass m: m v = g (t − T (1 − exp(−t/T)))."""
    text = """<mujoco><worldbody><body><joint name="x" type="slide" axis="1 0 0"/><geom size=".1" mass="2"/></body></worldbody>
      <actuator><general joint="x" dyntype="filterexact" dynprm="0.1" gainprm="7"/></actuator></mujoco>"""
    found = fm.from_mujoco(written(tmp_path, text), commands={"actuator 1": 1.0})
    solution = fm.simulate(found.model, t_end=0.5, rtol=1e-10, atol=1e-12)
    wanted = 7.0 * (0.5 - 0.1 * (1.0 - np.exp(-5.0))) / 2.0
    np.testing.assert_allclose(solution.joint("x").velocity[-1], wanted, rtol=1e-7)


def test_equalities_hold_exactly(tmp_path: Path) -> None:
    """From rest, against M, forces and constraint rows of MuJoCo: M q̈ = f + Jᵀλ, J q̈ = 0."""
    both = Both(written(tmp_path, LOOPS))
    both.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    mujoco.mj_forward(both.model, both.data)
    here = both.state()
    J = both.data.efc_J.reshape(-1, both.model.nv)
    M, n = both.mass_matrix(), both.model.nv
    matrix = np.block([[M, J.T], [J, np.zeros((len(J), len(J)))]])
    force = both.data.qfrc_passive - both.data.qfrc_bias
    wanted = np.linalg.lstsq(matrix, np.concatenate([force, np.zeros(len(J))]), rcond=1e-13)[0][:n]
    T, _ = both.velocity_map(list(velocity_names(here.compiled)))
    np.testing.assert_allclose(
        np.linalg.solve(T, here.sd), wanted, atol=1e-9 * np.abs(wanted).max()
    )
    assert both.found.model.cuts == ("close", "glue")


def test_a_curved_coupling_of_joints(tmp_path: Path) -> None:
    text = """<mujoco><worldbody><body><joint name="one" axis="0 1 0" ref="20"/><geom size=".1"/></body>
      <body><joint name="two" axis="0 1 0"/><geom size=".1"/></body></worldbody>
      <equality><joint joint1="one" joint2="two" polycoef=".1 -2 .3 .1 0"/></equality></mujoco>"""
    found = fm.from_mujoco(written(tmp_path, text))
    one, two = fm.state(found.model, position={"two": 0.4}).q
    assert two == pytest.approx(0.4)
    assert one == pytest.approx(0.1 - 2 * two + 0.3 * two**2 + 0.1 * two**3, abs=1e-12)


def test_keyframes_and_limits(tmp_path: Path) -> None:
    text = ACTUATORS.replace(
        "</mujoco>",
        """<keyframe><key name="up" qpos="1 .2 .3" qvel="1 2 3" ctrl=".5 .1 0 0 0 0 0"/></keyframe></mujoco>""",
    )
    text = text.replace('name="b" axis', 'name="b" range="-10 30" axis')
    found = fm.from_mujoco(written(tmp_path, text), keyframe="up", limits=True)
    assert found.model.joints["a"].q0 == pytest.approx((1.0 - np.radians(20.0),))
    assert found.model.joints["c"].v0 == (3.0,)
    assert found.model.forces["m"].law.command == fm.Constant(0.5)
    assert found.limits["b"] == pytest.approx(tuple(np.radians((-10.0, 30.0))))
    assert found.model.contacts["b"].upper == pytest.approx(np.radians(30.0))
    with pytest.raises(fm.InputError, match="keyframe: no 'down'; the file has: up"):
        fm.from_mujoco(written(tmp_path, text), keyframe="down")


def test_included_files_and_nested_classes(tmp_path: Path) -> None:
    (tmp_path / "classes.xml").write_text(
        '<mujocoinclude><default><default class="arm"><joint damping="1" axis="0 1 '
        '0"/><default class="wrist">'
        '<joint damping="3"/></default></default></default></mujocoinclude>'
    )
    text = """<mujoco><include file="classes.xml"/><worldbody><body name="a" childclass="arm"><joint name="one"/><geom size=".1"/>
      <body name="b"><joint name="two" class="wrist"/><geom size=".1"/></body></body></worldbody></mujoco>"""
    model = fm.from_mujoco(written(tmp_path, text)).model
    assert (model.forces["one"].c, model.forces["two"].c) == (1.0, 3.0)
    assert model.joints["two"].axis == (0.0, 1.0, 0.0)


BODY = '<body name="b"><joint name="j"/><geom size=".1"/></body>'
WRONG = {
    "the root element must be <mujoco>": ("<robot/>", ""),
    "no default class 'x'; known: main": ('<geom class="x"/>', ""),
    "<joint 'j'>.axis: must be 3 numbers, not '1 0'": (
        BODY.replace('name="j"', 'name="j" axis="1 0"'),
        "",
    ),
    "<joint 'j'>.type: 'screw' is unknown": (BODY.replace('name="j"', 'name="j" type="screw"'), ""),
    "<replicate> is not read": ('<replicate count="3"/>', ""),
    "<geom>.mesh: 'm' is not a mesh of a file": (
        BODY.replace("size", 'type="mesh" mesh="m" size'),
        "",
    ),
    "a sphere needs 1 number > 0": (BODY.replace('size=".1"', 'size="0"'), ""),
    "body 'b' is defined twice": (BODY + BODY.replace('"j"', '"k"'), ""),
    "is not inside the file's folder": ("", '<include file="../other.xml"/>'),
    "<compiler>.angle: must be degree or radian, not 'gradian'": (
        BODY,
        '<compiler angle="gradian"/>',
    ),
    "<body 'b'>.euler: the orientation is already given by quat": (
        BODY.replace("<body", '<body euler="0 0 9" quat="1 0 0 0"'),
        "",
    ),
    "<joint 'j'>.type: a preceding ball joint already rotates": (
        BODY.replace("<joint", '<joint type="ball"/><joint'),
        "",
    ),
    "size: must be within ±1e+60, not '1e300'": (BODY.replace('size=".1"', 'size="1e300"'), ""),
    "<motor 'a'>.ctrlrange: its first number must be below the second, not 1 -1": (
        BODY,
        '<actuator><motor name="a" joint="j" ctrllimited="true" ctrlrange="1 -1"/></actuator>',
    ),
    "site1 and site2: both must be sites": (
        BODY,
        '<equality><weld site1="x" site2="y"/></equality>',
    ),
}


@pytest.mark.parametrize("message", WRONG)
def test_what_cannot_be_read_is_named(tmp_path: Path, message: str) -> None:
    bodies, more = WRONG[message]
    text = (
        bodies
        if bodies == "<robot/>"
        else f"<mujoco><worldbody>{bodies}</worldbody>{more}</mujoco>"
    )
    with pytest.raises(fm.InputError) as error:
        fm.from_mujoco(written(tmp_path, text))
    assert message in str(error.value)


def test_what_is_left_out_is_named(tmp_path: Path) -> None:
    more = """<default><velocity damping="0.2"/></default>
      <tendon><spatial name="rope"><site site="s"/><site site="s"/></spatial></tendon><option density="1.2"/>
      <actuator><muscle name="biceps" joint="j"/><general name="i" joint="j" dyntype="integrator"/>
      <motor name="damped" joint="j"/></actuator>"""
    text = f'<mujoco><worldbody><geom size="1"/><site name="s"/>{BODY}</worldbody>{more}</mujoco>'
    with pytest.warns(
        fm.ModelWarning, match="left out: spatial tendon 'rope'; actuator 'biceps' is a muscle"
    ):
        found = fm.from_mujoco(written(tmp_path, text))
    assert len(found.notes) == 6
    assert "actuator 'damped' has damping" in found.notes
    with pytest.raises(fm.InputError, match=r"left out: forces of a fluid \(option density\)"):
        fm.from_mujoco(written(tmp_path, text), strict=True)
    with pytest.raises(
        fm.InputError, match="commands: no actuator 'triceps'; did you mean 'biceps'"
    ):
        fm.from_mujoco(written(tmp_path, text), commands={"triceps": 1.0})
