"""Stress of the plies of laminates and the index of Tsai and Wu against classical lamination
theory.

Sources: Jones, Mechanics of Composite Materials, sections 2.9.4 (off-axis strength of a lamina),
4.2 and 4.3 (stress in plies); Reddy, Mechanics of Laminated Composite Plates and Shells, section
3.3.
"""

from dataclasses import replace

import numpy as np
import pytest
from test_laminates import reduced
from test_shells import dofs, grid

import flexmbs as fm
import preprocess as pp
from flexmbs.errors import InputError
from flexmbs.results.ply_stress import PlyStress
from flexmbs.results.stress_summary import stress_reports
from flexmbs.results.summary import checks
from flexmbs.system.check import PASS, WARN
from preprocess.body.stress import BodyFields, stress_modes

X = (1.0, 0.0, 0.0)
E1, E2, NU, G12 = 138e9, 9e9, 0.3, 7e9
STRENGTHS = (1500e6, 1200e6, 50e6, 200e6, 70e6)
PLY = pp.Orthotropic(
    E=(E1, E2, E2), nu=(NU, NU, 0.4), G=(G12, G12, 3e9), rho=1600.0, strengths=STRENGTHS
)
LAYUP = [(1.25e-4, 0.0), (2.5e-4, 45.0), (1.25e-4, 90.0), (1.5e-4, -30.0)]
KINDS = ("quad4", "tri3", "quad8", "tri6")
TURN = np.array([[0.36, -0.8, 0.48], [0.48, 0.6, 0.64], [-0.8, 0.0, 0.6]])


def along_fibres(stress, angle):
    """Jones' transformation, equation 2.67."""
    c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    return (
        np.array([[c**2, s**2, 2 * c * s], [s**2, c**2, -2 * c * s], [-c * s, c * s, c**2 - s**2]])
        @ stress
    )


def index(stress):
    s1, s2, t = stress
    Xt, Xc, Yt, Yc, S = STRENGTHS
    F11, F22 = 1 / (Xt * Xc), 1 / (Yt * Yc)
    both = -0.5 * np.sqrt(F11 * F22)
    return (
        s1 / Xt
        - s1 / Xc
        + s2 / Yt
        - s2 / Yc
        + F11 * s1**2
        + F22 * s2**2
        + t**2 / S**2
        + 2 * both * s1 * s2
    )


def strained(mesh, fe, membrane, curvature):
    """Displacements of a flat plate with these strains of its middle and curvatures, exact in all
    elements.
    """
    x, y = mesh.nodes[:, :2].T
    (ex, ey, g), (kx, ky, kxy) = membrane, curvature
    u = np.zeros(fe.freedoms.size)
    values = [
        ex * x + 0.5 * g * y, ey * y + 0.5 * g * x, -0.5 * (kx * x**2 + ky * y**2 + kxy * x * y),
        -ky * y - 0.5 * kxy * x, kx * x + 0.5 * kxy * y, 0 * x,
    ]  # fmt: skip
    for component, value in enumerate(values, 1):
        u[dofs(fe, np.arange(len(x)), [component])] = value
    return u


