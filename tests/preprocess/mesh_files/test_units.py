"""Decks in different units are one model; materials in other units than those declared are named,
others are not."""

import itertools
import typing
import warnings

import numpy as np
import pytest

import preprocess as pp
from flexmbs.errors import InputError
from preprocess.inputs.known_materials import COMMON, OTHERS, known_material, material_doubt
from preprocess.inputs.units import MESH_UNITS, NEWTONS, SI, UNIT_SYSTEMS
from preprocess.part_file.part import Unit

DECK = """BEGIN BULK
GRID,1,,{L:0.0},{L:0.0},{L:0.0}
GRID,2,,{L:0.1},{L:0.0},{L:0.0}
GRID,3,,{L:0.1},{L:0.05},{L:0.0}
GRID,4,,{L:0.0},{L:0.05},{L:0.01}
GRID,5,,{L:0.2},{L:0.0},{L:0.0}
GRID,6,,{L:0.2},{L:0.05},{L:0.0}
GRID,7,,{L:0.3},{L:0.0},{L:0.0}
CQUAD4,1,7,1,2,3,4,,{L:0.001}
CTRIA3,2,9,2,5,6
CTRIA3,3,9,2,6,3
CBAR,4,8,5,7,0.,0.,1.
PSHELL,7,1,{L:0.002},1,,1,,{A:0.3}
PCOMP,9,,{A:0.2}
,2,{L:0.001},30.,,2,{L:0.001},-40.
PBAR,8,1,{S:1e-4},{I:1e-9},{I:2e-9},{I:1.5e-9},{M:0.5}
MAT1,1,{E:2.1e11},,.3,{D:7850.0}
MAT8,2,{E:1.35e11},{E:1e10},.3,{E:5e9},{E:5e9},{E:5e9},{D:1600.0}
CONM2,5,7,0,{K:0.2},{L:0.01},{L:0.02},{L:0.0}
,{J:1e-4},,{J:2e-4},,,{J:1.5e-4}
CELAS2,6,{F:1e4},1,1,7,1
CDAMP2,10,{C:3.0},1,1,7,1
CBUSH,11,12,3,6,,,,0
PBUSH,12,K,{F:1e5},{F:2e5},{F:3e5},{T:10.0},{T:20.0},{T:30.0}
,B,{C:5.0},{C:6.0},{C:7.0},{R:0.1},{R:0.2},{R:0.3}
ENDDATA
"""
POWERS = {  # of force, length and time
    "L": (0, 1, 0),
    "S": (0, 2, 0),
    "I": (0, 4, 0),
    "E": (1, -2, 0),
    "D": (1, -4, 2),
    "A": (1, -3, 2),
    "M": (1, -2, 2),
    "K": (1, -1, 2),
    "J": (1, 1, 2),
    "F": (1, -1, 0),
    "T": (1, 1, 0),
    "C": (1, -1, 1),
    "R": (1, 1, 1),
}


class Quantity:
    """Formats a value in SI as one in other units."""

    def __init__(self, factor):
        self.factor = factor

    def __format__(self, value):
        text = f"{float(value) / self.factor:.9E}"
        return text.replace("E+0", "+").replace("E-0", "-").replace("E", "")


def assembled(tmp_path, name):
    quantities = {key: Quantity(MESH_UNITS[name].factor(*powers)) for key, powers in POWERS.items()}
    path = tmp_path / "deck.bdf"
    path.write_text(DECK.format(**quantities))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pp.PreprocessWarning)
        return pp.assemble(pp.read_mesh(path, unit=name, structural=True))


@pytest.fixture(scope="module")
def in_metres(tmp_path_factory):
    return assembled(tmp_path_factory.mktemp("deck"), "m")


@pytest.mark.parametrize("name", [name for name in MESH_UNITS if name != "m"])
def test_a_deck_in_any_units_is_the_same_model(in_metres, tmp_path, name):
    """Stiffness, mass and damping of shells, laminates, bars, springs, bushings, dampers and
    masses."""
    found = assembled(tmp_path, name)
    for key in ("K", "M", "D"):
        expected = getattr(in_metres, key).toarray()
        np.testing.assert_allclose(
            getattr(found, key).toarray(), expected, atol=1e-7 * np.abs(expected).max()
        )
    assert found.mass == pytest.approx(in_metres.mass, rel=1e-8)


