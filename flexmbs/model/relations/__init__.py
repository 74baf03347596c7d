"""Relations: constraints between two frames other than joints.

Each kind has its own file and is registered by one line here.
"""

from flexmbs.model.relations.distance import Distance as Distance
from flexmbs.model.relations.holonomic import Holonomic as Holonomic
from flexmbs.model.relations.knife_edge import KnifeEdge as KnifeEdge
from flexmbs.model.relations.point_on_curve import PointOnCurve as PointOnCurve
from flexmbs.model.relations.point_on_surface import PointOnSurface as PointOnSurface
from flexmbs.model.relations.relation import Relation as Relation
from flexmbs.model.relations.relation import nonholonomic as nonholonomic
from flexmbs.model.relations.rolling_disc import DiscOnPlane as DiscOnPlane
from flexmbs.model.relations.rolling_disc import RollingDisc as RollingDisc
from flexmbs.model.relations.rolling_sphere import RollingSphere as RollingSphere
from flexmbs.model.relations.velocity_rows import VelocityRows as VelocityRows
