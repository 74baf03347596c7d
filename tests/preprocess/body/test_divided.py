"""Divided bodies: averaged cuts leave the part as it is; large bending against the elastica;
refusals; part files.
"""

from pathlib import Path

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

import flexmbs as fm
import preprocess as pp
from flexmbs.audit import cross_check
from flexmbs.audit.audit_samples import states_as_solution
from flexmbs.errors import InputError
from flexmbs.flexible_body.divided import DividedBodyData
from flexmbs.results.solution import SolutionData
from preprocess.elements import ELEMENTS
from preprocess.fe.assemble_pieces import assemble_pieces
from preprocess.mesh.face_mass import face_mass
from preprocess.part_file import read_part

LENGTH, SIDE, E = 1.0, 0.02, 2.1e11
STEEL = pp.Isotropic(E=E, nu=0.3, rho=7850.0)
ENDS = {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
FEW = {
    "interfaces": ENDS,
    "reference": "root",
    "method": pp.CraigBampton(modes=4),
    "estimate": False,
}


@pytest.mark.parametrize("element", ELEMENTS)
def test_masses_of_faces_integrate_linear_functions(element: str) -> None:
    """∫ dA, ∫ x dA and ∫ x² dA of a rectangle 0.2 × 0.1."""
    mesh = pp.box_mesh((0.1, 0.2, 0.1), (1, 3, 2), element)
    rows = mesh.node_sets["x1"]
    m, y = face_mass(mesh, rows), mesh.nodes[rows, 1]
    assert m.sum() == pytest.approx(0.02, rel=1e-12)
    assert (m @ y).sum() == pytest.approx(0.2**2 / 2 * 0.1, rel=1e-12)
    assert y @ m @ y == pytest.approx(0.2**3 / 3 * 0.1, rel=1e-12)
    assert abs(m - m.T).max() < 1e-18


def tip(body: fm.FlexibleBodyData | DividedBodyData, force: float) -> np.ndarray:
    model = fm.Model("bar", gravity=(0, 0, 0))
    bar = model.add(fm.FlexibleBody("bar", data=body))
    model.add(fm.Fixed("clamp", model.ground, bar["root"]))
    model.add(fm.FrameForce("load", bar["tip"], force=(0.0, 0.0, force)))
    return fm.statics(model).solution.frame("bar/tip").position[-1]


@pytest.mark.parametrize(
    ("element", "within", "count"), [("hex20", 1e-6, 4), ("hex8", 1e-5, 8), ("tet10", 2e-5, 4)]
)
def test_averaged_cuts_do_not_change_small_deflections(
    element: str, within: float, count: int
) -> None:
    """Poisson's contraction is free at the cuts: the deflection is that of the undivided bar; rigid
    cuts hold it.
    """
    mesh = pp.box_mesh((LENGTH, SIDE, SIDE), (40, 1, 1), element)
    whole = tip(pp.reduce(mesh, STEEL, **FEW), 1.0)[2]
    pieces = pp.divide(mesh, pieces=count)
    assert tip(pp.reduce_divided(pieces, STEEL, **FEW), 1.0)[2] == pytest.approx(whole, rel=within)
    assert tip(pp.reduce_divided(pieces, STEEL, **FEW, cuts="rigid"), 1.0)[2] < (1 - 4e-3) * whole


def elastica(force: float) -> np.ndarray:
    """Tip (x, z) of an inextensible cantilever: EI θ'' = −F cos θ."""
    EI = E * SIDE**4 / 12

    def shot(curvature: float) -> np.ndarray:
        def slope(s: float, y: np.ndarray) -> list[float]:
            return [y[1], -force / EI * np.cos(y[0]), np.cos(y[0]), np.sin(y[0])]

        return scipy.integrate.solve_ivp(
            slope, (0, LENGTH), [0, curvature, 0, 0], rtol=1e-10, atol=1e-12
        ).y[:, -1]

    return shot(scipy.optimize.brentq(lambda k: shot(k)[1], 0.0, 1.01 * force * LENGTH / EI))[2:]


def test_a_tip_load_to_thirty_percent_of_the_length() -> None:
    """With ν = 0.3 within 1e-3 of the elastica with four pieces, and eight are no worse; the ends
    may contract as the cuts.
    """
    force = scipy.optimize.brentq(lambda load: elastica(load)[1] - 0.3 * LENGTH, 1000.0, 5000.0)
    mesh = pp.box_mesh((LENGTH, SIDE, SIDE), (40, 1, 1))
    held = pp.reduce_divided(pp.divide(mesh, pieces=4), STEEL, **FEW)
    assert np.abs(tip(held, force)[[0, 2]] - elastica(force)).max() < 1e-3 * LENGTH
    # whose corners have equal shares of a moment
    mesh = pp.box_mesh((LENGTH, SIDE, SIDE), (40, 1, 1), "hex8")
    free = {**FEW, "interfaces": {"root": pp.Averaged("x0"), "tip": pp.Averaged("x1")}}
    bodies = [pp.reduce_divided(pp.divide(mesh, pieces=count), STEEL, **free) for count in (4, 8)]
    four, eight = (
        np.abs(tip(body, force)[[0, 2]] - elastica(force)).max() / LENGTH for body in bodies
    )
    assert four < 1e-3
    assert eight < four


def portal() -> pp.Mesh:
    """Two legs of 0.6 m between two crossbars."""
    box = pp.box_mesh((0.6, 0.2, 0.02), (12, 4, 1))
    table = box.blocks["hex20"].connectivity
    x, y, _ = box.nodes[table].mean(axis=1).T
    used, rows = np.unique(
        table[(x < 0.05) | (x > 0.55) | (y < 0.05) | (y > 0.15)], return_inverse=True
    )
    nodes = box.nodes[used]
    ends = {
        "x0": np.flatnonzero(nodes[:, 0] < 1e-9),
        "x1": np.flatnonzero(nodes[:, 0] > 0.6 - 1e-9),
    }
    return pp.Mesh.from_arrays(nodes, {"hex20": rows.reshape(-1, 20)}, node_sets=ends)


@pytest.mark.parametrize("cuts", ["averaged", "rigid"])
def test_each_leg_of_a_frame_has_its_own_cut(cuts: str) -> None:
    """One averaged cut through both would let each leg bend freely there, one rigid cut would hold
    them to each other.
    """
    mesh, options = (
        portal(),
        {**FEW, "interfaces": {"root": pp.Rigid("x0")}, "method": pp.CraigBampton(modes=12)},
    )
    pieces = pp.divide(mesh, pieces=2)
    assert [[name for name in piece.node_sets if name.startswith("cut")] for piece in pieces] == [
        ["cut 1", "cut 2"]
    ] * 2
    assert not set(pieces[0].node_sets["cut 1"]) & set(pieces[0].node_sets["cut 2"])
    found = []
    for body in (
        pp.reduce(mesh, STEEL, **options),
        pp.reduce_divided(pieces, STEEL, cuts=cuts, **options),
    ):
        model = fm.Model("frame", gravity=(0, 0, 0))
        model.add(
            fm.Fixed("clamp", model.ground, model.add(fm.FlexibleBody("frame", data=body))["root"])
        )
        found.append(fm.linearize(model).modes.frequency[:5])
    assert np.allclose(found[1], found[0], rtol=5e-3 if cuts == "averaged" else 0.02)


def test_pieces_are_numbered_from_the_reference() -> None:
    mesh = pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1))
    pieces = pp.divide(mesh, pieces=4)
    middle = pp.Rigid(pp.Plane((0.25, 0, 0), (1, 0, 0)))
    body = pp.reduce_divided(
        pieces, STEEL, interfaces={"pin": middle, **ENDS}, reference="pin", estimate=False
    )
    assert [sorted(piece.frames) for piece in body.pieces] == [
        ["cut 2", "cut 3", "pin"], ["cut 1", "cut 2"], ["cut 3", "tip"], ["cut 1", "root"],
    ]  # fmt: skip
    assert body.mass == pytest.approx(0.4 * 0.02**2 * 7850)
    assert tuple(body.frames) == ("pin", "tip", "root")


