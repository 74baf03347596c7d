"""`environment`: a model as an environment of gymnasium, for learning controllers."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from flexmbs.checked_arguments import checked_arguments
from flexmbs.declaration import require_known, shown
from flexmbs.errors import InputError
from flexmbs.exports.data_frames import optional
from flexmbs.model.run import run_with, stated
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
    t_end: float,
    step: float | None = None,
    formalism: str | None = None,
    coordinates: str | None = None,
    integrator: str | None = None,
    stabilization: str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    rho_inf: float | None = None,
    ended: Ended | None = None,
    vary: Mapping[str, Spread] | None = None,
) -> Any:
    """A `gymnasium.Env`: actions are inputs, observations are outputs of a `Stepper`.

    Actions are held for a period; ``info["t"]`` is the time. Observations and actions are arrays in
    the order of the ports. An episode is truncated at its end time. There is no audit: judge model
    and steps by a run of `simulate`.

    Parameters
    ----------
    model : Model, function or ModelWithParts
        The model.
    inputs : mapping of names to ports
        Forces, as of `Stepper`: {"motor": ("effort", "axle")}.
    outputs : mapping of names to ports, or list of ports
        Coordinates, rates and positions, as of `Stepper`.
    limits : mapping of names to pairs
        Smallest and largest value of each input [N, N m].
    reward : function
        ``reward(outputs, inputs)`` of both by name, after each period.
    period : float [s]
        Time between actions.
    t_end : float [s]
        End of an episode.
    step, formalism, coordinates, integrator, stabilization, rtol, atol, rho_inf : optional
        Options of the runs, as of `simulate`; by default those of the model. Formalisms and
        integrators by name.
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
    period, t_end = read_number(period, "period"), read_number(t_end, "t_end")
    if not 0.0 < period <= t_end:
        raise InputError(f"period: must be within 0 … t_end = {t_end:g} s, not {period:g}")
    last = math.ceil(t_end / period - 1e-9)
    given = stated(
        t_end=t_end, step=step, formalism=formalism, coordinates=coordinates,
        integrator=integrator, stabilization=stabilization, rtol=rtol, atol=atol, rho_inf=rho_inf,
    )  # fmt: skip
    run_with(None, given)  # checks them
    bounds = _bounds(inputs, limits)
    spread = _distributions(vary)
    for key, function in {"reward": reward, **({} if ended is None else {"ended": ended})}.items():
        if not callable(function):
            raise InputError(f"{key}: {shown(function)} is not a function of the outputs")
    made(model, {name: value for name, each in spread.items() for value in each.checked[:1]})

    class Environment(gymnasium.Env):  # type: ignore[misc, name-defined]
        """A model of flexmbs."""

        metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

        def __init__(self) -> None:
            """Environment with action and observation spaces for the ports of the stepper."""
            low, high = np.array(list(bounds.values())).T
            self.action_space = gymnasium.spaces.Box(low, high, dtype=np.float64)
            self.stepper, self._periods = self._begun(made(model, {})), 0
            n = len(self.stepper.outputs)
            self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (n,), np.float64)

        def _begun(self, built: Any) -> Stepper:
            """New stepper at the start of an episode."""
            run = dataclasses.asdict(run_with(built.run, given))  # type: ignore[arg-type]
            del run["output_step"]  # none are stored
            return Stepper(built, **run, inputs=inputs, outputs=outputs)

        def _observed(self) -> np.ndarray:
            """Observation: the outputs as an array."""
            return np.array(list(self.stepper.outputs.values()))

        def reset(
            self, *, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[np.ndarray, dict[str, Any]]:
            """Start an episode with drawn parameters; observation and info."""
            super().reset(seed=seed)
            drawn = {name: each.at(float(self.np_random.random())) for name, each in spread.items()}
            self.stepper, self._periods = self._begun(made(model, drawn)), 0
            return self._observed(), {"t": self.stepper.t, **drawn}

        def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
            """Apply an action for one period; observation, reward, ends and info."""
            if self._periods == last:
                raise InputError("step: the episode is over; reset the environment")
            for (name, (low, high)), value in zip(bounds.items(), _values(action, bounds)):
                self.stepper.inputs[name] = min(max(value, low), high)
            self._periods += 1
            t = self.stepper.advance(min(self._periods * period, t_end))
            known = dict(self.stepper.outputs)
            over = False if ended is None else _truth(ended(known), t)
            gained = read_number(reward(known, dict(self.stepper.inputs)), f"reward at t = {t:g} s")
            return self._observed(), gained, over, self._periods == last, {"t": t}

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


def _values(action: Any, bounds: Mapping[str, Any]) -> list[float]:
    """Action as one number for each input. Raises `InputError`."""
    try:
        values = np.asarray(action, float).ravel()
    except (TypeError, ValueError):
        values = np.zeros(0)
    if len(values) != len(bounds):
        raise InputError(
            f"action: {shown(action)}; give {len(bounds)} numbers, in the order {', '.join(bounds)}"
        )
    return values.tolist()


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
