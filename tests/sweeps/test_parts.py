"""Parameters of parts: bodies as if reduced by hand, each once, whoever wants it; derivatives and
optima through reductions.
"""

import pathlib
import threading
import warnings
from collections import Counter
from typing import Any

import beams
import numpy as np
import pytest
from beams import TIP, body, write_part

import flexmbs as fm
import preprocess as pp
from flexmbs.__main__ import main
from flexmbs.studies.parameters.model_with_parts import BodiesInFolder, BodiesInMemory, FunctionPart
from flexmbs.studies.sweeps.study_file import read_study


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No second runs."""
    monkeypatch.setattr("flexmbs.audit.audit.second_run", lambda *_: [])


@pytest.fixture
def marks(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> pathlib.Path:
    """The folder with a mark for each reduction."""
    folder = tmp_path / "marks"
    folder.mkdir()
    monkeypatch.setenv("BEAM_MARKS", str(folder))
    return folder


def reductions(marks: pathlib.Path) -> Counter[str]:
    """Reductions by height."""
    return Counter(path.name.partition("-")[0] for path in marks.iterdir())


def by_hand(data: fm.FlexibleBodyData, q0: float = 0.0) -> float:
    """The output of a run with this body."""
    model = fm.Model("beam", run=beams.RUN)
    bar = model.add(fm.FlexibleBody("bar", data=data))
    model.add(fm.Revolute("hinge", model.ground, bar["root"], axis="y", q0=q0))
    return float(fm.simulate(model).frame("bar/tip").position[-1, 2])


def test_each_body_is_reduced_once_in_processes_and_after_a_restart(
    marks: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    both = fm.ModelWithParts(beams.model(), {"bar": body})
    axes: dict[str, Any] = {"parts.bar.height": [0.01, 0.02], "joints.hinge.q0": [0.0, 0.1, 0.2]}
    given = {"outputs": TIP, "folder": tmp_path / "s", "workers": 2}
    found = fm.sweep(both, axes, **given)
    assert len(found.verdict) == 6
    assert "failed" not in found.verdict  # truncated modes of the sudden start are findings
    assert reductions(marks) == {"0.01": 1, "0.02": 1}
    axes |= {"parts.bar.height": [0.01, 0.02, 0.03], "joints.hinge.q0": [0.0, 0.3]}
    more = fm.sweep(both, axes, resume=True, **given)
    assert reductions(marks) == {"0.01": 1, "0.02": 1, "0.03": 1}
    assert sorted(path.suffix for path in (tmp_path / "s" / "parts").iterdir()) == 3 * [".h5"]
    for k in range(len(more)):
        height, angle = (
            more.parameters["parts.bar.height"][k],
            more.parameters["joints.hinge.q0"][k],
        )
        assert more.outputs["tip"][k] == by_hand(body(height), angle)


def test_threads_wait_for_the_one_that_reduces(marks: pathlib.Path, tmp_path: pathlib.Path) -> None:
    for both in (
        fm.ModelWithParts(beams.model(), {"bar": body}),
        fm.ModelWithParts(beams.model(), {"bar": body}, folder=tmp_path / "p"),
    ):
        threads = [
            threading.Thread(target=both.made, args=({"parts.bar.height": 0.01 + 0.01 * (k % 2)},))
            for k in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert reductions(marks) == {"0.01": 2, "0.02": 2}  # in memory and in the folder


def test_a_body_is_known_before_others_may_go_on() -> None:
    """Threads that wait go on at once when they may, here as
    the lock of the first one is released.
    """
    bodies, made, released = BodiesInMemory(), [], []

    class Slow:
        def digest(self) -> str:
            return "the same"

        def body(self) -> fm.FlexibleBodyData:
            made.append(1)
            return body(0.01)

    class Lock:
        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None:
            released.append(1)
            if len(released) == 1:
                bodies.place(Slow())

    bodies.locks["the same"] = Lock()
    bodies.place(Slow())
    assert (len(made), len(released)) == (1, 2)


def test_a_changed_file_that_a_function_reads_is_another_body(tmp_path: pathlib.Path) -> None:
    lengths = tmp_path / "length.txt"

    def read(height: float = 0.02) -> fm.FlexibleBodyData:
        return body(height * float(lengths.read_text()))

    both, masses = fm.ModelWithParts(beams.model(), {"bar": read}, folder=tmp_path / "p"), []
    for factor in ("1", "2", "1"):
        lengths.write_text(factor)
        masses.append(fm.FlexibleBodyData.load(both.made({}).bodies["bar"].file).mass)
    assert masses == pytest.approx([masses[0], 2.0 * masses[0], masses[0]])


def test_keys_of_a_part_file(tmp_path: pathlib.Path) -> None:
    part = pp.read_part(write_part(tmp_path))
    both = fm.ModelWithParts(beams.model, {"bar": part}, folder=tmp_path / "p")
    assert fm.parameters(both)["parts.bar.material.rho"] == 7850.0
    axes = {"parts.bar.material.E": [1e9, 2.1e9], "q0": [0.0, 0.1]}
    found = fm.sweep(both, axes, outputs=TIP, executor="threads")
    for k in range(4):
        E, angle = (found.parameters[name][k] for name in axes)
        assert found.outputs["tip"][k] == by_hand(part.changed({"material.E": E}).reduce(), angle)
    assert len(list((tmp_path / "p").iterdir())) == 2
    assert part.changed({"interfaces.tip.plane.point.x": 0.2}).document.table["interfaces"]["tip"][
        "plane"
    ]["point"] == [
        0.2,
        0,
        0,
    ]
    assert part.document.table["interfaces"]["tip"]["plane"]["point"] == [0.4, 0, 0]


def test_other_contents_of_a_part_are_another_sweep(tmp_path: pathlib.Path) -> None:
    path = write_part(tmp_path)
    given: dict[str, Any] = {"outputs": TIP, "executor": "threads", "folder": tmp_path / "s"}
    axes = {"parts.bar.material.E": [1e9]}
    fm.sweep(fm.ModelWithParts(beams.model(), {"bar": pp.read_part(path)}), axes, **given)
    path.write_text(path.read_text().replace("damping = 0.01", "damping = 0.02"))
    with pytest.raises(fm.InputError, match="part 'bar' was"):
        fm.sweep(
            fm.ModelWithParts(beams.model(), {"bar": pp.read_part(path)}),
            axes,
            resume=True,
            **given,
        )


def test_a_reduction_that_fails_is_the_failure_of_its_cases() -> None:
    both, heights = (
        fm.ModelWithParts(beams.model(), {"bar": body}),
        {"parts.bar.height": [0.02, -0.01]},
    )
    with pytest.warns(fm.AuditWarning, match="of 2 cases 1 failed"):
        found = fm.sweep(both, heights, outputs=TIP, executor="threads")
    assert found.verdict[0] != "failed"
    assert found.verdict[1] == "failed"
    assert found.failure[1].startswith("parts.bar: size: (0.4, 0.02, -0.01) is not a box")


def test_derivatives_by_scaling_laws(tmp_path: pathlib.Path) -> None:
    """Motions under gravity depend on E/ρ: E ∂y/∂E = −ρ ∂y/∂ρ; and the function and the file are
    the same part.
    """
    part = pp.read_part(write_part(tmp_path))
    by_file = fm.ModelWithParts(beams.model(), {"bar": part})
    found = fm.sensitivities(
        by_file, ["parts.bar.material.E", "parts.bar.material.rho"], TIP, run=beams.RUN
    )
    assert found.relative[0, 0] != 0.0
    assert found.relative[0, 0] == pytest.approx(-found.relative[0, 1], rel=1e-6)
    by_function = fm.ModelWithParts(beams.model(), {"bar": body})
    same = fm.sensitivities(by_function, ["parts.bar.E"], TIP, run=beams.RUN)
    assert same.gradient[0, 0] == pytest.approx(found.gradient[0, 0], rel=1e-6)


@pytest.mark.parametrize("given", ["part", "function"])
def test_the_modulus_of_a_part_is_identified(given: str) -> None:
    """Of a square bar, whose modes of equal frequency turn from one reduction to the next: tangents
    of its states have no meaning, and the search stayed where it began."""
    model, run = beams.model(), fm.Run(t_end=0.02, step=1e-3)

    def built(E: float) -> fm.Model:
        made = beams.model()
        made.bodies["bar"] = fm.FlexibleBody("bar", data=body(E=E))
        return made

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fm.AuditWarning)
        solution = fm.simulate(built(2.1e9), t_end=0.02, step=1e-3)
        measured = {
            "frame bar/tip position z [m]": (solution.t, solution.frame("bar/tip").position[:, 2])
        }
        whole, name = (
            (fm.ModelWithParts(model, {"bar": body}), "parts.bar.E")
            if given == "part"
            else (built, "E")
        )
        found = fm.identify(whole, {name: 1.9e9}, measured, run=run)
    assert found.values == pytest.approx([2.1e9], rel=1e-5)


def mass(solution: fm.Solution) -> float:
    """Of the beam, kg."""
    return float(solution.model.bodies["bar"].load().mass)


def test_an_optimum_over_a_part() -> None:
    """The lightest clamped beam that sags no more than one of 15 mm is that one."""
    model = fm.Model(
        "cantilever", run=fm.Run(t_end=0.08, integrator="dormand-prince", output_step=5e-4)
    )
    model.add(fm.Fixed("clamp", model.ground, model.add(fm.FlexibleBody("bar", "bar.h5"))["root"]))
    both = fm.ModelWithParts(model, {"bar": body})
    lowest = "min frame bar/tip position z"
    allowed = fm.sensitivities(both, {"parts.bar.height": 0.015}, lowest).values[0]
    found = fm.optimize(
        both,
        {"parts.bar.height": 0.02},
        mass,
        bounds={"parts.bar.height": (0.01, 0.03)},
        limits={lowest: (allowed, None)},
    )
    np.testing.assert_allclose(found.values, [0.015], rtol=1e-6)
    assert found.results[0] == pytest.approx(7850.0 * 0.4 * 0.02 * 0.015)


def test_the_study_file(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_part(tmp_path)
    model = beams.model()
    model.bodies["bar"] = fm.FlexibleBody("bar", str(tmp_path / "bar.h5"))
    model.save(tmp_path / "beam.toml")
    study = tmp_path / "study.toml"
    study.write_text(
        'format = "flexmbs-sweep/1"\nmodel = "beam.toml"\nparts.bar = "bar.toml"\n'
        "parameters.parts.bar.material.E = { low = 1e9, high = 2e9, count = 2 }\n"
        'outputs.tip = "last frame bar/tip position z"\n',
        encoding="utf-8",
    )
    assert read_study(study).parts == {"bar": tmp_path / "bar.toml"}
    with pytest.raises(SystemExit) as ended:
        main(["sweep", str(study), "--threads"])
    assert ended.value.code == 0, capsys.readouterr().err
    part = pp.read_part(tmp_path / "bar.toml")
    expected = [by_hand(part.changed({"material.E": E}).reduce()) for E in (1e9, 2e9)]
    assert fm.SweepResult.load(tmp_path / "study").outputs["tip"].tolist() == expected
    study.write_text(study.read_text().replace("bar.toml", "beams:body").replace("material.E", "E"))
    with pytest.raises(
        fm.InputError, match=r"study\.toml:3: parts\.bar: 'beams:body' is code and is not imported"
    ):
        read_study(study)
    assert read_study(study, allow_code=True).parts == {"bar": body}
    study.write_text(study.read_text().replace('"beams:body"', '"../bar.toml"'))
    with pytest.raises(
        fm.InputError,
        match=r"study\.toml:3: parts\.bar: '\.\./bar\.toml' is not inside the study's folder",
    ):
        read_study(study)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "part": (
        {"parts.lever.height": [1.0]},
        "parts.lever.height: names no part and parameter; known: bar",
    ),
    "argument": (
        {"parts.bar.width": [1.0]},
        "parts.bar: parts: body(width): got an unexpected keyword argument 'width'",
    ),
    "whole": ({"parts.bar": [1.0]}, "parts.bar: names no part and parameter"),
    "path": ({"joints.hinge.q1": [1.0]}, "joints.hinge.q1: 'q1' is not in joints.hinge"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_parameter_is_named_before_any_reduction(what: str, marks: pathlib.Path) -> None:
    axes, text = WRONG[what]
    with pytest.raises(fm.InputError) as error:
        fm.sweep(
            fm.ModelWithParts(beams.model(), {"bar": body}), axes, outputs=TIP, executor="threads"
        )
    assert text in str(error.value)
    assert not list(marks.iterdir())


def test_wrong_parts(tmp_path: pathlib.Path) -> None:
    with pytest.raises(
        fm.InputError,
        match=r"parts\.bar: 3 is not a part; give preprocess\.read_part\('bar\.toml'\), or",
    ):
        fm.ModelWithParts(beams.model(), {"bar": 3})  # type: ignore[dict-item]
    with pytest.raises(fm.InputError, match="parts: give at least one by its name"):
        fm.ModelWithParts(beams.model(), {})
    with pytest.raises(
        fm.InputError,
        match=r"parts\.wheel: no flexible body of the model has this part; known: bar",
    ):
        fm.ModelWithParts(beams.model(), {"wheel": body}).made({})
    with pytest.raises(
        fm.InputError, match=r"parts\.bar: the function gave 3; it must give a flexible body"
    ):
        fm.ModelWithParts(beams.model(), {"bar": lambda: 3}).made({})  # type: ignore[dict-item, return-value]
    with pytest.raises(
        fm.InputError,
        match=r"parts\.bar\.heigth: is not a number of the part; did you mean 'parts\.bar\.height'",
    ):
        fm.sensitivities(
            fm.ModelWithParts(beams.model(), {"bar": body}),
            ["parts.bar.heigth"],
            TIP,
            run=beams.RUN,
        )
    part = pp.read_part(write_part(tmp_path))
    with pytest.raises(
        fm.InputError, match=r"parts\.bar: .*bar\.toml:8: material\.nu: nu = 0\.7 is outside"
    ):
        fm.ModelWithParts(beams.model(), {"bar": part}).made({"parts.bar.material.nu": 0.7})
    with pytest.raises(
        fm.InputError, match=r"parts\.bar: material\.E\.x: 'x' is not in 2100000000\.0"
    ):
        fm.ModelWithParts(beams.model(), {"bar": part}).made({"parts.bar.material.E.x": 0.7})


def test_a_body_by_its_name_where_no_file_has_it(tmp_path: pathlib.Path) -> None:
    model = fm.Model("two")
    for name in ("left", "right"):
        model.add(
            fm.Fixed(
                f"clamp {name}", model.ground, model.add(fm.FlexibleBody(name, "bar.h5"))["root"]
            )
        )
    alone = fm.ModelWithParts(model, {"left": body}).made({"parts.left.height": 0.01})
    assert alone.bodies["left"].load().mass == pytest.approx(7850.0 * 0.4 * 0.02 * 0.01)
    assert alone.bodies["right"].file == model.bodies["right"].file
    both = fm.ModelWithParts(model, {"bar": body}).made({"parts.bar.height": 0.01})
    assert both.bodies["left"].data is both.bodies["right"].data


def test_a_digest_follows_the_function_and_its_values(tmp_path: pathlib.Path) -> None:
    part = FunctionPart(body)
    assert part.digest() == FunctionPart(body).digest()
    assert part.digest() != part.changed({"height": 0.03}).digest()
    assert part.digest() != FunctionPart(lambda height=0.02, E=2.1e9: body(height, E)).digest()
    place = BodiesInFolder(tmp_path / "p").place(part)
    assert pathlib.Path(place["file"]).name == f"{part.digest()}.h5"
