"""Small random parts: solids of all elements, shells, beams, with spiders, and their full models as dense matrices."""

from typing import NamedTuple

import numpy as np
import scipy.linalg

import preprocess as pp
from preprocess.fe.interfaces import bind_interfaces
from preprocess.reduction.statics import InterfaceStatics

SOLIDS = {"hex8": (4, 2, 1), "hex20": (3, 1, 1), "tet4": (4, 1, 1), "tet10": (2, 1, 1), "wedge6": (4, 1, 1), "wedge15": (2, 1, 1)}
KINDS = (*SOLIDS, "shell", "beam", "spider")


class FullModel(NamedTuple):
    """Displacements Z (n, m) that rigid interfaces and connections allow, orthonormal, K and M there, all (m, m)."""

    Z: np.ndarray
    K: np.ndarray
    M: np.ndarray

    def eigenvalues(self, shift: float) -> np.ndarray:
        """λ ascending, most accurate where it is near ``shift``, by the inverse problem M x = K x / λ shifted."""
        theta = scipy.linalg.eigh(self.M, self.K + shift * self.M, eigvals_only=True)[::-1]
        return 1.0 / theta[theta > 1e-12 * theta[0]] - shift


class RandomModel(NamedTuple):
    """A part and its interfaces."""

    fe: pp.FEModel
    interfaces: dict[str, pp.Rigid | pp.Averaged]


def random_part(seed: int, finer: int = 1) -> InterfaceStatics:
    """Static responses of `random_model`."""
    fe, interfaces = random_model(seed, finer)
    return InterfaceStatics(fe, bind_interfaces(interfaces, fe.nodes, fe.node_sets, fe.triangles, fe.freedoms))


def random_model(seed: int, finer: int = 1) -> RandomModel:
    """finer: that many times as many elements along each side."""
    random = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    material = pp.Isotropic(E=10 ** random.uniform(9, 11.5), nu=random.uniform(0, 0.4), rho=random.uniform(1000, 9000))
    mesh, options = _mesh(kind, random, finer)
    ends = ("x0", "x1")[: random.integers(1, 3)]
    names = [end if kind != "spider" or end == "x0" else "hub" for end in ends]
    kinds = [pp.Rigid if kind in ("beam", "spider") else (pp.Rigid, pp.Averaged)[random.integers(2)] for _ in names]
    fe = pp.assemble(mesh, material, **options)
    return RandomModel(fe, {name: each(name) for name, each in zip(names, kinds)})


def _mesh(kind, random, finer):
    size = np.array([random.uniform(0.2, 0.6), random.uniform(0.03, 0.1), random.uniform(0.02, 0.1)])
    if kind == "beam":
        n = 8 * finer**2
        x = np.linspace(0, 1, n + 1)[:, None]
        nodes = x * size + 0.1 * size[0] * np.sin(3 * x) * random.standard_normal(3)
        cells = np.column_stack([np.arange(n), np.arange(1, n + 1)])
        mesh = pp.Mesh.from_arrays(nodes, {"line2": cells}, node_sets={"x0": [0], "x1": [n]})
        return mesh, {"sections": pp.RectangularSection(0.02 * size[0], 0.05 * size[0], orientation=(0.1, 0.3, 1.0))}
    if kind == "shell":
        n, m = 5 * finer + 1, 3 * finer + 1
        a, b = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, m), indexing="ij")
        nodes = np.column_stack([a.ravel(), 0.5 * b.ravel(), 0.2 * random.uniform() * np.sin(2 * b.ravel())]) * size[0]
        rows = np.arange(n * m).reshape(n, m)
        cells = np.stack([rows[:-1, :-1], rows[1:, :-1], rows[1:, 1:], rows[:-1, 1:]], axis=-1).reshape(-1, 4)
        mesh = pp.Mesh.from_arrays(nodes, {"quad4": cells}, node_sets={"x0": rows[0], "x1": rows[-1]})
        return mesh, {"sections": pp.ShellSection(random.uniform(0.005, 0.03) * size[0])}
    element = "hex8" if kind == "spider" else kind
    box = pp.box_mesh(tuple(size), tuple(finer * n for n in SOLIDS[element]), element)
    if random.integers(2):  # equal sides: pairs of equal frequencies
        size[2] = size[1]
    nodes = box.nodes * (size / np.ptp(box.nodes, axis=0))
    if element in ("hex8", "tet4", "wedge6"):
        nodes = nodes + random.integers(2) * 0.004 / finer**2 * random.standard_normal(nodes.shape)
    mesh = pp.Mesh.from_arrays(nodes, {element: box.blocks[element].connectivity}, node_sets=dict(box.node_sets))
    if kind != "spider":
        return mesh, {}
    centre = mesh.nodes[mesh.node_sets["x1"]].mean(axis=0) + [0.05, 0.0, 0.0]
    spider = (pp.RigidSpider, pp.AveragingSpider)[random.integers(2)]
    return mesh, {"connections": {"hub": spider("x1", position=tuple(centre))}}


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
    return FullModel(Z, 0.5 * (K + K.T), 0.5 * (M + M.T))
