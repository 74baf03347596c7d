"""Reactions of redundant constraints: the least norm of all wrenches, whatever the order, the
coordinates and the formalism.
"""

import itertools

import numpy as np
import pytest

import flexmbs as fm
import preprocess as pp

EVERY = [("multiplier", "joint"), ("multiplier", "absolute"), ("recursive", "joint")]
EXPLICIT = fm.DormandPrince(rtol=1e-9, atol=1e-10)
WEIGHT = 98.1


def door(places: list[float], order: list[int], middle: float) -> fm.Model:
    """A leaf of 10 kg that hangs on hinges about y at ``places``, its mass below the axis at y =
    ``middle``.
    """
    frames = {f"at{i}": (0.0, y, 0.0) for i, y in enumerate(places)}
    model = fm.Model("door", frames=frames)
    model.add(
        fm.RigidBody(
            "leaf", mass=10.0, com=(0, middle, -0.3), inertia=(0.1, 0.1, 0.1), frames=frames
        )
    )
    for i in order:
        model.add(fm.Revolute(f"hinge{i}", f"ground/at{i}", f"leaf/at{i}", axis="y"))
    return model


def least(places: list[float], middle: float) -> np.ndarray:
    """(n, 5) forces along x, y, z and moments about x and z of hinges that carry the leaf, by a
    pseudo-inverse.

    Equilibrium A (f, n/ℓ) = b, ℓ the largest distance of hinges; the solution of least length.
    """
    length, columns = np.ptp(places), []
    for y in places:
        arm = np.array([0.0, y, 0.0])
        columns += [np.concatenate([e, np.cross(arm, e)]) for e in np.eye(3)]
        columns += [np.concatenate([np.zeros(3), length * np.eye(3)[c]]) for c in (0, 2)]
    b = np.concatenate([[0.0, 0.0, WEIGHT], np.cross([0.0, middle, -0.3], [0.0, 0.0, WEIGHT])])
    found = (np.linalg.pinv(np.array(columns).T) @ b).reshape(-1, 5)
    found[:, 3:] *= length
    return found


@pytest.mark.parametrize(("formalism", "coordinates"), EVERY)
def test_hinges_of_a_door_share_its_weight(formalism: str, coordinates: str) -> None:
    """Symmetric hinges carry half of the weight each, no moments, in each order; others as the
    pseudo-inverse says.
    """
    for places, middle in (([0.0, 1.0], 0.5), ([0.1, 0.45, 1.3], 0.8)):
        expected = least(places, middle)
        for order in itertools.permutations(range(len(places))):
            how = {"formalism": formalism, "coordinates": coordinates}
            run = fm.simulate(door(places, list(order), middle), t_end=0.002, step=1e-3, **how)
            for i, own in enumerate(expected):
                joint = run.joint(f"hinge{i}")
                np.testing.assert_allclose(joint.force[-1], own[:3], atol=1e-7)
                np.testing.assert_allclose(joint.torque[-1, [0, 2]], own[3:], atol=1e-7)
                assert not joint.unique
    assert np.allclose(least([0.0, 1.0], 0.5)[:, 2], 49.05)


@pytest.mark.parametrize("apart", [0.0, 5e-17, 1e-12, 1e-8])
def test_hinges_at_one_point_share_force_and_moment(apart: float) -> None:
    """Frames that coincide up to round-off have no lever arm.

    Moments were divided by the distance of the frames, 5e-17 m, and forces became 1e15 N.
    """
    for formalism, coordinates in EVERY:
        how = {"formalism": formalism, "coordinates": coordinates}
        run = fm.simulate(door([0.3, 0.3 + apart], [1, 0], 0.5), t_end=0.002, step=1e-3, **how)
        for joint in (run.joint("hinge0"), run.joint("hinge1")):
            np.testing.assert_allclose(joint.force[-1], (0, 0, WEIGHT / 2), atol=1e-5)
            np.testing.assert_allclose(joint.torque[-1, 0], 0.2 * WEIGHT / 2, atol=1e-5)


