"""Natural frequencies of solids against published tables and closed forms."""

import importlib.util
import json
import pathlib

import numpy as np
import pytest
from arpack_modes import eigenmodes, eigenvalues_below

from preprocess.fe.assembly import assemble
from preprocess.fe.material import Isotropic
from preprocess.mesh.structured import box_mesh

STEEL = Isotropic(E=210e9, nu=0.3, rho=7850.0)
NAFEMS = Isotropic(E=200e9, nu=0.3, rho=8000.0)
XYZ = (0, 1, 2)


def held_frequencies(mesh, material, n, supports):
    """n lowest frequencies in Hz; supports: (places of nodes, held components)."""
    fe = assemble(mesh, material)
    held = np.concatenate(
        [(3 * nodes[:, None] + list(components)).ravel() for nodes, components in supports]
    )
    dof = np.setdiff1d(np.arange(fe.K.shape[0]), held)
    return eigenmodes(fe.K[dof][:, dof], fe.M[dof][:, dof], n).frequencies


@pytest.mark.parametrize(
    "element, divisions, tolerance",
    [
        ("hex27", (20, 4, 3), 0.003),
        ("hex20", (20, 4, 3), 0.004),
        ("tet10", (20, 3, 2), 0.015),
        ("hex8", (40, 4, 2), 0.042),
        ("wedge15", (20, 2, 2), 0.015),
        ("pyramid13", (20, 2, 2), 0.015),
    ],
)
def test_cantilever_box(element, divisions, tolerance):
    """1 x 0.1 x 0.05 m steel, clamped: three-dimensional p-elements of high order, good to 0.2 %
    (clamped corners).
    """
    reference = [41.915493, 83.204725, 259.662748, 499.048044, 600.605097, 714.395878]
    mesh = box_mesh((1.0, 0.1, 0.05), divisions, element)
    found = held_frequencies(mesh, STEEL, 6, [(mesh.node_set("x0"), XYZ)])
    np.testing.assert_allclose(found, reference, rtol=tolerance)


BENDING = {"y0": (0, 2), "z0": (2,), "x0": (1, 2), "x1": (1, 2)}
FV5 = {
    "bending": ([42.650, 148.15, 283.47], BENDING, 7e-3),
    "bending, shear coefficient of Hutchinson 2001": (
        [42.6812, 148.5151, 284.5847],
        BENDING,
        2.5e-3,
    ),
    "torsion": ([71.20, 213.61], {"y0": (0, 2), "z0": (0, 1), "x0": (1, 2)}, 5e-3),
    "extension": ([125.00], {"y0": (1,), "z0": (2,), "x0": (0,)}, 2e-3),
}


@pytest.mark.parametrize("motion", FV5)
def test_nafems_fv5_deep_beam_as_a_solid(motion):
    """Deep simply supported beam 10 x 2 x 2 m, NAFEMS FV5 (revised values).

    A quarter of the section carries each kind of motion alone, by what is odd or even across its
    two planes of symmetry. A Timoshenko support that lets the section turn but not shift is, in a
    solid, v = w = 0 on an end face free of axial stress; torsion and extension have the other end
    free. In bending the published values are those of Timoshenko's beam with the shear coefficient
    0.85; the same closed form with 5(1+ν)/(6+5ν) = 0.8667 is nearer to three-dimensional
    elasticity.
    """
    reference, supports, tolerance = FV5[motion]
    mesh = box_mesh((10.0, 1.0, 1.0), (16, 2, 2), "hex20")
    found = held_frequencies(
        mesh,
        NAFEMS,
        len(reference),
        [(mesh.node_set(name), held) for name, held in supports.items()],
    )
    np.testing.assert_allclose(found, reference, rtol=tolerance)


def test_nafems_fv32_tapered_membrane_as_a_thin_solid():
    """Cantilevered tapered membrane, NAFEMS FV32: 10 m long, 5 m to 1 m wide, 0.05 m thick, plane
    stress.

    Half the thickness with w = 0 on the middle plane is free to contract and cannot bend.
    Reference: converged p-element values, within 0.05 % of the published 44.623 130.03 162.70
    246.05 379.90 391.44 Hz.
    """
    flat = box_mesh((10.0, 1.0, 0.025), (20, 10, 1), "hex20", origin=(0.0, -0.5, 0.0))
    mesh = flat.moved(
        lambda x: x * np.column_stack([np.ones(len(x)), 5.0 - 0.4 * x[:, 0], np.ones(len(x))])
    )
    found = held_frequencies(
        mesh, NAFEMS, 6, [(mesh.node_set("x0"), (0, 1)), (mesh.node_set("z0"), (2,))]
    )
    np.testing.assert_allclose(
        found, [44.6176, 130.0112, 162.6896, 245.988, 379.719, 391.407], rtol=5e-4
    )


STUDY = pathlib.Path(__file__).parents[3] / "reports" / "elements"
SAME_AS_CALCULIX = ("C3D4", "C3D6", "C3D8", "C3D10", "C3D15", "C3D20")


