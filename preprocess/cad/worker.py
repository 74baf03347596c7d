"""Program of the process in which Netgen reads and meshes a CAD file.

It runs apart from the package: Open CASCADE ends the process on some damaged files, prints on its
own, and cannot be interrupted. Lengths are in mm, to which Open CASCADE converts STEP and IGES
files; the arrays go to an NPZ file.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
from typing import Any

import numpy as np

# Netgen has its tetrahedra left-handed, and middle nodes in the order (01, 02, 03, 12, 13, 23); VTK's
# is (01, 12, 02, 03, 13, 23)
TETRAHEDRON = [0, 2, 1, 3, 5, 7, 4, 6, 9, 8]
USUAL_SIZE = 0.05  # of the diagonal: size of elements if none is given
WATCHED = 0.2  # s between two looks at the parent
STAGE = "flexmbs: meshing"
LARGEST = 1e9  # mm: beyond, double precision is coarser than Open CASCADE's tolerance of 1e-7 mm
INVERTED = 1e-9  # of the square of the size: negative areas beyond the round-off of integrals
TRIANGLE = [0, 1, 2, 5, 3, 4]  # Netgen has (12, 02, 01), VTK (01, 12, 02)


class GeometryError(Exception):
    """Error of the geometry, with a text for the user."""


def main(request: dict[str, Any]) -> None:
    """Mesh of a file, or of its surface; request: see `preprocess.cad.netgen.Request`."""
    prepare(request)
    from netgen.meshing import MeshingStep
    from netgen.occ import Glue, OCCGeometry

    solids = list(OCCGeometry(request["file"]).shape.solids)
    for each in solids:
        check_geometry(each)
    begin_meshing()
    told = [solid_facts(each) for each in solids]
    chosen = chosen_solids(told, request["solid"])
    facts: dict[str, Any] = {"solids": told, "chosen": chosen}
    if not chosen:
        save(request, facts, {})  # the caller lists the solids
        return
    used = [solids[k] for k in chosen]
    shape = used[0] if len(used) == 1 else Glue(used)
    faces = list(shape.faces)
    for number, size in request["sizes"].items():
        faces[int(number) - 1].maxh = size
    facts["faces"] = [face_facts(each) for each in faces]
    low, high = (np.array([*corner]) for corner in shape.bounding_box)
    usual = USUAL_SIZE * float(np.linalg.norm(high - low))
    options: dict[str, Any] = {"maxh": request["size"] or usual, "grading": request["grading"]}
    options["curvaturesafety"] = request["curvature"]
    if request["surface"]:
        options["perfstepsend"] = MeshingStep.MESHSURFACE
    mesh = OCCGeometry(shape).GenerateMesh(**options)
    mesh.SecondOrder()
    arrays = {"nodes": np.array(mesh.Coordinates())}
    for name, elements, order in (
        ("triangles", mesh.Elements2D(), TRIANGLE),
        ("tetrahedra", mesh.Elements3D(), TETRAHEDRON),
    ):
        found = elements.NumPy()
        none = np.zeros((0, len(order)), np.int32)  # with a surface alone Netgen gives no shape
        arrays[name] = found["nodes"][:, order] - 1 if len(found) else none
        arrays[f"{name} index"] = found["index"]
    save(request, facts, arrays)


def prepare(request: dict[str, Any]) -> None:
    """Limit the process: memory, one thread, and the life of its parent."""
    threading.Thread(target=_end_with, args=(request,), daemon=True).start()
    limit_memory(request["memory"])
    from pyngcore import SetNumThreads

    SetNumThreads(1)  # meshes do not depend on the number of processors


def _end_with(request: dict[str, Any]) -> None:
    """Wait for the end of the parent, then end this process and remove its temporary folder."""
    while os.getppid() == request["parent"]:
        time.sleep(WATCHED)
    shutil.rmtree(os.path.dirname(request["output"]), ignore_errors=True)
    os._exit(1)


def save(request: dict[str, Any], facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write the result."""
    with open(request["output"], "wb") as file:
        np.savez(file, facts=json.dumps(facts), **arrays)  # type: ignore[arg-type]


def chosen_solids(solids: list[dict[str, Any]], wanted: int | str | None) -> list[int]:
    """Indices of the only solid, of that of a number or name, or of "all"; empty if none fits."""
    if wanted == "all" or (wanted is None and len(solids) == 1):
        return list(range(len(solids)))
    return [k for k, each in enumerate(solids) if wanted in (k + 1, each["name"] or k + 1)]


def solid_facts(solid: Any) -> dict[str, Any]:
    """Name and volume (mm³) of a solid."""
    return {"name": solid.name, "volume": solid.mass}


def face_facts(face: Any) -> dict[str, Any]:
    """Name, colour, area (mm²) and centre (mm) of a face."""
    colour = None if face.col is None else [srgb(component) for component in list(face.col)[:3]]
    return {"name": face.name, "colour": colour, "area": face.mass, "centre": list(face.center)}


def srgb(linear: float) -> float:
    """Component of a colour as in the file and on screens; Open CASCADE has linear intensities.

    Source: IEC 61966-2-1:1999.
    """
    value = 12.92 * linear if linear <= 0.0031308 else 1.055 * linear ** (1 / 2.4) - 0.055
    return round(float(value), 4)


def begin_meshing() -> None:
    """Tell the caller, for its error message, that the file was read."""
    print(STAGE, file=sys.stderr, flush=True)


def check_geometry(shape: Any) -> None:
    """Raise GeometryError for faces on which Netgen would not end, or a shape that is too large."""
    low, high = (np.array([*corner]) for corner in shape.bounding_box)
    size = max(np.abs(low).max(), np.abs(high).max())
    if not size <= LARGEST:
        raise GeometryError(
            f"its geometry reaches to {size:.3g} mm; repair it, or export it again in its unit"
        )
    for number, face in enumerate(shape.faces, 1):
        if not -INVERTED * size**2 <= face.mass <= LARGEST**2:
            raise GeometryError(
                f"face {number} has the area {face.mass:.4g} mm²; repair its edges in the CAD program"
            )


def limit_memory(most: int) -> None:
    """Limit the address space (bytes), where the system can."""
    try:
        import resource
    except ImportError:
        return
    allowed = resource.getrlimit(resource.RLIMIT_AS)[1]  # of the user or a batch system
    bound = most if allowed == resource.RLIM_INFINITY else min(most, allowed)
    resource.setrlimit(resource.RLIMIT_AS, (bound, bound))
