"""Certified reductions: proved bounds against full models solved by LAPACK, for random parts and
methods.
"""

import re

import numpy as np
import pytest
import scipy.linalg
from draws import drawn
from random_parts import KINDS, full_model, random_part

import preprocess as pp
from flexmbs._jit import COMPILED
from flexmbs.errors import InputError, SolverError
from preprocess.body.prestress import Prestress
from preprocess.fe.interfaces import bind_interfaces
from preprocess.reduction.certificate import (
    AccuracyRequest,
    Certificate,
    MissingModes,
    SupportBounds,
)
from preprocess.reduction.free_reduction import FreeReduction
from preprocess.reduction.independent_shapes import elastic_shapes
from preprocess.reduction.interface_statics import InterfaceStatics
from preprocess.reduction.smallest_basis import basis_reference, smallest_basis, trial_reference
from preprocess.reduction.sturm_check import SturmCounts
from preprocess.reduction.transfer_error import LOSS, TransferError
from preprocess.solve import factors, lanczos

SLACK = 1e-8  # accuracy of the full solutions
TIGHT = 10.0  # largest ratio of a bound to the error
STEEL = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
BAR = pp.box_mesh((0.4, 0.03, 0.03), (8, 1, 1))


def quiet(step: str, fraction: float) -> None:
    pass


def band_of(statics: InterfaceStatics, random: np.random.Generator) -> float:
    """A band with a few modes of the body held at an interface."""
    values = full_model(statics, 0).eigenvalues(0.0)
    return float(np.sqrt(values[random.integers(1, 6)]) / (2 * np.pi) * random.uniform(1.0, 1.3))


def reduced(
    statics: InterfaceStatics, request: AccuracyRequest, random: np.random.Generator
) -> tuple[FreeReduction, Certificate]:
    """A reduction by a random method, or the smallest, with its bounds."""
    choices = [
        None,
        pp.Rubin(modes=int(random.integers(1, 6))),
        pp.CraigBampton(modes=int(random.integers(1, 9))),
    ]
    method = choices[random.integers(3)]
    if method is None:
        _, basis, reference = smallest_basis(statics, request, quiet)
        shapes = elastic_shapes(statics, basis.shapes).shapes
    else:
        shapes = elastic_shapes(statics, method.basis(statics, quiet).shapes).shapes
        reference = basis_reference(statics, shapes, request)
    reduction = FreeReduction.of(statics, shapes)
    return reduction, reference.certificate(reduction)


def check_frequencies(
    statics: InterfaceStatics, reduction: FreeReduction, found: Certificate
) -> None:
    """The number of modes, ``lower ≤ f ≤ upper`` and the bounds of the errors of the reduction, for
    every support.
    """
    shift = (2 * np.pi * found.shift) ** 2
    for held, each in zip((None, *range(len(statics.interfaces))), found.supports, strict=True):
        values = full_model(statics, held).eigenvalues(0.1 * (2 * np.pi * found.request.band) ** 2)[
            6 if held is None else 0 :
        ]
        assert found.counts[each.support] == np.sum(values < shift)
        m = len(each.lower)
        assert m >= np.sum(values <= (2 * np.pi * found.request.band) ** 2)
        f, own = (
            np.sqrt(values[:m]) / (2 * np.pi),
            np.sqrt(reduction.ritz(held).lam[:m]) / (2 * np.pi),
        )
        assert (each.lower <= f * (1 + SLACK)).all()
        assert (f <= each.upper * (1 + SLACK)).all()
        error = np.full(m, np.inf)
        error[: len(own)] = own / f[: len(own)] - 1
        assert (error <= each.error + SLACK).all()
        floor = max(1e3 * found.noise, 3e-7)
        assert (each.error <= TIGHT * np.maximum(error, 0.0) + floor).all()


