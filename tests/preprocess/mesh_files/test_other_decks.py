"""Decks of Ansys, LS-DYNA, FEBio and universal files are the Nastran deck of the same part."""

import re
import warnings

import numpy as np
import pytest
from deck_writers import (
    HEXAHEDRON,
    NU,
    RHO,
    THICK,
    E,
    ansys,
    febio,
    ls_dyna,
    nastran,
    number,
    salome,
    universal,
)

import preprocess as pp
from flexmbs.errors import InputError
from preprocess.inputs.warning import PreprocessWarning
from preprocess.mesh_files.readers import included_files
from preprocess.part_file.digest import input_digest

WRITERS = {".cdb": ansys, ".k": ls_dyna, ".feb": febio, ".unv": universal}
LINEAR = ("tet4", "hex8", "wedge6", "pyramid5")
QUADRATIC = ("tet10", "hex20", "wedge15", "pyramid13")
STEEL = pp.Isotropic(E=E * 1e6, nu=NU, rho=RHO * 1e12)


def solid(kind):
    """Nodes (mm) and elements of a tapered, bent bar; nodes between corners are off the middle."""
    mesh = pp.box_mesh((40.0, 12.0, 8.0), (3, 2, 1), kind)
    x, y, z = mesh.nodes.T
    nodes = np.column_stack([x + 0.05 * z * y, y * (1 - 0.01 * x) + 0.002 * x**2, z + 0.02 * x])
    return nodes.round(6), {kind: mesh.blocks[kind].connectivity}


