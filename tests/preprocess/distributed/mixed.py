"""A part with all kinds of connections, reduced by the processes that run this program, or by one.

mpirun -n 3 python mixed.py BODY
"""

import sys
from typing import Any

import numpy as np

import preprocess as pp
from preprocess.body.build import ReductionOptions, Steps
from preprocess.distributed.decomposition import WholePart
from preprocess.distributed.processes import processes
from preprocess.distributed.reduce import Job, reduce_together
from preprocess.fe.assembly import DEFAULT, layout_of
from preprocess.fe.interfaces import Interface

STRESS = pp.Stress(precision="double")
METHOD = pp.CraigBampton(modes=8)


def mixed() -> tuple[pp.Mesh, dict[str, Any], dict[str, Any], dict[str, Interface]]:
    """Mesh, materials by element set, other arguments of `assemble`, interfaces: bars of hexahedra
    and of tetrahedra tied at faces that do not match, a beam that follows the end of the second
    one, and a spring across."""
    first = pp.box_mesh((0.2, 0.03, 0.02), (8, 3, 2), "hex8")
    second = pp.box_mesh((0.2, 0.03, 0.02), (7, 2, 3), "tet10")
    n, m = len(first.nodes), len(first.nodes) + len(second.nodes)
    beam = np.column_stack([0.4 + 0.02 * np.arange(1, 6), np.full(5, 0.015), np.full(5, 0.01)])
    tables = {
        "hex8": first.blocks["hex8"].connectivity,
        "tet10": n + second.blocks["tet10"].connectivity,
        "line2": m + np.column_stack([np.arange(4), np.arange(1, 5)]),
    }
    edges = np.cumsum([1, *(len(table) for table in tables.values())])
    mesh = pp.Mesh.from_arrays(
        np.vstack([first.nodes, second.nodes + [0.2, 0.0, 0.0], beam]),
        tables,
        node_sets={
            "root": first.node_sets["x0"],
            "plate": first.node_sets["x1"],
            "foot": n + second.node_sets["x0"],
            "head": n + second.node_sets["x1"],
            "neck": np.array([m]),
            "free": np.array([m + 4]),
            "corner": np.array([3]),
        },
        element_sets={
            name: np.arange(low, high)
            for name, low, high in zip(("one", "two", "beam"), edges, edges[1:])
        },
        separate=True,
    )
    steel, aluminium = (
        pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
        pp.Isotropic(E=7e10, nu=0.33, rho=2700.0),
    )
    connections = {
        "weld": pp.Tie("foot", "plate"),
        "collar": pp.AveragingSpider("head", reference="neck"),
        "spring": pp.Spring("corner", "free", 1e5, damping=10.0),
    }
    more = {"sections": {"beam": pp.CircularSection(0.01)}, "connections": connections}
    return (
        mesh,
        {"one": steel, "two": aluminium, "beam": steel},
        more,
        {"root": pp.Rigid("root"), "tip": pp.Rigid("free")},
    )


def job() -> Job:
    mesh, material, more, interfaces = mixed()
    how = ReductionOptions(
        METHOD, None, None, "chord", 0.01, None, True, STRESS, "mixed", True, False
    )
    return Job(WholePart.bound(mesh, layout_of(mesh, material, DEFAULT, **more), interfaces), how)


if __name__ == "__main__":
    group = processes()
    with group.ending_together():
        body = reduce_together(group, job, Steps(None))
        if body is not None:
            body.save(sys.argv[1])
