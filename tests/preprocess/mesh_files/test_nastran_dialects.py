"""Nastran decks of several dialects: each is read as its program understands it.

Most decks are compared with another deck of the same part, whose reading is tested elsewhere.
"""

import numpy as np
import pytest

import preprocess as pp
from flexmbs.errors import InputError

GRIDS = "".join(
    f"GRID,{n},,{x},{y},0.\n"
    for n, (x, y) in enumerate([(0, 0), (100, 0), (200, 0), (0, 50), (100, 50), (200, 50)], 1)
)
STEEL = "MAT1,1,2.1+5,,.3,7.85-9\n"
SHELLS = "CQUAD4,1,7,1,2,5,4\nCQUAD4,2,7,2,3,6,5\n"
PLATE = SHELLS + "PSHELL,7,1,2.,1,,1\n"
BAR = "CBAR,1,8,1,2,0.,1.,0.\nPBAR,8,1,100.,800.,900.,1000.\n"
E, NU, RHO = 2.1e11, 0.3, 7850.0


def read(tmp_path, bulk, **options):
    path = tmp_path / "deck.bdf"
    path.write_text(f"BEGIN BULK\n{bulk}ENDDATA\n")
    return pp.assemble(pp.read_mesh(path, unit="mm", structural=True, **options))


def same(one, two, within=1e-10):
    for a, b in ((one.K, two.K), (one.M, two.M)):
        assert abs(a - b).max() <= within * abs(b).max()


def test_density_that_a_deck_lacks(tmp_path):
    bare, whole = STEEL.replace(",7.85-9", ""), GRIDS + PLATE + STEEL
    for density in (RHO, {"property 7": RHO}):
        same(read(tmp_path, GRIDS + PLATE + bare, density=density), read(tmp_path, whole))
    with pytest.raises(InputError, match="MAT1 1 has no RHO; give density, in kg/m³, or materials"):
        read(tmp_path, GRIDS + PLATE + bare)
    with pytest.raises(InputError, match="the material of 'property 7' lacks no density"):
        read(tmp_path, whole, density={"property 7": RHO})
    with pytest.raises(InputError, match="density"):
        read(tmp_path, whole, density=-1.0)


def test_mass_on_nodes_alone(tmp_path):
    """Two bars without density between bodies: ω² = k/m of stretch and torsion; no other modes."""
    bars = BAR + "CBAR,2,8,2,3,0.,1.,0.\n" + "MAT1,1,2.1+5,,.3\n"
    body = "CONM2,{},{},,1.-3\n,50.,0.,60.,0.,0.,70.\n"
    fe = read(tmp_path, GRIDS + bars + body.format(9, 1) + body.format(10, 3))
    assert fe.mass == pytest.approx(2.0)
    ends = {"root": pp.Rigid("CONM2 9"), "tip": pp.Rigid("CONM2 10")}
    part = pp.reduce(fe, interfaces=ends, method=pp.Guyan(), reference="root")
    length, inertia, torsion = 0.2, 50e-3, E / (2 * (1 + NU)) * 1000e-12
    found = 2 * np.pi * np.asarray(part.modes.frequency)
    assert len(found) == 6
    for omega in (np.sqrt(E * 100e-6 / length), np.sqrt(torsion / length / inertia)):
        assert np.abs(found / omega - 1.0).min() < 1e-6


def test_parts_with_mass_on_a_line_are_refused(tmp_path):
    bars = BAR + "CBAR,2,8,2,3,0.,1.,0.\n" + "MAT1,1,2.1+5,,.3\n"
    fe = read(tmp_path, GRIDS + bars + "CONM2,9,1,,1.-3\nCONM2,10,3,,1.-3\n")
    ends = {"root": pp.Rigid("CONM2 9"), "tip": pp.Rigid("CONM2 10")}
    with pytest.raises(InputError, match="the mass is on one line; give density"):
        pp.reduce(fe, interfaces=ends, reference="root")


