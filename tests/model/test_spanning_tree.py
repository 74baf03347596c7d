"""Choice of cut joints: first few loop-closure equations, then loops that share few bodies."""

import itertools

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.diagnosis.diagnosis import diagnose
from flexmbs.motions import Ball, FixedTranslation, Rotate, Slide
from flexmbs.system.compile import compile_model
from flexmbs.system.topology import independent_loops, topology

ROD_ENDS = (Rotate("z"), Rotate("y"), FixedTranslation((1.0, 0.0, 0.0)), Ball())
ROD = {"mass": 1.0, "inertia": (1e-3, 1 / 12, 1 / 12), "com": (0.5, 0, 0)}


def cells(n, order="as built"):
    """n parallelograms in a row: cranks upright on the ground, couplers between their tips, all
    joints revolute.
    """
    model = fm.Model("cells", frames={f"p{i}": (i, 0, 0) for i in range(n + 1)})
    cranks = [
        model.add(fm.RigidBody(f"crank{i}", frames={"tip": (1, 0, 0)}, **ROD)) for i in range(n + 1)
    ]
    couplers = [
        model.add(fm.RigidBody(f"coupler{i}", frames={"tip": (1, 0, 0)}, **ROD)) for i in range(n)
    ]
    joints = [
        fm.Revolute(f"foot{i}", model.ground[f"p{i}"], crank, q0=np.pi / 2)
        for i, crank in enumerate(cranks)
    ]
    for i, coupler in enumerate(couplers):
        joints.append(fm.Revolute(f"pin{i}", cranks[i]["tip"], coupler, q0=-np.pi / 2))
        joints.append(fm.Revolute(f"knee{i}", coupler["tip"], cranks[i + 1]["tip"], q0=np.pi / 2))
    for joint in joints if order == "as built" else reversed(joints):
        model.add(joint)
    return model


def graph(edges, n):
    """A model of n bodies "1" … with joints of given degrees of freedom between them; "0" is the
    ground. The names contain the ends."""
    makes = {
        0: fm.Fixed,
        1: fm.Revolute,
        2: fm.Cylindrical,
        3: fm.Spherical,
        5: lambda *a: fm.Chain(*a, motions=ROD_ENDS),
    }
    model = fm.Model("graph", frames={str(i): (0, 0, i) for i in range(len(edges))})
    for i in range(1, n + 1):
        model.add(
            fm.RigidBody(str(i), frames={str(k): (k, i, 0) for k in range(len(edges))}, **ROD)
        )
    for k, (a, b, dofs) in enumerate(edges):
        ends = (f"{body or 'ground'}/{k}" for body in (a, b))
        model.add(makes[dofs](f"{a}-{b} ({k})", *ends))
    return model


def test_cells_couple_with_their_neighbours_only():
    shape = topology(cells(5))
    parents = {primary.body: primary.parent for primary in shape.tree}
    assert all(parents[f"crank{i}"] == "ground" for i in range(6))
    assert all(parents[f"coupler{i}"] == f"crank{i}" for i in range(5))
    assert shape.cuts == tuple(f"knee{i}" for i in range(5))
    loops = independent_loops(cells(5), shape)
    for i in range(5):
        assert loops[f"knee{i}"] == (f"foot{i + 1}", f"foot{i}", f"pin{i}")


def test_order_of_declaration_keeps_cells_apart():
    shape = topology(cells(5, "reversed"))
    reach = [
        {shape.bodies[i] for i in shape.path(b) + shape.path(c)}
        for b, c in ((f"coupler{i}", f"crank{i}") for i in range(5))
    ]
    assert max(map(len, reach)) <= 3
    assert all(not (a & b) for i, a in enumerate(reach) for b in reach[i + 2 :])


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_factor_of_cells_grows_linearly(coordinates):
    """Numbers in the factorization of n cells: each cell more adds the same."""
    sizes = [
        int(compile_model(cells(n), coordinates).system.elimination.n_values[0])
        for n in (10, 20, 40)
    ]
    assert sizes[2] - sizes[1] == pytest.approx(2 * (sizes[1] - sizes[0]), rel=0.02)


def least_degrees_of_freedom(edges, n):
    """Fewest degrees of freedom of a spanning tree, by trying all sets of n joints."""
    best = np.inf
    for chosen in itertools.combinations(edges, n):
        reached = {0}
        for _ in range(n):
            reached |= {x for a, b, _ in chosen if {a, b} & reached for x in (a, b)}
        if len(reached) == n + 1:
            best = min(best, sum(dofs for *_, dofs in chosen))
    return best


@pytest.mark.parametrize("seed", range(6))
def test_tree_has_the_fewest_degrees_of_freedom(seed):
    rng = np.random.default_rng(seed)
    n = 5
    edges = [(int(rng.integers(i)), i, int(rng.choice([0, 1, 2, 3, 5]))) for i in range(1, n + 1)]
    for _ in range(4):
        a, b = sorted(int(x) for x in rng.choice(n + 1, 2, replace=False))
        edges.append((a, b, int(rng.choice([0, 1, 2, 3, 5]))))
    model = graph(edges, n)
    shape = topology(model)
    kept = [joint for name, joint in model.joints.items() if name not in shape.cuts]
    assert len(kept) == n
    assert len(shape.cuts) == len(edges) - n
    assert sum(joint.nv for joint in kept) == least_degrees_of_freedom(edges, n)


