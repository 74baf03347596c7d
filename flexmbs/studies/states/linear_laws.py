"""The equations of motion with the laws of forces replaced by their tangents at a state.

A law f(x) of the motion x of its point of action becomes f(x₀) + J (x − x₀). What is left to
differences then is smooth mechanics, whatever the regularization of a friction or the distance of a
controller to its limit; J is exact (`flexmbs.studies.states.directional_derivatives`) but for user
functions within it (`flexmbs.studies.states.function_slopes`). At a corner J is the mean of the
slopes of both sides.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from flexmbs._jit.address import packed
from flexmbs.dynamics.law_calls import WIDTH, given_values
from flexmbs.dynamics.work import make_work
from flexmbs.errors import InputError, SolverError
from flexmbs.initial.undefined_forces import undefined_forces
from flexmbs.law_kernel import LAW_KERNELS, law_kernel
from flexmbs.results.state import State
from flexmbs.studies.states.directional_derivatives import Dual, on_duals
from flexmbs.studies.states.function_slopes import Slope, slopes_along
from flexmbs.system.records import LAW_FUNCTION, ForceLaws, Forces, System, Work

# places in p: 1 while x₀ is taken, numbers of arguments and results; x₀, f(x₀), J
RECORD, INPUTS, RESULTS, BEGIN = range(4)

LOADS = 4  # arguments of laws that depend on reactions
TURNED = 4  # first entry of A in x of a frame
STEP, RATE_STEP = 1e-3, 1e-2  # largest ones of positions, and of velocities and force states
SAME = 1e-9  # relative difference of one-sided slopes


@law_kernel
def tangent_law(p, u, x, out):
    """Kernel of a linearized law, f(x₀) + J (x − x₀)."""
    n, m = int(p[INPUTS]), int(p[RESULTS])
    for a in range(m):
        out[a] = p[BEGIN + n + a]
        for b in range(n):
            slope = p[BEGIN + n + m + n * a + b]
            if slope != 0.0:
                out[a] += slope * (x[b] - p[BEGIN + b])
    if p[RECORD] > 0.0:
        for b in range(n):
            p[BEGIN + b] = x[b]


@packed()
def given_at(laws, f, system, work, n, points, out):
    """Arguments u (k, …) of the law of a force at ``points`` (k, …).

    User functions take the first n of these.
    """
    for i in range(points.shape[0]):
        for a in range(points.shape[1]):
            work.laws.x[a] = points[i, a]
        given_values(laws, f, system.laws, work.laws, work.io, n)
        for a in range(out.shape[1]):
            out[i, a] = work.laws.u[a]


class Sizes(NamedTuple):
    """Sizes of a law.

    Arguments with time, first of the velocities among them, arguments of user functions, results.
    """

    arguments: int
    velocities: int
    of_functions: int
    results: int


PLACES = {
    "joint": Sizes(3, 2, 3, 2),
    "frame": Sizes(19, 13, 19, 6),
    "line": Sizes(3, 2, 3, 2),
    "pair": Sizes(13, 7, 1, 12),
}


def _sizes(place: str, rows: Any, f: int) -> Sizes:
    """Sizes of the arguments and results of the law of force f."""
    if place in PLACES:
        return PLACES[place]
    if rows.combined[f]:
        return PLACES["joint"]
    n = int(rows.n[f])
    return Sizes(1 + 2 * n, 1 + n, 1 + 2 * n, 2 * n)


class Corner(NamedTuple):
    """A force whose law has no slope at the state, and its one-sided slopes.

    moving: along a velocity; otherwise along another argument.
    """

    force: str
    moving: bool
    slopes: tuple[float, float]

    def __str__(self) -> str:
        before, after = (f"{slope:.6g}" for slope in self.slopes)
        sides = (
            f"{before} to one side and {after} to the other"
            if before != after
            else "it bends or jumps"
        )
        return (
            f"force '{self.force}' has no slope along its "
            f"{'rate' if self.moving else 'coordinate'} at this state, {sides}"
        )


class LinearLaw(NamedTuple):
    """The system with tangents of laws, its workspace, and where laws have none."""

    system: System
    work: Work
    corners: tuple[Corner, ...]


class _Law(NamedTuple):
    """The law of one force.

    Its row among those of its place, numbers of arguments and results with those of force states.
    """

    name: str
    place: str
    sizes: Sizes
    laws: ForceLaws
    f: int
    p: np.ndarray
    inputs: int
    results: int
    loaded: bool


def linear_laws(state: State, own: Work, record: Callable[[System, Work], object]) -> LinearLaw:
    """Linearized laws of all forces at a state; ``own``: its workspace.

    ``record`` evaluates the equations there.
    """
    system = state.compiled.system
    found = list(_laws(state))
    tables = {
        place: _table([law for law in found if law.place == place]) for place in Forces._fields
    }
    linear = _replaced(system, tables)
    scratch = make_work(linear, state.beta)
    corners: dict[tuple[str, int], list[Corner]] = {}
    # reactions, which load some laws, follow from the others
    for laws in ([law for law in found if not law.loaded], [law for law in found if law.loaded]):
        if not laws:
            continue
        for table in tables.values():
            table[:, RECORD] = 1.0
        record(linear, scratch)
        for table in tables.values():
            table[:, RECORD] = 0.0
        for law in laws:
            corners[law.place, law.f] = _fill(tables[law.place][law.f], law, state, own)
    return LinearLaw(linear, scratch, tuple(corner for each in corners.values() for corner in each))


def require_finite(state: State, values: np.ndarray) -> None:
    """Raise the exception of a user function, or `SolverError` for what is not finite."""
    state.compiled.callbacks.raise_error()
    if not np.isfinite(values).all():
        call = state.compiled.callbacks.where
        if not call and (
            lines := undefined_forces(
                state.compiled, state.t, state.q, state.s, state.beta, state.z
            )
        ):
            raise SolverError("; ".join(lines))
        cause = (
            f"{call.item}: its function returned a non-finite value at {call.text}"
            if call
            else "the forces are not finite"
        )
        raise SolverError(f"{cause}; correct the forces or start from another position")


def _laws(state: State) -> Iterator[_Law]:
    """All forces, in the order of their records."""
    system, model = state.compiled.system, state.compiled.model
    for place, rows in system.forces._asdict().items():
        names = [name for name, force in model.forces.items() if force.place == place]
        for f in range(len(rows.law.kernel)):
            states, sizes = int(rows.law.n_states[f]), _sizes(place, rows, f)
            loaded = place == "joint" and rows.loaded[f] > 0
            name = names[f] if f < len(names) else "of a contact"
            inputs, results = sizes.arguments + states + LOADS * loaded, sizes.results + states
            yield _Law(name, place, sizes, rows.law, f, rows.value[f], inputs, results, loaded)


def _table(laws: list[_Law]) -> np.ndarray:
    """Parameters of the linearized laws, with zero slopes.

    With the last parameter of the laws, the length of a line.
    """
    width = max((BEGIN + law.inputs + law.results * (1 + law.inputs) for law in laws), default=0)
    table = np.zeros((len(laws), width + 1))
    for row, law in zip(table, laws):
        row[[INPUTS, RESULTS]] = law.inputs, law.results
        row[-1] = law.p[-1] if len(law.p) else 0.0
    return table


def _replaced(system: System, tables: dict[str, np.ndarray]) -> System:
    """System whose force laws are replaced by the linearized ones."""
    forces = {}
    for place, rows in system.forces._asdict().items():
        none = np.zeros_like(rows.law.kernel)
        law = rows.law._replace(
            kernel=none + tangent_law.number, n_given=none, has_slopes=none, strongly_nonlinear=none
        )
        forces[place] = rows._replace(law=law, value=tables[place])
    return system._replace(forces=system.forces._replace(**forces))


def _fill(row: np.ndarray, law: _Law, state: State, work: Work) -> list[Corner]:
    """Linearize one law: f(x₀) and J into its row; notes corners."""
    n, m = law.inputs, law.results
    x, J, corners = row[BEGIN : BEGIN + n].copy(), np.zeros((m, n)), []
    given = _law_arguments(law, state, work, x[None])[0]
    value, _ = _evaluated(law, x, given, 0.0 * x, 0.0 * given)
    row[BEGIN + n : BEGIN + n + m] = value
    for direction, moving in _directions(law, x):
        u = _given_slopes(law, state, work, x, direction, moving)
        (after, ahead), (before, behind) = (
            _evaluated(law, x, given, sign * direction, sign * u.value) for sign in (1.0, -1.0)
        )  # fmt: skip
        behind = -behind
        jumps = np.abs(after - value) + np.abs(before - value) > SAME * np.abs(value)
        bent = jumps | ~(np.abs(ahead - behind) <= SAME * (np.abs(ahead) + np.abs(behind)))
        if bent.any() or u.corner.any():
            a = int(np.argmax(bent))
            corners.append(Corner(law.name, moving, (float(behind[a]), float(ahead[a]))))
        mean = 0.5 * (ahead + behind)
        J += np.outer(np.where(np.isfinite(mean), mean, 0.0), direction) / (direction @ direction)
    row[BEGIN + n + m : BEGIN + n + m + m * n] = J.ravel()
    return corners


def _directions(law: _Law, x: np.ndarray) -> Iterator[tuple[np.ndarray, bool]]:
    """Independent changes of the arguments x, and whether they are changes of velocities.

    Rotations turn A (9).
    """
    own, velocities, _, _ = law.sizes
    turned = range(TURNED, TURNED + 9) if law.place == "frame" else range(0)
    for b, unit in enumerate(np.eye(len(x))):
        if b > 0 and b not in turned:
            yield unit, velocities <= b < own
    for axis in np.eye(3) if turned else ():
        turn = 0.0 * x
        turn[turned] = np.cross(axis, x[turned].reshape(3, 3).T).T.ravel()
        yield turn, False


def _points_along(
    x: np.ndarray, direction: np.ndarray, steps: np.ndarray, place: str
) -> np.ndarray:
    """(k, n): x after steps along a direction."""
    points = x + steps[:, None] * direction
    turned = slice(TURNED, TURNED + 9)
    if place == "frame" and direction[turned].any():
        A, change = x[turned].reshape(3, 3), direction[turned].reshape(3, 3)
        again = (change @ A.T @ change).ravel()
        points[:, turned] = (
            x[turned]
            + np.outer(np.sin(steps), direction[turned])
            + np.outer(1.0 - np.cos(steps), again)
        )
    return points


def _law_arguments(law: _Law, state: State, work: Work, points: np.ndarray) -> np.ndarray:
    """Arguments u of a law at several points."""
    count = int(law.laws.n_given[law.f] * law.laws.gives[law.f])
    out = np.zeros((len(points), count))
    if count:
        given_at(
            law.laws,
            law.f,
            state.compiled.system,
            work,
            law.sizes.of_functions,
            np.ascontiguousarray(points),
            out,
        )
        require_finite(state, out)
    return out


def _given_slopes(
    law: _Law, state: State, work: Work, x: np.ndarray, direction: np.ndarray, moving: bool
) -> Slope:
    """Derivatives of u along a direction; zero for laws of time."""
    first, n = int(law.laws.first[law.f]), int(law.laws.n_given[law.f])
    user = (state.compiled.system.laws.kind[first : first + n] == LAW_FUNCTION).any()
    taken = direction[: law.sizes.of_functions].any()
    if not (user and taken):
        count = n * int(law.laws.gives[law.f])
        return Slope(np.zeros(count), np.zeros(count, bool))
    size = (RATE_STEP if moving else STEP) * (1.0 + float(np.abs(x[direction != 0.0]).max()))
    return slopes_along(
        lambda steps: _law_arguments(
            law, state, work, _points_along(x, direction, steps, law.place)
        ),
        size,
    )


def _evaluated(
    law: _Law, x: np.ndarray, u: np.ndarray, direction: np.ndarray, change: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Results (m,) of a law at x and their one-sided derivatives.

    NaN where these are not defined.
    """
    kernel = LAW_KERNELS[int(law.laws.kernel[law.f])]
    unused = [0.0] * kernel.workspace(law.p)
    out: list[Any] = [0.0] * (WIDTH + law.results)
    # bases and weight of an implicit stage, behind the states
    no_stage = [0.0] * (int(law.laws.n_states[law.f]) + 1)
    try:
        on_duals(kernel.value)(
            law.p.tolist(), [*_duals(u, change), *unused], [*_duals(x, direction), *no_stage], out
        )
    except TypeError as error:
        raise InputError(
            f"forces.{law.name}: no slope of its law is known: {error}; write it with "
            "functions of math"
        ) from None
    except (ArithmeticError, ValueError):
        return np.full(law.results, np.nan), np.full(law.results, np.nan)
    found = [each if isinstance(each, Dual) else Dual(each, 0.0) for each in out[: law.results]]
    return np.array([each.v for each in found]), np.array([each.d for each in found])


def _duals(values: np.ndarray, changes: np.ndarray) -> list[Any]:
    """Dual numbers of values and changes; plain numbers where nothing changes."""
    return [Dual(v, d) if d else v for v, d in zip(values.tolist(), changes.tolist())]