@pytest.fixture(scope="module")
def calculix():
    """The study that compares with CalculiX, as a module, and the frequencies in Hz that ccx 2.20
    has printed to seven digits.
    """
    spec = importlib.util.spec_from_file_location("calculix_study", STUDY / "calculix.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, json.loads((STUDY / "calculix.json").read_text())


@pytest.mark.filterwarnings("ignore:.*far too stiff in bending")
@pytest.mark.parametrize("kind", SAME_AS_CALCULIX)
def test_frequencies_of_calculix(calculix, kind):
    """Ten frequencies of a bent and tapered clamped box, the same mesh and formulation: equal to
    the digits printed.
    """
    study, found = calculix
    name, divisions, formulation, rules = study.CASES[kind]
    ours = study.by_us(study.bent_box(name, divisions), formulation, rules)
    np.testing.assert_allclose(ours, found[kind]["ccx [Hz]"], rtol=5e-7)


# reports/elements/ritz.py, Legendre of degree 14
FREE_BOX = [2794.9393, 2947.0276, 4211.7034, 5855.0362, 6210.3753, 6375.1963]


@pytest.mark.parametrize(
    "element, divisions, tolerance",
    [("hex27", (6, 3, 2), 8e-3), ("hex20", (6, 3, 2), 8e-3), ("wedge15", (6, 3, 2), 0.011), ("tet10", (6, 3, 2), 0.024),
     ("pyramid13", (6, 3, 2), 0.011),
     ("hex8", (12, 6, 3), 0.035)],
)  # fmt: skip
def test_free_box(element, divisions, tolerance):
    """0.4 x 0.2 x 0.1 m: six elastic frequencies by Ritz's method with Legendre polynomials, good
    to 1e-6.
    """
    fe = assemble(box_mesh((0.4, 0.2, 0.1), divisions, element), STEEL)
    found = eigenmodes(fe.K, fe.M, 12, shift=-((2 * np.pi * 500.0) ** 2)).frequencies
    assert found[:6].max() < 1.0
    np.testing.assert_allclose(found[6:], FREE_BOX, rtol=tolerance)
    assert (found[6:] > FREE_BOX).all()  # consistent elements are too stiff, never too soft


def test_nafems_fv52_solid_plate():
    """Simply supported solid plate 10 x 10 x 1 m, w = 0 along its lower edges, hex20 4 x 4 x 1 as
    prescribed by NAFEMS FV52.

    Modes 1-4 bend on a line support, whose stiffness vanishes with refinement: they belong to this
    mesh. The others are in-plane.
    """
    mesh = box_mesh((10.0, 10.0, 1.0), (4, 4, 1), "hex20")
    edges = np.intersect1d(
        mesh.node_set("z0"),
        np.concatenate([mesh.node_set(side) for side in ("x0", "x1", "y0", "y1")]),
    )
    fe = assemble(mesh, NAFEMS)
    dof = np.setdiff1d(np.arange(fe.K.shape[0]), 3 * edges + 2)
    found = eigenmodes(fe.K[dof][:, dof], fe.M[dof][:, dof], 10, shift=-1e4).frequencies
    assert found[:3].max() < 0.01
    np.testing.assert_allclose(
        found[3:], [44.762, 110.52, 110.52, 169.08, 193.93, 206.64, 206.64], rtol=1e-3
    )
    # reference solution
    np.testing.assert_allclose(found[7:], [193.59, 206.19, 206.19], rtol=2.5e-3)


@pytest.mark.parametrize("element, divisions", [("hex20", (12, 12, 1)), ("hex8", (20, 20, 1))])
def test_nafems_fv12_free_plate(element, divisions):
    """Free square plate 10 x 10 x 0.05 m, NAFEMS FV12 (thin plate), by solids two hundred times
    thinner than wide.
    """
    fe = assemble(box_mesh((10.0, 10.0, 0.05), divisions, element), NAFEMS)
    found = eigenmodes(fe.K, fe.M, 12, shift=-10.0).frequencies[6:]
    np.testing.assert_allclose(found, [1.622, 2.360, 2.922, 4.233, 4.233, 7.416], rtol=0.015)


def test_free_box_has_six_rigid_modes_and_the_frequencies_of_a_beam():
    """1 x 0.02 x 0.03 m: bending (4.7300, 7.8532)² / 2π L² sqrt(EI/ρA), extension c/2L, within the
    shear correction of 0.6 %.
    """
    mesh = box_mesh((1.0, 0.02, 0.03), (30, 2, 2), "hex20")
    fe = assemble(mesh, STEEL)
    K, M = fe.K, fe.M
    modes = eigenmodes(K, M, 12, shift=-((2 * np.pi * 50.0) ** 2))
    assert modes.frequencies[:6].max() < 0.05
    assert modes.frequencies[6] > 100.0
    assert eigenvalues_below(K, M, (2 * np.pi * 20.0) ** 2) == 6
    wave = np.sqrt(210e9 / 7850.0)
    for thickness in (0.02, 0.03):
        for k in (4.730041, 7.853205):
            expected = k**2 / (2 * np.pi) * wave * thickness / np.sqrt(12)
            assert np.abs(modes.frequencies / expected - 1).min() < 0.012
    extension = eigenmodes(K, M, 1, shift=(2 * np.pi * wave / 2) ** 2 * 1.0001).frequencies[0]
    assert extension == pytest.approx(wave / 2, rel=2e-2)
