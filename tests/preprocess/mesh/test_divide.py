"""Divided parts: pieces share out the mesh; welded bodies against the elastica and the undivided
part.
"""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

import flexmbs as fm
import preprocess as pp
from flexmbs.errors import InputError
from preprocess.elements import ELEMENTS

LENGTH, SIDE = 1.0, 0.02
# held cuts do not stiffen it, as in beam theory
SLENDER = pp.Isotropic(E=2.1e11, nu=0.0, rho=7850.0)
EI = 2.1e11 * SIDE**4 / 12
BAR = pp.box_mesh((LENGTH, SIDE, SIDE), (40, 1, 1))


@pytest.mark.parametrize("element", ELEMENTS)
def test_pieces_share_out_the_elements(element: str) -> None:
    mesh = pp.box_mesh((0.4, 0.1, 0.1), (6, 2, 2), element)
    pieces = pp.divide(mesh, pieces=3, along="x")
    (block,) = mesh.blocks.values()
    ids = [next(iter(piece.blocks.values())).ids for piece in pieces]
    assert np.array_equal(np.sort(np.concatenate(ids)), block.ids)
    masses = [pp.assemble(piece, SLENDER).mass for piece in pieces]
    assert sum(masses) == pytest.approx(pp.assemble(mesh, SLENDER).mass, rel=1e-12)
    for n, (one, two) in enumerate(itertools.pairwise(pieces), 1):
        shared = [piece.node_ids[piece.node_sets[f"cut {n}"]] for piece in (one, two)]
        assert np.array_equal(*map(np.sort, shared))
        assert np.array_equal(np.sort(shared[0]), np.intersect1d(one.node_ids, two.node_ids))
    assert [
        sorted(name for name in piece.node_sets if name[0] != "y" and name[0] != "z")
        for piece in pieces
    ] == [
        ["cut 1", "x0"],
        ["cut 1", "cut 2"],
        ["cut 2", "x1"],
    ]


def test_planes_directions_and_element_sets() -> None:
    mesh = pp.box_mesh((0.4, 0.1, 0.1), (8, 2, 2))
    places = [
        [np.ptp(piece.nodes[:, 0]).round(9) for piece in pp.divide(mesh, planes=planes)]
        for planes in (0.1, (0.1, 0.3))
    ]
    assert places == [[0.1, 0.3], [0.1, 0.2, 0.1]]
    low, high = pp.divide(mesh, pieces=2, along=(0.0, 0.0, -2.0))
    assert low.nodes[:, 2].min() == high.nodes[:, 2].max() == 0.05
    (block,) = mesh.blocks.values()
    x = mesh.nodes[block.connectivity].mean(axis=1)[:, 0]
    sets = {"root": block.ids[x < 0.15], "tip": block.ids[x > 0.15]}
    marked = pp.Mesh.from_arrays(mesh.nodes, {"hex20": block.connectivity}, element_sets=sets)
    root, tip = pp.divide(marked, sets=("root", "tip"))
    assert (len(root.nodes), len(tip.nodes)) == tuple(
        len(piece.nodes) for piece in pp.divide(mesh, planes=[0.15])
    )
    assert list(tip.element_sets) == ["tip"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "divide: give one of pieces, planes and sets, not none"),
        (
            {"pieces": 2, "planes": [0.2]},
            "divide: give one of pieces, planes and sets, not pieces and planes",
        ),
        ({"pieces": 0}, "pieces: is 0; give a number from 1 to 100"),
        ({"pieces": 2.5}, "pieces"),
        ({"pieces": 60}, r"divide: piece \d+ has no element; use fewer pieces or a finer mesh"),
        ({"pieces": 2, "along": "w"}, "along: is 'w'; give 'x', 'y', 'z' or a direction"),
        ({"pieces": 2, "along": (0, 0, 0)}, "along: has zero length"),
        (
            {"planes": [0.3, 0.2]},
            r"planes: \[0.3, 0.2\]; give ascending positions between 0 and 1 m",
        ),
        ({"planes": [2.0]}, "planes: "),
        ({"sets": "root"}, "sets: 'root'; give the names of two or more element sets"),
        ({"sets": ("root", "tip")}, "no element set 'root'; it has: none"),
    ],
)
def test_impossible_divisions_are_refused(options, message: str) -> None:
    with pytest.raises(InputError, match=message):
        pp.divide(BAR, **options)


def test_pieces_are_not_divided_again() -> None:
    """Their node sets "cut 1", … would be taken for cuts of the new division."""
    with pytest.raises(
        InputError, match="node set 'cut 1': names that begin with 'cut ' are reserved for cuts"
    ):
        pp.divide(pp.divide(BAR, pieces=2)[0], pieces=2)


def test_pieces_that_meet_at_a_corner_are_refused() -> None:
    mesh = pp.box_mesh((0.2, 0.2, 0.1), (2, 2, 1))
    (block,) = mesh.blocks.values()
    marked = pp.Mesh.from_arrays(
        mesh.nodes, {"hex20": block.connectivity}, element_sets={f"e{k}": [k + 1] for k in range(4)}
    )  # fmt: skip
    with pytest.raises(InputError, match="divide: pieces 1, 2, 3, 4 share a node"):
        pp.divide(marked, sets=("e0", "e1", "e2", "e3"))
    with pytest.raises(InputError, match="sets: element 3 is in 0 of e0, e1"):
        pp.divide(marked, sets=("e0", "e1"))