STEEL = {
    "in-lbf-s": (3e7, 7.33e-4),
    "mm-t-s": (2.1e5, 7.85e-9),
    "mm-kg-ms": (210.0, 7.85e-6),
    "mm-g-ms": (2.1e5, 7.85e-3),
    "ft-slug-s": (4.3e9, 15.2),
    "cm-g-s": (2.1e12, 7.85),
    "m-kg-s": (2.1e11, 7850.0),
}


@pytest.mark.parametrize("given", STEEL)
@pytest.mark.parametrize("declared", [*NEWTONS, *UNIT_SYSTEMS])
def test_steel_in_other_units_is_named(given, declared):
    """Also steel of pounds and inches in N, which looks like magnesium; none in its own units;
    what looks like a foam or rubber is not named."""
    units = MESH_UNITS[declared]
    found = material_doubt(*STEEL[given], units)
    if units[1:] == UNIT_SYSTEMS[given][1:]:
        assert found is None
    elif found is None:
        E, rho = STEEL[given]
        soft = known_material(E * units.pressure, rho * units.density)
        assert soft is not None
        assert any(word in soft for word in ("foam", "rubber"))
        assert declared not in ("m", "mm", "SI", "mm-t-s", "mm-kg-ms")
    elif "densities" not in found:
        assert found == f"are those of steel in {given}"


@pytest.mark.parametrize(
    ("E", "rho"),
    [
        (2.1e11, 7850.0), (7e10, 2700.0), (1.1e11, 4430.0), (4.5e10, 1800.0), (1.2e11, 8900.0), (1.0e11, 7100.0),
        (4.1e11, 19300.0),
        (1.7e10, 11340.0), (7.9e10, 19300.0), (3.8e11, 3900.0), (1.3e11, 2330.0), (7e10, 2500.0), (3e10, 2400.0),
        (1.35e11, 1600.0),
        (4.5e10, 2000.0), (1.2e10, 600.0), (3e9, 1150.0), (1e9, 950.0), (5e8, 2200.0), (3e6, 1100.0), (1e5, 1050.0),
        (2e4, 1000.0),
        (1e8, 60.0), (1e6, 30.0), (2e9, 80.0), (1e5, 12.0), (1.1e12, 3500.0), (2e10, 1900.0),
        (2.1e13, 7850.0), (2.1e11, 1e-3), (2.1e11, 1.0), (2.1e11, 20000.0), (1.0, 1.0), (1e3, 1.0), (1.0, 1e3), (1e15, 1e3),
    ],
)  # fmt: skip
def test_known_materials_and_those_of_models_are_not_doubted(E, rho):
    """From tungsten to foam; then rigid ones, massless ones, ones that carry the mass of others,
    and unit values."""
    assert material_doubt(E, rho, SI) is None


@pytest.mark.parametrize(
    "name", ["mm-t-s", "mm-kg-ms", "in-lbf-s", "ft-slug-s", "cm-g-s", "mm-g-ms"]
)
def test_known_materials_in_their_units_are_not_doubted(name):
    units = UNIT_SYSTEMS[name]
    for E, rho in (
        (2.1e11, 7850.0),
        (7e10, 2700.0),
        (3e6, 1100.0),
        (1e8, 60.0),
        (1.35e11, 1600.0),
        (2.1e11, 1.0),
        (2.1e14, 7850.0),
    ):
        assert material_doubt(E / units.pressure, rho / units.density, units) is None


@pytest.mark.parametrize(
    ("unit", "E", "rho", "message"),
    [
        (
            "in",
            "3.+7",
            "7.33-4",
            "E = 3e\\+07, rho = 0.000733 with unit='in' are those of steel in in-lbf-s; "
            "is the unit right",
        ),
        ("mm", "210.", "7.85-6", "are those of steel in mm-kg-ms"),
        (
            "mm",
            "2.1+5",
            "7.85-6",
            "are those of steel with densities in kg/mm³: divide them by 1000",
        ),
        (
            "in-lbf-s",
            "3.+7",
            ".283",
            "are those of steel with densities in lb/in³: .* PARAM,WTMASS,0.00259",
        ),
    ],
)
def test_a_deck_in_other_units_is_a_warning(tmp_path, unit, E, rho, message):
    path = tmp_path / "deck.bdf"
    grids = "".join(f"GRID,{k},,{10.0 * k},0.,0.\n" for k in (1, 2))
    path.write_text(
        "BEGIN "
        f"BULK\n{grids}CBAR,1,8,1,2,0.,0.,1.\nPBAR,8,1,1.,.1,.1,.1\nMAT1,1,{E},,.3,{rho}\nENDDATA\n"
    )
    with pytest.warns(pp.PreprocessWarning, match=message):
        pp.read_mesh(path, unit=unit, structural=True)


