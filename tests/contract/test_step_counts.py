"""One integrator takes about as many steps under all formalisms × coordinates, for random models
and for redundant loops.
"""

import pytest
from any_models import any_model
from differential import T_END, Pair, Report, compare_steps, method, options, pairs
from test_redundant_stages import pendulum

import flexmbs as fm

MODELS = {
    "redundant loop": pendulum,
    **{str(seed): lambda seed=seed: any_model(seed).model for seed in (3, 17, 42, 611, 720)},
}


def count(report: Report, model: fm.Model, pair: Pair) -> None:
    """Steps of a run, if the combination takes the model."""
    given = options(pair, method(pair.integrator, 0)) | {"audit": "none"}
    try:
        run = fm.simulate(model, t_end=T_END, output_step=T_END, **given)
    except fm.FlexmbsError:
        return
    report.steps[pair] = run.statistics["steps"] + run.statistics["rejected"]


@pytest.mark.filterwarnings("ignore::flexmbs.AuditWarning", "ignore::flexmbs.AssemblyWarning")
@pytest.mark.parametrize("integrator", ["dormand-prince", "esdirk"])
@pytest.mark.parametrize("name", MODELS)
def test_formalisms_take_alike_steps(name: str, integrator: str) -> None:
    model, report = MODELS[name](), Report()
    for pair in pairs():
        if pair.integrator == integrator:
            count(report, model, pair)
    compare_steps(report)
    assert len(report.steps) >= 2
    assert report.failures == []
