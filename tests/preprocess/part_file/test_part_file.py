"""Part files: equivalence with Python calls; all problems are reported together, by line."""

import dataclasses
import shutil
from pathlib import Path
from typing import Any

import calculix_jobs
import numpy as np
import pytest
from part_files import PART, bar

import flexmbs
import preprocess as pp
from flexmbs.errors import InputError
from preprocess.fe.beam_sections import SECTIONS
from preprocess.fe.connections import CONNECTIONS, Connection
from preprocess.fe.interfaces import INTERFACES
from preprocess.fe.material import MATERIALS
from preprocess.fe.section_base import Section
from preprocess.part_file import read_part
from preprocess.part_file.digest import program_sources
from preprocess.reduction import REDUCTIONS, Reduction

AT = (1.0, 2.0, 3.0)
TURNED_TEXT = "axes = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]"
TURNED = ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))

METHODS: list[tuple[str, Reduction]] = [
    ('kind = "craig-bampton"\nmodes = 7', pp.CraigBampton(modes=7)),
    ('kind = "craig-bampton"\nfrequency = 2000', pp.CraigBampton(frequency=2000.0)),
    (
        'modes = "auto"\nband = 900\ntolerance = 0.01',
        pp.CraigBampton(modes="auto", band=900.0, tolerance=0.01),
    ),
    ("modes = 7\ninertia_relief = true", pp.CraigBampton(modes=7, inertia_relief=True)),
    ('kind = "guyan"', pp.Guyan()),
    ('kind = "rubin"\nmodes = 7', pp.Rubin(modes=7)),
    ('kind = "craig-chang"', pp.CraigChang()),
    (
        'kind = "krylov"\nfrequencies = [0, 900.0]\nmoments = 3',
        pp.Krylov(frequencies=(0.0, 900.0), moments=3),
    ),
    ('kind = "free-modes"\nmodes = 7', pp.FreeModes(modes=7)),
    ('kind = "clamped-modes"\nat = "left"\nmodes = 7', pp.ClampedModes(at="left", modes=7)),
    (
        'kind = "given-shapes"\nshapes = [[0.0, 1.0], [1.0, 2.0], [3.0, 0.0]]',
        pp.GivenShapes(((0.0, 1.0), (1.0, 2.0), (3.0, 0.0))),
    ),
]
MATERIAL_TABLES: list[tuple[str, Any]] = [
    (
        'kind = "isotropic"\nE = 7e10\nnu = 0.33\nrho = 2700',
        pp.Isotropic(E=7e10, nu=0.33, rho=2700.0),
    ),
    ("E = 7e10\nnu = 0.33\nrho = 2700", pp.Isotropic(E=7e10, nu=0.33, rho=2700.0)),
    (
        'kind = "orthotropic"\nE = [1.4e11, 1e10, 1e10]\nnu = [0.3, 0.3, 0.4]\nG = [5e9, '
        "5e9, 3.5e9]\nrho = 1600\n" + TURNED_TEXT,
        pp.Orthotropic(
            E=(1.4e11, 1e10, 1e10), nu=(0.3, 0.3, 0.4), G=(5e9, 5e9, 3.5e9), rho=1600.0, axes=TURNED
        ),
    ),
    (
        f'kind = "anisotropic"\nC = {(1e10 * np.eye(6)).tolist()}\nrho = 1600\n{TURNED_TEXT}',
        pp.Anisotropic(C=1e10 * np.eye(6), rho=1600.0, axes=TURNED),
    ),
]
INTERFACE_TABLES: list[tuple[str, Any]] = [
    ('kind = "rigid"\nset = "hub"', pp.Rigid("hub")),
    (
        'set = "hub"\nposition = [1, 2, 3]\naxes = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]',
        pp.Rigid("hub", position=(1.0, 2.0, 3.0), axes=TURNED),
    ),
    (
        'kind = "averaged"\npoint = [1, 2, 3]\nradius = 0.5',
        pp.Averaged(pp.Point((1.0, 2.0, 3.0), 0.5)),
    ),
    (
        'kind = "averaged"\npoint = [1, 2, 3]\nweights = [1, 2, 3]',
        pp.Averaged(pp.Point((1.0, 2.0, 3.0)), weights=(1.0, 2.0, 3.0)),
    ),
    (
        "plane = { point = [1, 2, 3], normal = [0, 0, 1] }",
        pp.Rigid(pp.Plane((1.0, 2.0, 3.0), (0.0, 0.0, 1.0))),
    ),
    (
        "plane = { point = [1, 2, 3], normal = [0, 0, 1], tolerance = 1e-6 }",
        pp.Rigid(pp.Plane(AT, (0.0, 0.0, 1.0), 1e-6)),
    ),
]


