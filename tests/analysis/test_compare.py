"""One model under all formalisms: the rows agree, wrong input is named, a run that stops is a row
with its outcome.
"""

import io
import json
import re

import numpy as np
import pytest

import flexmbs as fm
from flexmbs.__main__ import main
from flexmbs.console import progress_bar
from flexmbs.formalisms import FORMALISMS
from flexmbs.studies.run.compare import INTEGRATORS_COMPARED

BAR = {"mass": 1.0, "inertia": (1e-4, 0.02, 0.02)}


def slider_crank() -> fm.Model:
    """A crank of 0.2 m at 10 rad/s, a rod of 0.5 m on a Cardan joint and a ball, a slider with a
    spring to the ground.
    """
    model = fm.Model("slider-crank", gravity=(0.0, 0.0, -9.81), frames={"guide": (0.0, 0.0, 0.0)})
    crank = model.add(
        fm.RigidBody("crank", com=(0.1, 0.0, 0.0), frames={"pin": (0.2, 0.0, 0.0)}, **BAR)
    )
    rod = model.add(
        fm.RigidBody("rod", com=(0.25, 0.0, 0.0), frames={"end": (0.5, 0.0, 0.0)}, **BAR)
    )
    slider = model.add(fm.RigidBody("slider", mass=0.5, inertia=(1e-3, 1e-3, 1e-3)))
    model.add(fm.Revolute("main", model.ground, crank, axis="y", q0=-0.7, v0=10.0))
    model.add(fm.Universal("pin", crank["pin"], rod, axes=("y", "z"), q0=(0.7 + 0.26, 0.0)))
    model.add(fm.Spherical("wrist", rod["end"], slider))
    model.add(fm.Prismatic("guide", model.ground["guide"], slider, axis="x", q0=0.63))
    model.add(fm.PointSpring("spring", model.ground["guide"], slider, k=50.0, c=1.0, length=0.5))
    return model


def test_all_formalisms_agree_on_accelerations_reactions_and_motion() -> None:
    found = fm.compare(slider_crank(), t_end=0.2, integrators=("dormand-prince",))
    assert {row.formalism for row in found.rows} == set(FORMALISMS)
    assert {(row.formalism, row.coordinates) for row in found.rows} == {
        (name, coordinates)
        for name, form in FORMALISMS.items()
        for coordinates in form.coordinates
        if coordinates != "rheonomic"
    }  # without drives, rheonomic coordinates are joint coordinates
    assert found.finished
    for row in found.rows:
        assert row.accelerations < 1e-9, row
        assert row.reactions < 1e-9, row
        assert row.positions < 1e-5, row
        assert row.energy < 1e-5, row
        assert row.steps > 0
        assert row.evaluations > row.steps
        assert row.seconds > 0.0
    assert f"{len(found.rows)} runs: accelerations agree" in str(found)


def test_explicit_runs_of_a_stiff_model_end_early_and_say_so() -> None:
    """A weight on a hard damper: explicit steps are limited to 3.3/λ, λ = c/m = 1e5 1/s, 30,000 of
    them in a second.
    """
    model = fm.Model("stiff", gravity=(0.0, 0.0, -9.81))
    rail = model.add(
        fm.Prismatic(
            "rail",
            model.ground,
            model.add(fm.RigidBody("weight", mass=1.0, inertia=(1.0, 1.0, 1.0))),
            axis="z",
        )
    )
    model.add(fm.JointSpring("damper", rail, k=1e4, c=1e5))
    found = fm.compare(model, t_end=1.0, formalisms=["multiplier", "embedding"])
    implicit, explicit = (
        [row for row in found.rows if row.integrator == name] for name in INTEGRATORS_COMPARED
    )
    assert all(row.t_end == 1.0 for row in implicit)
    assert len(explicit) >= 2
    for row in explicit:
        assert 0.02 < row.t_end < 0.2
        assert row.steps < 4000
        assert row.solution.t[-1] == pytest.approx(row.t_end)  # type: ignore[union-attr]
        assert row.positions < 1e-4
    assert found.finished
    assert f"dormand-prince up to t = {explicit[0].t_end:.3g} s only" in str(found)
    whole = fm.compare(model, t_end=0.1, formalisms=["multiplier"], integrators=["dormand-prince"])
    assert [row.t_end for row in whole.rows] == [0.1, 0.1]
    assert "only" not in str(whole)


