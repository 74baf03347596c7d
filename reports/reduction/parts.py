"""Three parts: the link of `meshes/`, a plate on one edge, and one throw of a crankshaft."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import preprocess as pp
from preprocess.elements import ELEMENTS
from preprocess.fe.interfaces import Interface

Array = NDArray[np.float64]
MESHES = Path(__file__).parents[2] / "meshes"
STEEL, ALUMINIUM = (
    pp.Isotropic(E=210e9, nu=0.3, rho=7850.0),
    pp.Isotropic(E=70e9, nu=0.33, rho=2700.0),
)

RADIUS, PIN_RADIUS, HALF_WIDTH, THROW = 0.025, 0.022, 0.035, 0.09  # of the crank, m
LAYERS = (
    (0.0, 0.04, "journal", 3),
    (0.04, 0.06, "web", 2),
    (0.06, 0.1, "pin", 3),
    (0.1, 0.12, "web", 2),
    (0.12, 0.16, "journal", 3),
)
CORE, RING = 3, 1  # elements along the side of the core of a disc, and across the rings around it


class Part(NamedTuple):
    """Finite-element model with its interfaces, the first of them rigid and held; the load is at
    ``loaded`` along ``axis``.
    """

    name: str
    fe: pp.FEModel
    interfaces: dict[str, Interface]
    loaded: str
    axis: int
    band: float


def parts() -> list[Part]:
    link = pp.assemble(pp.read_mesh(MESHES / "link.msh", unit="mm"), ALUMINIUM)
    plate = pp.assemble(pp.box_mesh((0.4, 0.3, 0.005), (18, 14, 1), "hex20"), STEEL)
    crank = pp.assemble(crank_mesh(), STEEL)
    corner = pp.Averaged(pp.Point((0.4, 0.3, 0.0025), 0.04))
    journals = {name: pp.Rigid(name) for name in ("rear", "front")}
    return [
        Part(
            "link",
            link,
            {"hub": pp.Rigid("hub_face"), "tip": pp.Rigid("tip_face")},
            "tip",
            2,
            6000.0,
        ),
        Part("plate", plate, {"edge": pp.Rigid("x0"), "corner": corner}, "corner", 2, 500.0),
        Part("crank", crank, {**journals, "pin": pp.Averaged("pin")}, "pin", 1, 6000.0),
    ]


def crank_mesh() -> pp.Mesh:
    """Two journals, two webs and a pin of round section, twenty-node hexahedra, extruded along z
    from one plan view.
    """
    pattern = np.rint(ELEMENTS["hex20"].nodes + 1).astype(int)
    corners: list[Array] = []
    for low, high, kind, count in LAYERS:
        for patch, k in itertools.product(_plan(kind), range(count)):
            heights = low + (high - low) * (k + np.arange(3) / 2) / count
            corners.append(np.array([[*patch[i, j], heights[l]] for i, j, l in pattern]))
    points = np.concatenate(corners)
    _, first, place = np.unique(np.round(points, 9), axis=0, return_index=True, return_inverse=True)
    nodes = points[first]
    from_pin = np.hypot(nodes[:, 0] - THROW, nodes[:, 1])
    on_pin = (
        (np.abs(from_pin - PIN_RADIUS) < 1e-9)
        & (nodes[:, 2] > 0.06 - 1e-9)
        & (nodes[:, 2] < 0.1 + 1e-9)
    )
    around = np.abs(np.hypot(nodes[:, 0], nodes[:, 1]) - RADIUS) < 1e-9
    sets = {
        "rear": np.flatnonzero(around & (nodes[:, 2] < 0.03)),
        "front": np.flatnonzero(around & (nodes[:, 2] > 0.13)),
        "pin": np.flatnonzero(on_pin),
    }
    return pp.Mesh.from_arrays(
        nodes, {"hex20": place.reshape(-1, 20)}, node_sets=sets, source="crank"
    )


def _plan(kind: str) -> Iterator[Array]:
    """Quadrilaterals (3, 3, 2) of nine points of the plan view: a disc, or the web with both discs
    in it.
    """
    if kind != "pin":
        yield from _disc(0.0, RADIUS)
    if kind != "journal":
        yield from _disc(THROW, PIN_RADIUS)
    if kind == "web":
        for centre, radius in ((0.0, RADIUS), (THROW, PIN_RADIUS)):
            for turn in range(4):
                yield from _cut(
                    lambda u, v, c=centre, r=radius, t=turn: _side(c, t, u, r, v), CORE, RING
                )
        width = THROW - 2 * HALF_WIDTH
        yield from _cut(
            lambda u, v: np.array([HALF_WIDTH + v * width, (2 * u - 1) * HALF_WIDTH]),
            CORE,
            2,
            mirror=True,
        )


def _disc(centre: float, radius: float) -> Iterator[Array]:
    """A square core with four blocks around it."""
    half = 0.55 * radius / np.sqrt(2) * 1.15
    yield from _cut(
        lambda u, v: np.array([centre + (2 * u - 1) * half, (2 * v - 1) * half]), CORE, CORE
    )
    for turn in range(4):
        yield from _cut(
            lambda u, v, t=turn: _turned(centre, t, (1 - v) * _flat(u, half) + v * _arc(u, radius)),
            CORE,
            1,
        )


def _side(centre: float, turn: int, u: float, radius: float, v: float) -> Array:
    """Between the circle and the square around it."""
    return _turned(centre, turn, (1 - v) * _arc(u, radius) + v * _flat(u, HALF_WIDTH))


def _flat(u: float, half: float) -> Array:
    return np.array([half, (2 * u - 1) * half])


def _arc(u: float, radius: float) -> Array:
    angle = (2 * u - 1) * np.pi / 4
    return radius * np.array([np.cos(angle), np.sin(angle)])


def _turned(centre: float, turn: int, point: Array) -> Array:
    c, s = np.cos(turn * np.pi / 2), np.sin(turn * np.pi / 2)
    return np.array([centre + c * point[0] - s * point[1], s * point[0] + c * point[1]])


def _cut(
    surface: Callable[[float, float], Array], n: int, m: int, mirror: bool = False
) -> Iterator[Array]:
    """Patches of a surface (u, v) divided n × m, in positive turn."""
    for i, j in itertools.product(range(n), range(m)):
        patch = np.array(
            [[surface((i + a / 2) / n, (j + b / 2) / m) for b in range(3)] for a in range(3)]
        )
        first, second = patch[2, 1] - patch[0, 1], patch[1, 2] - patch[1, 0]
        yield patch if first[0] * second[1] - first[1] * second[0] > 0 else patch.transpose(1, 0, 2)
