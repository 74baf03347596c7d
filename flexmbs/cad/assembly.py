"""`from_step`: the bodies of a CAD assembly, and the joints that its geometry suggests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from flexmbs.api.model import Model
from flexmbs.cad.flexible_parts import flexible_parts
from flexmbs.cad.materials import Material, density, given_materials
from flexmbs.checked_arguments import checked_arguments
from flexmbs.declaration import close_names, require_known, shown
from flexmbs.errors import InputError
from flexmbs.files.output import ensure_folder, slug, write_bytes
from flexmbs.files.paths import file_path
from flexmbs.files.surface_files import ply_bytes
from flexmbs.model.argument_checks import checked
from flexmbs.model.bodies import RigidBody
from flexmbs.model.fields import positive
from flexmbs.model.frames import GROUND, Frame, FrameRef
from flexmbs.model.joints import (
    Cylindrical,
    Fixed,
    Free,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    normal_directions,
)
from flexmbs.model.shapes import MeshShape
from flexmbs.report.view import View
from flexmbs.robots.flexible import with_flexible_links
from preprocess.cad.assembly import CadAssembly, CadBody, read_assembly
from preprocess.cad.mates import CLEARANCE, TITLES, Mate, mates

JOINTS: dict[str, type[Joint]] = {
    "revolute": Revolute, "cylindrical": Cylindrical, "prismatic": Prismatic, "planar": Planar,
    "spherical": Spherical, "fixed": Fixed,
}  # fmt: skip
# joints that the place and axis of a proposed one define too
INSTEAD = {
    "revolute": ("revolute", "cylindrical", "prismatic", "spherical", "fixed"),
    "cylindrical": ("cylindrical", "revolute", "prismatic", "spherical", "fixed"),
    "prismatic": ("prismatic", "cylindrical", "fixed"),
    "planar": ("planar", "fixed"),
    "spherical": ("spherical", "fixed"),
    "fixed": ("fixed",),
}
AXIS = "z"  # of the frames of joints
EARTH = (0.0, 0.0, -9.81)  # m/s²
# middle nodes of a triangle with six nodes make four flat triangles
QUARTERS = np.array([[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]])


class AcceptedJoint(NamedTuple):
    """Joint that the user chose: the proposal, its kind, and values such as q0 and v0."""

    mate: Mate
    kind: str
    values: Mapping[str, Any]


class Assembly:
    """Bodies of a CAD file and the joints that its geometry suggests; made by `fm.from_step`.

    proposals: joint by name, as text "hinge of arm and base: shaft in bore of diameter 20 mm".
    accepted: those of the model, by name. bodies: `RigidBody` by name, in the axes of its part.
    notes: what could not be read.
    """

    def __init__(
        self,
        source: CadAssembly,
        materials: Mapping[str, Material],
        ground: Sequence[str],
        proposals: Sequence[Mate],
        shapes: Path,
    ) -> None:
        self.source, self.ground, self.notes = source, tuple(ground), source.notes
        self.materials, self._shapes = dict(materials), shapes
        self.proposals = {each.name: each for each in proposals}
        self.accepted: dict[str, AcceptedJoint] = {}
        self._bodies = {body.name: body for body in source.bodies}

    def accept(self, *names: str, **values: Any) -> None:
        """Add proposed joints to the model, by their names.

        Another kind of joint in the same place is chosen by its title: "hinge of A and B" where the
        geometry suggests a "cylindrical joint of A and B". Titles: hinge, cylindrical joint, slide,
        planar joint, ball joint, fixed joint. values: of these joints, such as ``q0`` and ``v0``.
        Raises InputError.
        """
        accepted = {name: AcceptedJoint(*self._proposal(name), values) for name in names}
        for name, own in accepted.items():
            self._joint(name, own)  # raises InputError for its values, before anything changes
        for name, (mate, _, _) in accepted.items():
            pair = {mate.first, mate.second}
            for other, each in list(self.accepted.items()):
                if pair == {each.mate.first, each.mate.second}:
                    del self.accepted[other]
            self.accepted[name] = accepted[name]

    @property
    def bodies(self) -> dict[str, RigidBody]:
        """Rigid bodies by name, without shapes; the frames are those of the accepted joints."""
        return {name: self._rigid(name) for name in self._bodies}

    def pose(self, body: str) -> tuple[np.ndarray, np.ndarray]:
        """Rotation (3, 3) and position (3,) [m] of a body's axes in the assembly."""
        require_known(body, self._bodies, f"body {shown(body)} is not in the assembly")
        return self._bodies[body].rotation.copy(), self._bodies[body].position.copy()

    def model(
        self,
        name: str | None = None,
        *,
        gravity: Sequence[float] = EARTH,
        flexible: Any = None,
    ) -> Model:
        """Model of the bodies and the accepted joints, in the position of the file.

        Bodies that no joint connects with the ground are free. flexible: names of bodies that
        become flexible, or a mapping from them to options of `pp.mesh_cad` and `pp.reduce`, such as
        ``{"rod": {"size": 4e-3, "damping": 0.01}}``, to a `FlexibleLink`, to a flexible body in the
        axes of the part or the path of its file. Interfaces of parts that are meshed here are
        averaged over the faces of the accepted joints.
        Surfaces are written to PLY files, for pictures. Raises InputError, MachineError.
        """
        frames = {
            each: Frame(tuple(body.position), rotation=body.rotation.tolist())
            for each, body in self._bodies.items()
            if each in self.ground or each in self._adrift()
        }
        model = Model(name or self.source.path.stem, gravity=tuple(gravity), frames=frames)
        for each in self._bodies:
            model.add(self._rigid(each, shapes=True))
        for each in frames:
            on_ground, place = each in self.ground, (FrameRef(GROUND, each), FrameRef(each))
            model.add(
                Fixed(f"{each} on the ground", *place)
                if on_ground
                else Free(f"free motion of {each}", *place)
            )
        for title, accepted in self.accepted.items():
            model.add(self._joint(title, accepted))
        links = flexible_parts(self, flexible)
        return with_flexible_links(model, links, FrameRef(GROUND))[0] if links else model

    def show(self, *, browser: bool | None = None) -> View:
        """Show the model with its accepted joints in three dimensions; see `Model.show`."""
        return self.model().show(browser=browser)

    def __str__(self) -> str:
        lines = [f"{self.source.path}: {len(self._bodies)} bodies"]
        for name, body in self.bodies.items():
            product = self.source.parts[self._bodies[name].part].name
            fixed = ", on the ground" if name in self.ground else ""
            of = f", {product}" if product not in ("", name) else ""
            lines.append(f"  {name}{of}: {body.mass:.4g} kg{fixed}")
        lines.append("proposed joints:" if self.proposals else "no two bodies touch")
        taken = {
            frozenset((each.mate.first, each.mate.second)): name
            for name, each in self.accepted.items()
        }
        for mate in self.proposals.values():
            own = taken.get(frozenset((mate.first, mate.second)))
            mark = (
                "" if own is None else " [accepted]" if own == mate.name else f" [accepted: {own}]"
            )
            lines.append(f"  {mate}{mark}")
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def _rigid(self, name: str, *, shapes: bool = False) -> RigidBody:
        """Rigid body of a part with its exact inertia, and frames of the accepted joints."""
        own = self._bodies[name]
        part, rho = self.source.parts[own.part], density(self.materials[name])
        frames = {
            title: _frame(own, accepted.mate)
            for title, accepted in self.accepted.items()
            if name in (accepted.mate.first, accepted.mate.second)
        }
        return RigidBody(
            name,
            mass=rho * part.volume,
            com=tuple(part.centre),
            inertia=(0.5 * rho * (part.inertia + part.inertia.T)).tolist(),
            frames=frames,
            shapes=[MeshShape(str(self._surface(own.part)), colour=part.colour)]
            if shapes and len(part.triangles)
            else (),
        )

    def _surface(self, number: int) -> Path:
        """File with the triangles of a part, written if it is not there. Raises MachineError."""
        part = self.source.parts[number]
        file = self._shapes / f"{number + 1}-{slug(part.name or self.source.path.stem)}.ply"
        data = ply_bytes(part.nodes, part.triangles[:, QUARTERS].reshape(-1, 3))
        if not file.is_file() or file.read_bytes() != data:
            ensure_folder(self._shapes, "choose another with shapes=")
            write_bytes(file, data)
        return file

    def _joint(self, title: str, accepted: AcceptedJoint) -> Joint:
        """Joint of the model; its parent is the body on the ground, else the first one."""
        mate = accepted.mate
        ends = [mate.first, mate.second]
        if mate.second in self.ground:
            ends.reverse()
        make: Any = JOINTS[accepted.kind]
        axis = {"axis": AXIS} if "axis" in make.field_names() else {}
        return make(title, *(FrameRef(end, title) for end in ends), **axis, **accepted.values)  # type: ignore[no-any-return]

    def _proposal(self, name: str) -> tuple[Mate, str]:
        """Proposal for the two bodies of a name, and the kind of joint that it asks for."""
        for mate in self.proposals.values():
            for kind, title in TITLES.items():
                pairs = ((mate.first, mate.second), (mate.second, mate.first))
                if name not in (f"{title} of {a} and {b}" for a, b in pairs):
                    continue
                if kind not in INSTEAD[mate.kind]:
                    others = ", ".join(TITLES[each] for each in INSTEAD[mate.kind])
                    raise InputError(
                        f"{name}: the geometry defines no such joint, but a {mate.name}; "
                        f"choose from {others}, or add a joint of your own to the model"
                    )
                return mate, kind
        raise InputError(
            f"accept: no proposed joint is called {shown(name)}; "
            f"{close_names(str(name), self.proposals)}"
        )

    def _adrift(self) -> list[str]:
        """First body of each group that no accepted joint connects with the ground."""
        group = {name: {name} for name in self._bodies}
        pairs = [(each.mate.first, each.mate.second) for each in self.accepted.values()]
        pairs += list(zip(self.ground, self.ground[1:]))
        for a, b in pairs:
            joined = group[a] | group[b]
            for each in joined:
                group[each] = joined
        held = group[self.ground[0]] if self.ground else set()
        first: list[str] = []
        for name in self._bodies:
            if name not in held and not any(each in group[name] for each in first):
                first.append(name)
        return first