def check_transfer(statics: InterfaceStatics, reduction: FreeReduction, found: Certificate) -> None:
    """Bound of the transfer functions against direct solutions at resonances and between them."""
    full = full_model(statics, None)
    L = full.Z.T @ statics.interface_loads
    R = np.linalg.lstsq(full.Z, statics.fe.rigid_motion(np.zeros(3)), rcond=None)[0]
    R = R @ np.linalg.inv(np.linalg.cholesky(R.T @ full.M @ R)).T
    # elastic motions alone: round-off of K has no part in the rigid ones
    B = scipy.linalg.null_space(R.T @ full.M)
    K, M, loads = B.T @ full.K @ B, B.T @ full.M @ B, B.T @ L
    compliance = loads.T @ np.linalg.solve(K, loads)
    D = 1.0 / np.sqrt(np.diag(compliance))
    lam, motion = reduction.ritz(None)
    b = D[:, None] * (reduction.elastic @ motion[:-6])
    band = 2 * np.pi * found.request.band
    poles = np.concatenate([lam, full.eigenvalues(0.1 * band**2)[6:]])
    at = np.unique(
        np.concatenate(
            [np.linspace(0.2, 1.0, 12) * band, np.sqrt(poles[(poles > 0) & (poles < band**2)])]
        )
    )
    worst = 0.0
    for s in at**2:
        H = loads.T @ np.linalg.solve((1 + 1j * LOSS) * K - s * M, loads)
        distance = lam * (1 + 1j * LOSS) - s
        error = np.linalg.norm(D[:, None] * H * D - (b / distance) @ b.T, 2)
        share = error / (np.einsum("ij,ij->j", b, b) / np.abs(distance)).sum()
        assert share <= found.transfer.relative + 1e-6
        worst = max(worst, 0.5 * share * float((np.abs(distance) / lam).min()))
    assert worst <= found.transfer.as_frequency + 1e-6
    assert found.transfer.as_frequency <= TIGHT * worst + 1e-6


def check_part(seed: int, finer: int = 1) -> InterfaceStatics:
    random, statics = np.random.default_rng(1000 + seed), random_part(seed, finer)
    request = AccuracyRequest(band_of(statics, random), 10.0 ** random.uniform(-5, -2))
    reduction, found = reduced(statics, request, random)
    check_frequencies(statics, reduction, found)
    check_transfer(statics, reduction, found)
    return statics


@pytest.mark.parametrize("seed", drawn(len(KINDS), 2 * len(KINDS)))
def test_bounds_hold_for_random_parts(seed: int) -> None:
    check_part(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2 * len(KINDS), 200))
def test_bounds_hold_for_many_random_parts(seed: int) -> None:
    check_part(seed)


def bolted_part(seed: int) -> InterfaceStatics:
    """Two boxes joined by spiders and a soft or stiff bushing, with a mass on one node."""
    random = np.random.default_rng(seed)
    one, two = (
        pp.box_mesh((length, 0.06, 0.05), n, "hex8")
        for length, n in ((0.3, (3, 2, 1)), (0.2, (2, 1, 1)))
    )
    nodes = np.vstack([one.nodes, two.nodes + [0.3, 0, 0]])
    table = np.vstack(
        [one.blocks["hex8"].connectivity, two.blocks["hex8"].connectivity + len(one.nodes)]
    )
    faces = {
        "x0": one.node_sets["x0"],
        "left": one.node_sets["x1"],
        "right": two.node_sets["x0"] + len(one.nodes),
    }
    parts = {"one": np.arange(1, 7), "two": np.arange(7, 9)}
    mesh = pp.Mesh.from_arrays(
        nodes, {"hex8": table}, node_sets=faces, element_sets=parts, separate=True
    )
    materials = {
        name: pp.Isotropic(E=10 ** random.uniform(8, 11.5), nu=0.3, rho=random.uniform(500, 9000))
        for name in parts
    }
    spider, place = (pp.RigidSpider, pp.AveragingSpider)[random.integers(2)], (0.3, 0.03, 0.025)
    bolt = pp.Bushing(
        "a", "b", translation=10 ** random.uniform(2, 8, 3), rotation=10 ** random.uniform(0, 4, 3)
    )
    spiders = {"a": spider("left", position=place), "b": spider("right", position=place)}
    fe = pp.assemble(mesh, materials, connections={**spiders, "bolt": bolt})
    at = pp.Point(tuple(mesh.nodes[random.integers(len(mesh.nodes))]))
    fe = pp.attach(fe, [pp.PointMass(at, 10 ** random.uniform(-1, 1.5))])
    interfaces = {"x0": (pp.Rigid, pp.Averaged)[random.integers(2)]("x0")}
    return InterfaceStatics(
        fe, bind_interfaces(interfaces, fe.nodes, fe.node_sets, fe.triangles, fe.freedoms)
    )