def test_materials_by_element_set() -> None:
    box = pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1))
    (block,) = box.blocks.values()
    x = box.nodes[block.connectivity].mean(axis=1)[:, 0]
    mesh = pp.Mesh.from_arrays(
        box.nodes, {"hex20": block.connectivity}, node_sets=dict(box.node_sets),
        element_sets={"root": block.ids[x < 0.2], "tip": block.ids[x > 0.2]},
    )  # fmt: skip
    light = pp.Isotropic(E=7e10, nu=0.33, rho=2700.0)
    pieces = pp.divide(mesh, sets=("root", "tip"))
    body = pp.reduce_divided(
        pieces, {"root": STEEL, "tip": light}, interfaces=ENDS, reference="root", estimate=False
    )
    assert [piece.mass for piece in body.pieces] == pytest.approx(
        [7850 * 0.2 * 0.02**2, 2700 * 0.2 * 0.02**2]
    )
    with pytest.raises(InputError, match="materials: no piece has the element set 'tpi'"):
        pp.reduce_divided(pieces, {"root": STEEL, "tpi": light}, interfaces=ENDS, reference="root")


def test_pieces_given_to_reduce_name_the_function_for_them() -> None:
    with pytest.raises(
        InputError, match="part: is 2 pieces; use reduce_divided for the pieces of a part"
    ):
        pp.reduce(
            pp.divide(pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)), pieces=2),
            STEEL,
            interfaces=ENDS,
            reference="root",
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"reference": "mean axes"},
            "reference: a divided body has its frame at an interface; give one of: root, tip",
        ),
        ({"cuts": "half"}, "cuts: is 'half'; give one of: full, averaged, rigid"),
        (
            {"damping": (0.1, 0.2)},
            "damping: 2 ratios for 38 modes; give one number, one per mode or a function of Hz",
        ),
        ({"damping": -0.1}, "damping: ratio -0.1 of mode 1; ratios must not be negative"),
        (
            {"interfaces": {"root": pp.Rigid("y0")}},
            "interfaces.root: its nodes are in pieces 1, 2; an interface is in one piece",
        ),
        (
            {"interfaces": {"root": pp.Rigid("cut 1")}},
            "interfaces.root: its nodes are in pieces 1, 2",
        ),
        ({"interfaces": {"root": pp.Rigid("x9")}}, "interfaces.root: the mesh has no set 'x9'"),
        (
            {"interfaces": {"cut 7": pp.Rigid("x0")}, "reference": "cut 7"},
            "interfaces.cut 7: names that begin with 'cut '",
        ),
    ],
)
def test_what_cannot_be_divided_is_refused(options: dict[str, object], message: str) -> None:
    pieces = pp.divide(pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)), pieces=2)
    with pytest.raises(InputError, match="^" + message.replace("(", r"\(")):
        pp.reduce_divided(pieces, STEEL, **{"interfaces": ENDS, "reference": "root", **options})