@pytest.mark.parametrize("kind", KINDS)
def test_stress_of_plies_under_membrane_and_bending_load(kind):
    """N and M give ε₀ and κ by A, B, D, these the stress in each ply, σ = T Q̄ (ε₀ + z κ), whatever
    the axes of the body.
    """
    laminate = pp.LaminateSection(LAYUP, orientation=X)
    mesh, _ = grid(4, 4, lambda a, b: (a, b, 0.0), kind)
    fe = pp.assemble(mesh, PLY, sections=laminate)
    load = np.array([4e4, -1e4, 2e4, 3.0, 5.0, -2.0])
    strain = np.linalg.solve(
        np.block([[(s := laminate.stiffnesses(PLY))[0], s[1]], [s[1], s[2]]]), load
    )
    u = strained(mesh, fe, strain[:3], strain[3:])
    unit = np.column_stack([u, np.zeros((len(u), 17))])
    modes = stress_modes(
        fe, BodyFields(u[:, None], unit, TURN), ["root"], pp.Stress(precision="double")
    )
    plies, points = modes.plies, np.array([0, 5])
    places = plies.places(points)
    found = plies.stress(
        points,
        places,
        modes.modes[plies.bottom[points], :, 0],
        modes.modes[plies.top[points], :, 0],
    )
    edges = np.cumsum([0.0] + [t for t, _ in LAYUP]) - 0.5 * laminate.thickness
    assert len(found) == 2 * 3 * len(LAYUP)
    for k, stress in enumerate(found):
        ply, place = divmod(k % (3 * len(LAYUP)), 3)
        z = edges[ply] + 0.5 * place * (edges[ply + 1] - edges[ply])
        angle = LAYUP[ply][1]
        expected = along_fibres(
            reduced(E1, E2, NU, G12, angle) @ (strain[:3] + z * strain[3:]), angle
        )
        np.testing.assert_allclose(stress, expected, atol=1e-6 * np.abs(found).max())


@pytest.fixture(scope="module")
def strip():
    # the ends have no effect in the middle
    mesh, rows = grid(16, 2, lambda a, b: (0.4 * a, 0.02 * b, 0.0))
    mesh = replace(mesh, node_sets={"root": rows[0], "tip": rows[-1]})
    fe = pp.assemble(
        mesh,
        PLY,
        sections=pp.LaminateSection([(2.5e-4, 0.0), (5e-4, 90.0), (2.5e-4, 0.0)], orientation=X),
    )
    ends = {"root": pp.Averaged("root"), "tip": pp.Averaged("tip")}
    return pp.reduce(fe, interfaces=ends, reference="root", stress=pp.Stress(precision="double"))


def pulled(body, force):
    """The strip on the ground, at rest under a force along it."""
    model = fm.Model("strip", gravity=(0, 0, 0))
    strip = model.add(body)
    model.add(fm.Fixed("clamp", model.ground, strip["root"]))
    model.add(fm.FrameForce("pull", strip["tip"], force=(force, 0.0, 0.0)))
    return fm.simulate(model, start=fm.statics(model), t_end=1e-4, step=1e-5)


def test_plies_of_a_solution(strip, tmp_path):
    """A pulled strip [0/90/0]: stress and failure index in its middle from A⁻¹ N, from the file of
    the body too.
    """
    path = tmp_path / "strip.h5"
    strip.save(path)
    solution = pulled(fm.FlexibleBody("strip", path), 400.0)
    view = solution.body("strip").stress
    with pytest.raises(
        InputError, match=r"strain: not defined for nodes of laminated shells; `stress.plies` gives"
    ):
        _ = view.history(view.nearest((0.2, 0.01, 5e-4))).strain
    found = view.plies.history(view.nearest((0.2, 0.01, 5e-4)))
    A, _, _ = pp.LaminateSection(
        [(2.5e-4, 0.0), (5e-4, 90.0), (2.5e-4, 0.0)], orientation=X
    ).stiffnesses(PLY)
    strain = np.linalg.solve(A, [400.0 / 0.02, 0.0, 0.0])
    for angle, chosen in ((0.0, found.ply != 2), (90.0, found.ply == 2)):
        expected = along_fibres(reduced(E1, E2, NU, G12, angle) @ strain, angle)
        np.testing.assert_allclose(
            found.stress[-1][chosen],
            np.tile(expected, (chosen.sum(), 1)),
            atol=1e-3 * abs(expected).max(),
        )
        np.testing.assert_allclose(found.tsai_wu[-1][chosen], index(expected), rtol=0.01)
    assert found.stress.shape == (len(solution.t), 9, 3)
    assert found.place[:3] == ("bottom", "middle", "top")
    field = view.plies.field(solution.t[-1])
    envelope = view.plies.envelope
    assert envelope.tsai_wu.max() == pytest.approx(field.tsai_wu.max(), rel=1e-3)
    assert envelope.ply[envelope.worst] == 2  # it fails across its fibres first
    assert [check.status for check in checks(solution) if check.title == "Plies of strip"] == [PASS]


