"""Visuals of the bodies of an MJCF file: geoms of the groups that MuJoCo shows, materials, mesh
files.

Planes and height fields are left out. Source: MuJoCo documentation, XML reference (asset,
body/geom).
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from flexmbs.files.path_policy import PathPolicy
from flexmbs.model.frames import Frame
from flexmbs.model.xml_tree import XmlElement
from flexmbs.robots.import_result import ImportLog
from flexmbs.robots.mjcf.document import MAIN, Defaults
from flexmbs.robots.mjcf.inertia import SIZES, size_and_pose
from flexmbs.robots.mjcf.values import Compiler, ElementValues, RigidPose, pose_of
from flexmbs.robots.visual_elements import Visual

# last group of geoms that MuJoCo shows by default; collision meshes are in higher groups
SHOWN = 2
# MuJoCo gives half lengths
DOUBLED = {"box": (2.0, 2.0, 2.0), "cylinder": (1.0, 2.0), "capsule": (1.0, 2.0)}


class MjcfVisuals:
    """Materials and meshes of a file by name."""

    def __init__(
        self, root: XmlElement, defaults: Defaults, report: ImportLog, reach: PathPolicy
    ) -> None:
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
        for section in root.all("asset"):
            for element in section.all(tag):
                yield ElementValues(element, self.defaults.of(element, MAIN), self.report)

    def _mesh(self, given: ElementValues) -> tuple[str, tuple[str, tuple[float, ...]]]:
        file = given.text("file").replace("\\", "/")
        return given.text("name", Path(file).stem), (
            file,
            tuple(given.vector("scale", (1.0, 1.0, 1.0)).tolist()),
        )

    def _colour(self, given: ElementValues) -> tuple[float, ...] | None:
        return tuple(given.numbers("rgba", (1.0,) * 4).tolist()) if "rgba" in given else None

    def of_geom(
        self, body: str, given: ElementValues, frame: RigidPose, compiler: Compiler
    ) -> Visual | None:
        """Visual of a geom; None if it is invisible or of unknown shape."""
        kind = given.text("type", "mesh" if "mesh" in given else "sphere")
        if given.number("group", 0.0) > SHOWN:
            return None
        colour = self._colour(given) or self.colours.get(given.text("material"))
        if kind == "mesh":
            return self._of_mesh(body, given, frame.then(pose_of(given, compiler)), colour)
        if kind not in SIZES or "mesh" in given:
            return None
        sizes, pose = size_and_pose(given, kind, compiler)
        own = sizes[: SIZES[kind]] * np.asarray(DOUBLED.get(kind, 1.0))
        return (
            Visual(
                body, kind, None, tuple(own.tolist()), (1.0,) * 3, _frame(frame.then(pose)), colour
            )
            if own.min() > 0.0
            else None
        )

    def _of_mesh(
        self, body: str, given: ElementValues, pose: RigidPose, colour: tuple[float, ...] | None
    ) -> Visual | None:
        if given.text("mesh") not in self.meshes:
            return None
        file, scale = self.meshes[given.text("mesh")]
        try:
            path = self.reach.path(file, self.meshes_in)
        except ValueError as error:
            self.report.note(f"mesh {error}")
            return None
        return Visual(body, "mesh", path, (), scale, _frame(pose), colour)


def _frame(pose: RigidPose) -> Frame:
    return Frame(pose.o, pose.R)
