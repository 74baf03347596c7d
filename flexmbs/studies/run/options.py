"""Options of a run, checked for compatibility.

The requested integrator, formalism and output times.
"""

import contextlib
import dataclasses
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from flexmbs.api.model import Model
from flexmbs.declaration import close_names, shown
from flexmbs.errors import InputError
from flexmbs.formalisms import FORMALISMS
from flexmbs.formalisms.formalism import Formalism
from flexmbs.formalisms.stabilization import STABILIZATIONS, Baumgarte, Projection
from flexmbs.integrators import INTEGRATORS, Integrator
from flexmbs.integrators.integrator import is_number
from flexmbs.model.check import require_model
from flexmbs.model.forces import loaded_by_reactions
from flexmbs.model.general_couplings import nonholonomic_couplings
from flexmbs.model.relations import nonholonomic
from flexmbs.model.run import AUDITS, OWNERS, STANDARD
from flexmbs.system.topology import COORDINATES, topology

MOST_STEPS = 1e10  # of a run, which take hours
LONGEST = 1e15  # s, of a run with controlled steps
DEFAULTS = {
    "formalism": "multiplier",
    "coordinates": "joint",
    "integrator": "esdirk",
    "stabilization": "none",
    "audit": STANDARD,
}


def requested_options(model: Model, given: dict[str, Any]) -> dict[str, Any]:
    """Options of a run: given ones, then those of the model's [run], then defaults.

    The former only without ``t_end``.

    Options of an integrator or a formalism come from [run] only if the integrator or formalism
    does. Raises `InputError` without a model or an end time.
    """
    require_model(model)
    found = dict(given)
    if found["t_end"] is None:
        if model.run is None:
            raise InputError(
                "t_end: give the end time (s), or set model.run = Run(t_end=1.0) for the "
                f"model '{model.name}'"
            )
        for key, value in given.items():
            if value is None and given[OWNERS.get(key, key)] is None:
                found[key] = getattr(model.run, key)
    for key in ("coordinates", "stabilization", "audit"):
        found[key] = DEFAULTS[key] if found.get(key) is None else found[key]
    check_audit(found["audit"])
    if not isinstance(found["coordinates"], str):
        raise InputError(
            f"coordinates: must be one of {', '.join(COORDINATES)}, not "
            f"{shown(found['coordinates'])}"
        )
    if found["integrator"] is None:
        found["integrator"], found["why"] = default_integrator(found)
    return found | (
        {"formalism": default_formalism(model, found["coordinates"])}
        if found["formalism"] is None
        else {}
    )


def default_formalism(model: Model, coordinates: str) -> str:
    """The fastest suitable formalism.

    The recursion for trees in joint coordinates without couplings, else Lagrange multipliers.
    """
    try:
        loops = bool(topology(model).cuts or model.couplings)
    except InputError:  # reported with the other problems of the model
        loops = True
    return DEFAULTS["formalism"] if loops or coordinates == "absolute" else "recursive"


def default_integrator(options: Mapping[str, Any]) -> tuple[str, str]:
    """The default integrator and, for a note, the reason.

    Generalized-α for fixed steps; for controlled steps the ESDIRK method, suitable for smooth and
    stiff models, or Dormand–Prince with formalisms that provide accelerations only
    (`reports/integrators`).
    """
    form = options["formalism"]
    provides = getattr(FORMALISMS.get(form) if isinstance(form, str) else form, "provides", ())
    if options.get("step") is not None:
        return "generalized-alpha", ""
    if options.get("rho_inf") is not None:
        return "generalized-alpha", "which has rho_inf"
    if provides and INTEGRATORS[DEFAULTS["integrator"]].needs not in provides:
        return "dormand-prince", "which is compatible with this formalism"
    return DEFAULTS["integrator"], "for error-controlled steps"


