"""Arguments of the preprocessor: each misuse gives one line with the item, its value and the
remedy.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import preprocess as pp
from flexmbs.errors import InputError
from preprocess.fe.fe_model import FEModel
from preprocess.fe.interfaces import Interface
from preprocess.reduction import krylov, normal_modes

STEEL = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
MESH = pp.box_mesh((0.3, 0.03, 0.02), (4, 1, 1), "hex8")
LENGTH = 3 * len(MESH.nodes)
ROOT = pp.Plane((0, 0, 0), (1, 0, 0))
ONE = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])


@pytest.fixture(scope="module")
def fe() -> FEModel:
    return pp.assemble(MESH, STEEL)


def reduced(fe: FEModel, where: Interface | None = None, **options: Any) -> object:
    arguments: dict[str, Any] = {
        "method": pp.CraigBampton(modes=2),
        "stress": None,
        "stiffening": False,
        **options,
    }
    return pp.reduce(
        fe,
        interfaces={"root": where or pp.Rigid(ROOT), "tip": pp.Rigid("x1")},
        reference="root",
        **arguments,
    )


def points(**changed: Any) -> object:
    return pp.Mesh.from_arrays(ONE, **({"elements": {"tet4": [[0, 1, 2, 3]]}} | changed))


def matrices(fe: FEModel, **changed: Any) -> object:
    return pp.FEModel.from_matrices(**({"K": fe.K, "M": fe.M, "nodes": fe.nodes} | changed))


Call = Callable[[FEModel], object]
NAN = float("nan")
CALLS: dict[str, tuple[Call, str]] = {
    "misspelt": (
        lambda fe: pp.reduce(MESH, STEEL, interface={}, reference="a"),
        "reduce: has no argument 'interface'; did you",
    ),
    "missing": (lambda fe: pp.read_mesh("part.msh"), "read_mesh: unit is missing"),
    "class": (
        lambda fe: pp.CraigBampton(mode=3),
        "CraigBampton: has no argument 'mode'; did you mean 'modes'?",
    ),
    "subclass": (
        lambda fe: pp.Rigid("x0", pos=(0, 0, 0)),
        "Rigid: has no argument 'pos'; known: axes, position, where",
    ),
    "place": (
        lambda fe: pp.Rigid("x0", (0, 0, 0)),
        r"Rigid: takes 1 positional argument\(s\), 2 given; pass",
    ),
    "mesh for model": (
        lambda fe: pp.attach(MESH, []),
        "model: must be an FEModel, see assemble, not <Mesh of hex8",
    ),
    "far mass": (
        lambda fe: pp.attach(fe, [pp.PointMass("x0", 1.0, position=(300.0, 0, 0))]),
        r"point mass: position \[300.0, 0.0, 0.0\] is 299.9 m from a part of 0.3022 m; "
        r"give it in metres",
    ),
    "far point": (
        lambda fe: pp.attach(fe, [pp.PointMass(pp.Point((300, 0, 0)), 1.0)]),
        "point mass: point .* is 299.9 m from",
    ),
    "far frame": (
        lambda fe: reduced(fe, pp.Rigid(ROOT, position=(1e8, 0, 0))),
        "interfaces.root: position .* give it in metres",
    ),
    "tolerance": (
        lambda fe: reduced(fe, pp.Rigid(pp.Plane((0, 0, 0), (1, 0, 0), NAN))),
        "interfaces.root: tolerance = nan",
    ),
    "radius": (
        lambda fe: reduced(fe, pp.Rigid(pp.Point((0, 0, 0), -1.0))),
        "interfaces.root: radius = -1.0; give a",
    ),
    "plane": (
        lambda fe: reduced(fe, pp.Rigid(pp.Plane((NAN, 0, 0), (1, 0, 0)))),
        "interfaces.root: plane point: has 1",
    ),
    "complex shapes": (
        lambda fe: pp.GivenShapes(np.ones((LENGTH, 2)) * 1j),
        "method.shapes: are complex; give real and imag",
    ),
    "overflow": (
        lambda fe: pp.Krylov(frequencies=(1e200,)),
        r"method.frequencies: \(1e\+200,\); give .* from 0 to 1e\+09",
    ),
    "negative": (
        lambda fe: pp.Krylov(frequencies=(-5.0,)),
        r"method.frequencies: \(-5.0,\); give one or more frequencies",
    ),
    "damping": (
        lambda fe: reduced(fe, damping=lambda f: 1 / 0),
        r"damping: the function raises ZeroDivisionError",
    ),
    "mass": (
        lambda fe: pp.assemble(MESH, STEEL, mass="lump"),
        "mass: 'lump'; give 'consistent', 'lumped' or 'deck'",
    ),
    "stiffening": (
        lambda fe: reduced(fe, stiffening="no"),
        "stiffening: must be True or False, not 'no'",
    ),
    "progress": (
        lambda fe: reduced(fe, progress=3),
        "progress: must be a function of step and fraction, not 3",
    ),
    "no element": (
        lambda fe: points(elements={}),
        "arrays: elements: none given; give connectivities by element type",
    ),
    "half node": (
        lambda fe: points(elements={"tet4": [[0, 1, 2, 2.5]]}),
        "arrays: tet4: 2.5 is not an integer",
    ),
    "set of words": (
        lambda fe: points(element_sets={"a": ["x"]}),
        r"arrays: set 'a': \['x'\] is not an array of numbers",
    ),
    "motion": (
        lambda fe: MESH.moved(lambda x: x[:2]),
        r"moved nodes: have shape \(2, 3\); the mesh has \(20, 3\)",
    ),
    "complex K": (
        lambda fe: matrices(fe, K=1j * fe.K),
        "matrices: K is complex; export it without damping",
    ),
    "list of sets": (
        lambda fe: matrices(fe, node_sets=[1]),
        "matrices: node_sets: must be node indices by name, not",
    ),
    "triangles": (
        lambda fe: matrices(fe, triangles=[[0, 1, 99]]),
        "matrices: triangles: 99 is not the index of a node; indices",
    ),
    "numbers": (
        lambda fe: matrices(fe, node_ids=np.zeros(20)),
        "matrices: node_ids: some occur twice; number",
    ),
    "frames": (
        lambda fe: pp.read_body("part.fem", frames=["tip"]),
        "frames: must be node numbers by name",
    ),
    "frame": (
        lambda fe: pp.read_body("part.fem", frames={"tip": "b"}),
        "frames.tip: must be an integer, not 'b'",
    ),
}


@pytest.mark.parametrize(("call", "message"), CALLS.values(), ids=CALLS)
def test_misuse_is_named(fe: FEModel, call: Call, message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        call(fe)
    assert all("\n" not in problem for problem in refused.value.problems)


def test_an_error_within_a_call_is_not_taken_for_a_misspelt_one() -> None:
    with pytest.raises(TypeError, match="takes 0 positional arguments but 2 were given"):
        reduced(pp.assemble(MESH, STEEL), progress=lambda: None)


def test_absurd_frequencies_are_rejected_before_the_work(
    fe: FEModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All modes of a small part are below the limit: two rigid
    faces and twelve nodes between them.
    """
    monkeypatch.setattr(krylov, "MOST_BELOW", 20)
    monkeypatch.setattr(normal_modes, "MAX_MODES", 20)
    below = 3 * 12 + 2 * 6
    refused = (
        rf"method.frequencies: {below} modes are near and below 1e\+08 Hz; lower it to fewer "
        r"than 20"
    )
    with pytest.raises(InputError, match=refused):
        reduced(fe, method=pp.Krylov(frequencies=(1e8,)))
    for method, option in (
        (pp.CraigBampton(frequency=1e9), "frequency"),
        (pp.CraigBampton(modes="auto", band=1e9), "band"),
    ):
        refused = (
            rf"method.{option}: {below - 12} modes are below 1e\+09 Hz, a body has at most "
            r"20; lower it"
        )
        with pytest.raises(InputError, match=refused):
            reduced(fe, method=method)


def test_warnings_name_the_line_of_the_caller() -> None:
    with pytest.warns(pp.PreprocessWarning, match="wave speed") as caught:
        pp.Isotropic(E=1.0, nu=0.3, rho=7850.0)
    with pytest.warns(pp.PreprocessWarning, match="far too stiff") as also:
        pp.assemble(pp.box_mesh((1, 1, 1), (1, 1, 1), "tet4"), STEEL)
    assert [each.filename for each in (*caught, *also)] == [__file__] * 2
