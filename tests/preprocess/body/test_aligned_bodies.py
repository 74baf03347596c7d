"""Bodies beside a base, by their shapes and by their own modes, and derivatives of their arrays,
against closed forms.
"""

import dataclasses
import warnings

import numpy as np
import pytest

import flexmbs as fm
import preprocess as pp

E, RHO, LENGTH, WIDTH = 2.1e11, 7850.0, 0.4, 0.02
ENDS = {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
OPTIONS = {
    "interfaces": ENDS,
    "method": pp.CraigBampton(modes=2),
    "reference": "root",
    "damping": 0.01,
}
ARRAYS = ("first_moment", "second_moment", "S_bar", "xS", "SS", "K_ff", "D_ff")
DOUBLE = pp.Stress(precision="double")


def bar(thickness=WIDTH, length=LENGTH):
    """A bar whose thickness and length move the nodes of one mesh."""
    mesh = pp.box_mesh((LENGTH, WIDTH, WIDTH), (6, 1, 1))
    return dataclasses.replace(mesh, nodes=mesh.nodes * (length / LENGTH, 1.0, thickness / WIDTH))


def material(youngs=E, rho=RHO):
    return pp.Isotropic(E=youngs, nu=0.3, rho=rho)


@pytest.fixture(scope="module")
def base():
    return pp.reduce(bar(), material(), **OPTIONS, stiffening=False, stress=DOUBLE)


def fixed(base):
    def make(thickness=WIDTH, length=LENGTH, youngs=E, rho=RHO):
        return pp.with_shapes(
            base, bar(), bar(thickness, length), material(youngs, rho), interfaces=ENDS
        )

    return make


def anew(base):
    def make(thickness=WIDTH, length=LENGTH, youngs=E, rho=RHO):
        own = pp.reduce(
            bar(thickness, length),
            material(youngs, rho),
            **OPTIONS,
            stiffening=False,
            stress=DOUBLE,
        )
        return pp.aligned(own, base)

    return make


@pytest.mark.parametrize("how", [fixed, anew])
def test_the_base_itself(base, how):
    same = how(base)()
    for name in ARRAYS:
        expected = getattr(base, name)
        np.testing.assert_allclose(
            getattr(same, name), expected, rtol=0, atol=1e-9 * np.abs(expected).max()
        )
    for name, frame in base.frames.items():
        for part in ("x", "R", "phi", "psi"):
            size = 1.0 + np.abs(frame.phi).max()
            np.testing.assert_allclose(
                getattr(same.frames[name], part), getattr(frame, part), rtol=0, atol=1e-8 * size
            )
    np.testing.assert_allclose(
        same.stress.modes, base.stress.modes, rtol=0, atol=1e-8 * np.abs(base.stress.modes).max()
    )


@pytest.mark.parametrize("how", [fixed, anew])
def test_material(base, how):
    """K and stress are proportional to E, all integrals to ρ, at shapes that are the base's: D_kk =
    2 ζ √(K_kk m_kk).
    """
    found = pp.body_derivatives(how(base), {"youngs": E, "rho": RHO})
    zero = dict.fromkeys(("mass", *ARRAYS), 0.0)
    proportional = {
        "youngs": {**zero, "K_ff": 1.0, "D_ff": 0.5},
        "rho": {**dict.fromkeys(zero, 1.0), "K_ff": 0.0, "D_ff": 0.5},
    }
    for parameter, value in (("youngs", E), ("rho", RHO)):
        for name, factor in proportional[parameter].items():
            expected = factor * np.asarray(getattr(base, name))
            size = np.abs(np.asarray(getattr(base, name))).max()
            np.testing.assert_allclose(
                value * np.asarray(getattr(found[parameter], name)),
                expected,
                rtol=0,
                atol=1e-7 * size,
            )
    np.testing.assert_allclose(
        E * found["youngs"].stress,
        base.stress.modes,
        rtol=0,
        atol=1e-7 * np.abs(base.stress.modes).max(),
    )
    assert np.abs(RHO * found["rho"].stress).max() < 1e-7 * np.abs(base.stress.modes).max()


def test_thickness_and_length_of_a_bar(base):
    """Moments of a box about its root: m = ρ l b t, ∫x dm = m l/2, ∫x² dm = m l²/3, ∫z² dm = m
    t²/12.
    """
    found = pp.body_derivatives(fixed(base), {"thickness": WIDTH, "length": LENGTH})
    m = RHO * LENGTH * WIDTH**2
    assert found["thickness"].mass == pytest.approx(m / WIDTH, rel=1e-9)
    assert found["length"].mass == pytest.approx(m / LENGTH, rel=1e-9)
    assert found["length"].first_moment[0] == pytest.approx(m, rel=1e-9)
    assert found["length"].second_moment[0, 0] == pytest.approx(m * LENGTH, rel=1e-9)
    assert found["thickness"].second_moment[2, 2] == pytest.approx(m * WIDTH / 4.0, rel=1e-6)


def test_derivatives_of_eigenvectors(base):
    """λ = 2 ω ω' of the bending frequencies, of which two coincide at equal width and thickness: by
    (K_ff', m_ff') of aligned modes and perturbation theory, against the frequencies of reductions
    with thicknesses to both sides."""
    found = pp.body_derivatives(anew(base), {"thickness": WIDTH})["thickness"]
    omega2 = np.diag(base.K_ff)
    m = found.SS[0, 0] + found.SS[1, 1] + found.SS[2, 2]
    pair = slice(0, 2)
    slopes = np.linalg.eigvalsh((found.K_ff - omega2[0] * m)[pair, pair])
    step = 1e-3 * WIDTH
    sides = [
        pp.reduce(bar(WIDTH + c * step), material(), **OPTIONS, stiffening=False, stress=None).K_ff
        for c in (1, -1)
    ]
    # their order changes
    expected = (np.diag(sides[0])[:2] - np.diag(sides[1])[:2][::-1]) / (2.0 * step)
    np.testing.assert_allclose(
        np.sort(slopes), np.sort(expected), rtol=1e-3, atol=1e-5 * omega2[0] / WIDTH
    )
    assert slopes[1] > 100.0 * abs(slopes[0])


@pytest.mark.parametrize("how", [fixed, anew])
def test_from_the_mesh_to_an_output(base, how):
    """Tangents of a run through the reduction against differences of runs, thickness, length and
    material of a swinging bar.
    """
    make = how(base)

    def model(**numbers):
        found = fm.Model("swing")
        link = found.add(fm.FlexibleBody("link", data=make(**numbers), stiffening=False))
        hinge = found.add(fm.Revolute("hinge", found.ground, link["root"], axis="y", q0=0.4))
        found.add(fm.JointSpring("spring", hinge, k=20.0, c=0.3))
        return found

    at = {"thickness": WIDTH, "length": LENGTH, "youngs": E, "rho": RHO}
    outputs = ["last joint hinge.0 position", "last frame link/tip velocity z"]
    run = fm.Run(t_end=0.02, step=2e-4, integrator="generalized-alpha")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fm.AuditWarning)
        exact = fm.sensitivities(model, at, outputs, run=run, method="tangent")
        expected = fm.sensitivities(model, at, outputs, run=run)
    size = np.abs(expected.gradient * expected.at).max(axis=1)[:, None]
    assert (np.abs((exact.gradient - expected.gradient) * expected.at) < 1e-6 * size).all()


def test_other_parts_are_refused(base):
    other = pp.box_mesh((LENGTH, WIDTH, WIDTH), (5, 1, 1))
    with pytest.raises(fm.InputError, match="nodes, the base"):
        pp.with_shapes(base, bar(), other, material(), interfaces=ENDS)
    with pytest.raises(fm.InputError, match="give the mesh that was reduced"):
        pp.with_shapes(base, bar(2 * WIDTH), bar(), material(), interfaces=ENDS)
    with pytest.raises(fm.InputError, match="modes at"):
        pp.aligned(pp.reduce(other, material(), **OPTIONS, stress=None), base)
