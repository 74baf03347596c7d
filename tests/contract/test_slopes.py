"""Stiffness and damping in Newton's matrix against differences of the residual, for every location
of forces.

Bodies move without rotation, or rotate about a point without force, so that forces change by the
slopes of the laws only.
"""

import numpy as np
import pytest
from samples import state

import flexmbs as fm
from flexmbs._jit.address import address_of
from flexmbs.dynamics.dense import dense_mass
from flexmbs.dynamics.equations import residual
from flexmbs.dynamics.kinematics import displace
from flexmbs.dynamics.kkt import kkt_at
from flexmbs.system.records import Equations, Evaluation


def slopes_of(model):
    """(K, D) of Newton's matrix, and by central differences of
    the residual, at the initial state.
    """
    now = state(model)
    ns, nc, nz = (int(n) for n in now.system.layout[2:])
    zero, r, none = np.zeros(ns), np.zeros(ns), np.zeros(nc)

    def forces(q, s, slopes=False):
        residual(now.system, now.work, 0.0, Evaluation(q, s, zero, none, np.zeros(nz), r), slopes)
        return r.copy()

    def moved(d):
        q = now.q.copy()
        displace(now.system.tree, now.system.joints, now.q, d, q)
        return q

    forces(now.q, now.s, slopes=True)
    here, found = address_of(Evaluation(now.q, r, r, r, r, r)), []
    for c_damping in (0.0, 1.0):
        kkt_at.function(Equations(now.system, now.work), here, 0.0, 0.0, c_damping)
        found.append(np.zeros((ns, ns)))
        dense_mass(now.system.elimination, now.work.values, found[-1])
    h = 1e-6
    K = [(forces(moved(h * e), now.s) - forces(moved(-h * e), now.s)) / (2 * h) for e in np.eye(ns)]
    D = [
        (forces(now.q, now.s + h * e) - forces(now.q, now.s - h * e)) / (2 * h) for e in np.eye(ns)
    ]
    return found[0], found[1] - found[0], np.array(K).T, np.array(D).T


def check(model):
    K, D, K_found, D_found = slopes_of(model)
    size = max(np.abs(K_found).max(), np.abs(D_found).max())
    assert size > 0.1
    np.testing.assert_allclose(K, K_found, atol=1e-5 * size)
    np.testing.assert_allclose(D, D_found, atol=1e-5 * size)


def body(joint, **given):
    """A body with an oblique frame on a joint from an oblique frame of the ground."""
    base = fm.Frame((0.4, -0.3, 0.2), ((0.1, -0.5, 0.6), 0.7))
    model = fm.Model("slopes", gravity=(0, 0, 0), frames={"base": base})
    oblique = fm.Frame(rotation=((0.3, 0.7, -0.2), 0.9))
    model.add(fm.RigidBody("body", mass=1.0, inertia=(1, 1, 1), frames={"end": oblique}))
    model.add(joint("motion", "ground", "body", **given))
    return model


@pytest.mark.parametrize("seed", range(4))
def test_between_points(seed):
    """A spring in tension stiffens across its line by tension over length."""
    rng = np.random.default_rng(seed)
    model = body(fm.Translation, q0=rng.normal(size=3) + 2.0)
    model.add(
        fm.PointSpring(
            "spring",
            "ground/base",
            "body/end",
            k=rng.uniform(1, 9),
            c=rng.uniform(1, 9),
            length=0.5,
        )
    )
    check(model)


def pulled(t, x, v):
    return 3.0 * x + 2.0 * x**3 + 0.5 * v


@pytest.mark.parametrize("seed", range(4))
def test_between_frames(seed):
    """Displacements of a body that does not turn, and turns at no moment; one stiffness and damping
    for each axis.
    """
    rng = np.random.default_rng(seed)
    model = body(fm.Translation, q0=rng.normal(size=3))
    model.add(
        fm.Bushing(
            "bearing", "ground/base", "body/end", k=rng.uniform(1, 9, 6), c=rng.uniform(1, 9, 6)
        )
    )
    check(model)
    model = fm.Model("turns", gravity=(0, 0, 0))
    model.add(fm.RigidBody("body", mass=1.0, inertia=(1, 1, 1)))
    model.add(fm.Spherical("motion", "ground", "body"))
    model.add(
        fm.Bushing("bearing", "ground", "body", k=rng.uniform(1, 9, 6), c=rng.uniform(1, 9, 6))
    )
    check(model)


@pytest.mark.parametrize(
    "law", [fm.SpringDamper(k=3.0, c=0.7, x0=0.1), fm.PD(kp=5.0, kd=0.4, reference=0.2), pulled]
)
def test_in_a_joint(law):
    model = body(fm.Prismatic, q0=0.3, v0=0.2, axis="x")
    if law is pulled:
        law = lambda t, x, v: -pulled(t, x, v)  # noqa: E731
    model.add(fm.JointTorque("force", "motion", law))
    check(model)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("friction", [0.0, 0.4])
def test_contacts_by_a_law(seed, friction):
    """With some indentation, approaching or separating, at rest along the plane."""
    rng = np.random.default_rng(seed)
    law = fm.HuntCrossley(
        10.0 ** rng.uniform(2, 4), exponent=rng.uniform(1.2, 2.5), damping=rng.uniform(0, 0.3)
    )
    model = body(fm.Translation, q0=(0.3, -0.2, 0.05), v0=(0.0, 0.0, rng.uniform(-1, 1)))
    model.add(fm.SpherePlane("floor", "ground", "body", radius=0.1, friction=friction, law=law))
    check(model)


def test_stop_by_a_law():
    model = body(fm.Prismatic, q0=0.3, v0=0.2, axis="x")
    model.add(fm.JointLimit("stop", "motion", upper=0.25, law=fm.HuntCrossley(500.0, damping=0.2)))
    check(model)
