"""The parts of the study: a straight bar, a disc with a bore, a waisted bar; each in bending or
rotation by the complete program."""

from collections.abc import Mapping

import numpy as np

import flexmbs as fm
import preprocess as pp

STEEL = pp.Isotropic(E=210e9, nu=0.3, rho=7850.0, yield_stress=355e6)
LENGTH, WIDTH, HEIGHT = 0.5, 0.03, 0.02
BORE, RIM, THICKNESS = 0.03, 0.15, 0.01
WAIST, WAVE = 0.45, 0.05  # reduction of the width in the middle, and its length, m


def straight_bar(element: str = "hex20", divisions: tuple[int, int, int] = (40, 3, 2)) -> pp.Mesh:
    """0.5 m along x, 30 mm wide (y), 20 mm high (z)."""
    return pp.box_mesh(
        (LENGTH, WIDTH, HEIGHT), divisions, element, origin=(0.0, -WIDTH / 2, -HEIGHT / 2)
    )


def waisted_bar(element: str, divisions: tuple[int, int, int] = (30, 4, 3)) -> pp.Mesh:
    """The bar, narrower in y where it is 0.15 m from the root."""

    def narrowed(x: np.ndarray) -> np.ndarray:
        share = 1.0 - WAIST * np.exp(-(((x[:, :1] - 0.3 * LENGTH) / WAVE) ** 2))
        return x * np.hstack([np.ones_like(share), share, np.ones_like(share)])

    return straight_bar(element, divisions).moved(narrowed)


def disc(around: int = 40, across: int = 12) -> pp.Mesh:
    """Disc about z with a bore, hexahedra of twenty nodes, finer towards the bore; sets ``bore``
    and ``rim``.
    """
    box = pp.box_mesh((1.0, 2 * np.pi, THICKNESS), (across, around, 1), "hex20")
    share, angle, z = (box.nodes - [0.0, 0.0, THICKNESS / 2]).T
    r = BORE * (RIM / BORE) ** share
    nodes = np.column_stack([r * np.cos(angle), r * np.sin(angle), z])
    _, first, place = np.unique(
        np.round(nodes / 1e-7), axis=0, return_index=True, return_inverse=True
    )
    sets = {
        name: np.unique(place.ravel()[box.node_set(face)])
        for name, face in (("bore", "x0"), ("rim", "x1"))
    }
    return pp.Mesh.from_arrays(
        nodes[first], {"hex20": place.ravel()[box.blocks["hex20"].connectivity]}, node_sets=sets
    )


def bar_body(mesh: pp.Mesh, modes: int) -> fm.FlexibleBodyData:
    """Bar with rigid ends, attached at its root."""
    ends = {"root": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
    return pp.reduce(
        mesh,
        STEEL,
        interfaces=ends,
        method=pp.CraigBampton(modes=modes),
        reference="root",
        name="bar",
    )


def disc_body(mesh: pp.Mesh, modes: int) -> fm.FlexibleBodyData:
    """Disc whose hub follows the mean motion of the bore without constraining it."""
    hub = {"hub": pp.Averaged("bore", position=(0.0, 0.0, 0.0))}
    return pp.reduce(
        mesh,
        STEEL,
        interfaces=hub,
        method=pp.CraigBampton(modes=modes),
        reference="hub",
        name="disc",
    )


def bent(data: fm.FlexibleBodyData, force: tuple[float, float, float]) -> fm.Solution:
    """Equilibrium of the bar, welded to the ground at its root, under a force at its tip."""
    model = fm.Model("bent bar", gravity=(0.0, 0.0, 0.0))
    bar = model.add(fm.FlexibleBody("bar", data=data))
    model.add(fm.Fixed("weld", model.ground, bar["root"]))
    model.add(fm.FrameForce("load", bar["tip"], force=force))
    return fm.statics(model).solution


def spun(data: fm.FlexibleBodyData, hub: str, speed: float) -> fm.Solution:
    """Steady motion about z at a constant speed, rad/s."""
    model = fm.Model("spun part", gravity=(0.0, 0.0, 0.0))
    part = model.add(fm.FlexibleBody("part", data=data))
    axle = model.add(fm.Revolute("axle", model.ground, part[hub], axis="z"))
    model.add(fm.Drive("motor", axle, fm.Ramp(0.0, speed)))
    return fm.statics(model, steady=True).solution


def modes_alone(data: fm.FlexibleBodyData, solution: fm.Solution, body: str) -> np.ndarray:
    """Stress (n, 6) by the stress modes without static correction."""
    assert data.stress is not None
    return np.asarray(data.stress.modes @ solution.body(body).elastic[0])


def bending_stress(force: float, x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """σ_xx = −F (L − x) z / I, I = b h³ / 12."""
    return -force * (LENGTH - x) * z / (WIDTH * HEIGHT**3 / 12)


def spinning_bar_stress(speed: float, x: np.ndarray) -> np.ndarray:
    """σ_xx = ½ ρ ω² (L² − x²)."""
    return 0.5 * STEEL.rho * speed**2 * (LENGTH**2 - x**2)


def spinning_disc_stress(speed: float, r: np.ndarray) -> Mapping[str, np.ndarray]:
    """Plane stress of a thin disc with a bore, free at both edges (Timoshenko and Goodier, Theory
    of Elasticity, section 32): σ_r = (3+ν)/8 ρω² (a² + b² − a²b²/r² − r²), σ_t = ρω²/8 [(3+ν)(a² +
    b² + a²b²/r²) − (1+3ν) r²]."""
    nu, load = STEEL.nu, STEEL.rho * speed**2 / 8
    a2, b2, r2 = BORE**2, RIM**2, r**2
    return {
        "radial": (3 + nu) * load * (a2 + b2 - a2 * b2 / r2 - r2),
        "tangential": load * ((3 + nu) * (a2 + b2 + a2 * b2 / r2) - (1 + 3 * nu) * r2),
    }
