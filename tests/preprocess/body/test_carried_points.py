"""Second-order motion of bodies, sections, directors and offsets that the rotations of nodes carry.

Against closed forms and other models.
"""

import numpy as np
import pytest
import scipy.linalg

import flexmbs as fm
import preprocess as pp
from tests.preprocess.fe.test_shells import grid

STEEL = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
E, NU, RHO = 2.1e11, 0.3, 7850.0


def line(x, **sets):
    """Two-node beams along points (n, 3); sets: indices of nodes."""
    cells = np.column_stack([np.arange(len(x) - 1), np.arange(1, len(x))])
    return pp.Mesh.from_arrays(
        x, {"line2": cells}, node_sets={name: [row] for name, row in sets.items()}
    )


def along_x(length, n):
    return np.linspace(0, length, n + 1)[:, None] * [1.0, 0.0, 0.0]


def spinning(body, speed, axis=2):
    """Frequencies (Hz) of a body held at the origin by "root" that spins about a principal axis,
    from its own matrices.
    """
    wrench = body.mass * body.com  # m x_c Ω², which the root bears
    K0 = body.geometric.rotation[axis] - np.einsum(
        "a,akl->kl", wrench, body.geometric.frames["root"][:3]
    )
    a, b = (axis + 1) % 3, (axis + 2) % 3
    M = np.einsum("aakl->kl", body.SS)
    K = body.K_ff + speed**2 * (K0 - body.SS[a, a] - body.SS[b, b])
    G = 2 * speed * (body.SS[a, b] - body.SS[b, a])
    n = len(K)
    rates = np.block(
        [[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), np.linalg.solve(M, G)]]
    )
    found = np.linalg.eigvals(rates).imag
    return np.sort(found[found > 1e-3]) / (2 * np.pi)


def euler_beam(length, n, EI, mass, tension):
    """K with the stiffness of a tension by place, and M, of
    clamped beams with w and w′ at n nodes.
    """
    h = length / n
    K, M = np.zeros((2, 2 * n + 2, 2 * n + 2))
    bend = np.array([[12, 6 * h, -12, 6 * h], [6 * h, 4 * h**2, -6 * h, 2 * h**2],
                     [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h**2, -6 * h, 4 * h**2]]) / h**3  # fmt: skip
    pull = np.array([[36, 3 * h, -36, 3 * h], [3 * h, 4 * h**2, -3 * h, -(h**2)],
                     [-36, -3 * h, 36, -3 * h], [3 * h, -(h**2), -3 * h, 4 * h**2]]) / (30 * h)  # fmt: skip
    inertia = (
        np.array(
            [
                [156, 22 * h, 54, -13 * h],
                [22 * h, 4 * h**2, 13 * h, -3 * h**2],
                [54, 13 * h, 156, -22 * h],
                [-13 * h, -3 * h**2, -22 * h, 4 * h**2],
            ]
        )
        * h
        / 420
    )
    for k in range(n):
        own = slice(2 * k, 2 * k + 4)
        K[own, own] += EI * bend + tension((k + 0.5) * h) * pull
        M[own, own] += mass * inertia
    return K, M


def test_a_mass_beyond_the_tip_of_a_spinning_beam():
    """Lag and flap against Euler's beam with a point mass on a massless arm: the arm stiffens by
    its centrifugal force, too.
    """
    L, arm, m, speed, b, h, n = 0.4, 0.1, 2.0, 150.0, 0.012, 0.008, 16
    fe = pp.assemble(
        line(along_x(L, n), root=0, tip=n),
        STEEL,
        sections=pp.RectangularSection(b, h, orientation=(0, 1, 0)),
    )
    fe = pp.attach(fe, [pp.PointMass("tip", m, position=(L + arm, 0.0, 0.0))])
    body = pp.reduce(
        fe, interfaces={"root": pp.Rigid("root")}, reference="root", stress=None, estimate=False
    )
    force, rho_A = m * speed**2 * (L + arm), RHO * b * h
    expected = []
    for EI, lag in ((E * b**3 * h / 12, 1.0), (E * b * h**3 / 12, 0.0)):
        K, M = euler_beam(L, 40, EI, rho_A, lambda x: force + rho_A * speed**2 * (L**2 - x**2) / 2)
        K[-1, -1] += force * arm
        M[-2:, -2:] += m * np.array([[1.0, arm], [arm, arm**2]])
        K -= lag * speed**2 * M
        slow = 1.0 + lag * 4 * speed**2 * m * L / (E * b * h)  # Coriolis forces stretch the beam
        expected.append(
            np.sqrt(scipy.linalg.eigh(K[2:, 2:], M[2:, 2:], eigvals_only=True)[0] / slow)
            / (2 * np.pi)
        )
    np.testing.assert_allclose(spinning(body, speed)[:2], np.sort(expected), rtol=2e-3)


