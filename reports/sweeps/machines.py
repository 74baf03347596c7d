"""The machines of the study, in a module that processes import."""

import flexmbs as fm


def pendulum(q0: float) -> fm.Model:
    """One link with a drive, some milliseconds of steps."""
    model = fm.Model("pendulum", run=fm.Run(t_end=0.2, step=1e-3, output_step=0.02))
    bob = model.add(
        fm.RigidBody("bob", mass=1.0, inertia=(0.01, 0.01, 0.01), frames={"pin": (0, 0, 1.0)})
    )
    hinge = model.add(fm.Revolute("hinge", model.ground, bob["pin"], axis="y", q0=q0))
    model.add(fm.JointTorque("motor", hinge, fm.PD(kp=2.0, kd=0.1, reference=0.3)))
    return model


def refused(q0: float) -> fm.Model:
    """A case that fails at once, but for the first one: what is left of its time is that of the
    sweep.
    """
    if q0 > 0.0:
        raise ValueError("no run")
    return pendulum(q0)


def arm(part: str) -> fm.Model:
    """Two flexible links with a tool, the shoulder driven along a smooth step."""
    model = fm.Model("arm", run=fm.Run(t_end=0.1, rtol=1e-4, atol=1e-7, output_step=0.005))
    upper, fore = (model.add(fm.FlexibleBody(name, part)) for name in ("upper", "fore"))
    tool = model.add(
        fm.RigidBody("tool", mass=0.4, inertia=(2e-4, 2e-4, 1e-4), frames={"flange": (0, 0, -0.05)})
    )
    shoulder = model.add(fm.Revolute("shoulder", model.ground, upper["hub"], axis="y", q0=-0.5))
    elbow = model.add(fm.Revolute("elbow", upper["tip"], fore["hub"], axis="y", q0=1.0))
    model.add(fm.Fixed("wrist", fore["tip"], tool["flange"]))
    lift = fm.SmoothStep(-0.45, initial=-0.5, start=0.0, duration=0.1)
    model.add(fm.JointTorque("shoulder drive", shoulder, fm.PD(kp=800, kd=30, reference=lift)))
    model.add(fm.JointTorque("elbow drive", elbow, fm.PD(kp=400, kd=10, reference=1.0)))
    return model
