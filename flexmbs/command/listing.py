"""``flexmbs list``"""

from typing import Any

from flexmbs.console.messages import put, put_json
from flexmbs.errors import InputError


def listing(what: str | None, *, as_json: bool) -> None:
    """Print the kinds of one family or of all. Raises InputError for an unknown family."""
    families = _families()
    if what is not None and what not in families:
        raise InputError(f"list: unknown family '{what}'; known: {', '.join(families)}")
    chosen = families if what is None else {what: families[what]}
    if as_json:
        put_json(chosen)
        return
    width = max(len(kind) for kinds in chosen.values() for kind in kinds)
    for family, kinds in chosen.items():
        put(family)
        for kind, line in kinds.items():
            put(f"  {kind:<{width}}  {line}")


def _families() -> dict[str, dict[str, str]]:
    """Family → kind → first line of its documentation."""
    import flexmbs.model.model  # noqa: F401  (its import registers the kinds)
    from flexmbs.formalisms import FORMALISMS
    from flexmbs.integrators import INTEGRATORS
    from flexmbs.model.bodies import Body
    from flexmbs.model.contacts import Contact
    from flexmbs.model.couplings import Coupling
    from flexmbs.model.forces import Force
    from flexmbs.model.joints import Joint
    from flexmbs.model.laws import JointLaw, TimeLaw
    from flexmbs.model.motions import Motion
    from flexmbs.model.rotors import RotorInertia
    from preprocess.reduction import REDUCTIONS

    declared: dict[str, Any] = {
        "bodies": Body, "joints": Joint, "motions": Motion, "forces": Force, "laws": TimeLaw, "joint-laws": JointLaw,
        "couplings": Coupling, "contacts": Contact, "rotors": RotorInertia,
    }  # fmt: skip
    families = {family: {kind: _line(cls) for kind, cls in base.kinds.items()} for family, base in declared.items()}
    families["formalisms"] = {kind: _line(cls) for kind, cls in FORMALISMS.items()}
    families["integrators"] = {kind: _line(cls) for kind, cls in INTEGRATORS.items()}
    families["reductions"] = {kind: _line(cls) for kind, cls in REDUCTIONS.items()}
    return families


def _line(cls: type[Any]) -> str:
    """First sentence of a documentation."""
    return " ".join((cls.__doc__ or "").split()).split(". ")[0].rstrip(".")
