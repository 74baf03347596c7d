"""Motions of frames, reactions and contact forces at the present state of a run.

They are those of the views of a `Solution`, evaluated for a trajectory with one output by the same
kernels, whose arguments are packed once.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from flexmbs._jit.address import bound_arguments, packed
from flexmbs.algebra.se3 import wrench_to_parent
from flexmbs.algebra.small import load3_at, load9_at, mul, neg
from flexmbs.algebra.so3 import log_so3
from flexmbs.declaration import require_known
from flexmbs.dynamics.work import make_work
from flexmbs.errors import InputError
from flexmbs.model.frames import FrameRef
from flexmbs.results.histories import (
    CONTACT_NUMBERS,
    MotionHistory,
    contact_history,
    frames_history,
    joint_history,
    states_of,
)
from flexmbs.results.joints import JointHistories, history_shapes, joint_histories
from flexmbs.system.compile import Compiled
from flexmbs.system.trajectory import Trajectory

Port = tuple[str | int, ...]
AXES = ("x", "y", "z")
# of each kind of output: the item whose quantity it is, and its unit
QUANTITIES: dict[str, tuple[str, str]] = {
    "rotation": ("frame", "rad"),
    "velocity": ("frame", "m/s"),
    "angular velocity": ("frame", "rad/s"),
    "acceleration": ("frame", "m/s²"),
    "angular acceleration": ("frame", "rad/s²"),
    "reaction force": ("joint", "N"),
    "reaction torque": ("joint", "N m"),
    "contact force": ("contact", "N"),
}
# places in a row of `frames_history`
COLUMNS = {"velocity": 12, "angular velocity": 15, "acceleration": 18, "angular acceleration": 21}
OF_MOTION, OF_ROTATION, OF_PRIMARY, OF_REVERSED, OF_CUT, OF_CONTACT = range(6)
MOTION_NUMBERS, WORLD_FORCE = 24, 4  # of `frames_history`; column in `contact_history`


@packed()
def gathered(work, info, motions, joints, contacts, out):
    """out (n,) ← the quantities of ``info`` (n, 4): kind, index, frame or column, component.

    Rotations are rotation vectors, |θ| ≤ π. Reactions act on the declared child at its frame.
    """
    for e in range(info.shape[0]):
        kind, at, k, c = info[e, 0], info[e, 1], info[e, 2], info[e, 3]
        if kind == OF_MOTION:
            out[e] = motions[at, 0, k + c]
        elif kind == OF_ROTATION:
            out[e] = log_so3(load9_at(motions[at], 0, 0))[c]
        elif kind == OF_CONTACT:
            out[e] = contacts[0, at, k + c]
        else:
            wrenches = joints.cut if kind == OF_CUT else joints.primary
            f, n = load3_at(wrenches[0], at, 0), load3_at(wrenches[0], at, 3)
            if kind == OF_REVERSED:
                R, x = load9_at(work.motion.Rj, at, 0), load3_at(work.motion.xj, at, 0)
                f, n = wrench_to_parent(R, x, neg(f), neg(n))
            A = load9_at(motions[k], 0, 0)
            out[e] = mul(A, f)[c] if c < 3 else mul(A, n)[c - 3]


class Quantities:
    """Values of output ports at the state in a trajectory with one row.

    The row is written by the caller before `evaluate`.
    """

    def __init__(
        self, compiled: Compiled, row: Trajectory, ports: Mapping[str, Port], *, redundant: bool
    ) -> None:
        self._compiled, self._frames = compiled, list[int]()
        self._unique = None
        if redundant and any(str(port[0]).startswith("reaction") for port in ports.values()):
            self._unique = joint_histories(compiled, row, redundant=True, least_norm=False).unique
        info = np.array([self._info(f"outputs.{name}", port) for name, port in ports.items()])
        system, work = compiled.system, make_work(compiled.system, row.beta[0])
        shapes = history_shapes(compiled, 1)
        names = ("primary", "cut", "effort", "beta", "eta", "etad", "prescribed")
        joints = JointHistories(
            row.lam,
            **{name: np.zeros(shapes[name]) for name in names},
            unique=np.zeros(shapes["unique"], np.int64),
        )
        motions = np.zeros((len(self._frames), 1, MOTION_NUMBERS))
        contacts = np.zeros((1, len(compiled.contacts), CONTACT_NUMBERS))
        states, kinds = states_of(row, row.beta), set(info[:, 0])
        self.values, self._effort = np.zeros(len(info)), joints.effort
        calls: list[tuple[Any, ...]] = []
        if self._frames:
            given = MotionHistory(row.t, row.q, row.s, row.sd)
            calls.append((frames_history, system, work, np.array(self._frames), given, motions))
        if OF_CONTACT in kinds:
            calls.append((contact_history, system, work, states, contacts))
        if kinds & {OF_PRIMARY, OF_REVERSED, OF_CUT}:
            calls.append((joint_history, system, work, states, joints))
        calls.append((gathered, work, info, motions, joints, contacts, self.values))
        self._calls: Iterable[Callable[[], Any]] = [bound_arguments(*each) for each in calls]

    def evaluate(self) -> None:
        """Evaluate the ports. Raises exceptions of user functions."""
        self._effort.fill(0.0)  # the kernel adds to it
        for call in self._calls:
            call()
        self._compiled.callbacks.raise_error()

    def _info(self, item: str, port: Port) -> tuple[int, int, int, int]:
        """Row of ``info`` of a port. Raises `InputError`."""
        kind, name, c = str(port[0]), str(port[1]), AXES.index(str(port[2]))
        compiled = self._compiled
        if kind in COLUMNS:
            return OF_MOTION, self._frame(item, name), COLUMNS[kind], c
        if kind == "rotation":
            return OF_ROTATION, self._frame(item, name), 0, c
        if kind == "contact force":
            require_known(name, compiled.contacts, f"{item}: no contact '{name}'")
            number = compiled.contacts.index(name)
            if compiled.system.contacts.b[number] < 0:
                raise InputError(f"{item}: contact '{name}' acts on coordinates, not on bodies")
            return OF_CONTACT, number, WORLD_FORCE, c
        require_known(name, compiled.places, f"{item}: no joint '{name}'")
        place, cut = compiled.places[name], len(compiled.bodies)
        if (
            self._unique is not None
            and not self._unique[place.body if place.cut < 0 else cut + place.cut]
        ):
            raise InputError(
                f"{item}: redundant constraints leave the reaction of joint '{name}' undetermined; "
                "remove them, or read the one of least norm from a solution"
            )
        child = compiled.model.joints[name].child
        frame = self._frame(item, str(child))
        of = OF_CUT if place.cut >= 0 else OF_REVERSED if place.reversed else OF_PRIMARY
        at = place.cut if place.cut >= 0 else place.body
        return of, at, frame, c + 3 * (kind == "reaction torque")

    def _frame(self, item: str, name: str) -> int:
        """Place of a frame among those that are evaluated. Raises `InputError`."""
        body, _, place = name.partition("/")
        ref = FrameRef(body, place)
        if ref not in self._compiled.frames:
            require_known(name, self._compiled.frame_names, f"{item}: no frame '{name}'")
        number = self._compiled.frames[ref]
        if number not in self._frames:
            self._frames.append(number)
        return self._frames.index(number)
