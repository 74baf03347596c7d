"""`ModelData`: named items with gravity and frames on the ground.

Bodies, joints, forces, drives, couplings, contacts and rotors.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Self, overload

from pydantic import BeforeValidator

import flexmbs.model.general_couplings
import flexmbs.model.relations  # noqa: F401  registers their kinds as joints
from flexmbs.declaration import Declaration
from flexmbs.errors import InputError
from flexmbs.files.paths import file_path
from flexmbs.model.bodies import Body
from flexmbs.model.contacts import Contact
from flexmbs.model.couplings import Coupling
from flexmbs.model.drives import Drive
from flexmbs.model.fields import Name, Vector, Vector3
from flexmbs.model.forces import Force
from flexmbs.model.frames import GROUND, BodyHandle, Frame, Frames, ItemHandle, joint_names
from flexmbs.model.joints import Joint
from flexmbs.model.rotors import RotorInertia
from flexmbs.model.run import Run
from flexmbs.model.shapes import Shape, Shapes
from flexmbs.model.toml_write import model_text, save

SECTIONS: dict[str, type[Declaration]] = {
    "bodies": Body,
    "joints": Joint,
    "forces": Force,
    "drives": Drive,
    "couplings": Coupling,
    "contacts": Contact,
    "rotors": RotorInertia,
}
OPTIONAL = ("couplings", "contacts", "rotors")  # not shown when empty


class ModelHeader(Declaration, section="model"):
    """Values of a model other than its items.

    Parameters
    ----------
    name : str
        Name of the model.
    gravity : 3 floats [m/s²]
        Acceleration of gravity in world axes.
    frames : dict of frames
        Frames on the ground: names with positions [m], or `Frame`.
    cuts : list of joints
        Names of the joints to cut in closed loops, if chosen by the user.
    shapes : list of shapes
        Shapes on the ground, in world axes, for pictures.
    """

    name: Name
    gravity: Vector3 = (0.0, 0.0, -9.81)
    frames: Frames = dataclasses.field(default_factory=dict)
    cuts: Annotated[Any, BeforeValidator(joint_names)] = ()
    shapes: Shapes = ()


class ModelData:
    """Multibody model as declared data.

    name: of the model.  gravity: acceleration in world axes (m/s²).  frames: named frames on the
    ground (positions or `Frame`). cuts: names of the joints to cut in closed loops, if chosen by
    the user. run: options of a run, stored in its file.  shapes: shapes on the ground for pictures,
    such as `Box`.

    ``bodies``, ``joints``, ``forces``, ``drives``, ``couplings``, ``contacts``, ``rotors`` map
    names to declarations in the order in which they were added; ``run`` has the options of a run or
    None; relative file paths start from ``folder``.


    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("pendulum", gravity=(0, 0, -1.62))  # on the moon
    >>> bob = model.add(fm.RigidBody("bob", mass=1.0, com=(0, 0, -0.5), inertia=(0.01, 0.01, 0.01)))
    >>> hinge = model.add(fm.Revolute("hinge", model.ground, bob, axis="y", q0=0.1))
    >>> model
    <Model 'pendulum': 1 bodies, 1 joints, 0 forces, 0 drives>
    >>> print(model.check())
    model 'pendulum'
    ...
      1 joint velocity = 1 degree of freedom
    ready to run
    """

    bodies: dict[str, Body]
    joints: dict[str, Joint]
    forces: dict[str, Force]
    drives: dict[str, Drive]
    couplings: dict[str, Coupling]
    contacts: dict[str, Contact]
    rotors: dict[str, RotorInertia]

    def __init__(
        self,
        name: str,
        *,
        gravity: Iterable[float] = (0.0, 0.0, -9.81),
        frames: Mapping[str, Any] | None = None,
        cuts: Iterable[Any] = (),
        run: Run | None = None,
        shapes: Iterable[Shape] = (),
    ) -> None:
        """Empty model with a name, gravity, frames and shapes on the ground, cuts, run settings."""
        self._header = ModelHeader(
            name=name,
            gravity=gravity,
            frames={} if frames is None else frames,
            cuts=cuts,
            shapes=shapes,
        )
        self.run = run
        self.folder = Path()
        self.bodies, self.joints, self.forces, self.drives = {}, {}, {}, {}
        self.couplings, self.contacts, self.rotors = {}, {}, {}

    __init__.__qualname__ = "Model.__init__"  # public name

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._header.name

    @property
    def frames(self) -> Mapping[str, Frame]:
        """Frames on the ground."""
        frames: Mapping[str, Frame] = self._header.frames
        return frames

    @frames.setter
    def frames(self, value: Mapping[str, Any]) -> None:
        """Replace the frames on the ground."""
        self._header = dataclasses.replace(self._header, frames=value)

    @property
    def gravity(self) -> Vector:
        """Acceleration of gravity in world axes (m/s²)."""
        gravity: Vector = self._header.gravity
        return gravity

    @gravity.setter
    def gravity(self, value: Any) -> None:
        """Replace the acceleration of gravity."""
        self._header = dataclasses.replace(self._header, gravity=value)

    @property
    def cuts(self) -> tuple[str, ...]:
        """Names of the joints to cut, chosen by the user."""
        cuts: tuple[str, ...] = self._header.cuts
        return cuts

    @cuts.setter
    def cuts(self, value: Any) -> None:
        """Replace the joints at which loops are cut."""
        self._header = dataclasses.replace(self._header, cuts=value)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Shapes on the ground."""
        shapes: tuple[Shape, ...] = self._header.shapes
        return shapes

    @shapes.setter
    def shapes(self, value: Iterable[Shape]) -> None:
        self._header = dataclasses.replace(self._header, shapes=value)

    @property
    def ground(self) -> BodyHandle:
        """Ground: ``model.ground`` is the world frame, ``model.ground["pivot"]`` a frame on it."""
        return BodyHandle(GROUND, "", tuple(self.frames))

    @overload
    def add(self, item: Body) -> BodyHandle: ...
    @overload
    def add(
        self, item: Joint | Force | Drive | Coupling | Contact | RotorInertia
    ) -> ItemHandle: ...
    def add(self, item: Any) -> BodyHandle | ItemHandle:
        """Add an item and return its handle.

        Raises `InputError` if it is not an item of a model or its name is in use.
        """
        if not isinstance(item, Declaration) or item.section not in SECTIONS:
            takes = "bodies, joints, forces, drives, couplings, contacts and rotors"
            raise InputError(
                f"model '{self.name}': cannot add {type(item).__name__}; it takes {takes}"
            )
        section = self.items(item.section)
        if item.name in section:  # type: ignore[attr-defined]
            raise InputError(
                f"{item.section}.{item.name}: the name is already in use; choose another"  # type: ignore[attr-defined]
            )
        section[item.name] = item  # type: ignore[attr-defined]
        return item.handle()  # type: ignore[attr-defined,no-any-return]

    def items(self, section: str) -> dict[str, Any]:
        """Items of one section.

        "bodies", "joints", "forces", "drives", "couplings", "contacts" or "rotors".
        """
        sections: dict[str, dict[str, Any]] = {
            "bodies": self.bodies,
            "joints": self.joints,
            "forces": self.forces,
            "drives": self.drives,
            "couplings": self.couplings,
            "contacts": self.contacts,
            "rotors": self.rotors,
        }
        return sections[section]

    def without_items(self) -> Self:
        """A model with the same name, gravity, frames, cuts, shapes and folder."""
        made = type(self)(**{key: getattr(self, key) for key in ModelHeader.field_names()})
        made.folder = self.folder
        return made

    def to_toml(self, *, complete: bool = True) -> str:
        """Text of the model file, with paths relative to `folder`.

        Raises `InputError` for content that a file cannot represent (data in memory, unnamed
        functions); with ``complete=False`` these are only described.
        """
        return model_text(self, self.folder, complete=complete)

    def save(self, path: str | Path, *, allow_outside: bool = False) -> None:
        """Write the model's TOML file; paths in it are relative to its folder.

        Raises `InputError`, `MachineError`.
        """
        save(self, file_path(path), allow_outside=allow_outside)

    def __eq__(self, other: object) -> bool:
        """Compare name, gravity, frames, cuts, shapes, run and items, including their order."""
        return isinstance(other, ModelData) and self._values() == other._values()

    __hash__ = None  # type: ignore[assignment]

    def _values(self) -> tuple[Any, ...]:
        """Header, run settings and all items, for comparisons."""
        sections = tuple(tuple(self.items(section).values()) for section in SECTIONS)
        return (self._header, self.run, sections)

    def __repr__(self) -> str:
        counts = ", ".join(
            f"{len(self.items(key))} {key}"
            for key in SECTIONS
            if key not in OPTIONAL or self.items(key)
        )
        return f"<Model '{self.name}': {counts}>"