def welded(pieces: int, force: float, modes: int = 4) -> tuple[fm.Model, fm.FrameRef]:
    """The bar, clamped at x0, as bodies welded at the cuts, with a force along z at x1."""
    model = fm.Model("bar", gravity=(0, 0, 0))
    end = model.ground
    for k, mesh in enumerate(pp.divide(BAR, pieces=pieces) if pieces > 1 else (BAR,), 1):
        first, last = ("x0" if k == 1 else f"cut {k - 1}"), ("x1" if k == pieces else f"cut {k}")
        interfaces = {name: pp.Rigid(name) for name in (first, last)}
        data = pp.reduce(
            mesh,
            SLENDER,
            interfaces=interfaces,
            method=pp.CraigBampton(modes=modes),
            reference=first,
        )
        piece = model.add(fm.FlexibleBody(f"bar {k}", data=data))
        model.add(fm.Fixed(f"weld {k}", end, piece[first]))
        end = piece[last]
    model.add(fm.FrameForce("load", end, force=(0.0, 0.0, force)))
    return model, end


def elastica(force: float) -> np.ndarray:
    """Tip position (x, z) and angle of an inextensible cantilever under a dead load across it: EI
    θ'' = −F cos θ.
    """

    def slope(s: float, y: np.ndarray) -> list[float]:
        return [y[1], -force / EI * np.cos(y[0]), np.cos(y[0]), np.sin(y[0])]

    def end(curvature: float) -> np.ndarray:
        return scipy.integrate.solve_ivp(
            slope, (0, LENGTH), [0, curvature, 0, 0], rtol=1e-10, atol=1e-12
        ).y[:, -1]

    root = scipy.optimize.brentq(
        lambda curvature: end(curvature)[1], 0.0, 1.01 * force * LENGTH / EI
    )
    return end(root)[[2, 3, 0]]


def tip(pieces: int, force: float) -> np.ndarray:
    model, end = welded(pieces, force)
    frame = fm.statics(model).solution.frame(str(end))
    return np.array([frame.position[-1][0], frame.position[-1][2]])


def test_tip_load_to_thirty_percent_of_the_length() -> None:
    """Four pieces within 1e-3 of the length; the error falls with the number of pieces."""
    force = scipy.optimize.brentq(lambda force: elastica(force)[1] - 0.3 * LENGTH, 1000.0, 5000.0)
    expected = elastica(force)[:2]
    errors = {pieces: np.abs(tip(pieces, force) - expected).max() / LENGTH for pieces in (1, 2, 4)}
    assert errors[4] < 1e-3
    assert errors[4] < 0.3 * errors[2] < 0.3 * errors[1]


def test_frequencies_are_those_of_the_undivided_part() -> None:
    found = [
        fm.linearize(welded(pieces, 0.0, modes)[0]).modes.frequency[:6]
        for pieces, modes in ((1, 40), (3, 10))
    ]
    np.testing.assert_allclose(found[1], found[0], rtol=2e-4)


def test_the_proposed_number_of_pieces_is_within_the_linear_range() -> None:
    model, _ = welded(1, 2780.0)
    (check,) = (
        check for check in fm.statics(model).solution.audit if check.title == "Deflection of bar 1"
    )
    assert check.status == "WARN"
    pieces = int(
        re.fullmatch(r"divide it into (\d+) pieces along its length, with pp.divide", check.remedy)[
            1
        ]
    )
    assert 5 <= pieces <= 8
    model, _ = welded(pieces, 2780.0)
    found = [
        check.status
        for check in fm.statics(model).solution.audit
        if check.title.startswith("Deflection")
    ]
    assert found == ["PASS"] * pieces


def test_sections_of_a_deck_go_with_their_elements(tmp_path: Path) -> None:
    """Beams of two sections, divided between them at one node: each piece has its own."""
    lines = ["*NODE", *(f"{k + 1}, {0.1 * k}, 0., 0." for k in range(9))]
    for name, ids in (("A", range(1, 5)), ("B", range(5, 9))):
        lines += [f"*ELEMENT, TYPE=B31, ELSET=E{name}", *(f"{k}, {k}, {k + 1}" for k in ids)]
    lines += ["*MATERIAL, NAME=STEEL", "*ELASTIC", "2.1e11, 0.3", "*DENSITY", "7850."]
    for name, side in (("A", 0.02), ("B", 0.01)):
        lines += [
            f"*BEAM SECTION, ELSET=E{name}, MATERIAL=STEEL, SECTION=RECT",
            f"{side}, {side}",
            "0., 0., 1.",
        ]
    (tmp_path / "beam.inp").write_text("\n".join([*lines, ""]))
    pieces = pp.divide(
        pp.read_mesh(tmp_path / "beam.inp", unit="m", structural=True), sets=("EA", "EB")
    )
    assert [len(piece.node_sets["cut 1"]) for piece in pieces] == [1, 1]
    masses = [pp.assemble(piece, SLENDER).mass for piece in pieces]
    assert masses == pytest.approx([7850 * 0.4 * 0.02**2, 7850 * 0.4 * 0.01**2])
