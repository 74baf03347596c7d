"""Tables over temperature in Abaqus and CalculiX decks: their values at the initial temperature of
the deck, and a warning where it gives none."""

import warnings

import numpy as np
import pytest

import preprocess as pp
from flexmbs.errors import InputError
from tests.draws import drawn

SHELL = """*NODE, NSET=all
1,0,0,0
2,100,0,0
3,100,50,0
4,0,50,0
5,120,25,0
*ELEMENT, TYPE=S4, ELSET=flap
1, 1, 2, 3, 4
*ORIENTATION, NAME=o
1.,0.,0.,0.,1.,0.
*SHELL SECTION, ELSET=flap, MATERIAL=one, ORIENTATION=o
2.0
"""
SOLID = """*NODE, NSET=all
1,0,0,0
2,10,0,0
3,0,10,0
4,0,0,10
*ELEMENT, TYPE=C3D4, ELSET=block
1, 1, 2, 3, 4
*SOLID SECTION, ELSET=block, MATERIAL=one
"""
BEAM = """*NODE, NSET=all
1,0,0,0
2,100,0,0
3,200,0,0
*ELEMENT, TYPE=B31, ELSET=bar
1, 1, 2
2, 2, 3
*BEAM GENERAL SECTION, ELSET=bar, DENSITY=7.85e-9
100., 800., 0., 900., 1500.
0., 0., -1.
"""
COILS = """*ELEMENT, TYPE=SPRINGA, ELSET=coil
9, 1, 3
*ELEMENT, TYPE=DASHPOTA, ELSET=damper
10, 2, 4
"""


def matrix(random):
    """The 21 constants of a random positive definite C."""
    A = random.standard_normal((6, 6))
    C = 1e5 * (A @ A.T + 3 * np.eye(6))
    return [C[i, j] for j in range(6) for i in range(j + 1)]


def orthotropic(random):
    C = np.diag(random.uniform(1e5, 3e5, 6))
    C[:3, :3] += random.uniform(1e4, 3e4)
    return [C[0, 0], C[0, 1], C[1, 1], C[0, 2], C[1, 2], C[2, 2], C[5, 5], C[4, 4], C[3, 3]]


KINDS = {
    "ISO": (SOLID, lambda random: [random.uniform(1e5, 3e5), random.uniform(0.1, 0.4)]),
    "ORTHO": (SOLID, orthotropic),
    "ANISO": (SOLID, matrix),
    "ENGINEERING CONSTANTS": (
        SOLID,
        lambda random: [*random.uniform(1e5, 2e5, 3), 0.2, 0.25, 0.3, *random.uniform(4e4, 6e4, 3)],
    ),
    "LAMINA": (
        SHELL,
        lambda random: [*random.uniform(1e4, 1e5, 2), 0.1, *random.uniform(4e3, 6e3, 3)],
    ),
}


def lines(*values):
    """Data lines of eight fields."""
    text = [repr(float(value)) for value in values]
    return "".join(", ".join(text[k : k + 8]) + "\n" for k in range(0, len(text), 8))


def read(tmp_path, text):
    """The model, and the warnings of tables."""
    path = tmp_path / "deck.inp"
    path.write_text(text)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        fe = pp.assemble(pp.read_mesh(path, unit="mm", structural=True))
    messages = [str(each.message) for each in found]
    return fe, [message for message in messages if "rows: the first one is used" in message]


def same(one, two):
    for key in ("K", "M"):
        first, second = (getattr(each, key).toarray() for each in (one, two))
        np.testing.assert_allclose(first, second, atol=1e-9 * np.abs(second).max())


def material(kind, table, densities):
    """The keywords of a material of rows of constants and temperature."""
    rows = "".join(lines(*row) for row in table)
    last = "".join(lines(*row) for row in densities)
    return f"*MATERIAL, NAME=one\n*ELASTIC, TYPE={kind}\n{rows}*DENSITY\n{last}"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", drawn(2, 12))
def test_tables_are_evaluated_at_the_initial_temperature(tmp_path, kind, seed):
    """Random tables against a deck of their values there, before, between and beyond the rows; then
    those of the first row, each with a warning."""
    random = np.random.default_rng([seed, len(kind)])
    mesh, constants = KINDS[kind]
    degrees = np.sort(random.uniform(-100, 800, 3))
    table = [[*constants(random), T] for T in degrees]
    densities = [[rho, T] for rho, T in zip(random.uniform(2e-9, 8e-9, 2), degrees)]
    at = random.uniform(-200, 900)
    initial = f"*INITIAL CONDITIONS, TYPE=TEMPERATURE\nall, {at!r}\n"
    found, none = read(tmp_path, mesh + material(kind, table, densities) + initial)
    values = [np.interp(at, degrees, column) for column in np.array(table).T[:-1]]
    rho = np.interp(at, degrees[:2], [row[0] for row in densities])
    expected, _ = read(tmp_path, mesh + material(kind, [values], [[rho]]))
    assert not none
    same(found, expected)
    first, said = read(tmp_path, mesh + material(kind, table, densities))
    same(first, read(tmp_path, mesh + material(kind, table[:1], densities[:1]))[0])
    assert len(said) == 2
    assert f"has 3 rows: the first one is used, at a temperature of {degrees[0]:g}" in said[0]
    assert "one temperature by *INITIAL CONDITIONS" in said[0]


