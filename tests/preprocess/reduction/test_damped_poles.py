"""Damped poles of reduced bodies against all eigenvalues of the finite-element model with its
dashpots."""

import warnings

import numpy as np
import pytest
import scipy.linalg

import preprocess as pp
from flexmbs.errors import InputError
from preprocess.reduction.damped_poles import PoleErrors, damper_forces, pole_facts
from preprocess.solve.engine import SERIAL
from tests.draws import drawn

STEEL = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
ROOT = {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}


def poles(K, M, D):
    """Those with Im s ≥ 0 of K + s D + s² M, by magnitude; massless motions, of which D has none,
    are left out."""
    theta, U = scipy.linalg.eigh(M, K)
    some = theta > 1e-14 * theta[-1]
    lam, U = 1.0 / theta[some], U[:, some] / np.sqrt(theta[some])
    unit = np.sqrt(lam.mean())
    n = len(lam)
    A = np.block([[np.zeros((n, n)), unit * np.eye(n)], [-np.diag(lam) / unit, -U.T @ D @ U]])
    s = np.linalg.eigvals(A)
    s = s[s.imag >= 0]
    return s[np.argsort(np.abs(s))]


def full(fe):
    """Poles of the model with its root held."""
    rows = np.flatnonzero(fe.nodes[:, 0] < 1e-9)
    blocks = np.concatenate([rows, fe.freedoms.rotation_blocks(np.intersect1d(rows, fe.rotating))])
    free = np.setdiff1d(np.arange(fe.freedoms.size), 3 * blocks[:, None] + np.arange(3))
    return poles(*(A[free][:, free].toarray() for A in (fe.K, fe.M, fe.D)))


def part(seed, divisions=(8, 1, 1)):
    """A bar with two dashpots between random nodes inside, as strong as gives ratios of 1e-3 to
    overdamped poles."""
    random = np.random.default_rng(seed)
    mesh = pp.box_mesh((0.6, 0.05, 0.03), divisions, "hex8" if seed % 2 else "hex20")
    inside = np.flatnonzero((mesh.nodes[:, 0] > 0.05) & (mesh.nodes[:, 0] < 0.55))
    links = {}
    for name in ("one", "two"):
        a, b = mesh.node_ids[random.choice(inside, 2, replace=False)]
        links[name] = pp.Spring(int(a), int(b), 0.0, damping=10 ** random.uniform(3, 5))
    return pp.assemble(mesh, STEEL, connections=links)


def true_errors(body, exact):
    found = poles(body.K_ff, np.eye(body.nf), body.D_ff)
    return np.abs(found[:, None] - exact).min(axis=0) / np.abs(exact)


@pytest.mark.parametrize("seed", drawn(2, 30))
def test_damped_poles_are_those_of_the_model(seed):
    """Bars with strong dashpots inside: the lowest six poles are right to 0.5 % with 12 normal
    modes, and the estimate is within a factor of two of the error or both are below 1e-4."""
    fe = part(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pp.PreprocessWarning)
        body = pp.reduce(
            fe,
            interfaces=ROOT,
            reference="root",
            method=pp.CraigBampton(modes=12),
            stiffening=False,
            stress=None,
        )
    exact = full(fe)
    # eigenvalues of large overdamped problems have few digits
    moving = np.abs(exact.imag) > 1e-3 * np.abs(exact)
    errors = true_errors(body, exact[moving][:4])
    assert errors.max() < 5e-3
    rows = str(body.provenance["accuracy: damped poles, held at root"]).split(", ")
    estimated = {float(row.split()[0]): float(row.split()[-1]) for row in rows}
    for pole, error in zip(exact[moving][:4], errors):
        nearest = min(estimated, key=lambda f: abs(2 * np.pi * f / abs(pole) - 1.0))
        assert estimated[nearest] == pytest.approx(error, rel=1.0, abs=1e-4)


def test_a_dashpot_across_a_bracket():
    """Two plates at a right angle with a dashpot between their middles: without its static shape
    12 modes had poles that were off by 7 % at 1000 N s/m."""
    a, b = np.meshgrid(np.linspace(0, 0.6, 13), np.linspace(0, 0.2, 5), indexing="ij")
    x = np.column_stack([np.minimum(a, 0.3).ravel(), b.ravel(), np.maximum(a - 0.3, 0.0).ravel()])
    rows = np.arange(65).reshape(13, 5)
    cells = np.stack([rows[:-1, :-1], rows[1:, :-1], rows[1:, 1:], rows[:-1, 1:]], axis=-1).reshape(
        -1, 4
    )
    mesh = pp.Mesh.from_arrays(x, {"quad4": cells}, node_sets={"x0": rows[0]})
    dashpot = pp.Spring(
        int(mesh.node_ids[rows[3, 2]]), int(mesh.node_ids[rows[10, 2]]), 0.0, damping=1000.0
    )
    fe = pp.assemble(mesh, STEEL, sections=pp.ShellSection(0.004), connections={"dashpot": dashpot})
    body = pp.reduce(
        fe,
        interfaces={"root": pp.Rigid("x0")},
        reference="root",
        method=pp.CraigBampton(modes=12),
        stiffening=False,
        stress=None,
    )
    assert body.nf == 13
    exact = full(fe)
    assert true_errors(body, exact[np.abs(exact.imag) > 1e-3 * np.abs(exact)][:6]).max() < 3e-4