def test_a_forgotten_piece_is_noticed() -> None:
    pieces = pp.divide(pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1)), pieces=3)
    with pytest.raises(
        InputError,
        match="pieces: hex20 box, piece 2: no other piece has its cut 2; give all pieces of the part",
    ):
        pp.reduce_divided(pieces[:2], STEEL, interfaces={"root": pp.Rigid("x0")}, reference="root")


PART = """
format = "flexmbs-part/1"
mesh = "bar.inp"
unit = "m"
reference = "root"
material = { E = 2.1e11, nu = 0.3, rho = 7850.0 }
interfaces.root.set = "LOW"
interfaces.tip.set = "HIGH"
method.modes = 2
estimate = false
[divide]
pieces = 2
along = "x"
"""


def bar(folder: Path, text: str) -> Path:
    """A part file with the deck of its mesh."""
    mesh = pp.box_mesh((0.4, 0.02, 0.02), (8, 1, 1), "hex8")
    (block,) = mesh.blocks.values()
    lines = ["*NODE", *(f"{k + 1}, {x}, {y}, {z}" for k, (x, y, z) in enumerate(mesh.nodes))]
    lines += ["*ELEMENT, TYPE=C3D8, ELSET=ALL"]
    lines += [", ".join(map(str, [k + 1, *(row + 1)])) for k, row in enumerate(block.connectivity)]
    for name, given in (("LOW", "x0"), ("HIGH", "x1")):
        lines += [f"*NSET, NSET={name}", ", ".join(str(row + 1) for row in mesh.node_sets[given])]
    (folder / "bar.inp").write_text("\n".join([*lines, ""]))
    (folder / "part.toml").write_text(text)
    return folder / "part.toml"