def box(order: list[int], swapped: bool) -> fm.Model:
    """Two bars and a coupler on four hinges, redundant out of the plane; mass off the plane, a
    pendulum on it.
    """
    model = fm.Model("four-bar", gravity=(0.0, -9.81, 0.0), frames={"far": (0.7, 0, 0)})
    lengths = (0.3, 0.8, 0.6)
    tip = 0.3 * np.array([np.cos(0.7), np.sin(0.7)])
    gap = np.array([0.7, 0.0]) - tip
    span = np.hypot(*gap)
    rod = np.arctan2(gap[1], gap[0]) + np.arccos((0.64 + span**2 - 0.36) / (1.6 * span))
    knee = tip + 0.8 * np.array([np.cos(rod), np.sin(rod)])
    angles = (0.7, rod, float(np.arctan2(knee[1], knee[0] - 0.7)))
    for name, length in zip(("crank", "coupler", "rocker"), lengths):
        inertia = (2e-3, length**2 / 12, length**2 / 12)
        frames = {"end": (length, 0.0, 0.0)}
        model.add(
            fm.RigidBody(name, mass=1.0, com=(length / 2, 0, 0.05), inertia=inertia, frames=frames)
        )
    model.add(fm.RigidBody("bob", mass=0.5, com=(0.1, 0, 0), inertia=(1e-3, 1e-3, 1e-3)))
    pairs = [
        ("main", "ground", "crank", angles[0]),
        ("foot", "ground/far", "rocker", angles[2]),
        ("pin", "crank/end", "coupler", angles[1] - angles[0]),
        ("knee", "coupler/end", "rocker/end", angles[2] - angles[1]),
        ("hook", "coupler/end", "bob", 0.3),
    ]
    for k in order:
        name, parent, child, angle = pairs[k]
        ends, sign = (
            ((child, parent), -1.0) if swapped and name != "hook" else ((parent, child), 1.0)
        )
        model.add(fm.Revolute(name, *ends, q0=sign * angle))
    return model


def test_order_coordinates_and_direction_do_not_matter() -> None:
    """A moving four-bar linkage: forces and moments of every joint, in every declaration of the
    same machine.
    """
    rng, first = np.random.default_rng(3), None
    for k, (formalism, coordinates) in enumerate((*EVERY, *EVERY)):
        order = list(rng.permutation(5)) if k else list(range(5))
        model = box(order, swapped=k > 2)
        how = {"formalism": formalism, "coordinates": coordinates}
        run = fm.simulate(model, t_end=0.01, output_step=5e-3, integrator=EXPLICIT, **how)
        sign = {
            name: -1.0 if k > 2 and name != "hook" else 1.0
            for name in ("main", "foot", "pin", "knee", "hook")
        }
        found = {
            name: np.concatenate(
                [sign[name] * run.joint(name).force[1:], sign[name] * run.joint(name).torque[1:]],
                axis=1,
            )
            for name in sign
        }
        assert {name: run.joint(name).unique for name in sign} == {
            name: name == "hook" for name in sign
        }
        first = first or found
        for name in sign:
            np.testing.assert_allclose(
                found[name], first[name], atol=1e-5 * np.abs(first["main"]).max()
            )


@pytest.mark.parametrize(("formalism", "coordinates"), EVERY)
def test_a_flexible_body_determines_the_shares_of_its_hinges(
    formalism: str, coordinates: str
) -> None:
    """A beam on three supports carries 3/16, 10/16 and 3/16 of its weight; a rigid one a third."""
    length, side, rho = 2.0, 0.02, 7850.0
    x = np.linspace(0.0, length, 9)
    mesh = pp.Mesh.from_arrays(
        np.column_stack([x, 0 * x, 0 * x]),
        {"line2": [(k, k + 1) for k in range(8)]},
        node_sets={f"at{k}": [4 * k] for k in range(3)},
    )
    section = pp.RectangularSection(side, side, orientation=(0, 0, 1))
    fe = pp.assemble(mesh, pp.Isotropic(E=2.1e11, nu=0.3, rho=rho), sections=section)
    ends = {f"at{k}": pp.Rigid(f"at{k}") for k in range(3)}
    method = pp.CraigBampton(modes=6)
    data = pp.reduce(fe, interfaces=ends, method=method, reference="at0", inertia_loads=True)
    shares = {}
    for bends in (True, False):
        places = {f"at{k}": (k * length / 2, 0.0, 0.0) for k in range(3)}
        model = fm.Model("beam on three supports", frames=places)
        stiff = {"mass": data.mass, "com": (length / 2, 0, 0), "inertia": (1e-3, 2.0, 2.0)}
        beam = fm.FlexibleBody("beam", data=data) if bends else None
        model.add(beam or fm.RigidBody("beam", frames=places, **stiff))
        for k in (1, 0, 2):
            model.add(fm.Revolute(f"hinge{k}", f"ground/at{k}", f"beam/at{k}", axis="y"))
        how = {"formalism": formalism, "coordinates": coordinates, "step": 1e-3}
        run = fm.simulate(model, t_end=0.002, start=fm.statics(model), audit="none", **how)
        joints = [run.joint(f"hinge{k}") for k in range(3)]
        assert {joint.unique for joint in joints} == {bends}
        shares[bends] = np.array([joint.force[-1, 2] for joint in joints]) / (9.81 * data.mass)
    # shear of the beam changes the shares by (side/length)²
    np.testing.assert_allclose(shares[True], [3 / 16, 10 / 16, 3 / 16], rtol=2e-3)
    np.testing.assert_allclose(shares[False], 1 / 3, rtol=1e-9)


