"""Models of robots with their controllers and motors."""

from flexmbs.api.model import Model
from flexmbs.errors import InputError
from flexmbs.model.argument_checks import checked_kind
from flexmbs.model.control.controllers import Controller
from flexmbs.model.forces import JointFriction, JointSpring, RobotControl
from flexmbs.model.rotors import RotorInertia
from flexmbs.robots.links import Motor
from flexmbs.robots.robot import Robot
from flexmbs.robots.robot_arguments import copy_of

CONTROL = "control"
# rad/s or m/s, rate at which the smoothed Coulomb friction reaches tanh(1) of its value
SLIDING = 1e-3


def controlled(robot: Robot, controller: Controller) -> Model:
    """Copy of the robot's model with a `RobotControl`, motor inertia and friction.

    For `simulate`; the controller's forces act on the joints.

    The controller may use another robot with the same coordinates, such as the rigid version of a
    flexible model. Coulomb friction acts as T tanh(q̇/10⁻³), inertia as a `RotorInertia` without
    gyroscopic terms. Raises `InputError`.
    """
    known = checked_kind("controller", Controller, controller).robot.coordinates
    if known != checked_kind("robot", Robot, robot).coordinates:
        raise InputError(
            f"controller: its coordinates are {', '.join(known)}, not "
            f"{', '.join(robot.coordinates)}"
        )
    model = copy_of(robot.model)
    model.add(RobotControl(CONTROL, robot.coordinates, controller))
    for name, (joint, number) in zip(robot.coordinates, robot.tree.coordinates):
        motor = robot.motors.get(joint, Motor())
        if motor.inertia and motor.gear:
            J, n = motor.inertia, motor.gear
            model.add(
                RotorInertia(
                    f"rotor {name}", joint, inertia=J, ratio=n, gyroscopic=False, coordinate=number
                )
            )
        if motor.viscous:
            c = motor.gear**2 * motor.viscous
            model.add(JointSpring(f"viscous friction {name}", joint, c=c, coordinate=number))
        up, down = (abs(motor.gear * T) for T in motor.coulomb)
        if up or down:
            rubs = {"coulomb": up, "reverse": down, "regularization": SLIDING}
            model.add(JointFriction(f"friction {name}", joint, coordinate=number, **rubs))
    return model
