"""Visuals of the bodies of an MJCF file.

Geoms of the groups that MuJoCo shows, materials, mesh files.

Planes and height fields are left out. Source: MuJoCo documentation, XML reference (asset,
body/geom).
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from flexmbs.declaration import shown
from flexmbs.files.path_policy import PathPolicy
from flexmbs.files.xml_tree import XmlElement
from flexmbs.model.frames import Frame
from flexmbs.robots.import_result import ImportLog
from flexmbs.robots.mjcf.document import MAIN, Defaults
from flexmbs.robots.mjcf.inertia import SIZES, MeshAsset, kind_of, size_and_pose, values_of
from flexmbs.robots.mjcf.mesh_inertia import MODES
from flexmbs.robots.mjcf.values import (
    HERE,
    Compiler,
    ElementValues,
    RigidPose,
    pose_of,
    quaternion_rotation,
)
from flexmbs.robots.visual_elements import Visual, visual_of

# last group of geoms that MuJoCo shows by default; collision meshes are in higher groups
SHOWN = 2


class MjcfVisuals:
    """Materials and meshes of a file by name."""

    def __init__(
        self, root: XmlElement, defaults: Defaults, report: ImportLog, reach: PathPolicy
    ) -> None:
        """Reader of visual geometry, with the materials and meshes of the file."""
        self.defaults, self.report, self.reach = defaults, report, reach
        compiler = {
            key: value for each in root.all("compiler") for key, value in each.attributes.items()
        }
        self.meshes_in = reach.folder / (compiler.get("meshdir") or compiler.get("assetdir") or "")
        self.colours = {
            each.text("name"): self._colour(each) for each in self._assets(root, "material")
        }
        self.meshes = dict(
            self._mesh(each) for each in self._assets(root, "mesh") if "file" in each
        )

    def _assets(self, root: XmlElement, tag: str) -> Iterator[ElementValues]:
        """Values of the assets with a tag."""
        for section in root.all("asset"):
            for element in section.all(tag):
                yield ElementValues(element, self.defaults.of(element, MAIN), self.report)

    def _mesh(self, given: ElementValues) -> tuple[str, MeshAsset]:
        file, scale = given.text("file").replace("\\", "/"), given.vector("scale", (1.0,) * 3)
        values, problem = {}, ""
        try:
            values = {"file": self.reach.path(file, self.meshes_in), "scale": scale}
        except ValueError as error:
            problem = str(error)
        pose, mode = HERE, given.text("inertia", MODES[0])
        if "refpos" in given or "refquat" in given:
            # x = scale Rᵀ (x' − refpos)
            quat = given.numbers("refquat", (1.0, 0.0, 0.0, 0.0))
            if not quat.any():
                given.problem("refquat: has zero length; give a rotation")
            R = quaternion_rotation(quat) if quat.any() else np.eye(3)
            pose = RigidPose(R.T, -scale * (R.T @ given.vector("refpos")))
            if np.ptp(scale) and not np.array_equal(R, np.eye(3)):
                problem = "has a refquat and unequal scales; apply them to the file"
        if mode not in MODES:
            given.problem(f"inertia: must be one of {', '.join(MODES)}, not {shown(mode)}")
        return given.text("name", Path(file).stem), MeshAsset(values, pose, mode, problem)

    def _colour(self, given: ElementValues) -> tuple[float, ...] | None:
        """Colour (r, g, b, opacity) of an element; None if it has none."""
        return tuple(given.numbers("rgba", (1.0,) * 4).tolist()) if "rgba" in given else None

    def of_geom(
        self, body: str, given: ElementValues, frame: RigidPose, compiler: Compiler
    ) -> Visual | None:
        """Visual of a geom; None if it is invisible or of unknown shape."""
        kind = kind_of(given)
        if given.number("group", 0.0) > SHOWN:
            return None
        colour = self._colour(given) or self.colours.get(given.text("material"))
        if kind == "mesh":
            asset = self.meshes.get(given.text("mesh"))
            if asset is None:
                return None
            if asset.problem:
                self.report.note(f"mesh {asset.problem}")
                return None
            values, pose = asset.values, pose_of(given, compiler).then(asset.pose)
        elif kind not in SIZES or "mesh" in given:
            return None
        else:
            size, pose = size_and_pose(given, kind, compiler)
            if min(size[: SIZES[kind]]) <= 0.0:
                return None
            values = values_of(kind, size)
        return visual_of(body, kind, values, _frame(frame.then(pose)), colour, self.report.note)


def _frame(pose: RigidPose) -> Frame:
    """Frame of a rigid pose."""
    return Frame(pose.o, pose.R)
