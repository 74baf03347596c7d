"""Signatures and help of the public names show parameters with units and defaults, and no
internals.
"""

import inspect
import pydoc

import pytest

import flexmbs as fm
import preprocess as pp
from flexmbs.declaration import Declaration, described

PUBLIC = {name: getattr(fm, name) for name in fm.__all__ if callable(getattr(fm, name))}
PUBLIC |= {f"motions.{name}": getattr(fm.motions, name) for name in fm.motions.__all__}
EVERY = PUBLIC | {f"preprocess.{name}": getattr(pp, name) for name in pp.__all__}
INTERNALS = ("pydantic", "Validator", "Annotated[", "<function", "NestedSequence")
LONGEST = 1000  # characters of a line; the signature of `simulate` has 800


@pytest.mark.parametrize(
    "name",
    sorted(
        name
        for name, each in EVERY.items()
        if not (isinstance(each, type) and issubclass(each, Exception))
    ),
)
def test_signature_shows_no_internals(name):
    text = str(inspect.signature(EVERY[name]))
    assert not [word for word in INTERNALS if word in text], text


@pytest.mark.parametrize("name", sorted(EVERY))
def test_help_shows_the_documentation_and_no_wall_of_internals(name):
    text = pydoc.render_doc(EVERY[name], renderer=pydoc.plaintext)
    assert inspect.getdoc(EVERY[name]).splitlines()[0] in text
    assert not [word for word in INTERNALS if word in text]
    assert max(map(len, text.splitlines())) < LONGEST


@pytest.mark.parametrize(
    "name",
    sorted(
        name
        for name, each in PUBLIC.items()
        if isinstance(each, type) and issubclass(each, Declaration)
    ),
)
def test_help_of_a_declaration_shows_no_dataclass(name):
    assert "__dataclass" not in pydoc.render_doc(PUBLIC[name], renderer=pydoc.plaintext)


@pytest.mark.parametrize(
    "name",
    sorted(
        n for n, each in PUBLIC.items() if isinstance(each, type) and issubclass(each, Declaration)
    ),
)
def test_every_parameter_of_a_declaration_is_described(name):
    cls = PUBLIC[name]
    texts = described(inspect.getdoc(cls) or "")
    assert tuple(texts) == cls.field_names() == tuple(inspect.signature(cls).parameters)
    assert all(kind and text.strip() for kind, text in texts.values())


def test_units_and_defaults():
    assert str(inspect.signature(fm.Revolute)) == (
        "(name: str, parent: frame, child: frame, *, q0: float, floats or None [m, rad] = None, "
        "v0: float, floats or None [m/s, rad/s] = None, axis: direction = 'z')"
    )
    doc = inspect.getdoc(fm.PointSpring)
    assert "k : float [N/m], default 0.0\n    Stiffness." in doc
    assert "frame_a : frame\n" in doc
