"""Exporter for Simscape's reduced-order flexible solid (.mat, .npz): stiffness, mass and frames.

Variables of the superelement and its frames: K, M, D ((6k + m), (6k + m)); origins (k, 3) [m]; quaternions (k, 4), scalar first;
rotations (k, 3, 3); names. Source: MathWorks, Simscape Multibody, Reduced Order Flexible Solid.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.io
from scipy.spatial.transform import Rotation

from flexmbs.files.output import atomic_file
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.formats.exporters.base import Exporter, ExportRequest, missing_fields
from preprocess.formats.exporters.superelement import BEYOND_MATRICES, superelement


class SimscapeExporter(Exporter):
    """MATLAB or NumPy file of a superelement."""

    kind = "simscape"
    suffixes = (".mat", ".npz")

    def write(self, body: FlexibleBodyData, request: ExportRequest) -> list[str]:
        """Write K, M and the frames as .mat or .npz; notes on data that are lost."""
        variables = {**superelement(body)._asdict(), **_frames(body)}
        with atomic_file(request.path) as draft, open(draft, "wb") as file:
            if request.path.suffix.lower() == ".npz":
                np.savez(file, **variables)
            else:
                scipy.io.savemat(file, variables)
        return [BEYOND_MATRICES, *missing_fields(body, "SimscapeExporter", surface=True)]


def _frames(body: FlexibleBodyData) -> dict[str, Any]:
    """Origins, rotations and names of the frames."""
    R = np.array([frame.R for frame in body.frames.values()])
    quaternions = Rotation.from_matrix(R).as_quat()[:, [3, 0, 1, 2]]
    origins = np.array([frame.x for frame in body.frames.values()])
    return {
        "origins": origins,
        "quaternions": quaternions,
        "rotations": R,
        "names": np.array(list(body.frames)),
    }