def test_a_part_file_with_pieces(tmp_path: Path) -> None:
    part = read_part(bar(tmp_path, PART))
    mesh = pp.read_mesh(tmp_path / "bar.inp", unit="m")
    ends = {"root": pp.Rigid("LOW"), "tip": pp.Rigid("HIGH")}
    same = pp.reduce_divided(
        pp.divide(mesh, pieces=2),
        STEEL,
        interfaces=ends,
        reference="root",
        method=pp.CraigBampton(modes=2),
        estimate=False,
    )
    found = part.reduce_divided()
    assert [piece.digest for piece in found.pieces] == [piece.digest for piece in same.pieces]
    with pytest.raises(InputError, match=r"divide: the part is divided, a single piece is needed"):
        part.reduce()
    with pytest.raises(InputError, match=r"divide: is missing"):
        read_part(bar(tmp_path, PART.partition("[divide]")[0])).reduce_divided()


@pytest.mark.parametrize("key", ["band = 100.0", "prestress = { loads = {} }"])
def test_keys_of_one_piece_are_refused(key: str, tmp_path: Path) -> None:
    name = key.split(" ")[0].split(".")[0]
    with pytest.raises(
        InputError, match=rf"{name}: is not available for a divided part; omit it with \[divide\]"
    ):
        read_part(bar(tmp_path, PART.replace("[divide]", f"{key}\n[divide]")))


