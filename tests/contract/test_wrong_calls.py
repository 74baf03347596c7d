"""Every public function and class with misspelt keywords and values of wrong types.

Nothing may raise anything but a `FlexmbsError` of one line for each problem; items and sections are
also used, since some check their values only there.
"""

import inspect
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import flexmbs as fm
import preprocess as pp

WRONG: list[Any] = [
    None,
    [],
    [1],
    "",
    "abc",
    {"a": 1},
    np.ones(2),
    10**30,
    10**400,
    float("nan"),
    float("inf"),
    -1.0,
    object(),
    1 + 2j,
    (1, 2),
]
# results, which users do not make, and errors
MADE = {"Linearization", "Solution", "SweepResult", "Reliability", "SobolIndices"}
MADE |= {"Mesh", "FEModel", "Part", "FlexibleBodyData", "FlexibleFrame"}
MATERIAL = pp.Isotropic(E=70e9, nu=0.3, rho=2700.0)
BOX = pp.box_mesh((0.1, 0.02, 0.02), (2, 1, 1), "hex8")
ENDS = {"a": pp.Rigid("x0"), "b": pp.Rigid("x1")}
LINE = pp.Mesh.from_arrays(np.eye(3)[:2], {"line2": [(0, 1)]}, node_sets={"x0": [0], "x1": [1]})
QUAD = pp.Mesh.from_arrays(
    np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]), {"quad4": [(0, 1, 2, 3)]}
)


def public() -> dict[str, Callable[..., Any]]:
    """Public functions and classes that users call, by name."""
    named = {
        f"{short}.{name}": getattr(library, name)
        for short, library in (("fm", fm), ("pp", pp))
        for name in library.__all__
    }
    return {
        name: each
        for name, each in named.items()
        if callable(each)
        and name[3:] not in MADE
        and not (isinstance(each, type) and issubclass(each, BaseException))
    } | {"pp.Mesh.from_arrays": pp.Mesh.from_arrays}


CALLS = public()
CLASSES = [name for name, each in CALLS.items() if isinstance(each, type)]
SIMPLE = {
    "fm": ("state", "assemble", "matrices", "linearize", "parameters", "gibbs", "kinematics"),
    "pp": ("box_mesh", "divide", "assemble", "attach", "aligned", "write_body", "material"),
}
FUNCTIONS = [f"{short}.{name}" for short, names in SIMPLE.items() for name in names]
FUNCTIONS += ["pp.Mesh.from_arrays", "fm.Stepper", "fm.sensitivities", "fm.fatigue", "fm.optimize"]
FUNCTIONS += ["pp.reduce_divided", "pp.material_data", "fm.rainflow", "fm.state_of"]


def pendulum() -> fm.Model:
    model = fm.Model("pendulum")
    body = model.add(
        fm.RigidBody("body", mass=1.0, inertia=(1.0, 1.0, 1.0), frames={"end": (0, 0, -1)})
    )
    model.add(fm.Revolute("joint", model.ground, body, axis="y"))
    model.add(fm.Revolute("second", body, model.add(fm.RigidBody("b", mass=1, inertia=(1, 1, 1)))))
    return model


DEFAULTS: dict[str, Any] = {
    "name": "n",
    "parent": "ground",
    "child": "body/end",
    "frame_a": "ground",
    "frame_b": "body/end",
    "frame": "body/end",
    "joint": "joint",
    "inertia": (1, 1, 1),
    "first": "joint",
    "second": "second",
    "where": "x0",
    "to": "x1",
    "normal": (1, 0, 0),
    "point": (0, 0, 0),
    "position": (0, 0, 0),
    "height": 0.02,
    "width": 0.02,
    "thickness": 0.002,
    "web": 0.002,
    "flange": 0.002,
    "diameter": 0.02,
    "nu": 0.3,
    "mesh": BOX,
    "part": BOX,
    "pieces": (BOX,),
    "material": MATERIAL,
    "interfaces": ENDS,
    "reference": "a",
    "size": (1.0, 1.0, 1.0),
    "divisions": (2, 1, 1),
    "nodes": np.eye(3),
    "elements": {"tri3": [(0, 1, 2)]},
    "times": [0.0, 1.0],
    "parameters": ["bodies.body.mass"],
    "outputs": {"x": lambda solution: 1.0},
    "t_end": 0.01,
}


def required(call: Callable[..., Any]) -> dict[str, Any]:
    """Plausible values of the arguments without defaults."""
    return {
        name: pendulum() if name == "model" else DEFAULTS.get(name, 1.0)
        for name, each in inspect.signature(call).parameters.items()
        if each.default is each.empty and each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
    }


def use(made: Any) -> None:
    """Do with an object what its values are for."""
    name = type(made).__name__
    module = type(made).__module__
    if hasattr(made, "section") and hasattr(made, "name") and not isinstance(made, fm.Model):
        model = pendulum()
        model.add(made)
        str(model.check())
    elif name.endswith("Section"):
        pp.assemble(
            QUAD if name in ("ShellSection", "LaminateSection") else LINE, MATERIAL, sections=made
        )
    elif module.startswith("preprocess.reduction"):
        pp.reduce(BOX, MATERIAL, interfaces=ENDS, method=made, reference="a")
    elif name in ("Rigid", "Averaged"):
        pp.reduce(BOX, MATERIAL, interfaces=ENDS | {"a": made}, reference="b")
    elif name == "PointMass":
        pp.attach(pp.assemble(BOX, MATERIAL), [made])
    elif module == "preprocess.fe.material":
        pp.assemble(BOX, made)


def outcomes(call: Callable[..., Any], use: Callable[[Any], None]) -> Iterator[str]:
    """Exceptions other than those of users' mistakes, for each argument and wrong value."""
    for name, each in inspect.signature(call).parameters.items():
        if each.kind in (each.VAR_KEYWORD, each.VAR_POSITIONAL):
            continue
        for wrong in WRONG:
            try:
                use(call(**(required(call) | {name: wrong})))
            except fm.FlexmbsError as error:
                if len(str(error).splitlines()) > 8:
                    yield f"{name} = {wrong!r:.30}: {error}"
            except Exception as error:
                yield f"{name} = {wrong!r:.30}: {type(error).__name__}: {error}"


@pytest.mark.parametrize("name", CALLS)
def test_misspelt_keyword(name: str) -> None:
    call = CALLS[name]
    parameters = inspect.signature(call).parameters.values()
    known = [
        each.name
        for each in parameters
        if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
    ]
    if any(each.kind == each.VAR_KEYWORD for each in parameters) or not known:
        pytest.skip("takes any keyword, or none")
    longest = max(known, key=len)
    with pytest.raises(
        fm.InputError, match=f"did you mean '{longest}'" if len(longest) > 3 else ""
    ):
        call(**{f"{longest}x": 1})


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.filterwarnings("ignore")
def test_values_of_classes(name: str) -> None:
    assert not list(outcomes(CALLS[name], use))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_of_functions(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not list(outcomes(CALLS[name], lambda made: None))