def test_pounds_and_inches_with_wtmass(tmp_path):
    """A bar of 10 × 1 × 1 in of steel: 2.83 lb; densities in lbf s²/in⁴, or in lb/in³ with
    WTMASS."""
    grids = "".join(f"GRID,{k},,{10.0 * k},0.,0.\n" for k in (1, 2))
    for rho, factor in (("7.33-4", ""), (".283", "PARAM,WTMASS,.00259\n")):
        path = tmp_path / "bar.bdf"
        bulk = (
            f"CBAR,1,8,1,2,0.,0.,1.\nPBAR,8,1,1.,.0833,.0833,.14\nMAT1,1,3.+7,,.3,{rho}\n{factor}"
        )
        path.write_text(f"BEGIN BULK\n{grids}{bulk}ENDDATA\n")
        with warnings.catch_warnings():
            warnings.simplefilter("error", pp.PreprocessWarning)
            fe = pp.assemble(pp.read_mesh(path, unit="in-lbf-s", structural=True))
        assert fe.mass == pytest.approx(10 * 0.283 * 0.45359237, rel=1e-3)


def test_a_part_file_in_pounds_and_inches(tmp_path):
    """Its mesh file has the material; the bar of the test before, of hexahedra."""
    mesh = pp.box_mesh((10.0, 1.0, 1.0), (5, 1, 1), "hex8")
    grids = "".join(
        f"GRID,{k + 1},,{x:.4f},{y:.4f},{z:.4f}\n" for k, (x, y, z) in enumerate(mesh.nodes)
    )
    cells = "".join(
        f"CHEXA,{k + 1},1,{','.join(map(str, e[:6] + 1))}\n,{e[6] + 1},{e[7] + 1}\n"
        for k, e in enumerate(mesh.blocks["hex8"].connectivity)
    )
    (tmp_path / "bar.bdf").write_text(
        f"BEGIN BULK\n{grids}{cells}PSOLID,1,1\nMAT1,1,3.+7,,.3,7.33-4\nENDDATA\n"
    )
    text = """format = "flexmbs-part/1"
mesh = "bar.bdf"
unit = "in-lbf-s"
structural = true
reference = "root"
interfaces.root.plane = { point = [0.0, 0.0, 0.0], normal = [1.0, 0.0, 0.0] }
method.modes = 2
"""
    for given in (text, text.replace("structural = true\n", "")):  # the deck has a material
        (tmp_path / "bar.toml").write_text(given)
        assert pp.read_part(tmp_path / "bar.toml").reduce().mass == pytest.approx(
            10 * 0.283 * 0.45359237, rel=1e-3
        )
    (tmp_path / "bar.toml").write_text(text.replace("= true", "= false"))
    with pytest.raises(InputError, match="material: is missing; give E, nu and rho"):
        pp.read_part(tmp_path / "bar.toml")


def test_materials_in_python_are_in_si():
    with pytest.warns(
        pp.PreprocessWarning,
        match="E = 210, rho = 7.85e-06 in Pa, kg/m³ are those of steel in mm-kg-ms",
    ):
        pp.Isotropic(E=210.0, nu=0.3, rho=7.85e-6)
    with pytest.warns(
        pp.PreprocessWarning, match="not a wave speed .* They are those of steel in mm-t-s"
    ):
        pp.Isotropic(E=2.1e5, nu=0.3, rho=7.85e-9)
    with pytest.warns(
        pp.PreprocessWarning, match="fit no known material: the density is 7.85e\\+06 kg/m³"
    ):
        pp.Isotropic(E=2.1e11, nu=0.3, rho=7.85e6)


NAMED = ("SI", "mm-t-s", "mm-kg-ms", "in-lbf-s", "ft-slug-s")


