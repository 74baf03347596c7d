"""CAD files of three parts, for tests and recipes.

    python meshes/make_cad.py     -> bracket.step, robot_link.step, sheet.step

Needs netgen-mesher (the extra cad). Dimensions in mm.
"""

import re
from pathlib import Path
from typing import Any

from netgen.occ import Box, Cylinder, Pnt, X, Y, Z

HERE = Path(__file__).parent


def hole(x: float, y: float, radius: float) -> Any:
    """Cylinder along z, longer than all parts are thick."""
    return Cylinder(Pnt(x, y, -100), Z, r=radius, h=300)


def bracket() -> Any:
    """Angle of 8 mm walls with four holes of 6 mm in its foot and a bore of 20 mm in its wall."""
    angle = Box(Pnt(0, -30, 0), Pnt(80, 30, 8)) + Box(Pnt(0, -30, 0), Pnt(8, 30, 70))
    for x in (30, 65):
        for y in (-18, 18):
            angle -= hole(x, y, 3)
    return angle - Cylinder(Pnt(-50, 0, 45), X, r=10, h=100)


def robot_link() -> Any:
    """Tapered link of 300 mm with round ends, a hub bore of 40 mm and a tip bore of 20 mm."""
    hub, tip = Cylinder(Pnt(0, 0, 0), Z, r=35, h=30), Cylinder(Pnt(300, 0, 0), Z, r=20, h=30)
    web = Box(Pnt(0, -15, 5), Pnt(300, 15, 25))
    link = hub + tip + web - hole(0, 0, 20) - hole(300, 0, 10)
    for face in link.faces:
        if abs(face.center.z - 30) < 1e-9 and face.center.x < 100:
            face.name, face.col = "motor_flange", (1.0, 0.0, 0.0)
    return link


def sheet() -> Any:
    """Sheet of 2 mm, bent by 90° with an inner radius of 3 mm, with a slot hole in each leg."""
    flat = Box(Pnt(5, -20, 0), Pnt(60, 20, 2))
    leg = Box(Pnt(0, -20, 5), Pnt(2, 20, 60))
    outer = Cylinder(Pnt(5, -20, 5), Y, r=5, h=40) - Cylinder(Pnt(5, -20, 5), Y, r=3, h=40)
    corner = outer * Box(Pnt(0, -20, 0), Pnt(5, 20, 5))
    bent = (flat + corner + leg).UnifySameDomain() if hasattr(flat, "UnifySameDomain") else flat
    return bent - hole(40, 0, 4) - Cylinder(Pnt(-50, 0, 40), X, r=4, h=100)


def write(shape: Any, name: str) -> None:
    """Write a STEP file without the date, so that it is the same again."""
    path = HERE / f"{name}.step"
    shape.WriteStep(str(path))
    text = re.sub(r"(FILE_NAME\('[^']*',)'[^']*'", r"\1'2026-01-01T00:00:00'", path.read_text())
    path.write_text(text.replace(str(path), f"{name}.step"))


if __name__ == "__main__":
    for make in (bracket, robot_link, sheet):
        write(make(), make.__name__)
