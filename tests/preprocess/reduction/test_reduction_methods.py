"""Specific properties of the reductions: moments, spans, dependent shapes, automatic numbers of
modes, and rejected arguments.
"""

import dataclasses
import functools

import numpy as np
import pytest
import scipy.linalg

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FloatArray
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.body.build import reduce as full_reduce
from preprocess.fe.fe_model import FEModel
from preprocess.fe.interfaces import Averaged, Rigid, bind_interfaces
from preprocess.inputs.warning import PreprocessWarning
from preprocess.mesh.rigid_motion import rigid_motion
from preprocess.reduction import (
    ClampedModes,
    CraigBampton,
    CraigChang,
    FreeModes,
    GivenShapes,
    Guyan,
    Krylov,
    Reduction,
    Rubin,
)
from preprocess.reduction.accuracy import ReducedModel, frequency_errors
from preprocess.reduction.independent_shapes import elastic_shapes
from preprocess.reduction.interface_statics import InterfaceStatics
from preprocess.solve.lanczos import modes_of

ENDS = {"a": Rigid("x0"), "b": Averaged("x1")}
reduce = functools.partial(full_reduce, stiffening=False, stress=None)


@pytest.fixture(scope="module")
def statics(bar: FEModel) -> InterfaceStatics:
    return InterfaceStatics(bar, bind_interfaces(ENDS, bar.nodes, bar.node_sets))


def shapes_of(method: Reduction, statics: InterfaceStatics) -> FloatArray:
    return elastic_shapes(statics, method.basis(statics, lambda *_: None).shapes).shapes


def free_frequencies(method: Reduction, statics: InterfaceStatics) -> FloatArray:
    shapes = shapes_of(method, statics)
    return np.sqrt(np.linalg.eigvalsh(shapes.T @ (statics.fe.K @ shapes))) / (2 * np.pi)


def transfer(K: FloatArray, M: FloatArray, L: FloatArray, f: float) -> FloatArray:
    """Lᵀ (K − (2πf)² M)⁻¹ L."""
    return np.asarray(L.T @ np.linalg.solve(K - (2 * np.pi * f) ** 2 * M, L))


@pytest.mark.parametrize("f", [0.0, 1800.0])
def test_krylov_matches_moments_of_the_elastic_transfer_function(
    statics: InterfaceStatics, f: float
) -> None:
    """With m blocks, 2m derivatives in ω² are matched: the error at σ + δ grows like δ^(2m).
    Oracle: dense modes.
    """
    Z = scipy.linalg.null_space(_distortion(statics))
    omega2, y = scipy.linalg.eigh(
        Z.T @ statics.fe.K.toarray() @ Z, Z.T @ statics.fe.M.toarray() @ Z
    )
    modes, omega2 = (Z @ y)[:, 6:], omega2[6:]
    L = statics.interface_loads
    compliance = np.diag(transfer(np.diag(omega2), np.eye(len(omega2)), modes.T @ L, 0.0))

    def errors(moments: int) -> list[float]:
        S = shapes_of(Krylov(frequencies=(f,), moments=moments), statics)
        K = S.T @ (statics.fe.K @ S)
        found: list[float] = []
        for step in (0.0, 1e6, 2e6):  # of ω²
            at = float(np.sqrt((2 * np.pi * f) ** 2 + step)) / (2 * np.pi)
            full = transfer(np.diag(omega2), np.eye(len(omega2)), modes.T @ L, at)
            reduced = transfer(K, np.eye(len(K)), S.T @ L, at)
            scale = np.sqrt(np.outer(compliance, compliance))
            found.append(float((np.abs(full - reduced) / scale).max()))
        return found

    for moments in (1, 2):
        at, near, far = errors(moments)
        assert at < 1e-8
        if moments == 1:
            assert 3 < far / near < 5.5
        assert far < (1e-2, 1e-5)[moments - 1]


