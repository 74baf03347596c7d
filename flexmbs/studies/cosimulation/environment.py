"""`environment`: a model as an environment of gymnasium, for learning controllers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from flexmbs.checked_arguments import checked_arguments
from flexmbs.declaration import require_known, shown
from flexmbs.errors import InputError, SolverError
from flexmbs.exports.data_frames import optional
from flexmbs.formalisms.formalism import Formalism
from flexmbs.integrators import Integrator
from flexmbs.model.run import options_with, stated
from flexmbs.studies.fitting.parameter_bounds import read_limits, read_number
from flexmbs.studies.parameters.parameter_paths import Build, made
from flexmbs.studies.run.stepper import Stepper
from flexmbs.studies.run.stepper_ports import Ports
from flexmbs.studies.sweeps.ranges import Spread

Reward = Callable[[Mapping[str, float], Mapping[str, float]], float]
Ended = Callable[[Mapping[str, float]], bool]


@checked_arguments
def environment(
    model: Build,
    *,
    inputs: Mapping[str, tuple[Any, ...]],
    outputs: Ports,
    limits: Mapping[str, Any],
    reward: Reward,
    period: float,
    t_end: float | None = None,
    step: float | None = None,
    formalism: str | Formalism | None = None,
    coordinates: str | None = None,
    integrator: str | Integrator | None = None,
    stabilization: str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    rho_inf: float | None = None,
    ended: Ended | None = None,
    vary: Mapping[str, Spread] | None = None,
) -> Any:
    """A `gymnasium.Env`: actions are inputs, observations are outputs of a `Stepper`.

    Actions are held for a period; ``info["t"]`` is the time. Observations and actions are arrays in
    the order of the ports, whose names are ``env.observation_names`` and ``env.action_names``. An
    episode is truncated at its end time, or where the run stops: then ``info["stopped"]`` is the
    reason and the observation is the last one before. There is no audit: judge model and steps by a
    run of `simulate`. A reset puts back the state of the start; the run is prepared again, which
    takes some milliseconds, if `vary` draws other parameters.

    Parameters
    ----------
    model : Model, function or ModelWithParts
        The model.
    inputs : mapping of names to ports
        Forces, as of `Stepper`: {"motor": ("effort", "axle")}.
    outputs : mapping of names to ports, or list of ports
        Coordinates, motions of frames, reactions and contact forces, as of `Stepper`.
    limits : mapping of names to pairs
        Smallest and largest value of each input [N, N m].
    reward : function
        ``reward(outputs, inputs)`` of both by name, after each period.
    period : float [s]
        Time between actions.
    t_end : float [s], optional
        End of an episode; that of the model's ``run`` by default.
    step, formalism, coordinates, integrator, stabilization, rtol, atol, rho_inf : optional
        Options of the runs, as of `simulate`; by default those of the model's ``run``. Rigid
        contacts need ``integrator="moreau-jean"`` with a step, or "event-driven".
    ended : function, optional
        ``ended(outputs)``: whether the episode is over, as when something fell.
    vary : mapping of names to Range, Normal or LogNormal, optional
        Parameters, as of `parameters`, that are drawn again at each reset.

    Returns
    -------
    gymnasium.Env
        With ``reset``, ``step``, ``action_space`` and ``observation_space``; `stepper` is that of
        the present episode.

    Raises
    ------
    InputError
        For a model, ports and limits that cannot be run.
    MachineError
        Without gymnasium, the extra ``flexmbs[learning]``.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("turntable")
    >>> table = model.add(fm.RigidBody("table", mass=1.0, inertia=(0.1, 0.1, 0.2)))
    >>> axle = model.add(fm.Revolute("axle", model.ground, table, axis="z"))
    >>> env = fm.environment(
    ...     model,
    ...     inputs={"motor": ("effort", "axle")},
    ...     outputs={"speed": ("rate", "axle")},
    ...     period=0.1,
    ...     limits={"motor": (-2, 2)},
    ...     reward=lambda y, u: -abs(y["speed"] - 3),
    ...     t_end=1.0,
    ...     step=1e-2,
    ... )
    >>> observed, info = env.reset(seed=1)
    >>> observed, gained, terminated, truncated, info = env.step([2.0])  # 2 N m / 0.2 kg m² · 0.1 s
    >>> observed.round(6).tolist(), round(gained, 6), truncated
    ([1.0], -2.0, False)
    """
    gymnasium = optional("gymnasium", "environment")
    period = read_number(period, "period")
    given = stated(
        t_end=t_end, step=step, formalism=formalism, coordinates=coordinates,
        integrator=integrator, stabilization=stabilization, rtol=rtol, atol=atol, rho_inf=rho_inf,
    )  # fmt: skip
    bounds = _bounds(inputs, limits)
    spread = _distributions(vary)
    for key, function in {"reward": reward, **({} if ended is None else {"ended": ended})}.items():
        if not callable(function):
            raise InputError(f"{key}: {shown(function)} is not a function of the outputs")
    made(model, {name: value for name, each in spread.items() for value in each.checked[:1]})
    plain = made(model, {})
    options = options_with(plain.run, given)  # type: ignore[arg-type]
    if "t_end" not in options:
        raise InputError("t_end: give the end of an episode (s), or set model.run = Run(t_end=1.0)")
    end = read_number(options["t_end"], "t_end")
    if not 0.0 < period <= end:
        raise InputError(f"period: must be within 0 … t_end = {end:g} s, not {period:g}")
    last = math.ceil(end / period - 1e-9)

    class Environment(gymnasium.Env):  # type: ignore[misc, name-defined]
        """A model of flexmbs."""

        metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

        def __init__(self) -> None:
            """Environment with action and observation spaces for the ports of the stepper."""
            self._low, self._high = np.array(list(bounds.values())).T
            self.action_space = gymnasium.spaces.Box(self._low, self._high, dtype=np.float64)
            self._begin(plain)
            self._start = self.stepper.state
            self.action_names, self.observation_names = tuple(bounds), tuple(self.stepper.outputs)
            n = len(self.observation_names)
            self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (n,), np.float64)

        def _begin(self, built: Any) -> None:
            """Prepare the run of an episode."""
            run = options_with(built.run, given)
            run.pop("output_step", None)  # none are stored
            self.stepper, self._periods = Stepper(built, **run, inputs=inputs, outputs=outputs), 0

        def reset(
            self, *, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[np.ndarray, dict[str, Any]]:
            """Start an episode with drawn parameters; observation and info."""
            super().reset(seed=seed)
            drawn = {name: each.at(float(self.np_random.random())) for name, each in spread.items()}
            if drawn:
                self._begin(made(model, drawn))
            else:
                self.stepper.state, self._periods = self._start, 0
            self._seen = self.stepper.observations
            return self._seen.copy(), {"t": self.stepper.t, **drawn}

        def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
            """Apply an action for one period; observation, reward, ends and info."""
            if self._periods == last:
                raise InputError("step: the episode is over; reset the environment")
            stepper, over, stopped = self.stepper, False, {}
            values = _values(action, bounds).clip(self._low, self._high)
            stepper.controls[:] = values
            try:
                stepper.advance(min((self._periods + 1) * period, end))
                self._seen = stepper.observations
                self._periods += 1
            except SolverError as error:
                stopped, self._periods = {"stopped": str(error)}, last
            known, t = dict(zip(self.observation_names, self._seen.tolist())), stepper.t
            if ended is not None and not stopped:
                over = _truth(ended(known), t)
            applied = dict(zip(bounds, values.tolist()))
            gained = read_number(reward(known, applied), f"reward at t = {t:g} s")
            return self._seen.copy(), gained, over, self._periods == last, {"t": t, **stopped}

    return Environment()


def _bounds(inputs: Any, limits: Any) -> dict[str, tuple[float, float]]:
    """Finite limits of each input, in their order. Raises `InputError`."""
    if not isinstance(inputs, Mapping) or not inputs:
        raise InputError('inputs: give at least one by its name, as {"motor": ("effort", "axle")}')
    found = read_limits(limits, "limits")
    for name in found:
        require_known(name, inputs, f"limits: '{name}' is not among the inputs")
    for name in inputs:
        if name not in found or not np.isfinite(found[name]).all():
            raise InputError(f"limits.{name}: needs both, {{'{name}': (-1.0, 1.0)}}")
    return {name: found[name] for name in inputs}


def _values(action: Any, bounds: Mapping[str, Any]) -> np.ndarray:
    """Action (n,), one number for each input. Raises `InputError`."""
    try:
        values = np.asarray(action, float).ravel()
    except (TypeError, ValueError):
        values = np.zeros(0)
    if len(values) != len(bounds):
        raise InputError(
            f"action: {shown(action)}; give {len(bounds)} numbers, in the order {', '.join(bounds)}"
        )
    return values


def _truth(value: Any, t: float) -> bool:
    """Truth value returned by ``ended``. Raises `InputError`."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"ended at t = {t:g} s: must be True or False, not {shown(value)}")
    return bool(value)


def _distributions(vary: Any) -> dict[str, Spread]:
    """Distributions of the varied parameters. Raises `InputError`."""
    if vary is not None and not isinstance(vary, Mapping):
        raise InputError(
            f"vary: {shown(vary)} is not a mapping; give {{'bodies.tool.mass': fm.Range(1.0, 2.0)}}"
        )
    for name, each in (vary or {}).items():
        if not isinstance(each, Spread):
            raise InputError(
                f"vary.{name}: {shown(each)} is not a distribution; give fm.Range(low, high) "
                "or fm.Normal"
            )
    return dict(vary or {})
