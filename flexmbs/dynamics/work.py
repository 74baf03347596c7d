"""Scratch memory of one evaluation, allocated once per run."""

import numpy as np

from flexmbs.algebra.blocks import SIZE
from flexmbs.system.records import CONTACT_WIDTH, CUT_WIDTH, MOTION_WIDTH, SPARE, System, Work


def make_work(system: System, beta: np.ndarray | None = None) -> Work:
    """Zeroed work arrays that fit a system; ``beta`` are the coordinates of the cut joints to start from."""
    nb, _, ns, nc, nz = (int(n) for n in system.layout)
    F = system.bodies.matrices.shape[3]
    n = 6 + F
    z = np.zeros
    E = z((nb, n, n))
    E[:] = np.eye(n)
    width = max(n, int(system.elimination.node[:, SIZE].max()))
    start = z(0) if beta is None else beta
    return Work(
        motion=z((nb, MOTION_WIDTH)), force=z(ns), cut=z((len(system.cuts), CUT_WIDTH)), beta=np.concatenate([start, z(SPARE)]),
        gs=z((3, nc)), U=z(12 * F), E=E, X=z((nb, 6, n)), M=z((nb, n, n)), B=z((4, width, width)), rows=z((6, ns)),
        values=z(int(system.elimination.n_values[0])), stiffness=z(ns + nc), r=z(ns), x=z(ns + nc), io=z((2, 48)), power=z(3),
        status=z(4, np.int64), zero=z(ns), pivot=z(ns + nc), force_rate=z(nz), slopes=z((len(system.couplings), 12, 6)),
        joint_slope=z((len(system.forces.joint), 2)), contact=z((len(system.contacts.info), CONTACT_WIDTH)),
    )  # fmt: skip
