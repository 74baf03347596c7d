"""Sectors with cyclic symmetry become the whole part: that meshed as a whole."""

import numpy as np
import pytest
import scipy.sparse.linalg as sla

import preprocess as pp
from flexmbs.errors import InputError

RING = (
    "*MATERIAL, NAME=steel\n*ELASTIC\n2.1e11, 0.3\n*DENSITY\n7850.\n*SOLID SECTION, "
    "ELSET=ring, MATERIAL=steel\n"
)


def wedge(angle, cells, kind="hex20"):
    """Sector of a ring, radii 0.2 and 0.3, height 0.05, between
    the angles 0 and ``angle`` about z.
    """
    box = pp.box_mesh((0.1, 1.0, 0.05), cells, kind)

    def turned(x):
        r, phi = 0.2 + x[:, 0], angle * x[:, 1]
        return np.column_stack([r * np.cos(phi), r * np.sin(phi), x[:, 2]])

    return box.moved(turned)


def sector_deck(count=6, shift=False):
    """Deck of one sector; shift: of sides that do not match, their nodes of one side moved in their
    plane.
    """
    mesh = wedge(2 * np.pi / count, (2, 3, 1))
    nodes = mesh.nodes.copy()
    if shift:
        side = mesh.node_sets["y1"]
        middle = side[np.abs(np.linalg.norm(nodes[side, :2], axis=1) - 0.25) < 1e-9]
        nodes[middle, :2] *= 0.252 / 0.25
    lines = ["*NODE", *(f"{n + 1}, {x:.9f}, {y:.9f}, {z:.9f}" for n, (x, y, z) in enumerate(nodes))]
    lines.append("*ELEMENT, TYPE=C3D20, ELSET=ring")
    for k, row in enumerate(mesh.blocks["hex20"].connectivity + 1):
        lines += [f"{k + 1}, {', '.join(map(str, row[:10]))},", ", ".join(map(str, row[10:]))]
    for name in ("y0", "y1", "x0"):
        lines += [f"*NSET, NSET={name}", *(f"{n + 1}," for n in mesh.node_sets[name])]
    lines += ["*SURFACE, NAME=left, TYPE=NODE\ny0", "*SURFACE, NAME=right, TYPE=NODE\ny1"]
    lines += ["*TIE, CYCLIC SYMMETRY, NAME=T1\nleft, right"]
    return "\n".join(
        [*lines, f"*CYCLIC SYMMETRY MODEL, N={count}, NGRAPH=1, TIE=T1\n0, 0, 0, 0, 0, 1", RING]
    )


def read(tmp_path, text):
    path = tmp_path / "sector.inp"
    path.write_text(text)
    return pp.read_mesh(path, unit="m", structural=True)


def frequencies(fe, count=16):
    """Of the free part, without its six rigid motions."""
    K, M = fe.constraints.matrix(fe.K), fe.constraints.matrix(fe.M)
    free = np.setdiff1d(np.arange(fe.freedoms.size), fe.constraints.dependent)
    K, M = (A[free][:, free].tocsc() for A in (K, M))
    values = np.sort(
        sla.eigsh(K, count, M, sigma=-1e6, v0=np.ones(len(free)), return_eigenvectors=False)
    )
    assert np.abs(values[:6]).max() < 1e-6 * values[6]
    return np.sqrt(values[6:]) / (2 * np.pi)


@pytest.mark.parametrize("shift", [False, True])
def test_a_sector_becomes_the_whole_ring(tmp_path, shift):
    """Merged where the sides match, tied where they do not: mass, sets, and frequencies of the ring
    meshed as a whole.
    """
    mesh = read(tmp_path, sector_deck(shift=shift))
    fe = pp.assemble(mesh)
    assert bool(mesh.declared.connections) == shift
    assert fe.mass == pytest.approx(7850 * np.pi * (0.3**2 - 0.2**2) * 0.05, rel=1e-4)
    inner = np.linalg.norm(mesh.nodes[mesh.node_sets["x0"], :2], axis=1)
    # new nodes of each of 18 elements: 2 corners, 1 middle along z, 2 along the circle
    assert len(inner) == 18 * 5
    np.testing.assert_allclose(inner, 0.2, rtol=1e-6)
    whole = wedge(2 * np.pi, (2, 18, 1))
    keep = np.setdiff1d(np.arange(len(whole.nodes)), whole.node_sets["y1"])
    number = np.empty(len(whole.nodes), dtype=int)
    number[keep] = np.arange(len(keep))
    for row in whole.node_sets["y1"]:
        start = whole.node_sets["y0"]
        number[row] = number[
            start[np.linalg.norm(whole.nodes[start] - whole.nodes[row], axis=1).argmin()]
        ]
    ring = pp.Mesh.from_arrays(
        whole.nodes[keep], {"hex20": number[whole.blocks["hex20"].connectivity]}
    )
    exact = frequencies(pp.assemble(ring, pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)))
    np.testing.assert_allclose(frequencies(fe), exact, rtol=2e-3 if shift else 1e-6)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("N=6", "N=1", r"\*CYCLIC SYMMETRY MODEL needs N=, two points of its axis"),
        ("N=6", "N=9999999", r"\*CYCLIC SYMMETRY MODEL needs N="),
        ("0, 0, 0, 0, 0, 1", "0, 0, 1, 0, 0, 1", "the two points of its axis coincide"),
        ("0, 0, 0, 0, 0, 1", "0, 0, 0", "two points of its axis"),
        ("TIE=T1", "TIE=T1, ELSET=no", "element set 'no' does not exist"),
        ("left, right", "left, no", r"\*TIE is of surface 'no', which does not exist"),
        (
            RING,
            RING + "*EQUATION\n2\n1, 1, 1., 2, 1, -1.\n",
            r"\*CYCLIC SYMMETRY MODEL with couplings or equations is not supported",
        ),
    ],
)
def test_bad_sectors_are_named(tmp_path, old, new, message):
    text = sector_deck()
    assert old in text
    with pytest.raises(InputError, match=message):
        read(tmp_path, text.replace(old, new))
