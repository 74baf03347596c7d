"""Actuators of MJCF files on joints, fixed tendons and sites.

Force = gain w + bias, where w is the command or its first-order lag.

Source: MuJoCo documentation, Computation, section Actuation model; XML reference, section actuator.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from flexmbs.declaration import require_known, shown
from flexmbs.errors import InputError
from flexmbs.files.xml_tree import XmlElement
from flexmbs.model.actuators import AffineActuator
from flexmbs.model.forces import FrameForce, JointTorque, Transmission
from flexmbs.model.laws import Constant, TimeLaw, time_law
from flexmbs.robots.import_result import ImportLog, free_name
from flexmbs.robots.mjcf.document import ACTUATORS, Defaults
from flexmbs.robots.mjcf.model_builder import ModelBuilder
from flexmbs.robots.mjcf.tree import FREEDOMS
from flexmbs.robots.mjcf.values import ElementValues, counts
from flexmbs.robots.urdf_read import item_name

LAGS = ("filter", "filterexact")
TARGETS = ("joint", "jointinparent", "tendon", "site", "cranksite", "body")
# gains of <general> from which shortcuts inherit
OF_GENERAL = {"position": "fixed", "velocity": "fixed", "damper": "affine"}
EXTRA = ("delay", "armature", "damping")  # attributes of actuators that are not read


class Gains:
    """Gains of an actuator; a shortcut such as <position> overrides previously set gains."""

    def __init__(self) -> None:
        """Default gains of MuJoCo: force = control."""
        self.kind = "general"
        self.gain, self.bias, self.lag = np.array([1.0, 0.0, 0.0]), np.zeros(3), 0.0
        self.gain_kind, self.bias_kind, self.dynamics = "fixed", "none", "none"
        self.dampratio, self.inherited, self.other = False, 0.0, ""

    def taken(self, given: ElementValues) -> "Gains":
        """Update the gains from the attributes of an actuator element."""
        self.kind = given.element.tag
        self.inherited = given.number("inheritrange", self.inherited)
        shape = getattr(self, f"_{self.kind}", None)
        if shape is None:
            self.other = self.kind
        else:
            shape(given)
        return self

    def _general(self, given: ElementValues) -> None:
        """Set the gains from the attributes of a general actuator."""
        self.gain_kind, self.bias_kind = (
            given.text("gaintype", self.gain_kind),
            given.text("biastype", self.bias_kind),
        )
        self.dynamics = given.text("dyntype", self.dynamics)
        self.gain, self.bias = (
            _three(given, key, old) for key, old in (("gainprm", self.gain), ("biasprm", self.bias))
        )
        self.lag = float(_three(given, "dynprm", np.array([self.lag or 1.0, 0.0, 0.0]))[0])

    def _motor(self, given: ElementValues) -> None:
        """Leave the gains of a motor at their defaults."""

    def _position(self, given: ElementValues) -> None:
        """Set the gains of a position servo from kp, kv and timeconst."""
        kp = given.number("kp", self.gain[0])
        self.gain[0], self.bias[1] = kp, -kp
        if "kv" in given:
            self.bias[2] = -given.number("kv", 0.0)
        self.dampratio = given.number("dampratio", 0.0) > 0.0 or (
            self.dampratio and "kv" not in given
        )
        if "timeconst" in given:
            self.lag = given.number("timeconst", 0.0)
            self.dynamics = "filterexact" if self.lag > 0.0 else "none"
        self.bias_kind = "affine"

    def _velocity(self, given: ElementValues) -> None:
        """Set the gains of a velocity servo from kv."""
        kv = given.number("kv", self.gain[0])
        self.gain[0], self.bias[2], self.bias_kind = kv, -kv, "affine"

    def _damper(self, given: ElementValues) -> None:
        """Set the gains of a damper that is scaled by the control."""
        self.gain = np.array([0.0, 0.0, -given.number("kv", -self.gain[2])])
        self.gain_kind = "affine"

    def unsupported_reason(self) -> str:
        """Reason why the actuator cannot be part of a model; "" if it can."""
        if self.other:
            return (
                f"is a {self.other}"
                if self.other == self.kind
                else f"has the defaults of a {self.other}"
            )
        if self.dynamics not in ("none", *LAGS):
            return f"has dynamics '{self.dynamics}'"
        if self.gain_kind not in ("fixed", "affine") or self.bias_kind not in ("none", "affine"):
            return f"has gain '{self.gain_kind}' and bias '{self.bias_kind}'"
        if self.gain_kind == "affine" and self.dynamics != "none":
            return "has a gain that depends on the motion, with a lag"
        if self.dampratio or (
            self.bias_kind == "affine" and self.bias[2] > 0.0 and self.gain[0] == -self.bias[1]
        ):
            return "has its damping by a ratio (dampratio); give kv"
        return ""


def gains_of(
    classes: Sequence[Sequence[XmlElement]], element: XmlElement, report: ImportLog
) -> Gains:
    """Gains of an actuator from its element and default classes, outermost first.

    <general> inherits from its class whichever element set the values; a shortcut inherits from the
    innermost class whose last element is the same shortcut or a <general> with matching gains, else
    it starts from the defaults.

    """
    states: list[Gains] = []  # innermost first
    for defaults in classes:
        state = deepcopy(states[0]) if states else Gains()
        for each in defaults:
            state = _begun(each.tag, [state, *states]).taken(
                ElementValues(each, each.attributes, report)
            )
        states.insert(0, state)
    return _begun(element.tag, states).taken(ElementValues(element, element.attributes, report))


def _begun(kind: str, states: Sequence[Gains]) -> Gains:
    """Initial gains of an actuator of a kind, from earlier states of its defaults."""
    if kind == "general":
        return deepcopy(states[0])
    for state in states:
        if state.kind == kind:
            return deepcopy(state)
        if state.kind == "general" and state.gain_kind == OF_GENERAL.get(kind):
            return _of_general(kind, state)
    return Gains()


def _of_general(kind: str, state: Gains) -> Gains:
    """Gains that a shortcut element inherits from <general> defaults."""
    found = Gains()
    found.inherited, found.other = state.inherited, state.other
    if kind == "damper":
        found.gain[2] = state.gain[2]
        return found
    found.gain[0] = state.gain[0]
    if kind == "position":
        found.bias[2] = state.bias[2]
        if state.dynamics == "filterexact":
            found.dynamics, found.lag = state.dynamics, state.lag
    return found


class Actuator:
    """Gains, gear and ranges, set by the default classes and then by the element itself."""

    def __init__(self, gains: Gains, elements: Sequence[XmlElement], report: ImportLog) -> None:
        """Actuator from its elements, outermost default class first."""
        self.gains, self.gear = gains, np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
        self.ranges: dict[str, tuple[bool | None, np.ndarray | None]] = {
            "ctrl": (None, None),
            "force": (None, None),
        }
        self.group, self.own = 0, ElementValues(elements[-1], elements[-1].attributes, report)
        for element in elements:
            given = ElementValues(element, element.attributes, report)
            self.gear = given.numbers("gear", tuple(self.gear), 1)
            self.group = int(given.number("group", self.group))
            for key, (limited, bounds) in self.ranges.items():
                own = given.numbers(f"{key}range", (0.0, 0.0)) if f"{key}range" in given else bounds
                self.ranges[key] = (given.switch(f"{key}limited", limited), own)

    def range(self, key: str, autolimits: bool) -> tuple[float, float]:
        """(low, high) of the control or force; infinite if there is no range."""
        limited, bounds = self.ranges[key]
        if bounds is None or not counts(limited, bounds, autolimits):
            return -np.inf, np.inf
        if not bounds[0] < bounds[1]:
            self.own.problem(
                f"{key}range: its first number must be below the second, not "
                f"{bounds[0]:g} {bounds[1]:g}"
            )
        return float(bounds[0]), float(bounds[1])


def _three(given: ElementValues, key: str, old: np.ndarray) -> np.ndarray:
    """First three numbers of an attribute, completed from previous values."""
    if key not in given:
        return old.copy()
    found = given.numbers(key, (*old, *([0.0] * 30)), 1)
    return np.array(found[:3])


def add_actuators(
    draft: ModelBuilder,
    section: XmlElement,
    defaults: Defaults,
    commands: Mapping[str, Any],
    start: np.ndarray,
    known: dict[str, TimeLaw],
    off: set[str],
    disabled: set[int],
) -> None:
    """Add the forces of all actuators in a section of an MJCF file to the model.

    ``known``: commands by name; by default those of ``start``. ``off``, ``disabled``: flags and
    groups that the file disables.
    """
    for element in section.children:
        name = element.attributes.get("name") or free_name(f"actuator {len(known) + 1}", known)
        at = len(known)
        if name in known:
            draft.report.problem(element, f"actuator {shown(name)} is defined twice; rename one")
            continue
        try:
            known[name] = command = time_law(
                commands.get(name, float(start[at]) if at < len(start) else 0.0)
            )
        except ValueError as error:
            raise InputError(f"commands.{name}: {error}") from None
        if element.tag not in ACTUATORS:
            draft.report.note(f"actuator '{name}' ({element.tag})")
            continue
        classes = defaults.actuators[defaults.name_of(element, "main")]
        steps = [*(each for defaults_of_one in classes for each in defaults_of_one), element]
        actuator = Actuator(gains_of(classes, element, draft.report), steps, draft.report)
        if actuator.group in disabled:
            continue
        extra = [
            key for key in EXTRA for step in steps if step.attributes.get(key, "").strip("0. ")
        ]
        why = actuator.gains.unsupported_reason() or (f"has {extra[0]}" if extra else "")
        why = why or _attach(
            draft,
            actuator,
            ElementValues(element, element.attributes, draft.report),
            name,
            command,
            off,
        )
        if why:
            draft.report.note(f"actuator '{name}' {why}")
    for name in commands:
        require_known(name, known, f"commands: no actuator {shown(name)}")


def _attach(
    draft: ModelBuilder,
    actuator: Actuator,
    given: ElementValues,
    name: str,
    command: TimeLaw,
    off: set[str],
) -> str:
    """Add the force of an actuator; return the reason if it is left out, else ""."""
    target = next((key for key in TARGETS if key in given), "")
    aim = given.text(target)
    command = command if "clampctrl" in off else _clamped_command(command, actuator, given, draft)
    gains = actuator.gains
    if gains.gain_kind == "affine" and gains.gain[1:].any():
        if not isinstance(command, Constant):
            return "has a gain that depends on the motion; give it a constant command"
        gains.bias = (
            gains.bias * (gains.bias_kind == "affine")
            + np.array([0.0, *gains.gain[1:]]) * command.value
        )
        gains.bias_kind = "affine"
    if gains.bias_kind == "none":
        gains.bias = np.zeros(3)
    if target == "joint":
        return _on_joint(draft, actuator, aim, name, command)
    if target == "tendon":
        return _on_tendon(draft, actuator, aim, name, command)
    if gains.bias[1:].any():
        return f"feeds back the motion of its {target}"
    if target == "site" and "refsite" not in given:
        return _on_site(draft, actuator, aim, name, command)
    return f"acts on a {target} with refsite" if target == "site" else f"acts on a {target}"


def _clamped_command(
    command: TimeLaw, actuator: Actuator, given: ElementValues, draft: ModelBuilder
) -> TimeLaw:
    """Command clamped to its control range if it is constant."""
    low, high = actuator.range("ctrl", draft.compiler.autolimits)
    inherited, own = actuator.gains.inherited, actuator.ranges["ctrl"][1] is not None
    if inherited > 0.0 and not own and (found := draft.tree.joint(given.text("joint"))):
        a, b = found[1].given.numbers("range", (0.0, 0.0)) * found[1].unit
        low, high = (0.5 * (a + b) + sign * inherited * 0.5 * (b - a) for sign in (-1.0, 1.0))
    if isinstance(command, Constant):
        return Constant(min(max(command.value, low), high))
    if np.isfinite((low, high)).any():
        draft.report.note("limits (ctrlrange) of commands given as laws of time")
    return command


def _law(
    actuator: Actuator, draft: ModelBuilder, factor: float, command: TimeLaw, ref: float = 0.0
) -> AffineActuator:
    """Force law of an actuator scaled by its transmission."""
    low, high = actuator.range("force", draft.compiler.autolimits)
    bounds = sorted((factor * low, factor * high)) if factor else (-np.inf, np.inf)
    gains = actuator.gains
    b0, b1, b2 = gains.bias
    return AffineActuator(
        command,
        gain=factor * gains.gain[0],
        bias=factor * (b0 + b1 * factor * ref),
        k=-factor * factor * b1,
        c=-factor * factor * b2,
        lag=gains.lag if gains.dynamics in LAGS else 0.0,
        lower=bounds[0],
        upper=bounds[1],
    )


def _on_joint(
    draft: ModelBuilder, actuator: Actuator, aim: str, name: str, command: TimeLaw
) -> str:
    """Add the force of an actuator on a joint; the reason if this is not possible."""
    found = draft.tree.joint(aim)
    if found is None:
        return f"acts on joint '{aim}', which is not in the file"
    joint = found[1]
    if FREEDOMS[joint.kind] > 1:
        return f"acts on joint '{aim}', a {joint.kind} joint"
    use = draft.coordinates[aim]
    law = _law(actuator, draft, float(actuator.gear[0]), command, joint.ref)
    draft.add(
        JointTorque(
            draft.name("forces", item_name(name)), use.joint, law, coordinate=use.coordinate
        )
    )
    return ""


def _on_tendon(
    draft: ModelBuilder, actuator: Actuator, aim: str, name: str, command: TimeLaw
) -> str:
    """Add the force of an actuator on a fixed tendon; the reason if this is not possible."""
    if aim not in draft.tendons:
        return f"acts on tendon '{aim}', which is not a fixed tendon of hinges and slides"
    if factors := draft.tendon(aim):
        law = _law(
            actuator,
            draft,
            float(actuator.gear[0]),
            command,
            draft.tendon_sum(aim, lambda joint: joint.ref),
        )
        draft.add(Transmission(draft.name("forces", item_name(name)), factors, law))
    return ""


def _on_site(draft: ModelBuilder, actuator: Actuator, aim: str, name: str, command: TimeLaw) -> str:
    """Add the wrench of an actuator on a site; the reason if this is not possible."""
    if aim not in draft.refs or not draft.tree.site(aim):
        return f"acts on site '{aim}', which is not in the file"
    if not isinstance(command, Constant) or actuator.gains.dynamics in LAGS:
        return "acts on a site with a command that changes"
    low, high = actuator.range("force", draft.compiler.autolimits)
    wrench = actuator.gear * min(
        max(actuator.gains.gain[0] * command.value + actuator.gains.bias[0], low), high
    )
    force, torque = tuple(wrench[:3]), tuple(wrench[3:])
    draft.add(
        FrameForce(
            draft.name("forces", item_name(name)),
            draft.refs[aim],
            force=force,
            torque=torque,
            axes="follower",
        )
    )
    return ""
