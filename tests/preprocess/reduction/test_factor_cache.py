"""Reductions with a kept factor: equal to those without one for any interfaces and methods, and
what the file may be.
"""

from pathlib import Path

import numpy as np
import pytest
from hdf5_edits import open_unverified
from part_files import bar, call

import preprocess as pp
from flexmbs._jit import COMPILED
from flexmbs.errors import InputError, MachineError
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.reduction import interface_statics
from preprocess.solve import factor_cache

STEEL = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
BAR = pp.box_mesh((0.4, 0.05, 0.03), (6, 2, 1))
NEAR = pp.Point((0.2, 0.0, 0.015), 0.02)
INTERFACES = {
    "averaged": {"a": pp.Averaged("x0"), "b": pp.Averaged("x1")},
    "rigid": {"a": pp.Rigid("x0"), "b": pp.Rigid("x1")},
    "mixed": {"a": pp.Rigid("x0"), "b": pp.Averaged("x1"), "c": pp.Rigid(NEAR)},
    "one": {"a": pp.Rigid("x1")},
}
METHODS = {
    "craig-bampton": pp.CraigBampton(modes=4, verify=True),
    "rubin": pp.Rubin(modes=5),
    "krylov": pp.Krylov(frequencies=(0.0, 500.0)),
}
compiled = pytest.mark.skipif(not COMPILED, reason="factors of SuperLU are not kept")


def reduced(interfaces: str, method: str, **options) -> FlexibleBodyData:
    return pp.reduce(
        BAR,
        STEEL,
        interfaces=INTERFACES[interfaces],
        method=METHODS[method],
        reference="a",
        **options,
    )


@pytest.fixture(autouse=True)
def all_by_constraints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interface_statics, "FEW", 1000)


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("kept") / "bar.factor"
    assert reduced("averaged", "rubin", keep=path).provenance["factor"] == f"written to {path}"
    return path


@compiled
@pytest.mark.parametrize("interfaces", INTERFACES)
@pytest.mark.parametrize("method", METHODS)
def test_other_interfaces_and_methods_need_no_factorization(
    kept: Path, interfaces: str, method: str
) -> None:
    one, other = reduced(interfaces, method), reduced(interfaces, method, keep=kept)
    assert other.provenance["factor"] == f"read from {kept}"
    np.testing.assert_allclose(other.modes.frequency, one.modes.frequency, rtol=1e-6)
    for name, frame in one.frames.items():
        expected, found = (
            (f.phi / each.K_ff.diagonal()) @ f.phi.T
            for each, f in ((one, frame), (other, other.frames[name]))
        )
        np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max() + 1e-18)
    assert other.validate().ok


@compiled
def test_another_number_of_modes_is_not_factored(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_, **__):
        raise AssertionError("factored")

    monkeypatch.setattr("preprocess.solve.engine.factorize", never)
    method = pp.Rubin(modes=9, verify=False)  # a Sturm check factors K − σM
    body = pp.reduce(
        BAR, STEEL, interfaces=INTERFACES["rigid"], method=method, reference="a", keep=kept
    )
    assert body.nf == 9 + 12


@compiled
def test_large_rigid_interfaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rigid interfaces of many nodes have a factor of their own, which the file keeps instead."""
    monkeypatch.setattr(interface_statics, "FEW", 60)
    path = tmp_path / "bar.factor"
    for expected in ("written to", "read from"):
        assert str(reduced("rigid", "rubin", keep=path).provenance["factor"]).startswith(expected)
    assert str(reduced("averaged", "rubin", keep=path).provenance["factor"]).startswith(
        "written to"
    )
    one, other = reduced("rigid", "rubin"), reduced("rigid", "rubin", keep=path)
    np.testing.assert_allclose(other.modes.frequency, one.modes.frequency, rtol=1e-9)


@compiled
def test_another_stiffness_replaces_the_factor(tmp_path: Path) -> None:
    path, ends = tmp_path / "bar.factor", INTERFACES["averaged"]
    for E, expected in ((2.1e11, "written to"), (7e10, "written to"), (7e10, "read from")):
        body = pp.reduce(
            BAR, pp.Isotropic(E=E, nu=0.3, rho=7850.0), interfaces=ends, reference="a", keep=path
        )
        assert str(body.provenance["factor"]).startswith(expected)


@compiled
def test_a_damaged_factor_is_refused(kept: Path, tmp_path: Path) -> None:
    path = tmp_path / "bar.factor"
    for item, change, message in (
        ("panels", lambda a: a * 1.001, "does not solve the equations"),
        ("panels", lambda a: a[:-1], "finite entries instead of"),
        (
            "panels",
            lambda a: np.where(np.arange(len(a)) == 5, np.nan, a),
            "finite entries instead of",
        ),
        ("order", lambda a: np.zeros_like(a), "is not a permutation"),
        ("order", lambda a: a[::-1], "is damaged|does not solve|instead of"),
    ):
        path.write_bytes(kept.read_bytes())
        with open_unverified(path) as file:
            values = change(file[item][()])
            del file[item]
            file.create_dataset(item, data=values)
        with pytest.raises(InputError, match=message):
            reduced("averaged", "rubin", keep=path)


@compiled
def test_files_of_other_kinds_stay(kept: Path, tmp_path: Path) -> None:
    text, body = tmp_path / "link.msh", tmp_path / "bar.h5"
    text.write_text("$MeshFormat")
    reduced("averaged", "rubin").save(body)
    for path, message in (
        (text, "is not an HDF5 file"),
        (body, "format: is flexmbs-flexible-body/1, not flexmbs-factor/1"),
    ):
        before = path.read_bytes()
        with pytest.raises(InputError, match=message):
            reduced("averaged", "rubin", keep=path)
        assert path.read_bytes() == before


@compiled
def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    part, factor = bar(tmp_path), tmp_path / "bar.factor"
    for modes in (2, 3):
        part.write_text(part.read_text().replace("modes = 2", f"modes = {modes}"))
        assert call("reduce", part, "--keep", factor) == 0
    assert (
        FlexibleBodyData.load(part.with_suffix(".h5")).provenance["factor"] == f"read from {factor}"
    )


def test_interpreted_solvers_keep_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factor_cache, "COMPILED", False)
    with pytest.raises(MachineError, match="keep: only the compiled solver stores factors"):
        reduced("averaged", "rubin", keep=tmp_path / "bar.factor")