def test_plates_with_their_own_bending_and_shear(tmp_path):
    homogeneous = read(tmp_path, GRIDS + PLATE + STEEL)
    section = pp.PlateSection(0.002)
    mesh = homogeneous.mesh
    plate = pp.assemble(mesh, pp.Isotropic(E=E, nu=NU, rho=RHO), sections=section)
    assert abs(plate.K - homogeneous.K).max() < 1e-12 * abs(homogeneous.K).max()
    # 12 I/T³ = 100 with TS/T in the same ratio: bending and shear of a hundredfold
    core = read(tmp_path, GRIDS + SHELLS + "PSHELL,7,1,2.,1,100.,1,83.33333333\n" + STEEL)
    ratio = (core.K - homogeneous.K).toarray()
    w = np.arange(2, 18, 3)  # deflections; membrane and drilling terms are unchanged
    np.testing.assert_allclose(
        ratio[np.ix_(w, w)], 99.0 * homogeneous.K.toarray()[np.ix_(w, w)], rtol=1e-6, atol=1e-3
    )
    u = np.arange(0, 18, 3)
    np.testing.assert_allclose(ratio[np.ix_(u, u)], 0.0, atol=1e-6 * abs(homogeneous.K).max())
    assert core.mass == pytest.approx(homogeneous.mass, rel=1e-12)
    membrane = read(tmp_path, GRIDS + SHELLS + "PSHELL,7,1,2.\n" + STEEL).K.toarray()
    assert abs(membrane[np.ix_(w, w)]).max() < 1e-9 * abs(homogeneous.K).max()
    triangle = "CTRIA3,1,7,1,2,5\nPSHELL,7,1,2.\n"
    assert np.isfinite(read(tmp_path, GRIDS + triangle + STEEL).K.data).all()
    # the faces of a sandwich of another material: bending alone scales with its modulus
    soft = STEEL + "MAT1,2,2.1+4,,.3,7.85-9\n"
    other = read(tmp_path, GRIDS + SHELLS + "PSHELL,7,1,2.,2,,2\n" + soft).K.toarray()
    plain = homogeneous.K.toarray()
    np.testing.assert_allclose(
        other[np.ix_(w, w)], 0.1 * plain[np.ix_(w, w)], rtol=1e-6, atol=1e-6 * abs(plain).max()
    )
    np.testing.assert_allclose(
        other[np.ix_(u, u)], plain[np.ix_(u, u)], rtol=1e-6, atol=1e-6 * abs(plain).max()
    )


def test_sections_with_a_product_of_inertia(tmp_path):
    """A rectangle turned by 30° about the axis: I12 = ½ (I1 − I2) sin 2θ."""
    angle, I1, I2 = np.radians(30.0), 900.0, 300.0
    c, s = float(np.cos(angle)), float(np.sin(angle))
    principal = f"CBAR,1,8,1,2,0.,{c!r},{s!r}\nPBAR,8,1,100.,{I1},{I2},1000.\n"
    y, z, yz = (
        float(x) for x in (I1 * c * c + I2 * s * s, I1 * s * s + I2 * c * c, (I1 - I2) * s * c)
    )
    turned = (
        f"CBAR,1,8,1,2,0.,1.,0.\nPBAR,8,1,100.,{y!r},{z!r},1000.,,,+A\n+A,,,,,,,,,+B\n+B,,,{yz!r}\n"
    )
    same(read(tmp_path, GRIDS + turned + STEEL), read(tmp_path, GRIDS + principal + STEEL))


def test_moduli_that_are_not_isotropic(tmp_path):
    """G acts in torsion, E in stretch and bending (Quick Reference Guide, MAT1, remarks)."""
    with pytest.warns(pp.PreprocessWarning, match="MAT1 1: E, G and NU are not those of an iso"):
        odd = read(tmp_path, GRIDS + BAR + "MAT1,1,2.1+5,4.+4,.3,7.85-9\n")
    fe = read(tmp_path, GRIDS + BAR + STEEL)
    length, six = 0.1, fe.freedoms.six(np.arange(2)).ravel()
    K, plain = odd.K.toarray()[np.ix_(six, six)], fe.K.toarray()[np.ix_(six, six)]
    assert K[3, 3] == pytest.approx(4e10 * 1000e-12 / length)
    assert K[0, 0] == pytest.approx(plain[0, 0])
    assert K[1, 1] == pytest.approx(plain[1, 1])