def _frame(body: CadBody, mate: Mate) -> Frame:
    """Frame of a joint on a body: at its point, with z along its axis."""
    axis = tuple(float(c) for c in mate.axis)
    axes = np.array([*normal_directions(axis), axis]).T
    position = body.rotation.T @ (mate.point - body.position)
    return Frame(tuple(position), rotation=(body.rotation.T @ axes).tolist())


@checked_arguments
def from_step(
    path: str | Path,
    material: Any = None,
    *,
    ground: str | Iterable[str] = (),
    clearance: float = CLEARANCE,
    shapes: str | Path | None = None,
) -> Assembly:
    """Bodies of a STEP assembly, and the joints that its geometry suggests.

    Each occurrence of a part in the tree of the file becomes a body with its name, colour and
    position, and with mass, centre of mass and inertia of the exact geometry; so does each solid of
    a file without a tree, also IGES and BREP. material: name such as "S355", density [kg/m³] or
    material (`pp.Isotropic`) of all bodies, or a mapping to these from names of bodies or products,
    also with * and ?. ground: bodies that do not move. clearance: largest gap [m] of faces that
    touch. shapes: folder for the surfaces of the pictures; by default NAME.parts beside the file.

    Faces that touch suggest joints: a shaft in a bore a cylindrical joint, with a shoulder a hinge;
    planes a slide or a planar joint; a ball in a socket a ball joint. None is in the model before
    `Assembly.accept`. Netgen reads the file, in a process of its own: ``pip install
    "flexmbs[cad]"``. Raises InputError for a file that cannot be read, MachineError without Netgen.

    Examples
    --------
    >>> import flexmbs as fm
    >>> from netgen.occ import Axis, Box, Compound, Cylinder, Pnt, Z
    >>> pin = Cylinder(Pnt(0, 0, 0), Z, r=5, h=30) + Cylinder(Pnt(0, 0, 20), Z, r=9, h=10)
    >>> plate = Box(Pnt(-20, -20, 0), Pnt(20, 20, 20)) - Cylinder(Pnt(0, 0, -5), Z, r=5, h=40)
    >>> Compound([plate, pin]).WriteStep("two.step")  # mm
    >>> assembly = fm.from_step("two.step", "S355")
    >>> list(assembly.bodies)
    ['part 1', 'part 2']
    >>> list(assembly.proposals)
    ['hinge of part 1 and part 2']
    >>> assembly.accept("hinge of part 1 and part 2")
    >>> list(assembly.model().joints)
    ['free motion of part 1', 'hinge of part 1 and part 2']
    """
    file = file_path(path, "CAD file")
    clearance = checked("from_step: clearance", positive, clearance)
    source = read_assembly(file)
    names = [body.name for body in source.bodies]
    fixed = [ground] if isinstance(ground, str) else list(ground)
    for each in fixed:
        require_known(each, names, f"ground: body {shown(each)} is not in the assembly")
    materials = given_materials(source, material)
    folder = file.with_suffix(".parts") if shapes is None else file_path(shapes, "shapes")
    return Assembly(source, materials, fixed, mates(source, clearance), folder)
