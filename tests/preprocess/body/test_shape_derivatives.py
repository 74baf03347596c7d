"""Derivatives of shapes from one factor, against differences of fourth order of reductions in the
base's modal coordinates.
"""

import dataclasses
import warnings

import numpy as np
import pytest

import flexmbs as fm
import preprocess as pp
from preprocess.reduction import interface_statics

AT = {"thickness": 0.02, "length": 0.4, "youngs": 2.1e11, "nu": 0.3, "rho": 7850.0, "node": 0.0}
SCALES = {"node": 0.02}
ARRAYS = ("mass", "first_moment", "second_moment", "S_bar", "xS", "SS", "K_ff", "D_ff")
COARSE, FINE = (6, 1, 1), (16, 2, 2)  # the latter with modes by Lanczos's method
ROOT, TIP = pp.Rigid("x0"), pp.Rigid("x1")


def part(cells=COARSE, thickness=0.02, length=0.4, youngs=2.1e11, nu=0.3, rho=7850.0, node=0.0):
    """A bar whose thickness and length move all nodes, and a number one of them."""
    mesh = pp.box_mesh((0.4, 0.02, 0.02), cells)
    nodes = mesh.nodes * (length / 0.4, 1.0, thickness / 0.02)
    nodes[np.argmin(np.abs(mesh.nodes - (0.2, 0.0, 0.02)).sum(axis=1))] += (0.3 * node, 0.0, node)
    return dataclasses.replace(mesh, nodes=nodes), pp.Isotropic(E=youngs, nu=nu, rho=rho)


def options(method, root=ROOT, tip=TIP, reference="root"):
    return {"interfaces": {"root": root, "tip": tip}, "method": method, "reference": reference}


def reduced(how, cells=COARSE, **numbers):
    rest = {
        "damping": 0.01,
        "stiffening": False,
        "stress": pp.Stress(precision="double"),
        "estimate": False,
    }
    return pp.reduce(*part(cells, **numbers), **how, **rest)


def following(base, how, slopes, cells=COARSE):
    """Bodies with the base's shapes, which follow the numbers."""

    def make(**numbers):
        change = sum((value - AT[name]) * slopes[name] for name, value in numbers.items())
        ends = {key: how[key] for key in ("interfaces", "reference")}
        return pp.with_shapes(base, part(cells)[0], *part(cells, **numbers), **ends, change=change)

    return make


@pytest.mark.parametrize(
    ("how", "cells", "names"),
    [
        (options(pp.CraigBampton(modes=2)), COARSE, tuple(AT)),
        (
            options(pp.CraigBampton(modes=4), root=pp.Averaged("x0"), reference="tip"),
            COARSE,
            tuple(AT),
        ),
        (options(pp.Guyan(), tip=pp.Averaged("x1")), COARSE, tuple(AT)),
        (options(pp.FreeModes(modes=4)), COARSE, tuple(AT)),
        (options(pp.FreeModes(modes=2), tip=pp.Averaged("x1")), COARSE, tuple(AT)),
        (options(pp.CraigBampton(modes=9)), FINE, ("thickness",)),
    ],
)
def test_arrays_are_those_of_a_reduction_anew(how, cells, names):
    """Two bending frequencies coincide: their modes are one space. Relative to the largest entry of
    an array.
    """
    base, at = reduced(how, cells), {name: AT[name] for name in names}
    slopes = pp.shape_derivatives(
        base, lambda **numbers: part(cells, **numbers), at, scales=SCALES, **how
    )
    found = pp.body_derivatives(following(base, how, slopes, cells), at, scales=SCALES)
    expected = pp.body_derivatives(
        lambda **numbers: pp.aligned(reduced(how, cells, **numbers), base), at, scales=SCALES
    )
    for name in names:
        scale = AT[name] or SCALES[name]
        for key in ARRAYS:
            size = np.abs(getattr(base, key)).max()
            apart = (
                scale
                * np.abs(np.asarray(getattr(found[name], key)) - getattr(expected[name], key)).max()
            )
            assert apart <= 1e-6 * size, (name, key)
        assert (
            scale * np.abs(found[name].stress - expected[name].stress).max()
            <= 1e-6 * np.abs(base.stress.modes).max()
        ), name


def test_shapes_of_their_own_matter():
    """By thickness and Poisson's ratio the stress of fixed shapes changes by more than itself, of
    following shapes rightly.
    """
    how = options(pp.CraigBampton(modes=2))
    base, at = reduced(how), {"nu": 0.3}
    expected = pp.body_derivatives(lambda nu: pp.aligned(reduced(how, nu=nu), base), at)[
        "nu"
    ].stress
    fixed = pp.body_derivatives(
        lambda nu: pp.with_shapes(base, part()[0], *part(nu=nu), interfaces=how["interfaces"]), at
    )["nu"]
    assert np.abs(fixed.stress - expected).max() > 0.1 * np.abs(expected).max()