def test_command_prints_rows_and_takes_its_end_time_from_the_model(tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "crank.toml"
    path.write_text(slider_crank().to_toml() + "\n[run]\nt_end = 0.02\n")
    with pytest.raises(SystemExit) as stopped:
        main(["compare", str(path), "--formalism", "multiplier", "--json"])
    assert stopped.value.code == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["integrator"] for row in found["rows"]] == [
        "generalized-alpha",
        "dormand-prince",
    ] * 2
    assert all(row["outcome"] == "finished" for row in found["rows"])


def rod_on_a_hinge() -> fm.Model:
    """The frame of the rod lies on its hinge: it turns and does not move."""
    model = fm.Model("pendulum")
    rod = model.add(fm.RigidBody("rod", mass=3.0, com=(0, 0, -0.5), inertia=(0.25, 0.25, 0.001)))
    model.add(fm.Revolute("hinge", model.ground, rod, axis="y", q0=0.1))
    return model


def test_lines_come_with_the_runs_and_are_those_of_the_table() -> None:
    """Each row before the next run begins; the default runs the implicit integrator with one
    formalism, names all with all.
    """
    seen: list[str] = []
    found = fm.compare(
        rod_on_a_hinge(),
        t_end=0.02,
        step=0.01,
        progress=lambda _, run: seen.append(f"begins {run}"),
        tell=seen.append,
    )
    assert [
        (row.formalism, row.coordinates)
        for row in found.rows
        if row.integrator == "generalized-alpha"
    ] == [
        ("multiplier", "joint"),
        ("multiplier", "absolute"),
    ]
    assert {row.formalism for row in found.rows if row.integrator == "dormand-prince"} == set(
        FORMALISMS
    )
    lines = [line for text in seen if not text.startswith("begins") for line in text.splitlines()]
    assert lines == str(found).splitlines()[: len(lines)]
    assert len(lines) == 1 + len(found.rows)
    starts = [k for k, text in enumerate(seen) if text.startswith("begins")]
    assert starts == list(range(0, len(seen), 2)), "a row between two runs"
    places = [head.start() for head in re.finditer(r"\S+( \S+)*", lines[0])]
    assert all(
        line[at] != " " and line[at - 2 : at] == "  " for line in lines for at in places[1:]
    ), "columns are aligned"
    everything = fm.compare(
        rod_on_a_hinge(), t_end=0.02, step=0.01, integrators=INTEGRATORS_COMPARED
    )
    implicit = {row.formalism for row in everything.rows if row.integrator == "generalized-alpha"}
    assert implicit == {"multiplier", "recursive"}
    rest = fm.compare(
        rod_on_a_hinge(), t_end=0.02, step=0.01, formalisms=["embedding", "recursive"]
    )
    assert [row.formalism for row in rest.rows if row.integrator == "generalized-alpha"] == [
        "recursive"
    ]


def test_turning_bodies_that_do_not_move_are_compared() -> None:
    """A step of a tenth of a period and a fine one give different angles, not different places of
    the hinge.
    """
    found = fm.compare(rod_on_a_hinge(), t_end=0.5, step=0.05, formalisms=["multiplier"])
    assert 1e-4 < max(row.positions for row in found.rows) < 1e-1


def test_results_go_to_stdout_while_a_bar_is_on_the_terminal(monkeypatch, capsys) -> None:  # type: ignore[no-untyped-def]
    terminal = io.StringIO()
    monkeypatch.setattr(
        progress_bar, "messages", progress_bar.Console(file=terminal, force_terminal=True, width=80)
    )
    long = "a row of the table " * 10
    with progress_bar.bar_on_terminal("at work", memory=False) as progress:
        for k in range(3):
            progress(k / 3, "at work")
            progress.put(f"{k} {long}")
            assert capsys.readouterr().out == f"{k} {long}\n"
    assert "row" not in terminal.getvalue()
    assert terminal.getvalue().count("at work") >= 3


def test_unknown_names_are_reported() -> None:
    with pytest.raises(fm.InputError, match="integrators: unknown 'euler'; known: dormand-prince"):
        fm.compare(slider_crank(), t_end=0.1, integrators=("euler",))
    with pytest.raises(
        fm.InputError, match="tell: must be a function of a line of text, not 'print'"
    ):
        fm.compare(slider_crank(), t_end=0.1, tell="print")  # type: ignore[arg-type]
    with pytest.raises(
        fm.InputError, match="formalism: unknown 'magic'; known: embedding, multiplier"
    ):
        fm.compare(slider_crank(), t_end=0.1, formalisms=("magic",))