def test_krylov_ends_with_the_whole_space(statics: InterfaceStatics) -> None:
    """Many more moments than the body has degrees of freedom give exactly its frequencies."""
    shapes = shapes_of(Krylov(moments=40), statics)
    assert shapes.shape[1] <= statics.free_degrees_of_freedom - 6
    Z = scipy.linalg.null_space(_distortion(statics))
    omega2 = scipy.linalg.eigh(
        Z.T @ statics.fe.K.toarray() @ Z, Z.T @ statics.fe.M.toarray() @ Z, eigvals_only=True
    )[6:46]
    np.testing.assert_allclose(
        np.linalg.eigvalsh(shapes.T @ (statics.fe.K @ shapes))[:40], omega2, rtol=1e-8
    )


def _distortion(statics: InterfaceStatics) -> FloatArray:
    return np.eye(statics.size) - statics.admissible(np.eye(statics.size))


def test_craig_chang_with_modes_spans_what_rubin_spans(statics: InterfaceStatics) -> None:
    one, other = shapes_of(CraigChang(modes=5), statics), shapes_of(Rubin(modes=5), statics)
    assert one.shape == other.shape
    cosines = np.linalg.svd(one.T @ statics.fe.mass_product(other), compute_uv=False)
    np.testing.assert_allclose(cosines, 1.0, atol=1e-10)


def test_shapes_that_are_dependent_together_only(bar: FEModel) -> None:
    """Each of many free modes leaves much of itself outside the attachment modes and the other
    modes; all of them do not.
    """
    ends = {"a": Rigid("x0"), "b": Rigid("x1")}
    frequencies = []
    for method in (CraigChang(modes=100), Rubin(modes=100)):
        body = reduce(bar, interfaces=ends, method=method, reference="mean axes", estimate=False)
        assert body.nf <= 112
        frequencies.append(body.modes.frequency[:90])
    np.testing.assert_allclose(*frequencies, rtol=1e-7)


def test_inertia_relief_modes_make_accelerated_bodies_exact(statics: InterfaceStatics) -> None:
    """Response of the body, interfaces held, to a uniform acceleration: not in Craig and Bampton's
    basis, but with them.
    """
    exact = statics.response(
        statics.fe.mass_product(rigid_motion(statics.fe.nodes).reshape(-1, 6)[:, :3])
    )

    def left(method: Reduction) -> float:
        S = np.hstack([statics.rigid_modes, shapes_of(method, statics)])
        rest = exact - S @ np.linalg.solve(
            S.T @ statics.fe.mass_product(S), S.T @ statics.fe.mass_product(exact)
        )
        return float(np.linalg.norm(rest) / np.linalg.norm(exact))

    assert left(CraigBampton(modes=3)) > 1e-3
    assert left(CraigBampton(modes=3, inertia_relief=True)) < 1e-9


def test_more_shapes_lower_the_frequencies(statics: InterfaceStatics) -> None:
    guyan = free_frequencies(Guyan(), statics)
    few, more = (free_frequencies(CraigBampton(modes=n), statics) for n in (3, 9))
    assert np.all(few[:6] <= guyan[:6] * (1 + 1e-10))
    assert np.all(more[: len(few)] <= few * (1 + 1e-10))
    assert more[2] < guyan[2] * 0.99


def test_dependent_shapes_are_dropped_and_named(bar: FEModel) -> None:
    x = bar.nodes[:, 0] / 0.6
    bend = np.column_stack([0 * x, x**2, 0 * x]).ravel()
    rigid = rigid_motion(bar.nodes).reshape(-1, 6)
    given = np.column_stack([bend, rigid[:, 5], 3 * bend + rigid[:, 1], np.roll(bend, 1)])
    ends = {"a": Averaged("x0"), "b": Averaged("x1")}
    body = reduce(bar, interfaces=ends, method=GivenShapes(given), reference="a")
    assert body.nf == 2
    assert body.provenance["dropped shapes"] == "2 of 4 given shapes"
    assert body.validate().ok, str(body.validate())
    with pytest.raises(InputError, match="method: its 6 shapes are rigid-body modes only"):
        reduce(
            bar,
            interfaces=ends,
            method=GivenShapes(rigid_motion(bar.nodes).reshape(-1, 6)),
            reference="a",
        )