@pytest.mark.parametrize("seed", range(50, 65))
def test_bounds_hold_where_the_free_body_has_more_round_off_than_the_held_one(seed: int) -> None:
    """Modes of the held body are found in the shapes of the free one, whose round-off they have."""
    statics, random = bolted_part(seed), np.random.default_rng(1000 + seed)
    _, found = reduced(statics, AccuracyRequest(band_of(statics, random), 1e-2), random)
    held = found.supports[1]
    values = full_model(statics, 0).eigenvalues(0.1 * (2 * np.pi * found.request.band) ** 2)[
        : len(held.lower)
    ]
    f = np.sqrt(values) / (2 * np.pi)
    assert (held.lower <= f * (1 + 1e-9)).all()
    assert (f <= held.upper * (1 + 1e-9)).all()


@pytest.fixture
def single(monkeypatch: pytest.MonkeyPatch) -> None:
    """Factors in single precision and iterations for modes, in small parts too."""
    monkeypatch.setattr(factors, "LARGE", 0.0)
    monkeypatch.setattr(lanczos, "_DENSE_SIZE", 200)


@pytest.mark.skipif(not COMPILED, reason="SuperLU factors in double precision only")
@pytest.mark.parametrize("seed", range(len(KINDS)))
def test_bounds_hold_with_factors_in_single_precision(seed: int, single: None) -> None:
    assert check_part(seed, finer=2).refines


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="SuperLU factors in double precision only")
@pytest.mark.parametrize("seed", range(len(KINDS), 200))
def test_bounds_hold_with_many_factors_in_single_precision(seed: int, single: None) -> None:
    check_part(seed, finer=2)


def bodies(**options):
    return pp.reduce(
        BAR, STEEL, interfaces={"a": pp.Rigid("x0"), "b": pp.Rigid("x1")}, reference="a", **options
    )


def test_the_certificate_is_in_the_file(tmp_path) -> None:
    body = bodies(band=1200.0, tolerance=1e-3)
    body.save(tmp_path / "bar.h5")
    facts = type(body).load(tmp_path / "bar.h5").provenance
    assert (
        float(facts["certificate: frequencies"])
        <= 1e-3
        >= float(facts["certificate: transfer functions"])
    )
    # two bending modes in each of two planes
    assert str(facts["certificate: held at a"]).count("Hz (reduced") == 4
    assert "acceleration y 100 %" in str(facts["certificate: energy of inertia loads, held at a"])
    assert not [key for key in facts if key.startswith("accuracy")]


def test_inertia_loads_without_energy() -> None:
    """Rotation of a straight beam about its axis loads nothing: its share was not a number."""
    x = np.linspace(0.0, 1.0, 7)
    mesh = pp.Mesh.from_arrays(
        np.outer(x, [1.0, 0.0, 0.0]),
        {"line2": [(i, i + 1) for i in range(6)]},
        node_sets={"hub": [0]},
    )
    fe = pp.assemble(mesh, STEEL, sections=pp.CircularSection(0.02))
    body = pp.reduce(fe, interfaces={"hub": pp.Rigid("hub")}, reference="hub", band=200.0)
    shares = str(body.provenance["certificate: energy of inertia loads, held at hub"])
    assert "angular velocity xx 100 %" in shares
    assert "nan" not in shares


