"""Assemblies of CAD files: inertia and places against closed forms, proposed joints, models."""

import importlib.util
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import flexmbs as fm
import preprocess as pp
from flexmbs.__main__ import main
from flexmbs.robots import FlexibleLink
from preprocess.cad import assembly as reading
from preprocess.cad.assembly import read_assembly
from preprocess.cad.mates import mates
from preprocess.cad.step_products import products
from preprocess.report.region_pages import assembly_page

pytest.importorskip("netgen", reason="needs netgen-mesher")
MESHES = Path(__file__).parents[3] / "meshes"
ENGINE = MESHES / "engine.step"
found = importlib.util.spec_from_file_location("make_assembly", MESHES / "make_assembly.py")
made = importlib.util.module_from_spec(found)
found.loader.exec_module(made)
CHAIN = (
    "hinge of frame and crank", "fixed joint of crank and crank pin",
    "ball joint of crank pin and rod", "cylindrical joint of rod and wrist pin",
    "fixed joint of piston and wrist pin", "slide of frame and piston",
)  # fmt: skip


@pytest.fixture(scope="module")
def engine():
    return read_assembly(ENGINE)


def assembly(folder, material="S355", **options):
    """Assembly of the engine, with the surfaces in a folder."""
    return fm.from_step(ENGINE, material, ground="frame", shapes=folder / "parts", **options)


# Solids of closed form: sums of boxes and cylinders, in mm, of density one


def box(low, high):
    """Mass, centre and inertia about it of a box."""
    a, b, c = size = np.subtract(high, low)
    m = np.prod(size)
    inertia = m / 12.0 * np.diag([b**2 + c**2, a**2 + c**2, a**2 + b**2])
    return m, np.add(low, high) / 2.0, inertia


def cylinder(at, axis, r, h, sign=1.0):
    """Mass, centre and inertia about it of a cylinder from a point along x, y or z."""
    m, k = sign * math.pi * r**2 * h, "xyz".index(axis)
    inertia = np.full(3, m * (3.0 * r**2 + h**2) / 12.0)
    inertia[k] = m * r**2 / 2.0
    centre = np.array(at, float)
    centre[k] += h / 2.0
    return m, centre, np.diag(inertia)


def together(*solids):
    """Mass, centre and inertia about it of several solids (Steiner)."""
    m = sum(each[0] for each in solids)
    c = sum(each[0] * each[1] for each in solids) / m
    inertia = sum(
        J + mass * ((d := x - c) @ d * np.eye(3) - np.outer(d, d)) for mass, x, J in solids
    )
    return m, c, inertia


CLOSED = {
    "frame": together(
        box((-45, 10, -45), (170, 22, 45)),
        box((80, -26, -22), (170, 10, 22)),
        cylinder((0, 10, 0), "y", 8, 12, -1),
        cylinder((80, made.LAYER, 0), "x", 15, 90, -1),
    ),
    "crank": together(
        cylinder((0, 0, 0), "z", 42, 10),
        cylinder((0, 0, 10), "z", 8, 20),
        cylinder((made.CRANK, 0, 0), "z", made.PIN, 10, -1),
    ),
    "crank pin": cylinder((0, 0, 0), "z", made.PIN, made.PIN_LENGTH),
    "wrist pin": cylinder((0, 0, 0), "z", made.PIN, made.PIN_LENGTH),
}


@pytest.mark.parametrize("name", CLOSED)
def test_volume_centre_and_inertia_of_closed_form(engine, name):
    """Relative accuracy of Open CASCADE's integrals, about 1e-7."""
    part = engine.parts[next(body.part for body in engine.bodies if body.name == name)]
    volume, centre, inertia = CLOSED[name]
    assert part.volume == pytest.approx(1e-9 * volume, rel=1e-7)
    np.testing.assert_allclose(part.centre, 1e-3 * centre, atol=1e-10)
    np.testing.assert_allclose(
        part.inertia, 1e-15 * inertia, rtol=0, atol=1e-6 * 1e-15 * np.trace(inertia)
    )


