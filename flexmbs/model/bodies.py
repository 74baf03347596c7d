"""Bodies: rigid, point mass, flexible."""

import dataclasses
import math
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from pydantic import BeforeValidator, ValidationInfo, model_validator

from flexmbs.declaration import Declaration, NestedError, Problem, raise_nested, shown
from flexmbs.errors import InputError
from flexmbs.flexible_body.body_cache import KEPT
from flexmbs.flexible_body.divided import DividedBodyData, load_body
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.model.fields import (
    Damping,
    Matrix,
    Name,
    OptionalNonnegative,
    OptionalPositive,
    OptionalVector,
    Positive,
    Switch,
    Vector,
    items,
    sized,
    vector,
)
from flexmbs.model.frames import GROUND, BodyHandle, FrameRef, Frames
from flexmbs.model.shapes import MeshShape, Shapes
from flexmbs.model.shapes.derived_inertia import density_problems, derived_properties, have_mass
from flexmbs.model.shapes.mass_properties import MassProperties

ROUND_OFF = 1e-14  # relative to the largest principal moment: smaller moments count as zero


class BodyFindings(NamedTuple):
    """Result of checking one body.

    Frame names, number of modes, problems, frequency of its highest normal mode [Hz].
    """

    frames: tuple[str, ...] | None
    modes: int = 0
    warnings: tuple[Problem, ...] = ()
    errors: tuple[Problem, ...] = ()
    highest: float = math.inf


class Body(Declaration, section="bodies"):
    """Body; joints and forces attach to its frames.

    Parameters
    ----------
    name : str
        Unique name of the body.
    shapes : list of shapes
        Shapes in the body frame, drawn in place of the default picture.
    """

    name: Name = dataclasses.field(kw_only=False)
    shapes: Shapes = ()

    def known_frames(self) -> tuple[str, ...] | None:
        """Names of the frames, or None if they are in a file that has not been read."""
        raise NotImplementedError

    def frame_position(self, frame: str) -> Vector:
        """Position of a frame in the body frame (m).

        Zero for the body frame and for unknown frames.
        """
        return (0.0, 0.0, 0.0)

    def lever(self, frame: str) -> Vector:
        """Position of a frame relative to the centre of mass (m).

        For bodies without rotational inertia.
        """
        return self.frame_position(frame)

    def handle(self) -> BodyHandle:
        """Handle returned by ``model.add``.

        ``handle["frame"]`` refers to a frame, the handle itself to the body frame.
        """
        return BodyHandle(self.name, "", self.known_frames())

    def __getitem__(self, frame: str) -> FrameRef:
        """Reference to a frame, as of the handle: ``model.bodies["arm"]["tip"]``."""
        return self.handle()[frame]

    @property
    def has_mass(self) -> bool:
        """False for a body that other bodies must support."""
        return True

    @property
    def has_inertia(self) -> bool:
        """False for a body whose rotation must be constrained."""
        return True

    @property
    def has_full_inertia(self) -> bool:
        """False for a body with a rotation about its centre of mass that has no kinetic energy."""
        return self.has_inertia

    def without_shapes(self) -> Self:
        """The body with the same inertia and no shapes."""
        return dataclasses.replace(self, shapes=())

    def findings(self) -> BodyFindings:
        """Problems and warnings of this body. Raises `InputError` for an unreadable file."""
        return BodyFindings(self.known_frames())

    @model_validator(mode="after")
    def _not_ground(self) -> "Body":
        """Raise `NestedError` for the reserved name "ground"."""
        if self.name == GROUND:
            raise NestedError.at(
                ("name",), "'ground' is the fixed body of every model; choose another name"
            )
        return self


class BodyWithFrames(Body):
    """A body that declares its frames.

    Parameters
    ----------
    frames : dict of frames
        Names with positions [m] in the body frame, or `Frame`.
    """

    frames: Frames = dataclasses.field(default_factory=dict)

    def known_frames(self) -> tuple[str, ...]:
        """Names of the declared frames."""
        return tuple(self.frames)

    def frame_position(self, frame: str) -> Vector:
        """Position of a frame in body axes; zero for an unknown one."""
        position: Vector = self.frames[frame].position if frame in self.frames else (0.0, 0.0, 0.0)
        return position


