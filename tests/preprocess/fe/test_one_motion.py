"""One part by solids, by shells, by beams, and by all three joined: the same frequencies and the
same motion.
"""

import numpy as np
import pytest

import flexmbs as fm
import preprocess as pp

LENGTH, WIDTH, HEIGHT = 0.6, 0.03, 0.004
STEEL = pp.Isotropic(E=2.1e11, nu=0.0, rho=7850.0)  # held ends do not stiffen it, as in beam theory
BEAM = pp.RectangularSection(HEIGHT, WIDTH, orientation=(0, 0, 1))
SHELL = pp.ShellSection(HEIGHT)


def solids(start, end, n):
    return pp.box_mesh(
        (end - start, WIDTH, HEIGHT),
        (n, 2, 1),
        "hex20",
        origin=(start, -0.5 * WIDTH, -0.5 * HEIGHT),
    )


def sheet(start, end, n):
    """Nodes, quad4 and the nodes of both ends."""
    x, y = np.meshgrid(
        np.linspace(start, end, n + 1), np.linspace(-0.5 * WIDTH, 0.5 * WIDTH, 3), indexing="ij"
    )
    row = np.arange(x.size).reshape(x.shape)
    cells = np.stack([row[:-1, :-1], row[1:, :-1], row[1:, 1:], row[:-1, 1:]], axis=-1).reshape(
        -1, 4
    )
    return np.column_stack([x.ravel(), y.ravel(), 0 * x.ravel()]), cells, row[0], row[-1]


def line(start, end, n):
    return np.column_stack([np.linspace(start, end, n + 1), np.zeros((n + 1, 2))]), np.column_stack(
        [range(n), range(1, n + 1)]
    )


def by_solids():
    mesh = solids(0.0, LENGTH, 24)
    return pp.assemble(mesh, STEEL), "x0", pp.Averaged("x1")


def by_shells():
    nodes, cells, root, tip = sheet(0.0, LENGTH, 24)
    mesh = pp.Mesh.from_arrays(nodes, {"quad4": cells}, node_sets={"x0": root, "x1": tip})
    return pp.assemble(mesh, STEEL, sections=SHELL), "x0", pp.Averaged("x1")


def by_beams():
    nodes, cells = line(0.0, LENGTH, 8)
    mesh = pp.Mesh.from_arrays(nodes, {"line2": cells}, node_sets={"x0": [0], "x1": [8]})
    return pp.assemble(mesh, STEEL, sections=BEAM), "x0", pp.Rigid("x1")


def by_all():
    """A third of each, joined by rigid spiders: the end face of the solids with the edge of the
    sheet, its other edge with the first node of the beams."""
    block = solids(0.0, LENGTH / 3, 8)
    middle, cells, left, right = sheet(LENGTH / 3, 2 * LENGTH / 3, 8)
    last, bars = line(2 * LENGTH / 3, LENGTH, 4)
    n, m = len(block.nodes), len(block.nodes) + len(middle)
    sets = {
        "x0": block.node_sets["x0"],
        "joint": np.concatenate([block.node_sets["x1"], n + left]),
        "edge": n + right,
        "first": [m],
        "x1": [m + len(last) - 1],
    }
    tables = {"hex20": block.blocks["hex20"].connectivity, "quad4": n + cells, "line2": m + bars}
    numbers = np.cumsum([0, *(len(table) for table in tables.values())])
    elements = {name: np.arange(a + 1, b + 1) for name, a, b in zip(tables, numbers, numbers[1:])}
    nodes = np.vstack([block.nodes, middle, last])
    with pytest.warns(pp.PreprocessWarning, match="coincide"):
        mesh = pp.Mesh.from_arrays(
            nodes, tables, node_sets=sets, element_sets=elements, separate=True
        )
    spiders = {"weld": pp.RigidSpider("joint"), "socket": pp.RigidSpider("edge", reference="first")}
    fe = pp.assemble(mesh, STEEL, sections={"quad4": SHELL, "line2": BEAM}, connections=spiders)
    return fe, "x0", pp.Rigid("x1")


@pytest.fixture(scope="module")
def bodies():
    found = {}
    for name, make in (
        ("solids", by_solids),
        ("shells", by_shells),
        ("beams", by_beams),
        ("all", by_all),
    ):
        fe, root, tip = make()
        ends = {"root": pp.Rigid(root), "tip": tip}
        found[name] = pp.reduce(
            fe, interfaces=ends, method=pp.CraigBampton(modes=6), reference="root", name=name
        )
    return found


def test_the_bodies_have_one_mass_and_the_same_bending(bodies):
    """Clamped at the root: the first two frequencies of bending of the strip within 1 %."""
    firsts = {name: np.sort(body.modes.frequency)[:2] for name, body in bodies.items()}
    theory = (
        np.array([1.8751, 4.6941]) ** 2
        * np.sqrt(2.1e11 * HEIGHT**2 / (12 * 7850.0))
        / (2 * np.pi * LENGTH**2)
    )
    for name, body in bodies.items():
        assert body.mass == pytest.approx(7850.0 * LENGTH * WIDTH * HEIGHT, rel=1e-9), name
        np.testing.assert_allclose(firsts[name], theory, rtol=0.01, err_msg=name)


def test_the_bodies_swing_as_one(bodies, tmp_path):
    """A pendulum that is gently pushed at its tip: the tip of each within 1 % of that by beams, its
    bending, with the phase of a vibration of 40 Hz, within 2 %."""

    def run(body):
        model = fm.Model(body.name, gravity=(0, 0, -9.81))
        body.save(tmp_path / f"{body.name}.h5")
        arm = model.add(fm.FlexibleBody("arm", tmp_path / f"{body.name}.h5"))
        model.add(fm.Revolute("pivot", model.ground, arm["root"], axis="y", q0=0.3))
        model.add(
            fm.FrameForce("push", arm["tip"], force=(0.0, 0.0, fm.SmoothStep(6.0, duration=0.15)))
        )
        solution = fm.simulate(model, t_end=0.4, output_step=1e-3)
        found = {check.title for check in solution.audit if check.status != "PASS"}
        assert found <= {"Truncated modes"}  # gravity begins at once
        tip, pivot = solution.frame("arm/tip").position, solution.joint("pivot").position[:, 0]
        straight = LENGTH * np.column_stack([np.cos(pivot), 0 * pivot, -np.sin(pivot)])
        return tip, np.linalg.norm(tip - straight, axis=1)

    (tip, bent), found = (
        run(bodies["beams"]),
        {name: run(bodies[name]) for name in ("solids", "shells", "all")},
    )
    assert np.linalg.norm(tip[-1] - tip[0]) > 0.3
    assert bent.max() > 1e-3
    for name, (place, bending) in found.items():
        assert np.linalg.norm(place - tip, axis=1).max() < 0.01 * np.ptp(tip, axis=0).max(), name
        assert np.sqrt(np.mean((bending - bent) ** 2)) < 0.02 * bent.max(), name
