"""Contacts between shapes on frames, and joint limits.

Each kind of contact has its own file and is registered by one line here.
"""

from flexmbs.model.contacts.cam import CamFace as CamFace
from flexmbs.model.contacts.cam import CamRoller as CamRoller
from flexmbs.model.contacts.contact import Contact as Contact
from flexmbs.model.contacts.contact import CoordinateContact as CoordinateContact
from flexmbs.model.contacts.contact import FrameContact as FrameContact
from flexmbs.model.contacts.contact import UnilateralContact as UnilateralContact
from flexmbs.model.contacts.contact import declared_contact as declared_contact
from flexmbs.model.contacts.corner_line import CornerLine as CornerLine
from flexmbs.model.contacts.curve_contact import CurveContact as CurveContact
from flexmbs.model.contacts.dry_friction import DryFriction as DryFriction
from flexmbs.model.contacts.joint_limit import JointLimit as JointLimit
from flexmbs.model.contacts.rope import Rope as Rope
from flexmbs.model.contacts.sphere_plane import SpherePlane as SpherePlane
from flexmbs.model.contacts.sphere_sphere import SphereSphere as SphereSphere
from flexmbs.model.contacts.unilateral_coupling import UnilateralCoupling as UnilateralCoupling
from flexmbs.model.contacts.user_contact import UserContact as UserContact
