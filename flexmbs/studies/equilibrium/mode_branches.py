"""`campbell` and `root_locus`: eigenvalues of linearised models over a parameter.

They are followed mode by mode, over a speed or another parameter.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from flexmbs.api.model import Model
from flexmbs.audit import report_findings
from flexmbs.checked_arguments import checked_arguments
from flexmbs.declaration import require_known, shown
from flexmbs.errors import InputError, ModelWarning, warn_caller
from flexmbs.model.argument_checks import require_switch
from flexmbs.model.laws import Ramp
from flexmbs.results.state import HasState
from flexmbs.signals.signal_arguments import FloatArray, number_list, one_number, whole_number
from flexmbs.signals.tracking import Branches, ComplexArray, track
from flexmbs.studies.equilibrium.mode_matching import compared_shapes
from flexmbs.studies.equilibrium.statics import statics
from flexmbs.studies.linear.linearize import Linearization, linearize
from flexmbs.studies.linear.rotating_coordinates import turning_coordinates
from flexmbs.studies.states.jacobians import AXES, frame_jacobian
from flexmbs.system.check import PASS, SWITCHED_OFF, Check, verdict
from flexmbs.system.names import velocity_names
from flexmbs.system.step_scales import displacement_sizes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DOUBTFUL = 0.5  # MAC below which a branch may have changed to another mode

Made: TypeAlias = Model | HasState | Linearization
Maker: TypeAlias = Callable[[float], Made]


class Critical(NamedTuple):
    """Critical speed: a branch meets a multiple of the speed.

    Speed [rad/s] and frequency [Hz].

    turning: the frequency is that which an observer on the rotor sees. A load at rest, such as
    weight or wind, has order 1 there; unbalance has order 0, and is critical where the frequency of
    the branch reaches zero.
    """

    speed: float
    frequency: float
    branch: int
    order: float
    turning: bool = False


@dataclass(frozen=True, eq=False)
class ModeBranches:
    """Eigenvalues λ (n, m) [1/s] of m modes at n values of a parameter.

    One of each conjugate pair; NaN where a branch does not exist, as after a pair of complex modes
    has become two real ones.

    shape (n, ns, m): displacements of all velocity coordinates.  mac (n − 1, m): likeness of the
    shapes of neighbouring values. audit: checks of the states and of the frequencies, of each title
    the worst over the values.
    """

    values: FloatArray
    eigenvalue: ComplexArray
    shape: ComplexArray = field(repr=False)
    mac: FloatArray = field(repr=False)
    audit: tuple[Check, ...] = field(default=(), repr=False, kw_only=True)

    @property
    def verdict(self) -> str:
        """The worst of the `audit`: "PASS", "WARN" or "FAIL"; "NOT JUDGED" without one."""
        return verdict(self.audit)

    @property
    def frequency(self) -> FloatArray:
        """|λ|/2π (n, m) [Hz]."""
        return np.abs(self.eigenvalue) / (2.0 * np.pi)

    @property
    def damping(self) -> FloatArray:
        """Damping ratios −Re λ/|λ| (n, m), negative for unstable modes, 0 for λ = 0."""
        size = np.abs(self.eigenvalue)
        return np.where(size == 0.0, 0.0, -self.eigenvalue.real / np.where(size == 0.0, 1.0, size))

    @property
    def doubtful(self) -> tuple[tuple[int, int], ...]:
        """Pairs (k, branch) for which the branch may change to another mode.

        The shape changes much between the values k and k + 1.
        """
        return tuple((int(k), int(branch)) for k, branch in np.argwhere(self.mac < DOUBTFUL))


@dataclass(frozen=True, eq=False)
class RootLocus(ModeBranches):
    """Root locus: eigenvalues over a parameter, see `ModeBranches`."""

    @property
    def stable(self) -> np.ndarray:
        """True where no eigenvalue has a positive real part (n,)."""
        return np.logical_not((self.eigenvalue.real > 1e-9 * np.abs(self.eigenvalue)).any(axis=1))

    def plot(self) -> Figure:
        """Plot the eigenvalues in the complex plane, both of each pair.

        Crosses at the first value, dots at the last.
        """
        from flexmbs.signals.mode_plots import root_locus_figure

        return root_locus_figure(self.eigenvalue)


@dataclass(frozen=True, eq=False)
class Campbell(ModeBranches):
    """Campbell diagram: natural frequencies over the speed, see `ModeBranches`.

    The values are speeds Ω [rad/s].

    whirl (n, m): sense of the orbit of the chosen frame, 1 forward and circular, 0 straight, −1
    backward; NaN without a frame or where it does not move.  turning (m,): whether the branch is a
    motion of coordinates that rotate with the rotor, such as the modes of a rotating body: its
    frequencies and its sense of whirl are those seen by a rotating observer.
    """

    whirl: FloatArray
    turning: NDArray[np.bool_]

    def critical(self, order: float = 1.0) -> list[Critical]:
        """Critical speeds at which a mode has the frequency order · |Ω|/2π, ascending.

        By monotone cubic interpolation between the given speeds of one sense. Raises InputError.
        """
        order = one_number(order, "order", least=0.0)
        pairs = [
            (branch, sense) for branch in range(self.eigenvalue.shape[1]) for sense in (-1.0, 1.0)
        ]
        return sorted(
            point for branch, sense in pairs for point in self._critical(branch, sense, order)
        )

    def _critical(self, branch: int, sense: float, order: float) -> list[Critical]:
        """Critical speeds of one branch at the speeds of one sense of rotation."""
        from scipy.interpolate import PchipInterpolator

        value = self.eigenvalue[:, branch]
        use = np.flatnonzero(
            np.isfinite(value.real) & (value.imag > 0.0) & (sense * self.values >= 0.0)
        )
        speed, first = np.unique(sense * self.values[use], return_index=True)
        if len(speed) < 2:
            return []
        apart = PchipInterpolator(
            speed, self.frequency[use[first], branch] - order * speed / (2.0 * np.pi)
        )
        meets = [float(root) for root in apart.roots(extrapolate=False) if root > 0.0]
        turning = bool(self.turning[branch])
        return [
            Critical(sense * root, order * root / (2.0 * np.pi), branch, order, turning)
            for root in meets
        ]

    def plot(self, orders: ArrayLike = (1.0,)) -> Figure:
        """Plot frequencies and damping ratios over the speed.

        Backward whirl is dashed; lines of the orders with the critical speeds.
        """
        from flexmbs.signals.mode_plots import campbell_figure

        lines = number_list(orders, "orders")
        marks = [point for order in lines for point in self.critical(float(order))]
        return campbell_figure(self, lines, marks)


@checked_arguments
def campbell(
    model: Model | Maker,
    speeds: ArrayLike,
    *,
    drive: str | None = None,
    frame: str | None = None,
    axis: str = "z",
    modes: int | None = None,
    audit: bool = True,
) -> Campbell:
    """Natural frequencies of a rotating model over its speed, modes followed by their shapes.

    drive: name of the drive that turns a given model. model: a function of the speed Ω [rad/s] that
    gives a model, whose steady equilibrium is linearized, or a state or a `Linearization`; or a
    model with the name of the ``drive`` that turns it, whose motion becomes Ω t.  speeds: in the
    order in which the modes are followed.  frame, axis: a frame on the axis of rotation and that
    world axis, to tell forward from backward whirl.  modes: number of branches kept, those of
    lowest frequency.  audit: judge the equilibria and the frequencies. Frequencies are those of the
    model's own coordinates: where these turn with the rotor, so do the observers
    (`Campbell.turning`), and an order counts loads as they see them. For speeds that are critical
    to unbalance, put the springs of shaft and bearings before the rotation. Raises `InputError`,
    `SolverError`; a `ModelWarning` where a shape changes so much that its branch is doubtful.
    Source: Genta, Dynamics of Rotating Systems (2005), section 1.

    Examples
    --------
    >>> import flexmbs as fm
    >>> def rotor(speed):  # a bead on springs on a turning table
    ...     model = fm.Model("rotor", gravity=(0, 0, 0))
    ...     table, bead = (
    ...         model.add(fm.RigidBody(name, mass=1.0, inertia=(1.0, 1.0, 1.0)))
    ...         for name in ("table", "bead")
    ...     )
    ...     axle = model.add(fm.Revolute("axle", model.ground, table, axis="z"))
    ...     model.add(
    ...         fm.Chain(
    ...             "plane", table, bead, motions=(fm.motions.Slide("x"), fm.motions.Slide("y"))
    ...         )
    ...     )
    ...     for k in (0, 1):
    ...         model.add(fm.JointSpring(f"spring {k}", "plane", k=400.0, coordinate=k))
    ...     model.add(fm.Drive("motor", axle, fm.Ramp(0.0, rate=speed)))
    ...     return model
    >>> diagram = fm.campbell(rotor, [0.0, 5.0])
    >>> (6.283185 * diagram.frequency).round(3).tolist()  # √(k/m) ∓ Ω, as seen from the table
    [[20.0, 20.0], [15.0, 25.0]]
    """
    make = _model_at_speed(model, drive)
    found, states = _followed(make, number_list(speeds, "speeds"), "speed", steady=True)
    whirl = np.full(found.eigenvalue.shape, np.nan)
    if frame is not None:
        whirl = np.sign(found.values)[:, None] * _whirl(found, states, frame, axis)
    kept = _lowest_branches(found.eigenvalue, modes)
    turning = _turning(found, states)
    checks = _audited(
        states, found.values, "speed", found.eigenvalue[:, kept] if modes else None, audit=audit
    )
    parts = (
        found.eigenvalue[:, kept],
        found.shape[:, :, kept],
        found.mac[:, kept],
        whirl[:, kept],
        turning[kept],
    )
    diagram = Campbell(found.values, *parts, audit=checks)
    report_findings(diagram)
    return diagram


@checked_arguments
def root_locus(
    model: Maker, values: ArrayLike, *, modes: int | None = None, audit: bool = True
) -> RootLocus:
    """Eigenvalues of a model over a parameter, modes followed by their shapes.

    model: a function of the parameter that gives a model, whose equilibrium is linearized, or a
    state or a `Linearization`. values: of the parameter, in the order in which the modes are
    followed.  modes: number of branches kept, those of lowest frequency.  audit: judge the
    equilibria and the frequencies. Raises `InputError`, `SolverError`; a `ModelWarning` where a
    branch is doubtful. Source: Evans, Trans. AIEE 67 (1948) 547.

    Examples
    --------
    >>> import flexmbs as fm
    >>> def wheel(damping):
    ...     model = fm.Model("wheel")
    ...     body = model.add(fm.RigidBody("body", mass=1.0, inertia=(1.0, 1.0, 1.0)))
    ...     axle = model.add(fm.Revolute("axle", model.ground, body, axis="z"))
    ...     model.add(fm.JointSpring("spring", axle, k=25.0, c=damping))
    ...     return model
    >>> locus = fm.root_locus(wheel, [0.0, 6.0])
    >>> locus.eigenvalue[:, 0].round(6).tolist()  # −c/2J ± √(c²/4J² − k/J)
    [5j, (-3+4j)]
    """
    if not callable(model):
        raise InputError("model: must be a function of the parameter that gives a model")
    found, states = _followed(model, number_list(values, "values"), "value", steady=False)
    kept = _lowest_branches(found.eigenvalue, modes)
    checks = _audited(
        states, found.values, "value", found.eigenvalue[:, kept] if modes else None, audit=audit
    )
    locus = RootLocus(
        found.values,
        found.eigenvalue[:, kept],
        found.shape[:, :, kept],
        found.mac[:, kept],
        audit=checks,
    )
    report_findings(locus)
    return locus


def _audited(
    states: list[Linearization],
    values: FloatArray,
    what: str,
    kept: ComplexArray | None,
    *,
    audit: bool,
) -> tuple[Check, ...]:
    """Worst check of each title over all parameter values.

    kept (n, m): eigenvalues of the requested branches, the frequencies that have to be
    accurate.
    """
    require_switch("audit", audit)
    if not audit:
        return (SWITCHED_OFF,)
    worst: dict[str, Check] = {}
    for k, (linear, value) in enumerate(zip(states, values)):
        shown_modes = None
        if kept is not None:
            shown_modes = np.flatnonzero(np.isin(linear.modes.eigenvalue, kept[k]))
        for check in replace(linear, judge=True, asked=shown_modes).audit:
            before = worst.get(check.title)
            if before is None or verdict([before]) != verdict([before, check]):
                place = "" if check.status == PASS else f" at {what} {value:g}"
                worst[check.title] = replace(check, found=f"{check.found}{place}")
    return tuple(worst.values())


def _model_at_speed(model: Model | Maker, drive: str | None) -> Maker:
    """Function that makes the model at a speed of rotation."""
    if drive is None:
        if not callable(model):
            raise InputError(
                "model: must be a function of the speed; or name the drive that turns the "
                "model, drive=…"
            )
        return model
    if callable(model):
        raise InputError("drive: needs a model, not a function of the speed")
    require_known(str(drive), model.drives, f"drive: '{drive}' is not in the model")
    given = model.drives[str(drive)]
    start = float(given.motion.state(0.0)[0])

    def at(speed: float) -> Model:
        """The model with its drive at another speed."""
        other = copy.copy(model)
        other.drives = {
            **model.drives,
            given.name: dataclasses.replace(given, motion=Ramp(start, speed)),
        }
        return other

    return at


def _followed(
    make: Maker, values: FloatArray, what: str, *, steady: bool
) -> tuple[ModeBranches, list[Linearization]]:
    """Mode branches over the values, with the linearizations. Raises `InputError`."""
    linear: list[Linearization] = []
    for value in values:
        found = _linear(make(float(value)), steady=steady)
        if not found.steady:
            raise InputError(
                f"{what} {value:g}: the model does not rest or move steadily there, its "
                "matrices change with time"
            )
        names = [
            velocity_names(each.state.compiled) for each in (found, linear[0] if linear else found)
        ]
        if names[0] != names[1]:
            raise InputError(
                f"{what} {value:g}: the model has other coordinates than at "
                f"{values[0]:g}; only numbers may change"
            )
        linear.append(found)
    sizes = displacement_sizes(linear[0].state.compiled)[:, None]
    modes = [each.modes for each in linear]
    compared = compared_shapes(linear, sizes[:, 0])
    tracked: Branches = track(
        [each.eigenvalue for each in modes], [each.shape / sizes for each in modes], compared
    )
    branches = ModeBranches(values, tracked.eigenvalue, tracked.shape * sizes, tracked.mac)
    if branches.doubtful:
        k, branch = branches.doubtful[0]
        warn_caller(
            f"branch {branch} changes its shape between the {what}s {values[k]:g} and "
            f"{values[k + 1]:g} (MAC "
            f"{branches.mac[k, branch]:.2f}) and may be another mode there; choose closer {what}s",
            ModelWarning,
        )
    return branches, linear


def _linear(made: Made, *, steady: bool) -> Linearization:
    """Linearization of what the user function returned: model, state or linearization."""
    if isinstance(made, Linearization):
        return made
    if isinstance(made, Model):
        return linearize(made, start=statics(made, steady=steady, audit=False), audit=False)
    if not hasattr(made, "state"):
        raise InputError(
            f"model: the function gave {shown(made)}; it must give a model, a state or a "
            "linearization"
        )
    return linearize(made.state.compiled.declared, start=made, audit=False)  # type: ignore[arg-type]


def _lowest_branches(eigenvalue: ComplexArray, modes: int | None) -> np.ndarray:
    """Indices of the branches with the lowest initial frequencies, at most ``modes``."""
    count = None if modes is None else whole_number(modes, "modes", least=1)
    there = np.isfinite(eigenvalue.real)
    first = np.abs(eigenvalue[there.argmax(axis=0), np.arange(eigenvalue.shape[1])])
    order = np.argsort(np.nanmin(np.abs(eigenvalue), axis=0), kind="stable")[:count]
    return order[np.argsort(first[order], kind="stable")]


def _turning(found: ModeBranches, states: list[Linearization]) -> NDArray[np.bool_]:
    """Mask (m,) of branches that mostly move rotating coordinates.

    At the highest speed.
    """
    fastest = int(np.argmax(np.abs(found.values)))
    turns = turning_coordinates(states[fastest].state)
    parts = (
        np.abs(found.shape[fastest] / displacement_sizes(states[0].state.compiled)[:, None]) ** 2
    )
    return np.asarray(parts[turns].sum(axis=0) > 0.5 * parts.sum(axis=0))


def _whirl(found: ModeBranches, states: list[Linearization], frame: str, axis: str) -> FloatArray:
    """Sense of whirl −1 … 1 of each mode, from its displacements across the axis.

    1: counter-clockwise about it, −1: clockwise.
    """
    if axis not in AXES:
        raise InputError(f"axis: must be one of the world axes 'x', 'y', 'z', not {axis!r}")
    k = AXES.index(axis)
    rows = [(k + 1) % 3, (k + 2) % 3]
    J = np.stack([frame_jacobian(each.state, frame)[1][rows] for each in states])
    u = np.einsum("nas,nsm->nam", J, found.shape)
    size = (np.abs(u) ** 2).sum(axis=1)
    whole = (np.abs(J)[:, :, :, None] * np.abs(found.shape)[:, None]).sum(axis=(1, 2)) ** 2
    turn = -2.0 * (u[:, 0].conj() * u[:, 1]).imag
    return np.divide(turn, size, out=np.full_like(size, np.nan), where=size > 1e-12 * whole)
