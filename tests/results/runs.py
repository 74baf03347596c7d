"""Small models and their runs for the tests of results."""

import flexmbs as fm

G, MASS, LENGTH = 9.81, 2.0, 0.6  # a uniform rod


def rod(name: str = "rod") -> fm.RigidBody:
    """Rod along x of the body, hinged at its end."""
    inertia = MASS * LENGTH**2 / 12
    frames = {"hinge": (0.0, 0.0, 0.0), "tip": (LENGTH, 0.0, 0.0)}
    return fm.RigidBody(
        name, mass=MASS, inertia=(1e-4, inertia, inertia), com=(LENGTH / 2, 0.0, 0.0), frames=frames
    )


def driven_rod(speed: float, *, reverse: bool = False) -> fm.Model:
    """Rod that a drive turns about −y at constant speed, so that positive angles lift it."""
    model = fm.Model("driven rod", gravity=(0.0, 0.0, -G))
    body = model.add(rod())
    ends = (body["hinge"], model.ground) if reverse else (model.ground, body["hinge"])
    hinge = model.add(fm.Revolute("hinge", *ends, axis="y" if reverse else "-y", v0=speed))
    model.add(fm.Drive("motor", hinge, fm.Ramp(-speed, speed, start=-1.0)))
    return model


def hanging(*, damping: float = 0.0, angle: float = 0.4) -> fm.Model:
    """Rod that swings about y from an angle to the vertical; q = 0 is horizontal."""
    model = fm.Model("pendulum", gravity=(0.0, 0.0, -G))
    body = model.add(rod())
    hinge = model.add(
        fm.Revolute("hinge", model.ground, body["hinge"], axis="y", q0=1.5707963267948966 + angle)
    )
    model.add(fm.JointSpring("damper", hinge, k=0.0, c=damping))
    return model


def parallelogram() -> fm.Model:
    """Two equal cranks and a coupler on four parallel hinges: three of the loop's rows depend on
    the others.
    """
    model = fm.Model("parallelogram", gravity=(0.0, 0.0, -G), frames={"right": (1.0, 0.0, 0.0)})
    left, right, coupler = model.add(rod("left")), model.add(rod("right")), model.add(_coupler())
    start = -0.7
    model.add(fm.Revolute("A", model.ground, left["hinge"], axis="y", q0=start))
    model.add(fm.Revolute("B", model.ground["right"], right["hinge"], axis="y", q0=start))
    model.add(fm.Revolute("C", left["tip"], coupler["left"], axis="y", q0=-start))
    model.add(fm.Revolute("D", right["tip"], coupler["right"], axis="y", q0=-start))
    return model


def _coupler() -> fm.RigidBody:
    frames = {"left": (0.0, 0.0, 0.0), "right": (1.0, 0.0, 0.0)}
    return fm.RigidBody(
        "coupler", mass=1.0, inertia=(1e-3, 0.1, 0.1), com=(0.5, 0.0, 0.0), frames=frames
    )