def inertia_matrix(value: object, *, physical: bool = True) -> Matrix:
    """Symmetric inertia matrix from 3 principal values, 6 elements or a 3×3 matrix.

    The elements are xx, yy, zz, xy, xz, yz. physical: require that a mass distribution can have it.
    """
    given = items(value)
    if len(given) == 3 and all(isinstance(row, (list, tuple, np.ndarray)) for row in given):
        rows = tuple(sized(3)(row) for row in given)
    else:
        flat = vector(given)
        if len(flat) not in (3, 6):
            raise ValueError(
                "must be 3 moments, 6 elements (xx, yy, zz, xy, xz, yz) or a 3×3 matrix, "
                f"not {len(flat)} numbers"
            )
        xx, yy, zz, xy, xz, yz = flat if len(flat) == 6 else (*flat, 0.0, 0.0, 0.0)
        rows = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    inertia = np.array(rows)
    if float(np.abs(inertia - inertia.T).max()) > 1e-9 * float(np.abs(inertia).max()):
        raise ValueError(f"is not symmetric: {shown(inertia.tolist())}")
    if physical:
        _check_physical(inertia)
    return rows


def _check_physical(inertia: np.ndarray) -> None:
    """Raise ValueError unless a mass distribution can have this inertia matrix.

    λ >= 0, λ1 + λ2 >= λ3.
    """
    size = float(np.abs(inertia).max())
    low, middle, high = (float(x) for x in np.linalg.eigvalsh(inertia))
    moments = f"principal moments {low:.4g}, {middle:.4g}, {high:.4g}"
    if low < -1e-9 * size:
        raise ValueError(
            f"not physical: {moments}; none may be negative (products are matrix "
            "elements, I_xy = -∫xy dm)"
        )
    if low + middle < high * (1.0 - 1e-6):
        raise ValueError(
            f"not physical: {moments}; the largest must not exceed the sum of the other two"
        )


def _or_from_shapes(value: object, info: ValidationInfo) -> object:
    """The value; None if it follows from shapes."""
    if value is None and info.data.get("shapes") == ():
        raise ValueError("is missing")
    return value


def _rigid_inertia(value: object, info: ValidationInfo) -> Matrix | None:
    """Inertia matrix of a rigid body, physically possible unless ``unphysical`` is set."""
    if value is None:
        return None
    return inertia_matrix(value, physical=not info.data.get("unphysical", False))


def _rigid_com(value: object, info: ValidationInfo) -> Vector | None:
    if value is None:
        return None if info.data.get("inertia") is None else (0.0, 0.0, 0.0)
    return sized(3)(value)