def test_given_modes_are_taken_as_they_are(bar: FEModel) -> None:
    """Modes of dense matrices, as (N, 3, n): the body has their frequencies."""
    omega2, modes = scipy.linalg.eigh(bar.K.toarray(), bar.M.toarray(), subset_by_index=(6, 11))
    ends = {"a": Averaged("x0"), "b": Averaged("x1")}
    body = reduce(
        bar, interfaces=ends, method=GivenShapes(modes.reshape(-1, 3, 6)), reference="mean axes"
    )
    np.testing.assert_allclose((2 * np.pi * body.modes.frequency) ** 2, omega2, rtol=1e-9)
    assert body.modes.kind == ("static",) * 6
    changed = modes.copy()
    changed[0, 0] *= 1.1
    again = reduce(bar, interfaces=ends, method=GivenShapes(changed), reference="mean axes")
    assert again.provenance["digest"] != body.provenance["digest"]


def test_given_shapes_follow_rigid_interfaces(bar: FEModel) -> None:
    x, y = bar.nodes[:, 0] / 0.6, bar.nodes[:, 1]
    pinch = np.column_stack([0 * x, y * x**2, 0 * x]).reshape(-1, 1)
    stretch = np.column_stack([x**2, 0 * x, 0 * x]).reshape(-1, 1)
    method = GivenShapes(np.hstack([stretch, pinch]))
    with pytest.warns(
        PreprocessWarning,
        match="distort rigid interfaces by up to 0.5 of their largest displacement",
    ):
        body = reduce(
            bar, interfaces={"a": Rigid("x0"), "b": Rigid("x1")}, method=method, reference="a"
        )
    assert body.surface is not None
    rows, frame = bar.node_sets["x1"], body.frames["b"]
    arm = body.surface.nodes[rows] - frame.x
    follow = frame.phi[None] + np.cross(frame.psi.T[None], arm[:, None]).transpose(0, 2, 1)
    np.testing.assert_allclose(body.surface.phi[rows], follow, atol=1e-12 * np.abs(follow).max())


@pytest.mark.parametrize("method", [CraigBampton, Rubin, CraigChang])
@pytest.mark.parametrize("tolerance", [1e-2, 1e-4])
def test_auto_takes_the_fewest_modes(
    bar: FEModel, statics: InterfaceStatics, method: type[Reduction], tolerance: float
) -> None:
    """The errors measured against the full model are within the tolerance in the band; with one
    mode less they are not, or a mode in the band is not among the normal modes."""
    band = 3000.0
    body = reduce(
        bar,
        interfaces=ENDS,
        method=method(modes="auto", band=band, tolerance=tolerance),
        reference="a",
    )
    count = len(str(body.provenance["normal-mode frequencies [Hz]"]).split(","))
    assert float(body.provenance["accuracy: frequencies"]) <= tolerance
    assert body.provenance["accuracy: band [Hz]"] == band

    def measured(n: int) -> float:
        shapes = shapes_of(method(modes=n), statics)
        worst = 0.0
        for held in (None, 0, 1):
            response = (
                statics.free_response
                if held is None
                else lambda f, k=held: statics.held_response(f, k)
            )
            full = modes_of(
                response, bar.mass_product, statics.size, omega_max=2 * np.pi * band
            ).omega / (2 * np.pi)
            found = frequency_errors(
                ReducedModel.of(statics, shapes), held, 2 * np.pi * band, at_least=len(full)
            ).frequency
            worst = max(worst, float(np.max(found[: len(full)] / full - 1)))
        return worst

    assert measured(count) <= 1.05 * tolerance
    normal = [float(f) for f in str(body.provenance["normal-mode frequencies [Hz]"]).split(",")]
    assert normal[-1] <= band or measured(count - 1) > tolerance


def test_auto_gives_up_where_statics_are_missing(bar: FEModel) -> None:
    with pytest.raises(
        InputError,
        match=r"method.tolerance: the error is still .* free-interface modes; increase it above "
        r"1e-06",
    ):
        reduce(
            bar,
            interfaces=ENDS,
            method=FreeModes(modes="auto", band=800.0, tolerance=1e-6),
            reference="a",
        )
    with pytest.raises(
        InputError, match=r"method.band: the body has no mode up to 20 Hz; raise the band"
    ):
        reduce(bar, interfaces=ENDS, method=Rubin(modes="auto", band=20.0), reference="a")