def test_sensitivities_of_a_run_are_those_of_reducing_anew():
    """Motion and stress of a swinging bar by tangents: one factor against four reductions a number.
    Of both the stress is that of the modes: `with_shapes` has no static correction."""
    how, at = options(pp.CraigBampton(modes=2)), {name: AT[name] for name in ("thickness", "nu")}
    base = reduced(how)
    slopes = pp.shape_derivatives(base, part, at, **how)

    def model(make):
        def build(**numbers):
            found = fm.Model("swing")
            link = found.add(fm.FlexibleBody("link", data=make(**numbers), stiffening=False))
            hinge = found.add(fm.Revolute("hinge", found.ground, link["root"], axis="y", q0=0.4))
            found.add(fm.JointSpring("spring", hinge, k=20.0, c=0.3))
            return found

        return build

    def uncorrected(**numbers):
        body = pp.aligned(reduced(how, **numbers), base)
        return dataclasses.replace(
            body, stress=dataclasses.replace(body.stress, correction=0.0 * body.stress.correction)
        )

    def stress(run):
        return float(run.body("link").stress.field(0.02).von_mises[0])

    outputs = ["last joint hinge.0 position", "last frame link/tip velocity z", stress]
    run = fm.Run(t_end=0.02, step=2e-4, integrator="generalized-alpha")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fm.AuditWarning)
        found, expected = (
            fm.sensitivities(model(make), at, outputs, run=run, method="tangent")
            for make in (following(base, how, slopes), uncorrected)
        )
    size = np.abs(expected.gradient * expected.at).max(axis=1)[:, None]
    assert (np.abs((found.gradient - expected.gradient) * expected.at) < 1e-6 * size).all()


def test_a_kept_factor_is_the_only_one(tmp_path, monkeypatch):
    how, keep, at = options(pp.CraigBampton(modes=2)), tmp_path / "bar.factor", {"nu": 0.3}
    base = pp.reduce(*part(), **how, keep=keep)
    expected = pp.shape_derivatives(base, part, at, **how)

    def refused(*_, **__):
        raise AssertionError("factorized")

    monkeypatch.setattr(interface_statics, "free_matrix", refused)
    with pytest.raises(AssertionError):
        pp.shape_derivatives(base, part, at, **how)
    found = pp.shape_derivatives(base, part, at, **how, keep=keep)
    np.testing.assert_allclose(
        found["nu"], expected["nu"], rtol=0, atol=1e-8 * np.abs(expected["nu"]).max()
    )


def test_what_has_no_derivatives_is_named():
    how = options(pp.CraigBampton(modes=1))
    base = reduced(how)
    with pytest.raises(
        fm.InputError,
        match=r"mode 1 and mode 2, which is omitted, have the same frequency.*use 2",
    ):
        pp.shape_derivatives(base, part, {"nu": 0.3}, **how)
    for method, message in (
        (pp.Rubin(modes=2), "shapes of Rubin have no derivatives; use CraigBampton"),
        (pp.CraigBampton(modes=2, inertia_relief=True), "without inertia relief"),
    ):
        with pytest.raises(fm.InputError, match=message):
            pp.shape_derivatives(base, part, {"nu": 0.3}, **how | {"method": method})
    with pytest.raises(fm.InputError, match="reference: no interface 'mean axes'"):
        pp.shape_derivatives(base, part, {"nu": 0.3}, **how | {"reference": "mean axes"})
    with pytest.raises(fm.InputError, match=r"parts: gives \d+ nodes, the base has \d+"):
        pp.shape_derivatives(
            base, lambda nu: part(FINE, nu=nu), {"nu": 0.3}, **options(pp.CraigBampton(modes=2))
        )
    with pytest.raises(fm.InputError, match="base: has 7 modes, the space of the method 8"):
        pp.shape_derivatives(base, part, {"nu": 0.3}, **options(pp.CraigBampton(modes=2)))
    with pytest.raises(fm.InputError, match="change: has the shape"):
        pp.with_shapes(base, part()[0], *part(), interfaces=how["interfaces"], change=np.zeros(3))


def test_bases_of_other_numbers_methods_and_frames_are_refused():
    """As many modes, other shapes: their derivatives were wrong in silence."""
    how = options(pp.CraigBampton(modes=2))
    base = reduced(how)

    def refused(message, base=base, parts=part, at=AT["nu"], name="nu", **given):
        with pytest.raises(fm.InputError, match=message):
            pp.shape_derivatives(base, parts, {name: at}, **(how | given))

    refused("base: its shapes are not those of the part and method, by", at=0.2)
    refused("base: its shapes are not those", base=reduced(options(pp.FreeModes(modes=8))))
    refused("reference: shapes of the base move tip", reference="tip")
    refused(
        "reference: shapes of the base move root", base=reduced(how | {"reference": "mean axes"})
    )
    refused("parts: does not take mu", name="mu")
    refused("parts: gives None; return a mesh and its material", parts=lambda nu: None)
    refused(
        "parts: gives other nodes at another nu",
        parts=lambda nu: part(COARSE if nu == 0.3 else (7, 1, 1), nu=nu),
    )