def with_table(title: str, text: str) -> str:
    """The part with one of its tables replaced."""
    head, _, rest = PART.partition(f"[{title}]\n")
    kept = rest[rest.index("\n[") + 1 :] if "\n[" in rest else ""
    return f"{head}[{title}]\n{text}\n{kept}"


def fields(value: Any) -> dict[str, Any]:
    """Fields of a dataclass, arrays as lists."""
    found = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return {
        name: np.asarray(each).tolist() if isinstance(each, (tuple, np.ndarray)) else each
        for name, each in found.items()
    }


def same(given: object, expected: object) -> None:
    assert type(given) is type(expected)
    assert fields(given) == fields(expected)


@pytest.mark.parametrize(("text", "expected"), METHODS)
def test_methods(text: str, expected: Reduction, tmp_path: Path) -> None:
    same(read_part(bar(tmp_path, with_table("method", text))).method, expected)


@pytest.mark.parametrize(("text", "expected"), MATERIAL_TABLES)
def test_materials(text: str, expected: Any, tmp_path: Path) -> None:
    same(read_part(bar(tmp_path, with_table("material", text))).material, expected)


@pytest.mark.parametrize(("text", "expected"), INTERFACE_TABLES)
def test_interfaces(text: str, expected: Any, tmp_path: Path) -> None:
    same(read_part(bar(tmp_path, with_table("interfaces.left", text))).interfaces["left"], expected)


UP = (0.0, 0.0, 1.0)
CONNECTION_TABLES: list[tuple[str, Connection]] = [
    (
        "point = [1, 2, 3]\nposition = [1, 2, 4]",
        pp.RigidSpider(pp.Point(AT), position=(1.0, 2.0, 4.0)),
    ),
    (
        'kind = "rigid-spider"\nset = "hub"\nreference = 17\ncomponents = "123"',
        pp.RigidSpider("hub", reference=17, components="123"),
    ),
    (
        'kind = "averaging-spider"\nset = "hub"\nweights = [1, 2, 3]',
        pp.AveragingSpider("hub", weights=(1.0, 2.0, 3.0)),
    ),
    (
        'kind = "bushing"\nfirst = 3\nsecond = "hub"\ntranslation = [1, 2, 3]',
        pp.Bushing(3, "hub", translation=(1.0, 2.0, 3.0)),
    ),
    ('kind = "spring"\nfirst = 3\nsecond = "hub"\nstiffness = 1e4', pp.Spring(3, "hub", 1e4)),
    (
        'kind = "tie"\nset = "hub"\nto = "plate"\ntolerance = 0.001',
        pp.Tie("hub", "plate", tolerance=0.001),
    ),
    (
        'kind = "equation"\nterms = [[3, 1, 1.0], [4, 1, -1.0]]',
        pp.Equation(((3, 1, 1.0), (4, 1, -1.0))),
    ),
]


@pytest.mark.parametrize(("text", "expected"), CONNECTION_TABLES)
def test_connections(text: str, expected: Connection, tmp_path: Path) -> None:
    same(
        read_part(bar(tmp_path, f"{PART}\n[connections.flange]\n{text}\n")).connections["flange"],
        expected,
    )


