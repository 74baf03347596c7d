"""The tables of the formats name every item of the files, with its shape."""

import re
from pathlib import Path

import h5py
import pytest

import flexmbs as fm
import preprocess as pp

FORMATS = Path(__file__).resolve().parents[2] / "docs" / "formats"


def rows(page: str) -> dict[str, str]:
    """Shape of each item in the table of a page."""
    text = (FORMATS / page).read_text(encoding="utf-8")
    found = re.findall(r"^\| (?:attributes )?(`[^|]+`) \|([^|]*)\|", text, re.MULTILINE)
    return {
        item: shape.strip() for names, shape in found for item in re.findall(r"`([^`]+)`", names)
    }


def items(file: h5py.File) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    file.visititems(
        lambda name, item: (
            found.update({name: item.shape}) if isinstance(item, h5py.Dataset) else None
        )
    )
    return found


@pytest.fixture(scope="module")
def bar() -> fm.FlexibleBodyData:
    return pp.reduce(
        pp.box_mesh((0.4, 0.02, 0.02), (6, 1, 1), "hex8"),
        pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0),
        interfaces={"root": pp.Rigid("x0"), "end": pp.Rigid("x1")},
        method=pp.CraigBampton(modes=3),
        reference="root",
    )


def described(name: str) -> str:
    """An item with NAME, KEY or FRAME for what the user or the model names."""
    for pattern, general in (
        (r"frames/\w+/(\w+)$", r"frames/NAME/\1"),
        (r"applied/.+$", "applied/FRAME"),
        (r"bodies/\d+/.+$", "bodies/NUMBER/…"),
    ):
        name = re.sub(f"^{pattern}", general, name)
    return name


def compare(page: str, found: dict[str, tuple[int, ...]], optional: set[str]) -> None:
    table = rows(page)
    assert {described(name) for name in found} - set(table) == set()
    assert {name for name in table if "/" in name} - {described(name) for name in found} == optional
    for name, shape in found.items():
        stated = table[described(name)]
        if stated not in ("", "bytes"):
            assert len(shape) == (0 if stated == "1" else stated.count(",") + 1), name


def test_flexible_body(bar: fm.FlexibleBodyData, tmp_path: Path) -> None:
    bar.save(tmp_path / "bar.h5")
    with h5py.File(tmp_path / "bar.h5") as file:
        # of laminates alone
        plies = {name for name in rows("body.md") if name.startswith("stress/plies/")}
        of_pieces = {"frames/NAME/local", "frames/NAME/cut", "elastic/damping_rows"}
        compare("body.md", items(file), {"stress/initial"} | of_pieces | plies)
        assert set(file.attrs) <= set(rows("body.md"))


def test_solution(bar: fm.FlexibleBodyData, tmp_path: Path) -> None:
    model = fm.Model("m")
    body = model.add(fm.FlexibleBody("bar", data=bar))
    hinge = model.add(fm.Revolute("hinge", model.ground, body["root"], axis="y"))
    ball = model.add(fm.RigidBody("ball", mass=1.0, inertia=(1, 1, 1)))
    model.add(fm.Pose("flight", model.ground, ball, q0=(0, 2, 0.5, 1, 0, 0, 0)))
    model.add(
        fm.SpherePlane(
            "floor",
            model.ground,
            ball,
            law=fm.HuntCrossley(stiffness=1e5, restitution=0.5, speed=1.0),
        )
    )
    model.add(fm.PointSpring("spring", body["end"], ball, k=1.0))
    model.add(fm.Drive("motor", hinge, 0.0))
    fm.simulate(model, t_end=0.01, output_step=1e-3).save(tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5") as file:
        compare("solution.md", items(file), set())
        assert set(file.attrs) <= set(rows("solution.md"))
