"""Terms of the equations of motion of a rigid tree as numbers: the robot model of a controller."""

import functools
from collections.abc import Mapping
from typing import Annotated, Any, Self

import numpy as np
from pydantic import BeforeValidator, model_validator

from flexmbs.declaration import Declaration, NestedError, Problem, raise_nested, shown
from flexmbs.model.bodies import inertia_matrix
from flexmbs.model.control import terms
from flexmbs.model.control.tree import RobotTree, TreeCoordinate, TreeRotors, axis_arrays
from flexmbs.model.couplings import Coordinate as CoordinateName
from flexmbs.model.fields import Nonnegative, Number, Vector3, items, number
from flexmbs.model.frames import rotation_matrix


def _inertia(value: object) -> Any:
    """Validate a symmetric inertia matrix, not necessarily physical."""
    return inertia_matrix(value, physical=False)


def _node(value: object) -> int:
    """Validate the number of a link, −1 for the ground."""
    found = number(value)
    if found != int(found) or found < -1.0:
        raise ValueError(f"must be a whole number >= -1, not {shown(value)}")
    return int(found)


class LinkTerms(Declaration):
    """Axis of a rigid tree, and the mass that moves with it.

    Parameters
    ----------
    coordinate : coordinate
        Name, ``joint.number``.
    parent : int
        Number of the supporting link, smaller than its own; −1: the ground.
    position : 3 floats [m]
        Origin in the frame of the parent.
    rotation : rotation
        Axes in the frame of the parent.
    turn : 3 floats
        Unit axis of a rotation, or zero.
    slide : 3 floats
        Unit axis of a translation, or zero; for a screw the displacement per radian.
    mass : float [kg]
        Mass.
    first_moment : 3 floats [kg m]
        Mass times centre of mass.
    inertia : 3, 6 or 3×3 floats [kg m²]
        About the origin, in axes of the link.
    armature : float [kg m² or kg]
        Inertia of rotors and motors reflected to the coordinate.
    viscous : float [N s/m or N m s/rad]
        Viscous friction.
    coulomb : float [N or N m]
        Coulomb friction at positive rates.
    reverse : float [N or N m]
        Coulomb friction at negative rates.
    """

    coordinate: CoordinateName
    parent: Annotated[int, BeforeValidator(_node)]
    position: Vector3 = (0.0, 0.0, 0.0)
    rotation: Annotated[Any, BeforeValidator(rotation_matrix)] = None
    turn: Vector3 = (0.0, 0.0, 0.0)
    slide: Vector3 = (0.0, 0.0, 0.0)
    mass: Number = 0.0
    first_moment: Vector3 = (0.0, 0.0, 0.0)
    inertia: Annotated[Any, BeforeValidator(_inertia)] = (0.0, 0.0, 0.0)
    armature: Nonnegative = 0.0
    viscous: Nonnegative = 0.0
    coulomb: Nonnegative = 0.0
    reverse: Nonnegative = 0.0


class SpinTerms(Declaration):
    """Gyroscopic rotor.

    Parameters
    ----------
    axis : int
        Number of the axis that drives it.
    carrier : int
        Number of the link that carries it.
    spin : 3 floats [kg m²]
        Ratio times its inertia along its axis, in axes of the carrier.
    """

    axis: Annotated[int, BeforeValidator(_node)]
    carrier: Annotated[int, BeforeValidator(_node)]
    spin: Vector3


def _declared(kind: type[Declaration]) -> Any:
    """Validator of a list of declarations or tables of a class."""

    def check(value: object) -> tuple[Any, ...]:
        """Validate a list of declarations or tables. Raises `NestedError`."""
        made: list[Any] = []
        for k, each in enumerate(items(value)):
            try:
                made.append(each if isinstance(each, kind) else kind.read(each))  # type: ignore[arg-type]
            except NestedError as error:
                raise NestedError(
                    [
                        Problem((str(k), *problem.path), problem.message)
                        for problem in error.problems
                    ]
                ) from None
        return tuple(made)

    return Annotated[Any, BeforeValidator(check)]


