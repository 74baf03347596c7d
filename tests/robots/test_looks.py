"""What bodies of MJCF and SDF files look like: solids against closed forms, colours, places."""

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import flexmbs as fm
from flexmbs.player.solids import Solid

pytestmark = pytest.mark.filterwarnings("ignore:.*left out:flexmbs.ModelWarning")
FINE = 0.04  # shapes of 24 sides
STL = """solid t
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 1 0
endloop
endfacet
endsolid t
"""


def volume_and_centroid(solid: Solid) -> tuple[float, np.ndarray]:
    """∫ dV and ∫ x dV / V of a closed surface by tetrahedra from the origin."""
    a, b, c = (solid.vertices[solid.triangles[:, k]] for k in range(3))
    parts = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6.0
    return float(parts.sum()), np.einsum("i,ij->j", parts, (a + b + c) / 4.0) / parts.sum()


def check(solid: Solid, volume: float, centre: np.ndarray, extents: np.ndarray) -> None:
    """Extents (3,) are along the axes of the body."""
    found, middle = volume_and_centroid(solid)
    assert found == pytest.approx(volume, rel=FINE)
    np.testing.assert_allclose(middle, centre, atol=1e-9)
    np.testing.assert_allclose(np.ptp(solid.vertices, axis=0), extents, rtol=0.02)


VOLUMES = {
    "sphere": 4 / 3 * np.pi * 0.1**3,
    "capsule": np.pi * 0.1**2 * 0.6 + 4 / 3 * np.pi * 0.1**3,
    "cylinder": np.pi * 0.1**2 * 0.6,
    "ellipsoid": 4 / 3 * np.pi * 0.1 * 0.2 * 0.3,
    "box": 0.2 * 0.4 * 0.6,
}
EXTENTS = {
    "sphere": [0.2, 0.2, 0.2],
    "capsule": [0.2, 0.2, 0.8],
    "cylinder": [0.2, 0.2, 0.6],
    "ellipsoid": [0.2, 0.4, 0.6],
    "box": [0.2, 0.4, 0.6],
}


def test_geoms_of_mujoco(tmp_path: Path) -> None:
    """Turned by a quarter about x: the axis z of a shape is −y of its body."""
    size = {
        "sphere": "0.1",
        "capsule": "0.1 0.3",
        "cylinder": "0.1 0.3",
        "ellipsoid": "0.1 0.2 0.3",
        "box": "0.1 0.2 0.3",
    }
    geoms = "".join(
        f'<geom type="{kind}" size="{numbers}" pos="{k} 0 1" euler="90 0 0"/>'
        for k, (kind, numbers) in enumerate(size.items())
    )
    (tmp_path / "m.xml").write_text(
        '<mujoco><worldbody><body name="b" pos="0 5 0"><joint axis="0 1 '
        f'0"/>{geoms}</body></worldbody></mujoco>'
    )
    found = fm.from_mujoco(tmp_path / "m.xml")
    solids = found.solids()
    assert [solid.body for solid in solids] == ["b"] * 5
    for k, (kind, solid) in enumerate(zip(size, solids, strict=True)):
        check(solid, VOLUMES[kind], np.array([k, 0.0, 1.0]), np.array(EXTENTS[kind])[[0, 2, 1]])


def test_colours_meshes_and_places_of_mujoco(tmp_path: Path) -> None:
    """Materials, groups, capsules from point to point, meshes in their folder, and what stands in
    the world.
    """
    (tmp_path / "models" / "parts").mkdir(parents=True)
    for folder in (tmp_path, tmp_path / "models" / "parts"):
        (folder / "t.stl").write_text(STL)
    (tmp_path / "models" / "m.xml").write_text("""<mujoco><compiler meshdir="parts"/>
      <asset><material name="red" rgba="1 0 0 0.5"/><mesh name="plate" file="t.stl" scale="2 2 2"/>
      <mesh file="../../t.stl" name="out"/></asset><default><default class="hidden"><geom group="3"/></default></default>
      <worldbody><geom name="floor" type="plane" size="5 5 1"/><geom type="box" size="1 1 0.1" pos="0 0 -1" material="red"/>
        <body name="b" pos="0 0 2"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
          <geom type="capsule" size="0.1" fromto="0 0 0 0 0 1" rgba="0 1 0 1" material="red"/>
          <geom class="hidden" type="box" size="1 1 1"/>
          <geom type="mesh" mesh="plate" pos="0 0 3"/><geom type="mesh" mesh="out"/>
          <body name="fixed" pos="1 0 0" euler="0 0 90"><geom type="box" size="0.1 0.2 0.3" pos="1 0 0" mass="0"/></body>
        </body></worldbody></mujoco>""")
    found = fm.from_mujoco(tmp_path / "models" / "m.xml")
    floor, capsule, mesh, fixed = found.solids()
    assert [each.body for each in (floor, capsule, mesh, fixed)] == ["ground", "b", "b", "b"]
    assert [each.colour for each in (floor, capsule, mesh, fixed)] == [
        (1, 0, 0, 0.5),
        (0, 1, 0, 1),
        None,
        None,
    ]
    check(floor, 2 * 2 * 0.2, np.array([0.0, 0.0, -1.0]), np.array([2.0, 2.0, 0.2]))
    check(
        capsule,
        np.pi * 0.1**2 + 4 / 3 * np.pi * 0.1**3,
        np.array([0.0, 0.0, 0.5]),
        np.array([0.2, 0.2, 1.2]),
    )
    np.testing.assert_allclose(sorted(mesh.vertices.tolist()), [[0, 0, 3], [0, 2, 3], [2, 0, 3]])
    check(fixed, 0.2 * 0.4 * 0.6, np.array([1.0, 1.0, 0.0]), np.array([0.4, 0.2, 0.6]))
    outside = fm.from_mujoco(tmp_path / "models" / "m.xml", allow_outside=True)
    assert len(outside.solids()) == 5
    (tmp_path / "models" / "parts" / "t.stl").unlink()
    assert len(found.solids()) == 3
    page = found.show(browser=False).text
    assert "visual of link b is not shown" in page


