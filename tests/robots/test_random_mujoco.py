"""Random MJCF files, every pair of actuators, and every attribute of MuJoCo's schema: read, without
effect, or noted.
"""

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from draws import covering, drawn
from random_mjcf import ACTUATORS, RandomMjcf
from scipy.linalg import svd

import flexmbs as fm
from flexmbs.results.state import State
from flexmbs.robots.mjcf import attributes
from flexmbs.system.names import velocity_names

mujoco = pytest.importorskip("mujoco")

from test_mujoco import KINDS, Both, assert_same, random_state, written  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.*left out:flexmbs.ModelWarning")
SEEDS = range(40)


def compared(both: Both, commands: dict[str, float], seed: int) -> None:
    """The same accelerations, without constraints."""
    both.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    random_state(both, np.random.default_rng(seed))
    for name, value in commands.items():
        both.data.ctrl[mujoco.mj_name2id(both.model, mujoco.mjtObj.mjOBJ_ACTUATOR, name)] = value
    assert_same(both)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_files_move_as_in_mujoco_or_say_what_is_left_out(tmp_path: Path, seed: int) -> None:
    drawn = RandomMjcf(seed)
    file = written(tmp_path, drawn.text)
    try:
        mujoco.MjModel.from_xml_path(str(file))
    except ValueError as error:
        pytest.skip(f"MuJoCo does not take it: {error}")
    commands = {name: (-1.0) ** k * (0.4 + k) for k, name in enumerate(drawn.actuators)}
    both = Both(file, commands=commands)
    if not both.found.model.bodies or [note for note in both.found.notes if "actuator" in note]:
        return
    compared(both, commands, seed)


def assembled(both: Both) -> State:
    """The state in which the model here holds together, in MuJoCo too."""
    start = fm.simulate(both.found.model, t_end=1e-9, step=1e-9)
    both.data.qpos[:] = both.model.qpos0
    for j in range(both.model.njnt):
        a, use = (
            both.model.jnt_qposadr[j],
            both.found.joints[mujoco.mj_id2name(both.model, mujoco.mjtObj.mjOBJ_JOINT, j)],
        )
        count, first = {"free": 7, "ball": 4}.get(KINDS[both.model.jnt_type[j]], 1), 0
        motions, before = list(both.found.model.joints[use.joint].motions), 0
        while before < use.coordinate or not motions[0].nv:
            before, first = before + motions[0].nv, first + motions.pop(0).nq
        q = np.ravel(start.joint(use.joint).position[0])[first : first + count]
        both.data.qpos[a : a + count] = q + both.data.qpos[a] if count == 1 else q
    mujoco.mj_forward(both.model, both.data)
    return fm.state(both.found.model)


@pytest.mark.filterwarnings("ignore::flexmbs.AssemblyWarning", "ignore::flexmbs.AuditWarning")
@pytest.mark.parametrize("seed", drawn((1, 2, 3, 5, 6, 20, 78, 106, 115), 400))
def test_equalities_of_random_files_are_those_of_mujoco(tmp_path: Path, seed: int) -> None:
    """Where they hold here they do there, and accelerations from rest are those that keep MuJoCo's
    rows J: J q̈ = 0.
    """
    file = written(tmp_path, RandomMjcf(seed, closed=True).text)
    try:
        mujoco.MjModel.from_xml_path(str(file))
        both = Both(file)
    except (ValueError, fm.InputError) as error:
        pytest.skip(str(error))
    off = mujoco.mjtDisableBit
    both.model.opt.disableflags |= off.mjDSBL_CONTACT | off.mjDSBL_LIMIT
    known = [note for note in both.found.notes if not re.match("contacts between|limits of", note)]
    if known or not both.found.model.bodies or not both.model.neq:
        pytest.skip("nothing to compare")
    try:
        here = assembled(both)
    except fm.FlexmbsError as error:
        pytest.skip(f"does not close: {error}")
    n, M, rows = both.model.nv, both.mass_matrix(), both.data.ne
    assert np.abs(both.data.efc_pos[:rows]).max(initial=0.0) < 1e-7
    J = np.concatenate([both.data.efc_J.reshape(-1, n)[:rows], np.zeros((n, n))])
    _, size, Vt = svd(J)
    if ((size > 1e-10) & (size < 1e-3)).any() or np.linalg.cond(M) > 1e8:
        pytest.skip("nearly singular")
    Z, force = Vt[size < 1e-10].T, both.data.qfrc_passive - both.data.qfrc_bias
    wanted = Z @ np.linalg.solve(Z.T @ M @ Z, Z.T @ force)
    T, _ = both.velocity_map(list(velocity_names(here.compiled)))
    free = np.abs(np.linalg.solve(M, force)).max(initial=1e-3)
    np.testing.assert_allclose(np.linalg.solve(T, here.sd), wanted, rtol=1e-6, atol=1e-6 * free)