class RigidBody(BodyWithFrames, kind="rigid"):
    """Rigid body.

    A mass of zero is allowed for a link that other bodies support; `Model.check` rejects a free
    massless body. Without ``inertia``, mass, centre of mass and inertia are the sums over
    ``shapes`` of their densities; with ``mass`` but without ``inertia``, the densities are scaled
    so that the mass results. Given mass and inertia take precedence, and shapes are then only
    drawn. `mass_properties` returns the values in use. Source: docs/theory.md, section 62.

    Parameters
    ----------
    density : float or None [kg/m³]
        Density of the shapes without their own.
    mass : float or None [kg]
        Mass; None: from the shapes.
    inertia : 3, 6 or 3×3 floats or None [kg m²]
        About the centre of mass in body axes: 3 principal moments, 6 elements (xx, yy, zz, xy, xz,
        yz, with products as matrix elements, I_xy = −∫xy dm), or the matrix; None: from the shapes.
    com : 3 floats or None [m]
        Centre of mass in the body frame; None: from the shapes, or the origin if the inertia is
        given.
    unphysical : bool
        Accept an inertia that no mass distribution can have, as found in robot files; the mass
        matrix may be indefinite.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("body")
    >>> body = model.add(fm.RigidBody("body", mass=2.0, com=(0.5, 0, 0), inertia=(0.1, 0.2, 0.3)))
    >>> fm.matrices(model).M.diagonal().round(
    ...     6
    ... ).tolist()  # m, and J + m c² about the body frame (Steiner)
    [2.0, 2.0, 2.0, 0.1, 0.7, 0.8]
    """

    density: OptionalPositive = None
    mass: Annotated[OptionalNonnegative, BeforeValidator(_or_from_shapes)] = None
    unphysical: Switch = False
    inertia: Annotated[Any, BeforeValidator(_rigid_inertia), BeforeValidator(_or_from_shapes)] = (
        None
    )
    com: Annotated[Any, BeforeValidator(_rigid_com)] = None

    @property
    def mass_properties(self) -> MassProperties:
        """Mass [kg], centre of mass (3,) [m] and inertia (3, 3) about it [kg m²] in body axes.

        Raises `InputError` for shapes whose file has no closed surface.
        """
        if self.inertia is not None:
            return MassProperties(self.mass, np.array(self.com), np.array(self.inertia))
        try:
            return derived_properties(self.shapes, self.mass, self.density)
        except InputError as error:
            raise InputError(*(f"bodies.{self.name}.{each}" for each in error.problems)) from None

    @model_validator(mode="after")
    def _one_inertia(self) -> "RigidBody":
        """Check that mass and inertia are given or follow from the shapes, not both."""
        if self.inertia is None:
            if self.com is not None:
                text = "follows from the shapes; give mass and inertia too, or remove it"
                raise NestedError.at(("com",), text)
            raise_nested(density_problems(self.shapes, self.mass, self.density))
            if not any(isinstance(shape, MeshShape) for shape in self.shapes):
                self._require_finite()
        elif self.mass is None:
            raise NestedError.at(("mass",), "is missing; it is not derived if inertia is given")
        elif self.density is not None:
            text = "has no effect, mass and inertia are given; remove it or them"
            raise NestedError.at(("density",), text)
        return self

    def without_shapes(self) -> Self:
        mass, com, inertia = self.mass_properties
        return dataclasses.replace(
            self, shapes=(), density=None, mass=mass, com=com, inertia=inertia
        )

    def _require_finite(self) -> None:
        try:
            derived_properties(self.shapes, self.mass, self.density)
        except InputError as error:
            pairs = [each.partition(": ") for each in error.problems]
            raise NestedError(
                Problem(tuple(path.split(".")), text) for path, _, text in pairs
            ) from None

    def findings(self) -> BodyFindings:
        notes = []
        if self.inertia is None:
            self.mass_properties  # noqa: B018  raises for files without a closed surface
            notes = [
                Problem((self.section, self.name, "shapes", str(k)), note)
                for k, shape in enumerate(self.shapes)
                for note in shape.notes()
            ]
        return BodyFindings(self.known_frames(), warnings=tuple(notes))

    @property
    def has_mass(self) -> bool:
        return have_mass(self.shapes, self.mass, self.density)

    @property
    def has_inertia(self) -> bool:
        if self.inertia is None:
            return self.has_mass  # a volume has inertia about every axis
        return any(any(row) for row in self.inertia)

    @property
    def has_full_inertia(self) -> bool:
        """True if all principal moments of inertia are positive."""
        if self.inertia is None:
            return self.has_mass
        low, _, high = np.linalg.eigvalsh(np.array(self.inertia))
        return bool(low > ROUND_OFF * high)

    def lever(self, frame: str) -> Vector:
        """Position of a frame relative to the centre of mass, body axes."""
        com = self.mass_properties.com.tolist()
        return tuple(x - c for x, c in zip(self.frame_position(frame), com))


