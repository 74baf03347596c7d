"""Box in scikit-fem: the elements, the mesh and the material that several tests assemble there."""

import meshio
import numpy as np
import skfem
import skfem.io.meshio

from preprocess.elements import ELEMENTS
from preprocess.fe.material import Orthotropic
from preprocess.mesh.structured import box_mesh

PINE = Orthotropic(
    E=(12e9, 0.9e9, 0.6e9),
    nu=(0.37, 0.45, 0.42),
    G=(0.7e9, 0.65e9, 0.06e9),
    rho=500.0,
    axes=[[0.8, -0.6, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]],
)
SIZE, DIVISIONS = (1.0, 0.6, 0.4), (2, 2, 1)
PEERS = {
    "tet4": skfem.ElementTetP1(),
    "tet10": skfem.ElementTetP2(),
    "hex8": skfem.ElementHex1(),
    "hex20": skfem.ElementHexS2(),
    "hex27": skfem.ElementHex2(),
    "wedge6": skfem.ElementWedge1(),
}


def bent(x):
    return x + 0.15 * np.column_stack([x[:, 1] * x[:, 2], x[:, 0] ** 2, x[:, 0] * x[:, 1]])


def uneven_box(name):
    """A box bent by a smooth map: curved tet10 and hex27; straight hex20, for which scikit-fem has
    no curved geometry.
    """
    mesh = box_mesh(SIZE, DIVISIONS, name)
    if name != "hex20":
        return mesh.moved(bent)
    linear = box_mesh(SIZE, DIVISIONS, "hex8").moved(bent)
    x = mesh.nodes.copy()
    corners = linear.nodes[linear.blocks["hex8"].connectivity]
    x[mesh.blocks[name].connectivity] = (
        ELEMENTS["hex8"].shape_functions(ELEMENTS[name].nodes) @ corners
    )
    return mesh.moved(lambda _: x)


def peer_grid(mesh, name):
    """The mesh in scikit-fem."""
    if name == "wedge6":
        return skfem.MeshWedge1(
            np.ascontiguousarray(mesh.nodes.T),
            np.ascontiguousarray(mesh.blocks[name].connectivity.T),
        )
    kind, n = ("hexahedron", 8) if name == "hex20" else (ELEMENTS[name].meshio_name, None)
    table = mesh.blocks[name].connectivity[:, :n]
    used, places = np.unique(table, return_inverse=True)
    return skfem.io.meshio.from_meshio(
        meshio.Mesh(mesh.nodes[used], [(kind, places.reshape(table.shape))])
    )
