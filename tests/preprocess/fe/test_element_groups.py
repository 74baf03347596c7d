"""Parts of several materials."""

import numpy as np
import pytest

from flexmbs.errors import InputError
from preprocess.body.build import reduce
from preprocess.fe.assembly import assemble
from preprocess.fe.interfaces import Rigid
from preprocess.fe.material import Isotropic
from preprocess.mesh.mesh import Mesh
from preprocess.mesh.structured import box_mesh

STEEL, ALUMINIUM = Isotropic(E=210e9, nu=0.3, rho=7850.0), Isotropic(E=70e9, nu=0.33, rho=2700.0)
BOX = box_mesh((0.4, 0.1, 0.1), (4, 1, 1), "hex20")


def bar(**sets):
    """Four bricks in a row, numbered 1 to 4."""
    return Mesh.from_arrays(
        BOX.nodes,
        {"hex20": BOX.blocks["hex20"].connectivity},
        node_sets=BOX.node_sets,
        element_sets=sets,
    )


def test_each_region_has_its_density_and_stiffness():
    """Two bars in series, held at one end and pulled at the other without contraction: k = A /
    (L₁/c₁ + L₂/c₂).
    """
    fe = assemble(bar(near=[1], far=[2, 3, 4]), {"near": STEEL, "far": ALUMINIUM})
    assert fe.mass == pytest.approx(0.01 * (0.1 * 7850 + 0.3 * 2700), rel=1e-12)
    assert [(group.ids.tolist(), group.material) for group in fe.groups] == [
        ([1], STEEL),
        ([2, 3, 4], ALUMINIUM),
    ]
    assert fe.mesh is not None
    x = fe.nodes[:, 0]
    stiff, soft = STEEL.elasticity[0, 0], ALUMINIUM.elasticity[0, 0]
    stiffness = 0.01 / (0.1 / stiff + 0.3 / soft)
    strain = np.array([stiffness / (0.01 * stiff), stiffness / (0.01 * soft)])
    u = np.zeros((len(x), 3))
    u[:, 0] = np.where(x < 0.1, strain[0] * x, strain[0] * 0.1 + strain[1] * (x - 0.1))
    assert u.ravel() @ fe.K @ u.ravel() == pytest.approx(stiffness, rel=1e-12)


def test_one_material_by_region_equals_one_material_for_all():
    one, regions = assemble(BOX, STEEL), assemble(bar(a=[4, 1], b=[2, 3]), {"a": STEEL, "b": STEEL})
    assert abs(one.K - regions.K).max() < 1e-14 * abs(one.K).max()
    assert abs(one.m - regions.m).max() < 1e-14 * abs(one.m).max()


def test_regions_reach_the_flexible_body():
    part = bar(near=[1], far=[2, 3, 4])
    faces = {"root": Rigid("x0"), "tip": Rigid("x1")}
    body = reduce(part, {"near": STEEL, "far": ALUMINIUM}, interfaces=faces, reference="root")
    assert body.mass == pytest.approx(0.01 * (0.1 * 7850 + 0.3 * 2700))
    assert body.provenance["material"] == f"near: {STEEL!r}; far: {ALUMINIUM!r}"


@pytest.mark.parametrize(
    "sets, chosen, message",
    [
        (
            {"near": [1], "far": [2, 3]},
            ("near", "far"),
            r"1 element\(s\) without one: 4; put them in a set with a material",
        ),
        (
            {"near": [1], "far": [2, 3, 4]},
            ("near",),
            r"3 element\(s\) without one: 2, 3, 4; give one for 'far'",
        ),
        (
            {"near": [1, 2], "far": [2, 3, 4]},
            ("near", "far"),
            r"1 element\(s\) in more than one of 'near', 'far': 2; keep",
        ),
        (
            {"near": [1], "far": [2, 3, 4]},
            ("neer", "far"),
            "no element set 'neer'; the sets are: near",
        ),
        ({}, ("all",), "no element set 'all'; the sets are: none"),
        ({}, (), "none given; give a material for each element set"),
    ],
)
def test_elements_without_material_or_with_two_are_named(sets, chosen, message):
    with pytest.raises(InputError, match=message):
        assemble(bar(**sets), dict.fromkeys(chosen, STEEL))
