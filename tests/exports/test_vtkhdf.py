"""Moving bodies in VTKHDF files, opened by VTK."""

from pathlib import Path

import h5py
import numpy as np
import pytest
from machines import bending, machine

import flexmbs as fm
from flexmbs.exports.moving_surfaces import moving_surfaces
from flexmbs.exports.primitives import triangulate
from flexmbs.flexible_body.stress import von_mises
from flexmbs.player.solids import Solid


def volume(points: np.ndarray, triangles: np.ndarray) -> float:
    """By the divergence theorem; positive if the triangles are
    counter-clockwise seen from outside.
    """
    a, b, c = (points[triangles[:, k]] for k in range(3))
    return float(np.einsum("ni,ni->", a, np.cross(b, c)) / 6.0)


SHAPES = {
    "box": (
        {"kind": "box", "pose": [0.3, -0.2, 0.1, 0.6, 0.0, 0.8, 0.0], "size": [0.1, 0.2, 0.5]},
        0.01,
    ),
    "ball": ({"kind": "ball", "at": [1.0, 2.0, 3.0], "radius": 0.5}, np.pi / 6.0),
    "rod": (
        {"kind": "rod", "from": [1.0, 0.0, 0.0], "to": [1.0, 0.0, -2.0], "radius": 0.1},
        0.02 * np.pi,
    ),
}


@pytest.mark.parametrize("shape, expected", SHAPES.values(), ids=SHAPES)
def test_shapes_enclose_their_volume(shape: dict, expected: float) -> None:
    points, triangles = triangulate(shape)
    assert volume(points, triangles) == pytest.approx(
        expected, rel=0.0 if shape["kind"] == "box" else 0.08, abs=1e-12
    )
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    assert {tuple(edge) for edge in edges} == {tuple(edge[::-1]) for edge in edges}  # closed


def test_vtk_reads_the_motion_and_the_stress(tmp_path: Path) -> None:
    vtk = pytest.importorskip("vtkmodules.vtkIOHDF")
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline as Pipeline

    solution = bending()
    solution.to_vtkhdf(tmp_path / "run.vtkhdf")
    reader = vtk.vtkHDFReader()
    reader.SetFileName(str(tmp_path / "run.vtkhdf"))
    reader.UpdateInformation()
    np.testing.assert_array_equal(
        reader.GetOutputInformation(0).Get(Pipeline.TIME_STEPS()), solution.t
    )
    surfaces = moving_surfaces(solution)
    assert [each.name for each in surfaces] == ["arm", "tool"]
    for i in (0, 3, len(solution.t) - 1):
        reader.UpdateTimeStep(float(solution.t[i]))
        grid = reader.GetOutput()
        points = vtk_to_numpy(grid.GetPoints().GetData())
        np.testing.assert_array_equal(points, np.concatenate([each.at(i) for each in surfaces]))
        assert grid.GetNumberOfCells() == sum(len(each.triangles) for each in surfaces)
        body = vtk_to_numpy(grid.GetCellData().GetArray("body"))
        np.testing.assert_array_equal(np.bincount(body), [len(each.triangles) for each in surfaces])
        stress = vtk_to_numpy(grid.GetPointData().GetArray("von Mises stress"))
        field = solution.body("arm").stress.field(float(solution.t[i]))
        assert np.nanmax(stress) == pytest.approx(von_mises(field.stress).max(), rel=1e-6)
        arm = surfaces[0]
        assert np.isnan(stress[len(arm.points) :]).all()
        ids = np.array(arm.shape.surface.node_ids)[arm.rows]
        node = int(np.argmin(np.linalg.norm(arm.points - (1.0, 0.03, 0.02), axis=1)))
        moved = solution.body("arm").displacement(int(ids[node]))[i, 0]
        turned = vtk_to_numpy(grid.GetPointData().GetArray("elastic displacement"))[node]
        np.testing.assert_allclose(
            turned, solution.body("arm").rotation[i] @ moved, rtol=1e-5, atol=1e-12
        )


def test_chosen_instants_and_given_solids(tmp_path: Path) -> None:
    solution = machine()
    plate = Solid("cart", np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]), np.array([[0, 1, 2]]))
    floor = Solid("ground", np.array([[0.0, 0, -1], [1, 0, -1], [0, 1, -1]]), np.array([[0, 1, 2]]))
    solution.to_vtkhdf(tmp_path / "run.vtkhdf", instants=3, solids=[plate, floor])
    with h5py.File(tmp_path / "run.vtkhdf") as file:
        assert file["flexmbs"].attrs["bodies"].tolist() == [b"ground", b"arm", b"ball", b"cart"]
        np.testing.assert_allclose(file["VTKHDF/Steps/Values"], [0.0, 0.025, 0.05])
        count = int(file["VTKHDF/NumberOfPoints"][0])
        points = file["VTKHDF/Points"][()].reshape(3, count, 3)
        assert "von Mises stress" not in file["VTKHDF/PointData"]
    np.testing.assert_allclose(points[:, :3], np.broadcast_to(floor.vertices, (3, 3, 3)))
    cart = solution.body("cart").position[[0, 5, 10], None]
    np.testing.assert_allclose(points[:, -3:], plate.vertices + cart, atol=1e-12)
    with pytest.raises(fm.InputError, match="solids: body 'cat' is not in the solution"):
        solution.to_vtkhdf(tmp_path / "run.vtkhdf", solids=[plate._replace(body="cat")])
    with pytest.raises(fm.InputError, match="instants: must be a whole number from 1"):
        solution.to_vtkhdf(tmp_path / "run.vtkhdf", instants=0)
