"""A reduced body and matrices of a small solid, and files of
them in the formats of other programs.
"""

import struct
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import preprocess as pp
from flexmbs.flexible_body.components import FlexibleFrame, GeometricStiffness, Surface
from flexmbs.flexible_body.record import FlexibleBodyData

INTEGRALS = ("mass", "first_moment", "second_moment", "S_bar", "xS", "SS", "K_ff", "D_ff")


def lumped_body(n: int = 3, points: int = 12, *, seed: int = 1) -> FlexibleBodyData:
    """Body of point masses with random shapes, frames that are turned, geometric stiffness and a
    surface.
    """
    rng = np.random.default_rng(seed)
    m, x, phi = (
        rng.uniform(0.1, 1.0, points),
        rng.normal(size=(points, 3)),
        rng.normal(size=(points, 3, n)),
    )

    def symmetric(count: int) -> np.ndarray:
        A = rng.normal(size=(count, n, n))
        return A + A.transpose(0, 2, 1)

    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turn *= np.linalg.det(turn)
    stiffness = symmetric(1)[0]
    return FlexibleBodyData.from_integrals(
        "lumps",
        mass=m.sum(),
        first_moment=m @ x,
        second_moment=np.einsum("p,pa,pb->ab", m, x, x),
        S_bar=np.einsum("p,pak->ak", m, phi),
        xS=np.einsum("p,pa,pbk->abk", m, x, phi),
        SS=np.einsum("p,pak,pbl->abkl", m, phi, phi),
        K_ff=stiffness @ stiffness + np.eye(n),
        D_ff=0.01 * np.eye(n),
        frames={
            "hub": FlexibleFrame(x[0], np.eye(3), phi[0], rng.normal(size=(3, n))),
            "tip end": FlexibleFrame(x[1], turn, phi[1], rng.normal(size=(3, n))),
        },
        surface=Surface(x, phi, np.array([[0, 1, 2], [2, 1, 3]]), np.arange(1, points + 1)),
        geometric=GeometricStiffness(
            symmetric(3), symmetric(3), symmetric(6), {"hub": symmetric(6), "tip end": symmetric(6)}
        ),
    )


def solid() -> pp.FEModel:
    """Steel bar of two elements."""
    return pp.assemble(
        pp.box_mesh((0.2, 0.04, 0.03), (2, 1, 1), "hex20"),
        pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
    )


def node_file(fe: pp.FEModel, path: Path, *, scale: float = 1.0) -> Path:
    """Table of node number, x, y, z; numbers from 1."""
    np.savetxt(path, np.c_[fe.node_ids + 1, fe.nodes / scale], delimiter=",", fmt="%.17g")
    return path


def labels(fe: pp.FEModel) -> np.ndarray:
    """Node number and direction of each row of K."""
    return np.stack([np.repeat(fe.node_ids + 1, 3), np.tile((1, 2, 3), len(fe.nodes))], axis=1)


def abaqus(fe: pp.FEModel, folder: Path, *, held: int = 0, both: bool = False) -> Path:
    """Matrices as *MATRIX OUTPUT writes them: the lower triangle, or both; ``held`` rows have a
    support.
    """
    at = labels(fe)
    for name, matrix in (("STIF", fe.K), ("MASS", fe.M)):
        A = (matrix if both else sp.tril(matrix)).tocoo()
        values = np.where((A.row == A.col) & (A.row < held) & (name == "STIF"), 1e36, A.data)
        rows = np.c_[at[A.row], at[A.col], values]
        np.savetxt(
            folder / f"bar_{name}1.mtx",
            rows,
            fmt="%d,%d,%d,%d,%.17g",
            header="** matrix",
            comments="",
        )
    return folder / "bar_STIF1.mtx"


def dmig(fe: pp.FEModel, path: Path, *, wide: bool = True) -> Path:
    """Matrices as DMIG cards, large fields or free format."""
    at = labels(fe)
    lines = ["$ punched", "BEGIN BULK"]
    for name, matrix in (("KAAX", fe.K), ("MAAX", fe.M)):
        A = sp.tril(matrix, format="csc")
        lines.append(f"DMIG    {name:8s}{0:8d}{6:8d}{2:8d}{0:8d}")
        for c in range(A.shape[1]):
            rows = A.indices[A.indptr[c] : A.indptr[c + 1]]
            values = [
                f"{value:.9E}".replace("E", "D") for value in A.data[A.indptr[c] : A.indptr[c + 1]]
            ]
            if wide:
                lines.append(f"DMIG*   {name:16s}{at[c, 0]:16d}{at[c, 1]:16d}{'':16s}*")
                lines += [
                    f"*       {at[r, 0]:16d}{at[r, 1]:16d}{value:>16s}"
                    for r, value in zip(rows, values)
                ]
            else:
                lines.append(
                    f"DMIG,{name},{at[c, 0]},{at[c, 1]},,{at[rows[0], 0]},{at[rows[0], 1]},{values[0]},0."
                )
                lines += [
                    f",{at[r, 0]},{at[r, 1]},{value}," for r, value in zip(rows[1:], values[1:])
                ]
    path.write_text("\n".join([*lines, "ENDDATA", ""]))
    return path


