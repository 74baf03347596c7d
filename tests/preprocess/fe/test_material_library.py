"""Materials by name: the file of the program, files of users, and what is refused."""

import dataclasses
import warnings
from collections import Counter
from pathlib import Path

import pytest

import flexmbs as fm
import preprocess as pp
from flexmbs.errors import InputError
from preprocess.fe.material_library import (
    BUILT_IN,
    NUMBERS,
    MaterialData,
    all_materials,
    read_materials,
)
from preprocess.inputs.known_materials import COMMON, OTHERS, KnownMaterial

BUILT = read_materials(BUILT_IN)
EACH = pytest.mark.parametrize("data", BUILT, ids=lambda data: data.name)
CLASSES = {  # by the first heading above a material in the file
    "Steel": {"steel"},
    "Cast iron": {"cast iron"},
    "Aluminium": {"aluminium"},
    "Titanium and magnesium": {"titanium", "magnesium"},
    "Copper": {"copper alloy"},
    "Nickel, zinc, tungsten": {"nickel alloy", "zinc alloy", "noble or refractory metal"},
    "Polymers, dry and at room temperature": {"polymer"},
    "Glass, ceramics, concrete": {"glass", "ceramic", "concrete or stone"},
    "Quasi-isotropic laminates: isotropic in their plane only": {"fibre composite"},
}
UNCOMMON = {"Invar 36"}  # Ashby's classes have no alloy of iron with so much nickel
OWN = """\
format = "flexmbs-materials/1"
[materials."My steel"]
aliases = ["house steel"]
E = 2.05e11
nu = 0.29
rho = 7840
source = "test report 7"
"""


def headings() -> dict[str, str]:
    """Heading of each material in the file of the program."""
    found, heading = dict[str, str](), ""
    for line in BUILT_IN.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            heading = line[2:]
        if line.startswith("[materials."):
            found[line.split('"')[1]] = heading
    return found


def own(folder: Path, text: str = OWN) -> Path:
    path = folder / "own.toml"
    path.write_text(text, encoding="utf-8")
    return path


@EACH
def test_every_material_has_a_source_for_each_number(data: MaterialData) -> None:
    given = {number for number in NUMBERS if getattr(data, number) is not None}
    assert given == set(data.sources)
    assert all(len(source) > 4 for source in data.sources.values())


@EACH
def test_every_material_is_of_the_class_of_its_heading(data: MaterialData) -> None:
    """Its modulus and density are in the ranges of Ashby (2011) for this class; no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert data.isotropic.E / (2 * (1 + data.nu)) > 0
    if data.name in UNCOMMON:
        return
    fitting = {each.name for each in (*COMMON, *OTHERS) if within(data, each)}
    assert fitting & CLASSES[headings()[data.name]]


def within(data: MaterialData, known: KnownMaterial) -> bool:
    return known.E[0] <= data.E <= known.E[1] and known.rho[0] <= data.rho <= known.rho[1]


@EACH
def test_numbers_are_in_the_ranges_of_solids(data: MaterialData) -> None:
    if data.yield_stress is not None:
        assert 1e-4 * data.E < data.yield_stress < 0.04 * data.E
    if data.expansion is not None:
        assert 1e-6 < data.expansion < 2e-4
    if data.fatigue is not None:
        assert data.fatigue.amplitude < (data.yield_stress or 0.0)
        assert 2.5 < data.fatigue.slope < 15.0


def test_names_and_aliases_are_unique() -> None:
    counts = Counter(key for data in BUILT for key in data.compared_names())
    assert set(counts.values()) == {1}
    assert len(BUILT) >= 60


def test_names_without_case_and_separators() -> None:
    expected = pp.material("Al 6061-T6")
    for name in ("al6061t6", "AL 6061 T6", "al-6061_t6", "EN AW-6061 T6", "6061-T6"):
        assert pp.material(name) == expected


def test_published_numbers() -> None:
    """EN 1993-1-1, 3.2.6 and table 3.1; MIL-HDBK-5J, table 3.6.2.0(b1), in ksi and lb/in³."""
    assert pp.material("S355") == pp.Isotropic(E=210e9, nu=0.3, rho=7850.0, yield_stress=355e6)
    found = pp.material("Al 6061-T6")
    ksi, pound = 6.894757e6, 27679.9
    expected = (9.9e3 * ksi, 0.098 * pound, 36 * ksi)
    assert (found.E, found.rho, found.yield_stress) == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize(
    ("name", "coefficient", "exponent"),
    [
        ("AISI 4340", 1758e6, -0.0977),
        ("AISI 4142 Q&T", 1937e6, -0.0762),
        ("Al 2024-T4", 900e6, -0.102),
        ("Ti-6Al-4V STA", 2030e6, -0.104),
    ],
)
def test_sn_curves_of_dowling(name: str, coefficient: float, exponent: float) -> None:
    """σ_a = σ_f' (2N)^b with the constants of Dowling (2013), table 9.1."""
    curve = fm.SNCurve(**pp.material_data(name).sn_curve)
    for cycles in (1e4, 1e6, 1e8):
        amplitude = coefficient * (2 * cycles) ** exponent
        assert curve.cycles_to_failure(amplitude).item() == pytest.approx(cycles, rel=0.02)


def test_sn_curve_of_6061() -> None:
    """MIL-HDBK-5J, figure 3.6.2.2.8: log N = 20.68 − 9.84 log(S_max (1 − R)^0.63), ksi."""
    curve = fm.SNCurve(**pp.material_data("6061-T6").sn_curve)
    for ksi in (15.0, 20.0, 30.0):
        cycles = 10**20.68 * (ksi * 2**0.63) ** -9.84
        assert curve.cycles_to_failure(ksi * 6.894757e6).item() == pytest.approx(cycles, rel=0.02)