def curved_sheet(kind: str, angle: float = np.pi / 2) -> pp.Mesh:
    """A quarter of a cylinder of radius 0.1 m, with four sets of elements along the arc."""
    n, width, fine = 8, 3, 2 if kind in ("quad8", "tri6") else 1
    rows = np.arange((fine * n + 1) * (fine * width + 1)).reshape(fine * n + 1, -1)
    a, y = np.meshgrid(
        np.linspace(0, angle, fine * n + 1), np.linspace(0, 0.04, fine * width + 1), indexing="ij"
    )
    nodes = np.stack([0.1 * np.sin(a), y, 0.1 * (1 - np.cos(a))], axis=-1).reshape(-1, 3)
    corners = [(0, 0), (fine, 0), (fine, fine), (0, fine)]
    cells = [[rows[fine * i + k, fine * j + m] for k, m in corners]
             for i in range(n) for j in range(width)]  # fmt: skip
    middles = [[rows[2 * i + k, 2 * j + m] for k, m in ((1, 0), (2, 1), (1, 2), (0, 1), (1, 1))]
               for i in range(n) for j in range(width)] if fine == 2 else cells  # fmt: skip
    quads, mid = np.array(cells), np.array(middles)
    table = {
        "quad4": quads,
        "quad8": np.hstack([quads, mid[:, :4]]),
        "tri3": np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]], axis=1).reshape(-1, 3),
        "tri6": np.concatenate(
            [
                np.hstack([quads[:, [0, 1, 2]], mid[:, [0, 1, -1]]]),
                np.hstack([quads[:, [0, 2, 3]], mid[:, [-1, 2, 3]]]),
            ],
            axis=1,
        ).reshape(-1, 6),
    }[kind]
    used, table = np.unique(table, return_inverse=True)
    count = table.size // int(kind[-1])
    sets = {f"s{k}": np.arange(count // 4) + 1 + k * count // 4 for k in range(4)}
    ends = {"x0": rows[0], "x1": rows[-1]}
    return pp.Mesh.from_arrays(
        nodes[used],
        {kind: table.reshape(count, -1)},
        node_sets={k: np.searchsorted(used, np.intersect1d(used, r)) for k, r in ends.items()},
        element_sets=sets,
    )


SETS = ("s0", "s1", "s2", "s3")


@pytest.mark.parametrize("offset", [0.01, -0.01, 0.0])
@pytest.mark.parametrize("kind", ["tri3", "quad4", "tri6", "quad8"])
def test_pieces_of_a_curved_sheet_together_are_the_whole(kind: str, offset: float) -> None:
    """Stiffness and mass: the normals at the cuts are those of the whole surface."""
    mesh, section = curved_sheet(kind), pp.ShellSection(0.002, offset=offset)
    whole = pp.assemble(mesh, STEEL, sections=section)
    pieces = [pp.assemble(each, STEEL, sections=section) for each in pp.divide(mesh, sets=SETS)]
    joined = assemble_pieces(pieces).fe
    order = np.argsort(joined.node_ids)[np.argsort(np.argsort(whole.node_ids))]
    dofs = (3 * np.concatenate([order, len(order) + order])[:, None] + np.arange(3)).ravel()
    for one, other in ((whole.K, joined.K), (whole.M, joined.M)):
        assert abs(one - other[dofs][:, dofs]).max() < 1e-12 * abs(one).max()


def test_a_divided_sheet_with_an_offset_vibrates_as_the_whole() -> None:
    """Pieces of a mesh that is moved after its division, too."""
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    mesh, section = curved_sheet("quad4"), pp.ShellSection(0.002, offset=0.01)
    whole = pp.reduce(
        pp.assemble(mesh, STEEL, sections=section),
        **(FEW | {"method": pp.CraigBampton(modes=16)}),  # type: ignore[arg-type]
    )
    pieces = [each.moved(lambda x: x @ turn.T) for each in pp.divide(mesh, sets=SETS)]
    divided = pp.reduce_divided(
        [pp.assemble(each, STEEL, sections=section) for each in pieces],
        **(FEW | {"method": pp.CraigBampton(modes=8)}),  # type: ignore[arg-type]
    )
    found = []
    for body in (whole, divided):
        model = fm.Model("sheet", gravity=(0, 0, 0))
        sheet = model.add(fm.FlexibleBody("sheet", data=body))
        model.add(fm.Fixed("clamp", model.ground, sheet["root"]))
        found.append(fm.linearize(model).modes.frequency[:5])
    assert divided.mass == pytest.approx(whole.mass, rel=1e-12)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-3)


def equilibrium(body: DividedBodyData, joint: type[fm.Fixed]) -> fm.Model:
    """A divided part clamped at its root or hinged there, with a load at its tip."""
    model = fm.Model("sheet")
    sheet = model.add(fm.FlexibleBody("sheet", data=body))
    options = {} if joint is fm.Fixed else {"axis": "y"}
    model.add(joint("root", model.ground, sheet["root"], **options))
    model.add(fm.FrameForce("load", sheet["tip"], force=(0, 0, -5.0)))
    return model


def thin_sheet() -> DividedBodyData:
    return pp.reduce_divided(
        [
            pp.assemble(each, STEEL, sections=pp.ShellSection(0.002))
            for each in pp.divide(curved_sheet("quad4"), sets=SETS)
        ],
        **(FEW | {"method": pp.CraigBampton(modes=8), "damping": 0.02}),  # type: ignore[arg-type]
    )


def test_accelerations_of_pieces_at_rest_are_residuals_of_the_forces_at_cuts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The tip moves by less than 1e-8 m; errors of the pieces of a part that moves are found."""
    body = thin_sheet()
    model = equilibrium(body, fm.Fixed)
    run = fm.simulate(model, t_end=0.02, start=fm.statics(model))
    assert np.ptp(run.frame("sheet/tip").position, axis=0).max() < 1e-8
    assert run.verdict == "PASS"
    exact = cross_check.states_in_both_coordinates

    def wrong(mine: SolutionData) -> SolutionData:
        """Accelerations that are too large by 2 %."""
        theirs = exact(mine)
        assert theirs is not None
        out = theirs.trajectory._replace(sd=1.02 * theirs.sd)
        return states_as_solution(theirs.compiled, out, mine)

    monkeypatch.setattr(cross_check, "states_in_both_coordinates", wrong)
    with pytest.warns(fm.AuditWarning, match="Second opinion: .* differ by"):
        fm.simulate(equilibrium(body, fm.Revolute), t_end=0.02)