def drawn_material(random, known):
    """E and ρ, log-uniform in its ranges."""
    return (float(np.exp(random.uniform(*np.log(span)))) for span in (known.E, known.rho))


@pytest.mark.parametrize("known", [*COMMON, *OTHERS], ids=lambda known: known.name)
def test_random_materials_are_not_doubted_in_their_units(known):
    random = np.random.default_rng(1)
    for name in (*NAMED, "m", "mm", "cm", "mm-g-ms", "cm-g-s"):
        units = MESH_UNITS[name]
        for _ in range(200):
            E, rho = drawn_material(random, known)
            assert material_doubt(E / units.pressure, rho / units.density, units) is None


@pytest.mark.parametrize("known", COMMON, ids=lambda known: known.name)
@pytest.mark.parametrize("written", NAMED)
def test_random_materials_in_other_units_are_named(known, written):
    """Whatever they look like in the units declared is within the ranges of a known material
    there; the system that is named is one in which they are one."""
    random, own = np.random.default_rng(2), UNIT_SYSTEMS[written]
    for declared in NAMED:
        units = UNIT_SYSTEMS[declared]
        if declared == written:
            continue
        for _ in range(100):
            E, rho = drawn_material(random, known)
            E, rho = E / own.pressure, rho / own.density
            found = material_doubt(E, rho, units)
            if known_material(E * units.pressure, rho * units.density):
                assert found is None
                continue
            assert found is not None
            assert found.startswith("are those of ")
            name, _, system = found.removeprefix("are those of ").rpartition(" in ")
            other = UNIT_SYSTEMS[system]
            assert known_material(E * other.pressure, rho * other.density, COMMON) is not None
            assert name in {each.name for each in COMMON}


def test_which_materials_look_like_others_in_wrong_units():
    """Those of mm-kg-ms are foams in lbf and inches (densities 94 times less), and rubber of slugs
    and feet is a light foam in SI; no others."""
    random, unseen = np.random.default_rng(3), set()
    for known, written, declared in itertools.product(COMMON, NAMED, NAMED):
        one, two = UNIT_SYSTEMS[written], UNIT_SYSTEMS[declared]
        for _ in range(50 if one != two else 0):
            E, rho = drawn_material(random, known)
            if material_doubt(E / one.pressure, rho / one.density, two) is None:
                seen = E / one.pressure * two.pressure, rho / one.density * two.density
                unseen.add((written, declared, known_material(*seen)))
                assert known.name == "rubber" or written == "mm-kg-ms"
    assert {name for *_, name in unseen} == {"foam or honeycomb", "light foam"}
    assert {both[:2] for both in unseen} == {("mm-kg-ms", "in-lbf-s"), ("ft-slug-s", "SI")}


@pytest.mark.parametrize(
    ("E", "rho", "unit", "found"),
    [
        (4e5, 1.1e-4, "in", "polymer in in-lbf-s"),
        (4e5, 1.1e-4, "mm", "polymer in in-lbf-s"),
        (3.0, 1.2e-6, "mm", "polymer in mm-kg-ms"),
        (135.0, 1.6e-6, "SI", "fibre composite in mm-kg-ms"),
        (3000.0, 1.1e-6, "mm", "polymer with densities in kg/mm³"),
        (1.2e4, 6e-10, "SI", "wood in mm-t-s"),
        (4e6, 2.2e-4, "SI", "concrete or stone in in-lbf-s"),
        (3.8e5, 3.9e-9, "in-lbf-s", "ceramic in mm-t-s"),
        (3.0, 1.1e-9, "SI", "rubber in mm-t-s"),
        (6e7, 2.3, "SI", "polymer in ft-slug-s"),
    ],
)
def test_other_materials_in_other_units_are_named(E, rho, unit, found):
    assert material_doubt(E, rho, MESH_UNITS[unit]).startswith(f"are those of {found}")


def test_units_of_part_files_are_those_of_meshes():
    assert set(typing.get_args(Unit)) == {*MESH_UNITS, "file"}


def test_an_unknown_unit_is_named(tmp_path):
    path = tmp_path / "deck.bdf"
    path.write_text("BEGIN BULK\nENDDATA\n")
    with pytest.raises(
        InputError, match="unit 'lbf' is unknown; give one of m, cm, mm, in, m-kg-s, mm-t-s"
    ):
        pp.read_mesh(path, unit="lbf")
