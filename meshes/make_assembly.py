"""Assembly of six solids as a STEP file with product structure: a slider-crank engine.

    python meshes/make_assembly.py     -> engine.step, and its pin as pin.igs

Needs cadquery-ocp, which writes names, colours and transformations as CAD programs do. Dimensions
in mm. Each part is drawn in its own axes; pins lie along z. PLACES has the transformations of the
tree: axis and angle of a rotation, then a translation.
"""

import getpass
import math
import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CRANK, ROD = 30.0, 100.0  # radius of the crank pin, distance of the bores of the rod
PIN, PIN_LENGTH = 5.0, 20.0
LAYER = -6.0  # y of the rod's middle plane and of the piston's axis
UPRIGHT = ((1.0, 0.0, 0.0), -math.pi / 2)  # z of the part → y of the assembly
NONE = ((1.0, 0.0, 0.0), 0.0)
# of components in their sub-assembly, by path
PLACES: dict[
    tuple[str, ...], tuple[tuple[tuple[float, float, float], float], tuple[float, ...]]
] = {
    ("frame",): (NONE, (0.0, 0.0, 0.0)),
    ("crank",): (UPRIGHT, (0.0, 0.0, 0.0)),
    ("crank pin",): (UPRIGHT, (CRANK, -11.5, 0.0)),
    ("rod",): (UPRIGHT, (CRANK, LAYER - 5.0, 0.0)),
    ("piston group",): (((1.0, 0.0, 0.0), math.pi), (CRANK + ROD, LAYER, 0.0)),
    ("piston group", "piston"): (NONE, (0.0, 0.0, 0.0)),
    # the sub-assembly is upside down
    ("piston group", "wrist pin"): (((1.0, 0.0, 0.0), math.pi / 2), (0.0, 10.0, 0.0)),
}
PRODUCTS = {"crank pin": "pin", "wrist pin": "pin"}  # others have the names of their parts
COLOURS = {
    "frame": (0.55, 0.6, 0.65), "crank": (0.2, 0.4, 0.7), "pin": (0.85, 0.85, 0.4),
    "rod": (0.8, 0.4, 0.2), "piston": (0.3, 0.65, 0.45),
}  # fmt: skip


def shapes() -> dict[str, Any]:
    """The five parts."""
    from OCP.BRepAlgoAPI import BRepAlgoAPI_Cut, BRepAlgoAPI_Fuse
    from OCP.BRepPrimAPI import BRepPrimAPI_MakeBox, BRepPrimAPI_MakeCylinder
    from OCP.gp import gp_Ax2, gp_Dir, gp_Pnt

    def box(low: tuple[float, ...], high: tuple[float, ...]) -> Any:
        return BRepPrimAPI_MakeBox(gp_Pnt(*low), gp_Pnt(*high)).Shape()

    def cylinder(at: tuple[float, ...], axis: tuple[float, ...], r: float, h: float) -> Any:
        return BRepPrimAPI_MakeCylinder(gp_Ax2(gp_Pnt(*at), gp_Dir(*axis)), r, h).Shape()

    def cut(shape: Any, *tools: Any) -> Any:
        for tool in tools:
            shape = BRepAlgoAPI_Cut(shape, tool).Shape()
        return shape

    def fuse(shape: Any, *others: Any) -> Any:
        for other in others:
            shape = BRepAlgoAPI_Fuse(shape, other).Shape()
        return shape

    X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    plate = box((-45, 10, -45), (170, 22, 45))
    barrel = box((80, -26, -22), (170, 10, 22))
    return {
        "frame": cut(
            fuse(plate, barrel), cylinder((0, 0, 0), Y, 8, 30), cylinder((70, LAYER, 0), X, 15, 110)
        ),
        "crank": cut(
            fuse(cylinder((0, 0, 0), Z, 42, 10), cylinder((0, 0, 10), Z, 8, 20)),
            cylinder((CRANK, 0, -1), Z, PIN, 12),
        ),
        "pin": cylinder((0, 0, 0), Z, PIN, PIN_LENGTH),
        "rod": cut(
            fuse(
                cylinder((0, 0, 0), Z, 9, 10),
                cylinder((ROD, 0, 0), Z, 9, 10),
                box((0, -6, 0), (ROD, 6, 10)),
            ),
            cylinder((0, 0, -1), Z, PIN, 12),
            cylinder((ROD, 0, -1), Z, PIN, 12),
        ),
        "piston": cut(
            cylinder((-15, 0, 0), X, 15, 40),
            box((-16, -6, -16), (12, 6, 16)),
            cylinder((0, -20, 0), Y, PIN, 40),
        ),
    }


