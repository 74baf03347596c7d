"""Public errors with their exit codes, and the display of invalid values in messages."""

import reprlib
import sys
import unicodedata
import warnings
from collections.abc import Iterable

GIVEN = reprlib.Repr()
GIVEN.maxstring = GIVEN.maxother = 60
GIVEN.maxlist = GIVEN.maxtuple = 9
GIVEN.maxlevel = 3
LONGEST_LINE = 1600  # characters: lists of known names fit, and the remedy at the end stays
UNPRINTABLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # categories: controls, halves of pairs, line ends
PACKAGES = ("flexmbs", "preprocess")
MOST_SHOWN = 200  # characters: keeps a message whose value is a nested table within two lines


class FlexmbsError(Exception):
    """Base class of all errors that the user can correct; the message gives item, value and remedy.

    Examples
    --------
    >>> import flexmbs as fm
    >>> try:
    ...     fm.load("missing.toml")
    ... except fm.FlexmbsError as error:
    ...     print(f"exit code {error.exit_code}: {error}")
    exit code 2: missing.toml: cannot be read: No such file or directory
    """

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__(_printable(message))


class InputError(FlexmbsError):
    """Bad input (file, model, option). ``problems`` lists every problem found, one line each.

    Examples
    --------
    >>> import flexmbs as fm
    >>> try:
    ...     fm.RigidBody("arm", mass=-2.0, inertia=(0.1, 0.1, 0.3))
    ... except fm.InputError as error:
    ...     print(error)
    bodies.arm.mass: must be >= 0, not -2 bodies.arm.inertia: not physical: principal moments 0.1,
    0.1, 0.3; the largest must not exceed the sum of the other two
    """

    exit_code = 2

    def __init__(self, *problems: str) -> None:
        self.problems = tuple(map(_printable, problems))
        super().__init__("\n".join(problems))


def raise_problems(problems: Iterable[str]) -> None:
    """Raise InputError with all problems, if there are any."""
    if found := tuple(problems):
        raise InputError(*found)


class SolverError(FlexmbsError):
    """Failure of the solver; partial results are in ``solution`` if there are any.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("loose cart")
    >>> cart = model.add(fm.RigidBody("cart", mass=2.0, inertia=(0.1, 0.1, 0.1)))
    >>> rail = model.add(fm.Prismatic("rail", model.ground, cart, axis="x"))
    >>> try:
    ...     fm.statics(model)
    ... except fm.SolverError as error:
    ...     print(error)
    statics: unsupported: 'rail.0'; support it by a joint, a drive or a spring, or set
    allow_indifferent
    """

    exit_code = 3

    def __init__(self, message: str, solution: object = None) -> None:
        self.solution = solution
        super().__init__(message)


class MachineError(FlexmbsError):
    """Failure of the machine: disk, memory, a missing extra.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("ball")
    >>> ball = model.add(fm.PointMass("ball", mass=1.0))
    >>> try:
    ...     model.save("no such folder/ball.toml")
    ... except fm.MachineError as error:
    ...     print(error)
    no such folder/ball.toml: cannot be written (No such file or directory); check the folder, ...
    """

    exit_code = 4


class AssemblyWarning(UserWarning):
    """Declared initial values that could not be kept.

    Examples
    --------
    >>> import warnings
    >>> import flexmbs as fm
    >>> model = fm.Model("gearbox")
    >>> pinion, wheel = (
    ...     model.add(fm.RigidBody(name, mass=1.0, inertia=(0.1, 0.1, 0.2)))
    ...     for name in ("pinion", "wheel")
    ... )
    >>> first = model.add(fm.Revolute("first", model.ground, pinion, axis="z", v0=12.0))
    >>> second = model.add(fm.Revolute("second", model.ground, wheel, axis="z", v0=0.0))
    >>> teeth = model.add(fm.Gear("teeth", first, second, ratio=3.0))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter(
    ...         "error", fm.AssemblyWarning
    ...     )  # in a script whose initial values must be kept
    ...     fm.assemble(model)
    Traceback (most recent call last):
    ...
    flexmbs.errors.AssemblyWarning: joints.first.v0: the declared value had to change by 1.2 to
    satisfy the constraints; ...
    """


class ModelWarning(UserWarning):
    """Suspicious values of a model.

    Examples
    --------
    >>> import warnings
    >>> import flexmbs as fm
    >>> model = fm.Model("two springs", gravity=(0, 0, 0))
    >>> mass = model.add(fm.RigidBody("mass", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    >>> rail = model.add(fm.Prismatic("rail", model.ground, mass, axis="x"))
    >>> springs = model.add(
    ...     fm.JointTorque("springs", rail, lambda t, x, v: -30.0 * x if x < 0.0 else -10.0 * x)
    ... )
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", fm.ModelWarning)
    ...     fm.statics(model)
    Traceback (most recent call last):
    ...
    flexmbs.errors.ModelWarning: statics: force 'springs' has no slope along its coordinate at this
    state, ...
    """


class AuditWarning(UserWarning):
    """Finding of the audit of a run, one for each check with WARN or FAIL.

    Examples
    --------
    >>> import warnings
    >>> import flexmbs as fm
    >>> model = fm.Model("pendulum")
    >>> rod = model.add(
    ...     fm.RigidBody("rod", mass=3.0, com=(0, 0, -0.5), inertia=(0.25, 0.25, 0.001))
    ... )
    >>> hinge = model.add(fm.Revolute("hinge", model.ground, rod, axis="y", q0=1.0))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", fm.AuditWarning)  # the verdict still contains it
    ...     fm.simulate(model, t_end=2.0, step=0.05).verdict
    'WARN'
    """


class AuditError(FlexmbsError):
    """Verdict other than PASS of a run with ``strict``; the run is in ``solution``.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("pendulum")
    >>> rod = model.add(
    ...     fm.RigidBody("rod", mass=3.0, com=(0, 0, -0.5), inertia=(0.25, 0.25, 0.001))
    ... )
    >>> hinge = model.add(fm.Revolute("hinge", model.ground, rod, axis="y", q0=1.0))
    >>> try:
    ...     fm.simulate(model, t_end=2.0, step=0.05, strict=True)
    ... except fm.AuditError as error:
    ...     print(error.solution.verdict, str(error).splitlines()[-1])
    WARN WARN: Energy balance: balance error ... of the largest energy or work
    """

    exit_code = 3

    def __init__(self, message: str, solution: object = None) -> None:
        self.solution = solution
        super().__init__(message)


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside of these packages that called them, however deep this is."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in PACKAGES:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _printable(text: str) -> str:
    """Text as lines of limited length with control characters as escapes.

    Names from a damaged file must not reach the terminal as commands or fill it.
    """
    return "\n".join(map(_printable_line, text.split("\n")))


def _printable_line(line: str) -> str:
    """Line with unprintable characters escaped and its middle cut out if it is too long."""
    if len(line) > LONGEST_LINE:
        line = f"{line[: LONGEST_LINE // 2]} ... {line[-LONGEST_LINE // 2 :]}"
    if line.isprintable():
        return line
    return "".join(repr(c)[1:-1] if unicodedata.category(c) in UNPRINTABLE else c for c in line)


def shown(value: object) -> str:
    """Repr of a value, limited in depth and to `MOST_SHOWN` characters."""
    try:
        text = " ".join(GIVEN.repr(value).split())
    except ValueError:
        return "a number of thousands of digits"
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 4]} ..."
