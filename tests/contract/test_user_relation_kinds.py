"""Contract of user-defined constraints between flexible bodies: rows and rates, the same
accelerations by every formalism.
"""

import functools
import math

import numpy as np
import pytest
from formalism_contract import reference
from instants import instants_of
from samples import GRAVITY, Random, flexible, rigid, some_frame, some_joint, state_of
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation
from test_relation_kinds import at, central, contact_rows, moved

import flexmbs as fm
from flexmbs.dynamics.dense import multipliers_of_least_norm
from flexmbs.formalisms import FORMALISMS
from flexmbs.initial.initial_state import InitialState, consistent_state
from flexmbs.model.joints import Joint
from flexmbs.model.relations import Relation
from flexmbs.studies.states.evaluate import evaluate
from flexmbs.system.compile import Compiled


def surface(t, x, A):
    """A point on a wavy surface that rises, an axis that keeps an angle to the parent's."""
    return np.array(
        [x[2] - 0.2 * np.sin(x[0]) * x[1] - 0.1 * t, A[8] + 0.3 * A[1] - 0.4 * x[1] * A[3]]
    )


def real_surface(t, x, A):
    """The same by functions without support of complex numbers."""
    return [x[2] - 0.2 * math.sin(x[0]) * x[1] - 0.1 * t, A[8] + 0.3 * A[1] - 0.4 * x[1] * A[3]]


def surface_rows(t, x, A):
    def turned(column, row):
        """Rate of A[row, column] = e_row · (ω × a)."""
        return np.cross(A[column::3], np.eye(3)[row])

    first = [-0.2 * np.cos(x[0]) * x[1], -0.2 * np.sin(x[0]), 1.0, 0.0, 0.0, 0.0, -0.1]
    second = np.concatenate(
        [
            [0.0, -0.4 * A[3], 0.0],
            turned(2, 2) + 0.3 * turned(1, 0) - 0.4 * x[1] * turned(0, 1),
            [0.0],
        ]
    )
    return np.array([first, second])


def rows(t, x, A):
    return np.array(
        [
            [A[0], x[1], 0.3, A[4], 0.2 * x[2], -A[7], 0.1 * t + x[0]],
            [0.0, 1.0, x[2], 0.0, A[2], 0.5, 0.3 * A[5]],
        ]
    )


KINDS = {
    "holonomic": (
        fm.Holonomic,
        {"function": surface, "jacobian": surface_rows, "equations": 2, "rheonomic": True},
    ),
    "holonomic by complex steps": (
        fm.Holonomic,
        {"function": surface, "equations": 2, "rheonomic": True},
    ),
    "velocity-rows": (
        fm.VelocityRows,
        {"function": rows, "equations": 2, "axes": "parent", "rheonomic": True},
    ),
    "holonomic by differences": (
        fm.Holonomic,
        {"function": real_surface, "equations": 2, "rheonomic": True},
    ),
    "velocity-rows constant": (
        fm.VelocityRows,
        {"covectors": [(0.3, -1, 0.2, 0.5, 0.1, -0.7, 0.4), (1, 0, 0, 0, 1, 0)]},
    ),
}


def test_every_registered_kind_is_here():
    made = {
        kind
        for kind, made in Joint.kinds.items()
        if issubclass(made, Relation) and "function" in made.field_names()
    }
    assert {name.split()[0] for name in KINDS} == made


def closed_pose(rng: Random) -> tuple[float, ...]:
    """A random pose moved onto the surface: the search for the start from one off it would be most
    of the time.
    """
    x, turn = rng.normal(size=3), rng.normal(size=3) / 2

    def values(d: np.ndarray) -> np.ndarray:
        return surface(0.0, x + d[:3], Rotation.from_rotvec(turn + d[3:]).as_matrix().ravel())

    d = least_squares(values, np.zeros(6), xtol=1e-15, ftol=1e-15, gtol=1e-15).x
    return (*(x + d[:3]), *Rotation.from_rotvec(turn + d[3:]).as_quat(scalar_first=True))


def constrained(kind: str) -> fm.Model:
    """ground – revolute – flexible "first" and flexible or rigid "second", free; the constraint
    between them.
    """
    seed = list(KINDS).index(kind)
    rng = np.random.default_rng(seed)
    model = fm.Model("constrained", gravity=GRAVITY, frames={"post": some_frame(rng)})
    first = model.add(flexible("first", rng))
    second = model.add(rigid("second", rng) if seed == 1 else flexible("second", rng, nf=2))
    model.add(some_joint("revolute", "base", model.ground["post"], first["a"], rng))
    model.add(
        fm.Free(
            "motion", first["b"], second["a"], q0=closed_pose(rng), v0=tuple(rng.normal(size=6))
        )
    )
    make, parameters = KINDS[kind]
    model.add(make("contact", first["b"], second["a"], **parameters))
    return model


@functools.cache
def assembled(kind: str) -> tuple[Compiled, InitialState]:
    """The model at its consistent start."""
    return consistent_state(constrained(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_values_differentiate_to_rates(kind):
    """g to G s + γ̄ and this to G ṡ − γ along a motion, time included; G is what the velocities are
    multiplied with.
    """
    now = state_of(*assembled(kind))
    mine = contact_rows(now)
    joint = now.compiled.model.joints["contact"]
    rng = np.random.default_rng(5)
    s, sd = rng.normal(size=(2, len(now.s)))

    def values(h: float) -> np.ndarray:
        at(now, moved(now, h * s + 0.5 * h * h * sd), s + h * sd, sd, h)
        return np.array(now.work.gs)[:, mine]

    here = values(0.0)
    n = joint.position_rows
    assert np.abs(here[1, :n] - central(lambda h: values(h)[0, :n])).max(initial=0.0) < 1e-9
    assert np.abs(here[2] - central(lambda h: values(h)[1])).max() < 1e-8
    G = instants_of(*assembled(kind))["joint"].terms().G[mine]
    zero = np.zeros(len(s))
    at(now, now.q, s, zero)
    gap = now.work.gs.velocity[mine].copy()
    at(now, now.q, zero, zero)
    assert np.abs(gap - now.work.gs.velocity[mine] - G @ s).max() < 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_every_formalism_gives_the_same_accelerations(kind):
    for coordinates, instant in instants_of(*assembled(kind)).items():
        t = instant.terms()
        wanted = reference(t)
        for formalism in FORMALISMS.values():
            if coordinates not in formalism.coordinates:
                continue
            sd, lam = evaluate(
                instant.compiled, formalism(), 0.0, instant.q, instant.s, instant.z, instant.beta
            )
            assert np.abs(sd - wanted.sd).max() < 1e-9 * (1.0 + np.abs(wanted.sd).max())
            assert np.abs(multipliers_of_least_norm(t.G, lam) - wanted.lam).max() < 1e-9 * (
                1.0 + np.abs(wanted.lam).max()
            )
