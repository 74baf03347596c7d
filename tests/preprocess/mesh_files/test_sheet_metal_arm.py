"""A robot arm of sheet metal from a Nastran deck to the report: a square tube of CQUAD4, a bolted
flange, a motor at its end.
"""

import numpy as np
import pytest

import flexmbs as fm
import preprocess as pp

SIDE, LENGTH, WALL, FLANGE = 60.0, 500.0, 2.0, 8.0  # mm
AROUND, ALONG, E = 4, 20, 2.1e5  # elements in a side, and along the tube
BOLTS = ((1, 1), (1, 3), (3, 1), (3, 3))  # of the 4 × 4 elements of the flange


def deck():
    """SOL 103 in mm, N, s: tube along x, flange at x = 0 whose four bolts are a rigid spider of the
    joint, at the tip an averaging spider with a CONM2."""
    edge = np.linspace(-0.5 * SIDE, 0.5 * SIDE, AROUND + 1)
    ring = [(edge[k], edge[0]) for k in range(AROUND)] + [
        (edge[-1], edge[k]) for k in range(AROUND)
    ]
    ring += [(edge[-1 - k], edge[-1]) for k in range(AROUND)] + [
        (edge[0], edge[-1 - k]) for k in range(AROUND)
    ]
    count, grids, cards = len(ring), list[str](), list[str]()
    for i, x in enumerate(np.linspace(0.0, LENGTH, ALONG + 1)):
        grids += [
            f"GRID,{1000 * (i + 1) + k},,{x:.4f},{y:.4f},{z:.4f}" for k, (y, z) in enumerate(ring)
        ]
    for i in range(ALONG):
        for k in range(count):
            a, b = 1000 * (i + 1) + k, 1000 * (i + 1) + (k + 1) % count
            cards.append(f"CQUAD4,{100 * (i + 1) + k},1,{a},{a + 1000},{b + 1000},{b}")
    place = {(round(y, 6), round(z, 6)): 1000 + k for k, (y, z) in enumerate(ring)}
    for j, y in enumerate(edge):
        for k, z in enumerate(edge):
            if (round(y, 6), round(z, 6)) not in place:
                place[round(y, 6), round(z, 6)] = 100 + 10 * j + k
                grids.append(f"GRID,{100 + 10 * j + k},,0.,{y:.4f},{z:.4f}")
    at = [[place[round(y, 6), round(z, 6)] for z in edge] for y in edge]
    for j in range(AROUND):
        cards += [
            f"CQUAD4,{9000 + 10 * j + k},2,{at[j][k]},{at[j + 1][k]},{at[j + 1][k + 1]},{at[j][k + 1]}"
            for k in range(AROUND)
        ]
    grids += ["GRID,1,,-20.,0.,0.", f"GRID,2,,{LENGTH + 30:.1f},0.,0."]
    tip = [str(1000 * (ALONG + 1) + k) for k in range(count)]
    cards += ["RBE2,10001,1,123456," + ",".join(str(at[j][k]) for j, k in BOLTS)]
    cards += ["RBE3,10002,,2,123456,1.0,123," + ",".join(tip[:2])] + [
        "," + ",".join(tip[k : k + 8]) for k in range(2, count, 8)
    ]
    cards += ["CONM2,10003,2,,1.2-3,15.,0.,0.", ",800.,,900.,,,900."]
    cards += [
        f"PSHELL,1,1,{WALL},1,,1",
        f"PSHELL,2,1,{FLANGE},1,,1",
        "MAT1,1,2.1+5,,0.3,7.85-9",
        "SPC1,1,123456,1",
    ]
    return "\n".join(["SOL 103", "CEND", "SPC = 1", "BEGIN BULK", *grids, *cards, "ENDDATA", ""])


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arm")
    (folder / "arm.bdf").write_text(deck())
    fe = pp.assemble(pp.read_mesh(folder / "arm.bdf", unit="mm", structural=True))
    ends = {"shoulder": pp.Rigid("RBE2 10001 centre"), "tool": pp.Rigid("RBE3 10002 centre")}
    body = pp.reduce(
        fe, interfaces=ends, method=pp.CraigBampton(modes=10), reference="shoulder", damping=0.01
    )
    body.save(folder / "arm.h5")
    return folder, body


def test_mass_and_bending_are_those_of_the_tube_with_its_flange_and_motor(arm):
    """Mass by hand; the compliance at the tool is more than that of a clamped tube, and alike both
    ways.
    """
    _, body = arm
    sheet = 7.85e-9 * (4 * SIDE * WALL * LENGTH + SIDE**2 * FLANGE)
    assert body.mass == pytest.approx(1e3 * (sheet + 1.2e-3), rel=1e-6)
    inertia = ((SIDE + WALL) ** 4 - (SIDE - WALL) ** 4) / 12 * 1e-12
    ideal = (1e-3 * LENGTH) ** 3 / (3 * E * 1e6 * inertia)
    shapes = body.frames["tool"].phi
    compliance = np.diag(shapes @ np.linalg.solve(body.K_ff, shapes.T))
    assert 1.0 < compliance[2] / ideal < 4.0
    assert compliance[1] == pytest.approx(compliance[2], rel=1e-3)


def test_the_arm_swings_and_writes_its_report(arm):
    folder, body = arm
    model = fm.Model("sheet-metal arm", gravity=(0, 0, -9.81))
    part = model.add(fm.FlexibleBody("arm", folder / "arm.h5"))
    model.add(fm.Revolute("shoulder", model.ground, part["shoulder"], axis="y", q0=0.4))
    solution = fm.simulate(model, t_end=0.2)
    # the sudden start excites modes outside the basis: 5 % of the reaction
    assert {each.title for each in solution.audit if each.status != "PASS"} <= {"Truncated modes"}
    angle, tool = solution.joint("shoulder").position[:, 0], solution.frame("arm/tool").position
    reach = np.linalg.norm(body.frames["tool"].x)
    straight = reach * np.column_stack([np.cos(angle), 0 * angle, -np.sin(angle)])
    assert angle[-1] > 0.5  # it falls
    assert 1e-6 < np.linalg.norm(tool - straight, axis=1).max() < 1e-3 * reach  # and bends
    assert solution.body("arm").stress.envelope.von_mises.max() > 1e5
    page = folder / "arm.html"
    solution.report(page)
    assert page.stat().st_size > 100_000