def test_passive_forces_are_all_disabled_with_springs_and_dampers(tmp_path: Path) -> None:
    for off in ("", 'spring="disable"', 'damper="disable"', 'spring="disable" damper="disable"'):
        text = f"""<mujoco><option><flag {off}/></option><worldbody><body gravcomp="0.7"><joint name="j" axis="0 1 0"
          stiffness="2" springref="9" damping="3"/><geom size=".1" pos=".3 0 .2"/></body></worldbody></mujoco>"""
        compared(Both(written(tmp_path, text)), {}, 0)


def test_most_random_files_are_compared(tmp_path: Path) -> None:
    taken = 0
    for seed in SEEDS:
        file = written(tmp_path, RandomMjcf(seed).text)
        try:
            mujoco.MjModel.from_xml_path(str(file))
        except ValueError:
            continue
        taken += bool(fm.from_mujoco(file).model.bodies)
    assert taken >= 25


GIVEN = {
    "general": 'gaintype="{gain}" gainprm="2 3 -4" biastype="affine" biasprm="5 6 -7" '
    'dyntype="{lag}" dynprm=".7"',
    "motor": "",
    "position": 'kp="3" kv="2" timeconst=".3"',
    "velocity": 'kv="5"',
    "damper": 'kv="6" ctrlrange="0 1"',
}
LAGS = {"none": 0, "filter": 2, "filterexact": 3}


@pytest.mark.parametrize(
    ("one", "other", "kind", "nested"),
    covering(product(ACTUATORS, ACTUATORS, ACTUATORS, [False, True])),
)
def test_actuators_take_from_defaults_of_other_kinds_what_they_do_in_mujoco(
    tmp_path: Path, one: str, other: str, kind: str, nested: bool
) -> None:
    gain, lag = ("fixed", "filterexact") if nested else ("affine", "none")
    first, second = (f"<{each} {GIVEN[each].format(gain=gain, lag=lag)}/>" for each in (one, other))
    inner = (
        f'{first}<default class="inner">{second}</default>'
        if nested
        else f'{first}{second}<default class="inner"/>'
    )
    bounds = 'ctrlrange="0 1"' if kind == "damper" else ""
    file = written(
        tmp_path,
        f"""<mujoco><default>{inner}</default><worldbody><body><joint name="j" axis="0 1 0"/><geom size=".1"/>
      </body></worldbody><actuator><{kind} name="a" joint="j" class="inner" {bounds}/></actuator></mujoco>""",
    )
    try:
        theirs = mujoco.MjModel.from_xml_path(str(file))
    except ValueError as error:
        pytest.skip(str(error))
    here = fm.from_mujoco(file, commands={"a": 0.5})
    if here.notes:
        assert "depends on the motion, with a lag" in here.notes[0]
        return
    law: Any = here.model.forces["a"].law
    bias = theirs.actuator_biasprm[0][:3] * (theirs.actuator_biastype[0] == 1)
    bias += (
        0.5 * np.array([0.0, *theirs.actuator_gainprm[0][1:3]]) * (theirs.actuator_gaintype[0] == 1)
    )
    lags = theirs.actuator_dyntype[0] in (LAGS["filter"], LAGS["filterexact"])
    wanted = theirs.actuator_gainprm[0][0], *bias, theirs.actuator_dynprm[0][0] * lags
    assert (law.gain, law.bias, -law.k, -law.c, law.lag) == pytest.approx(wanted)


@pytest.mark.parametrize("command", [-9.0, 0.1, 9.0])
def test_ranges_of_joints_limit_commands_and_forces_at_sites_have_biases(
    tmp_path: Path, command: float
) -> None:
    text = """<mujoco><worldbody><body><joint name="j" axis="0 1 0" range="-30 60"/><geom size=".1" pos=".3 0 .2"/>
      <site name="s" pos=".1 0 0"/></body></worldbody><actuator><position name="p" joint="j" kp="3" inheritrange="0.5"/>
      <general name="g" site="s" gear="1 2 3 .1 .2 .3" gainprm="2" biastype="affine" biasprm="5"/></actuator></mujoco>"""
    commands = {"p": command, "g": command}
    compared(Both(written(tmp_path, text), commands=commands), commands, 0)


