"""Invalid arguments of analyses: one line that names the argument, its value and the remedy."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from mechanisms import pendulum, slider_crank

import flexmbs as fm

NAN = float("nan")


def message(call: Callable[[], Any]) -> str:
    """The one line of an `InputError`."""
    with pytest.raises(fm.InputError) as refused:
        call()
    text = str(refused.value)
    assert len(text.splitlines()) == 1
    return text


ANALYSES: dict[str, Callable[[Any], Any]] = {
    "state": fm.state,
    "statics": fm.statics,
    "linearize": fm.linearize,
    "matrices": fm.matrices,
    "assemble": fm.assemble,
    "linearize at": lambda model: fm.linearize(model, start=fm.state(pendulum())),
    "matrices at": lambda model: fm.matrices(model, start=fm.state(pendulum())),
    "kinematics": lambda model: fm.kinematics(model, [0.0, 1.0]),
    "quasi-static": lambda model: fm.quasi_static(model, [0.0, 1.0]),
    "simulate": lambda model: fm.simulate(model, t_end=1.0),
    "simulate as its run says": fm.simulate,
    "compare": lambda model: fm.compare(model, t_end=1.0),
}


@pytest.mark.parametrize("given", [None, "model.toml", 3, []], ids=repr)
@pytest.mark.parametrize("analysis", ANALYSES.values(), ids=ANALYSES)
def test_no_model(analysis: Callable[[Any], Any], given: Any) -> None:
    assert (
        message(lambda: analysis(given))
        == f"model: {given!r} is not a Model; load('model.toml') reads one from a file"
    )


@pytest.mark.parametrize("given", [None, "1 s", NAN, float("inf"), [0.0], 1j, True], ids=repr)
def test_no_time(given: Any) -> None:
    model = pendulum()
    solution = fm.simulate(model, t_end=0.1, step=0.05)
    for call in (
        lambda: fm.state(model, t=given),
        lambda: fm.statics(model, t=given),
        lambda: fm.assemble(model, t=given),
        lambda: fm.state_of(solution, given),
    ):
        assert message(call).startswith("t: the time in seconds must be ")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: fm.state(m, position=3), "position: must be a table, joint → number(s), not 3"),
        (lambda m: fm.state(m, velocity=[("hinge", 1)]), "velocity: must be a table, joint → number(s), not [('hinge', 1)]"),
        (lambda m: fm.state(m, position={3: 1.0}), "position: must be a list of names, not {3: 1.0}"),
        (lambda m: fm.state(m, acceleration="fast"), "acceleration: must be a table, joint → number(s), not 'fast'"),
        (lambda m: fm.state(m, acceleration={"hinge": "a"}), "acceleration: joint 'hinge': must be a number, not 'a'"),
        (lambda m: fm.state(m, acceleration={"hinge": NAN}), "acceleration: joint 'hinge': must be finite, not nan"),
        (lambda m: fm.state(m, acceleration={"hinge": [1, 2]}), "acceleration: joint 'hinge': must have 1 number, not 2"),
        (lambda m: fm.assemble(m, locked=3), "initial.locked: must be a list of names, not 3"),
        (lambda m: fm.assemble(m, locked=["hing"]), "initial.locked: no joint 'hing'; did you mean 'hinge'?"),
        (lambda m: fm.assemble(m, weights=3), "initial.weights: must be a table, joint → number(s), not 3"),
        (lambda m: fm.assemble(m, weights={"hinge": "a"}), "initial.weights.hinge: must be a number, not 'a'"),
        (lambda m: fm.assemble(m, weights={"hinge": 0}), "initial.weights.hinge: 0 is not positive; to fix a joint lock it"),
        (
            lambda m: fm.simulate(m, t_end=1.0, initial="hinge"),
            "initial: str is not an Assemble; give Assemble(locked=…, weights=…)",
        ),
        (
            lambda m: fm.simulate(m, t_end=1.0, start=fm.state(m), initial=fm.Assemble(locked="hinge")),
            "initial: a start is already consistent; give initial or start, not both",
        ),
        (lambda m: fm.statics(m, load_steps=NAN), "load_steps: must be a whole number from 1 to 1000000, not nan"),
        (lambda m: fm.statics(m, load_steps=0), "load_steps: must be a whole number from 1 to 1000000, not 0"),
        (lambda m: fm.statics(m, load_steps=1.5), "load_steps: must be a whole number from 1 to 1000000, not 1.5"),
        (lambda m: fm.linearize(m, inputs=3), "inputs: must be a list of tuples, not 3"),
        (lambda m: fm.linearize(m, inputs=("effort", "hinge")), "inputs: must be a list of tuples, not ('effort', 'hinge')"),
        (lambda m: fm.linearize(m, outputs="rate"), "outputs: must be a list of tuples, not 'rate'"),
        (
            lambda m: fm.linearize(m, inputs=[("effort", "hinge", "a")]),
            "('effort', 'hinge', 'a'): the coordinate must be a whole number >= 0, not 'a'",
        ),
        (
            lambda m: fm.linearize(m, outputs=[("rate", "hinge", 0, 1)]),
            "('rate', 'hinge', 0, 1): give a joint and the index of one of its coordinates",
        ),
        (lambda m: fm.linearize(m, independent=[3]), "independent: must be a list of names, not [3]"),
        (lambda m: fm.matrices(m, independent="hing"), "independent: no coordinate 'hing'; did you mean 'hinge.0'?"),
        (lambda m: fm.inverse_dynamics(fm.state(m), actuators=3), "actuators: must be a list of names, not 3"),
        (
            lambda m: fm.inverse_dynamics(fm.state(m), actuators=["hinge", "hinge"]),
            "actuators: hinge, hinge names a joint twice; remove one",
        ),
        (
            lambda m: fm.simulate(m, t_end=1.0, progress=3),
            "progress: must be a function of the completed fraction and a text, not 3",
        ),
        (
            lambda m: fm.compare(m, t_end=1.0, progress=3),
            "progress: must be a function of the completed fraction and a text, not 3",
        ),
        (lambda m: fm.simulate(m, t_end=True), "t_end: True is not a positive time in seconds"),
        (
            lambda m: fm.simulate(m, t_end=1e300),
            "t_end: 1e+300 s is more than 1e+15 s, thirty million years; choose a shorter run",
        ),
        (
            lambda m: fm.simulate(m, t_end=1e9, step=1e-3, output_step=1e6),
            "t_end: 1e+09 s takes more than 1e+10 steps of 0.001 s; choose a shorter run",
        ),
        (lambda m: fm.simulate(m, t_end=2.0, output_step=True), "output_step: True is not a positive time in seconds"),
        (lambda m: fm.simulate(m, t_end=1.0, strict="yes"), "strict: must be True or False, not 'yes'"),
        (lambda m: fm.simulate(m, t_end=0.1, step=0.05).at("x"), "times: the time in seconds must be a number, not 'x'"),
        (lambda m: fm.simulate(m, t_end=0.1, step=0.05).at([0.0, None]), "times: the time in seconds must be a number, not None"),
        (
            lambda m: fm.simulate(m, t_end=0.1, step=0.05).at([0.0, 0.1, 0.05]),
            "times: must ascend, but 0.05 s follows 0.1 s; give np.unique(times)",
        ),
        (lambda m: fm.state_of(m, 0.0), "solution: Model is not a Solution; use the result of simulate or Solution.load"),
    ],
)  # fmt: skip
def test_wrong_argument(call: Callable[[fm.Model], Any], words: str) -> None:
    assert message(lambda: call(pendulum())) == words


def at_rest(model: fm.Model) -> fm.Linearization:
    return fm.linearize(
        model,
        start=fm.statics(model),
        inputs=[("effort", "hinge")],
        outputs=[("coordinate", "hinge")],
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: fm.statics(m, load_steps=10**400), "load_steps: must be a whole number from 1 to 1000000, not 1000"),
        (lambda m: fm.statics(m, steady=np.array([1, 2])), "steady: must be True or False, not array([1, 2])"),
        (lambda m: fm.assemble(m, weights=np.array([1.0])), "initial.weights: must be a table, joint → number(s), not array"),
        (lambda m: fm.simulate(m, t_end=1.0, step=10**400), "GeneralizedAlpha: step: 1000000000"),
        (lambda m: fm.simulate(m, t_end=1.0, output_step=5e-324), "output_step: 5e-324 s gives inf outputs up to"),
        (lambda m: fm.simulate(m, t_end=1.0, coordinates=np.array([1.0, 2.0])), "coordinates: must be one of joint, absolute"),
        (lambda m: fm.quasi_static(m, [10**400]), "times: must be finite numbers that increase, in seconds"),
        (lambda m: fm.matrices(m, formalism=[]), "formalism: [] is not known; choose one of multiplier"),
        (lambda m: fm.matrices(m, coordinates=np.array([1.0, 2.0])), "coordinates: must be one of joint, absolute"),
        (lambda m: at_rest(m).response(1.0, inputs=3), "inputs: 3 is not a name; give one of: effort hinge"),
        (lambda m: at_rest(m).response(1.0, outputs=[None]), "outputs: None is not a name; give one of: coordinate hinge"),
        (lambda m: at_rest(m).response([1.0, 2.0]).deflection([1, 2]), "f: must be one frequency (Hz), not [1, 2]"),
        (lambda m: at_rest(m).response([1.0, 2.0]).deflection(None), "f: must be a list of numbers, not None"),
        (lambda m: at_rest(m).response([1.0]).derivative(np.array([1, 2])), "order: must be 1 or 2, not array([1, 2])"),
        (lambda m: at_rest(m).response([1.0]).unit(1.5, "effort hinge"), "output: 1.5 is not a name; give one of: coordinate"),
    ],
)  # fmt: skip
def test_argument_of_a_wrong_type_or_size(call: Callable[[fm.Model], Any], words: str) -> None:
    assert message(lambda: call(pendulum())).startswith(words)


@pytest.mark.parametrize("analysis", [fm.linearize, fm.matrices])
def test_a_state_of_another_model(analysis: Callable[..., Any]) -> None:
    told = message(lambda: analysis(pendulum(), start=fm.state(slider_crank(0.5))))
    assert (
        told
        == "start: it belongs to a model with other bodies or joints; use a state of this model"
    )


def test_accelerations_that_the_joints_do_not_allow() -> None:
    told = message(lambda: fm.state(slider_crank(0.5), acceleration={"main": 1.0, "guide": 1.0}))
    assert told.startswith("acceleration: the joints and drives do not allow these accelerations, ")
    assert told.endswith("; give accelerations of independent joints")


def test_progress_takes_the_fraction_and_a_text() -> None:
    for right in (lambda *given: None, lambda fraction, text="": None):
        fm.simulate(pendulum(), t_end=0.1, step=0.05, progress=right)
    for wrong in (lambda: None, lambda fraction: None):
        told = message(lambda: fm.simulate(pendulum(), t_end=0.1, progress=wrong))  # noqa: B023
        assert told.startswith(
            "progress: must be a function of the completed fraction and a text, not <function"
        )


def test_one_name_will_do() -> None:
    model = pendulum()
    assert (
        fm.linearize(model, independent="hinge").coordinates
        == fm.matrices(model, independent="hinge").independent
        == ("hinge.0",)
    )
    assert set(fm.inverse_dynamics(fm.state(model), actuators="hinge").effort) == {"hinge"}


def test_a_formalism_that_fails_at_states_of_the_first_run_is_a_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def indefinite(*given: object) -> None:
        raise fm.SolverError("mass matrix of body 'rod' is not definite")

    monkeypatch.setattr(
        importlib.import_module("flexmbs.studies.run.compare"), "evaluate", indefinite
    )
    (row,) = fm.compare(
        pendulum(),
        t_end=0.02,
        step=0.01,
        formalisms=["recursive"],
        integrators=["generalized-alpha"],
    ).rows
    assert row.outcome == "at states of the first run: mass matrix of body 'rod' is not definite"
