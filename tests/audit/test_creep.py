"""Creep of smooth friction in the audit, against the closed form v = v_r artanh(Q/F_c) and for
motions that never stick.
"""

import numpy as np
import pytest
from audited_models import found
from draws import drawn

import flexmbs as fm

pytestmark = pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning")


def held(load: float, limit: float, *, smooth: float = 1e-3, moving: float = 0.0) -> fm.Model:
    """A block of 2 kg under a constant force, with smooth friction."""
    model = fm.Model("held block", gravity=(0, 0, 0))
    block = model.add(fm.RigidBody("block", mass=2.0, inertia=(0.1, 0.1, 0.1)))
    model.add(fm.Prismatic("rail", model.ground, block, axis="x", v0=moving))
    model.add(fm.JointTorque("load", "rail", load))
    model.add(fm.JointFriction("rub", "rail", coulomb=limit, regularization=smooth))
    return model


@pytest.mark.parametrize("seed", drawn(2, 20))
def test_creep_is_stated(seed: int) -> None:
    """Below the limit the block creeps at v_r artanh(Q/F_c), which the line states."""
    rng = np.random.default_rng(seed)
    limit, share, smooth = (
        10 ** rng.uniform(-1, 2),
        rng.uniform(0.1, 0.9),
        10 ** rng.uniform(-4, -2),
    )
    run = fm.simulate(held(share * limit, limit, smooth=smooth), t_end=20.0)
    check = found(run, "Sticking")
    assert check.status == "WARN"
    assert float(check.found.split("moved ")[1].split()[0]) == pytest.approx(
        20.0 * smooth * np.arctanh(share), rel=0.02
    )


def test_creep_without_effect_passes() -> None:
    """A steep law whose creep is far below what is seen, and a block that slides all the way, are
    right.
    """
    assert found(fm.simulate(held(6.0, 10.0, smooth=1e-8), t_end=20.0), "Sticking").status == "PASS"
    slides = fm.simulate(held(12.0, 10.0, moving=1.0), t_end=2.0)
    assert found(slides, "Sticking").found == "no friction crept"


def test_reversals_are_no_creep() -> None:
    """An oscillation far faster than the regularization: it passes rest, it does not stick."""
    model = held(0.0, 1.0, moving=3.0)
    model.add(fm.JointSpring("spring", "rail", k=200.0))
    run = fm.simulate(model, t_end=1.0)
    assert (np.diff(np.sign(run.joint("rail").velocity[:, 0])) != 0).sum() > 2
    assert found(run, "Sticking").status == "PASS"


def test_pinched_block_creeps() -> None:
    """A block between two pads of a contact law sinks under its weight at v_r artanh(m g/2μN)."""
    model = fm.Model("grip")
    block = model.add(fm.RigidBody("block", mass=0.045, inertia=(1e-5,) * 3))
    law = fm.HuntCrossley(stiffness=1e8, damping=0.3)
    for key, side in (("left", 1), ("right", -1)):
        pad = model.add(fm.RigidBody(key, mass=0.1, inertia=(1e-4,) * 3))
        model.add(fm.Prismatic(f"{key} guide", model.ground, pad, axis="x", q0=-side * 0.004))
        model.add(fm.JointTorque(f"{key} force", f"{key} guide", side * 20.0))
        model.add(fm.JointSpring(f"{key} damper", f"{key} guide", c=5.0))
        normal = "x" if side > 0 else "-x"
        model.add(
            fm.SpherePlane(
                f"{key} pad", pad, block, radius=0.004, normal=normal, friction=0.7, law=law
            )
        )
    model.add(fm.Free("free", model.ground, block))
    run = fm.simulate(model, t_end=3.0)
    check = found(run, "Sticking")
    assert check.status == "WARN"
    sinks = 3.0 * 1e-3 * np.arctanh(0.045 * 9.81 / (2 * 0.7 * 20.0))
    assert float(check.found.split("moved ")[1].split()[0]) == pytest.approx(sinks, rel=0.05)
