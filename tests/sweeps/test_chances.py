"""Sobol indices and probabilities of failure against closed forms."""

import math
import pathlib
from typing import Any

import numpy as np
import pytest
from chances import A, B, energy, ishigami, thrown
from scipy.special import ndtr

import flexmbs as fm
from flexmbs.__main__ import main
from flexmbs.studies.sweeps.reliability import estimate
from flexmbs.studies.sweeps.study_file import read_study
from flexmbs.studies.sweeps.sweep import sweep as run_sweep

pytest.importorskip("SALib")
FIELD = {f"gravity.{axis}": fm.Range(-math.pi, math.pi) for axis in "xyz"}
END = {"end": "last body stone position z"}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No audit of thousands of runs."""
    monkeypatch.setattr("flexmbs.studies.run.simulate.audited", lambda *_: ())


def sweep(parameters: dict[str, Any], **options: Any) -> fm.SweepResult:
    return fm.sweep(thrown(), parameters, executor="threads", **options)


def test_the_function_of_ishigami() -> None:
    """V = A²/8 + B π⁴/5 + B² π⁸/18 + 1/2. Source: Ishigami and Homma, ISUMA '90 (1990) 398."""
    result = sweep(FIELD, outputs={"y": ishigami}, design=fm.Saltelli(count=128))
    assert len(result) == 128 * 5
    found = fm.sobol_indices(result, confidence=0.999)
    V = A * A / 8.0 + B * math.pi**4 / 5.0 + B * B * math.pi**8 / 18.0 + 0.5
    alone = np.array([0.5 * (1.0 + B * math.pi**4 / 5.0) ** 2, A * A / 8.0, 0.0]) / V
    both = 8.0 * B * B * math.pi**8 / 225.0 / V
    for values, errors, expected in (
        (found.first[0], found.first_error[0], alone),
        (found.total[0], found.total_error[0], alone + [both, 0.0, both]),
    ):
        assert (np.abs(values - expected) <= errors).all(), (values, errors, expected)
        assert (errors < 0.6).all()
    assert str(found).splitlines()[1].split()[:2] == ["y", "gravity.x"]
    assert found.rows()[1][:3] == ("y", "gravity.y", found.first[0, 1])


def test_the_energy_of_a_fall() -> None:
    """½ m v², a product of independent factors: with ν = σ²/μ² of each S_i = ν_i/(Π(1 + ν) − 1),
    T_i = S_i Π_{others}(1 + ν).
    """
    mean, deviation = 10.0, 1.0
    parameters = {"bodies.stone.mass": fm.Range(1.0, 3.0), "gravity.z": fm.Normal(-mean, deviation)}
    result = sweep(
        parameters,
        outputs={"energy": energy, "mass": lambda each: each.model.bodies["stone"].mass},
        design=fm.Saltelli(count=64),
    )
    found = fm.sobol_indices(result, confidence=0.999)
    square, variance = mean**2 + deviation**2, 4.0 * mean**2 * deviation**2 + 2.0 * deviation**4
    nu = np.array([(1.0 / 3.0) / 4.0, variance / square**2])
    V = np.prod(1.0 + nu) - 1.0
    assert (np.abs(found.first[0] - nu / V) <= found.first_error[0]).all()
    assert (np.abs(found.total[0] - nu * (1.0 + nu[::-1]) / V) <= found.total_error[0]).all()
    assert (found.total_error < 0.5).all()
    np.testing.assert_allclose(found.total[1], [1.0, 0.0], atol=0.1)


def test_what_has_no_indices() -> None:
    with pytest.raises(fm.InputError, match="result: 3 is not a result of a sweep"):
        fm.sobol_indices(3)  # type: ignore[arg-type]
    with pytest.raises(fm.InputError, match="result: has other cases than a design Saltelli"):
        fm.sobol_indices(sweep(FIELD, outputs=END, design=fm.Sobol(count=16)))
    design = fm.Saltelli(count=4)
    with pytest.raises(
        fm.InputError,
        match="result: output 'y' is 1 in all cases; no parameter has an effect on it",
    ):
        fm.sobol_indices(sweep(FIELD, outputs={"y": lambda solution: 1.0}, design=design))
    with pytest.raises(
        fm.InputError,
        match=r"result: its design Saltelli has a count of 4, too few .*; take 8 or more",
    ):
        fm.sobol_indices(sweep(FIELD, outputs=END, design=design))
    with pytest.raises(fm.InputError, match="confidence: must be within 0 … 1, not 95"):
        fm.sobol_indices(sweep(FIELD, outputs=END, design=design), confidence=95)

    def some(solution: fm.Solution) -> float:
        return math.sqrt(float(solution.body("stone").velocity[-1, 0]))

    with pytest.warns(fm.AuditWarning):
        failing = sweep(FIELD, outputs={"y": some}, design=design)
    with pytest.raises(
        fm.InputError, match=r"result: \d+ of 20 cases have no outputs, case \d+: ValueError"
    ):
        fm.sobol_indices(failing)


