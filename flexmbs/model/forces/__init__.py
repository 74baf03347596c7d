"""Forces: on joint coordinates, on frames, between frames.

Each kind of force has its own file and is registered by one line here.
"""

from flexmbs.model.forces.bushing import Bushing as Bushing
from flexmbs.model.forces.force import AlongLine as AlongLine
from flexmbs.model.forces.force import BetweenFrames as BetweenFrames
from flexmbs.model.forces.force import Force as Force
from flexmbs.model.forces.force import JointForce as JointForce
from flexmbs.model.forces.force import OnCombination as OnCombination
from flexmbs.model.forces.force import OnFrame as OnFrame
from flexmbs.model.forces.force import OnJoints as OnJoints
from flexmbs.model.forces.force import OnSeveral as OnSeveral
from flexmbs.model.forces.force import joints_read as joints_read
from flexmbs.model.forces.force import loaded_by_reactions as loaded_by_reactions
from flexmbs.model.forces.frame_force import FrameForce as FrameForce
from flexmbs.model.forces.hydraulic_cylinder import HydraulicCylinder as HydraulicCylinder
from flexmbs.model.forces.joint_friction import JointFriction as JointFriction
from flexmbs.model.forces.joint_spring import JointSpring as JointSpring
from flexmbs.model.forces.joint_torque import JointTorque as JointTorque
from flexmbs.model.forces.loaded_friction import GuideFriction as GuideFriction
from flexmbs.model.forces.loaded_friction import LoadedFriction as LoadedFriction
from flexmbs.model.forces.loaded_friction import PinFriction as PinFriction
from flexmbs.model.forces.lugre_friction import LuGreFriction as LuGreFriction
from flexmbs.model.forces.point_spring import PointSpring as PointSpring
from flexmbs.model.forces.robot_control import RobotControl as RobotControl
from flexmbs.model.forces.transmission import Transmission as Transmission
from flexmbs.model.forces.user_force import UserForce as UserForce
from flexmbs.model.forces.user_friction import UserFriction as UserFriction
from flexmbs.model.forces.user_joint_forces import UserJointForces as UserJointForces
from flexmbs.model.forces.wheel_creep import WheelCreep as WheelCreep