SECTION_TABLES: list[tuple[str, Section]] = [
    ("thickness = 0.002\noffset = 0.001", pp.ShellSection(0.002, offset=0.001)),
    (
        'kind = "plate"\nthickness = 0.002\nbending = 100.0\nshear = 10.0\n',
        pp.PlateSection(0.002, bending=100.0, shear=10.0),
    ),
    (
        'kind = "laminate"\nplies = [[0.001, 0], [0.002, 45]]\norientation = [0, 0, 1]\n'
        "materials = [{ E = 7e10, nu = 0.33, rho = 2700 }, { E = 2e11, nu = 0.3, rho = 7800 }]",
        pp.LaminateSection(
            ((0.001, 0.0), (0.002, 45.0)),
            orientation=UP,
            materials=(
                pp.Isotropic(E=7e10, nu=0.33, rho=2700.0),
                pp.Isotropic(E=2e11, nu=0.3, rho=7800.0),
            ),
        ),
    ),
    ('kind = "truss"\narea = 1e-4', pp.TrussSection(1e-4)),
    ('kind = "tubular"\ndiameter = 0.05\nthickness = 0.002', pp.TubularSection(0.05, 0.002)),
    (
        'kind = "circular"\ndiameter = 0.05\noffset = [0.01, 0.0]',
        pp.CircularSection(0.05, offset=(0.01, 0.0)),
    ),
    (
        'kind = "rectangular"\nheight = 0.05\nwidth = 0.02\norientation = [0, 0, 1]',
        pp.RectangularSection(0.05, 0.02, orientation=UP),
    ),
    (
        'kind = "box"\nheight = 0.05\nwidth = 0.02\nthickness = 0.001\norientation = [0, 0, 1]',
        pp.BoxSection(0.05, 0.02, 0.001, orientation=UP),
    ),
    (
        'kind = "i"\nheight = 0.05\nwidth = 0.02\nweb = 0.001\nflange = '
        "0.002\norientation = [0, 0, 1]",
        pp.ISection(0.05, 0.02, 0.001, 0.002, orientation=UP),
    ),
    (
        'kind = "t"\nheight = 0.05\nwidth = 0.02\nweb = 0.001\nflange = '
        "0.002\norientation = [0, 0, 1]",
        pp.TSection(0.05, 0.02, 0.001, 0.002, orientation=UP),
    ),
    (
        'kind = "channel"\nheight = 0.05\nwidth = 0.02\nweb = 0.001\nflange = '
        "0.002\norientation = [0, 0, 1]",
        pp.ChannelSection(0.05, 0.02, 0.001, 0.002, orientation=UP),
    ),
    (
        'kind = "angle"\nheight = 0.05\nwidth = 0.02\nthickness = 0.001\norientation = [0, 0, 1]',
        pp.AngleSection(0.05, 0.02, 0.001, orientation=UP),
    ),
    (
        'kind = "walled"\nwalls = [[0, 0, 0, 0.03, 0.002], [0, 0, 0.05, 0, '
        '0.002]]\norientation = [0, 0, 1]\nreleased = ["", "56"]',
        pp.WalledSection(
            [[0, 0, 0, 0.03, 0.002], [0, 0, 0.05, 0, 0.002]], orientation=UP, released=("", "56")
        ),
    ),
    (
        'kind = "general"\narea = 1e-4\nIy = 1e-9\nIz = 2e-9\nJ = 3e-9\nshear = [0.8, '
        "0.7]\norientation = [0, 0, 1]",
        pp.GeneralSection(1e-4, 1e-9, 2e-9, 3e-9, shear=(0.8, 0.7), orientation=UP),
    ),
]


@pytest.mark.parametrize(("text", "expected"), SECTION_TABLES)
def test_sections(text: str, expected: Section, tmp_path: Path) -> None:
    same(read_part(bar(tmp_path, f"{PART}\n[section]\n{text}\n")).sections, expected)
    same(read_part(bar(tmp_path, f"{PART}\n[sections.web]\n{text}\n")).sections["web"], expected)


def test_every_kind_is_tried() -> None:
    assert {type(section) for _, section in SECTION_TABLES} == set(SECTIONS.values())
    assert {type(connection) for _, connection in CONNECTION_TABLES} == set(CONNECTIONS.values())
    assert {type(method) for _, method in METHODS} == set(REDUCTIONS.values())
    assert {type(material) for _, material in MATERIAL_TABLES} == set(MATERIALS.values())
    assert {type(interface) for _, interface in INTERFACE_TABLES} == set(INTERFACES.values())