def test_a_body_off_its_node_is_one_on_a_rigid_arm():
    """Frequencies under spin of a CONM2 with an offset, and of
    one on the centre of a rigid spider.
    """
    section, place = pp.RectangularSection(0.03, 0.012, orientation=(0, 0, 1)), (0.5, 0.04, -0.03)
    given = {"position": place, "inertia": (1e-3, 2e-3, 2.5e-3)}
    found = []
    for node, connections in (
        ("tip", {}),
        ("head", {"head": pp.RigidSpider("tip", position=place)}),
    ):
        fe = pp.assemble(
            line(along_x(0.4, 6), root=0, tip=6), STEEL, sections=section, connections=connections
        )
        fe = pp.attach(fe, [pp.PointMass(node, 2.0, **given)])
        body = pp.reduce(
            fe,
            interfaces={
                "root": pp.Rigid("root"),
                "tip": pp.Rigid("tip") if node == "tip" else pp.Rigid("head"),
            },
            reference="root",
            stress=None,
            estimate=False,
            method=pp.CraigBampton(modes=6),
        )
        found.append(spinning(body, 150.0)[:8])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-7)


def test_a_body_on_a_face_is_one_on_an_averaging_spider():
    """Frequencies under spin of a solid with a body beyond its end."""
    place, given = (0.45, 0.04, -0.03), {"inertia": (1e-3, 2e-3, 2.5e-3)}
    mesh = pp.box_mesh((0.4, 0.03, 0.012), (6, 2, 1), "hex20", origin=(0, -0.015, -0.006))
    found = []
    for node, connections in (
        ("x1", {}),
        ("head", {"head": pp.AveragingSpider("x1", position=place)}),
    ):
        fe = pp.assemble(mesh, STEEL, connections=connections)
        fe = pp.attach(fe, [pp.PointMass(node, 2.0, position=place, **given)])
        body = pp.reduce(fe, interfaces={"root": pp.Rigid("x0")}, reference="root", stress=None,
                         estimate=False, method=pp.CraigBampton(modes=8))  # fmt: skip
        found.append(np.concatenate([spinning(body, 150.0, axis)[:8] for axis in range(3)]))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-7)
    assert np.abs(found[0][:8] / spinning(body, 0.0)[:8] - 1).max() > 0.05


def test_a_spinning_blade_of_beams_has_the_propeller_moment():
    """Torsion of a blade of 60 mm × 6 mm: GJ, tension N r_p² and the moment ρ(I₂ − I₁) Ω² θ, by
    Ritz's method.
    """
    L, b, h, speed, n = 0.5, 0.06, 0.006, 300.0, 24
    section = pp.RectangularSection(b, h, orientation=(0, 1, 0))  # in the plane of rotation
    data = section.data(NU)
    fe = pp.assemble(line(along_x(L, n), root=0, tip=n), STEEL, sections=section)
    body = pp.reduce(
        fe, interfaces={"root": pp.Rigid("root")}, reference="root", stress=None, estimate=False
    )
    polar, apart = data.Iy + data.Iz, data.Iz - data.Iy
    x, weight = (
        (np.polynomial.legendre.leggauss(40)[0] + 1) * L / 2,
        np.polynomial.legendre.leggauss(40)[1] * L / 2,
    )
    k = (np.arange(6)[:, None] + 0.5) * np.pi / L
    shape, slope = np.sin(k * x), k * np.cos(k * x)
    stiff = E / (2 + 2 * NU) * data.J + RHO * speed**2 * (L**2 - x**2) / 2 * polar
    K = (slope * weight * stiff) @ slope.T + RHO * speed**2 * apart * (shape * weight) @ shape.T
    torsion = np.sqrt(
        scipy.linalg.eigh(K, RHO * polar * (shape * weight) @ shape.T, eigvals_only=True)[0]
    ) / (2 * np.pi)
    found = spinning(body, speed)
    assert np.abs(found / torsion - 1.0).min() < 1e-3


