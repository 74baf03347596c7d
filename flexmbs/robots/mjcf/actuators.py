"""Actuators of MJCF files: force = gain w + bias, w the command or its first-order lag, on joints, fixed tendons and sites.

Source: MuJoCo documentation, Computation, section Actuation model; XML reference, section actuator.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from flexmbs.declaration import close_names, shown
from flexmbs.errors import InputError
from flexmbs.model.actuators import AffineActuator
from flexmbs.model.forces import FrameForce, JointTorque
from flexmbs.model.laws import Constant, TimeLaw, time_law
from flexmbs.robots.imported import free_name
from flexmbs.robots.mjcf.document import ACTUATORS, Defaults
from flexmbs.robots.mjcf.draft import Draft
from flexmbs.robots.mjcf.tree import FREEDOMS
from flexmbs.robots.mjcf.values import Given
from flexmbs.robots.urdf_read import item_name
from flexmbs.robots.xml_tree import Element

LAGS = ("filter", "filterexact")
TARGETS = ("joint", "jointinparent", "tendon", "site", "cranksite", "body")
EXTRA = ("delay", "armature", "damping")  # of actuators, not read


class Actuator:
    """Gains and ranges, as its default class and its own element set them one after the other."""

    def __init__(self) -> None:
        self.gain, self.bias, self.lag = np.array([1.0, 0.0, 0.0]), np.zeros(3), 0.0
        self.gain_kind, self.bias_kind, self.dynamics, self.kind = "fixed", "none", "none", "general"
        self.gear = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
        self.dampratio, self.inherited = False, 0.0
        self.ranges: dict[str, tuple[bool | None, np.ndarray | None]] = {"ctrl": (None, None), "force": (None, None)}

    def take(self, given: Given) -> None:
        """The attributes of an element of this kind."""
        self.kind = given.element.tag
        self.gear = given.numbers("gear", tuple(self.gear), 1)
        self.inherited = given.number("inheritrange", self.inherited)
        for key, (limited, bounds) in self.ranges.items():
            own = given.numbers(f"{key}range", (0.0, 0.0)) if f"{key}range" in given else bounds
            self.ranges[key] = (given.switch(f"{key}limited", limited), own)
        shape = getattr(self, f"_{self.kind}", None)
        if shape is not None:
            shape(given)

    def range(self, key: str, autolimits: bool) -> tuple[float, float]:
        """Bounds, infinite without."""
        limited, bounds = self.ranges[key]
        limited = (autolimits and bounds is not None) if limited is None else limited
        return (float(bounds[0]), float(bounds[1])) if limited and bounds is not None else (-np.inf, np.inf)

    def _general(self, given: Given) -> None:
        self.gain_kind, self.bias_kind = given.text("gaintype", self.gain_kind), given.text("biastype", self.bias_kind)
        self.dynamics = given.text("dyntype", self.dynamics)
        self.gain, self.bias = (_three(given, key, old) for key, old in (("gainprm", self.gain), ("biasprm", self.bias)))
        self.lag = float(_three(given, "dynprm", np.array([self.lag or 1.0, 0.0, 0.0]))[0])

    def _motor(self, given: Given) -> None:
        self.gain, self.gain_kind, self.bias_kind, self.dynamics = np.array([1.0, 0.0, 0.0]), "fixed", "none", "none"

    def _position(self, given: Given) -> None:
        kp = given.number("kp", self.gain[0])
        self.gain[0], self.bias[1] = kp, -kp
        if "kv" in given:
            self.bias[2] = -given.number("kv", 0.0)
        self.dampratio = given.number("dampratio", 0.0) > 0.0 or (self.dampratio and "kv" not in given)
        if "timeconst" in given:
            self.lag = given.number("timeconst", 0.0)
            self.dynamics = "filterexact" if self.lag > 0.0 else "none"
        self.gain_kind, self.bias_kind = "fixed", "affine"

    def _velocity(self, given: Given) -> None:
        kv = given.number("kv", self.gain[0])
        self.gain[0], self.bias = kv, np.array([0.0, 0.0, -kv])
        self.gain_kind, self.bias_kind, self.dynamics = "fixed", "affine", "none"

    def _damper(self, given: Given) -> None:
        self.gain, self.gain_kind, self.bias_kind = np.array([0.0, 0.0, -given.number("kv", 0.0)]), "affine", "none"
        self.dynamics = "none"

    def why_not(self) -> str:
        """Why it has no place in a model, "" if it has."""
        if self.kind not in ("general", "motor", "position", "velocity", "damper"):
            return f"is a {self.kind}"
        if self.dynamics not in ("none", *LAGS):
            return f"has dynamics '{self.dynamics}'"
        if self.gain_kind not in ("fixed", "affine") or self.bias_kind not in ("none", "affine"):
            return f"has gain '{self.gain_kind}' and bias '{self.bias_kind}'"
        if self.gain_kind == "affine" and self.dynamics != "none":
            return "has a gain that depends on the motion, with a lag"
        if self.dampratio or (self.bias_kind == "affine" and self.bias[2] > 0.0 and self.gain[0] == -self.bias[1]):
            return "has its damping by a ratio (dampratio); give kv"
        return ""


def _three(given: Given, key: str, old: np.ndarray) -> np.ndarray:
    """The first three of the numbers of an attribute."""
    if key not in given:
        return old.copy()
    found = given.numbers(key, (*old, *([0.0] * 30)), 1)
    return np.array(found[:3])


def add_actuators(
    draft: Draft, section: Element, defaults: Defaults, commands: Mapping[str, Any], start: np.ndarray, known: dict[str, TimeLaw]
) -> None:
    """Forces of the actuators; ``known``: commands by name so far, those of ``start`` where none is given."""
    for element in section.children:
        name = element.attributes.get("name") or free_name(f"actuator {len(known) + 1}", known)
        at = len(known)
        try:
            known[name] = command = time_law(commands.get(name, float(start[at]) if at < len(start) else 0.0))
        except ValueError as error:
            raise InputError(f"commands.{name}: {error}") from None
        if element.tag not in ACTUATORS:
            draft.report.note(f"actuator '{name}' ({element.tag})")
            continue
        actuator = Actuator()
        around = defaults.name_of(element, "main")
        steps = (*defaults.actuators[around], element)
        for step in steps:
            actuator.take(Given(step, step.attributes, draft.report))
        extra = [key for key in EXTRA for step in steps if step.attributes.get(key, "").strip("0. ")]
        why = actuator.why_not() or (f"has {extra[0]}" if extra else "")
        why = why or _attach(draft, actuator, Given(element, element.attributes, draft.report), name, command)
        if why:
            draft.report.note(f"actuator '{name}' {why}")
    for name in commands:
        if name not in known:
            raise InputError(f"commands: no actuator {shown(name)}; {close_names(str(name), known)}")


def _attach(draft: Draft, actuator: Actuator, given: Given, name: str, command: TimeLaw) -> str:
    """Add the force of an actuator; why not, if it is left out."""
    target = next((key for key in TARGETS if key in given), "")
    aim = given.text(target)
    command = _within(command, actuator, given, draft)
    if actuator.gain_kind == "affine" and actuator.gain[1:].any():
        if not isinstance(command, Constant):
            return "has a gain that depends on the motion; give it a constant command"
        actuator.bias = actuator.bias * (actuator.bias_kind == "affine") + np.array([0.0, *actuator.gain[1:]]) * command.value
        actuator.bias_kind = "affine"
    if actuator.bias_kind == "none":
        actuator.bias = np.zeros(3)
    if target == "joint":
        return _on_joint(draft, actuator, aim, name, command)
    if actuator.bias[1:].any():
        return f"feeds back the motion of its {target}"
    if target == "tendon":
        return _on_tendon(draft, actuator, aim, name, command)
    if target == "site" and "refsite" not in given:
        return _on_site(draft, actuator, aim, name, command)
    return f"acts on a {target} with refsite" if target == "site" else f"acts on a {target}"


def _within(command: TimeLaw, actuator: Actuator, given: Given, draft: Draft) -> TimeLaw:
    """The command, a constant one within its range."""
    low, high = actuator.range("ctrl", draft.compiler.autolimits)
    if actuator.inherited > 0.0 and (found := draft.tree.joint(given.text("joint"))):
        a, b = found[1].given.numbers("range", (0.0, 0.0)) * found[1].unit
        low, high = (0.5 * (a + b) + sign * actuator.inherited * 0.5 * (b - a) for sign in (-1.0, 1.0))
    if isinstance(command, Constant):
        return Constant(min(max(command.value, low), high))
    if np.isfinite((low, high)).any():
        draft.report.note("limits of commands that are laws of time (ctrlrange)")
    return command


def _law(actuator: Actuator, draft: Draft, factor: float, command: TimeLaw, ref: float = 0.0) -> AffineActuator:
    """factor · force, with its length factor · q."""
    low, high = actuator.range("force", draft.compiler.autolimits)
    bounds = sorted((factor * low, factor * high)) if factor else (-np.inf, np.inf)
    b0, b1, b2 = actuator.bias
    return AffineActuator(
        command, gain=factor * actuator.gain[0], bias=factor * (b0 + b1 * factor * ref), k=-factor * factor * b1,
        c=-factor * factor * b2, lag=actuator.lag if actuator.dynamics in LAGS else 0.0, lower=bounds[0], upper=bounds[1],
    )  # fmt: skip


def _on_joint(draft: Draft, actuator: Actuator, aim: str, name: str, command: TimeLaw) -> str:
    found = draft.tree.joint(aim)
    if found is None:
        return f"acts on joint '{aim}', which is not in the file"
    joint = found[1]
    if FREEDOMS[joint.kind] > 1:
        return f"acts on joint '{aim}', a {joint.kind} joint"
    use = draft.coordinates[aim]
    law = _law(actuator, draft, float(actuator.gear[0]), command, joint.ref)
    draft.add(JointTorque(draft.name("forces", item_name(name)), use.joint, law, coordinate=use.coordinate))
    return ""


def _on_tendon(draft: Draft, actuator: Actuator, aim: str, name: str, command: TimeLaw) -> str:
    factors = draft.tendons.get(aim)
    if factors is None:
        return f"acts on tendon '{aim}', which is not a fixed tendon of hinges and slides"
    for joint, factor in factors.items():
        use = draft.coordinates[joint]
        law = _law(actuator, draft, factor * float(actuator.gear[0]), command)
        draft.add(JointTorque(draft.name("forces", item_name(f"{name} {joint}")), use.joint, law, coordinate=use.coordinate))
    return ""


def _on_site(draft: Draft, actuator: Actuator, aim: str, name: str, command: TimeLaw) -> str:
    if aim not in draft.refs or not draft.tree.site(aim):
        return f"acts on site '{aim}', which is not in the file"
    if not isinstance(command, Constant) or actuator.dynamics in LAGS:
        return "acts on a site with a command that changes"
    low, high = actuator.range("force", draft.compiler.autolimits)
    wrench = actuator.gear * min(max(actuator.gain[0] * command.value + actuator.bias[0], low), high)
    force, torque = tuple(wrench[:3]), tuple(wrench[3:])
    draft.add(FrameForce(draft.name("forces", item_name(name)), draft.refs[aim], force=force, torque=torque, axes="follower"))
    return ""
