"""Small random parts: solids of all elements, shells, beams, with spiders, and their full models as
dense matrices.
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

import preprocess as pp
from preprocess.fe.interfaces import bind_interfaces
from preprocess.reduction.interface_statics import InterfaceStatics

SOLIDS = {
    "hex8": (4, 2, 1),
    "hex20": (3, 1, 1),
    "tet4": (4, 1, 1),
    "tet10": (2, 1, 1),
    "wedge6": (4, 1, 1),
    "wedge15": (2, 1, 1),
}
KINDS = (*SOLIDS, "shell", "beam", "spider", "plate", "frame", "laminate")


NODES = ("beam", "spider", "plate", "frame", "laminate")  # whose interfaces are single nodes


EXACT = 40  # eigenvalues, more than the tests compare


class FullModel(NamedTuple):
    """Displacements Z (n, m) that rigid interfaces and connections allow, orthonormal, K and M
    there, all (m, m), and those of all nodes (n, n).
    """

    Z: np.ndarray
    K: np.ndarray
    M: np.ndarray
    nodal: tuple[sp.csr_matrix, sp.csr_matrix]

    def eigenvalues(self, shift: float) -> np.ndarray:
        """λ ascending, most accurate where it is near ``shift``, by the inverse problem M x = K x /
        λ shifted.

        The round-off of K (1e-8 of the eigenvalues of bolted parts) is removed from the lowest
        `EXACT` by their Rayleigh quotients in extended precision.
        """
        theta, x = scipy.linalg.eigh(self.M, self.K + shift * self.M)
        theta, x = theta[::-1], x[:, ::-1]
        found = 1.0 / theta[theta > 1e-12 * theta[0]] - shift
        u = (self.Z @ x[:, : min(EXACT, len(found))]).astype(np.longdouble)
        strain, mass = ((u * (A.astype(np.longdouble) @ u)).sum(axis=0) for A in self.nodal)
        found[: u.shape[1]] = (strain / mass).astype(float)
        return np.asarray(found)


class RandomModel(NamedTuple):
    """A part and its interfaces."""

    fe: pp.FEModel
    interfaces: dict[str, pp.Rigid | pp.Averaged]


def random_part(seed: int, finer: int = 1) -> InterfaceStatics:
    """Static responses of `random_model`."""
    fe, interfaces = random_model(seed, finer)
    return InterfaceStatics(
        fe, bind_interfaces(interfaces, fe.nodes, fe.node_sets, fe.triangles, fe.freedoms)
    )


def random_model(seed: int, finer: int = 1) -> RandomModel:
    """finer: that many times as many elements along each side."""
    random = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    material = pp.Isotropic(
        E=10 ** random.uniform(9, 11.5), nu=random.uniform(0, 0.4), rho=random.uniform(1000, 9000)
    )
    mesh, options = _mesh(kind, random, finer)
    ends = ("x0", "x1")[: random.integers(1, 3)]
    names = [end if kind not in ("spider", "laminate") or end == "x0" else "hub" for end in ends]
    kinds = [
        pp.Rigid if kind in NODES else (pp.Rigid, pp.Averaged)[random.integers(2)] for _ in names
    ]
    fe = pp.assemble(mesh, material, **options)
    return RandomModel(fe, {name: each(name) for name, each in zip(names, kinds)})


def _mesh(kind, random, finer):
    size = np.array(
        [random.uniform(0.2, 0.6), random.uniform(0.03, 0.1), random.uniform(0.02, 0.1)]
    )
    if kind == "beam":
        n = 8 * finer**2
        x = np.linspace(0, 1, n + 1)[:, None]
        nodes = x * size + 0.1 * size[0] * np.sin(3 * x) * random.standard_normal(3)
        cells = np.column_stack([np.arange(n), np.arange(1, n + 1)])
        mesh = pp.Mesh.from_arrays(nodes, {"line2": cells}, node_sets={"x0": [0], "x1": [n]})
        return mesh, {
            "sections": pp.RectangularSection(
                0.02 * size[0], 0.05 * size[0], orientation=(0.1, 0.3, 1.0)
            )
        }
    if kind == "frame":
        return _frame(random, size[0])
    if kind == "laminate":
        return _laminate(random, size[0])
    if kind == "plate":  # flat, each interface one corner
        n = 4 * finer
        sheet = pp.box_mesh((size[0], size[0] * random.uniform(0.5, 1), 1.0), (n, n, 1), "hex8")
        corner, nodes = sheet.node_sets["z0"], sheet.nodes[sheet.node_sets["z0"]]
        cells = np.searchsorted(corner, sheet.blocks["hex8"].connectivity[:, :4])
        mesh = pp.Mesh.from_arrays(
            nodes, {"quad4": cells}, node_sets={"x0": [0], "x1": [len(nodes) - 1]}
        )
        return mesh, {"sections": pp.ShellSection(random.uniform(0.005, 0.03) * size[0])}
    if kind == "shell":
        n, m = 5 * finer + 1, 3 * finer + 1
        a, b = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, m), indexing="ij")
        nodes = (
            np.column_stack(
                [a.ravel(), 0.5 * b.ravel(), 0.2 * random.uniform() * np.sin(2 * b.ravel())]
            )
            * size[0]
        )
        rows = np.arange(n * m).reshape(n, m)
        cells = np.stack(
            [rows[:-1, :-1], rows[1:, :-1], rows[1:, 1:], rows[:-1, 1:]], axis=-1
        ).reshape(-1, 4)
        mesh = pp.Mesh.from_arrays(
            nodes, {"quad4": cells}, node_sets={"x0": rows[0], "x1": rows[-1]}
        )
        return mesh, {"sections": pp.ShellSection(random.uniform(0.005, 0.03) * size[0])}
    element = "hex8" if kind == "spider" else kind
    box = pp.box_mesh(tuple(size), tuple(finer * n for n in SOLIDS[element]), element)
    if random.integers(2):  # equal sides: pairs of equal frequencies
        size[2] = size[1]
    nodes = box.nodes * (size / np.ptp(box.nodes, axis=0))
    if element in ("hex8", "tet4", "wedge6"):
        nodes = nodes + random.integers(2) * 0.004 / finer**2 * random.standard_normal(nodes.shape)
    mesh = pp.Mesh.from_arrays(
        nodes, {element: box.blocks[element].connectivity}, node_sets=dict(box.node_sets)
    )
    if kind != "spider":
        return mesh, {}
    centre = mesh.nodes[mesh.node_sets["x1"]].mean(axis=0) + [0.05, 0.0, 0.0]
    spider = (pp.RigidSpider, pp.AveragingSpider)[random.integers(2)]
    return mesh, {"connections": {"hub": spider("x1", position=tuple(centre))}}


def _frame(random, size):
    """Beams of an open section with offsets and mass along them, and a strut that is pinned at both
    ends.
    """
    x = size * np.array(
        [(0, 0, 0), (0.3, 0.02, 0), (0.6, 0, 0.05), (1, 0.1, 0.1), (0.3, 0.4, 0.2), (0.6, 0.3, 0.4)]
    )
    x = x + 0.02 * size * random.standard_normal(x.shape)
    cells = [(0, 1), (1, 2), (2, 3), (1, 4), (4, 5), (5, 2), (4, 2)]
    sets = {"beams": [1, 2, 3, 4, 5, 6], "strut": [7]}
    mesh = pp.Mesh.from_arrays(
        x, {"line2": cells}, node_sets={"x0": [0], "x1": [3]}, element_sets=sets
    )
    beam = pp.ChannelSection(
        0.05 * size,
        0.03 * size,
        0.003 * size,
        0.004 * size,
        orientation=random.standard_normal(3),
        offset=tuple(0.03 * size * random.standard_normal(2)),
        turn=float(random.uniform(-180, 180)),
        added_mass=float(random.uniform(0, 2)),
        line="shear-centre",
    )
    strut = pp.RectangularSection(
        0.02 * size, 0.03 * size, orientation=(0.1, 0.2, 1), released=("456", "56")
    )
    return mesh, {"sections": {"beams": beam, "strut": strut}}


def _laminate(random, size):
    """A curved sheet of plies at any angles with an offset, held by a rigid spider, with an
    averaging one in its middle.
    """
    n, m = 6, 5
    a, b = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, m), indexing="ij")
    nodes = size * np.column_stack(
        [a.ravel(), 0.5 * b.ravel(), random.uniform(0, 0.3) * np.sin(2 * b.ravel())]
    )
    rows = np.arange(n * m).reshape(n, m)
    cells = np.stack([rows[:-1, :-1], rows[1:, :-1], rows[1:, 1:], rows[:-1, 1:]], axis=-1).reshape(
        -1, 4
    )
    mesh = pp.Mesh.from_arrays(
        nodes, {"quad4": cells}, node_sets={"edge": rows[0], "middle": rows[2:4, 1:4].ravel()}
    )
    plies = [
        (0.002 * size, float(angle)) for angle in random.uniform(-90, 90, random.integers(1, 5))
    ]
    ply = pp.Orthotropic(E=(1.4e11, 1e10, 1e10), nu=(0.3, 0.3, 0.4), G=(5e9, 5e9, 3e9), rho=1600.0)
    section = pp.LaminateSection(
        plies,
        orientation=(1, 0.3, 0),
        offset=float(0.002 * size * random.standard_normal()),
        materials=(ply,) * len(plies),
    )
    hub = pp.AveragingSpider("middle", position=tuple(nodes[rows[3, 2]] + [0, 0, 0.1 * size]))
    return mesh, {"sections": section, "connections": {"x0": pp.RigidSpider("edge"), "hub": hub}}


def full_model(statics: InterfaceStatics, held: int | None) -> FullModel:
    """The full model under a support, from K, M and rigid motions alone."""
    fe = statics.fe
    rows = [np.zeros((0, statics.size))]
    if fe.constraints.T is not None:
        rows.append(np.eye(statics.size) - fe.constraints.T.toarray())
    for k, interface in enumerate(statics.interfaces):
        nodal, T = np.eye(statics.size)[interface.dofs], interface.rigid_motion.reshape(-1, 6)
        if interface.drives_nodes:
            rows.append(nodal - T @ (np.linalg.pinv(T) @ nodal))
        if k == held:
            rows.append(interface.average @ nodal)
    C = np.vstack(rows)
    scale = np.linalg.norm(C, axis=1)
    C = C[scale > 0] / scale[scale > 0, None]
    Z = scipy.linalg.null_space(C, rcond=1e-10) if len(C) else np.eye(statics.size)
    K, M = Z.T @ (fe.K @ Z), Z.T @ (fe.M @ Z)
    return FullModel(Z, 0.5 * (K + K.T), 0.5 * (M + M.T), (fe.K, fe.M))


def frame_of(seed: int, interfaces) -> str:
    """Reference for `random_model`: mean axes for a plate, whose one node turns against no mass."""
    return "mean axes" if KINDS[seed % len(KINDS)] == "plate" else next(iter(interfaces))
