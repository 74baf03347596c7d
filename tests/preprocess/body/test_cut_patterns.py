"""Full cuts of divided bodies: thin-walled and open sections of solids, shells and beams against
the part without cuts.
"""

import dataclasses
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import flexmbs as fm
import preprocess as pp
from flexmbs.errors import InputError
from flexmbs.flexible_body.divided import DividedBodyData
from preprocess.__main__ import main
from preprocess.body.aligned_bodies import transformed

STEEL = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
ENDS = {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
OPTIONS = {
    "interfaces": ENDS,
    "reference": "root",
    "method": pp.CraigBampton(modes=6),
    "name": "bar",
}
LENGTH, WIDTH, HEIGHT, WALL = 1.0, 0.1, 0.05, 0.005
OPEN = [
    (0.0, HEIGHT),
    (0.0, 0.025),
    (0.0, 0.0),
    (0.025, 0.0),
    (0.05, 0.0),
    (0.075, 0.0),
    (WIDTH, 0.0),
    (WIDTH, 0.025),
    (WIDTH, HEIGHT),
]
TUBE = [*OPEN, (0.075, HEIGHT), (0.05, HEIGHT), (0.025, HEIGHT)]


def channel_of_solids() -> pp.Mesh:
    """Hexahedra of a box, mapped to a grid with thin outer cells, that lie in the three walls."""
    y, z = np.array([0, WALL, 0.03, 0.07, WIDTH - WALL, WIDTH]), np.array([0, WALL, 0.03, HEIGHT])
    box = pp.box_mesh((LENGTH, 1.0, 1.0), (12, len(y) - 1, len(z) - 1), "hex20")
    x = box.nodes.copy()
    for k, grid in ((1, y), (2, z)):
        x[:, k] = np.interp(x[:, k], np.linspace(0, 1, len(grid)), grid)
    (block,) = box.blocks.values()
    centre = x[block.connectivity].mean(axis=1)
    table = block.connectivity[
        (centre[:, 2] < WALL) | (centre[:, 1] < WALL) | (centre[:, 1] > WIDTH - WALL)
    ]
    used, rows = np.unique(table, return_inverse=True)
    x = x[used]
    return pp.Mesh.from_arrays(x, {"hex20": rows.reshape(table.shape)}, node_sets=ends(x))


def shells(outline: list[tuple[float, float]], closed: bool) -> pp.Mesh:
    m, n = len(outline), 12
    x = np.array([(LENGTH * i / n, *point) for i in range(n + 1) for point in outline])
    table = [
        [i * m + j, i * m + (j + 1) % m, (i + 1) * m + (j + 1) % m, (i + 1) * m + j]
        for i in range(n)
        for j in range(m if closed else m - 1)
    ]
    return pp.Mesh.from_arrays(x, {"quad4": np.array(table)}, node_sets=ends(x))


def beam() -> pp.Mesh:
    x = np.linspace((0, 0, 0), (LENGTH, 0, 0), 13)
    return pp.Mesh.from_arrays(
        x, {"line2": np.column_stack([np.arange(12), np.arange(1, 13)])}, node_sets=ends(x)
    )


def ends(x: np.ndarray) -> dict[str, np.ndarray]:
    return {"x0": np.flatnonzero(x[:, 0] < 1e-9), "x1": np.flatnonzero(x[:, 0] > LENGTH - 1e-9)}


PARTS = {
    "channel of solids": (channel_of_solids, None),
    "channel of shells": (lambda: shells(OPEN, closed=False), pp.ShellSection(0.003)),
    "tube of shells": (lambda: shells(TUBE, closed=True), pp.ShellSection(0.003)),
    "beam": (beam, pp.TubularSection(0.05, 0.002)),
}


def models(part: str, pieces: int) -> list[pp.FEModel]:
    make, section = PARTS[part]
    meshes = pp.divide(make(), pieces=pieces)
    return [
        pp.assemble(mesh, STEEL) if section is None else pp.assemble(mesh, STEEL, sections=section)
        for mesh in meshes
    ]


def errors(body: DividedBodyData) -> tuple[dict[str, float], np.ndarray, np.ndarray]:
    """Of compliance by load, the frequencies of the part, and their errors, as the provenance has
    them.
    """
    facts = body.provenance
    loads = {
        load: float(error)
        for load, error in re.findall(
            r"(tip \w+ \w) (\S+?)(?:,|$)", facts["accuracy: pieces, by load"]
        )
    }
    pairs = re.findall(r"(\S+) Hz (\S+?)(?:,|$)", facts["accuracy: pieces, held at root"])
    return loads, *np.array(pairs, float).T


def cantilever(data: fm.FlexibleBodyData | DividedBodyData) -> fm.Model:
    model = fm.Model("cantilever", gravity=(0, 0, 0))
    bar = model.add(fm.FlexibleBody("bar", data=data))
    model.add(fm.Fixed("clamp", model.ground, bar["root"]))
    model.add(fm.FrameForce("load", bar["tip"], torque=(1.0, 0.0, 0.0)))
    return model


def twist(data: fm.FlexibleBodyData | DividedBodyData) -> float:
    R = fm.statics(cantilever(data)).solution.frame("bar/tip").rotation[-1]
    return float(0.5 * (R[2, 1] - R[1, 2]))


@pytest.mark.parametrize("part", PARTS)
def test_full_cuts_leave_the_part_as_it_is(part: str) -> None:
    """Displacements under loads at the interface to 1e-4, the six lowest frequencies to 1 % or
    better with six modes a piece.
    """
    body = pp.reduce_divided(models(part, 3), **OPTIONS)
    loads, frequency, error = errors(body)
    assert len(loads) == 6
    assert max(map(abs, loads.values())) < 1e-4
    assert np.abs(error).max() < 0.02
    found = fm.linearize(cantilever(body)).modes.frequency[: len(frequency)]
    # the provenance says what the model does
    assert found == pytest.approx(frequency * (1.0 - error), rel=2e-3)


def test_averaged_cuts_of_an_open_section_are_far_too_soft_and_say_so() -> None:
    """A channel in torsion: its flanges bend, and the warping
    of one piece does not reach the next.
    """
    with pytest.warns(
        pp.PreprocessWarning,
        match=r"softer than the whole part, static tip moment x by 0\.\d+: averaged",
    ):
        free = pp.reduce_divided(models("channel of solids", 4), cuts="averaged", **OPTIONS)
    assert errors(free)[0]["tip moment x"] > 0.3
    whole = twist(pp.reduce(channel_of_solids(), STEEL, **OPTIONS))
    assert twist(free) / whole == pytest.approx(1.0 + errors(free)[0]["tip moment x"], rel=1e-2)
    assert twist(pp.reduce_divided(models("channel of solids", 4), **OPTIONS)) == pytest.approx(
        whole, rel=1e-4
    )
    with pytest.warns(pp.PreprocessWarning, match=r"stiffer than the whole part"):
        pp.reduce_divided(models("channel of solids", 4), cuts="rigid", **OPTIONS)


def test_compact_sections_need_no_patterns() -> None:
    pieces = pp.divide(pp.box_mesh((1.0, 0.02, 0.02), (40, 1, 1)), pieces=4)
    bodies = [
        pp.reduce_divided(pieces, STEEL, cuts=cuts, **OPTIONS) for cuts in ("full", "averaged")
    ]
    assert bodies[0].digest == bodies[1].digest
    assert errors(bodies[0])[0]["tip force z"] == pytest.approx(0.0, abs=1e-6)


def test_runs_keep_the_local_displacements_equal() -> None:
    body = pp.reduce_divided(models("channel of shells", 2), stress=None, damping=0.01, **OPTIONS)
    model = fm.Model("swing")
    bar = model.add(fm.FlexibleBody("bar", data=body))
    model.add(fm.Revolute("hinge", model.ground, bar["root"], axis="y", v0=1.0))
    ways = [
        {"formalism": "multiplier"},
        {"formalism": "multiplier", "coordinates": "absolute"},
        {"formalism": "recursive"},
    ]
    runs = [fm.simulate(model, t_end=1e-3, step=4e-6, **way) for way in ways]
    found = {check.title for run in runs for check in run.audit if check.status != "PASS"}
    # of the sudden start, within a millisecond
    assert found <= {"Truncated modes"}, [run.audit for run in runs]
    assert runs[0].couplings == ()
    assert all(
        run.frame("bar/tip").position == pytest.approx(runs[0].frame("bar/tip").position, abs=1e-9)
        for run in runs
    )
    at = runs[0].compiled
    a, b = (at.data[name].frames["cut 1"].local for name in ("bar[1]", "bar[2]"))
    q = runs[0].body("bar").elastic
    size = np.abs(a @ q[:, : a.shape[1]].T).max()
    assert np.abs(a @ q[:, : a.shape[1]].T - b @ q[:, a.shape[1] :].T).max() < 1e-9 * size


def test_files_keep_the_local_displacements(tmp_path: Path) -> None:
    body = pp.reduce_divided(models("channel of shells", 2), stress=None, **OPTIONS)
    body.save(tmp_path / "bar.h5")
    read = DividedBodyData.load(tmp_path / "bar.h5")
    assert read.digest == body.digest
    assert len(read.pieces[0].frames["cut 1"].local) > 0
    assert np.array_equal(
        read.pieces[1].frames["cut 1"].local, body.pieces[1].frames["cut 1"].local
    )
    other = pp.reduce_divided(models("channel of shells", 2), stress=None, cuts="rigid", **OPTIONS)
    with pytest.raises(
        InputError, match=r"bar: cut 1 has \d+ local displacements in one piece, 0 in the other"
    ):
        DividedBodyData("bar", (body.pieces[0], other.pieces[1]))


def spidered(pieces: int) -> list[pp.FEModel]:
    """A channel of shells with rigid spiders at both ends, whose new centres have equal numbers in
    two pieces, and a mass.
    """
    meshes, ends = pp.divide(shells(OPEN, closed=False), pieces=pieces), {"root": "x0", "tip": "x1"}
    found = []
    for mesh in meshes:
        links = {
            name: pp.RigidSpider(given) for name, given in ends.items() if given in mesh.node_sets
        }
        made = pp.assemble(mesh, STEEL, sections=pp.ShellSection(0.003), connections=links)
        found.append(
            pp.attach(made, [pp.PointMass("tip", 0.5, inertia=(1e-3, 1e-3, 1e-3))])
            if "tip" in links
            else made
        )
    return found


def test_pieces_with_spiders_and_masses() -> None:
    at = {"interfaces": {"root": pp.Rigid("root"), "tip": pp.Rigid("tip")}}
    body = pp.reduce_divided(spidered(3), **{**OPTIONS, **at})
    loads, frequency, error = errors(body)
    assert max(map(abs, loads.values())) < 1e-4
    assert np.abs(error).max() < 0.02
    (whole,) = spidered(1)
    same = fm.linearize(cantilever(pp.reduce(whole, **{**OPTIONS, **at}))).modes.frequency
    assert frequency[:3] == pytest.approx(same[:3], rel=6e-3)  # six modes


DECK = """SOL 103
BEGIN BULK
MAT1,1,2.1+11,,0.3,7850.
PSHELL,1,1,0.004,1,,1
{grids}
{shells}
GRID,101,,0.0,0.05,0.0
GRID,102,,1.05,0.05,0.0
RBE2,501,101,123456,1,2
RBE2,502,102,123456,{last}
CONM2,503,102,,0.5
{more}
ENDDATA
"""


def strip(more: str = "") -> str:
    """A strip of ten shells along x, with a spider at each end and a mass at the tip."""
    grids = [f"GRID,{2 * i + j + 1},,{i / 10},{0.1 * j},0.0" for i in range(11) for j in range(2)]
    quads = [f"CQUAD4,{i + 1},1,{2 * i + 1},{2 * i + 3},{2 * i + 4},{2 * i + 2}" for i in range(10)]
    return DECK.format(grids="\n".join(grids), shells="\n".join(quads), last="21,22", more=more)


def test_a_deck_with_spiders_is_divided(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "strip.bdf").write_text(strip())
    mesh = pp.read_mesh(tmp_path / "strip.bdf", unit="m", structural=True)
    pieces = pp.divide(mesh, pieces=2)
    assert [len(piece.declared.connections) for piece in pieces] == [1, 1]
    assert [len(piece.declared.masses) for piece in pieces] == [0, 1]
    ends = {"root": pp.Rigid(pp.Point((0, 0.05, 0))), "tip": pp.Rigid(pp.Point((1.05, 0.05, 0)))}
    body = pp.reduce_divided(
        pieces, interfaces=ends, reference="root", method=pp.CraigBampton(modes=6), name="bar"
    )
    assert body.mass == pytest.approx(1.0 * 0.1 * 0.004 * 7850 + 0.5)
    loads, frequency, error = errors(body)
    assert max(map(abs, loads.values())) < 1e-4
    assert np.abs(error).max() < 0.02
    body.save(tmp_path / "strip.h5")
    with pytest.raises(SystemExit) as end:
        main(["inspect", str(tmp_path / "strip.h5")])
    assert end.value.code == 0
    assert (
        "largest relative errors of the pieces together, against the whole part: frequencies, held"
        in capsys.readouterr().out
    )
    whole = pp.reduce(
        mesh, interfaces=ends, reference="root", method=pp.CraigBampton(modes=6), name="bar"
    )
    assert frequency[:3] == pytest.approx(
        fm.linearize(cantilever(whole)).modes.frequency[:3], rel=2e-3
    )


@pytest.mark.parametrize(
    ("card", "message"),
    [
        (
            "RBE2,504,3,123,19",
            "connections.RBE2 504: its nodes are in pieces 1, 2, or on a cut; it must be in one "
            "piece and off the cuts",
        ),
        ("RBE2,504,11,123,13", "connections.RBE2 504: its nodes are in pieces 1, 2, or on a cut"),
        ("CONM2,504,11,,0.1", "mass 2 at node 11: its nodes are in pieces 1, 2, or on a cut"),
    ],
)
def test_connections_across_a_cut_are_refused(card: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "strip.bdf").write_text(strip(card))
    with pytest.raises(InputError, match="^" + re.escape(message)):
        pp.divide(pp.read_mesh(tmp_path / "strip.bdf", unit="m", structural=True), pieces=2)


def test_a_part_file_with_pieces_and_spiders(tmp_path: Path) -> None:
    (tmp_path / "strip.bdf").write_text(strip())
    (tmp_path / "part.toml").write_text("""
format = "flexmbs-part/1"
mesh = "strip.bdf"
structural = true
material = { E = 2.1e11, nu = 0.3, rho = 7850.0 }
unit = "m"
reference = "root"
interfaces.root.point = [0.0, 0.05, 0.0]
interfaces.tip.point = [1.05, 0.05, 0.0]
connections.middle = { kind = "rigid-spider", point = [0.2, 0.05, 0.0], radius = 0.06 }
point_masses.tool = { set = "middle", mass = 0.25, inertia = [1e-3, 1e-3, 1e-3] }
[divide]
pieces = 2
""")
    body = pp.read_part(tmp_path / "part.toml").body()
    assert body.mass == pytest.approx(1.0 * 0.1 * 0.004 * 7850 + 0.75)
    assert max(map(abs, errors(body)[0].values())) < 1e-4


def test_held_parts_are_refused() -> None:
    pieces = models("channel of shells", 2)
    pieces[1] = dataclasses.replace(pieces[1], held=True)
    with pytest.raises(
        InputError, match=r"^part: was assembled with held=True; a body must be free to move"
    ):
        pp.reduce_divided(pieces, **OPTIONS)


def test_other_modal_coordinates_keep_the_local_displacements() -> None:
    """A = pᵀΦ of q = T q' is A T."""
    piece = pp.reduce_divided(
        models("channel of shells", 2), stress=None, damping=0.01, **OPTIONS
    ).pieces[0]
    T = np.random.default_rng(3).normal(size=(piece.nf, piece.nf))
    assert np.array_equal(
        transformed(piece, T).frames["cut 1"].local, piece.frames["cut 1"].local @ T
    )
    assert np.array_equal(transformed(piece, T).damping_rows, piece.damping_rows @ T)


def columns(seed: int) -> pp.Mesh:
    """Box of hexahedra in two element sets, each column of cells along x cut at a random place."""
    ends = np.random.default_rng(seed).integers(2, 5, size=(3, 3))
    box = pp.box_mesh((0.6, 0.3, 0.3), (6, 3, 3), "hex8")
    (block,) = box.blocks.values()
    at = np.floor(box.nodes[block.connectivity].mean(axis=1) / 0.1).astype(int)
    beyond = at[:, 0] >= ends[at[:, 1], at[:, 2]]
    return dataclasses.replace(
        box, element_sets={"first": block.ids[~beyond], "second": block.ids[beyond]}
    )


@pytest.mark.parametrize("seed", range(6))
def test_both_sides_of_interlocking_pieces_have_one_frame(seed: int) -> None:
    """Some elements have faces whose nodes are all shared and that do not lie between the pieces; a
    mean over those of one piece put its frame elsewhere, so that the pieces were moved apart with
    PASS."""
    mesh = columns(seed)
    body = pp.reduce_divided(pp.divide(mesh, sets=["first", "second"]), STEEL, **OPTIONS)
    assert max(map(abs, errors(body)[0].values())) < 1e-3
    assert len(body.joined.surface.nodes) == len(mesh.nodes)
    assert body.frames["tip"].x - body.frames["root"].x == pytest.approx([0.6, 0.0, 0.0], abs=1e-12)
    whole = twist(pp.reduce(mesh, STEEL, **OPTIONS))
    assert twist(body) == pytest.approx(whole, rel=1e-3)


def skinned() -> pp.Mesh:
    """Hexahedra with shells on top, whose cells across have other sizes."""
    box = pp.box_mesh((0.2, 0.04, 0.04), (6, 3, 2), "hex8")
    (block,) = box.blocks.values()
    x = box.nodes * (1.0, 1.0, 1.0) + np.outer(
        box.nodes[:, 1] ** 2 * (0.04 - box.nodes[:, 1]) * 400.0, (0.0, 1.0, 0.0)
    )
    top = block.connectivity[np.isclose(x[block.connectivity][:, :, 2].mean(axis=1), 0.03)]
    quads = np.array([[node for node in each if np.isclose(x[node, 2], 0.04)] for each in top])
    own = np.isclose(x[:, 2], 0.04)
    sets = {"x0": (x[:, 0] < 1e-9) & ~own, "x1": (x[:, 0] > 0.2 - 1e-9) & ~own}
    return pp.Mesh.from_arrays(
        x,
        {"hex8": block.connectivity, "quad4": quads},
        node_sets={name: np.flatnonzero(rows) for name, rows in sets.items()},
        element_sets={"core": np.arange(1, 37), "skin": np.arange(37, 55)},
    )


def test_a_cut_between_solids_and_shells_has_one_frame() -> None:
    """A mean over faces from the side of the solids, over nodes from that of the shells."""
    mesh, section = skinned(), pp.ShellSection(0.003)
    core, skin = pp.divide(mesh, sets=["core", "skin"])
    pieces = [pp.assemble(core, STEEL), pp.assemble(skin, STEEL, sections=section)]
    body = pp.reduce_divided(pieces, **OPTIONS)
    assert max(map(abs, errors(body)[0].values())) < 1e-3
    assert len(
        {tuple(x) for x in body.joined.surface.nodes[: len(mesh.nodes)].round(9).tolist()}
    ) == len(mesh.nodes)


def test_pieces_of_different_reductions_do_not_fit() -> None:
    """Though they have as many patterns: these are of other forces."""
    mesh = shells(OPEN, closed=False)
    bodies = [
        pp.reduce_divided(
            [
                pp.assemble(piece, STEEL, sections=pp.ShellSection(t))
                for piece in pp.divide(mesh, pieces=2)
            ],
            **OPTIONS,
        )
        for t in (0.003, 0.0031)
    ]
    counts = {len(body.pieces[k].frames["cut 1"].local) for body in bodies for k in range(2)}
    assert len(counts) == 1
    assert counts != {0}
    with pytest.raises(
        InputError,
        match="bar: cut 1 belongs to different parts or reductions in pieces 1 and 2; use all "
        "pieces of one",
    ):
        DividedBodyData("bar", (bodies[0].pieces[0], bodies[1].pieces[1]))


def test_averaged_cuts_of_other_meshes_do_not_fit() -> None:
    bodies = [
        pp.reduce_divided(
            pp.divide(pp.box_mesh((1.0, 0.02, 0.02), (n, 1, 1)), pieces=2),
            STEEL,
            cuts="averaged",
            **OPTIONS,
        )
        for n in (8, 10)
    ]
    with pytest.raises(InputError, match="cut 1 belongs to different parts"):
        DividedBodyData("bar", (bodies[0].pieces[0], bodies[1].pieces[1]))


def test_rigid_cuts_without_an_estimate_warn() -> None:
    pieces = pp.divide(pp.box_mesh((0.8, 0.02, 0.03), (16, 1, 1)), pieces=2)
    with pytest.warns(
        pp.PreprocessWarning, match="rigid cuts make the part stiffer, by an amount that is not"
    ):
        pp.reduce_divided(pieces, STEEL, cuts="rigid", estimate=False, **OPTIONS)


@pytest.mark.parametrize("cuts", ["full", "averaged"])
@pytest.mark.parametrize(
    "method", [pp.FreeModes(modes=6), pp.Guyan(), pp.Rubin(modes=2), pp.Krylov()]
)
def test_pieces_of_every_method_answer_loads_at_their_cuts(method: object, cuts: str) -> None:
    """Free modes alone have no static response to what the welds transmit: three pieces were 20 %
    too stiff in frequency.
    """
    mesh = pp.box_mesh((0.6, 0.02, 0.02), (12, 1, 1))
    body = pp.reduce_divided(
        pp.divide(mesh, pieces=3), STEEL, cuts=cuts, **(OPTIONS | {"method": method})
    )
    loads, _, error = errors(body)
    assert max(map(abs, loads.values())) < 1e-4
    assert np.abs(error[:4]).max() < 5e-3


@pytest.mark.parametrize(
    ("pieces", "modes", "cells"), [(2, 12, 10), (2, 20, 10), (5, 12, 10), (2, 3, 4)]
)
def test_coarse_pieces_with_many_modes_stay_as_soft_as_they_are(
    pieces: int, modes: int, cells: int
) -> None:
    """Their shapes are as many as what has mass: normal modes are dropped, not the responses that
    the welds need (28 % too stiff), and pieces whose cut hardly any mass follows have mean axes
    (their mass matrix was singular)."""
    x = np.array([(i / cells, 0.1 * j, 0.0) for i in range(cells + 1) for j in range(2)])
    quads = np.array([[2 * i, 2 * i + 2, 2 * i + 3, 2 * i + 1] for i in range(cells)])
    mesh = pp.Mesh.from_arrays(x, {"quad4": quads}, node_sets=ends(x))
    made = []
    for piece in pp.divide(mesh, pieces=pieces):
        links = {
            name: pp.RigidSpider(at)
            for name, at in (("root", "x0"), ("tip", "x1"))
            if at in piece.node_sets
        }
        made.append(pp.assemble(piece, STEEL, sections=pp.ShellSection(0.004), connections=links))
    at = {name: pp.Rigid(name) for name in ("root", "tip")}
    body = pp.reduce_divided(
        made, interfaces=at, reference="root", method=pp.CraigBampton(modes=modes), name="bar"
    )
    loads, frequency, error = errors(body)
    assert max(map(abs, loads.values())) < 1e-4
    assert np.abs(error).max() < 1e-3
    assert body.failed == ()
    assert fm.linearize(cantilever(body)).modes.frequency[:3] == pytest.approx(
        frequency[:3], rel=1e-4
    )


def stiffened(data: fm.FlexibleBodyData | DividedBodyData) -> np.ndarray:
    """Change (6,) of the squares of the lowest frequencies by a tension of 1 N at the tip, over
    these squares.
    """
    found = []
    for force in (100.0, -100.0):
        model = fm.Model("strip", gravity=(0, 0, 0))
        body = model.add(fm.FlexibleBody("bar", data=data))
        model.add(fm.Fixed("clamp", model.ground, body["root"]))
        model.add(fm.FrameForce("pull", body["tip"], force=(force, 0.0, 0.0)))
        found.append(fm.linearize(model, start=fm.statics(model)).modes.frequency[:6])
    high, low = found
    return 2.0 * (high - low) / (high + low) / 100.0


@pytest.mark.parametrize("edge", [1.0, 0.34])
def test_what_stiffening_lacks_at_cuts_is_told(edge: float) -> None:
    """A plate pulled at its whole edge or at the middle of it, where the tension is uneven over the
    cuts, whose patterns have no geometric stiffness: what the pieces together stiffen too much or
    too little in the model is what the estimate says."""
    box = pp.box_mesh((0.16, 0.24, 0.002), (8, 12, 1), "hex8")
    middle = (np.abs(box.nodes[:, 1] - 0.12) < 0.12 * edge + 1e-9) & (box.nodes[:, 0] > 0.16 - 1e-9)
    mesh = dataclasses.replace(box, node_sets={**box.node_sets, "x1": np.flatnonzero(middle)})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        body = pp.reduce_divided(
            pp.divide(mesh, pieces=4), STEEL, **(OPTIONS | {"method": pp.CraigBampton(modes=8)})
        )
    assert any(
        "stiffening by tip force x has a relative error of up to" in str(each.message)
        for each in caught
    ) == (edge < 1.0)
    told = float(
        body.provenance["accuracy: pieces, stiffening"].split("tip force x ")[1].split(",")[0]
    )
    whole = stiffened(pp.reduce(mesh, STEEL, **(OPTIONS | {"method": pp.CraigBampton(modes=40)})))
    found = np.abs(stiffened(body) - whole).max() / np.abs(whole).max()
    assert told == pytest.approx(found, rel=0.25, abs=2e-3)
