"""Signatures and help of the public names show parameters with units and defaults, and no
internals.
"""

import inspect
import pydoc

import flexmbs as fm
import preprocess as pp
from flexmbs.declaration import Declaration, described

PUBLIC = {name: getattr(fm, name) for name in fm.__all__ if callable(getattr(fm, name))}
PUBLIC |= {f"motions.{name}": getattr(fm.motions, name) for name in fm.motions.__all__}
EVERY = PUBLIC | {f"preprocess.{name}": getattr(pp, name) for name in pp.__all__}
INTERNALS = ("pydantic", "Validator", "Annotated[", "<function", "NestedSequence")
LONGEST = 1000  # characters of a line; the signature of `simulate` has 800


DECLARATIONS = {
    name: each
    for name, each in PUBLIC.items()
    if isinstance(each, type) and issubclass(each, Declaration)
}


def help_of(thing: object) -> str:
    return pydoc.render_doc(thing, renderer=pydoc.plaintext)


def test_signatures_show_no_internals():
    for name, each in EVERY.items():
        if not (isinstance(each, type) and issubclass(each, Exception)):
            text = str(inspect.signature(each))
            assert not [word for word in INTERNALS if word in text], (name, text)


def test_help_shows_the_documentation_and_no_wall_of_internals():
    for name, each in EVERY.items():
        text = help_of(each)
        assert inspect.getdoc(each).splitlines()[0] in text, name
        assert not [word for word in INTERNALS if word in text], name
        assert max(map(len, text.splitlines())) < LONGEST, name


def test_help_of_declarations_shows_no_dataclass():
    assert [name for name, each in DECLARATIONS.items() if "__dataclass" in help_of(each)] == []


def test_every_parameter_of_a_declaration_is_described():
    for name, cls in DECLARATIONS.items():
        texts = described(inspect.getdoc(cls) or "")
        assert tuple(texts) == cls.field_names() == tuple(inspect.signature(cls).parameters), name
        assert all(kind and text.strip() for kind, text in texts.values()), name


def test_units_and_defaults():
    assert str(inspect.signature(fm.Revolute)) == (
        "(name: str, parent: frame, child: frame, *, q0: float, floats or None [m, rad] = None, "
        "v0: float, floats or None [m/s, rad/s] = None, axis: direction = 'z')"
    )
    doc = inspect.getdoc(fm.PointSpring)
    assert "k : float [N/m], default 0.0\n    Stiffness." in doc
    assert "frame_a : frame\n" in doc