def op4(fe: pp.FEModel, path: Path, *, sparse: bool = False, each: int = 3) -> Path:
    """Matrices as ASCII OUTPUT4, dense or sparse (short strings); with 6 degrees of freedom to a
    node the rotations are empty.
    """
    lines = []
    rows = (each * np.arange(len(fe.nodes))[:, None] + np.arange(3)).ravel()
    n = each * len(fe.nodes)
    for name, matrix in (("KGG", fe.K), ("MGG", fe.M)):
        full = np.zeros((n, n))
        full[np.ix_(rows, rows)] = matrix.toarray()
        lines.append(f"{n:8d}{n:8d}{6:8d}{2:8d}{name:8s}1P,3E23.16")
        for column in range(n):
            used = np.flatnonzero(full[:, column])
            if not len(used):
                continue
            first, last = int(used[0]), int(used[-1]) + 1
            length = 2 * (last - first)
            head = [
                f"{column + 1:8d}{0:8d}{length + 1:8d}",
                f"{65536 * (length + 1) + first + 1:8d}",
            ]
            lines += head if sparse else [f"{column + 1:8d}{first + 1:8d}{length:8d}"]
            values = [f"{value:23.16E}" for value in full[first:last, column]]
            lines += ["".join(values[k : k + 3]) for k in range(0, len(values), 3)]
        lines += [f"{n + 1:8d}{1:8d}{1:8d}", f"{1.0:23.16E}"]
    path.write_text("\n".join([*lines, ""]))
    return path


def binary_op4(fe: pp.FEModel, path: Path) -> Path:
    """Matrices as binary OUTPUT4, dense columns, in Fortran records."""

    def record(content: bytes) -> bytes:
        return struct.pack("<i", len(content)) + content + struct.pack("<i", len(content))

    data, n = b"", 3 * len(fe.nodes)
    for name, matrix in (("KGG", fe.K), ("MGG", fe.M)):
        data += record(struct.pack("<4i8s", n, n, 6, 2, name.ljust(8).encode()))
        for column, values in enumerate(matrix.toarray().T):
            used = np.flatnonzero(values)
            values = values[used[0] : used[-1] + 1]
            data += record(
                struct.pack("<3i", column + 1, used[0] + 1, 2 * len(values)) + values.tobytes()
            )
        data += record(struct.pack("<3id", n + 1, 1, 2, 1.0))
    path.write_bytes(data)
    return path


def superelement_of(body: FlexibleBodyData) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """K, M and labels of the body's superelement: nodes 11, 12, …, its modes as degrees of freedom
    1 … 6 of nodes from 900.
    """
    from preprocess.formats.exporters.superelement import superelement

    K, M, _ = superelement(body)
    k, n = len(body.frames), len(K)
    nodes = np.r_[np.repeat(np.arange(11, 11 + k), 6), 900 + np.arange(n - 6 * k) // 6]
    directions = np.r_[np.tile(np.arange(1, 7), k), 1 + np.arange(n - 6 * k) % 6]
    return K, M, np.stack([nodes, directions], axis=1)


def frame_file(body: FlexibleBodyData, path: Path) -> Path:
    """Nodes 11, 12, … at the frames."""
    rows = [[11 + k, *frame.x] for k, frame in enumerate(body.frames.values())]
    np.savetxt(path, rows, delimiter=",", fmt="%.17g")
    return path


def abaqus_substructure(body: FlexibleBodyData, path: Path) -> Path:
    """The body as *SUBSTRUCTURE MATRIX OUTPUT writes it, four numbers to a line."""
    K, M, labels = superelement_of(body)
    nodes, counts = np.unique(labels[:, 0], return_counts=True)
    lines = [
        "**",
        "** GENERATION OF SUBSTRUCTURE",
        f"*USER ELEMENT, NODES= {len(nodes)}, LINEAR",
        "** ELEMENT NODES",
    ]
    lines += ["** " + ", ".join(map(str, nodes)) + ",", "1, 2, 3, 4, 5, 6"]
    lines += [", ".join(map(str, [len(nodes), *range(1, counts[-1] + 1)]))]
    for kind, A in (("STIFFNESS", K), ("MASS", M)):
        lines.append(f"*MATRIX,TYPE={kind}")
        for row in range(len(A)):
            values = [f"{value:.16e}" for value in A[row, : row + 1]]
            lines += [" , ".join(values[k : k + 4]) + "," for k in range(0, len(values), 4)]
    path.write_text("\n".join([*lines, ""]))
    return path


def dmig_superelement(body: FlexibleBodyData, path: Path) -> Path:
    """The body as DMIG of an external superelement: modes on scalar points."""
    K, M, labels = superelement_of(body)
    first_mode = 6 * len(body.frames)
    names = [
        f"{g},{c}" if row < first_mode else f"{900 + row}," for row, (g, c) in enumerate(labels)
    ]
    lines = []
    for name, A in (("KAAX", K), ("MAAX", M)):
        lines.append(f"DMIG,{name},0,6,2,0")
        for column in range(len(A)):
            lines.append(f"DMIG,{name},{names[column]},,{names[column]},{A[column, column]:.17e},")
            lines += [f",{names[row]},{A[row, column]:.17e}," for row in range(column + 1, len(A))]
    path.write_text("\n".join([*lines, ""]))
    return path