def test_places_are_those_of_the_tree(engine):
    """The product of the transformations from the root to each body."""
    assert [body.name for body in engine.bodies] == [
        "frame", "crank", "crank pin", "rod", "piston", "wrist pin",
    ]  # fmt: skip
    for body in engine.bodies:
        path, place = body.path[1:], np.eye(4)
        for k in range(1, len(path) + 1):
            (axis, angle), position = made.PLACES[path[:k]]
            step = np.eye(4)
            step[:3, :3] = Rotation.from_rotvec(angle * np.array(axis)).as_matrix()
            step[:3, 3] = 1e-3 * np.array(position)
            place = place @ step
        np.testing.assert_allclose(body.rotation, place[:3, :3], atol=1e-12)
        np.testing.assert_allclose(body.position, place[:3, 3], atol=1e-14)


def test_parts_names_and_colours(engine):
    """The two pins are one part; colours also of parts in a sub-assembly."""
    pins = [body for body in engine.bodies if "pin" in body.name]
    assert len(engine.parts) == 5
    assert pins[0].part == pins[1].part
    for part in engine.parts:
        assert part.colour == pytest.approx(made.COLOURS[part.name], abs=1e-4)


def test_pictures_enclose_the_volume(engine):
    """∮ x · dA / 3 over the triangles with middle nodes, as they are written."""
    from flexmbs.cad.assembly import QUARTERS

    for part in engine.parts:
        a, b, c = np.moveaxis(part.nodes[part.triangles[:, QUARTERS].reshape(-1, 3)], 1, 0)
        volume = np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0
        assert volume == pytest.approx(part.volume, rel=2e-2)


def test_names_of_bodies():
    def named(*given):
        return reading._names([{"product": product, "labels": labels} for product, labels in given])

    assert named(("pin", ["m", "NAUO1"]), ("arm", ["m", "NAUO2"])) == ["pin", "arm"]
    assert named(("pin", ["m", "pin:1"]), ("pin", ["m", "pin:2"])) == ["pin:1", "pin:2"]
    twice = [("pin", ["m", "arm 1", "pin"]), ("pin", ["m", "arm 2", "pin"])]
    assert named(*twice) == ["arm 1 pin", "arm 2 pin"]
    assert named(("pin", ["m", "1"]), ("pin", ["m", "2"]), ("", [])) == ["pin 1", "pin 2", "part 1"]
    assert named(("a/b\n", ["m"]), ("ground", ["ground"])) == ["a b", "part 1"]
    assert len(named(("x" * 300, []))[0]) <= 100


def test_names_of_products_in_the_text():
    """Encodings, quotes, colours of solids, of faces, by name; damaged references."""
    text = rb"""
    #1=PRODUCT('p','B\X2\00E4\X0\r''s #7','',(#9)); #2=PRODUCT_DEFINITION_FORMATION('','',#1);
    #3 = PRODUCT_DEFINITION('design','',#2,#9); #4=PRODUCT_DEFINITION_SHAPE('','',#3);
    #5=SHAPE_DEFINITION_REPRESENTATION(#4,#6); #6=SHAPE_REPRESENTATION('',(#10),#11);
    #12=SHAPE_REPRESENTATION_RELATIONSHIP('','',#6,#13);
    #13=ADVANCED_BREP_SHAPE_REPRESENTATION('',(#14),#11); #14=MANIFOLD_SOLID_BREP('',#15);
    #15=CLOSED_SHELL('',(#16,#17,#18)); #20=STYLED_ITEM('',(#21),#16); #22=STYLED_ITEM('',(#21),#17);
    #23=STYLED_ITEM('',(#99),#18);
    #21=PRESENTATION_STYLE_ASSIGNMENT((#24)); #24=SURFACE_STYLE_USAGE(.BOTH.,#25);
    #25=SURFACE_SIDE_STYLE('',(#26)); #26=SURFACE_STYLE_FILL_AREA(#27);
    #27=FILL_AREA_STYLE('',(#28)); #28=FILL_AREA_STYLE_COLOUR('',#29);
    #29=COLOUR_RGB('',0.25,5.E-1,1.);
    #30=PRODUCT('q','','',(#9)); #31=PRODUCT_DEFINITION_FORMATION('','',#30);
    #32=PRODUCT_DEFINITION('','',#31,#9);
    #33=NEXT_ASSEMBLY_USAGE_OCCURRENCE('NAUO1','first; bear','',#32,#3,$);
    #34=NEXT_ASSEMBLY_USAGE_OCCURRENCE('NAUO2','','',#32,#77,$);
    """
    [root] = products(text)
    assert root.name == "q"
    [(labels, bear)] = root.components
    assert labels == ("NAUO1", "first; bear", "")
    assert bear.name == "Bär's #7"
    assert bear.colour == (0.25, 0.5, 1.0)
    assert products(b"") == products(b"#1=PRODUCT('x','y'") == []