def critical_load(body, length):
    """Smallest force along x on the tip, of either sign, under which the body held at the root
    buckles.
    """
    K0 = body.geometric.frames["tip"][0] - body.geometric.frames["root"][0]
    return 1 / np.abs(scipy.linalg.eigh(K0, body.K_ff, eigvals_only=True)).max()


def lateral_loads(body, length):
    """Forces across x, along z, at the tip, of both signs, under which the body held at the root
    buckles.
    """
    frames = body.geometric.frames
    K0 = frames["tip"][2] - frames["root"][2] + length * frames["root"][4]
    factors = scipy.linalg.eigh(-K0, body.K_ff, eigvals_only=True)
    return 1 / factors.max(), 1 / factors.min()


def test_a_deep_beam_under_a_force_beside_its_middle():
    """Nodes 40 mm below the line of centroids: as on rigid spiders to the same points, and by
    Timoshenko's theory.

    A force that acts a below the middle of a cantilever does the work ½ F a θ² at the tip besides:
    P = 4.013 √(EI GJ)/L² with (1 ± a √(EI/GJ)/L), to first order (Timoshenko and Gere, Theory of
    Elastic Stability).
    """
    L, b, h, offset, n = 1.0, 0.06, 0.004, 0.04, 16
    options = {
        "reference": "root",
        "method": pp.CraigBampton(modes=16),
        "stress": None,
        "estimate": False,
    }
    deep = {"height": b, "width": h, "orientation": (0, 0, 1)}
    aside = pp.RectangularSection(**deep, offset=(offset, 0.0))
    spiders = {
        "root": pp.RigidSpider("first", position=(0, 0, 0)),
        "tip": pp.RigidSpider("last", position=(L, 0, 0)),
    }
    models = (
        pp.assemble(line(along_x(L, n), root=0, tip=n), STEEL, sections=aside),
        pp.assemble(line(along_x(L, n) + [0, 0, offset], first=0, last=n), STEEL,
                    sections=pp.RectangularSection(**deep), connections=spiders),
    )  # fmt: skip
    ends = {"root": pp.Rigid("root"), "tip": pp.Rigid("tip")}
    found, expected = (lateral_loads(pp.reduce(fe, interfaces=ends, **options), L) for fe in models)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    data = aside.data(NU)
    plain = 4.013 * np.sqrt(E * data.Iy * E / (2 + 2 * NU) * data.J) / L**2
    shift = offset / L * np.sqrt(E * data.Iy / (E / (2 + 2 * NU) * data.J))
    np.testing.assert_allclose(
        np.sort(np.abs(found)), plain * np.array([1 - shift, 1 + shift]), rtol=0.02
    )