def test_distributions() -> None:
    """Quantiles of equidistant u: mean, deviation and median; a grid has none."""
    u = (np.arange(2000) + 0.5) / 2000
    normal = np.array([fm.Normal(3.0, 0.5).at(each) for each in u])
    assert (normal.mean(), normal.std()) == pytest.approx((3.0, 0.5), rel=1e-2)
    logs = np.log([fm.LogNormal(3.0, 0.5).at(each) for each in u])
    assert (logs.mean(), logs.std()) == pytest.approx((math.log(3.0), 0.5), rel=1e-2)
    assert np.isfinite([fm.Normal(0.0, 1.0).at(0.0), fm.Normal(0.0, 1.0).at(1.0)]).all()
    few, many = (
        fm.MonteCarlo(count=count, seed=2).points({"a": fm.Normal(0.0, 1.0), "b": (1, 2)})
        for count in (3, 9)
    )
    assert many[:3] == few
    with pytest.raises(
        fm.InputError, match=r"parameters\.a: a grid takes no distribution; give a list"
    ):
        fm.Grid().points({"a": fm.Normal(0.0, 1.0)})
    with pytest.raises(fm.InputError, match=r"Normal\.deviation: must be > 0"):
        fm.Normal(0.0, 0.0)
    assert fm.LogNormal(1e59, 0.1).at(1.0) < np.inf
    for kind, mean, deviation in ((fm.LogNormal, 1.0, 100.0), (fm.LogNormal, 1e-59, 80.0)):
        with pytest.raises(
            fm.InputError,
            match=rf"{kind.__name__}\.deviation: is .*, for which no float has the values",
        ):
            kind(mean, deviation)
    with pytest.raises(fm.InputError, match=r"Saltelli\.seed: must be at least 1, not 0"):
        fm.Saltelli(count=4, seed=0)


@pytest.mark.parametrize("p, error", [(0.3, 0.2), (0.01, 0.1)])
def test_the_estimate_has_the_wanted_error(p: float, error: float) -> None:
    """Of 2000 trials: no bias, the wanted deviation, true
    probabilities in 95 % of the intervals.
    """
    rng, wanted = np.random.default_rng(0), 2 + math.ceil(1.0 / error**2)
    trials = []
    for _ in range(2000):
        at = rng.geometric(p, size=wanted).cumsum() - 1
        trials.append(estimate(np.isin(np.arange(at[-1] + 7), at), wanted, 0.95))
    values = np.array([trial.probability for trial in trials])
    assert values.mean() == pytest.approx(p, rel=4.0 * error / math.sqrt(2000))
    assert values.std() / p < error * (1.0 + 4.0 / math.sqrt(2 * 2000))
    assert 0.93 < np.mean([trial.low <= p <= trial.high for trial in trials]) < 0.97
    assert all(trial.reached for trial in trials)


def test_a_probability_of_too_deep_a_fall() -> None:
    """z = −g/2 after 1 s, g ~ N(10, 1): P(z < −5.6) = Φ(−1.2), as many cases as the error needs."""
    p = float(ndtr(-1.2))
    given: dict[str, Any] = {"outputs": END, "limits": {"end": (-5.6, None)}, "executor": "threads"}
    found = fm.reliability(
        thrown(), {"gravity.z": fm.Normal(-10.0, 1.0)}, error=0.2, confidence=0.999, **given
    )
    assert found.interval[0] < p < found.interval[1]
    assert found.error == pytest.approx(math.sqrt((1.0 - found.probability) / 25))
    assert found.error < 0.2
    assert (found.failures, found.notes) == (27, ())
    assert 27 / p * 0.4 < found.cases < 27 / p * 2.0
    assert found.by_output == {"end": 27}
    deepest = found.result.outputs["end"][: found.cases]
    assert (deepest < -5.6).sum() == 27
    assert deepest[-1] < -5.6
    assert str(found).startswith(f"probability {found.probability:.4g}, within")


def test_too_few_failures_are_told() -> None:
    given: dict[str, Any] = {
        "outputs": END,
        "limits": {"end": (-9.0, None)},
        "executor": "threads",
        "most": 100,
    }
    with pytest.warns(
        fm.ModelWarning,
        match="reliability: the wanted error is not reached: 0 failures in 100 cases",
    ):
        found = fm.reliability(thrown(), {"gravity.z": fm.Normal(-10.0, 1.0)}, **given)
    assert (found.probability, found.interval[0], found.cases, found.error) == (
        0.0,
        0.0,
        100,
        math.inf,
    )
    assert found.interval[1] == pytest.approx(1.0 - 0.025 ** (1 / 100))