class RigidTerms(Declaration):
    """Terms of D(q) q̈ + C(q, q̇) q̇ + g(q) + friction(q̇) = τ for a rigid tree, for controllers.

    `flexmbs.Robot.rigid_terms` provides them for a robot. All accept arrays of states q (..., n).
    Siciliano et al., Robotics (2009), ch. 7.

    Parameters
    ----------
    links : list of links
        Axes in the order of the coordinates, with the masses that move with them.
    gravity : 3 floats [m/s²]
        Gravity.
    spins : list of rotors
        Gyroscopic rotors.
    """

    links: _declared(LinkTerms)  # type: ignore[valid-type]
    gravity: Vector3 = (0.0, 0.0, 0.0)
    spins: _declared(SpinTerms) = ()  # type: ignore[valid-type]

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        """Raise `NestedError` unless parents precede their links and references are valid."""
        n = len(self.links)
        problems = [
            Problem(
                ("links", str(k), "parent"), f"must be below its own number {k}, not {link.parent}"
            )
            for k, link in enumerate(self.links)
            if link.parent >= k
        ]
        for k, spun in enumerate(self.spins):
            for key in ("axis", "carrier"):
                if not 0 <= getattr(spun, key) < n:
                    problems.append(
                        Problem(
                            ("spins", str(k), key), f"must be the number of a link, 0 … {n - 1}"
                        )
                    )
        raise_nested(problems)
        return self

    @classmethod
    def of(cls, tree: RobotTree, armature: np.ndarray, friction: np.ndarray) -> "RigidTerms":
        """Terms of a tree with the armature (n,) and friction (n, 3) of its motors.

        Friction: viscous, Coulomb at rates > 0 and < 0.
        """
        links = [
            LinkTerms(
                coordinate=f"{use.joint}.{use.number}",
                parent=int(tree.parent[k]),
                position=tree.x[k],
                rotation=tree.R[k],
                turn=tree.turn[k],
                slide=tree.slide[k],
                mass=float(tree.mass[k]),
                first_moment=tree.first[k],
                inertia=0.5 * (tree.inertia[k] + tree.inertia[k].T),
                armature=float(tree.rotors.reflected[k] + armature[k]),
                viscous=float(friction[k, 0]),
                coulomb=float(friction[k, 1]),
                reverse=-float(friction[k, 2]),
            )
            for k, use in enumerate(tree.coordinates)
        ]
        spun = zip(tree.rotors.coordinate, tree.rotors.node, tree.rotors.spin)
        spins = [SpinTerms(axis=int(k), carrier=int(node), spin=spin) for k, node, spin in spun]
        return cls(links=links, gravity=tree.gravity, spins=spins)

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return len(self.links)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates."""
        return tuple(link.coordinate for link in self.links)

    @functools.cached_property
    def tree(self) -> RobotTree:
        """Arrays of the tree for the recursive algorithms."""
        n, spins = self.n, self.spins

        def each(key: str, *shape: int) -> np.ndarray:
            """Values of a field of all links, (n, …)."""
            return np.array([getattr(link, key) for link in self.links], float).reshape(n, *shape)

        parent = np.array([link.parent for link in self.links])
        R, x, turn, slide = (
            each("rotation", 3, 3),
            each("position", 3),
            each("turn", 3),
            each("slide", 3),
        )
        rotors = TreeRotors(
            each("armature"),
            np.array([s.axis for s in spins], int),
            np.array([s.carrier for s in spins], int),
            np.array([s.spin for s in spins], float).reshape(-1, 3),
        )
        names = tuple(TreeCoordinate(*_parted(name)) for name in self.coordinates)
        return RobotTree(
            coordinates=names,
            parent=parent,
            R=R,
            x=x,
            turn=turn,
            slide=slide,
            mass=each("mass"),
            first=each("first_moment", 3),
            inertia=each("inertia", 3, 3),
            gravity=np.array(self.gravity),
            friction=np.stack(self._friction, axis=-1),
            rotors=rotors,
            frames={},
            before={},
            **axis_arrays(parent, R, turn),
        )

    @functools.cached_property
    def _friction(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Viscous coefficients, and Coulomb friction in the two directions, of all joints."""
        viscous, up, down = (
            np.array([getattr(link, key) for link in self.links], float)
            for key in ("viscous", "coulomb", "reverse")
        )
        return viscous, up, down

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Mass matrix D (..., n, n), symmetric positive definite."""
        return self.tree.kernels.mass_matrix(q)

    def coriolis_matrix(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Matrix C (..., n, n) from Christoffel symbols."""
        return terms.coriolis_matrix(self.tree, q, qd)

    def gravity_forces(self, q: np.ndarray) -> np.ndarray:
        """Joint forces g (..., n) that balance gravity at rest."""
        return terms.gravity_forces(self.tree, q)

    def friction(self, qd: np.ndarray) -> np.ndarray:
        """Friction (..., n) at rates q̇; zero at rest."""
        viscous, up, down = self._friction
        return np.asarray(viscous * qd + up * (qd > 0.0) - down * (qd < 0.0))

    def inverse_dynamics(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Joint forces τ (..., n) for a motion: recursive Newton–Euler sweeps and friction."""
        return terms.newton_euler(self.tree, q, qd, qdd, friction=True)


def _parted(name: str) -> tuple[str, int]:
    """(joint, number) of a coordinate "joint.0"; number 0 for a name alone."""
    joint, _, place = name.rpartition(".")
    return (joint, int(place)) if joint and place.isdecimal() else (name, 0)


def rigid_terms(value: object) -> Any:
    """Validate terms, or take them from a table or robot."""
    if isinstance(value, Mapping):
        return RigidTerms.read(value)
    found = getattr(value, "rigid_terms", value)
    if not isinstance(found, RigidTerms):
        raise ValueError(f"must be of the class Robot, not {shown(value)}")
    return found


AnyTerms = Annotated[Any, BeforeValidator(rigid_terms)]
