"""COLLADA files: a cube in units, nested and mirrored nodes, faces of every kind; files that are
refused by name.
"""

from pathlib import Path

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.model.shapes.collada import read_collada

# a fourth number to skip
POINTS = " ".join(f"{x} {y} {z} 9" for z in (0, 1) for y in (0, 1) for x in (0, 1))
FACES = ((0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5))
PAIRS = [" ".join(f"0 {k}" for k in face) for face in FACES]  # normal and vertex of each corner
INPUTS = (
    '<input semantic="NORMAL" source="#p" offset="0"/><input semantic="VERTEX" source="#v" '
    'offset="1"/>'
)
KINDS = {
    "triangles": "<p>"
    + " ".join(f"0 {a} 0 {b} 0 {c} 0 {a} 0 {c} 0 {d}" for a, b, c, d in FACES)
    + "</p>",
    "polylist": f"<vcount>{' 4' * 6}</vcount><p>{' '.join(PAIRS)}</p>",
    "polygons": "".join(f"<p>{pairs}</p>" for pairs in PAIRS),
}
GREEN, GLASS = "<color>0.1 0.6 0.2 1</color>", "<color>0.2 0.3 2 1</color>"
BLUE = (0.2, 0.3, 1.0)
CLEAR = {  # an effect and its colour; RGB_ZERO leaves 1 less the luminance of (0.5, 0.5, 0.5)
    "<phong><diffuse>{}</diffuse></phong>": (*BLUE, 1.0),
    "<constant><emission>{}</emission></constant>": (*BLUE, 1.0),
    "<lambert><diffuse>{}</diffuse><transparency><float>0.25</float></transparency></lambert>": (
        *BLUE,
        0.25,
    ),
    "<blinn><diffuse>{}</diffuse><transparent><color>1 1 1 0.5</color></transparent>"
    "<transparency><float>0.5</float></transparency></blinn>": (*BLUE, 0.25),
    '<phong><diffuse>{}</diffuse><transparent opaque="RGB_ZERO"><color>0.5 0.5 0.5 '
    "1</color></transparent></phong>": (
        *BLUE,
        0.5,
    ),
    "<phong><diffuse>{}</diffuse><transparency><float>0</float></transparency></phong>": (
        *BLUE,
        1.0,
    ),
    '<phong><diffuse><param ref="c"/></diffuse></phong>': (0.4, 0.3, 0.2, 1.0),
    '<phong><diffuse><texture texture="t" texcoord="u"/></diffuse></phong>': None,
}
NODE = """<node><translate>100 0 0</translate><rotate>0 0 1 90</rotate>
<node><scale>1 2 -3</scale><instance_node url="#cube"/></node>
<matrix>1 0 0 0 0 1 0 20 0 0 1 0 0 0 0 1</matrix></node>"""


def text(
    kind: str = "triangles",
    *,
    node: str = NODE,
    unit: str = '<unit meter="0.001"/>',
    points: str = POINTS,
) -> str:
    return f"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset>{unit}<up_axis>Y_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh><source id="p"><float_array id="a" count="32">{points}</float_array>
<technique_common><accessor source="#a" count="8" stride="4"/></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<{kind} count="6">{INPUTS}{KINDS[kind]}</{kind}></mesh></geometry></library_geometries>
<library_nodes><node id="cube"><instance_geometry url="#g"/></node></library_nodes>
<library_visual_scenes><visual_scene id="s">{node}</visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def two_materials(effect: str) -> str:
    """The cube with its bottom in green, and all else with this effect."""
    whole = text("polygons")
    bottom, rest = (
        f'<polygons count="1" material="{name}">{INPUTS}{faces}</polygons>'
        for name, faces in (
            ("bottom", f"<p>{PAIRS[0]}</p>"),
            ("rest", "".join(f"<p>{pairs}</p>" for pairs in PAIRS[1:])),
        )
    )
    start, end = whole.index("<polygons"), whole.index("</mesh>")
    bound = "".join(
        f'<instance_material symbol="{name}" target="#m-{name}"/>' for name in ("bottom", "rest")
    )
    effects = {"bottom": f"<phong><diffuse>{GREEN}</diffuse></phong>", "rest": effect.format(GLASS)}
    newparam = '<newparam sid="c"><float3>0.4 0.3 0.2</float3></newparam>'
    library = "".join(
        f'<effect id="e-{name}"><profile_COMMON>{newparam}<technique '
        f'sid="t">{each}</technique></profile_COMMON></effect>'
        for name, each in effects.items()
    )
    materials = "".join(
        f'<material id="m-{name}"><instance_effect url="#e-{name}"/></material>' for name in effects
    )
    bound = f"<bind_material><technique_common>{bound}</technique_common></bind_material>"
    libraries = f"<library_effects>{library}</library_effects><library_materials>{materials}</library_materials><library_nodes>"
    made = (whole[:start] + bottom + rest + whole[end:]).replace("<library_nodes>", libraries)
    return made.replace(
        '<instance_geometry url="#g"/>', f'<instance_geometry url="#g">{bound}</instance_geometry>'
    )


