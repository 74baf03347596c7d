"""Mechanisms whose pages are measured: a tube of 20 000 triangles with 16 modes and stress, a
four-bar, a chain of 100 links.
"""

import numpy as np

import flexmbs as fm
from flexmbs.flexible_body.components import FlexibleFrame, Surface
from flexmbs.flexible_body.stress import INERTIA_LOADS, StressModes

AROUND, ALONG, MODES = 50, 200, 16
E_STEEL, RADIUS, LENGTH = 2.1e11, 0.05, 1.0


def tube() -> fm.FlexibleBodyData:
    """A tube with bending shapes sin(kπx/L) in two directions and their stress, 20 000 triangles,
    unit modal masses.
    """
    turn, x = 2 * np.pi * np.arange(AROUND) / AROUND, np.linspace(0.0, LENGTH, ALONG + 1)
    X, T = np.meshgrid(x, turn, indexing="ij")
    nodes = np.stack([X, RADIUS * np.cos(T), RADIUS * np.sin(T)], axis=2).reshape(-1, 3)
    phi, stress = np.zeros((len(nodes), 3, MODES)), np.zeros((len(nodes), 6, MODES))
    for m in range(MODES):
        k, axis = (m // 2 + 1) * np.pi / LENGTH, 1 + m % 2
        phi[:, axis, m] = np.sin(k * nodes[:, 0])
        phi[:, 0, m] = -k * np.cos(k * nodes[:, 0]) * nodes[:, axis]
        stress[:, 0, m] = E_STEEL * k * k * np.sin(k * nodes[:, 0]) * nodes[:, axis]
    i = np.arange((ALONG + 1) * AROUND).reshape(ALONG + 1, AROUND)
    a, b, c, d = i[:-1], i[1:], np.roll(i[1:], -1, axis=1), np.roll(i[:-1], -1, axis=1)
    triangles = np.concatenate(
        [np.stack([a, b, c], 2).reshape(-1, 3), np.stack([a, c, d], 2).reshape(-1, 3)]
    )
    surface = Surface(nodes, phi, triangles, np.arange(len(nodes)))
    omega = 2 * np.pi * 20.0 * (1.0 + 0.37 * np.arange(MODES))
    zero = np.zeros((3, MODES))
    data = fm.FlexibleBodyData.from_integrals(
        "tube",
        mass=1.0,
        first_moment=np.zeros(3),
        second_moment=np.eye(3) / 12,
        S_bar=zero,
        xS=np.zeros((3, 3, MODES)),
        SS=np.einsum("ab,kl->abkl", np.eye(3) / 3.0, np.eye(MODES)),
        K_ff=np.diag(omega**2),
        surface=surface,
        frames={"end": FlexibleFrame.at_node(nodes[0], phi[0])},
    )
    modes = StressModes(
        np.arange(len(nodes)),
        stress,
        np.zeros((len(nodes), 6, INERTIA_LOADS)),
        (),
        np.zeros(len(nodes), np.int64),
        np.eye(6)[None] / E_STEEL,
        np.array([np.inf]),
    )
    object.__setattr__(data, "stress", modes)
    return data


def ringing_tube() -> fm.Solution:
    """All modes of the tube at once, 200 instants."""
    start = tuple(1e-3 / (1 + m) for m in range(MODES))
    model = fm.Model("tube, 16 modes", gravity=(0.0, 0.0, 0.0))
    body = model.add(fm.FlexibleBody("tube", data=tube(), qf0=start))
    model.add(fm.Revolute("axle", model.ground, body, axis="z", v0=5.0))
    return fm.simulate(model, t_end=0.1, step=2.5e-4, output_step=0.1 / 199)


def four_bar() -> fm.Solution:
    """A crank-rocker driven by its crank."""
    model = fm.Model("four-bar", frames={"right": (1.0, 0.0, 0.0)})
    crank, coupler, rocker = (
        model.add(_bar(name, length))
        for name, length in (("crank", 0.3), ("coupler", 0.9), ("rocker", 0.7))
    )
    hinge = model.add(fm.Revolute("A", model.ground, crank["a"], axis="y", q0=-0.7))
    model.add(fm.Revolute("B", crank["b"], coupler["a"], axis="y"))
    model.add(fm.Revolute("D", model.ground["right"], rocker["a"], axis="y", q0=-2.0))
    model.add(fm.Cylindrical("C", coupler["b"], rocker["b"], axis="y"))
    model.add(fm.Drive("motor", hinge, fm.Ramp(-0.7, 6.0)))
    return fm.simulate(model, t_end=2.1, step=2e-3, output_step=1e-2)


def chain(n: int = 100) -> fm.Solution:
    """A hanging chain that is let go to one side."""
    model = fm.Model(f"chain of {n}")
    last = model.ground
    for k in range(n):
        link = model.add(_bar(f"link {k}", 0.1))
        model.add(fm.Spherical(f"joint {k}", last, link["a"]))
        last = link["b"]
    return fm.simulate(
        model, t_end=1.0, output_step=1 / 200, rtol=1e-4, atol=1e-6, formalism="recursive"
    )


def _bar(name: str, length: float) -> fm.RigidBody:
    inertia = 2 * length**3 / 12
    ends = {"a": (0.0, 0.0, 0.0), "b": (length, 0.0, 0.0)}
    return fm.RigidBody(
        name,
        mass=2 * length,
        inertia=(0.02 * inertia, inertia, inertia),
        com=(0.5 * length, 0, 0),
        frames=ends,
    )