def test_a_run_with_plies_that_fail_is_a_warning(strip):
    plies = strip.stress.plies
    weak = replace(
        strip, stress=replace(strip.stress, plies=replace(plies, strengths=plies.strengths / 50))
    )
    solution = pulled(fm.FlexibleBody("strip", data=weak), 400.0)
    check = next(check for check in checks(solution) if check.title == "Plies of strip")
    assert check.status == WARN
    assert "of ply 2" in check.found
    assert "Tsai–Wu index" in stress_reports(solution)[0].warnings[-1]


def test_strength_of_an_off_axis_lamina():
    """Under tension at θ from the fibres the strength is the root of Tsai and Wu's equation; pure
    stresses fail at theirs.
    """

    def of(stress):
        stress = np.atleast_2d(stress)
        n = len(stress)
        return PlyStress(
            0.0,
            np.arange(n),
            np.zeros((n, 3)),
            np.ones(n, int),
            ("top",) * n,
            stress,
            np.tile(STRENGTHS, (n, 1)),
        )

    pure = of(
        [[1500e6, 0, 0], [-1200e6, 0, 0], [0, 50e6, 0], [0, -200e6, 0], [0, 0, 70e6], [0, 0, -70e6]]
    )
    np.testing.assert_allclose(pure.tsai_wu, 1.0, rtol=1e-12)
    for angle in (0.0, 5.0, 30.0, 60.0, 90.0):
        stress = along_fibres(np.array([1e6, 0.0, 0.0]), angle)
        c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
        Xt, Xc, Yt, Yc, S = STRENGTHS
        quadratic = (
            c**4 / (Xt * Xc)
            + s**4 / (Yt * Yc)
            + (c * s) ** 2 * (1 / S**2 - 1 / np.sqrt(Xt * Xc * Yt * Yc))
        )  # Jones 2.9.4
        linear = c**2 * (1 / Xt - 1 / Xc) + s**2 * (1 / Yt - 1 / Yc)
        assert 1e6 * of(stress).strength_ratio[0] == pytest.approx(
            max(np.roots([quadratic, linear, -1.0])), rel=1e-12
        )


@pytest.mark.parametrize(
    ("strengths", "more", "message"),
    [
        ((1e9, 1e9, 1e7, 1e8), {}, "strengths = .* give .Xt, Xc, Yt, Yc, S., positive, in Pa"),
        (
            (1e9, 1e9, 1e7, -1e8, 1e7),
            {},
            "strengths = .* give .Xt, Xc, Yt, Yc, S., positive, in Pa",
        ),
        (
            STRENGTHS,
            {"axes": np.eye(3)},
            "strengths are those of a ply, along its axes; give no axes",
        ),
    ],
)
def test_bad_strengths_are_named(strengths, more, message):
    with pytest.raises(InputError, match=message):
        replace(PLY, strengths=strengths, **more)


def test_bodies_without_plies_or_strengths_are_named(strip):
    plies = strip.stress.plies
    unknown = replace(plies, strengths=np.full_like(plies.strengths, np.inf))
    solution = pulled(
        fm.FlexibleBody("strip", data=replace(strip, stress=replace(strip.stress, plies=unknown))),
        1.0,
    )
    with pytest.raises(InputError, match="plies: their strengths are unknown; give Orthotropic"):
        _ = solution.body("strip").stress.plies.envelope
    with pytest.raises(InputError, match="node 999999 of body 'strip' has no plies"):
        solution.body("strip").stress.plies.history(999999)
    bare = pulled(
        fm.FlexibleBody("strip", data=replace(strip, stress=replace(strip.stress, plies=None))), 1.0
    )
    with pytest.raises(InputError, match="body 'strip' has no plies"):
        _ = bare.body("strip").stress.plies
    with pytest.raises(InputError, match="plies: faces refer to rows outside"):
        replace(strip.stress, plies=replace(plies, top=plies.top + 10**6))
    with pytest.raises(InputError, match=r"plies\.first: must rise from 0"):
        replace(plies, first=np.array([0, 9]))