@pytest.mark.parametrize("effect", CLEAR)
def test_faces_have_the_colours_and_opacities_of_their_materials(
    effect: str, tmp_path: Path
) -> None:
    (tmp_path / "cube.dae").write_text(two_materials(effect), encoding="utf-8")
    pieces = read_collada(tmp_path / "cube.dae")
    assert [(len(each.triangles), each.colour) for each in pieces] == [
        (2, (0.1, 0.6, 0.2, 1.0)),
        (10, CLEAR[effect]),
    ]


def volume(points: np.ndarray, triangles: np.ndarray) -> float:
    a, b, c = np.moveaxis(points[triangles], 1, 0)
    return float(np.einsum("ta,ta->", a, np.cross(b, c))) / 6.0


@pytest.mark.parametrize("kind", KINDS)
def test_a_cube_is_where_its_nodes_put_it(kind: str, tmp_path: Path) -> None:
    """(x, y, z) → (x, 2y, −3z) → 20 along y, a quarter turn about z and 100 along x, in mm;
    mirrored faces point outwards.
    """
    (tmp_path / "cube.dae").write_text(text(kind), encoding="utf-8")
    ((points, triangles, colour),) = read_collada(tmp_path / "cube.dae")
    assert colour is None
    np.testing.assert_allclose(
        points.min(axis=0), np.array([100.0 - 22.0, 0.0, -3.0]) / 1e3, atol=1e-15
    )
    np.testing.assert_allclose(
        points.max(axis=0), np.array([100.0 - 20.0, 1.0, 0.0]) / 1e3, atol=1e-15
    )
    assert len(triangles) == 12
    assert volume(points, triangles) == pytest.approx(6e-9)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<robot/>", "must be <COLLADA>"),
        (text(unit='<unit meter="0"/>'), "<unit meter> must be a positive number"),
        (text(node=""), "has no triangles or polygons in its scene"),
        (
            text(node='<node><instance_geometry url="#missing"/></node>'),
            "is damaged; export it again",
        ),
        (
            text(node='<node id="again"><instance_node url="#again"/></node>'),
            "is damaged: .*contain themselves",
        ),
        (
            text(node=f'<node id="again">{2 * """<instance_node url="#again"/>"""}</node>'),
            "is damaged: .*contain themselves",
        ),
        (text(points=POINTS.replace("1", "nan", 1)), "is damaged: .*non-finite"),
        (
            two_materials("<phong><diffuse><color>1 nan 0 1</color></diffuse></phong>"),
            "is damaged: .*non-finite",
        ),
        (text(points="0 0 0 9"), "is damaged: .*missing points"),
    ],
)
def test_files_that_are_no_scene_are_refused(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.dae").write_text(content, encoding="utf-8")
    with pytest.raises(fm.InputError, match=message):
        read_collada(tmp_path / "x.dae")


def write_robot(path: Path, visual: str) -> None:
    """An arm on a base with this visual."""
    inertia = (
        "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' "
        "iyz='0'/></inertial>"
    )
    joint = (
        "<joint name='j' type='continuous'><parent link='base'/><child link='arm'/><axis "
        "xyz='0 0 1'/></joint>"
    )
    path.write_text(
        f"<robot name='r'><link name='base'>{visual}</link><link "
        f"name='arm'>{inertia}</link>{joint}</robot>"
    )


def test_visuals_of_a_robot(tmp_path: Path) -> None:
    (tmp_path / "cube.dae").write_text(text(), encoding="utf-8")
    mesh = '<mesh filename="cube.dae" scale="1000 1000 1000"/>'
    write_robot(
        tmp_path / "r.urdf", f"<visual><origin xyz='0 0 3'/><geometry>{mesh}</geometry></visual>"
    )
    (cube,) = fm.Robot.from_urdf(tmp_path / "r.urdf").solids()
    np.testing.assert_allclose(
        [cube.vertices.min(axis=0), cube.vertices.max(axis=0)], [[78, 0, 0], [80, 1, 3]], atol=1e-9
    )
    assert cube.colour is None


def test_colours_of_the_file_come_before_those_of_the_robot(tmp_path: Path) -> None:
    """Faces without one have that of the visual, with its opacity; numbers beyond 1 are 1."""
    (tmp_path / "cube.dae").write_text(
        two_materials('<phong><diffuse><texture texture="t"/></diffuse></phong>'), encoding="utf-8"
    )
    material = "<material name='m'><color rgba='0.5 7 0 0.25'/></material>"
    write_robot(
        tmp_path / "r.urdf",
        f"<visual><geometry><mesh filename='cube.dae'/></geometry>{material}</visual>",
    )
    found = [solid.colour for solid in fm.Robot.from_urdf(tmp_path / "r.urdf").solids()]
    assert found == [(0.1, 0.6, 0.2, 1.0), (0.5, 1.0, 0.0, 0.25)]