def test_forces_of_dampers_span_their_damping():
    """D = F (FᵀF)⁻¹ FᵀD, of bushings with dampers in some directions too; of many those of the
    shapes."""
    fe = part(3)
    forces = damper_forces(fe, np.zeros((fe.freedoms.size, 0)))
    assert forces.shape[1] == 2
    D = fe.D.toarray()
    np.testing.assert_allclose(
        forces @ np.linalg.lstsq(forces, D, rcond=None)[0], D, atol=1e-12 * np.abs(D).max()
    )
    assert SERIAL is fe.engine


def test_forces_of_many_dampers_are_those_of_the_shapes():
    """Dashpots at all nodes of a bar: forces of velocities along the shapes, so that the body has
    no more than twice as many."""
    mesh = pp.box_mesh((0.6, 0.05, 0.03), (40, 2, 1), "hex8")
    links = {
        f"{a}": pp.Spring(a, b, 0.0, damping=50.0)
        for a, b in zip(mesh.node_ids[:-1].tolist(), mesh.node_ids[1:].tolist())
    }
    fe = pp.assemble(mesh, STEEL, connections=links)
    shapes = np.random.default_rng(0).standard_normal((fe.freedoms.size, 7))
    np.testing.assert_allclose(damper_forces(fe, shapes), fe.D @ shapes)


def dashpot(damping, scale=1.0):
    """A bar, enlarged, with a dashpot along it, and its body."""
    mesh = pp.box_mesh((0.6 * scale, 0.05 * scale, 0.03 * scale), (8, 1, 1), "hex8")
    inside = np.flatnonzero((mesh.nodes[:, 0] > 0.05 * scale) & (mesh.nodes[:, 0] < 0.55 * scale))
    a, b = mesh.node_ids[inside[[2, -2]]].tolist()
    fe = pp.assemble(mesh, STEEL, connections={"d": pp.Spring(a, b, 0.0, damping=damping)})
    return pp.reduce(
        fe,
        interfaces={"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")},
        reference="root",
        method=pp.CraigBampton(modes=8),
        stiffening=False,
        stress=None,
    )


@pytest.mark.parametrize("scale", [1e-2, 1.0, 1e2])
def test_dashpots_of_any_size_have_finite_errors_or_are_refused(scale):
    """From 1e-320 to 1e308 N s/m: errors that do not grow with round-off, or a refusal in one line,
    without a message of NumPy."""
    accepted = 0
    for power in (-320, -60, -30, -12, 0, 6, 8, 10, 12, 16, 59, 100, 154, 308):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            if power >= 16:
                with pytest.raises(
                    InputError,
                    match=r"damping .* at node .* holds it; give at|from 1e-60 to 1e\+60 in size",
                ):
                    dashpot(10.0**power, scale)
                continue
            try:
                body = dashpot(10.0**power, scale)
            except InputError:
                continue
        accepted += 1
        assert np.isfinite(body.D_ff).all()
        assert 0 <= body.provenance["accuracy: damped poles"] < 0.02
    assert accepted >= 5


def test_rotational_dampers_are_refused_too():
    mesh = pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1))
    links = {
        "eye": pp.RigidSpider("x1"),
        "pin": pp.RigidSpider("x0"),
        "d": pp.Bushing("pin", "eye", rotation=(10.0,) * 3, rotation_damping=(0.0, 1e50, 0.0)),
    }
    with pytest.raises(InputError, match=r"connections: damping 1e\+50 at node .*: holds it"):
        pp.assemble(mesh, STEEL, connections=links)


def test_inaccurate_poles_are_a_warning():
    fe = part(4)
    with pytest.warns(
        pp.PreprocessWarning,
        match=r"dampers: the pole at .* Hz, .* is off by about .*; use more modes",
    ):
        pp.reduce(
            fe,
            interfaces={"root": pp.Rigid("x0")},
            reference="root",
            method=pp.CraigBampton(modes=1),
        )


def test_strong_rotational_dampers_of_a_slender_beam_have_no_wrong_warning():
    """The beam creeps through its damper at 7e-6 Hz, of which round-off left no digit: it was "off
    by about 1"."""
    n = 40
    x = np.linspace(0, 10, n + 1)[:, None] * [1.0, 0.0, 0.0]
    cells = np.column_stack([np.arange(n), np.arange(1, n + 1)])
    mesh = pp.Mesh.from_arrays(x, {"line2": cells}, node_sets={"x0": [0], "x1": [n]})
    section = pp.RectangularSection(0.01, 0.01, orientation=(0, 0, 1))
    for damping in (1e3, 1e6, 1e8):
        link = pp.Bushing(5, 30, rotation_damping=(damping,) * 3)
        fe = pp.assemble(mesh, STEEL, sections=section, connections={"d": link})
        with warnings.catch_warnings():
            warnings.simplefilter("error", pp.PreprocessWarning)
            body = pp.reduce(
                fe,
                interfaces=ROOT,
                reference="root",
                method=pp.CraigBampton(modes=10),
                stiffening=False,
                stress=None,
            )
        assert body.provenance["accuracy: damped poles"] < 0.01


def test_supports_without_poles_within_the_band_are_left_out():
    none = PoleErrors("free", np.zeros(0, complex), np.zeros(0))
    assert pole_facts([none]) == {}
    facts = pole_facts([none, PoleErrors("held at root", np.array([1j]), np.array([1e-3]))])
    assert facts["accuracy: damped poles"] == 1e-3
    assert "accuracy: damped poles, free" not in facts


def test_an_error_that_is_not_a_number_is_a_warning():
    fine = PoleErrors("free", np.array([1j, 2j]), np.array([1e-6, 1e-5]))
    bad = PoleErrors("held at root", np.array([1j, 2j]), np.array([1e-3, np.nan]))
    with pytest.warns(pp.PreprocessWarning, match="dampers: the pole at 0.3183 Hz, held at root"):
        pole_facts([fine, bad])
