"""``flexmbs list``"""

import inspect
from typing import Any

from flexmbs.console.messages import put, put_json
from flexmbs.declaration import Declaration, close_names, shown
from flexmbs.errors import InputError

Families = dict[str, dict[str, Any]]


def listing(what: str | None, *, as_json: bool) -> None:
    """Print the kinds of one family or of all families, or the keys of one kind.

    A kind is known by its name in model files and by that of its class. Raises InputError for an
    unknown name.
    """
    families = all_kinds()
    if what is None or what in families:
        _put_kinds(families if what is None else {what: families[what]}, as_json=as_json)
        return
    found = {
        family: (kind, cls)
        for family, kinds in families.items()
        for kind, cls in kinds.items()
        if what in (kind, cls.__name__)
    }
    if not found:
        known = [each for kinds in families.values() for each in kinds.items()]
        names = [*families, *(name for kind, cls in known for name in (kind, cls.__name__))]
        text = f"list: unknown family or kind {shown(what)}"
        raise InputError(f"{text}; families: {', '.join(families)}{_close(what, names)}")
    if as_json:
        put_json({family: _text(cls) for family, (_, cls) in found.items()})
        return
    for family, (kind, cls) in found.items():
        put(f"{kind} ({family})\n\n{_text(cls)}\n")


def _close(what: str, names: list[str]) -> str:
    """Hint "; did you mean …" for a misspelt name; empty if no name is similar."""
    hint = close_names(what, names)
    return f"; {hint}" if hint.startswith("did") else ""


def _put_kinds(families: Families, *, as_json: bool) -> None:
    """Print one line per kind."""
    chosen = {
        family: {kind: _line(cls) for kind, cls in kinds.items()}
        for family, kinds in families.items()
    }
    if as_json:
        put_json(chosen)
        return
    width = max(len(kind) for kinds in chosen.values() for kind in kinds)
    for family, kinds in chosen.items():
        put(family)
        for kind, line in kinds.items():
            put(f"  {kind:<{width}}  {line}")


def all_kinds() -> Families:
    """Classes by family and kind, of items, formalisms and integrators."""
    import flexmbs.model.model  # noqa: F401  (its import registers the kinds)
    from flexmbs.formalisms import FORMALISMS
    from flexmbs.integrators import INTEGRATORS
    from flexmbs.model.bodies import Body
    from flexmbs.model.contact_laws import ContactLaw
    from flexmbs.model.contacts import Contact
    from flexmbs.model.control.controllers import PathController
    from flexmbs.model.control.paths import DeclaredPath
    from flexmbs.model.couplings import Coupling
    from flexmbs.model.drives import Drive
    from flexmbs.model.forces import Force
    from flexmbs.model.joints import Joint
    from flexmbs.model.laws import JointLaw, TimeLaw
    from flexmbs.model.motions import Motion
    from flexmbs.model.rotors import RotorInertia
    from flexmbs.model.shapes import Shape
    from flexmbs.studies.sweeps.designs import Design
    from preprocess.reduction import REDUCTIONS

    declared: dict[str, Any] = {
        "bodies": Body,
        "joints": Joint,
        "motions": Motion,
        "forces": Force,
        "drives": Drive,
        "laws": TimeLaw,
        "joint-laws": JointLaw,
        "couplings": Coupling,
        "contacts": Contact,
        "contact-laws": ContactLaw,
        "rotors": RotorInertia,
        "shapes": Shape,
        "controllers": PathController,
        "paths": DeclaredPath,
        "designs": Design,
    }
    families: Families = {family: dict(base.kinds) for family, base in declared.items()}
    return families | {
        "formalisms": dict(FORMALISMS),
        "integrators": dict(INTEGRATORS),
        "reductions": dict(REDUCTIONS),
    }


def _text(cls: type[Any]) -> str:
    """Keys and an example for items of model files; the docstring for other kinds."""
    from flexmbs.command.item_help import keys

    return keys(cls) if issubclass(cls, Declaration) else inspect.cleandoc(cls.__doc__ or "")


def _line(cls: type[Any]) -> str:
    """First sentence of the docstring of a kind."""
    summary = (cls.__doc__ or "").partition("\n\n")[0]
    return " ".join(summary.split()).split(". ")[0].rstrip(".:")