def schema() -> Iterator[tuple[str, str, list[str]]]:
    """(element, the element around it, attributes) of the schema that MuJoCo prints."""
    path: list[str] = []
    found: tuple[str, str, list[str]] | None = None
    for line in mujoco.mj_printSchema(False, False).splitlines():
        begun = re.match(r"( *)(\S+) \([!*?R]\) *(.*)", line)
        if begun is None:
            if found is not None:
                found[2].extend(line.split())
            continue
        if found is not None:
            yield found
        name = "body" if begun[2] == "(world)body" else begun[2]
        path[len(begun[1]) // 3 :] = [name]
        found = name, path[-2] if len(path) > 1 else "", begun[3].split()
    if found is not None:
        yield found


OF_BODIES = ("body", "inertial", "joint", "freejoint", "geom", "site")
NOTED = {  # what changes the motion and is not read
    "compiler": {"alignfree"},
    "joint": {"springyield"},
    "freejoint": {"align"},
    "site": set(),
    "general": {"actdim", "actlimited", "actrange", "input", "ffrange", "velrange"},
    "option": set(),
    "flag": set(),
    "fixed": {"springyield", "actuatorfrcrange", "actuatorfrclimited"},
    "key": {"act", "plastic"},
}


def test_every_attribute_of_the_schema_is_read_or_idle_or_noted() -> None:
    for element, around, given in schema():
        kind = f"{element} of {around}" if around in ("equality", "fixed") else element
        kind = "fixed" if (element, around) == ("tendon", "default") else kind
        if kind not in attributes.READ or (
            element in OF_BODIES and around not in ("body", "default", "fixed", "equality")
        ):
            continue
        known = set(f"{attributes.READ[kind]} {attributes.IDLE.get(kind, '')} name class".split())
        known |= set(attributes.OF_ACTUATORS.split()) if element in ACTUATORS else set()
        assert set(given) - known == NOTED.get(kind, set()) & set(given), kind


SAMPLES = {
    "user": "1",
    "group": "1",
    "margin": "0.1",
    "actuatorgravcomp": "false",
    "simple": "false",
    "rgba": "1 0 0 1",
    "friction": ".1",
    "condim": "1",
    "priority": "1",
    "gap": "0.01",
    "solmix": "2",
    "integrator": "implicit",
    "solver": "CG",
    "cone": "elliptic",
    "jacobian": "dense",
    "magnetic": "1 0 0",
    "castshadow": "false",
    "adhesion": "0.1",
    "fluidcoef": "1 1 1 1 1",
}
PLAIN = """<mujoco><compiler{compiler}/><option{option}><flag{flag}/></option><worldbody><body{body} pos="0 0 1">
<joint{joint} axis="0 1 0" damping="0.1" stiffness="2"/><geom{geom} size=".1" pos="1 0 0"/><body pos="1 0 0"><joint axis="1 0 0"/>
<geom type="box" size=".1 .2 .3" contype="0" conaffinity="0"/></body></body></worldbody></mujoco>"""
PLACES = ("compiler", "option", "flag", "body", "joint", "geom")


def acceleration(**given: str) -> np.ndarray:
    model = mujoco.MjModel.from_xml_string(filled(given))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = (0.3, 0.4), (1.0, -2.0)
    mujoco.mj_forward(model, data)
    return np.array(data.qacc)


def filled(given: dict[str, str]) -> str:
    return PLAIN.format(**{place: given.get(place, "") for place in PLACES})


IDLE = [(place, key) for place in PLACES for key in attributes.IDLE[place].split()]


@pytest.mark.parametrize(("place", "key"), IDLE)
def test_idle_attributes_do_not_change_accelerations_in_mujoco(place: str, key: str) -> None:
    values = (
        [SAMPLES[key]]
        if key in SAMPLES
        else ["disable", "enable"]
        if place == "flag"
        else ["1", "true", "0.5", "0.01 1"]
    )
    changed = []
    for value in values:
        try:
            changed.append(acceleration(**{place: f' {key}="{value}"'}))
        except ValueError:  # of another version or form
            continue
    for found in changed:
        np.testing.assert_allclose(found, acceleration(), rtol=1e-9)


def test_misspelt_attributes_and_elements_are_noted(tmp_path: Path) -> None:
    text = """<mujoco><option gravty="0 0 0"/><worldbody><body><joint name="j" stifness="5"/><geom size=".1"/><jiont/></body>
      </worldbody><keyframe><key act="0.5"/></keyframe><contact><pair geom1="a" geom2="b"/></contact></mujoco>"""
    notes = fm.from_mujoco(written(tmp_path, text)).notes
    assert notes[:4] == (
        "attribute 'gravty' of <option>",
        "attribute 'stifness' of <joint>",
        "<jiont> in <body>",
        "attribute 'act' of <key>",
    )
    assert notes[4].startswith("1 contact pairs")


OF_BODY = '<body name="b"><joint name="j" {joint}/><geom size=".1"/></body>'


@pytest.mark.parametrize(
    ("joint", "rest", "note"),
    [
        ('type="ball" range="0 30"', "", "joint 'j': limit of a ball joint"),
        ("", '<compiler alignfree="true"/>', "attribute 'alignfree' of <compiler>"),
        (
            "",
            '<actuator><general joint="j" dyntype="filter" actrange="0 1"/></actuator>',
            "attribute 'actrange' of <general>",
        ),
        (
            "",
            '<default><muscle/></default><actuator><general joint="j"/></actuator>',
            "has the defaults of a muscle",
        ),
    ],
)
def test_what_moves_otherwise_is_noted(tmp_path: Path, joint: str, rest: str, note: str) -> None:
    text = f"<mujoco>{rest}<worldbody>{OF_BODY.format(joint=joint)}</worldbody></mujoco>"
    assert note in " ".join(fm.from_mujoco(written(tmp_path, text)).notes)


def test_groups_and_limits_of_commands_that_are_disabled(tmp_path: Path) -> None:
    text = f"""<mujoco><option actuatorgroupdisable="3"><flag clampctrl="disable"/></option><worldbody>{OF_BODY.format(joint="")}
      </worldbody><actuator><motor name="off" joint="j" group="3"/><motor name="on" joint="j" ctrlrange="-1 1"/></actuator>
      </mujoco>"""
    forces = fm.from_mujoco(written(tmp_path, text), commands={"on": 5.0}).model.forces
    assert list(forces) == ["on"]
    assert forces["on"].law.command == fm.Constant(5.0)


def test_a_weld_without_torque_is_a_point(tmp_path: Path) -> None:
    text = """<mujoco><worldbody><body name="a"><freejoint/><geom size=".1"/></body><body name="b" pos="1 0 0"><freejoint/>
      <geom size=".1"/></body></worldbody><equality><weld name="pin" body1="a" body2="b" anchor="0.2 0 0" torquescale="0"/>
      </equality></mujoco>"""
    model = fm.from_mujoco(written(tmp_path, text)).model
    assert model.joints["pin"].kind == "spherical"
    assert model.bodies["a"].frames["pin joint"].position == (1.2, 0.0, 0.0)


@pytest.mark.parametrize(
    ("bodies", "rest", "message"),
    [
        (
            OF_BODY.format(joint=""),
            '<actuator><motor name="m" joint="j"/><motor name="m" joint="j"/></actuator>',
            "'m' is defined twice",
        ),
        (
            '<body><joint/><inertial pos="0 0 0" diaginertia="1 1 1"/></body>',
            "",
            "mass: is missing",
        ),
        (
            OF_BODY.format(joint=""),
            '<keyframe><key ctrl="1 2"/></keyframe>',
            "ctrl: has 2 numbers for 0 actuators",
        ),
    ],
)
def test_what_mujoco_refuses_is_refused(
    tmp_path: Path, bodies: str, rest: str, message: str
) -> None:
    file = written(tmp_path, f"<mujoco><worldbody>{bodies}</worldbody>{rest}</mujoco>")
    with pytest.raises(fm.InputError, match=re.escape(message)):
        fm.from_mujoco(file, keyframe=0 if "key" in rest else None)


def test_a_quaternion_of_zeros_is_no_rotation(tmp_path: Path) -> None:
    text = """<mujoco><worldbody><body name="b"><freejoint name="j"/><geom size=".1"/></body></worldbody>
      <keyframe><key qpos="1 2 3 0 0 0 0"/></keyframe></mujoco>"""
    assert fm.from_mujoco(written(tmp_path, text), keyframe=0).model.joints["j"].q0 == (
        1.0,
        2.0,
        3.0,
        1.0,
        0.0,
        0.0,
        0.0,
    )
