"""User functions with parameters: the results of functions that hold them, compiled once for all
their values.
"""

import dataclasses

import numba
import numpy as np
import pytest

import flexmbs as fm
from flexmbs.formalisms import FORMALISMS

N = 21
K, C = np.linspace(5.0, 40.0, N), np.linspace(0.1, 0.5, N)
WAYS = [
    (name, way)
    for name, form in FORMALISMS.items()
    for way in ("joint", "absolute")
    if way in form.coordinates
]


def pull(t, r, A, v, w, p):
    return (-p[0] * r[0] - p[1] * v[0], 0.0, 0.0, 0.0, 0.0, 0.0)


def torque(t, x, v, p):
    return (-p[0] * x[0] - p[1] * v[0],)


def seal(t, x, v, loads, p):
    return -p[0] * x - p[1] * v - p[2] * loads[0] * v


def control(memory, t, x, v, p):
    return -p[0] * x - p[1] * v, memory


KINDS = ("user-force", "user-joint-forces", "user-friction", "digital-controller")


def masses(kind: str, function=None) -> fm.Model:
    """Masses on rails with springs and dashpots by one function; by one of its own for each where
    none is given.
    """
    model = fm.Model("masses", gravity=(0, 0, -9.81))
    for i, (k, c) in enumerate(zip(K, C)):
        body = model.add(fm.RigidBody(f"m{i}", mass=1.0, inertia=(0.1, 0.1, 0.1)))
        rail = model.add(fm.Prismatic(f"rail{i}", model.ground, body, axis="x", q0=0.1 + 0.01 * i))
        given = (k, c, 0.01)[: 3 if kind == "user-friction" else 2]
        own = {"function": function, "parameters": given}
        if function is None:
            own = {"function": _closed(FUNCTIONS[kind], np.array(given))}
        if kind == "user-force":
            model.add(fm.UserForce(f"f{i}", body, **own))
        elif kind == "user-joint-forces":
            model.add(fm.UserJointForces(f"f{i}", [rail], **own))
        elif kind == "user-friction":
            model.add(fm.UserFriction(f"f{i}", rail, **own))
        else:
            model.add(
                fm.JointTorque(
                    f"f{i}", rail, fm.DigitalController(sample_time=0.01, memory=(1.0, 2.0), **own)
                )
            )
    return model


FUNCTIONS = dict(zip(KINDS, (pull, torque, seal, control)))


def _closed(function, p):
    """The same function with its parameters inside."""
    count = function.__code__.co_argcount - 1
    if count == 5:
        return lambda t, r, A, v, w: function(t, r, A, v, w, p)
    if count == 3:
        return lambda t, x, v: function(t, x, v, p)
    return lambda a, b, c, d: function(a, b, c, d, p)


@pytest.mark.parametrize("kind", KINDS)
def test_one_compilation_for_all_parameters(kind: str) -> None:
    """The function has one signature, and one C function, after a run of 21 forces with different
    parameters.
    """
    function = numba.njit(FUNCTIONS[kind])
    options = {"t_end": 0.3, "step": 1e-3}
    found, wanted = (
        fm.simulate(masses(kind, function), **options),
        fm.simulate(masses(kind), **options),
    )
    assert len(function.signatures) == 1
    assert len(function.__dict__["_flexmbs_callbacks"]) == 1
    np.testing.assert_allclose(found.q, wanted.q, atol=1e-12)
    assert np.unique(found.q[-1].round(6)).size == N
    plain = fm.simulate(masses(kind, FUNCTIONS[kind]), **options)
    np.testing.assert_allclose(plain.q, wanted.q, atol=1e-12)


@pytest.mark.parametrize(("formalism", "coordinates"), WAYS)
def test_reactions_and_parameters(formalism: str, coordinates: str) -> None:
    """Reactions are followed by parameters: a drag μ N of two values on blocks that slide."""

    def drag(t, r, A, v, w, reactions, p):
        return (-p[0] * reactions[0, 2], 0.0, p[1], 0.0, 0.0, 0.0)

    model = fm.Model("blocks", gravity=(0, 0, -10.0))
    for name, mu in (("first", 0.1), ("second", 0.3)):
        body = model.add(fm.RigidBody(name, mass=2.0, inertia=(0.1, 0.1, 0.1)))
        rail = model.add(fm.Prismatic(f"rail of {name}", model.ground, body, axis="x", v0=5.0))
        model.add(fm.UserForce(f"drag of {name}", body, drag, reads=[rail], parameters=(mu, -2.0)))
    run = fm.simulate(
        model, t_end=0.1, formalism=formalism, coordinates=coordinates, integrator="dormand-prince"
    )
    speed = [run.body(name).velocity[-1, 0] for name in ("first", "second")]
    np.testing.assert_allclose(speed, [5.0 - 0.1 * 11.0 * 0.1, 5.0 - 0.3 * 11.0 * 0.1], atol=1e-9)


def test_parameters_in_files_and_messages(tmp_path, monkeypatch) -> None:
    (tmp_path / "laws_of_mine.py").write_text(
        "def pull(t, r, A, v, w, p):\n    return (-p[0] * r[0], 0, 0, 0, 0, 0)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    model = fm.Model("m", gravity=(0, 0, 0))
    body = model.add(fm.RigidBody("b", mass=1.0, inertia=(1, 1, 1)))
    model.add(fm.UserForce("f", body, "laws_of_mine:pull", parameters=(4.0,)))
    model.save(tmp_path / "m.toml")
    assert "parameters = [4.0]" in (tmp_path / "m.toml").read_text()
    assert fm.load(tmp_path / "m.toml", allow_code=True) == model
    for function, given, message in (
        (
            pull,
            {},
            r"forces.f.function: the function must be f\(t, r, A, v, w\) -> 6 numbers, "
            r"with 5 arguments, not 6",
        ),
        (
            lambda t, r, A, v, w: (0,) * 6,
            {"parameters": (1.0,)},
            r"f\(t, r, A, v, w, parameters\).* with 6 arguments, not 5",
        ),
        (pull, {"parameters": ("x",)}, "forces.f.parameters"),
        (pull, {"parameters": 3.0}, "forces.f.parameters"),
        (pull, {"parameters": {"k": 3.0}}, "forces.f.parameters"),
    ):
        with pytest.raises(fm.InputError, match=message):
            fm.UserForce("f", "b", function, **given)


@pytest.mark.parametrize("kind", KINDS)
def test_compiled_functions_with_too_few_parameters_are_rejected(kind: str) -> None:
    """Numba checks no bounds: the missing number would be any."""
    model = masses(kind, numba.njit(FUNCTIONS[kind]))
    items = model.forces
    for name, force in list(items.items()):
        if kind == "digital-controller":
            items[name] = dataclasses.replace(
                force, law=dataclasses.replace(force.law, parameters=force.law.parameters[:-1])
            )
        else:
            items[name] = dataclasses.replace(force, parameters=force.parameters[:-1])
    with pytest.raises(
        fm.InputError, match=r"forces\.f0.*: its function reads beyond its parameters"
    ):
        fm.simulate(model, t_end=0.1, step=1e-3)