# Proposed joints


SHAPES = """
from netgen.occ import *
def bore(r, x=0.0, y=0.0): return Cylinder(Pnt(x, y, -50), Z, r=r, h=200)
def pair(name, a, b):

    both = [each.Rotate(Axis(Pnt(0, 0, 0), Dir(1, 2, 3)), 50).Move((7, -20, 11)) for each in (a, b)]
    Compound(both).WriteStep(name + ".step")
def block(*x): return Box(Pnt(*x[:3]), Pnt(*x[3:]))
plate = block(-20, -20, 0, 20, 20, 10)
pair("sleeve", plate - bore(5), Cylinder(Pnt(0, 0, -10), Z, r=5, h=40))
pair("loose", plate - bore(5), Cylinder(Pnt(0, 0, -10), Z, r=4.95, h=40))
pair("hinge", plate - bore(5), Cylinder(Pnt(0, 0, -10), Z, r=5, h=20) + Cylinder(Pnt(0, 0, 10), Z, r=8, h=5))
pair("stepped", plate - bore(5) - Cylinder(Pnt(0, 0, 5), Z, r=9, h=9),
     Cylinder(Pnt(0, 0, -10), Z, r=5, h=15) + Cylinder(Pnt(0, 0, 5), Z, r=9, h=15))
pair("bores", plate - bore(5), block(-15, -15, 10, 30, 15, 20) - bore(5))
pair("bolted", plate - bore(3, 10) - bore(3, -10), block(-15, -15, 10, 30, 15, 20) - bore(3, 10) - bore(3, -10))
pair("planar", plate, block(-5, -5, 10, 5, 5, 20))
pair("crossed", block(-50, -2, 0, 50, 2, 5), block(-2, -50, 5, 2, 50, 10))
pair("slide", plate - block(-60, -8, 4, 60, 8, 20), block(-30, -8, 4, 30, 8, 12))
pair("corner", plate - block(-5, -5, 4, 30, 30, 30), block(-5, -5, 4, 8, 8, 12))
pair("ball", plate - Sphere(Pnt(0, 0, 12), 8), Sphere(Pnt(0, 0, 12), 8))
cone = Cone(Axes(Pnt(0, 0, 0), Z), 8, 5, 10, 6.283185307179586)
pair("cone", plate - cone, cone)
pair("apart", plate, block(-5, -5, 11, 5, 5, 20))
pair("edges", plate, block(20, 20, 10, 40, 40, 20))
pair("flush", plate, block(20.5, -20, 0, 40, 20, 10))
"""
TURN = Rotation.from_rotvec(math.radians(50) * np.array([1, 2, 3]) / math.sqrt(14.0))
KINDS = {
    "sleeve": "cylindrical", "loose": "cylindrical", "hinge": "revolute", "stepped": "revolute",
    "bores": "revolute", "bolted": "fixed", "planar": "planar", "crossed": "planar",
    "slide": "prismatic", "corner": "fixed", "ball": "spherical", "cone": "revolute",
    "apart": None, "edges": None, "flush": None,
}  # fmt: skip


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs")
    subprocess.run([sys.executable, "-c", SHAPES], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("name", KINDS)
def test_joints_that_contacts_suggest(pairs, name):
    """Kind, axis and point, of bodies turned by 50° about (1, 2, 3)."""
    source = read_assembly(pairs / f"{name}.step")
    proposed = mates(source, 1e-4)
    assert [mate.kind for mate in proposed] == [KINDS[name]] * (KINDS[name] is not None)
    for mate in proposed:
        along = (1.0, 0.0, 0.0) if name == "slide" else (0.0, 0.0, 1.0)
        if mate.kind in ("cylindrical", "revolute", "planar", "prismatic"):
            assert abs(mate.axis @ TURN.apply(along)) == pytest.approx(1.0, abs=1e-9)
        own = TURN.inv().apply(mate.point - np.array([7e-3, -20e-3, 11e-3]))
        if mate.kind in ("cylindrical", "revolute"):
            np.testing.assert_allclose(own[:2], 0.0, atol=1e-8)
        if mate.kind == "spherical":
            np.testing.assert_allclose(own, [0.0, 0.0, 12e-3], atol=1e-8)


def test_clearance(pairs):
    loose = read_assembly(pairs / "loose.step")
    assert mates(loose, 1e-5) == []
    apart = read_assembly(pairs / "apart.step")
    assert [mate.kind for mate in mates(apart, 1.01e-3)] == ["planar"]


def test_hinge_of_the_engine_is_on_the_shaft(engine):
    hinge = mates(engine, 1e-4)[0]
    assert str(hinge).startswith("hinge of frame and crank: ")
    assert "shaft in bore of diameter 16 mm" in str(hinge)
    np.testing.assert_allclose(hinge.point[[0, 2]], 0.0, atol=1e-9)
    np.testing.assert_allclose(hinge.axis, [0.0, 1.0, 0.0], atol=1e-12)


# Models


def test_the_engine_runs_as_a_slider_crank(tmp_path):
    """Place of the piston against r cos φ + √(l² − r² sin² φ); all bodies start where they are."""
    machine = assembly(tmp_path, {"*": "S355", "piston": "Al 6061-T6"})
    machine.accept(CHAIN[0], v0=50.0)
    machine.accept(*CHAIN[1:])
    model = machine.model()
    run = fm.simulate(model, t_end=0.2, step=2e-4)
    assert run.verdict == "PASS"
    phi, x = (run.joint(CHAIN[k]).position[:, 0] for k in (0, 5))
    r, length = 1e-3 * made.CRANK, 1e-3 * made.ROD
    exact = r * np.cos(phi) + np.sqrt(length**2 - (r * np.sin(phi)) ** 2) - r - length
    assert phi[-1] > 6.0
    np.testing.assert_allclose(x, exact, atol=1e-12)
    for name in machine.bodies:
        rotation, position = machine.pose(name)
        np.testing.assert_allclose(run.body(name).position[0], position, atol=1e-12)
        np.testing.assert_allclose(run.body(name).rotation[0], rotation, atol=1e-12)
    steel, aluminium = pp.material("S355").rho, pp.material("Al 6061-T6").rho
    assert machine.bodies["rod"].mass == pytest.approx(steel * machine.source.parts[3].volume)
    assert machine.bodies["piston"].mass == pytest.approx(
        aluminium * machine.source.parts[4].volume
    )
    model.save(tmp_path / "engine.toml")
    assert fm.load(tmp_path / "engine.toml") == model
    assert "engine" in machine.show(browser=False).text


def test_one_argument_makes_a_body_flexible(tmp_path):
    """At a low speed the flexible rod moves as the rigid one; mass and centre are the same."""
    machine = assembly(tmp_path)
    machine.accept(CHAIN[0], v0=1.0)
    machine.accept(*CHAIN[1:])
    options = {"rod": {"size": 8e-3, "damping": 0.02, "method": pp.CraigBampton(modes=2)}}
    model = machine.model(flexible=options)
    rod = model.bodies["rod"].whole()
    assert rod.mass == pytest.approx(machine.bodies["rod"].mass, rel=1e-3)
    assert len(rod.frames) == 2
    runs = [
        fm.simulate(each, t_end=0.05, step=5e-4, audit="none") for each in (model, machine.model())
    ]
    x, expected = (each.joint(CHAIN[5]).position[:, 0] for each in runs)
    np.testing.assert_allclose(x, expected, atol=2e-6)
    data = FlexibleLink(rod, pose=fm.Frame((0.0, 0.0, 5e-3)), offset=0.2)
    again = machine.model(flexible={"rod": data})
    assert again.bodies["rod"].whole() is not None


def test_bodies_without_joints_are_free(tmp_path):
    machine = fm.from_step(ENGINE, 7850.0, shapes=tmp_path)
    machine.accept("hinge of crank and frame")  # in either order
    joints = machine.model().joints
    assert [name for name in joints if name.startswith("free")] == [
        "free motion of frame", "free motion of crank pin", "free motion of rod",
        "free motion of piston", "free motion of wrist pin",
    ]  # fmt: skip
    run = fm.simulate(machine.model(), t_end=0.01, step=1e-3, audit="none")
    fall = run.body("rod").position[-1] - run.body("rod").position[0]
    np.testing.assert_allclose(fall, [0.0, 0.0, -0.5 * 9.81 * 0.01**2], atol=1e-9)


@pytest.mark.parametrize("shapes", ["taken", "/proc/none"])
def test_a_folder_of_shapes_that_cannot_be_made_is_named(tmp_path, monkeypatch, shapes):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("a file")
    machine = fm.from_step(ENGINE, 7850.0, shapes=shapes)
    with pytest.raises(
        fm.MachineError, match=rf"{shapes}: cannot be created .*; choose another with shapes="
    ):
        machine.model()


def test_another_joint_of_two_bodies_replaces_the_first(tmp_path):
    machine = assembly(tmp_path)
    machine.accept("cylindrical joint of crank pin and rod")
    machine.accept("hinge of rod and crank pin")
    assert list(machine.accepted) == ["hinge of rod and crank pin"]
    assert "[accepted: hinge of rod and crank pin]" in str(machine)
    assert "frame: " in str(machine)
    assert "on the ground" in str(machine)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (
            lambda a: a.accept("hinge of crank and rod"),
            "no proposed joint is called .*did you mean",
        ),
        (lambda a: a.accept("ball joint of frame and frame"), "no proposed joint"),
        (lambda a: a.accept(CHAIN[0], v0="fast"), "v0"),
        (lambda a: a.accept(CHAIN[0], speed=1.0), "speed"),
        (lambda a: a.accept("planar joint of frame and piston"), "choose from cylindrical joint"),
        (lambda a: a.pose("wheel"), "body 'wheel' is not in the assembly"),
        (lambda a: a.model(flexible="wheel"), "body 'wheel' is not in the assembly"),
        (lambda a: a.model(flexible="rod"), "rod has no accepted joint"),
        (lambda a: a.model(flexible=3), "must be names of bodies"),
    ],
)
def test_mistakes_with_an_assembly(tmp_path, act, message):
    machine = assembly(tmp_path)
    with pytest.raises(fm.InputError, match=message):
        act(machine)
    assert not machine.accepted


