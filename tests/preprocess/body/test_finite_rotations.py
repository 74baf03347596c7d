"""Reduced bodies against models whose nodes rotate by finite angles.

Stiff pieces of random kinds hang on each other by bushings that only rotate. Whatever carries their
mass (sections beside their nodes, shells with offset, bodies beside a node or on a spider), every
point of a piece is at P + R (x − p), and the relative rotation vectors of the pieces are the
coordinates. Displacements of the reduced body are right to second order: in them and in its kinetic
energy the error is of third order.
"""

import numpy as np
import pytest
import scipy.linalg
from draws import drawn
from scipy.spatial.transform import Rotation

import flexmbs as fm
import preprocess as pp

KINDS = ("line2", "line3", "quad4", "tri3", "body", "spider")
REFERENCES = (
    "piece 0",
    "piece 2",
    "mean axes",
    "principal axes",
    pp.Chord("piece 0", "piece 3"),
    "node 0",
)
PIECES = 4


def piece(kind, random):
    """Nodes (n, 3) from the origin to the last node, type and cells, and section of a piece."""
    aside = tuple(random.uniform(-0.06, 0.06, 2))
    if kind in ("quad4", "tri3"):
        a, b = np.meshgrid([0.0, 0.1, 0.2], [0.0, 0.08, 0.15], indexing="ij")
        x = np.column_stack([a.ravel(), b.ravel(), (0.5 * a * b + random.uniform() * a**2).ravel()])
        cells = np.array([(0, 3, 4, 1), (1, 4, 5, 2), (3, 6, 7, 4), (4, 7, 8, 5)])
        if kind == "tri3":
            cells = np.vstack([cells[:, [0, 1, 2]], cells[:, [0, 2, 3]]])
        return x, kind, cells, pp.ShellSection(0.03, offset=aside[0])
    t = np.linspace(0, 1, 3)[:, None]
    x = 0.2 * t * random.uniform(0.5, 1.0, 3) + 0.04 * t**2 * random.uniform(-1, 1, 3)
    offset = aside if kind in ("line2", "line3") else (0.0, 0.0)
    section = pp.RectangularSection(0.04, 0.06, orientation=(0.1, 0.3, 1.0), offset=offset)
    if kind == "line3":
        return x, kind, np.array([(0, 2, 1)]), section
    return x, "line2", np.array([(0, 1), (1, 2)]), section


def chain(seed):
    """Model of pieces on each other, and the place of each joint (pieces − 1, 3)."""
    random = np.random.default_rng(seed)
    kinds = [KINDS[seed % len(KINDS)], *random.choice(KINDS, PIECES - 1)]
    nodes, cells, sets, sections, connections, bodies = [], {}, {}, {}, {}, []
    count, at, joints = 0, random.standard_normal(3), []
    for k, kind in enumerate(kinds):
        x, element, table, sections[f"piece {k}"] = piece(kind, random)
        x = at + x @ Rotation.random(random_state=random).as_matrix().T
        sets |= {f"first {k}": [count], f"last {k}": [count + len(x) - 1]}
        cells.setdefault(element, []).append((k, table + count))
        nodes.append(x)
        joints.append(at)
        count, at = count + len(x), x[-1]
        place, where = at + random.uniform(-0.1, 0.1, 3), f"last {k}"
        if kind == "spider":
            where = f"hub {k}"
            connections[where] = pp.RigidSpider(f"last {k}", position=tuple(place))
            place = place + [0.02, 0.03, 0.1]
        if kind in ("spider", "body"):
            bodies.append(pp.PointMass(where, 2.0, position=place, inertia=(2e-3, 3e-3, 4e-3)))
        if k:
            connections[f"joint {k}"] = pp.Bushing(
                f"last {k - 1}",
                f"first {k}",
                translation=(6e8,) * 3,
                rotation=random.uniform(50, 200, 3),
            )
    owners = [k for each in cells.values() for k, table in each for _ in table]
    elements = {f"piece {k}": np.flatnonzero(np.equal(owners, k)) + 1 for k in range(PIECES)}
    mesh = pp.Mesh.from_arrays(
        np.vstack(nodes),
        {name: np.vstack([table for _, table in each]) for name, each in cells.items()},
        node_sets=sets,
        element_sets=elements,
    )
    # stiff beside the bushings; K u of unit loads is not lost in round-off yet
    rigid = pp.Isotropic(E=8e12, nu=0.3, rho=7850.0)
    fe = pp.assemble(mesh, rigid, sections=sections, connections=connections)
    sizes = np.cumsum([len(x) for x in nodes])
    owner = np.searchsorted(sizes, np.arange(sizes[-1]), side="right")
    hubs = [k for k, kind in enumerate(kinds) if kind == "spider"]
    return (
        pp.attach(fe, bodies) if bodies else fe,
        np.append(owner, hubs).astype(int),
        np.array(joints[1:]),
    )