def bennett(order: int, second: float = 1.1) -> fm.Model:
    """Bennett's linkage of lengths a/sin α = b/sin β, its joints declared in two orders."""

    def about_x(angle: float) -> np.ndarray:
        c, s = np.cos(angle), np.sin(angle)
        return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])

    first, start = 0.6, 0.7
    b = np.sin(second) / np.sin(first)
    half = np.sin((second + first) / 2) / np.sin((second - first) / 2)
    other = 2 * np.arctan2(half, np.tan(start / 2))
    closing = fm.Frame(tuple(about_x(second).T @ (-b, 0.0, 0.0)), rotation=about_x(second).T)
    model = fm.Model("bennett", gravity=(1.0, 2.0, -3.0), frames={"c": closing})
    for k, (length, twist) in enumerate(((1.0, first), (b, second), (1.0, first))):
        end = fm.Frame((length, 0, 0), rotation=about_x(twist))
        about = {"com": (0.5 * length, 0.02, 0.01), "inertia": (0.01, 0.02, 0.025)}
        model.add(fm.RigidBody(f"l{k}", mass=1.0 + 0.3 * k, frames={"e": end}, **about))
    joints = [fm.Revolute("j0", "ground", "l0", axis="z", q0=start, v0=6.0)]
    ends = ["l0/e", "l1/e", "l2/e"], ["l1", "l2", "ground/c"], [other, -start, -other]
    for k, (parent, child, angle) in enumerate(zip(*ends), 1):
        joints.append(fm.Revolute(f"j{k}", parent, child, axis="z", q0=angle))
    for joint in joints[order:] + joints[:order]:
        model.add(joint)
    return model


def test_reactions_at_the_start_do_not_depend_on_the_rest_of_the_run() -> None:
    """Explicit steps leave gaps of 1e-9, beside which dependent rows look independent."""
    forces = [
        fm.simulate(
            bennett(order), t_end=t_end, output_step=0.01, formalism=formalism,
            integrator="dormand-prince",
        )
        .joint("j0")
        .force[0]
        for t_end, formalism, order in itertools.product(
            (0.2, 1.0), ("recursive", "embedding"), (0, 2)
        )
    ]  # fmt: skip
    np.testing.assert_allclose(forces, [(-22.835, -27.633, 12.238)] * 8, atol=2e-3)


@pytest.mark.parametrize("method", ["generalized-alpha", "esdirk", "rattle"])
def test_a_shelf_on_two_walls_has_no_freedom(method: str) -> None:
    """A body fixed twice: constraints without velocities; each wall carries half of it."""
    model = fm.Model("shelf", frames={"r": (1.0, 0, 0)})
    frames, inertia = {"r": (1.0, 0, 0)}, (0.1, 0.1, 0.1)
    model.add(fm.RigidBody("b", mass=2.0, com=(0.5, 0, 0), inertia=inertia, frames=frames))
    model.add(fm.Fixed("left", "ground", "b"))
    model.add(fm.Fixed("right", "ground/r", "b/r"))
    run = fm.simulate(model, t_end=0.05, step=1e-2, integrator=method, coordinates="joint")
    np.testing.assert_allclose(run.joint("left").force[-1], (0, 0, 9.80665), atol=5e-3)
