"""Pipelines of Numba's with own passes, and the fallback where its internals differ."""

from pathlib import Path

import pytest
from numba.core import codegen, compiler

from flexmbs._jit import COMPILED, numba_pipelines, pipeline_check

pytestmark = pytest.mark.skipif(not COMPILED, reason="needs Numba's compiler")


def test_both_work_with_the_numba_available_and_the_verdict_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert all(pipeline_check.working_pipelines(str(tmp_path)))
    (kept,) = tmp_path.iterdir()
    assert kept.read_text() == "11"
    monkeypatch.setattr(pipeline_check, "_tried", None)  # not tested again
    assert all(pipeline_check.working_pipelines(str(tmp_path)))
    kept.write_text("01")
    assert pipeline_check.working_pipelines(str(tmp_path))[0] is None


def test_seldom_kernels_fall_back_where_passes_come_without_a_builder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in Numba 0.60 and 0.61."""
    given = codegen.CPUCodegen._module_pass_manager
    monkeypatch.setattr(
        codegen.CPUCodegen,
        "_module_pass_manager",
        lambda self, **options: given(self, **options)[0],
    )
    monkeypatch.setattr(codegen.JITCodeLibrary, "_optimize_final_module", lambda self: None)
    part, seldom = pipeline_check.working_pipelines(None)
    assert part is not None
    assert seldom is None


def test_parts_fall_back_where_lowering_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(compiler.Compiler):
        def define_pipelines(self) -> list:
            raise AttributeError("no such pass")

    made = numba_pipelines.make_pipelines()
    monkeypatch.setattr(numba_pipelines, "make_pipelines", lambda: (Broken, made[1]))
    assert pipeline_check.working_pipelines(None) == (None, made[1])


def test_nothing_is_reached_into_where_a_name_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(codegen, "JITCodeLibrary")
    assert pipeline_check.working_pipelines(None) == (None, None)