def by_name(key: str, given: object, there: Mapping[str, Any]) -> Any:
    """The entry of a registry by its name. Raises `InputError`."""
    if isinstance(given, str) and given in there:
        return there[given]
    if isinstance(given, type) and given in there.values():
        raise InputError(
            f"{key}: {given.__name__} is a class; give an instance, {given.__name__}(…), "
            "or its name"
        )
    raise InputError(f"{key}: unknown {shown(given)}; {close_names(str(given), there)}")


def check_audit(level: object) -> None:
    """Raise `InputError` for an unknown level of the audit."""
    by_name("audit", level, dict.fromkeys(AUDITS, True))


def listed(key: str, given: Any) -> list[Any]:
    """Argument as a list. Raises `InputError` for a text or a single object."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"{key}: {shown(given)} is not a list; put it in brackets")
    return list(given)


def check_progress(given: object) -> None:
    """Raise InputError unless it is callable with the completed fraction and a text."""
    if given is not None and not (callable(given) and _takes(given, 0.0, "")):
        raise InputError(
            f"progress: must be a function of the completed fraction and a text, not {shown(given)}"
        )


def _takes(function: Callable[..., Any], *arguments: object) -> bool:
    """True if the function accepts the arguments, or if its signature is unknown."""
    with contextlib.suppress(ValueError):
        signature = inspect.signature(function)
        try:
            signature.bind(*arguments)
        except TypeError:
            return False
    return True


def has_option(method: type[Integrator], key: str) -> bool:
    """True if the integrator has the option."""
    return key in {field.name for field in dataclasses.fields(method) if field.init}  # type: ignore[arg-type]


def chosen_integrator(given: Any, options: dict[str, float | None]) -> Integrator:
    """The integrator by name with its options, or the object given. Raises `InputError`."""
    options = {key: value for key, value in options.items() if value is not None}
    if isinstance(given, Integrator):
        if options:
            raise InputError(
                f"integrator: pass {', '.join(options)} to the integrator object instead"
            )
        return given
    chosen: type[Integrator] = by_name("integrator", given, INTEGRATORS)
    for key in options:
        if not has_option(chosen, key):
            able = ", ".join(
                name for name, method in INTEGRATORS.items() if has_option(method, key)
            )
            raise InputError(
                f"{key}: integrator '{given}' has no such option; omit it, or use one of {able}"
            )
    return chosen(**options)


def chosen_formalism(
    given: Any, stabilization: str, coordinates: str, method: Integrator
) -> Formalism:
    """The formalism by name or the given object, if compatible with coordinates and integrator.

    Raises `InputError`.
    """
    if isinstance(given, Formalism):
        if stabilization != "none":
            raise InputError("stabilization: pass it to the formalism object instead")
        form = given
    else:
        form = _with_stabilization(by_name("formalism", given, FORMALISMS), stabilization)
    if method.needs not in form.provides:
        pairs = [
            f"{f.name} with {i.name}"
            for f in FORMALISMS.values()
            for i in INTEGRATORS.values()
            if i.needs in f.provides
        ]
        raise InputError(
            f"integrator: '{method.name}' is not compatible with '{form.name}'; "
            f"compatible pairs: {'; '.join(pairs)}"
        )
    if coordinates in COORDINATES and coordinates not in form.coordinates:
        raise InputError(
            f"coordinates: '{form.name}' works in {' or '.join(form.coordinates)} "
            f"coordinates, not in '{coordinates}'"
        )
    if coordinates == "rheonomic" and not method.takes_time:
        raise InputError(
            f"coordinates: '{method.name}' does not support coordinates that are functions of time; "
            "use 'joint'"
        )
    if (
        form.stabilization_name in STABILIZATIONS
        and form.stabilization_name not in method.stabilizations
    ):
        remedy = (
            "set it to 'none'"
            if method.needs == "residual"
            else f"take {' or '.join(map(repr, method.stabilizations))}"
        )
        why = (
            "satisfies g = 0 by itself"
            if method.needs == "residual"
            else "cannot project the states that it stores"
        )
        raise InputError(f"stabilization: '{method.name}' {why}; {remedy} or use 'dormand-prince'")
    return form


def check_velocity_rows(model: Model, method: Integrator) -> None:
    """Raise `InputError` for nonholonomic rows with an integrator that enforces only g = 0."""
    for what, found in (
        ("joint", nonholonomic(model.joints.values())),
        ("coupling", nonholonomic_couplings(model.couplings)),
    ):
        if found and not method.keeps_velocity_rows:
            able = ", ".join(name for name, kind in INTEGRATORS.items() if kind.keeps_velocity_rows)
            raise InputError(
                f"integrator: '{method.name}' enforces constraints on positions only, not "
                f"those on velocities of {what} "
                f"{', '.join(map(repr, found))}; take one of {able}"
            )


def check_reactions(model: Model, method: Integrator) -> None:
    """Raise `InputError` if forces depend on reactions that the integrator does not have.

    Some methods do not know the reactions within their steps.
    """
    for name in loaded_by_reactions(model.forces.values()):
        if not method.has_reactions:
            able = ", ".join(name for name, kind in INTEGRATORS.items() if kind.has_reactions)
            raise InputError(
                f"forces.{name}: integrator '{method.name}' takes no forces that depend "
                f"on reactions; use one of {able}"
            )


def check_contacts(model: Model, method: Integrator) -> None:
    """Raise `InputError` if a model has rigid contacts and the integrator does not support them."""
    for name, contact in model.contacts.items():
        if contact.rigid and not method.contacts:
            able = " or ".join(f"'{each}'" for each, kind in INTEGRATORS.items() if kind.contacts)
            raise InputError(
                f"contacts.{name}: integrator '{method.name}' does not support "
                f"{contact.named}; use {able}"
            )


def _with_stabilization(form: type[Formalism], stabilization: str) -> Formalism:
    """Formalism and stabilization by their names."""
    if isinstance(stabilization, Baumgarte | Projection):
        raise InputError(
            "stabilization: pass the object to the formalism, or give its name here: "
            f"'{stabilization.name}'"
        )
    kind = by_name("stabilization", stabilization, STABILIZATIONS)
    if kind is None:
        return form()
    if "stabilization" not in {field.name for field in dataclasses.fields(form)}:  # type: ignore[arg-type]
        raise InputError(
            f"stabilization: '{form.name}' satisfies its constraints by itself; set it to 'none'"
        )
    return form(stabilization=kind())  # type: ignore[call-arg]


def output_times(t_end: float, step: float | None, output_step: float | None) -> np.ndarray:
    """Output times 0, Δ, 2Δ, …, t_end.

    Raises `InputError` for times that are not positive, not finite or too many.
    """
    for key, value in (("t_end", t_end), ("step", step), ("output_step", output_step)):
        if value is not None and not (is_number(value) and 0.0 < value < math.inf):
            raise InputError(f"{key}: {shown(value)} is not a positive time in seconds")
    for key, value in (("step", step), ("output_step", output_step)):
        if value is not None and value > t_end * (1.0 + 1e-12):
            raise InputError(f"{key}: {value} s is longer than t_end = {t_end} s")
    interval = float(output_step or step or t_end / 200.0)
    count = t_end / interval - 1e-9
    if count > 5_000_000:
        raise InputError(
            f"output_step: {interval} s gives {count:.7g} outputs up to t_end = {t_end} "
            "s; choose a longer one"
        )
    if t_end > (MOST_STEPS * step if step else LONGEST):
        what = (
            f"takes more than {MOST_STEPS:g} steps of {step:g} s"
            if step
            else f"is more than {LONGEST:g} s, thirty million years"
        )
        raise InputError(f"t_end: {t_end:g} s {what}; choose a shorter run")
    return np.minimum(np.arange(math.ceil(count) + 1) * interval, float(t_end))