def strip(kind, L, b, h, offset):
    """A deep cantilever along x, clamped at its root, whose middle line is ``offset`` above x."""
    if kind == "beam":
        n, deep = 16, {"height": b, "width": h, "orientation": (0, 0, 1)}
        section = pp.RectangularSection(**deep, offset=(offset, 0.0))
        return pp.assemble(line(along_x(L, n), root=0, tip=n), STEEL, sections=section)
    if kind == "hex20":
        start = (0, -h / 2, offset - b / 2)
        mesh = pp.box_mesh((L, h, b), (24, 1, 3), "hex20", origin=start)
        sets = {"root": mesh.node_sets["x0"], "tip": mesh.node_sets["x1"]}
        cells = {kind: mesh.blocks[kind].connectivity}
        return pp.assemble(pp.Mesh.from_arrays(mesh.nodes, cells, node_sets=sets), STEEL)
    mesh, rows = grid(24, 4, lambda u, v: (L * u, 0.0, offset + b * (v - 0.5)), kind)
    sets = {"root": rows[0][rows[0] >= 0], "tip": rows[-1][rows[-1] >= 0]}
    cells = {kind: mesh.blocks[kind].connectivity}
    mesh = pp.Mesh.from_arrays(mesh.nodes, cells, node_sets=sets)
    return pp.assemble(mesh, STEEL, sections=pp.ShellSection(h))


def test_solids_shells_and_beams_buckle_sideways_under_the_same_loads():
    """A strip under a force across it beside its middle, of both signs: loads of lateral buckling
    of one part by all elements."""
    L, b, h, offset = 1.0, 0.06, 0.004, 0.04
    ends = {
        "root": pp.Rigid("root", position=(0, 0, 0)),
        "tip": pp.Rigid("tip", position=(L, 0, 0)),
    }
    options = {"reference": "root", "method": pp.CraigBampton(modes=16)}
    options |= {"stress": None, "estimate": False}
    found = {}
    for kind in ("beam", "hex20", "tri3", "quad4", "quad8"):
        fe = strip(kind, L, b, h, offset)
        found[kind] = np.array(lateral_loads(pp.reduce(fe, interfaces=ends, **options), L))
    solid = found["hex20"]
    assert abs(solid.sum()) > 0.03 * np.ptp(solid)
    for kind, loads in found.items():
        # rigid end faces resist the warping of solids and shells, by some b/L = 6 %; beams have none
        within = 0.06 if kind == "beam" else 0.02
        np.testing.assert_allclose(loads, solid, rtol=within, err_msg=kind)
        assert loads[0] / loads[1] == pytest.approx(solid[0] / solid[1], rel=2e-3), kind


def test_a_force_at_the_node_of_an_offset_section():
    """Line of nodes beside a column: as on rigid spiders to the same points, for sheets, too."""
    L, b, h, offset, n = 1.0, 0.04, 0.01, 0.05, 12
    ends = {"root": pp.Rigid("root"), "tip": pp.Rigid("tip")}
    options = {
        "reference": "root",
        "method": pp.CraigBampton(modes=8),
        "stress": None,
        "estimate": False,
    }
    aside = pp.RectangularSection(h, b, orientation=(0, 0, 1), offset=(offset, 0.0))
    models = {"beam": pp.assemble(line(along_x(L, n), root=0, tip=n), STEEL, sections=aside)}
    middle = line(along_x(L, n) + [0, 0, offset], first=0, last=n)
    spiders = {
        "root": pp.RigidSpider("first", position=(0, 0, 0)),
        "tip": pp.RigidSpider("last", position=(L, 0, 0)),
    }
    plain = pp.RectangularSection(h, b, orientation=(0, 0, 1))
    models["spiders"] = pp.assemble(middle, STEEL, sections=plain, connections=spiders)
    sides = np.array([[0.0, -b / 2, 0.0], [0.0, 0.0, 0.0], [0.0, b / 2, 0.0]])
    nodes = (along_x(L, 2 * n)[:, None] + sides).reshape(-1, 3)
    first = np.arange(0, 6 * n, 6)
    quads = {
        "quad4": np.stack(
            [first[:, None] + np.array(c) for c in ((0, 6, 7, 1), (1, 7, 8, 2))], axis=1
        ).reshape(-1, 4),
        "quad8": first[:, None] + np.array([0, 6, 8, 2, 3, 7, 5, 1]),
    }
    for kind, cells in quads.items():
        used, cells = np.unique(cells, return_inverse=True)
        x = nodes[used]
        sets = {"root": np.flatnonzero(x[:, 0] == 0), "tip": np.flatnonzero(x[:, 0] == L)}
        mesh = pp.Mesh.from_arrays(x, {kind: cells.reshape(-1, int(kind[-1]))}, node_sets=sets)
        models[kind] = pp.assemble(mesh, STEEL, sections=pp.ShellSection(h, offset=offset))
    found = {
        name: critical_load(pp.reduce(fe, interfaces=ends, **options), L)
        for name, fe in models.items()
    }
    assert found["beam"] == pytest.approx(found["spiders"], rel=1e-4)
    assert found["quad4"] == pytest.approx(found["spiders"], rel=0.03)
    assert found["quad8"] == pytest.approx(found["spiders"], rel=0.03)