def test_errors_are_kept_in_the_file(bar: FEModel, tmp_path) -> None:
    body = reduce(bar, interfaces=ENDS, method=CraigBampton(modes=6), reference="a")
    body.save(tmp_path / "bar.h5")
    facts = FlexibleBodyData.load(tmp_path / "bar.h5").provenance
    assert float(facts["accuracy: compliance"]) < 1e-8
    assert str(facts["accuracy: compliance by load"]).startswith("a force x ")
    assert str(facts["accuracy: held at b"]).count(" Hz ") >= 3
    without = reduce(
        bar, interfaces=ENDS, method=CraigBampton(modes=6), reference="a", estimate=False
    )
    assert not [key for key in without.provenance if key.startswith("accuracy")]
    assert without.digest == dataclasses.replace(body, residual=None).digest


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Rubin(modes=0), "method.modes: is 0; request at least one free-interface mode"),
        (lambda: ClampedModes(at="a", modes=-1), "method.modes: is -1; request at least one clamped mode"),
        (lambda: FreeModes(modes=2.5), "method.modes: is 2.5; give an integer"),
        (lambda: FreeModes(modes=True), "method.modes: is True; give an integer"),
        (lambda: FreeModes(modes="many"), "method.modes: is 'many'; give an integer"),
        (lambda: FreeModes(modes=10**6), "method.modes: is 1000000; a flexible body has at most 2000"),
        (lambda: FreeModes(), "method: FreeModes takes either modes=n or frequency=f_max"),
        (lambda: CraigBampton(modes="auto"), "method.band: is missing; CraigBampton(modes=\"auto\") needs"),
        (lambda: CraigBampton(modes="auto", band=-3.0), "method.band: is -3.0 Hz"),
        (lambda: CraigBampton(modes="auto", band=9.0, tolerance=0.0), "method.tolerance: is 0.0; give a relative error"),
        (lambda: CraigBampton(modes=4, band=9.0), "method: band and tolerance require modes=\"auto\""),
        (lambda: CraigChang(frequency=float("nan")), "method.frequency: is nan Hz; give a positive limit"),
        (lambda: Krylov(frequencies=()), "method.frequencies: (); give one or more"),
        (lambda: Krylov(frequencies=(-1.0,)), "method.frequencies: (-1.0,); give one or more"),
        (lambda: Krylov(frequencies="fast"), "method.frequencies: 'fast' is not a list"),
        (lambda: Krylov(moments=0), "method.moments: is 0; give an integer from 1 to 100"),
        (lambda: GivenShapes("shapes.txt"), "method.shapes: 'shapes.txt' is not an array of numbers"),
        (lambda: GivenShapes(np.full((6, 1), np.nan)), "method.shapes: shape (6, 1); give finite displacements"),
        (lambda: GivenShapes(np.zeros((6, 1))), "method.shapes: shape 1 is zero; remove it"),
    ],
)  # fmt: skip
def test_bad_options(make, message: str) -> None:
    with pytest.raises(InputError) as refused:
        make()
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (
            Rubin(modes=500),
            "method.modes: 500 requested; the body has 144 degrees of freedom besides its "
            "rigid-body motions",
        ),
        (
            Rubin(frequency=1.0),
            "method.frequency: no free-interface mode up to 1.0 Hz; increase the limit",
        ),
        (ClampedModes(at="aa", modes=3), "method.at: no interface 'aa'; choose one of: a"),
        (
            GivenShapes(np.ones((168, 2001))),
            "method: gives 2001 shapes; a flexible body has at most 2000",
        ),
        (
            GivenShapes(np.ones((7, 1))),
            "method.shapes: has 7 rows; the mesh has 56 nodes, three rows each",
        ),
    ],
)
def test_options_that_do_not_fit_the_body(bar: FEModel, method: Reduction, message: str) -> None:
    with pytest.raises(InputError) as refused:
        reduce(bar, interfaces=ENDS, method=method, reference="a")
    assert str(refused.value).startswith(message)


def test_guyan_needs_two_interfaces(bar: FEModel) -> None:
    with pytest.raises(InputError, match="Guyan with one interface gives rigid-body modes only"):
        reduce(bar, interfaces={"a": Rigid("x0")}, method=Guyan(), reference="a")
