"""Interfaces at a node without mass behind a bushing, and masses out of all proportion: a body or
one clear line.
"""

import numpy as np
import pytest
from draws import drawn
from random_parts import full_model

import preprocess as pp
from flexmbs.errors import InputError
from preprocess.fe.interfaces import bind_interfaces
from preprocess.reduction.interface_statics import InterfaceStatics

STEEL = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
BAR = pp.box_mesh((0.4, 0.03, 0.03), (4, 1, 1))
END = (0.42, 0.015, 0.015)


def sprung(translation: float, rotation: float) -> pp.FEModel:
    """The bar with a spider at its end and a node without mass at the same place, joined by
    springs.
    """
    nodes, cells = np.vstack([BAR.nodes, [END]]), {"hex20": BAR.blocks["hex20"].connectivity}
    mesh = pp.Mesh.from_arrays(nodes, cells, node_sets={**BAR.node_sets, "pin": [len(BAR.nodes)]})
    springs = pp.Bushing("eye", "pin", translation=3 * (translation,), rotation=3 * (rotation,))
    return pp.assemble(
        mesh, STEEL, connections={"eye": pp.RigidSpider("x1", position=END), "rubber": springs}
    )


def reduced(fe: pp.FEModel, tip: str, **options):
    ends = {"root": pp.Rigid("x0"), "tip": pp.Rigid(tip)}
    return pp.reduce(
        fe,
        interfaces=ends,
        reference="root",
        method=pp.CraigBampton(modes=6),
        stress=None,
        **options,
    )


@pytest.mark.parametrize(("translation", "rotation"), [(1e6, 1e3), (1e4, 1e1)])
def test_a_node_without_mass_as_interface(translation: float, rotation: float) -> None:
    """Springs without mass behind them leave the motion of the bar with its root held."""
    fe = sprung(translation, rotation)
    plain, found = reduced(fe, "eye"), reduced(fe, "pin")
    assert np.sort(found.modes.frequency)[:2] == pytest.approx(
        np.sort(plain.modes.frequency)[:2], rel=1e-4
    )
    assert float(found.provenance["accuracy: compliance"]) < 1e-4


@pytest.mark.parametrize(
    ("translation", "rotation"), [(1.0, 1e-3), (1e-3, 1e-3), (0.0, 0.0), (1e6, 0.0), (0.0, 1e3)]
)
@pytest.mark.parametrize("estimate", [True, False])
def test_motions_without_mass(translation: float, rotation: float, estimate: bool) -> None:
    """Round-off would decide about the frequencies: the first was 1.4 % too low, or zero."""
    with pytest.raises(
        InputError, match=r"interfaces\.tip: .*mass.*; attach a PointMass with inertia"
    ):
        reduced(sprung(translation, rotation), "pin", estimate=estimate)


def test_a_point_without_inertia_is_named() -> None:
    """Beside ω² of its rotation those of the part are round-off; the message was that parts are not
    connected.
    """
    fe = pp.attach(light_sheet(0, inertia=0.0), [pp.PointMass("pin", 1e-3)])
    ends = {"x0": pp.Averaged("x0"), "x1": pp.Averaged("x1"), "pin": pp.Rigid("pin")}
    with pytest.raises(
        InputError,
        match=r"interfaces.pin: a motion of it moves no mass; attach a PointMass with inertia",
    ):
        pp.reduce(fe, interfaces=ends, reference="x0", method=pp.CraigBampton(modes=6), stress=None)


def light_sheet(seed: int, inertia: float = 1e-5) -> pp.FEModel:
    """A sheet with a light point on springs beside its averaged end; inertia: of the point, of its
    mass, 0 for no point mass.
    """
    random = np.random.default_rng(seed)
    n, m = 6, 4
    x = [
        (0.4 * i / (n - 1), 0.2 * j / (m - 1), 0.05 * random.random() * np.sin(i + j))
        for i in range(n)
        for j in range(m)
    ]
    rows = np.arange(n * m).reshape(n, m)
    cells = np.stack([rows[:-1, :-1], rows[1:, :-1], rows[1:, 1:], rows[:-1, 1:]], axis=-1).reshape(
        -1, 4
    )
    sets = {"x0": rows[0], "x1": rows[-1], "pin": [n * m]}
    mesh = pp.Mesh.from_arrays(np.vstack([x, [(0.5, 0.1, 0.1)]]), {"quad4": cells}, node_sets=sets)
    stiffness, turning = 10 ** random.uniform(5, 9), 10 ** random.uniform(0, 4)
    springs = pp.Bushing("eye", "pin", translation=3 * (stiffness,), rotation=3 * (turning,))
    joints = {"eye": pp.AveragingSpider("x1"), "rubber": springs}
    fe = pp.assemble(mesh, STEEL, sections=pp.ShellSection(0.002), connections=joints)
    mass = 10 ** random.uniform(-5, -3)
    point = pp.PointMass("pin", mass, inertia=3 * (mass * inertia * 10 ** random.uniform(-2, 1),))
    return pp.attach(fe, [point]) if inertia else fe


@pytest.mark.parametrize("seed", drawn(10, 20))
def test_estimated_errors_behind_light_points(seed: int) -> None:
    """Against dense matrices: round-off of their corrections made them zero where frequencies were
    4 % too high, or thousands.
    """
    fe = light_sheet(seed)
    ends = {"x0": pp.Averaged("x0"), "x1": pp.Averaged("x1"), "pin": pp.Rigid("pin")}
    body = pp.reduce(fe, interfaces=ends, reference="mean axes", method=pp.Guyan(), stress=None)
    statics = InterfaceStatics(
        fe, bind_interfaces(ends, fe.nodes, fe.node_sets, fe.triangles, fe.freedoms)
    )
    for k, name in enumerate(ends):
        pairs = [
            each.split(" Hz ")
            for each in str(body.provenance[f"accuracy: held at {name}"]).split(", ")
        ]
        found, estimate = np.array(pairs, dtype=float).T
        true = np.sqrt(
            full_model(statics, k).eigenvalues(float(2 * np.pi * found[0]) ** 2)[: len(found)]
        ) / (2 * np.pi)
        error = found / true - 1
        assert (error <= 3 * estimate + 1e-4).all(), (name, error, estimate)
        assert (estimate <= 2 * error + 1e-4).all(), (name, error, estimate)


def test_a_mass_out_of_all_proportion() -> None:
    fe = pp.attach(pp.assemble(BAR, STEEL), [pp.PointMass("x1", 1e12)])
    with pytest.raises(
        InputError,
        match="mass: round-off exceeds the mass of elastic shapes; check point masses, densities",
    ):
        reduced(fe, "x1")