def test_anisotropic_cards_of_an_isotropic_material(tmp_path):
    C = pp.Isotropic(E=2.1e5, nu=NU, rho=1.0).elasticity  # MPa; the shears are alike
    upper = [repr(float(x)) for x in C[np.triu_indices(6)]] + ["7.85-9"]
    rows = [upper[:7], *(upper[k : k + 8] for k in range(7, len(upper), 8))]
    mat9 = "MAT9,1," + "\n,".join(",".join(row) for row in rows) + "\n"
    G = repr(2.1e5 / 2.6)
    mat11 = f"MAT11,1,2.1+5,2.1+5,2.1+5,.3,.3,.3,{G}\n,{G},{G},7.85-9\n"
    brick = "GRID,11,,0.,0.,30.\nGRID,12,,100.,0.,30.\nGRID,14,,0.,50.,30.\nGRID,15,,100.,50.,30.\n"
    brick += "CHEXA,1,7,1,2,5,4,11,12\n,15,14\nPSOLID,7,1\n"
    wanted = read(tmp_path, GRIDS + brick + STEEL)
    for card in (mat9, mat11):
        same(read(tmp_path, GRIDS + brick + card), wanted, 1e-8)
    plane = 2.1e5 / (1 - NU**2)
    mat2 = f"MAT2,1,{plane!r},{NU * plane!r},0.,{plane!r},0.,{G},7.85-9\n"
    same(read(tmp_path, GRIDS + PLATE + mat2), read(tmp_path, GRIDS + PLATE + STEEL), 1e-8)


def test_scalar_masses_are_a_point_mass(tmp_path):
    both = GRIDS + BAR + STEEL
    alone = "".join(f"CMASS2,{40 + c},2.-3,2,{c}\n" for c in (1, 2, 3))
    owned = "".join(f"CMASS1,{40 + c},5,2,{c}\n" for c in (1, 2, 3)) + "PMASS,5,2.-3\n"
    wanted = read(tmp_path, both + "CONM2,41,2,,2.-3\n")
    for masses in (alone, owned):
        same(read(tmp_path, both + masses), wanted)
    with pytest.raises(InputError, match=r"CMASS of grid 2: masses 0\.002, 0 and 0 along"):
        read(tmp_path, both + "CMASS2,41,2.-3,2,1\n")
    with pytest.raises(InputError, match="CMASS2 41: only masses at one grid"):
        read(tmp_path, both + "CMASS2,41,2.-3,1,1,2,1\n")


def test_springs_to_the_ground_are_left_to_the_mechanism(tmp_path):
    springs = "CELAS2,41,1000.,1,1\nCELAS1,42,9,,,2,3\nPELAS,9,5.\nCBUSH,43,10,2\nPBUSH,10,K,1.\n"
    with pytest.warns(pp.PreprocessWarning) as caught:
        found = read(tmp_path, GRIDS + BAR + STEEL + springs)
    texts = " ".join(str(each.message) for each in caught)
    for name in ("CELAS2", "CELAS1", "CBUSH"):
        assert f"1 {name} to the ground omitted: connect the body there" in texts
    same(found, read(tmp_path, GRIDS + BAR + STEEL))


def test_replicated_cards(tmp_path):
    """Fields as before (=, ==) or increased (*), and repeated n times (=n)."""
    line = "".join(f"GRID,{n},,{10.0 * n},1.,0.\n" for n in range(11, 16))
    bars = "".join(f"CBAR,{n},8,{n},{n + 1},0.,1.,0.\n" for n in range(11, 15))
    short = "GRID,11,,110.,1.,0.\n=,*1,=,*10.,==\n=3\n"
    short_bars = "CBAR,11,8,11,12,0.,1.,0.\n=,*(1),=,*(1),*(1),==\n=(2)\n"
    section = "PBAR,8,1,100.,800.,900.,1000.\n" + STEEL
    same(read(tmp_path, short + short_bars + section), read(tmp_path, line + bars + section))
    with pytest.raises(InputError, match="repeats the card before, but there is none"):
        read(tmp_path, "=,*1\n" + GRIDS + PLATE + STEEL)


def test_continuations_apart_from_their_cards(tmp_path):
    """In any order, also of several lines."""
    beam = [
        f"{'PBEAM':8}{'8':8}{'1':8}{'100.':8}{'800.':8}{'900.':8}{'':8}{'1000.':8}{'':8}+A\n",
        f"{'+A':8}{'1.':8}{'2.':8}{'':48}+B\n",
        f"{'+B':8}{'':8}\n",
    ]
    bulk = GRIDS + "CBEAM,1,8,1,2,0.,1.,0.\n" + STEEL
    wanted = read(tmp_path, bulk + "".join(beam))
    for order in ((0, 2, 1), (2, 1, 0), (1, 0, 2)):
        first, second, third = (beam[k] for k in order)
        same(read(tmp_path, first + GRIDS + second + bulk[len(GRIDS) :] + third), wanted)


def test_masses_may_have_numbers_of_elements(tmp_path):
    numbered = "CELAS2,41,1000.,1,1,2,1\nCONM2,{},2,,1.-3\n"
    bulk = GRIDS + BAR + STEEL
    same(read(tmp_path, bulk + numbered.format(41)), read(tmp_path, bulk + numbered.format(42)))