def test_sn_curve_of_structural_steel() -> None:
    """EN 1993-1-9: a range of 160 MPa at 2·10⁶ cycles with m = 3, then m = 5 from 5·10⁶ on."""
    curve = fm.SNCurve(**pp.material_data("S235").sn_curve)
    assert curve.cycles_to_failure(80e6).item() == pytest.approx(2e6, rel=0.02)
    limit = 0.405 * 160e6 / 2  # cut-off limit at 10⁸ cycles
    assert curve.cycles_to_failure(limit).item() == pytest.approx(1e8, rel=0.03)


def test_materials_without_sn_data() -> None:
    with pytest.raises(InputError, match="material: 'PEEK' has no S–N data"):
        pp.material_data("PEEK").sn_curve  # noqa: B018


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Al 6061-T7", "did you mean 'Al 6061-T6'? `preprocess materials` lists all"),
        ("Inconel 719", "did you mean 'Inconel 718'? `preprocess materials` lists all"),
        ("unobtainium", "'unobtainium'; `preprocess materials` lists all"),
        ("", "unknown material ''"),
        (7, "name = 7 is not a string"),
    ],
)
def test_unknown_names(name: str, hint: str) -> None:
    with pytest.raises(InputError) as refused:
        pp.material(name)
    (problem,) = refused.value.problems
    assert problem.startswith("material: ")
    assert hint in problem


def test_own_materials_extend_and_override(tmp_path: Path) -> None:
    path = own(tmp_path)
    expected = pp.Isotropic(E=2.05e11, nu=0.29, rho=7840.0)
    assert pp.material("my steel", path) == pp.material("house-steel", file=path) == expected
    assert pp.material("S355", path) == pp.material("S355")
    with pytest.raises(InputError, match="unknown material 'My steel'"):
        pp.material("My steel")
    path = own(tmp_path, OWN.replace("My steel", "s 355"))
    assert pp.material("S355", path) == expected
    assert len(all_materials(read_materials(path))) == len(BUILT)
    path = own(tmp_path, OWN.replace("house steel", "S355"))  # an alias precedes too
    assert pp.material("S355", path) == expected


def test_the_file_of_the_program_is_one_of_users(tmp_path: Path) -> None:
    path = own(tmp_path, BUILT_IN.read_text(encoding="utf-8"))
    assert read_materials(path) == BUILT


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("E = 2.05e11\n", "", "2: materials.My steel.E: is missing"),
        (
            "2.05e11",
            '"soft"',
            "4: materials.My steel.E: input should be a valid number, not 'soft'",
        ),
        ("2.05e11", "true", "4: materials.My steel.E: input should be a valid number, not True"),
        ("2.05e11", "-1", "4: materials.My steel.E: input should be greater than 0, not -1"),
        ("0.29", "0.5", "5: materials.My steel.nu: input should be less than 0.5, not 0.5"),
        ("7840", "nan", "6: materials.My steel.rho: input should be a finite number, not nan"),
        ("rho", "roh", "6: materials.My steel.roh: unknown key; did you mean 'rho'?"),
        (
            "source",
            "sources.Q",
            "7: materials.My steel.sources.Q: is not that of a number; known: E, nu, rho",
        ),
        ('format = "flexmbs-materials/1"', "format = 1", "1: format: a file of materials starts"),
        ("[materials", "[material", 'materials: give at least one [materials."name"]'),
        ("rho", "fatigue.slope = -3\nrho", "2: materials.My steel.fatigue.amplitude: is missing"),
        ("nu = 0.29", "nu = ", "5: not TOML: Invalid value"),
    ],
)
def test_damaged_files(old: str, new: str, told: str, tmp_path: Path) -> None:
    assert old in OWN
    path = own(tmp_path, OWN.replace(old, new, 1))
    with pytest.raises(InputError) as refused:
        read_materials(path)
    problems = [line.removeprefix(f"{path}:").strip() for line in refused.value.problems]
    assert any(line.startswith(told) for line in problems), problems


def test_every_problem_of_a_file_at_once(tmp_path: Path) -> None:
    text = OWN.replace('source = "test report 7"\n', "") + OWN.partition("\n")[2].replace(
        "My steel", "MY-STEEL"
    )
    path = own(tmp_path, text.replace("E = 2.05e11", "E = 0", 1))
    with pytest.raises(InputError) as refused:
        read_materials(path)
    assert [line.removeprefix(f"{path}:") for line in refused.value.problems] == [
        "4: materials.My steel.E: input should be greater than 0, not 0"
    ]
    path = own(tmp_path, text)
    with pytest.raises(InputError) as refused:
        read_materials(path)
    assert [line.removeprefix(f"{path}:") for line in refused.value.problems] == [
        f'{line}: materials.My steel.{key}: has no source; give source = "…" or one in sources'
        for line, key in ((4, "E"), (5, "nu"), (6, "rho"))
    ]
    path = own(tmp_path, OWN + OWN.partition("\n")[2].replace("My steel", "MY-STEEL"))
    with pytest.raises(InputError, match=r"MY-STEEL: the name 'MY-STEEL' is also that of 'My st"):
        read_materials(path)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: cannot be read"):
        pp.material("S355", tmp_path / "none.toml")


def test_data_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        pp.material_data("S355").E = 1.0  # type: ignore[misc]
