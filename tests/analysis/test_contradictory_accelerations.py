"""Constraints that agree in positions and velocities, but not in accelerations."""

import numpy as np
import pytest

import flexmbs as fm


def cranks(second: object) -> fm.Model:
    """A parallelogram with drives at both cranks."""
    places = {"left": (0.0, 0.0, 0.0), "right": (1.0, 0.0, 0.0)}
    model = fm.Model("two drives", gravity=(0, 0, -9.81), frames=places)
    shape = {"mass": 1.0, "inertia": (0.02, 0.02, 0.001)}
    for name in places:
        crank = model.add(
            fm.RigidBody(name, **shape, com=(0, 0, 0.25), frames={"end": (0, 0, 0.5)})
        )
        model.add(fm.Revolute(f"pin {name}", f"ground/{name}", crank, axis="y", q0=0.3, v0=1.0))
    coupler = fm.RigidBody("coupler", **shape, com=(0.5, 0, 0), frames={"end": (1.0, 0, 0)})
    model.add(coupler)
    model.add(fm.Revolute("knee left", "left/end", "coupler", axis="y", q0=-0.3, v0=-1.0))
    model.add(fm.Revolute("knee right", "right/end", "coupler/end", axis="y", q0=-0.3, v0=-1.0))
    model.add(fm.Drive("one", "pin left", fm.Ramp(0.3, 1.0)))
    model.add(fm.Drive("two", "pin right", second))
    return model


AGREES = fm.Ramp(0.3, 1.0)
# the same position and velocity at t = 0, but an acceleration
CONTRADICTS = fm.Function(lambda t: 0.3 + t + 0.5 * t**2)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_contradictory_drives_are_refused(coordinates: str) -> None:
    """Formalisms resolved the contradiction differently, and Newton's method failed later."""
    how = {"t_end": 0.01, "step": 1e-3, "coordinates": coordinates}
    with pytest.raises(fm.InputError, match="its accelerations contradict the other constraints"):
        fm.simulate(cranks(CONTRADICTS), **how)
    with pytest.warns(fm.AuditWarning, match="redundant constraints"):
        run = fm.simulate(cranks(AGREES), **how)
    np.testing.assert_allclose(run.joint("pin right").velocity, 1.0, atol=1e-9)


def test_a_locked_model_contradicts_nothing() -> None:
    """Round-off of accelerations that are all zero."""
    model = fm.Model("locked", gravity=(0, 0, 0))
    shape = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}
    bar, other = (model.add(fm.RigidBody(name, **shape)) for name in ("bar", "other"))
    model.add(fm.Revolute("pin", model.ground, bar, axis="y"))
    model.add(fm.Fixed("weld", bar, other))
    model.add(fm.Revolute("other pin", model.ground, other, axis="x"))
    with pytest.warns(fm.AuditWarning, match="redundant constraints"):
        fm.simulate(model, t_end=0.01, step=1e-3)