def test_cases_without_outputs_count_as_failed() -> None:
    def some(solution: fm.Solution) -> float:
        return math.sqrt(float(solution.body("stone").velocity[-1, 2]))

    given: dict[str, Any] = {
        "outputs": {"y": some},
        "limits": {"y": (0.0, None)},
        "executor": "threads",
    }
    with pytest.warns(fm.ModelWarning, match="cases have no outputs and count as failed"):
        found = fm.reliability(
            thrown(), {"gravity.z": fm.Range(-1.0, 3.0)}, error=0.3, confidence=0.999, **given
        )
    assert found.interval[0] < 0.25 < found.interval[1]


@pytest.mark.parametrize("seed", range(6))
def test_a_first_case_that_is_not_possible_counts_as_failed(seed: int) -> None:
    """As any other one does: a third of the masses is negative, the first one with some seeds."""
    given: dict[str, Any] = {
        "outputs": {"end": "last body stone position z"},
        "limits": {"end": (-9.0, None)},
    }
    given |= {"error": 0.3, "seed": seed, "executor": "threads"}
    with pytest.warns(fm.ModelWarning, match="have no outputs and count as failed"):
        found = fm.reliability(thrown(), {"bodies.stone.mass": fm.Normal(0.3, 0.7)}, **given)
    assert (
        found.failures
        == found.by_output["end"]
        == sum(map(bool, found.result.failure[: found.cases]))
        == 14
    )
    assert (
        found.result.parameters["bodies.stone.mass"][: found.cases] <= 0.0
    ).sum() == found.failures


def test_rounds_run_no_case_again(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each round begins with the cases of the one before;
    another call with the folder runs none.
    """
    sizes: list[int] = []

    def counted(*arguments: Any, **options: Any) -> fm.SweepResult:
        result = run_sweep(*arguments, **options)
        sizes.append(len(result))
        return result

    monkeypatch.setattr("flexmbs.studies.sweeps.reliability.sweep", counted)
    given: dict[str, Any] = {
        "outputs": END,
        "limits": {"end": (-5.6, None)},
        "executor": "threads",
        "folder": tmp_path / "r",
    }
    first = fm.reliability(thrown(), {"gravity.z": fm.Normal(-10.0, 1.0)}, error=0.2, **given)
    assert len(sizes) > 1
    again = fm.reliability(
        thrown(), {"gravity.z": fm.Normal(-10.0, 1.0)}, error=0.2, resume=True, **given
    )
    assert again.probability == first.probability
    assert again.result.seconds.tolist() == first.result.seconds.tolist()
    assert again.result.case[: sizes[0]] == first.result.case[: sizes[0]]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "values": (
        {"parameters": {"gravity.z": [1.0, 2.0]}},
        "parameters.gravity.z: needs a distribution; give fm.Normal",
    ),
    "limit": (
        {"limits": {"ende": (0.0, None)}},
        "limits: 'ende' is not among the outputs; did you mean 'end'?",
    ),
    "limits": ({"limits": {}}, "limits: give at least one"),
    "no limit": (
        {"limits": {"end": (None, None)}},
        "limits.end: every value is within them; give a lower or an upper one",
    ),
    "error": ({"error": 0.0}, "error: must be within 0 … 1, not 0"),
    "confidence": ({"confidence": 1.0}, "confidence: must be within 0 … 1, not 1"),
    "most": ({"most": 0}, "most: must be"),
    "parameter": (
        {"parameters": {"gravity.w": fm.Normal(1.0, 1.0)}},
        "gravity.w: 'w' is not in gravity",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_argument_is_named(what: str) -> None:
    changes, text = WRONG[what]
    given: dict[str, Any] = {
        "parameters": {"gravity.z": fm.Normal(-10.0, 1.0)},
        "outputs": END,
        "limits": {"end": (-6.0, None)},
    }
    given |= changes
    with pytest.raises(fm.InputError) as error:
        fm.reliability(thrown(), given.pop("parameters"), executor="threads", **given)
    assert text in str(error.value)
    assert "\n" not in str(error.value)


def test_a_study_file_with_distributions_prints_its_indices(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    thrown().save(tmp_path / "thrown.toml")
    (tmp_path / "study.toml").write_text(
        'format = "flexmbs-sweep/1"\nmodel = "thrown.toml"\noutputs.end = "last body '
        'stone position z"\n'
        'design = { kind = "saltelli", count = 16 }\n[parameters]\ngravity.z = { mean = '
        "-10.0, deviation = 1.0 }\n"
        "bodies.stone.mass = { median = 2.0, deviation = 0.1 }\n",
        encoding="utf-8",
    )
    assert read_study(tmp_path / "study.toml").parameters == {
        "gravity.z": fm.Normal(-10.0, 1.0), "bodies.stone.mass": fm.LogNormal(2.0, 0.1)
    }  # fmt: skip
    with pytest.raises(SystemExit) as ended:
        main(["sweep", str(tmp_path / "study.toml"), "--threads"])
    assert not ended.value.code
    rows = [
        line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("end ")
    ]
    assert [row[1] for row in rows] == ["gravity.z", "bodies.stone.mass"]
    assert float(rows[0][4]) > 0.8
    assert float(rows[1][4]) < 1e-3