def write(path: Path) -> None:
    """Write the STEP file without the date; only the order of the colours varies."""
    from OCP.gp import gp_Ax1, gp_Dir, gp_Pnt, gp_Trsf, gp_Vec
    from OCP.Quantity import Quantity_Color, Quantity_TypeOfColor
    from OCP.STEPCAFControl import STEPCAFControl_Writer
    from OCP.STEPControl import STEPControl_StepModelType
    from OCP.TCollection import TCollection_ExtendedString
    from OCP.TDataStd import TDataStd_Name
    from OCP.TDocStd import TDocStd_Document
    from OCP.TopLoc import TopLoc_Location
    from OCP.XCAFApp import XCAFApp_Application
    from OCP.XCAFDoc import XCAFDoc_ColorType, XCAFDoc_DocumentTool

    document = TDocStd_Document(TCollection_ExtendedString("XmlOcaf"))
    XCAFApp_Application.GetApplication_s().InitDocument(document)
    tool = XCAFDoc_DocumentTool.ShapeTool_s(document.Main())
    colours = XCAFDoc_DocumentTool.ColorTool_s(document.Main())

    def named(label: Any, name: str) -> Any:
        TDataStd_Name.Set_s(label, TCollection_ExtendedString(name))
        return label

    def placed(path: tuple[str, ...]) -> Any:
        (axis, angle), position = PLACES[path]
        motion = gp_Trsf()
        motion.SetRotation(gp_Ax1(gp_Pnt(0, 0, 0), gp_Dir(*axis)), angle)
        motion.SetTranslationPart(gp_Vec(*position))
        return TopLoc_Location(motion)

    labels = {}
    for name, shape in shapes().items():
        labels[name] = named(tool.AddShape(shape, False), name)
        colour = Quantity_Color(*COLOURS[name], Quantity_TypeOfColor.Quantity_TOC_sRGB)
        colours.SetColor(labels[name], colour, XCAFDoc_ColorType.XCAFDoc_ColorGen)
    assemblies = {(): named(tool.NewShape(), "engine")}
    for path_, _ in PLACES.items():
        own = PRODUCTS.get(path_[-1], path_[-1])
        label = labels.get(own)
        if label is None:
            label = assemblies[path_] = named(tool.NewShape(), own)
        named(tool.AddComponent(assemblies[path_[:-1]], label, placed(path_)), path_[-1])
    tool.UpdateAssemblies()
    writer = STEPCAFControl_Writer()
    writer.SetNameMode(True)
    writer.SetColorMode(True)
    writer.Transfer(document, STEPControl_StepModelType.STEPControl_AsIs)
    writer.Write(str(path))
    text = re.sub(r"(FILE_NAME\('[^']*',)'[^']*'", r"\1'2026-01-01T00:00:00'", path.read_text())
    path.write_text(re.sub(r"FILE_NAME\('[^']*'", f"FILE_NAME('{path.name}'", text))


def write_pin(path: Path) -> None:
    """Write the pin as an IGES file without the date and the user."""
    from OCP.IGESControl import IGESControl_Writer

    writer = IGESControl_Writer("MM", 1)  # 1: solids
    writer.AddShape(shapes()["pin"])
    writer.ComputeModel()
    writer.Write(str(path))
    text = re.sub(r"15H\d{8}\.\d{6}", "15H20260101.000000", path.read_text())
    user = getpass.getuser()
    path.write_text(text.replace(f"{len(user)}H{user},", f"{len(user)}H{'x' * len(user)},"))


if __name__ == "__main__":
    write(HERE / "engine.step")
    write_pin(HERE / "pin.igs")
