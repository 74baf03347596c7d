"""Models for the tests of the audit."""

import dataclasses

import flexmbs as fm
import flexmbs.studies.run.run_setup as preparation


def pendulums(n=2, *, gravity=(0, 0, -9.81), spring=0.0):
    """A chain of rods on hinges, with a spring on the last one."""
    model = fm.Model("pendulums", gravity=gravity)
    end = model.ground
    for i in range(n):
        rod = model.add(
            fm.RigidBody(
                f"rod{i}",
                mass=1.0,
                inertia=(0.01, 0.1, 0.1),
                com=(0.5, 0, 0),
                frames={"tip": (1, 0, 0)},
            )
        )
        model.add(fm.Revolute(f"hinge{i}", end, rod, axis="y", q0=0.3))
        end = rod["tip"]
    if spring:
        model.add(fm.JointSpring("spring", f"hinge{n - 1}", k=spring))
    return model


def oscillator(frequency=1.0, *, law=None):
    """x'' = −ω² x + f(t), 0.1 m beside its rest."""
    model = fm.Model("oscillator", gravity=(0, 0, 0))
    mass = model.add(fm.RigidBody("mass", mass=1.0, inertia=(1, 1, 1)))
    model.add(fm.Prismatic("guide", model.ground, mass, axis="x", q0=0.1))
    model.add(fm.JointSpring("spring", "guide", k=(6.283185307179586 * frequency) ** 2))
    if law is not None:
        model.add(fm.JointTorque("force", "guide", law))
    return model


def four_bar(*, gravity=(0, -9.81, 0), angle=1.0, speed=3.0):
    """Three rods on four hinges, closed by the last one."""
    model = fm.Model("four-bar", gravity=gravity, frames={"right": (1.0, 0, 0)})
    lengths = {"crank": 0.4, "coupler": 1.0, "rocker": 0.8}
    bodies = {}
    for name, length in lengths.items():
        rod = fm.RigidBody(
            name,
            mass=1.0,
            inertia=(0.01, 0.1, 0.1),
            com=(length / 2, 0, 0),
            frames={"tip": (length, 0, 0)},
        )
        bodies[name] = model.add(rod)
    model.add(fm.Revolute("main", model.ground, bodies["crank"], q0=angle, v0=speed))
    model.add(fm.Revolute("pin", bodies["crank"]["tip"], bodies["coupler"]))
    model.add(fm.Revolute("foot", model.ground["right"], bodies["rocker"], q0=1.6))
    model.add(fm.Revolute("knee", bodies["coupler"]["tip"], bodies["rocker"]["tip"]))
    return model


def ball(stiffness):
    """A ball of 10 g that falls on a plane by an elastic contact."""
    model = fm.Model("ball", gravity=(0, 0, -9.81))
    ball = model.add(fm.RigidBody("ball", mass=0.01, inertia=(1e-6,) * 3))
    model.add(fm.Translation("free", model.ground, ball, q0=(0, 0, 0.1)))
    model.add(
        fm.SpherePlane(
            "floor",
            model.ground,
            ball,
            radius=0.01,
            law=fm.HuntCrossley(stiffness=stiffness, damping=0.0),
        )
    )
    return model


def found(solution, title):
    """The check with this title."""
    return next((check for check in solution.audit if check.title == title), None)


def other_equations(monkeypatch, change):
    """Runs whose equations are not those of the model: ``change`` makes another record of them."""
    proper = preparation.in_coordinates

    def wrong(joint, start, coordinates):
        compiled, state = proper(joint, start, coordinates)
        return dataclasses.replace(compiled, system=change(compiled.system)), state

    monkeypatch.setattr(preparation, "in_coordinates", wrong)
