"""Damping ratios of divided bodies: those of the part as in one piece, under every formalism, and
what runs do with them.
"""

import itertools
from pathlib import Path

import numpy as np
import pytest

import flexmbs as fm
import preprocess as pp
from flexmbs.errors import InputError
from flexmbs.flexible_body.assembled import RIGID, WeldedPieces
from flexmbs.flexible_body.divided import DividedBodyData
from flexmbs.studies.states.tangent import evaluate
from flexmbs.studies.terms.forces_by_cause import forces_by_cause

STEEL = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
FOAM = pp.Isotropic(E=2.1e7, nu=0.3, rho=785.0)
ENDS = {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
REDUCED = {"interfaces": ENDS, "reference": "root", "estimate": True, "stress": None}
CLAMPS = [("root",), ("tip",), ("root", "tip")]
PAIRS = [
    *itertools.product(
        ("multiplier",),
        ("joint", "absolute"),
        ("generalized-alpha", "esdirk", "rattle", "moreau-jean"),
    ),
    *itertools.product(
        ("recursive",), ("joint",), ("generalized-alpha", "esdirk", "rattle", "moreau-jean")
    ),
    *itertools.product(
        ("multiplier", "embedding", "partitioning"), ("joint", "absolute"), ("dormand-prince",)
    ),
    ("recursive", "joint", "dormand-prince"),
]
CUTS = [  # alternating, so that each formalism and each method has both; the others are slow
    pytest.param(
        *pair, cuts, marks=[pytest.mark.slow] if (k + k // 4) % 2 == (cuts == "averaged") else []
    )
    for k, pair in enumerate(PAIRS)
    for cuts in ("averaged", "full")
]
RATIO = 0.04
SPEED = 4e-3  # of the first mode, of unit mass


def strip(pieces: int, **given: object) -> DividedBodyData:
    """A soft strip of foam, whose modes are slow."""
    meshes = pp.divide(pp.box_mesh((0.4, 0.02, 0.03), (12, 1, 1)), pieces=pieces)
    options = {"method": pp.CraigBampton(modes=1), **REDUCED, **given}
    return pp.reduce_divided(meshes, FOAM, **options)


def held(
    body: fm.FlexibleBodyData | DividedBodyData, clamps: tuple[str, ...], **given: object
) -> fm.Model:
    places = {name: tuple(body.frames[name].x) for name in clamps}
    model = fm.Model("held", gravity=(0, 0, 0), frames=places)
    part = model.add(fm.FlexibleBody("part", data=body, **given))
    for name in clamps:
        model.add(fm.Fixed(f"clamp {name}", model.ground[name], part[name]))
    return model


def struck(body: DividedBodyData, **given: object) -> fm.Model:
    """Held at its root, with the velocities of its first mode, whose frequency is about 5 Hz."""
    rates = np.concatenate(
        [T[RIGID:, 0] for T in WeldedPieces.of(body.pieces, body.poses).in_modes(1).N]
    )
    return held(body, ("root",), qf_dot0=tuple(SPEED * rates), **given)


def random_part(seed: int) -> tuple[pp.Mesh, pp.Mesh]:
    rng = np.random.default_rng(seed)
    length, width, height = rng.uniform(0.4, 1.2), *rng.uniform(0.01, 0.04, 2)
    cells = (int(rng.integers(12, 25)), int(rng.integers(1, 3)), 1)
    if seed % 2:  # a plate
        width, cells = rng.uniform(0.2, 0.3), (10, 4, 1)
    mesh = pp.box_mesh((length, width, height), cells)
    return mesh, pp.divide(mesh, pieces=int(rng.integers(2, 6)), along="x")


@pytest.mark.parametrize("seed", range(6))
def test_ratios_are_those_of_the_part_in_one_piece(seed: int) -> None:
    """In its lowest modes, however it is held; by a number and by a function of the frequency."""
    mesh, pieces = random_part(seed)
    given = 0.02 if seed < 4 else lambda f: 0.01 + 2e-5 * f
    cuts = ("full", "averaged")[seed // 2 % 2] if seed % 2 == 0 else "full"
    one = pp.reduce(mesh, STEEL, method=pp.CraigBampton(modes=30), damping=given, **REDUCED)
    body = pp.reduce_divided(
        pieces, STEEL, method=pp.CraigBampton(modes=16), damping=given, cuts=cuts, **REDUCED
    )
    for clamps in CLAMPS:
        found, expected = (fm.linearize(held(each, clamps)).modes for each in (body, one))
        assert found.frequency[:3] == pytest.approx(expected.frequency[:3], rel=3e-3), clamps
        assert found.damping[:3] == pytest.approx(expected.damping[:3], rel=1e-2), clamps


@pytest.mark.parametrize("pieces", [2, 3, 5])
def test_every_mode_together_has_its_ratio(pieces: int) -> None:
    bare = strip(pieces)
    ratio = np.random.default_rng(pieces).uniform(0.0, 0.3, bare.number_of_modes)
    ratio[2] = 0.0
    body = strip(pieces, damping=tuple(ratio))
    together = body.assembled()
    assert together.modes.damping == pytest.approx(ratio, abs=1e-6)
    assert (
        np.abs(together.D_ff - np.diag(2.0 * ratio * np.sqrt(np.diag(together.K_ff)))).max()
        < 1e-6 * together.D_ff.max()
    )
    assert body.provenance["damping: pieces, held at root"].count("Hz") == 6
    for given in ({"damping": tuple(ratio)}, {}):  # of the model, and of the data
        modes = fm.linearize(held(bare if given else body, ("root",), **given)).modes
        assert modes.damping[:6] == pytest.approx(ratio[:6], abs=1e-5)
    with pytest.raises(
        InputError,
        match=rf"bodies\.part\.damping: must have one number per mode, {bare.number_of_modes}, "
        r"not 2",
    ):
        fm.state(held(bare, ("root",), damping=(0.1, 0.2)))


def test_ratios_of_the_model_replace_those_of_the_data() -> None:
    body, other = strip(3, damping=0.3), strip(3, damping=RATIO)
    found, expected = (
        fm.linearize(held(body, ("root",), damping=RATIO)),
        fm.linearize(held(other, ("root",))),
    )
    assert np.abs(found.D - expected.D).max() < 1e-9 * np.abs(expected.D).max()
    assert fm.linearize(held(body, ("root",), damping=0.0)).modes.damping == pytest.approx(
        0.0, abs=1e-9
    )


def test_dampers_act_beside_the_ratios() -> None:
    """A dashpot between two nodes of one piece."""
    meshes = pp.divide(pp.box_mesh((0.4, 0.02, 0.03), (12, 1, 1)), pieces=3, along="x")
    far = meshes[0].nodes.sum(axis=1)
    ends = (int(meshes[0].node_ids[k]) for k in (far.argmin(), far.argmax()))
    dashpot = {"dashpot": pp.Spring(*ends, 0.0, damping=2.0)}
    models = [
        pp.assemble(mesh, FOAM, connections={} if k else dashpot) for k, mesh in enumerate(meshes)
    ]

    def ratios(damping: float) -> np.ndarray:
        body = pp.reduce_divided(models, damping=damping, **REDUCED)
        return fm.linearize(held(body, ("root",))).modes.damping[:4]

    own = ratios(0.0)
    assert own.max() > 1e-4
    assert ratios(0.01) == pytest.approx(own + 0.01, rel=1e-3)


@pytest.mark.parametrize(("formalism", "coordinates", "method", "cuts"), CUTS)
def test_free_vibrations_decay_as_the_ratio_says(
    formalism: str, coordinates: str, method: str, cuts: str
) -> None:
    """x = v/ω_d exp(−ζωt) sin ω_d t of the first mode; every check of the run passes."""
    body = strip(3, damping=RATIO, cuts=cuts)
    model = struck(body)
    step = {"generalized-alpha": 2e-4, "moreau-jean": 2e-4, "rattle": 2e-5}.get(method)
    run = fm.simulate(
        model,
        t_end=0.15,
        step=step,
        formalism=formalism,
        coordinates=coordinates,
        integrator=method,
    )
    first = WeldedPieces.of(body.pieces, body.poses).in_modes(1)
    omega = np.sqrt(first.K[0, 0])
    turning = omega * np.sqrt(1.0 - RATIO**2)
    tip = SPEED * first.frames["tip"][:3, 0]
    expected = np.exp(-RATIO * omega * run.t) * np.sin(turning * run.t) / turning
    u = run.frame("part/tip").position - body.frames["tip"].x
    assert np.abs(u - expected[:, None] * tip).max() < 2e-3 * np.abs(tip).max() / omega
    energy = run.energy
    assert energy.dissipated[-1] == pytest.approx(
        energy.total[0] - energy.total[-1], abs=1e-3 * energy.total[0]
    )
    assert (
        energy.dissipated[-1]
        > 0.9 * (1.0 - np.exp(-2.0 * RATIO * omega * run.t[-1])) * energy.total[0]
    )
    assert run.verdict == "PASS", run.audit


@pytest.mark.parametrize("pieces", [6, pytest.param(8, marks=pytest.mark.slow)])
def test_vibrations_far_from_straight_decay_alike(pieces: int) -> None:
    """From a tip deflection of 30 % of the length; by the amplitudes, three periods apart."""
    body = strip(pieces, damping=RATIO)
    bent, released = (held(body, ("root",)) for _ in range(2))
    for model, force in ((bent, 6.0), (released, fm.SmoothStep(0.0, initial=6.0, duration=0.02))):
        model.add(fm.FrameForce("push", "part/tip", force=(0.0, 0.0, force)))
    start = fm.statics(bent)
    run = fm.simulate(released, t_end=1.0, step=5e-4, start=start)
    z = run.frame("part/tip").position[:, 2] - body.frames["tip"].x[2]
    assert z[0] > 0.25 * 0.4
    peaks = [k for k in range(1, len(z) - 1) if z[k - 1] < z[k] >= z[k + 1] and z[k] > 0.0]
    a, b = z[peaks[0]], z[peaks[3]]
    assert np.log(a / b) / (3 * 2.0 * np.pi) == pytest.approx(RATIO, rel=0.05)


def test_forces_by_cause_have_it() -> None:
    state = fm.state(struck(strip(3, damping=RATIO)))
    causes = forces_by_cause(state)
    assert causes.Q_d @ state.s == pytest.approx(-evaluate(state).power[1], rel=1e-12)
    assert np.abs(causes.Q_v).max() < 1e-2 * np.abs(causes.Q_d).max()  # not what is left


def test_files_keep_it(tmp_path: Path) -> None:
    """Of the part, the model and the run, with ratios of the part and of the model."""
    data = strip(3, damping=RATIO)
    data.save(tmp_path / "strip.h5")
    for given in ({}, {"damping": 0.1}):
        model = fm.Model("held", gravity=(0, 0, 0))
        part = model.add(fm.FlexibleBody("part", tmp_path / "strip.h5", **given))
        model.add(fm.Fixed("clamp", model.ground, part["root"]))
        model.add(fm.FrameForce("push", part["tip"], force=(0.0, 0.0, 0.01)))
        model.save(tmp_path / "held.toml")
        read = fm.load(tmp_path / "held.toml")
        assert read == model
        expected = fm.simulate(held_and_pushed(data, **given), t_end=0.05, step=1e-3)
        run = fm.simulate(read, t_end=0.05, step=1e-3)
        assert np.array_equal(run.q, expected.q)
        run.save(tmp_path / "run.h5")
        kept = fm.Solution.load(tmp_path / "run.h5")
        assert fm.linearize(kept.model).modes.damping[:4] == pytest.approx(
            given.get("damping", RATIO), rel=1e-6
        )
        assert kept.energy.dissipated[-1] == run.energy.dissipated[-1] > 0.0
    lone, other = data.pieces[0], strip(3).pieces[1]
    with pytest.raises(
        InputError,
        match=r"strip: the pieces have 0 and \d+ common damping rows; use all pieces of one",
    ):
        DividedBodyData("strip", (lone, other))


@pytest.mark.parametrize("cuts", ["full", "averaged", "rigid"])
def test_pieces_of_other_damping_do_not_fit(cuts: str) -> None:
    """Rows of as many modes, of other ratios; and some of the
    pieces only, whose modes are others.
    """
    body, other = (strip(3, damping=ratio, cuts=cuts) for ratio in (0.02, 0.3))
    assert len({len(piece.damping_rows) for each in (body, other) for piece in each.pieces}) == 1
    with pytest.raises(
        InputError,
        match=r"strip: cut \d belongs to different parts or reductions in pieces 1 and 2; use all "
        r"pieces of one",
    ):
        DividedBodyData("strip", (body.pieces[0], *other.pieces[1:]))
    for some in (body.pieces[:1], body.pieces[:2]):
        with pytest.raises(
            InputError,
            match=r"strip: piece \d is damped jointly with all pieces, but the piece at its cut \d "
            r"is missing",
        ):
            DividedBodyData("strip", some)
    assert strip(3, cuts=cuts).pieces[0].frames["cut 1"].cut != body.pieces[0].frames["cut 1"].cut
    DividedBodyData("strip", strip(3, cuts=cuts).pieces[:2])


@pytest.mark.parametrize("suffix", [".mbsim.h5", ".sid", ".fem", ".npz"])
def test_files_of_other_programs_say_that_they_lack_it(tmp_path: Path, suffix: str) -> None:
    for damping in (0.0, RATIO):
        lost = pp.write_body(strip(2, damping=damping).pieces[0], tmp_path / f"piece{suffix}")
        assert any(
            "does not support the damping of all pieces together" in each for each in lost
        ) == (damping > 0.0)


def held_and_pushed(data: DividedBodyData, **given: object) -> fm.Model:
    model = held(data, ("root",), **given)
    model.add(fm.FrameForce("push", "part/tip", force=(0.0, 0.0, 0.01)))
    return model


def test_steps_one_by_one_go_on_from_any_state() -> None:
    stepper = fm.Stepper(held_and_pushed(strip(2, damping=RATIO)), t_end=0.04, step=1e-3)
    stepper.advance(0.02)
    before = stepper.state
    stepper.advance(0.04)
    first = stepper.state
    stepper.state = before
    stepper.advance(0.04)
    whole = fm.simulate(held_and_pushed(strip(2, damping=RATIO)), t_end=0.04, step=1e-3)
    again = stepper.state
    assert all(np.array_equal(again[name], array) for name, array in first.items())
    assert np.array_equal(stepper.q, whole.q[-1])


def test_a_piece_alone_warns() -> None:
    model = fm.Model("m")
    model.add(fm.FlexibleBody("lone", data=strip(3, damping=RATIO).pieces[1]))
    assert any(
        "bodies.lone.data: is a piece of a divided body, without" in each
        for each in model.check().warnings
    )
