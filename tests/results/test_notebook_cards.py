"""Cards of objects in notebooks: verdict first, escaped, without scripts; pictures of machines."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest

import flexmbs as fm

VOID = {"img", "br"}


class Tags(HTMLParser):
    """Names of the tags, which must be closed in order, and the texts."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.names.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def shown(value: Any) -> Tags:
    tags = Tags()
    tags.feed(value._repr_html_())
    assert not tags.open
    assert not tags.names & {"script", "style", "iframe", "link"}
    return tags


def pendulum(name: str = "pendulum") -> fm.Model:
    model = fm.Model(name)
    rod = model.add(fm.RigidBody("rod", mass=3.0, com=(0, 0, -0.5), inertia=(0.25, 0.25, 0.001)))
    hinge = model.add(fm.Revolute("hinge", model.ground, rod, axis="y", q0=0.1))
    model.add(fm.JointSpring("spring", hinge, k=2.0))
    return model


def test_a_solution_begins_with_its_verdict():
    solution = fm.simulate(pendulum(), t_end=0.5)
    tags = shown(solution)
    assert tags.texts[:2] == ["PASS", "pendulum"]
    assert {"img", "details"} <= tags.names
    assert "Second opinion" in tags.texts
    joint = shown(solution.joint("hinge"))
    assert "effort [N, N m]" in joint.texts


def test_findings_come_before_passed_checks():
    with pytest.warns(fm.AuditWarning):
        solution = fm.simulate(pendulum(), t_end=10.0, step=0.1)
    texts = shown(solution).texts
    found = [check for check in solution.audit if check.status != "PASS"]
    assert texts[0] in ("WARN", "FAIL")
    assert all(check.remedy in texts for check in found if check.remedy)
    assert texts.index(found[0].title) < texts.index("Outcome")


@pytest.mark.parametrize("name", ["pendulum", "<b>bold& <i>"])
def test_a_model_lists_its_items(name):
    model = pendulum(name)
    tags = shown(model)
    assert {name, "hinge", "revolute", "spring", "joint-spring"} <= set(tags.texts)
    assert "img" in tags.names
    report = shown(model.check())
    assert report.texts[0] == "ready to run"
    del model.bodies["rod"]
    incomplete = shown(model)
    assert "img" not in incomplete.names
    assert any(text.startswith("not complete: ") for text in incomplete.texts)
    assert shown(model.check()).texts[0] == "not ready to run"


def test_states_show_modes_and_reactions():
    still = fm.statics(pendulum())
    texts = shown(still).texts
    assert texts[0] == still.verdict
    assert any(re.fullmatch(r"29\.4\d*", text) for text in texts)  # m g
    linear = fm.linearize(pendulum(), start=still)
    assert "frequency [Hz]" in shown(linear).texts
    assert f"{linear.modes.frequency[0]:.6g}" in shown(linear.modes).texts


def test_figures_are_images():
    """Without the inline backend of matplotlib."""
    solution = fm.simulate(pendulum(), t_end=0.1)
    assert solution.plot.joints()._repr_png_().startswith(b"\x89PNG")
    assert solution.plot.motion()._repr_png_().startswith(b"\x89PNG")