def plate(kind):
    """Nodes (mm) and shells of a slightly curved plate."""
    n = 4 if "4" in kind or "3" in kind else 8
    nx, ny = np.meshgrid(np.arange(n + 1), np.arange(n // 2 + 1), indexing="ij")
    points = np.column_stack([10.0 * nx.ravel(), 11.0 * ny.ravel(), 0.05 * nx.ravel() ** 2])

    def at(i, j):
        return i * (n // 2 + 1) + j

    cells, step = [], 1 if n == 4 else 2
    for i in range(0, n, step):
        for j in range(0, n // 2, step):
            a, b, c, d = at(i, j), at(i + step, j), at(i + step, j + step), at(i, j + step)
            if kind == "quad4":
                cells.append([a, b, c, d])
            elif kind == "tri3":
                cells += [[a, b, c], [a, c, d]]
            else:
                ab, bc, cd, da = at(i + 1, j), at(i + 2, j + 1), at(i + 1, j + 2), at(i, j + 1)
                m = at(i + 1, j + 1)
                cells += (
                    [[a, b, c, d, ab, bc, cd, da]]
                    if kind == "quad8"
                    else [[a, b, c, ab, bc, m], [a, c, d, m, cd, da]]
                )
    used, table = np.unique(np.array(cells), return_inverse=True)
    return points[used], {kind: table.reshape(len(cells), -1)}


def read(path, text, **options):
    path.write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return pp.read_mesh(path, unit="mm", structural=True, **options)


def check_equal(one, other):
    """Assembled matrices, masses and centres of two models agree to round-off."""
    for a, b in ((one.K, other.K), (one.M, other.M)):
        assert abs(a - b).max() < 1e-11 * abs(b).max()
    assert one.mass == pytest.approx(other.mass, rel=1e-12)
    assert np.allclose(one.centre_of_mass, other.centre_of_mass, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", LINEAR + QUADRATIC)
@pytest.mark.parametrize("suffix", WRITERS)
def test_solids_are_those_of_nastran(tmp_path, suffix, kind):
    left = {".unv": ("pyramid5", "pyramid13"), ".k": ("hex20", "wedge15", "pyramid13")}
    if kind in left.get(suffix, ()):
        pytest.skip("the format has no such elements")
    nodes, elements = solid(kind)
    wanted = read(tmp_path / "part.bdf", nastran(nodes, elements))
    found = read(tmp_path / f"part{suffix}", WRITERS[suffix](nodes, elements))
    assert found.node_ids.tolist() == wanted.node_ids.tolist()
    assert found.blocks[kind].ids.tolist() == wanted.blocks[kind].ids.tolist()
    given = STEEL if suffix == ".unv" else None
    check_equal(pp.assemble(found, given), pp.assemble(wanted))


@pytest.mark.parametrize("kind", ["tri3", "quad4", "tri6", "quad8"])
@pytest.mark.parametrize("suffix", WRITERS)
def test_shells_are_those_of_nastran(tmp_path, suffix, kind):
    if suffix == ".k" and kind == "tri6":
        pytest.skip("the format has no such elements")
    nodes, elements = plate(kind)
    wanted = read(tmp_path / "part.bdf", nastran(nodes, elements))
    found = read(tmp_path / f"part{suffix}", WRITERS[suffix](nodes, elements))
    given = (STEEL, pp.ShellSection(THICK * 1e-3)) if suffix == ".unv" else (None, None)
    check_equal(pp.assemble(found, given[0], sections=given[1]), pp.assemble(wanted))


@pytest.mark.parametrize("kind", ["tet4", "tet10", "wedge6", "hex8", "tri3", "quad8"])
def test_groups_and_elements_of_med(tmp_path, kind):
    """With shells and quadratic elements, groups of elements come through."""
    nodes, elements = plate(kind) if kind in ("tri3", "quad8") else solid(kind)
    wanted = read(tmp_path / "part.bdf", nastran(nodes, elements))
    salome(tmp_path / "part.med", nodes, elements, {"first": [11, 12], "rest": [13]})
    found = pp.read_mesh(tmp_path / "part.med", unit="mm", structural=True)
    assert found.element_sets["first"].tolist() == [11, 12]
    assert found.element_sets["rest"].tolist() == [13]
    sections = pp.ShellSection(THICK * 1e-3) if kind in ("tri3", "quad8") else None
    check_equal(pp.assemble(found, STEEL, sections=sections), pp.assemble(wanted))


def test_shell_offsets_of_ansys(tmp_path):
    """TOP: the nodes are at the top, the middle is half a thickness below."""
    nodes, elements = plate("quad4")
    for place, offset in (("TOP", -THICK / 2), ("BOT", THICK / 2)):
        wanted = read(tmp_path / "part.bdf", nastran(nodes, elements, offset=offset))
        found = read(tmp_path / "part.cdb", ansys(nodes, elements, offset=place))
        check_equal(pp.assemble(found), pp.assemble(wanted))


def test_components_units_and_sets(tmp_path):
    """Sets of nodes and elements; the units that a file states."""
    nodes, elements = solid("hex8")
    ends = [number(k) for k in np.flatnonzero(nodes[:, 0] < 1.0)][:4]
    four = ",".join(map(str, ends))
    components = (
        f"CMBLOCK,END     ,NODE,       4  ! a comment\n(8i10)\n{''.join(f'{n:10d}' for n in ends)}\n"
        "CMBLOCK,ALL     ,ELEM,       2\n(8i10)\n        11       -16"
    )
    group = "\n".join(
        [
            "    -1", "  2467", "".join(f"{k:10d}" for k in (1, 0, 0, 0, 0, 0, 0, 5)), "END",
            "".join(f"{k:10d}" for n in ends[:2] for k in (7, n, 0, 0)),
            "".join(f"{k:10d}" for n in ends[2:] for k in (7, n, 0, 0)),
            "".join(f"{k:10d}" for k in (8, 12, 0, 0)), "    -1",
        ]
    )  # fmt: skip
    texts = {
        ".cdb": ansys(nodes, elements, components),
        ".k": ls_dyna(nodes, elements, "*SET_NODE_LIST_TITLE\nEND\n5\n" + four),
        ".feb": febio(nodes, elements, f'<NodeSet name="END">{four}</NodeSet>'),
        ".unv": universal(nodes, elements, group),
    }
    for suffix, text in texts.items():
        mesh = read(tmp_path / f"part{suffix}", text)
        assert sorted(mesh.node_ids[mesh.node_sets["END"]]) == sorted(ends), suffix
    assert mesh.element_sets["END"].tolist() == [12]
    archive = pp.read_mesh(tmp_path / "part.cdb", unit="file")
    assert archive.element_sets["ALL"].tolist() == [11, 12, 13, 14, 15, 16]
    assert archive.unit == "mm-t-s"
    plain = pp.read_mesh(tmp_path / "part.unv", unit="file")
    assert np.allclose(plain.nodes, archive.nodes)
    with pytest.warns(PreprocessWarning, match=r"the file states the length 0.001 m"):
        pp.read_mesh(tmp_path / "part.cdb", unit="cm")
    with pytest.raises(InputError, match=r"part\.k: unit: the file states no units"):
        pp.read_mesh(tmp_path / "part.k", unit="file")


def bar(extra_nodes=()):
    """Nodes (mm) of a bar of hexahedra along x, with further nodes."""
    nodes, elements = solid("hex8")
    return np.vstack([nodes, *[np.reshape(x, (1, 3)) for x in extra_nodes]]), elements


def face(nodes, x, count):
    return [number(k) for k in np.flatnonzero(abs(nodes[:, 0] - x) < 0.7)][:count]


def test_beams_masses_springs_and_rods_of_ansys(tmp_path):
    """A frame of BEAM188 with RECT, a rod, a mass with inertia, a spring: cards of Nastran."""
    nodes = np.array([[0, 0, 0], [100, 0, 0], [100, 80, 0], [0, 80, 10], [50, 0, 40.0]])
    n = [number(k) for k in range(5)]
    cards = [f"CBAR,{11 + k},7,{n[k]},{n[k + 1]},{v}" for k, v in enumerate(["0.,0.,1."] * 3)]
    cards += ["PBARL,7,1,,BAR", ",6.0,9.0", f"CROD,14,8,{n[0]},{n[2]}", "PROD,8,1,12.5"]
    cards += [f"CONM2,15,{n[3]},,2e-5", ",3e-3,,4e-3,,,5e-3", f"CELAS2,17,80.0,{n[1]},2,{n[2]},2"]
    lines = ["BEGIN BULK", f"MAT1,1,{E},,{NU},{RHO}", *cards]
    lines += [f"GRID,{own},,{x},{y},{z}" for own, (x, y, z) in zip(n[:4], nodes[:4].tolist())]
    wanted = read(tmp_path / "frame.bdf", "\n".join([*lines, "ENDDATA", ""]))
    archive = ansys(nodes[:4], {})
    ends = [(n[k], n[k + 1]) for k in range(3)]
    more = [
        "ET,7,188",
        "ET,8,180",
        "ET,9,21",
        "ET,10,14",
        "KEYOPT,10,2,2",
        "R,9,2e-5,2e-5,2e-5,3e-3",
    ]
    more += ["RMORE", "R,10,80.0,", "R,8,12.5", "SECTYPE,7,BEAM,RECT", "SECDATA,6.0,9.0"]
    more[5:7] = ["R,9,2e-5,2e-5,2e-5,3e-3,4e-3,5e-3"]
    more += [
        "TYPE,7",
        "MAT,1",
        "SECNUM,7",
        *[f"EN,{11 + k},{a},{b}" for k, (a, b) in enumerate(ends)],
    ]
    more += ["TYPE,8", "SECNUM,99", "REAL,8", f"EN,14,{n[0]},{n[2]}"]
    more += ["TYPE,9", "REAL,9", f"EN,15,{n[3]}", "TYPE,10", "REAL,10", f"EN,17,{n[1]},{n[2]}"]
    found = read(tmp_path / "frame.cdb", archive.replace("/GO", "\n".join([*more, "/GO"])))
    check_equal(pp.assemble(found), pp.assemble(wanted))
    # the orientation of a beam by a third node, and of a beam along Z
    third = "\n".join(more).replace(f"EN,11,{n[0]},{n[1]}", f"EN,11,{n[0]},{n[1]},{n[4]}")
    again = read(tmp_path / "f.cdb", ansys(nodes, {}).replace("/GO", third + "\n/GO"))
    check_equal(pp.assemble(again), pp.assemble(wanted))


def test_equations_and_contacts_of_ansys(tmp_path):
    """CE are MPC; contacts with a pilot node RBE2 or RBE3."""
    nodes, elements = bar([(55.0, 5.0, 4.0)])
    pilot, feet = number(len(nodes) - 1), face(nodes, 40.0, 6)
    a, b = face(nodes, 0.0, 2)
    along = (nodes[(b - 7) // 3] - nodes[(a - 7) // 3]).tolist()  # rigid motions satisfy it
    terms = [(n, k, sign * d) for n, sign in ((a, 1), (b, -1)) for k, d in enumerate(along, 1) if d]
    ce = f"CE,R5.0,DEFI, 3, {len(terms)}, 0.0\n" + "\n".join(
        f"CE,R5.0,NODE, {n},U{'XYZ'[k - 1]}  , {factor!r}" for n, k, factor in terms
    )
    rows = [f"{n},{k},{factor!r}" for n, k, factor in terms]
    mpc = "\n,,".join(",".join(rows[k : k + 2]) for k in range(0, len(rows), 2))
    for key, card in ((2, "RBE2,30,{p},123456,{f}"), (1, "RBE3,30,,{p},123456,1.0,123,{f}")):
        text = card.format(p=pilot, f=",".join(map(str, feet)))
        fields = text.split(",")
        text = "\n".join(
            ",".join(["" if k else fields[0], *fields[1 + k : 9 + k]])
            for k in range(0, len(fields) - 1, 8)
        )
        extra = f"{text}\nMPC,5,{mpc}"
        deck = nastran(nodes, elements, extra).replace("BEGIN BULK", "CEND\nMPC = 5\nBEGIN BULK")
        wanted = read(tmp_path / "part.bdf", deck, separate=True)
        contact = ["*SET,tid,21", "*SET,cid,20", "ET,cid,175", "ET,tid,170", f"KEYO,cid,4,{key}"]
        contact += ["KEYO,cid,2,2", "KEYO,cid,12,5", "TYPE,cid", "REAL,cid"]
        contact += [f"EN,{500 + k},{foot}" for k, foot in enumerate(feet)]
        contact += ["TYPE,tid", "tshape,pilo", f"EN,600,{pilot}", "tshape", ce]
        found = read(
            tmp_path / "part.cdb", ansys(nodes, elements, "\n".join(contact)), separate=True
        )
        check_equal(pp.assemble(found), pp.assemble(wanted))


def test_equations_of_cerig_are_a_rigid_spider(tmp_path):
    """As CDWRITE writes them, with a mass at the centre; other equations stay."""
    nodes, elements = bar([(55.0, 5.0, 4.0)])
    pilot, feet = number(len(nodes) - 1), face(nodes, 40.0, 5)
    fields = ["RBE2", "30", str(pilot), "123", *map(str, feet)]
    card = "\n".join(
        ",".join(["" if k else "RBE2", *fields[1 + k : 9 + k]])
        for k in range(0, len(fields) - 1, 8)
    )
    extra = f"{card}\nCONM2,40,{pilot},,1e-5"
    wanted = read(tmp_path / "part.bdf", nastran(nodes, elements, extra), separate=True)
    lines = ["ET,9,21", "KEYOPT,9,3,2", "R,9,1e-5", "TYPE,9", "REAL,9", f"EN,700,{pilot}"]
    count = 0
    for foot in feet:
        x, y, z = nodes[(foot - 7) // 3] - nodes[-1]
        arms = {
            "X": {"ROTY": z, "ROTZ": -y},
            "Y": {"ROTX": -z, "ROTZ": x},
            "Z": {"ROTX": y, "ROTY": -x},
        }
        for axis, own in arms.items():
            count += 1
            terms = [(pilot, label, -arm) for label, arm in own.items() if arm]
            terms = [(foot, f"U{axis}", 1.0), (pilot, f"U{axis}", -1.0), *terms]
            lines += [f"CE,R5.0,DEFI, {count}, {len(terms)}, 0.0"]
            lines += [f"CE,R5.0,NODE, {n},{label}, {float(c)!r}" for n, label, c in terms]
    found = read(tmp_path / "part.cdb", ansys(nodes, elements, "\n".join(lines)), separate=True)
    assert list(found.declared.connections) == [f"CERIG {pilot}"]
    check_equal(pp.assemble(found), pp.assemble(wanted))
    assert list(pp.spider_interfaces(found)) == [f"CERIG {pilot}"]
    changed = "\n".join(lines).replace(", -1.0", ", -1.5", 1)
    left = read(tmp_path / "part.cdb", ansys(nodes, elements, changed), separate=True)
    assert len(left.declared.connections) == count


def test_bonded_contacts_of_ansys_are_ties(tmp_path):
    """Two bars that touch: the contact makes one body with the mass of both."""
    one, elements = solid("hex8")
    count = len(one)
    nodes = np.vstack([one, one + (60.0, 0.0, 0.0)])
    both = {"hex8": np.vstack([elements["hex8"], elements["hex8"] + count])}
    nodes[count:, 0] -= 20.0
    left = [number(k) for k in np.flatnonzero(abs(one[:, 0] - 40) < 0.7)]
    mirrored = [number(k + count) for k in np.flatnonzero(abs(one[:, 0]) < 1e-9 + 0.5)]
    quads = lambda ids: [ids[0], ids[2], ids[3], ids[1]]  # noqa: E731
    extra = ["ET,20,173", "ET,21,170", "KEYOPT,20,12,5", "TYPE,20", "REAL,20"]
    extra += ["EN,900," + ",".join(map(str, quads(left))), "TYPE,21"]
    extra += ["EN,901," + ",".join(map(str, quads(mirrored)))]
    mesh = read(tmp_path / "part.cdb", ansys(nodes, both, "\n".join(extra)))
    assert mesh.declared.connections["contact 20"]["kind"] == "tie"
    assert {int(n) for n in mesh.node_ids[mesh.node_sets["contact 20"]]} == set(left[:4])
    free = ansys(nodes, both, "\n".join(extra).replace("12,5", "12,0"))
    (tmp_path / "part.cdb").write_text(free)
    with pytest.warns(PreprocessWarning, match="1 contacts that are not bonded omitted"):
        pp.read_mesh(tmp_path / "part.cdb", unit="mm", structural=True, separate=True)


@pytest.mark.parametrize(
    ("pilot", "target", "contact", "empty"),
    [
        ("", ",7,10,13", "", "contact 20"),
        ("", "", ",7,10,13", "contact 20, target"),
        ("KEYOPT,20,2,2\nKEYOPT,20,4,2", ",7", "", "contact 20"),
        ("KEYOPT,20,2,2\nKEYOPT,20,4,1", ",7", ",7", "contact 20"),
    ],
)
def test_contacts_of_ansys_without_nodes_are_refused(tmp_path, pilot, target, contact, empty):
    extra = f"ET,20,174\nKEYOPT,20,12,5\n{pilot}\nREAL,20\nTYPE,20\nEN,900{contact}"
    extra += f"\nET,21,170\nTYPE,21\nEN,901{target}"
    with pytest.raises(InputError, match=rf"part\.cdb: contact 20: '{empty}' has no nodes; comp"):
        read(tmp_path / "part.cdb", ansys(*solid("hex8"), extra))


def test_straight_edges_of_ansys_without_a_node(tmp_path):
    """The node that is added follows its corners, as an equation in Python."""
    nodes, elements = solid("hex20")
    text = ansys(nodes, elements)
    table = elements["hex20"]
    alone = next(k for k in table[0][8:] if (table == k).sum() == 1)
    a, b = next(
        (table[0][a], table[0][b]) for (a, b), k in zip(HEXAHEDRON, table[0][8:]) if k == alone
    )
    straight = nodes.copy()
    straight[alone] = 0.5 * (nodes[a] + nodes[b])
    start = text.index("EBLOCK")
    dropped = text[:start] + text[start:].replace(f"{number(alone):9d}", f"{0:9d}")
    found = read(tmp_path / "part.cdb", dropped)
    whole = read(tmp_path / "whole.cdb", ansys(straight, elements))
    terms = lambda k: [(number(alone), k, 1.0), (number(a), k, -0.5), (number(b), k, -0.5)]  # noqa: E731
    edge = {f"edge {k}": pp.Equation(terms(k)) for k in (1, 2, 3)}
    ends = {"root": pp.Rigid(pp.Plane((0, 0, 0), (1, 0, 0), tolerance=1e-3))}
    one, other = (
        pp.reduce(fe, interfaces=ends, reference="root", method=pp.CraigBampton(modes=4))
        for fe in (pp.assemble(found), pp.assemble(whole, connections=edge))
    )
    assert one.mass == pytest.approx(other.mass, rel=1e-12)
    assert np.allclose(one.modes.frequency, other.modes.frequency, rtol=1e-8)


def test_materials_of_ansys(tmp_path):
    """Orthotropic data with minor ratios, tables, and several temperatures."""
    nodes, elements = solid("hex8")
    lines = ["MP,EX,1,40e3", "MP,EY,1,10e3", "MP,EZ,1,8e3", "MP,NUXY,1,0.075", "MP,NUXZ,1,0.05"]
    lines += ["MP,NUYZ,1,0.2", "MP,GXY,1,5e3", "MP,GYZ,1,4e3", "MP,GXZ,1,3e3"]
    mesh = read(tmp_path / "part.cdb", ansys(nodes, elements, "\n".join(lines)))
    (given,) = mesh.declared.materials.values()
    assert given["nu"] == pytest.approx([0.3, 0.25, 0.25])  # NUXY = PRXY EY/EX
    assert given["G"] == pytest.approx([5e9, 3e9, 4e9])
    hyper = read(tmp_path / "part.cdb", ansys(nodes, elements, "TB,HYPE,1,1,2,MOON"))
    with pytest.raises(InputError, match="material 1 has TB,HYPE, which is not linear elastic"):
        pp.assemble(hyper)
    warm = "MPDATA,R5.0, 2,EX  , 1, 1, 2.1e5, 1.9e5,"
    (tmp_path / "part.cdb").write_text(ansys(nodes, elements, warm))
    with pytest.warns(PreprocessWarning, match="EX of material 1 at other temperatures"):
        pp.read_mesh(tmp_path / "part.cdb", unit="mm", structural=True)


def test_materials_without_density(tmp_path):
    """They are refused by name, or take the density that is given."""
    nodes, elements = solid("hex8")
    texts = {
        ".cdb": ansys(nodes, elements).replace(f"DENS, 1, 1, {RHO}", "DENS, 1, 1, 0.0"),
        ".k": ls_dyna(nodes, elements).replace(f"{RHO:10.3E}", f"{0.0:10.3f}"),
        ".feb": febio(nodes, elements).replace(f"<density>{RHO}</density>", ""),
    }
    wanted = pp.assemble(read(tmp_path / "part.bdf", nastran(nodes, elements)))
    for suffix, text in texts.items():
        with pytest.raises(InputError, match=r"material '?\w+'? has no (DENS|density)"):
            pp.assemble(read(tmp_path / f"part{suffix}", text))
        given = read(tmp_path / f"part{suffix}", text, density=7850.0)
        check_equal(pp.assemble(given), wanted)


def test_rigid_bodies_masses_and_includes_of_ls_dyna(tmp_path):
    nodes, elements = bar([(55.0, 5.0, 4.0)])
    pilot, feet = number(len(nodes) - 1), face(nodes, 40.0, 6)
    fields = ["RBE2", "30", str(pilot), "123456", *map(str, feet)]
    card = "\n".join(
        ",".join(["" if k else "RBE2", *fields[1 + k : 9 + k]])
        for k in range(0, len(fields) - 1, 8)
    )
    extra = f"{card}\nCONM2,40,{pilot},,1e-5"
    wanted = read(tmp_path / "part.bdf", nastran(nodes, elements, extra), separate=True)
    sets = f"*SET_NODE_LIST\n{4:10d}\n" + "".join(f"{n:10d}" for n in feet)
    (tmp_path / "sets.k").write_text(f"*PARAMETER\nR mass,1.0e-5\n{sets}\n*END\n")
    body = f"*CONSTRAINED_NODAL_RIGID_BODY\n{8:10d}{0:10d}{4:10d}{pilot:10d}\n"
    body += f"*ELEMENT_MASS\n{90:8d}{pilot:8d}           &mass\n*INCLUDE\nsets.k\n"
    text = ls_dyna(nodes, elements, body)
    where = text.index("*NODE")
    include = "*INCLUDE\nsets.k\n"
    text = text[:where] + include + text[where:].replace(include, "")
    found = read(tmp_path / "part.k", text, separate=True)
    check_equal(pp.assemble(found), pp.assemble(wanted))
    with pytest.raises(InputError, match=r"part\.k.*is not inside the mesh file's folder"):
        read(tmp_path / "part.k", text.replace("sets.k", "../sets.k"))
    with pytest.raises(InputError, match=r"file 'none.k' does not exist"):
        read(tmp_path / "part.k", text.replace("sets.k", "none.k"))


@pytest.mark.parametrize(
    "lines",
    [
        ["*INCLUDE", "a.k", "*INCLUDE", "b.k"],
        ["*INCLUDE", "a.k", "$ a comment", "", "b.k"],
        ["*INCLUDE", "a +", ".k", "b.k"],
        ["*INCLUDE", "both.k"],
    ],
)
def test_every_file_that_ls_dyna_includes_is_read(tmp_path, lines):
    """The masses of both files, and both are inputs of the part."""
    for name, node in (("a", 7), ("b", 10)):
        (tmp_path / f"{name}.k").write_text(f"*ELEMENT_MASS\n{node},{node},0.5\n")
    (tmp_path / "both.k").write_text("$ a comment\n*INCLUDE\na.k\nb.k")
    text = ls_dyna(*solid("hex8"), "\n".join(lines))
    bare = read(tmp_path / "bare.k", ls_dyna(*solid("hex8")))
    found = read(tmp_path / "part.k", text)
    assert pp.assemble(found).mass == pytest.approx(pp.assemble(bare).mass + 1000.0, rel=1e-12)
    assert {"a.k", "b.k"} <= {each.name for each in included_files(tmp_path / "part.k")}
    (tmp_path / "b.k").unlink()
    with pytest.raises(InputError, match=r"file 'b.k' does not exist"):
        read(tmp_path / "part.k", text)


def test_data_without_a_keyword_in_files_of_ls_dyna(tmp_path):
    (tmp_path / "a.k").write_text("$ masses\n7,7,0.5\n")
    with pytest.raises(
        InputError, match=r"a\.k:2: '7,7,0\.5' has no keyword; give it in this file"
    ):
        read(tmp_path / "part.k", ls_dyna(*solid("hex8"), "*INCLUDE\na.k"))
    with pytest.raises(InputError, match=r"\*INCLUDE_AUTO_OFFSET is not supported"):
        read(tmp_path / "part.k", ls_dyna(*solid("hex8"), "*INCLUDE_AUTO_OFFSET\na.k"))


def test_long_format_of_ls_dyna(tmp_path):
    nodes, elements = solid("hex8")
    text = ls_dyna(nodes, elements)
    long = ["*KEYWORD LONG=Y", "*NODE"]
    long += [
        f"{number(k):20d}" + "".join(f"{x:20.12E}" for x in point)
        for k, point in enumerate(nodes.tolist())
    ]
    start, end = text.index("*ELEMENT_SOLID"), text.index("*PART")
    long += ["*ELEMENT_SOLID-", *text[start:end].splitlines()[1:]]
    long += [each if not each.startswith("*") else each + " -" for each in text[end:].splitlines()]
    check_equal(
        pp.assemble(read(tmp_path / "long.k", "\n".join(long).replace("*END -", "*END"))),
        pp.assemble(read(tmp_path / "part.k", text)),
    )


REFUSED = {
    "CERIG": (".cdb", ansys, "CERIG,7,ALL,ALL", "CERIG is not supported; write the model with CDWRITE"),
    "generator": (".cdb", ansys, "VMESH,ALL", "VMESH makes nodes or elements, which only Ansys"),
    "thermal": (".cdb", ansys, "ET,1,70", "element type 70 elements are not supported; use SOLID45"),
    "welds": (".k", ls_dyna, "*CONSTRAINED_SPOTWELD\n 1 2", r"\*CONSTRAINED_SPOTWELD is not supported"),
    "spotwelds": (".k", ls_dyna, "*CONTACT_SPOTWELD\n 1 2", r"\*CONTACT_SPOTWELD is not supported"),
    "tiebreaks": (".k", ls_dyna, "*CONTACT_AUTOMATIC_TIEBREAK", r"\*CONTACT_AUTOMATIC_TIEBREAK is not"),
    "binary": (".k", ls_dyna, "*INCLUDE_BINARY\nb.k", r"\*INCLUDE_BINARY is not supported"),
    "commas": (".k", ls_dyna, "*INCLUDE,\nb.k", r"file 'b\.k' does not exist"),
    "beams": (".k", ls_dyna, "*ELEMENT_BEAM\n 1 2", r"1 \*ELEMENT_BEAM elements are not supported"),
    "parts": (".feb", febio, "<Part name='a'/>", "<Part> is not supported; export one mesh"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_unread_items_are_refused_by_name(tmp_path, name):
    suffix, write, extra, message = REFUSED[name]
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path / f"part{suffix}", write(*solid("hex8"), extra))
    assert "\n" not in str(caught.value)


def test_contacts_of_febio_that_tie_are_noted(tmp_path):
    contact = '<Contact><contact type="tied-elastic"/><contact type="sliding-elastic"/></Contact>'
    text = febio(*solid("hex8")).replace("<MeshDomains>", f"{contact}<MeshDomains>")
    (tmp_path / "part.feb").write_text(text)
    with pytest.warns(PreprocessWarning, match=r"1 <Contact> 'tied-elastic' omitted; give ties"):
        pp.read_mesh(tmp_path / "part.feb", unit="mm", structural=True)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.rst", "a.rst: is an Ansys result file; write the model with CDWRITE"),
        ("a.odb", "a.odb: is an Abaqus output database; use the input file"),
        ("a.hm", "a.hm: is a HyperMesh model"),
        ("a.xyz", "a.xyz: format '.xyz' is not supported; use one of .msh"),
    ],
)
def test_files_of_results_are_refused_by_name(tmp_path, name, message):
    (tmp_path / name).write_bytes(b"\0\1\2")
    with pytest.raises(InputError, match=message):
        pp.read_mesh(tmp_path / name, unit="mm")


def test_ansys_and_nastran_share_a_suffix(tmp_path):
    nodes, elements = solid("hex8")
    first = read(tmp_path / "ds.dat", ansys(nodes, elements))
    other = read(tmp_path / "bulk.dat", nastran(nodes, elements))
    optistruct = read(tmp_path / "part.fem", nastran(nodes, elements))
    for each in (other, optistruct):
        check_equal(pp.assemble(each), pp.assemble(first))


def test_febio_without_document_types_and_outside_files(tmp_path):
    text = febio(*solid("hex8"))
    bomb = text.replace("<febio_spec", '<!DOCTYPE a [<!ENTITY b "c">]>\n<febio_spec', 1)
    with pytest.raises(InputError, match=r"part\.feb:2: declares a document type"):
        read(tmp_path / "part.feb", bomb)
    start, end = text.index("<Mesh>"), text.index("</Mesh>") + len("</Mesh>")
    (tmp_path / "mesh.feb").write_text(f"<febio_spec>{text[start:end]}</febio_spec>")
    split = text[:start] + '<Mesh from="mesh.feb"/>' + text[end:]
    check_equal(
        pp.assemble(read(tmp_path / "split.feb", split)),
        pp.assemble(read(tmp_path / "part.feb", text)),
    )
    with pytest.raises(InputError, match=r"is not inside the mesh file's folder"):
        read(tmp_path / "split.feb", split.replace("mesh.feb", "/etc/mesh.feb"))


@pytest.mark.parametrize("factor", ["4.9406564584124654D-324", "1.0D+300", "0.0D+00", "-1.0D+03"])
def test_factors_of_universal_files_are_those_of_units(tmp_path, factor):
    text = universal(*solid("hex8")).replace("1.0000000000000000D+03", factor, 1)
    (tmp_path / "part.unv").write_text(text)
    with pytest.raises(
        InputError, match=r"part\.unv:4: dataset 164 has factors .* 1; give those of"
    ):
        pp.read_mesh(tmp_path / "part.unv", unit="file")


INCLUDING = {
    ".k": [
        "*KEYWORD\n*INCLUDE\n$ a comment\n{}\n*END\n",
        "*KEYWORD\n*INCLUDE $ a comment\n{}\n",
        "*KEYWORD\n*INCLUDE %\n\n{}\n*END\n",
        "*KEYWORD\n*INCLUDE -\n  {}\n",
    ],
    ".bdf": ["BEGIN BULK\nINCLUDE '{}' $ the nodes\nENDDATA\nINCLUDE 'none'", 'include "{}"\n'],
    ".inp": ["*INCLUDE,\nINPUT={}\n", "*NODE, INPUT = '{}'\n"],
    ".feb": [
        '<febio_spec><Mesh from="{}"/></febio_spec>',
        '<febio_spec><Material note="a>b" from="{}"/></febio_spec>',
        '<febio_spec><Material><material from="none"/><material from="{}"/></Material></febio_spec>',
    ],
}
NAMES = {".feb": "one &amp; two.feb", ".bdf": "one, two.txt"}
CONTENT = {".feb": "<febio_spec><Mesh/><Material/><material/></febio_spec>"}


@pytest.mark.parametrize(
    ("suffix", "text"), [(suffix, text) for suffix, all_ in INCLUDING.items() for text in all_]
)
def test_files_that_decks_include_belong_to_the_inputs(tmp_path, suffix, text):
    """As the reader finds them: a part is reduced again when one of them changes."""
    written = NAMES.get(suffix, "one two.txt")
    other = tmp_path / written.replace("&amp;", "&")
    other.write_text(CONTENT.get(suffix, "$ nothing\n"))
    path = tmp_path / f"part{suffix}"
    path.write_text(text.format(written))
    assert included_files(path) == (other,)
    digest = input_digest({}, [path])
    other.write_text(CONTENT.get(suffix, "$ nothing\n") + "\n")
    assert input_digest({}, [path]) != digest


@pytest.mark.parametrize("suffix", [*WRITERS, ".bdf"])
def test_numbers_in_pythons_notation_are_rejected(tmp_path, suffix):
    """1_5 is fifteen in Python, and in no program that writes such files."""
    nodes, elements = solid("hex8")
    x = next(x for x in nodes[:, 0] if x > 10.0)
    text = {**WRITERS, ".bdf": nastran}[suffix](nodes, elements)
    written = re.search(rf"{str(x)[:5]}[\d.eE+]*", text)
    damaged = written.group().replace(str(x)[:2], f"{str(x)[0]}_{str(x)[1]}", 1)
    text = text[: written.start()] + damaged[: len(written.group())] + text[written.end() :]
    with pytest.raises(InputError, match=rf"part\{suffix}"):
        read(tmp_path / f"part{suffix}", text)