@pytest.mark.parametrize(
    ("material", "options", "message"),
    [
        (None, {}, "material: frame, crank, crank pin, rod, piston, wrist pin has none"),
        ({"rod": 7850.0}, {}, "material: frame, crank, .* has none; add it, or '\\*'"),
        ("stel", {}, r"material\['\*'\]: material: unknown material 'stel'"),
        ({"*": 7850.0, "wheel": 1.0}, {}, "material: no body or product is called 'wheel'"),
        (-1.0, {}, "give a density in kg/m³"),
        (7850.0, {"ground": "wheel"}, "ground: body 'wheel' is not in the assembly"),
        (7850.0, {"clearance": -1.0}, "clearance"),
    ],
)
def test_mistakes_in_from_step(material, options, message):
    with pytest.raises(fm.InputError, match=message):
        fm.from_step(ENGINE, material, **options)


def test_density_alone_makes_no_flexible_body(tmp_path):
    machine = fm.from_step(ENGINE, {"pin": 7000.0, "*": 7850}, shapes=tmp_path)
    machine.accept(CHAIN[3])
    assert machine.bodies["crank pin"].mass == pytest.approx(7000.0 * 1e-9 * CLOSED["crank pin"][0])
    with pytest.raises(fm.InputError, match="rod has only a density, 7850 kg/m³; give its mat"):
        machine.model(flexible="rod")


