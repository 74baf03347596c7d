"""Base classes of forces: the point of action determines the arguments and results of the law.

Forces act on five kinds of location, each with one loop over its forces
(`flexmbs.dynamics.forces`): a joint coordinate, several joint coordinates, a frame, the line
between two frames, two frames. A kind of force defines only its law: the kernel
(`flexmbs.law_kernel.LawKernel`) is in the file of its declaration.

"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import model_validator

from flexmbs.declaration import NestedError
from flexmbs.law_kernel import Row
from flexmbs.model.couplings import AnyCoordinates, Factors, Term, coordinate_of
from flexmbs.model.fields import Index
from flexmbs.model.frames import FrameLike, JointLike
from flexmbs.model.item import CoordinateUse, Item

if TYPE_CHECKING:
    from flexmbs.model.joints import Joint


class Force(Item, section="forces"):
    """Force element. ``place``: location of action, a field of `flexmbs.system.records.Forces`."""

    place: ClassVar[str]
    undefined: ClassVar[str] = (
        "its law does not give a finite force in this state; correct its values, or start in "
        "another state"
    )

    def row(self) -> Row:
        """Record of the law kernel, its parameters and laws of time."""
        raise NotImplementedError

    def frames(self) -> tuple[Any, ...]:
        """Frames on which the force acts; empty if it acts on a joint."""
        return ()


class JointForce(Force):
    """Generalized force τ (N or N m) on one degree of freedom of a joint.

    Law: x = (t, coordinate, rate η, force states z) → out = (τ, its dissipative part, ż); slopes
    (−∂τ/∂x, −∂τ/∂η). A ``loaded`` law receives F_across, F_along, M_bending, M_torsion of the
    joint's reaction (`flexmbs.dynamics.joint_loads`) as z.

    Parameters
    ----------
    joint : joint
        The joint, by handle or name.
    coordinate : int
        Index of the degree of freedom of the joint, from 0.
    """

    place: ClassVar[str] = "joint"

    joint: JointLike = dataclasses.field(kw_only=False)
    coordinate: Index = 0

    @property
    def creep_rate(self) -> float:
        """Rate (m/s or rad/s) below which friction that is smooth at rest creeps.

        99 % of its limit is reached there; 0 for other laws.
        """
        return 0.0

    def coordinate_used(self) -> CoordinateUse:
        """Joint coordinate on which the force acts."""
        return CoordinateUse(self.joint, self.coordinate)


class OnSeveral(Force):
    """Generalized forces on several joint coordinates."""

    place: ClassVar[str] = "joints"

    @property
    def terms(self) -> tuple[Term, ...]:
        """Coordinates, with their factors in the argument of the law."""
        raise NotImplementedError

    def coordinates(self, joints: "Mapping[str, Joint]") -> list[CoordinateUse]:
        """Joint coordinates on which the force acts, as (joint, number)."""
        return [coordinate_of(term.coordinate, joints) for term in self.terms]


class OnCombination(OnSeveral):
    """Generalized forces aᵢ τ on joint coordinates qᵢ.

    τ is given by a law of the combination x = Σ aᵢ qᵢ.

    Law: x = (t, x, rate of x, force states z) → out = (τ, its dissipative part, ż); slopes (−∂τ/∂x,
    −∂τ/∂ẋ).

    Parameters
    ----------
    factors : mapping from coordinate to float
        aᵢ by coordinate, such as ``{"motor": 1.0, "hand.1": -50.0}``.
    """

    factors: Factors = dataclasses.field(kw_only=False)

    @property
    def terms(self) -> tuple[Term, ...]:
        return tuple(
            Term("factors", coordinate, factor) for coordinate, factor in self.factors.items()
        )


class OnJoints(OnSeveral):
    """Generalized forces τ (n,) on n joint coordinates that depend on all of them.

    Law: x = (t, coordinates (n), rates (n), force states z) → out = (τ (n), their dissipative parts
    (n), ż); slopes (−∂τᵢ/∂xᵢ (n), −∂τᵢ/∂ẋᵢ (n)): coupling between joints is not part of the
    iteration matrix.

    Parameters
    ----------
    of : list of coordinates
        The coordinates, ``joint`` or ``'joint.number'``, in the order of x and τ.
    """

    of: AnyCoordinates = dataclasses.field(kw_only=False)

    @property
    def terms(self) -> tuple[Term, ...]:
        return tuple(Term("of", coordinate, 1.0) for coordinate in self.of)


def loaded_by_reactions(forces: Iterable[Force]) -> list[str]:
    """Names of the forces that depend on reactions."""
    rows = ((force.name, force.row()) for force in forces)
    return [name for name, row in rows if row.loaded or row.reads]


def joints_read(force: Force) -> tuple[str, ...]:
    """Names of the joints on whose reactions a force depends."""
    row = force.row()
    return (force.joint,) if isinstance(force, JointForce) and row.loaded else row.reads


class OnFrame(Force):
    """Force and torque on a frame.

    Law: x = (t, r (3), A (9, by rows), v (3), ω (3), constraint wrenches of joints that it reads (6
    each), force states z), the motion of the frame in world axes → out = (force, torque in world
    axes, ż).

    Parameters
    ----------
    frame : frame
        The frame: ``body['frame']`` or 'body/frame'.
    """

    place: ClassVar[str] = "frame"

    frame: FrameLike = dataclasses.field(kw_only=False)

    def frames(self) -> tuple[Any, ...]:
        """The frame on which the force acts."""
        return (self.frame,)


class BetweenFrames(Force):
    """Force and torque on frame b, and their reaction on frame a.

    Law: x = (t, displacement (3) and rotation vector θ (3) of b in a, velocity (3) and angular
    velocity (3) of b relative to a, constraint wrenches of joints that it reads (6 each), force
    states z), axes of a → out = elastic force and moment conjugate to displacement and θ,
    dissipative ones conjugate to the velocities, ż; slopes: −∂/∂(displacement, θ) (6, 6),
    −∂/∂velocities (6, 6), row by row, both symmetric: other parts are not part of the iteration
    matrix.

    Parameters
    ----------
    frame_a : frame
        Frame of the reaction.
    frame_b : frame
        Frame of the force.
    """

    place: ClassVar[str] = "pair"
    # True if its law depends only on exp(θ), not on θ, which jumps at half a turn
    turns_freely: ClassVar[bool] = False

    frame_a: FrameLike = dataclasses.field(kw_only=False)
    frame_b: FrameLike = dataclasses.field(kw_only=False)

    @model_validator(mode="after")
    def _two_frames(self) -> "BetweenFrames":
        """Raise `NestedError` if both frames are the same."""
        if self.frame_a == self.frame_b:
            raise NestedError.at(
                ("frame_b",), f"is frame_a itself ('{self.frame_a}'); give two frames"
            )
        return self

    def frames(self) -> tuple[Any, ...]:
        """The two frames between which the force acts."""
        return self.frame_a, self.frame_b


class AlongLine(BetweenFrames):
    """Tension F (N) along the line between two frames.

    Law: x = (t, elongation e = l − l₀, ė, force states z) → out = (F, its dissipative part, ż);
    slopes (∂F/∂e, ∂F/∂ė).
    """

    place: ClassVar[str] = "line"

    def unloaded_length(self) -> float | None:
        """Unloaded length l₀ (m); None: the initial length."""
        return None

    def end_of_validity(self, elongation: float, states: Sequence[float]) -> str:
        """Reason why the law ends at an elongation (m) and force states, with the remedy, or ""."""
        return ""