def test_the_basis_is_the_smallest_of_its_method() -> None:
    body = bodies(band=1200.0, tolerance=1e-3)
    method, count = (
        str(body.provenance["method"]),
        len(str(body.provenance["normal-mode frequencies [Hz]"]).split(",")),
    )
    assert method.startswith("Rubin")
    assert bodies(band=1200.0, method=pp.Rubin(modes=count)).nf == body.nf
    with pytest.raises(InputError, match=r"tolerance: 0\.001 is not proved up to 1200 Hz: "):
        bodies(band=1200.0, method=pp.Rubin(modes=count - 1))


def test_a_tighter_tolerance_needs_no_fewer_shapes() -> None:
    sizes = [bodies(band=1500.0, tolerance=tolerance).nf for tolerance in (1e-1, 1e-2, 1e-3, 1e-4)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": 1e-3}, "tolerance: given as 0.001 without a band"),
        ({"band": 0.0}, "band: is 0.0 Hz; give a positive frequency limit"),
        (
            {"band": 100.0, "tolerance": 2.0},
            "tolerance: is 2.0; give a relative error between 0 and 1",
        ),
        ({"band": 1000.0, "tolerance": 1e-10}, "tolerance: 1e-10 is below what round-off allows"),
        ({"band": 1200.0, "method": pp.Guyan()}, "tolerance: 0.001 is not proved up to 1200 Hz: "),
        ({"band": 1200.0, "method": pp.FreeModes(modes=3)}, "mode 4 held at a is missing"),
        ({"band": "x"}, "band: "),
    ],
)
def test_what_cannot_be_proved_is_refused(options, message: str) -> None:
    with pytest.raises(InputError, match=message):
        bodies(**options)


def test_an_error_without_a_bound_is_no_number() -> None:
    """A lower bound of zero gave "an error of up to 2.6e+154"."""
    none = np.array([1e3]), np.array([np.sqrt(np.finfo(float).tiny)]), np.array([1e3])
    for bounds, transfer in (
        (SupportBounds("free", *none), 0.1),
        (SupportBounds("free", *np.ones((3, 1))), 1e154),
    ):
        proof = Certificate(
            AccuracyRequest(2e3, 1e-3),
            (bounds,),
            {"free": 1},
            3e3,
            TransferError(transfer, 900.0, 1.0),
            0.0,
        )
        assert "has no useful bound; keep more modes" in proof.refusal()
        assert "e+" not in proof.refusal()


def test_the_tolerance_that_round_off_allows_is_told() -> None:
    with pytest.raises(InputError) as refused:
        bodies(band=1000.0, tolerance=1e-10)
    least = re.search("below what round-off allows, (.*); raise it", refused.value.problems[0])
    assert least is not None
    # the bar is symmetric: both supports, and modes 3 and 4, have the same error
    for share, problem in (
        (0.8, "below what round-off allows"),
        (1.2, "not proved up to 1000 Hz: mode [34] held at [ab]"),
    ):
        with pytest.raises(InputError, match=problem):
            bodies(band=1000.0, tolerance=share * float(least[1]))


def test_prestress_is_refused() -> None:
    with pytest.raises(InputError, match="band: errors of a body with prestress cannot be proved"):
        bodies(band=1000.0, prestress=Prestress({"b": (1e3, 0, 0, 0, 0, 0)}))


@pytest.mark.parametrize(("change", "error"), [(1, MissingModes), (-1, SolverError)])
def test_a_wrong_number_of_modes_is_noticed(
    monkeypatch: pytest.MonkeyPatch, change: int, error: type[Exception]
) -> None:
    """One mode more than the trial space has, which it may lack, and one fewer, which is
    impossible.
    """
    statics = random_part(1)
    shapes = pp.Rubin(modes=5).basis(statics, quiet).shapes
    right = SturmCounts.below
    monkeypatch.setattr(SturmCounts, "below", lambda self, held: right(self, held) + change)
    with pytest.raises(error):
        trial_reference(
            statics,
            list(shapes.values()),
            AccuracyRequest(band_of(statics, np.random.default_rng(0)), 1e-2),
        )