class PointMass(BodyWithFrames, kind="point-mass"):
    """Mass at the origin of the body frame, without rotational inertia.

    Without a joint it has three translations.

    Parameters
    ----------
    mass : float [kg]
        Mass.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("drop")
    >>> drop = model.add(fm.PointMass("drop", mass=0.01))
    >>> run = fm.simulate(model, t_end=2.0, step=0.02)
    >>> run.body("drop").position[-1].round(6).tolist()  # −g t²/2
    [0.0, 0.0, -19.62]
    """

    mass: Positive

    @property
    def has_inertia(self) -> bool:
        return False


def _file(value: object) -> str | None:
    """Path of a flexible-body file as a string. Raises ValueError."""
    if value is None:
        return None
    if not isinstance(value, (str, Path)) or not str(value) or "\0" in str(value):
        raise ValueError(f"must be the path of a flexible-body file, not {shown(value)}")
    return str(value)


def _data(value: object) -> FlexibleBodyData | DividedBodyData | None:
    """Data of a flexible body or None. Raises ValueError for other types."""
    if value is not None and not isinstance(value, (FlexibleBodyData, DividedBodyData)):
        raise ValueError(f"must be a FlexibleBodyData, not {shown(value)}")
    return value


class FlexibleBody(Body, kind="flexible"):
    """Flexible body from its file or from ``data`` in memory; its frames are defined in the data.

    Data that fail their checks (mass, Gram matrix, M(q = 0), K_ff) are rejected unless
    ``allow_unverified``; then every run issues a warning. A divided body is one body with the
    frames and the elastic coordinates of all its pieces, in the order of the pieces. The pieces
    move as bodies ``name[1]``, ``name[2]``, … welded at the cuts. Source: docs/theory.md, section
    4.

    Parameters
    ----------
    file : path or None
        HDF5 file of the flexible body.
    data : FlexibleBodyData or None
        Data in memory instead of a file, also of a divided body.
    damping : float, floats or None
        Modal damping ratios that replace those of the data, one number or one per mode; for a
        divided body for the modes of the assembled body.
    qf0 : floats or None
        Initial elastic coordinates, one per mode; None: zero.
    qf_dot0 : floats or None [1/s]
        Their initial rates, one per mode; None: zero.
    stiffening : bool
        Use the geometric stiffness of the data: loads and rotation then stiffen or
        soften the body.
    allow_unverified : bool
        Accept data that fail their checks.

    Examples
    --------
    >>> import flexmbs as fm
    >>> import preprocess as pp
    >>> foam, clamped = pp.Isotropic(E=2.1e9, nu=0.0, rho=785.0), {"root": pp.Rigid("x0")}
    >>> data = pp.reduce(
    ...     pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)), foam, interfaces=clamped, reference="root"
    ... )
    >>> model = fm.Model("cantilever")
    >>> bar = model.add(fm.FlexibleBody("bar", data=data))
    >>> clamp = model.add(fm.Fixed("clamp", model.ground, bar["root"]))
    >>> fm.linearize(model).modes.frequency[0].round(
    ...     1
    ... ).item()  # 1.875² √(E I/(ρ A l⁴))/2π of a beam
    33.0
    """

    file: Annotated[str | None, BeforeValidator(_file)] = dataclasses.field(
        default=None, kw_only=False
    )
    data: Annotated[Any, BeforeValidator(_data)] = None
    damping: Damping = None
    qf0: OptionalVector = None
    qf_dot0: OptionalVector = None
    stiffening: Switch = True
    allow_unverified: Switch = False

    @model_validator(mode="after")
    def _one_source(self) -> "FlexibleBody":
        """Raise `NestedError` unless exactly one of file and data is given."""
        if (self.file is None) == (self.data is None):
            raise NestedError.at(("file",), "give either file= or data=, not both")
        return self

    def known_frames(self) -> tuple[str, ...] | None:
        """Names of the interfaces; None if the file is not read yet."""
        return None if self.data is None else tuple(self.data.frames)

    def ratios(self, frequency: np.ndarray) -> np.ndarray:
        """Declared damping ratios of the modes at these frequencies.

        Raises `InputError` for a wrong number of ratios.
        """
        ratio = np.asarray(self.damping, float)
        if ratio.shape not in ((), frequency.shape):
            n = len(frequency)
            raise InputError(
                f"bodies.{self.name}.damping: {len(ratio)} ratios for {n} modes; give one "
                "number or one per mode"
            )
        return np.asarray(np.broadcast_to(ratio, frequency.shape))

    def load(self) -> FlexibleBodyData:
        """Data of the body, read from its file unless in memory.

        Without geometric stiffness if ``stiffening`` is off.

        A file is read again only if its contents have changed. Raises `InputError`, also for a
        divided body.
        """
        data = self.whole()
        if isinstance(data, DividedBodyData):
            source = "data" if self.file is None else "file"
            raise InputError(
                f"bodies.{self.name}.{source}: is a divided body with several pieces; use "
                "a body in one piece"
            )
        return (
            data
            if self.stiffening or data.geometric is None
            else dataclasses.replace(data, geometric=None)
        )

    def whole(self) -> FlexibleBodyData | DividedBodyData:
        """Data as stored, for a divided body with all its pieces. Raises `InputError`."""
        return self.data if self.data is not None else self._read()  # type: ignore[no-any-return]

    def _read(self) -> FlexibleBodyData | DividedBodyData:
        """Data from the file, cached. Raises `InputError` naming the body."""
        assert self.file is not None
        try:
            return KEPT.load(self.file, load_body)
        except InputError as error:
            raise InputError(
                *(f"bodies.{self.name}.file: {problem}" for problem in error.problems)
            ) from None
        except FileNotFoundError:
            raise InputError(
                f"bodies.{self.name}.file: no file '{self.file}'; create it with flexmbs preprocess"
            ) from None

    def findings(self) -> BodyFindings:
        """Problems and warnings: lengths of damping and initial values, quality of the data."""
        data = self.whole()
        path = (self.section, self.name)
        n = data.nf
        if isinstance(data, DividedBodyData) and isinstance(self.damping, tuple):
            n = data.number_of_modes
        given = (
            ("damping", self.damping, n),
            ("qf0", self.qf0, data.nf), ("qf_dot0", self.qf_dot0, data.nf),
        )  # fmt: skip
        errors = [
            Problem((*path, key), f"must have one number per mode, {size}, not {len(value)}")
            for key, value, size in given
            if isinstance(value, tuple) and len(value) != size
        ]
        if data.failed and not self.allow_unverified:
            text = (
                f"its data fail the check {data.failed[0]}; correct the body, or accept it "
                "with allow_unverified"
            )
            errors.append(Problem((*path, "data" if self.file is None else "file"), text))
        high = max(
            self.damping if isinstance(self.damping, tuple) else (self.damping or 0.0,), default=0.0
        )
        warned = (
            [
                Problem(
                    (*path, "damping"),
                    f"the ratio {high:g} is above 1 (overdamped); 0.01 means 1 %",
                )
            ]
            if high > 1.0
            else []
        )
        if isinstance(data, FlexibleBodyData) and len(data.damping_rows) and self.damping is None:
            text = (
                "is a piece of a divided body, without the damping of the assembled body; give "
                "damping=, or use the whole body"
            )
            warned.append(Problem((*path, "data" if self.file is None else "file"), text))
        modes = [
            each.modes for each in (data.pieces if isinstance(data, DividedBodyData) else [data])
        ]
        normal = [
            f for each in modes for f, kind in zip(each.frequency, each.kind) if kind != "static"
        ]
        highest = float(max(normal, default=math.inf))
        return BodyFindings(tuple(data.frames), data.nf, tuple(warned), tuple(errors), highest)

    def _identity(self) -> tuple[object, ...]:
        """Key by which equal bodies are recognized without reading files."""
        path = None if self.file is None else str(Path(self.file).resolve())
        return (
            self.name,
            self.shapes,
            path,
            id(self.data),
            self.damping,
            self.qf0,
            self.qf_dot0,
            self.stiffening,
        )

    def __eq__(self, other: object) -> bool:
        """Same values; files by their resolved path, data in memory by identity."""
        return isinstance(other, FlexibleBody) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())
