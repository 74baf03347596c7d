"""Shapes on bodies, by the name of their kind in model files."""

from flexmbs.model.shapes.gear_shape import GearShape as GearShape
from flexmbs.model.shapes.mesh_shape import MeshShape as MeshShape
from flexmbs.model.shapes.primitives import Box as Box
from flexmbs.model.shapes.primitives import Capsule as Capsule
from flexmbs.model.shapes.primitives import Cone as Cone
from flexmbs.model.shapes.primitives import Cylinder as Cylinder
from flexmbs.model.shapes.primitives import Ellipsoid as Ellipsoid
from flexmbs.model.shapes.primitives import Plane as Plane
from flexmbs.model.shapes.primitives import Sphere as Sphere
from flexmbs.model.shapes.primitives import Tube as Tube
from flexmbs.model.shapes.shape import Shape as Shape
from flexmbs.model.shapes.shape import Shapes as Shapes