def test_a_run_that_stops_is_a_row_that_says_so() -> None:
    model = slider_crank()

    def push(t: float, x: float, v: float) -> float:
        return float("nan") if t > 0.01 else 0.0

    model.add(fm.JointTorque("push", "main", fm.Function(push)))
    found = fm.compare(
        model, t_end=0.02, formalisms=("multiplier",), integrators=("dormand-prince",)
    )
    assert not found.finished
    assert all(row.outcome.startswith("stopped at t = 0.0") for row in found.rows)
    assert "stopped at t" in found.verdict


def test_a_massless_body_moves_alike_in_all_coordinates() -> None:
    """The cross of a universal joint has no mass: it keeps its joint in absolute coordinates, and
    so does the bar on it.
    """
    model = fm.Model("pendulum on a cross", gravity=(0.0, 0.0, -9.81))
    cross = model.add(fm.RigidBody("cross", mass=0.0, inertia=(0.0, 0.0, 0.0)))
    bar = model.add(fm.RigidBody("bar", com=(0.2, 0.0, 0.0), **BAR))
    model.add(fm.Revolute("first", model.ground, cross, axis="y", q0=0.3))
    model.add(fm.Revolute("second", cross, bar, axis="z", q0=0.2, v0=1.0))
    found = fm.compare(
        model, t_end=0.02, formalisms=["multiplier", "recursive"], integrators=["dormand-prince"]
    )
    assert [(row.coordinates, row.finished) for row in found.rows] == [
        ("joint", True),
        ("absolute", True),
        ("joint", True),
    ]
    assert found.agreement < 1e-12
    massless = fm.Model("dust")
    massless.add(
        fm.Revolute(
            "hinge",
            massless.ground,
            massless.add(fm.RigidBody("dust", mass=0.0, inertia=(0.0, 0.0, 0.0))),
        )
    )
    with pytest.raises(fm.InputError, match="dust"):
        fm.compare(massless, t_end=0.02, formalisms=["recursive"], integrators=["dormand-prince"])


def test_round_off_of_a_model_at_rest_is_no_difference() -> None:
    """A body fixed by its joint: accelerations are zero, differences count against gravity and
    weight.
    """
    model = fm.Model("shelf", gravity=(0.0, 0.0, -9.81))
    model.add(
        fm.Fixed("wall", model.ground, model.add(fm.RigidBody("shelf", com=(0.2, 0.0, 0.0), **BAR)))
    )
    found = fm.compare(
        model, t_end=0.02, formalisms=["multiplier", "recursive"], integrators=["dormand-prince"]
    )
    assert found.finished
    assert found.agreement < 1e-12
    assert all(row.reactions < 1e-12 for row in found.rows)


@pytest.mark.parametrize("key", ["formalisms", "integrators"])
def test_one_name_is_no_list(key: str) -> None:
    with pytest.raises(fm.InputError, match=f"{key}: 'esdirk' is not a list; put it in brackets"):
        fm.compare(slider_crank(), t_end=0.1, **{key: "esdirk"})
    with pytest.raises(fm.InputError, match="formalism: Recursive is a class; give an instance"):
        fm.compare(slider_crank(), t_end=0.1, formalisms=[fm.Recursive])


def test_no_reaction_is_unique_and_none_is_compared() -> None:
    """Two bars that constrain a body redundantly: no reaction is unique, and none is compared."""
    model = fm.Model("twice held", frames={"far": (1.0, 0.0, 0.0)})
    table = model.add(
        fm.RigidBody("table", mass=1.0, inertia=(1.0, 1.0, 1.0), frames={"far": (1.0, 0.0, 0.0)})
    )
    model.add(fm.Prismatic("near rail", model.ground, table))
    model.add(fm.Prismatic("far rail", model.ground["far"], table["far"]))
    found = fm.compare(
        model,
        t_end=0.01,
        step=0.005,
        formalisms=["multiplier", "recursive"],
        integrators=["generalized-alpha"],
    )
    assert all(np.isnan(row.reactions) for row in found.rows)
    assert found.agreement < 1e-9
