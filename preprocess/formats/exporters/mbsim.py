"""Exporter of flexible bodies for MBSim (.h5).

The nodes are the frames, with rotation shapes, followed by the surface nodes without.
"""

from __future__ import annotations

import h5py
import numpy as np

from flexmbs.files.hdf5 import write_atomically
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.formats.exporters.base import Exporter, ExportRequest, missing_fields


class MBSimExporter(Exporter):
    """Flexible-body file of MBSim."""

    kind = "mbsim"
    suffixes = (".mbsim.h5",)

    def write(self, body: FlexibleBodyData, request: ExportRequest) -> list[str]:
        """Write the body as an HDF5 file of MBSim; notes on data that are lost."""
        arrays = _arrays(body)

        def fill(file: h5py.File) -> None:
            """Write the arrays into an open file."""
            for name, values in arrays.items():
                file[name] = values

        write_atomically(request.path, fill, checksums=False)
        named = (
            [
                f"the frames are nodes 1 … {len(body.frames)} without names and axes: "
                f"{', '.join(body.frames)}"
            ]
            if body.frames
            else []
        )
        return named + missing_fields(body, "MBSimExporter", surface=True, geometric=False)


def _arrays(body: FlexibleBodyData) -> dict[str, np.ndarray]:
    """Arrays of the body by dataset name of MBSim."""
    n = body.nf
    frames = list(body.frames.values())
    x = np.array([frame.x for frame in frames]).reshape(len(frames), 3)
    phi = np.array([frame.phi for frame in frames]).reshape(len(frames), 3, n)
    psi = np.array([frame.psi for frame in frames]).reshape(len(frames), 3, n)
    arrays = {
        "mass": np.array(body.mass),
        "position integral": body.first_moment,
        "position position integral": body.second_moment,
        "shape function integral": body.S_bar,
        "position shape function integral": body.xS.reshape(9, n),
        "shape function shape function integral": np.concatenate(
            [body.SS[a, b] for a, b in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))]
        ),
        "stiffness matrix": body.K_ff,
        "damping matrix": body.D_ff,
    }
    if body.surface is not None:
        triangles = body.surface.triangles + len(frames)
        arrays["openmbv indices"] = np.hstack([triangles, np.full((len(triangles), 1), -1)]).ravel()
        x, phi = np.vstack([x, body.surface.nodes]), np.concatenate([phi, body.surface.phi])
        psi = np.concatenate([psi, np.zeros_like(body.surface.phi)])
    if len(x):
        arrays["node numbers"] = np.arange(1, len(x) + 1)
        arrays["nodal relative position"] = x.ravel()
        arrays["nodal shape matrix of translation"] = phi.reshape(3 * len(x), n)
        arrays["nodal shape matrix of rotation"] = psi.reshape(3 * len(x), n)
    return arrays
