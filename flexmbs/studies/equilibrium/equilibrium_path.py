"""Checks of equilibria along a path: their stability, and jumps between branches."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from flexmbs.errors import InputError, SolverError
from flexmbs.results.state import State
from flexmbs.studies.equilibrium.equilibrium import Equilibrium
from flexmbs.studies.states.balance import balance
from flexmbs.studies.states.state_sequence import displacement
from flexmbs.system.check import PASS, WARN, Check
from flexmbs.system.step_scales import displacement_sizes

NOTED = 0.01  # rad or of the size of the model: smaller displacements between outputs are no jumps
LIKE = 0.5  # of a displacement: how far a smooth branch departs from its tangent at most
# between two outputs: a smooth branch moves by 2⁻⁶ of their displacement in the last part, one that
# turns back at a limit point by 2⁻³, a jump by nearly all of it
HALVINGS = 6
JUMPS = 0.5  # share of the step that remains however often it is halved
CONFIRMED = 2  # largest displacements that are looked for in detail
REMEDY = "follow the path by displacements, with a drive instead of the load, or simulate the model"


def growth(found: Equilibrium) -> float:
    """Growth rate (1/s): largest real part of the eigenvalues, 0 if stable."""
    return 0.0 if found.stable else float(found.eigenvalues.real.max())


def path_checks(
    states: Sequence[State], growths: Sequence[float], followed: Callable[[State, float], State]
) -> list[Check]:
    """Checks of stability at the outputs, by the `growth` of each, and of jumps between them.

    followed: to a time.
    """
    unstable = np.flatnonzero(growths)
    check = Check("Stability", PASS, f"stable: no mode grows at {len(states)} outputs")
    if len(unstable):
        first = int(unstable[0])
        text = (
            f"unstable at {len(unstable)} of {len(states)} outputs, the first at t = "
            f"{states[first].t:.6g} s:"
        )
        text += f" a mode grows by {growths[first]:.3g} 1/s"
        check = Check(
            "Stability", WARN, text, "simulate the model, which does not stay on this branch"
        )
    return [check, *_jumps(states, followed)]


def _jumps(states: Sequence[State], followed: Callable[[State, float], State]) -> list[Check]:
    """WARN for the largest jump between outputs of a followed equilibrium; empty if none."""
    sizes = displacement_sizes(states[0].compiled)

    def span(a: State, b: State) -> float:
        """Largest scaled displacement between two states."""
        return float(np.abs(displacement(a, b) / sizes).max(initial=0.0))

    found = sorted(
        (
            pair
            for pair in itertools.pairwise(states)
            if span(*pair) > NOTED and not _smooth(*pair, sizes)
        ),
        key=lambda pair: -span(*pair),
    )
    jumps = []
    for a, b in found[:CONFIRMED]:
        whole = span(a, b)
        try:
            for _ in range(HALVINGS):
                middle = followed(a, 0.5 * (a.t + b.t))
                a, b = (a, middle) if span(a, middle) > span(middle, b) else (middle, b)
        except (InputError, SolverError):
            pass  # not even smaller steps follow the branch
        if span(a, b) > JUMPS * whole:
            jumps.append((b.t, span(a, b)))
    if not jumps:
        return []
    t, size = min(jumps)
    text = (
        f"jump by {size:.2g} rad or of the model's size at t = {t:.6g} s: its branch ends or "
        "is left there"
    )
    return [Check("Branch", WARN, text, REMEDY)]


def _smooth(a: State, b: State, sizes: np.ndarray) -> bool:
    """True if the tangent of the branch at b leads back to a."""
    back = displacement(b, a)
    try:
        here = balance(replace(b, t=a.t))
        delta, _ = here.step(np.zeros(len(here.r)))
    except SolverError:
        return False
    return bool(
        np.abs((delta - back) / sizes).max(initial=0.0)
        <= LIKE * np.abs(back / sizes).max(initial=0.0)
    )