def test_a_head_above_a_mast_under_its_weight():
    """0.160 Hz of 75 kg 0.3 m above the tip; 0.343 Hz without the work of its weight on the tilt.

    Against Euler's beam with a point mass on a massless arm.
    """
    L, d, m, arm, g, n = 1.0, 0.0152, 75.0, 0.3, 9.81, 12
    x = np.linspace(0, L, n + 1)[:, None] * [0.0, 0.0, 1.0]
    fe = pp.assemble(line(x, root=0, tip=n), STEEL, sections=pp.CircularSection(d))
    fe = pp.attach(fe, [pp.PointMass("tip", m, position=(0.0, 0.0, L + arm))])
    data = pp.reduce(
        fe, interfaces={"root": pp.Rigid("root")}, reference="root", stress=None, estimate=False
    )
    model = fm.Model("mast", gravity=(0.0, 0.0, -g))
    mast = model.add(fm.FlexibleBody("mast", data=data))
    model.add(fm.Fixed("clamp", model.ground, mast["root"]))
    at = fm.statics(model, audit=False)
    found = np.abs(np.asarray(fm.linearize(model, start=at, audit=False).modes.eigenvalue).imag)
    A, EI = np.pi * d**2 / 4, E * np.pi * d**4 / 64
    K, M = euler_beam(L, 40, EI, RHO * A, lambda x: -g * (m + RHO * A * (L - x)))
    K[-1, -1] -= m * g * arm
    M[-2:, -2:] += m * np.array([[1.0, arm], [arm, arm**2]])
    expected = np.sqrt(scipy.linalg.eigh(K[2:, 2:], M[2:, 2:], eigvals_only=True)[0])
    assert expected / (2 * np.pi) == pytest.approx(0.160, abs=5e-4)
    np.testing.assert_allclose(np.sort(found)[:2], expected, rtol=3e-3)


def test_a_column_under_a_force_beside_it():
    """Nodes 0.3 m beside a cantilever: ``(P_E − P) (GJ − P I_p/A) = P² e²``, 7168 N and one of tension.

    With the strip of width h bent by P e about its strong axis: lateral deflection v and twist
    e P v/(GJ − P I_p/A) (Timoshenko and Gere, Theory of Elastic Stability, eccentric thrust).
    """
    L, h, b, e, n = 0.5, 0.01, 0.06, 0.3, 16
    section = pp.RectangularSection(h, b, orientation=(0, 0, 1), offset=(0.0, e))
    fe = pp.assemble(line(along_x(L, n), root=0, tip=n), STEEL, sections=section)
    ends = {"root": pp.Rigid("root"), "tip": pp.Rigid("tip")}
    options = {"method": pp.CraigBampton(modes=16), "stress": None, "estimate": False}
    body = pp.reduce(fe, interfaces=ends, reference="root", **options)
    K0 = body.geometric.frames["tip"][0] - body.geometric.frames["root"][0]
    factors = scipy.linalg.eigh(K0, body.K_ff, eigvals_only=True)
    data = section.data(NU)
    twist, radius = E / (2 + 2 * NU) * data.J, (data.Iy + data.Iz) / data.A
    euler = np.pi**2 * E * min(data.Iy, data.Iz) / (4 * L**2)
    expected = np.roots([radius - e**2, -(twist + euler * radius), euler * twist])
    assert expected.max() == pytest.approx(7168, rel=1e-3)
    found = [1 / factors.min(), 1 / factors.max()]
    np.testing.assert_allclose(found, np.sort(expected), rtol=1e-3)


