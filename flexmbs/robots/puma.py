"""PUMA 560, the arm of many textbooks."""

import math

import numpy as np

from flexmbs.model.bodies import Body
from flexmbs.robots.links import Link, Motor
from flexmbs.robots.robot import Robot

# a, α, d, mass, centre of mass, moments of inertia
BODIES = (
    (0.0, 90, 0.67183, 0.0, (0, 0, 0), (0, 0.35, 0)),
    (0.4318, 0, 0.0, 17.4, (-0.3638, 0.006, 0.2275), (0.13, 0.524, 0.539)),
    (0.0203, -90, 0.15005, 4.8, (-0.0203, -0.0141, 0.07), (0.066, 0.086, 0.0125)),
    (0.0, 90, 0.4318, 0.82, (0, 0.019, 0), (1.8e-3, 1.3e-3, 1.8e-3)),
    (0.0, -90, 0.0, 0.34, (0, 0, 0), (0.3e-3, 0.4e-3, 0.3e-3)),
    (0.0, 0, 0.0, 0.09, (0, 0, 0.032), (0.15e-3, 0.15e-3, 0.04e-3)),
)
# inertia, gear, viscous and Coulomb friction of the motors; limits in degrees
JOINTS = (
    (200e-6, -62.6111, 1.48e-3, (0.395, -0.435), (-160, 160)),
    (200e-6, 107.815, 0.817e-3, (0.126, -0.071), (-45, 225)),
    (200e-6, -53.7063, 1.38e-3, (0.132, -0.105), (-225, 45)),
    (33e-6, 76.0364, 71.2e-6, (11.2e-3, -16.9e-3), (-110, 170)),
    (33e-6, 71.923, 82.6e-6, (9.26e-3, -14.5e-3), (-100, 100)),
    (33e-6, 76.686, 36.7e-6, (3.96e-3, -10.5e-3), (-266, 266)),
)
# The identified moments of inertia are not physical: for links 1 and 3 one exceeds the sum of the
# others. Moments about the axes normal to a joint axis can be moved between the adjacent links
# without changing the motion (Gautier, Khalil, IEEE Trans. Robotics and Automation 6 (1990) 368);
# here they are regrouped into physical ones.
ABOUT_JOINT_1 = np.array([0.175, 0.0, 0.175])  # to link 1 from the base
ABOUT_JOINT_3 = 0.004  # to link 3 from link 2


def puma560(*, motors: bool = True, payload: Body | None = None) -> Robot:
    """PUMA 560 with the data of Corke and Armstrong-Hélouvry, IEEE ICRA (1994) 1608.

    Standard convention, base at its foot.

    motors: True to include inertia and friction of the motors.  payload: a body whose frame is
    fixed to the flange.
    """
    moments = [np.array(row[5], float) for row in BODIES]
    moments[0] = moments[0] + ABOUT_JOINT_1
    moments[1] = moments[1] - ABOUT_JOINT_3 * np.array([1.0, 1.0, 0.0])
    moments[2] = moments[2] + ABOUT_JOINT_3 * np.array([1.0, 0.0, 1.0])
    links = [
        Link(
            a=a,
            alpha=math.radians(alpha),
            d=d,
            mass=mass,
            com=com,
            inertia=inertia,
            limits=tuple(map(math.radians, limits)),
            motor=Motor(inertia=J, gear=gear, viscous=viscous, coulomb=coulomb) if motors else None,
        )
        for (a, alpha, d, mass, com, _), (J, gear, viscous, coulomb, limits), inertia in zip(
            BODIES, JOINTS, moments
        )
    ]
    return Robot.from_dh(links, name="PUMA 560", payload=payload)
