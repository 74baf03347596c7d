"""Interfaces at a node without mass behind a bushing, and masses out of all proportion: a body or one clear line."""

import numpy as np
import pytest

import preprocess as pp
from flexmbs.errors import InputError

STEEL = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
BAR = pp.box_mesh((0.4, 0.03, 0.03), (4, 1, 1))
END = (0.42, 0.015, 0.015)


def sprung(translation: float, rotation: float) -> pp.FEModel:
    """The bar with a spider at its end and a node without mass at the same place, joined by springs."""
    nodes, cells = np.vstack([BAR.nodes, [END]]), {"hex20": BAR.blocks["hex20"].connectivity}
    mesh = pp.Mesh.from_arrays(nodes, cells, node_sets={**BAR.node_sets, "pin": [len(BAR.nodes)]})
    springs = pp.Bushing("eye", "pin", translation=3 * (translation,), rotation=3 * (rotation,))
    return pp.assemble(mesh, STEEL, connections={"eye": pp.RigidSpider("x1", position=END), "rubber": springs})


def reduced(fe: pp.FEModel, tip: str, **options):
    ends = {"root": pp.Rigid("x0"), "tip": pp.Rigid(tip)}
    return pp.reduce(fe, interfaces=ends, reference="root", method=pp.CraigBampton(modes=6), stress=None, **options)


@pytest.mark.parametrize(("translation", "rotation"), [(1e6, 1e3), (1e4, 1e1)])
def test_a_node_without_mass_as_interface(translation: float, rotation: float) -> None:
    """Springs without mass behind them leave the motion of the bar with its root held."""
    fe = sprung(translation, rotation)
    plain, found = reduced(fe, "eye"), reduced(fe, "pin")
    assert np.sort(found.modes.frequency)[:2] == pytest.approx(np.sort(plain.modes.frequency)[:2], rel=1e-4)
    assert float(found.provenance["accuracy: compliance"]) < 1e-4


@pytest.mark.parametrize(("translation", "rotation"), [(1.0, 1e-3), (1e-3, 1e-3), (0.0, 0.0), (1e6, 0.0), (0.0, 1e3)])
@pytest.mark.parametrize("estimate", [True, False])
def test_motions_without_mass(translation: float, rotation: float, estimate: bool) -> None:
    """Round-off would decide about the frequencies: the first was 1.4 % too low, or zero."""
    with pytest.raises(InputError, match=r"interfaces.*mass.*; attach a PointMass to its nodes, or connect them more stiffly"):
        reduced(sprung(translation, rotation), "pin", estimate=estimate)


def test_a_mass_out_of_all_proportion() -> None:
    fe = pp.attach(pp.assemble(BAR, STEEL), [pp.PointMass("x1", 1e12)])
    with pytest.raises(InputError, match="mass: round-off exceeds the mass of elastic shapes; check point masses, densities"):
        reduced(fe, "x1")