@pytest.mark.parametrize(
    "initial",
    ["all, 20.\n1, 30.\n", "1, 20.\n2, 20.\n", "all, 20., 5.\n", "elsewhere, 20.\n", ""],
)
def test_different_and_unknown_temperatures_are_none(tmp_path, initial):
    """Of nodes, of some nodes only (others have 0), across a shell, of a set that is not in the
    file, of another file."""
    table = material("ISO", [[2e5, 0.3, 0.0], [1e5, 0.3, 100.0]], [[7.85e-9]])
    fe, said = read(tmp_path, SHELL + table + "*INITIAL CONDITIONS, TYPE=TEMPERATURE\n" + initial)
    assert len(said) == 1
    same(fe, read(tmp_path, SHELL + material("ISO", [[2e5, 0.3]], [[7.85e-9]]))[0])


def test_equal_rows_and_unused_materials_have_no_warning(tmp_path):
    table = material("ISO", [[2e5, 0.3, 0.0], [2e5, 0.3, 100.0]], [[7.85e-9]])
    other = "*MATERIAL, NAME=two\n*ELASTIC\n1e5, 0.3, 0.\n2e5, 0.3, 9.\n*DENSITY\n1e-9\n"
    assert not read(tmp_path, SHELL + table + other)[1]


def test_other_dependencies_are_not_interpolated(tmp_path):
    """Rows over temperature and a field; of frequency."""
    rows = "2e5, 0.3, 0., 1.\n1e5, 0.3, 100., 1.\n"
    text = f"*MATERIAL, NAME=one\n*ELASTIC, DEPENDENCIES=1\n{rows}*DENSITY\n7.85e-9\n"
    initial = "*INITIAL CONDITIONS, TYPE=TEMPERATURE\nall, 50.\n"
    _, said = read(tmp_path, SHELL + text + initial)
    assert "give one row" in said[0]
    plain = SHELL + material("ISO", [[2e5, 0.3]], [[7.85e-9]]) + COILS
    damper = "*DASHPOT, ELSET=damper\n\n2., 10.\n3., 20.\n*SPRING, ELSET=coil\n\n5.\n"
    _, said = read(tmp_path, plain + damper + initial)
    assert len(said) == 1
    assert "*DASHPOT, ELSET=damper has 2 rows" in said[0]
    with pytest.raises(InputError, match="depends on field variables; give one row"):
        read(
            tmp_path,
            plain + "*SPRING, ELSET=coil, DEPENDENCIES=1\n\n5., 0., 0., 1.\n6., 0., 0., 2.\n",
        )


def test_springs_dashpots_and_sections_with_constants(tmp_path):
    """At 50 degrees: halfway; a nonlinear spring has the mean of its slopes at rest."""
    initial = "*INITIAL CONDITIONS, TYPE=TEMPERATURE\nall, 50.\n"
    links = "*SPRING, ELSET=coil{}\n\n{}*DASHPOT, ELSET=damper\n\n2., 0., 0.\n6., 0., 100.\n"
    sheet = SHELL + material("ISO", [[2e5, 0.3]], [[7.85e-9]]) + COILS + initial
    curve = "-1., -1., 0.\n1., 1., 0.\n-3., -1., 100.\n3., 1., 100.\n"
    for kind, rows in (("", "1., 0., 0.\n3., 0., 100.\n"), (", NONLINEAR", curve)):
        path = tmp_path / "deck.inp"
        path.write_text(sheet + links.format(kind, rows))
        found = pp.read_mesh(path, unit="mm", structural=True).declared.connections
        assert found["spring 9"]["stiffness"] == pytest.approx(2e3)
        assert found["dashpot 10"]["damping"] == pytest.approx(4e3)
    bar, none = read(tmp_path, BEAM + "2e5, 8e4, 0., 0.\n1e5, 4e4, 0., 100.\n" + initial)
    assert not none
    same(bar, read(tmp_path, BEAM + "1.5e5, 6e4\n")[0])
    assert len(read(tmp_path, BEAM + "2e5, 8e4, 0., 0.\n1e5, 4e4, 0., 100.\n")[1]) == 1