class FiniteRotations:
    """Positions of mass points and frames of a chain, whose pieces rotate by finite angles.

    The coordinates q of the reduced body are those of its linear displacements; of second order
    there is no momentum (mean axes), and no relative rotation vector.
    """

    def __init__(self, data, fe, owner, joints, frames):
        Q, origin = data.frames["piece 0"].R, data.frames["piece 0"].x
        self.place = lambda x: origin + (x - frames[0]) @ Q.T
        self.frames = np.array([data.frames[f"piece {k}"].x for k in range(PIECES)])
        np.testing.assert_allclose(self.place(frames), self.frames, atol=1e-9)
        self.x, self.joints, self.m = self.place(fe.points), self.place(joints), fe.m
        moved = np.zeros((fe.freedoms.size, PIECES))
        moved[3 * np.arange(len(owner)), owner] = 1.0
        self.owner = np.argmax(fe.point_displacements(moved)[:, 0], axis=1)
        self.phi = np.array([data.frames[f"piece {k}"].phi for k in range(PIECES)])
        self.psi = np.array([data.frames[f"piece {k}"].psi for k in range(PIECES)])

    def chain(self, q):
        """Mass points (P, 3), frames and rotations of the pieces, by the linear motion of the first."""
        turns = self.psi @ q
        R = [Rotation.from_rotvec(turns[0])]
        for after, before in zip(turns[1:], turns):
            R.append(R[-1] * Rotation.from_rotvec(after - before))
        start = [self.frames[0], self.frames[0] + self.phi[0] @ q]
        points, frames = np.empty_like(self.x), np.empty_like(self.frames)
        for k in range(PIECES):
            if k:
                joint = self.joints[k - 1]
                start = [joint, start[1] + R[k - 1].apply(joint - start[0])]
            own = self.owner == k
            points[own] = start[1] + R[k].apply(self.x[own] - start[0])
            frames[k] = start[1] + R[k].apply(self.frames[k] - start[0])
        return points, frames, R

    def at(self, q):
        """Points, frames, and rotation vectors of the pieces, in mean axes of second order."""
        h = 1e-3 / np.abs(self.psi @ q).max()
        bent = (self.chain(h * q)[0] + self.chain(-h * q)[0] - 2 * self.x) / h**2
        turn = np.cross(np.eye(3)[:, None], self.x)  # (3, P, 3)
        rigid = np.concatenate([np.broadcast_to(np.eye(3)[:, None], turn.shape), turn])
        weighted = np.stack([self.m @ each for each in rigid])
        G = np.einsum("apc,bpc->ab", rigid, weighted)
        a = -0.5 * np.linalg.solve(G, np.einsum("apc,pc->a", weighted, bent))
        points, frames, R = self.chain(q)
        turned = [(Rotation.from_rotvec(a[3:]) * each).as_rotvec() for each in R]
        return (*(x + a[:3] + np.cross(a[3:], x) for x in (points, frames)), np.array(turned))

    def energy(self, q, qd, V):
        """Kinetic energy (J) with the twist V (6,) of the body frame."""
        h = 1e-4
        ahead, behind = self.at(q + h * qd)[0], self.at(q - h * qd)[0]
        v = V[:3] + np.cross(V[3:], self.at(q)[0]) + (ahead - behind) / (2 * h)
        return 0.5 * np.sum(v * (self.m @ v))


def mass_matrix(data, q):
    """Of the reduced body, free to move (6 + nf, 6 + nf)."""
    free = fm.Model("free", gravity=(0.0, 0.0, 0.0))
    free.add(fm.FlexibleBody("part", data=data, qf0=tuple(q)))
    free.add(fm.Free("float", free.ground, "part"))
    return fm.matrices(free).M


@pytest.mark.filterwarnings("ignore::preprocess.PreprocessWarning")
@pytest.mark.parametrize("seed", drawn(6, 60))
def test_second_order_motion_of_pieces_that_rotate(seed):
    """Kinetic energy; displacements and rotations on which forces and moments beside nodes do work."""
    fe, owner, joints = chain(seed)
    random = np.random.default_rng(seed)
    frames = fe.nodes[[fe.node_sets[f"last {k}"][0] for k in range(PIECES)]]
    frames = frames + random.uniform(-0.1, 0.1, frames.shape)
    data = pp.reduce(
        fe,
        interfaces={
            f"piece {k}": pp.Rigid(f"last {k}", position=tuple(x)) for k, x in enumerate(frames)
        },
        reference=REFERENCES[seed % len(REFERENCES)],
        method=pp.Guyan(),
        stress=None,
        estimate=False,
    )
    exact = FiniteRotations(data, fe, owner, joints, frames)
    values, modes = scipy.linalg.eigh(data.K_ff, data.m_ff)
    soft = 3 * (PIECES - 1)
    assert values[soft] > 30 * values[soft - 1]
    directions = modes[:, :soft] / np.abs(exact.psi @ modes[:, :soft]).max(axis=(0, 1))
    q, *rates = (directions @ random.standard_normal((soft, 9))).T
    q, *rates = (each / np.abs(exact.psi @ each).max() for each in (q, *rates))
    twists = random.standard_normal((8, 6))
    K0 = np.array([data.geometric.frames[f"piece {k}"] for k in range(PIECES)])
    errors = []
    for size in (0.4, 0.1):
        _, places, turns = exact.at(size * q)
        motion = np.stack([places - exact.frames, turns], axis=1)
        linear = np.stack([exact.phi @ q, exact.psi @ q], axis=1) * size
        second = -0.5 * size**2 * np.einsum("k,jakl,l->ja", q, K0, q).reshape(PIECES, 2, 3)
        apart = np.abs(motion - linear - second).max(axis=(0, 2))
        T = [exact.energy(size * q, size * qd, V) for qd, V in zip(rates, twists)]
        v = np.hstack([twists, size * np.array(rates)])
        found = 0.5 * np.einsum("ni,ij,nj->n", v, mass_matrix(data, size * q), v)
        errors.append([*apart, np.linalg.norm(found / T - 1)])
    errors = np.array(errors)
    assert (errors[-1] < 1e-3).all()
    assert (errors[-1] < errors[0] / 28).all(), errors  # 1/64 of third order, 1/16 of second