def test_part_equals_the_call(tmp_path: Path) -> None:
    path = bar(tmp_path)
    mesh = pp.read_mesh(tmp_path / "bar.vtu", unit="m")
    ends = {
        name: pp.Rigid(pp.Plane((x, 0, 0), (1, 0, 0)))
        for name, x in (("left", 0.0), ("right", 1.0))
    }
    called = pp.reduce(
        mesh,
        pp.Isotropic(E=2e11, nu=0.3, rho=7800.0),
        interfaces=ends,
        method=pp.CraigBampton(modes=2),
        reference="left",
        damping=0.01,
        name="bar",
    )
    assert read_part(path).reduce().digest == called.digest


def test_part_file_of_the_link_is_the_call_of_the_readme() -> None:
    part = read_part(Path(__file__).parents[3] / "meshes" / "link.toml")
    assert part.material == pp.Isotropic(E=70e9, nu=0.33, rho=2700.0)
    assert part.method == pp.CraigBampton(modes=12)
    for name in ("hub", "tip"):
        same(part.interfaces[name], pp.Rigid(f"{name}_face"))
    assert (part.options.reference, part.options.unit, part.options.damping) == ("hub", "mm", 0.01)


def test_materials_by_region(tmp_path: Path) -> None:
    path = bar(tmp_path, PART.replace("[material]", '[materials."low end"]'))
    assert read_part(path).material == {"low end": pp.Isotropic(E=2e11, nu=0.3, rho=7800.0)}
    with pytest.raises(InputError, match="low end"):
        read_part(path).model()  # the mesh has no such region


NAMED = PART.replace("[material]\nE = 2e11\nnu = 0.3\nrho = 7800.0\n", "")
OWN = """format = "flexmbs-materials/1"
[materials."My steel"]
E = 2e11
nu = 0.3
rho = 7800.0
source = "test report 7"
"""


def named(material: str) -> str:
    """Part file with a line for the material instead of its numbers."""
    return NAMED.replace("damping", f"{material}\ndamping")


def test_a_material_by_name_is_one_with_its_numbers(tmp_path: Path) -> None:
    numbers = read_part(bar(tmp_path)).reduce()
    (tmp_path / "own.toml").write_text(OWN)
    path = bar(tmp_path, named('material = "my steel"\nmaterial_file = "own.toml"'))
    part = read_part(path)
    assert part.material == pp.Isotropic(E=2e11, nu=0.3, rho=7800.0)
    assert part.reduce().digest == numbers.digest
    part = read_part(bar(tmp_path, named('material = "S355"')))
    assert part.material == pp.material("S355")
    assert part.changed({"material": "Al 6061-T6"}).material == pp.material("Al 6061-T6")
    more = '[materials]\n"low end" = "S355"\n[materials.top]\nE = 1e11\nnu = 0.3\nrho = 7e3\n'
    part = read_part(bar(tmp_path, NAMED + more))
    top = pp.Isotropic(E=1e11, nu=0.3, rho=7e3)
    assert part.material == {"low end": pp.material("S355"), "top": top}


def test_materials_of_plies_by_name(tmp_path: Path) -> None:
    section = (
        '[section]\nkind = "laminate"\nmaterials = ["S355", { E = 7e10, nu = 0.33, rho = 2700 }]\n'
        "plies = [[1e-3, 0.0], [1e-3, 90.0]]\n"
    )
    part = read_part(bar(tmp_path, PART + section))
    assert part.sections.materials[0] == pp.material("S355")