SDF_SHAPES = {
    "sphere": "<radius>0.1</radius>",
    "capsule": "<radius>0.1</radius><length>0.6</length>",
    "cylinder": "<radius>0.1</radius><length>0.6</length>",
    "ellipsoid": "<radii>0.1 0.2 0.3</radii>",
    "box": "<size>0.2 0.4 0.6</size>",
}


def test_visuals_of_sdf(tmp_path: Path) -> None:
    turned = Rotation.from_euler("xyz", (0.3, 0.4, 0.5))
    shapes = "".join(
        f'<visual name="{kind}"><pose>{k} 0 1 0.3 0.4 '
        f"0.5</pose><geometry><{kind}>{size}</{kind}></geometry></visual>"
        for k, (kind, size) in enumerate(SDF_SHAPES.items())
    )
    (tmp_path / "m.sdf").write_text(
        f'<sdf version="1.11"><model name="m"><link name="b">{shapes}</link></model></sdf>'
    )
    solids = fm.from_sdf(tmp_path / "m.sdf").solids()
    for k, (kind, solid) in enumerate(zip(SDF_SHAPES, solids, strict=True)):
        own = solid._replace(vertices=(solid.vertices - [k, 0, 1]) @ turned.as_matrix())
        check(own, VOLUMES[kind], np.zeros(3), np.array(EXTENTS[kind]))


def test_colours_meshes_and_places_of_sdf(tmp_path: Path) -> None:
    """Transparency, poses relative to other frames, nested models, links of static models, meshes,
    and what has no picture.
    """
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "t.stl").write_text(STL)
    ball = "<geometry><sphere><radius>0.1</radius></sphere></geometry>"
    red = "<material><diffuse>1 0 0 0.5</diffuse></material><transparency>0.5</transparency>"
    mesh = "<geometry><mesh><uri>model://parts/t.stl</uri><scale>2 2 2</scale></mesh></geometry>"
    plane = "<geometry><plane><normal>0 0 1</normal></plane></geometry>"
    static = (
        '<static>true</static><pose>0 0 3 0 0 0</pose><link name="base"><visual '
        f'name="v">{ball}</visual></link>'
    )
    (
        tmp_path / "m.sdf"
    ).write_text(f"""<sdf version="1.11"><world name="w"><model name="stand">{static}</model><model name="m">
      <frame name="away"><pose>0 0 7 0 0 0</pose></frame><link name="b"><pose>0 0 5 0 0 0</pose>
        <visual name="a"><pose relative_to="away">1 0 0 0 0 0</pose>{ball}{red}</visual><visual name="p">{plane}</visual>
        <visual name="c">{mesh}</visual></link>
      <model name="inner"><pose>2 0 0 0 0 0</pose><link name="d"><visual name="e">{ball}
        <material><diffuse>0 1 0</diffuse></material></visual></link></model></model></world></sdf>""")
    found = fm.from_sdf(tmp_path / "m.sdf")
    solids = {(each.body, each.colour): each for each in found.solids()}
    names = {link: found.frames[link].body for link in ("m::b", "m::inner::d")}
    assert set(solids) == {
        ("ground", None),
        (names["m::b"], (1, 0, 0, 0.25)),
        (names["m::b"], None),
        (names["m::inner::d"], (0, 1, 0, 1)),
    }
    volume = 4 / 3 * np.pi * 0.1**3
    check(solids["ground", None], volume, np.array([0.0, 0.0, 3.0]), np.full(3, 0.2))
    check(
        solids[names["m::b"], (1, 0, 0, 0.25)], volume, np.array([1.0, 0.0, 2.0]), np.full(3, 0.2)
    )
    check(solids[names["m::inner::d"], (0, 1, 0, 1)], volume, np.zeros(3), np.full(3, 0.2))
    np.testing.assert_allclose(
        np.ptp(solids[names["m::b"], None].vertices, axis=0), [2.0, 2.0, 0.0]
    )


def test_files_without_pictures_show_rods(tmp_path: Path) -> None:
    (tmp_path / "m.xml").write_text(
        '<mujoco><worldbody><body><joint/><inertial pos="0 0 1" mass="1" diaginertia="1 1 '
        '1"/></body></worldbody></mujoco>'
    )
    assert fm.from_mujoco(tmp_path / "m.xml").solids() == ()