def test_among_equal_trees_the_shallow_one():
    """A ring of eight equal joints through the ground is cut opposite to it; a chord between equals
    shortens the paths.
    """
    ring = [(i, (i + 1) % 8, 1) for i in range(8)]
    shape = topology(graph(ring, 7))
    assert max(len(shape.path(body)) for body in shape.bodies) == 4
    star = topology(graph([(i, i + 1, 1) for i in range(7)] + [(0, i, 1) for i in range(2, 8)], 7))
    assert all(primary.parent == "ground" for primary in star.tree)


def test_named_cuts_are_kept():
    model = cells(2)
    model.cuts = ("foot0", "pin1")
    shape = topology(model)
    assert set(shape.cuts) == {"foot0", "pin1"}
    model.cuts = ("foot1",)  # the other loop is cut according to the rules
    assert "foot1" in topology(model).cuts
    assert len(topology(model).cuts) == 2


def test_check_shows_loops_and_counts():
    report = cells(2).check()
    assert (
        report.sections["degrees of freedom"][-1]
        == "2 closed loops: n_h = n_c − n = 7 joints − 5 bodies"
    )
    system = report.sections["system"]
    assert "loop 1: knee0 – foot1 – foot0 – pin0 – knee0" in system
    assert report.sections["degrees of freedom"][0] == "planar motion: f = 3·5 − 14 = 1 (3n − b)"
    assert (
        "5 joint velocities − 10 constraints + 6 redundant constraints = 1 degree of freedom"
        in system
    )


def test_floating_parts_and_points_in_the_count():
    model = fm.Model("points")
    for i in range(2):
        model.add(fm.PointMass(f"p{i}", mass=1.0))
    model.add(fm.Prismatic("rail", "ground", "p0"))
    lines = model.check().sections["degrees of freedom"]
    assert "point masses only: f = 3·2 − 2 = 4 (3n − b)" in lines
    assert lines[-1] == "0 closed loops: n_h = n_c − n = 2 joints with 1 free − 2 bodies"


@pytest.mark.parametrize(
    ("second", "planar"),
    [
        (fm.Prismatic("second", "arm", "bob", axis="x"), True),
        (fm.Planar("second", "arm", "bob"), True),
        (fm.Prismatic("second", "arm", "bob", axis="z"), False),
        (fm.Cylindrical("second", "arm", "bob", axis="x"), False),
        (fm.Spherical("second", "arm", "bob"), False),
    ],
)
def test_planar_or_not(second, planar):
    """On an arm that turns about z: what slides and turns in the plane, and what leaves it."""
    model = fm.Model("m")
    arm = model.add(fm.RigidBody("arm", **ROD))
    model.add(fm.RigidBody("bob", **ROD))
    model.add(fm.Revolute("hinge", model.ground, arm, q0=0.3))
    model.add(second)
    assert diagnose(model).planar.startswith("planar") == planar


def test_slide_along_the_axis_of_rotation_is_no_plane():
    model = fm.Model("m")
    bob = model.add(fm.RigidBody("bob", **ROD))
    model.add(fm.Chain("screwdriver", model.ground, bob, motions=(Rotate("z"), Slide((0, 1, 1)))))
    assert not diagnose(model).planar


def test_bodies_that_keep_their_joints_in_absolute_coordinates_are_reported():
    """A point mass on a joint has that joint's coordinate always; free ones and rigid bodies have
    absolute ones.
    """
    model = fm.Model("strings")
    for name in ("low", "high", "free"):
        model.add(fm.PointMass(name, mass=1.0, frames={"eye": (0, 0, 1.0)}))
    model.add(fm.RigidBody("rod", mass=1.0, inertia=(1, 1, 1), frames={"end": (1, 0, 0)}))
    model.add(fm.Revolute("string", "ground", "high/eye", axis="y", q0=0.3))
    model.add(fm.Revolute("hinge", "ground", "rod", axis="y"))
    model.add(fm.Revolute("thread", "rod/end", "low/eye", axis="y"))
    shape = topology(model, "absolute")
    free = {primary.body for primary in shape.tree if primary.joint is None}
    assert free == {"free", "rod"}
    options = {"t_end": 0.02, "step": 0.01}
    notes = fm.simulate(model, coordinates="absolute", **options).run.notes
    assert [note for note in notes if note.startswith("coordinates:")] == [
        "coordinates: absolute coordinates were requested, but joint coordinates are kept: high "
        "(on string), "
        "low (on thread); the other 2 bodies have absolute coordinates"
    ]
    assert not any(
        note.startswith("coordinates:") for note in fm.simulate(model, **options).run.notes
    )
    del model.bodies["low"], model.joints["thread"]
    compared = str(
        fm.compare(model, formalisms=("multiplier",), integrators=("generalized-alpha",), **options)
    )
    assert "high (on string); the other 2 bodies have absolute coordinates" in compared


@pytest.mark.parametrize("unknown", ["free", "FREE", "relative", "", 3, ("joint",)])
def test_unknown_coordinates_are_rejected(unknown):
    model = cells(1)
    for call in (
        lambda: topology(model, unknown),
        lambda: fm.simulate(model, t_end=0.01, coordinates=unknown),
        lambda: fm.matrices(model, coordinates=unknown),
    ):
        with pytest.raises(fm.InputError, match=r"^coordinates: "):
            call()