def test_own_materials_are_inputs(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(OWN)
    path = bar(tmp_path, named('material = "S355"\nmaterial_file = "own.toml"'))
    before = read_part(path).digest()
    (tmp_path / "own.toml").write_text(OWN.replace("7800", "7850"))
    assert read_part(path).digest() != before
    root = Path(flexmbs.__file__).parents[1]
    assert root / "preprocess" / "fe" / "materials.toml" in program_sources(root)


def test_refused_materials_by_name(tmp_path: Path) -> None:
    cases = {
        'material = "S 356"': [
            "6: material: unknown material 'S 356'; did you mean 'S355'? `preprocess materials` "
            "lists all"
        ],
        'material = ""': ["6: material: is missing; give E, nu and rho, or its name"],
        'material = "S355"\nmaterial_file = 3': ["7: material_file: must be a string, not 3"],
        'material = "S355"\nmaterial_file = "../own.toml"': [
            "7: material_file: '../own.toml' is not inside the part's folder; move it there, or "
            "set allow_outside=True (--allow-outside)"
        ],
        'material = "house steel"\nmaterial_file = "own.toml"': [
            f"7: material_file: {tmp_path / 'own.toml'}:3: materials.My steel.E: input should be "
            "greater than 0, not -1",
            f"7: material_file: {tmp_path / 'own.toml'}:5: materials.My steel.roh: unknown key; "
            "did you mean 'rho'?",
            f"7: material_file: {tmp_path / 'own.toml'}:2: materials.My steel.rho: is missing",
        ],
    }
    (tmp_path / "own.toml").write_text(OWN.replace("2e11", "-1").replace("rho", "roh"))
    for line, told in cases.items():
        path = bar(tmp_path, named(line))
        with pytest.raises(InputError) as refused:
            read_part(path)
        found = [problem.removeprefix(f"{path}:") for problem in refused.value.problems]
        assert sorted(found) == sorted(told)


def test_masses_and_formulation(tmp_path: Path) -> None:
    more = (
        "[point_masses.motor]\npoint = [1, 0, 0]\nradius = 0.2\nmass = 3\ninertia = [1, 2, "
        '3]\n[formulation]\nhex8 = "full"\n'
    )
    part = read_part(bar(tmp_path, PART + more))
    same(
        part.point_masses["motor"],
        pp.PointMass(pp.Point((1.0, 0.0, 0.0), 0.2), 3.0, inertia=(1.0, 2.0, 3.0)),
    )
    assert part.formulation == pp.Formulation(hex8="full")
    assert part.model().mass == pytest.approx(78.0 + 3.0, rel=1e-12)
    path = bar(tmp_path, PART + more.replace("mass = 3", "mass = -3").replace("full", "half"))
    with pytest.raises(InputError) as refused:
        read_part(path)
    assert [problem.removeprefix(f"{path}:") for problem in refused.value.problems] == [
        "17: point_masses.motor: point mass -3.0 kg is not positive and finite; give kilograms",
        "23: formulation.hex8: is 'half'; give one of 'incompatible modes', 'full'",
    ]


def test_stress_and_prestress(tmp_path: Path) -> None:
    assert read_part(bar(tmp_path)).stress == pp.Stress()
    assert (
        read_part(bar(tmp_path, PART.replace("damping", "stress = false\ndamping"))).stress is None
    )
    more = (
        '[stress]\nnodes = "all"\n[prestress]\nrotation = [0, 0, 100]\nwrenches = { right = '
        "[1e3, 0, 0, 0, 0, 0] }\n"
    )
    part = read_part(bar(tmp_path, PART + more))
    assert part.stress == pp.Stress(nodes="all")
    assert part.prestress is not None
    assert list(part.prestress.wrenches["right"]) == [1e3, 0, 0, 0, 0, 0]
    assert tuple(part.prestress.rotation) == (0, 0, 100)
    pulled = read_part(
        bar(tmp_path, PART + "[prestress]\nwrenches = { right = [1e6, 0, 0, 0, 0, 0] }\n")
    ).reduce()
    plain = read_part(bar(tmp_path)).reduce()
    assert pulled.modes.frequency[0] > plain.modes.frequency[0]
    path = bar(tmp_path, PART + more.replace("right =", "rihgt ="))
    with pytest.raises(InputError, match=f"{path}:21: prestress.wrenches: no interface 'rihgt'"):
        read_part(path).reduce()


def test_every_problem_at_once_with_its_line(tmp_path: Path) -> None:
    changes = {
        'name = "bar"': "name = 1",
        'unit = "m"': 'unit = "mile"',
        "damping = 0.01": "dampign = 0.01",
        "nu = 0.3": "nu = 0.5",
        "plane = { point = [0.0, 0.0, 0.0],": "plane = { point = [0.0, 0.0],",
        "modes = 2": "wheels = 2",
        "E = 2e11": 'E = "steel"',
    }
    text = PART
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    path = bar(tmp_path, text)
    with pytest.raises(InputError) as refused:
        read_part(path)
    told = [problem.removeprefix(f"{path}:") for problem in refused.value.problems]
    assert told == [
        "2: name: must be a string, not 1",
        "4: unit: must be 'm', 'cm', 'mm', 'in', 'm-kg-s', 'mm-t-s', 'mm-kg-ms', "
        "'mm-g-ms', 'cm-g-s', 'in-lbf-s', "
        "'ft-slug-s', 'SI' or 'file', not 'mile'",
        "6: dampign: unknown key; did you mean 'damping'?",
        "8: material.E: must be a number, not 'steel'",
        "12: interfaces.left.plane.point: must be a longer list, not [0.0, 0.0]",
        "16: method.wheels: unknown key; known: band, frequency, inertia_relief, modes, "
        "tolerance, verify",
    ]


def test_files_beside_the_matrices_are_inputs_too(tmp_path: Path) -> None:
    """CalculiX writes stiffness, mass and degrees of freedom in files of one name; any of them
    changes the digest.
    """
    for suffix in (".inp", ".sti", ".mas", ".dof"):
        shutil.copy(calculix_jobs.DATA / f"calculix_hex20{suffix}", tmp_path / f"job{suffix}")
    path = tmp_path / "job.toml"
    end = "[interfaces.{}]\nplane = {{ point = [{}, 0, 0], normal = [1, 0, 0] }}\n"
    ends = end.format("a", 0) + end.format("b", 0.1)
    path.write_text(
        f'format = "flexmbs-part/1"\nreference = "a"\n[matrices]\nfile = "job.sti"\n{ends}'
    )
    found = [read_part(path).digest()]
    (tmp_path / "job.h5").write_text("a result is not an input")
    assert read_part(path).digest() == found[0]
    for suffix in (".mas", ".dof", ".inp"):
        with open(tmp_path / f"job{suffix}", "a") as file:
            file.write("\n")
        found.append(read_part(path).digest())
    assert len(set(found)) == 4


def test_other_values_are_those_of_another_file(tmp_path: Path) -> None:
    """Values by the paths of keys: the same part as that of the
    edited text; the part itself stays.
    """
    part = read_part(bar(tmp_path, PART + '[point_masses."a.b"]\nmass = 0.5\nset = "left"\n'))
    assert part.numbers() == {
        "damping": 0.01,
        "material.E": 2e11,
        "material.nu": 0.3,
        "material.rho": 7800.0,
        **{
            f"interfaces.{side}.plane.{what}.{axis}": float(what == "normal" and axis == "x")
            for side in ("left", "right")
            for what in ("point", "normal")
            for axis in "xyz"
        },
        "interfaces.right.plane.point.x": 1.0,
        "method.modes": 2.0,
        "point_masses.a.b.mass": 0.5,
    }
    before = part.digest()
    values = {
        "material.E": 1e11,
        "interfaces.right.plane.point.x": 0.5,
        "point_masses.a.b.mass": 0.7,
        "mass": "lumped",
    }
    text = part.document.text.replace("2e11", "1e11").replace(
        "[1.0, 0.0, 0.0], normal", "[0.5, 0.0, 0.0], normal"
    )
    other = read_part(bar(tmp_path, 'mass = "lumped"\n' + text.replace("mass = 0.5", "mass = 0.7")))
    assert part.changed(values).digest() == other.digest()
    assert part.digest() == before
    with pytest.raises(InputError, match=r"bar\.toml:9: material\.nu: nu = 0\.6 is outside"):
        part.changed({"material.nu": 0.6})
    with pytest.raises(InputError, match=r"bar\.toml: mas: unknown key; did you mean 'mass'"):
        part.changed({"mas": "lumped"})
    with pytest.raises(InputError, match=r"damping\.x: 'x' is not in 0\.01"):
        part.changed({"damping.x": 1.0})


def test_bodies_depend_on_what_both_programs_share() -> None:
    root = Path(flexmbs.__file__).parents[1]
    names = {str(path.relative_to(root)) for path in program_sources(root)}
    assert {
        "flexmbs/errors.py",
        "flexmbs/flexible_body/assembled.py",
        "preprocess/body/divided.py",
    } <= names