def arc(kind, length, radius, thickness, angles):
    """A sheet with an unsymmetric arc as its section, along x."""
    n, m = {"hex20": (14, 10), "quad8": (14, 4)}.get(kind, (28, 8))
    low, high = np.radians(angles)
    if kind == "hex20":
        box = pp.box_mesh((1, 1, 1), (n, m, 1), "hex20")
        x, y, z = box.nodes.T
        angle, r = low + (high - low) * y, radius + thickness * (0.5 - z)
        nodes, cells = (
            np.stack([length * x, r * np.sin(angle), -r * np.cos(angle)], 1),
            box.blocks["hex20"].connectivity,
        )
        sets = {"root": box.node_sets["x0"], "tip": box.node_sets["x1"]}
        return pp.assemble(pp.Mesh.from_arrays(nodes, {"hex20": cells}, node_sets=sets), STEEL)
    fine = 2 if kind == "quad8" else 1
    u, v = np.meshgrid(
        np.linspace(0, 1, fine * n + 1), np.linspace(0, 1, fine * m + 1), indexing="ij"
    )
    angle = low + (high - low) * v
    nodes = np.stack([length * u, radius * np.sin(angle), -radius * np.cos(angle)], -1).reshape(
        -1, 3
    )
    rows = np.arange(u.size).reshape(u.shape)
    corners = [
        rows[:-1:fine, :-1:fine],
        rows[fine::fine, :-1:fine],
        rows[fine::fine, fine::fine],
        rows[:-1:fine, fine::fine],
    ]
    if fine == 2:
        corners += [rows[1::2, :-1:2], rows[2::2, 1::2], rows[1::2, 2::2], rows[:-1:2, 1::2]]
    cells = np.stack([each.ravel() for each in corners], 1)
    if kind == "tri3":
        cells = np.vstack([cells[:, [0, 1, 2]], cells[:, [0, 2, 3]]])
    used, cells = np.unique(cells, return_inverse=True)
    sets = {
        name: np.searchsorted(used, np.intersect1d(row, used))
        for name, row in (("root", rows[0]), ("tip", rows[-1]))
    }
    mesh = pp.Mesh.from_arrays(
        nodes[used],
        {kind: cells.reshape(-1, {"tri3": 3, "quad4": 4, "quad8": 8}[kind])},
        node_sets=sets,
    )
    return pp.assemble(mesh, STEEL, sections=pp.ShellSection(thickness))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("sizes", "angles", "load", "smallest"),
    [((0.5, 0.045, 2e-3), (-30, 70), 200.0, 0.5), ((0.5, 0.025, 8e-4), (-25, 95), 30.0, 2.0)],
)
def test_curved_sheets_stiffen_as_solids_do_under_either_sign_of_a_transverse_load(
    sizes, angles, load, smallest
):
    """Change of the second frequency of an arc by a force of either sign across it at its tip."""
    found, length = {}, sizes[0]
    ends = {
        "root": pp.Rigid("root", position=(0, 0, 0)),
        "tip": pp.Rigid("tip", position=(length, 0, 0)),
    }
    options = {"method": pp.CraigBampton(modes=8), "stress": None, "estimate": False}
    for kind in ("hex20", "tri3", "quad4", "quad8"):
        body = pp.reduce(arc(kind, *sizes, angles), interfaces=ends, reference="root", **options)
        frames = body.geometric.frames
        K0 = frames["tip"][1] - frames["root"][1] - length * frames["root"][5]
        f = [
            np.sqrt(scipy.linalg.eigh(body.K_ff + P * K0, body.m_ff, eigvals_only=True)[1])
            / (2 * np.pi)
            for P in (0.0, load, -load)
        ]
        found[kind] = np.array([f[1] - f[0], f[2] - f[0]])
    assert (found["hex20"] * [1, -1] > smallest).all()
    for kind, change in found.items():
        np.testing.assert_allclose(change, found["hex20"], rtol=0.03, err_msg=kind)