def test_too_many_and_bad_solids(monkeypatch, engine):
    def facts(**changes):
        own = {"parts": [], "bodies": [], "count": 0} | changes
        monkeypatch.setattr(reading, "run_worker", lambda *_, **__: {"facts": json.dumps(own)})

    facts()
    with pytest.raises(fm.InputError, match="holds no solid"):
        read_assembly(ENGINE)
    facts(count=5000)
    with pytest.raises(fm.InputError, match="has 5000 parts, more than 2000"):
        read_assembly(ENGINE)
    part = {"name": "foot", "volume": -3.0, "centre": [0, 0, 0], "inertia": [[0] * 3] * 3}
    facts(count=1, parts=[part])
    with pytest.raises(fm.InputError, match="foot has the volume -3 mm³"):
        read_assembly(ENGINE)


def test_a_surface_that_cannot_be_meshed(tmp_path, monkeypatch):
    """The body is there with its inertia, without picture and joints; a note tells why."""
    run = reading.run_worker

    def failed(*given, **named):
        found = run(*given, **named)
        facts = json.loads(str(found["facts"]))
        facts["parts"][3]["problem"] = "Meshing failed!"  # the rod
        found["facts"] = np.array(json.dumps(facts))
        found |= {"nodes 3": np.zeros((0, 3)), "triangles 3": np.zeros((0, 6), int)}
        return found | {"faces 3": np.zeros(0, int)}

    monkeypatch.setattr(reading, "run_worker", failed)
    machine = assembly(tmp_path)
    assert len(machine.proposals) == 4
    assert machine.notes == (
        "rod: no faces and no picture, Netgen cannot mesh its surface (Meshing failed!)",
    )
    assert machine.model().bodies["rod"].shapes == ()
    assert machine.bodies["rod"].mass > 0.1
    assert "Meshing failed" in assembly_page(machine.source, list(machine.proposals.values()))


def test_view_of_an_assembly(tmp_path, monkeypatch, capsys):
    """Its bodies, with the lines that accept their joints."""
    shutil.copy(ENGINE, tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["view", "engine.step"])
    assert not ended.value.code
    text = Path("engine.view.html").read_text(encoding="utf-8")
    assert "assembly.accept(&#34;hinge of frame and crank&#34;)" in text
    assert text.count("<li data-region=") == 6
    assert "assembly = fm.from_step(&#34;engine.step&#34;, material=&#34;S355&#34;)" in text
    assert capsys.readouterr().err == ""
    with pytest.raises(SystemExit):
        main(["check", "engine.step"])
    told = capsys.readouterr().out
    assert "crank pin, pin: solid 3, 1.571 cm³" in told
    assert "proposed: hinge of frame and crank: " in told
