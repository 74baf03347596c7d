"""Options of a run, as in the ``[run]`` table of a model file."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any

from pydantic import BeforeValidator, model_validator

from flexmbs.declaration import Declaration, Problem, close_names, raise_nested, shown
from flexmbs.model.fields import OptionalPositive, Positive, number

# relative; 45 units of round-off: smaller errors cannot be estimated
SMALLEST_TOLERANCE = 1e-14
AUDITS = FULL, STANDARD, NONE = ("full", "standard", "none")  # levels of the audit of a run

OF_INTEGRATOR = ("step", "rtol", "atol", "rho_inf")
# options that belong to another one: a run with another integrator does not inherit its step
OWNERS = {"stabilization": "formalism", **dict.fromkeys(OF_INTEGRATOR, "integrator")}
# those of `flexmbs.formalisms` and `flexmbs.integrators`, whose kernels reading a file does not need
FORMALISM_NAMES = ("multiplier", "embedding", "partitioning", "recursive")
INTEGRATOR_NAMES = (
    "generalized-alpha",
    "esdirk",
    "dormand-prince",
    "rattle",
    "moreau-jean",
    "event-driven",
)


def _one_of(*names: str | None) -> BeforeValidator:
    """Validator that accepts only these names, and None if it is one of them."""

    def check(value: object) -> str | None:
        """Validate one of the names. Raises ValueError with similar names."""
        if value is None and None in names:
            return None
        if not isinstance(value, str) or value not in names:
            raise ValueError(
                f"unknown choice {shown(value)}; {close_names(str(value), filter(None, names))}"
            )
        return value

    return BeforeValidator(check)


def _rho(value: object) -> float | None:
    """Validate a spectral radius, 0 … 1, or None. Raises ValueError."""
    if value is None:
        return None
    result = number(value)
    if not 0.0 <= result <= 1.0:
        raise ValueError(f"must be within 0 … 1, not {result:g}")
    return result


def _relative(value: object) -> float | None:
    """Validate a relative tolerance or None. Raises ValueError."""
    if value is None:
        return None
    result = number(value)
    if not SMALLEST_TOLERANCE <= result < 1.0:
        raise ValueError(
            f"must be within {SMALLEST_TOLERANCE:g} … 1 (the limit of double precision), "
            f"not {result:g}"
        )
    return result


class Run(Declaration, section="run"):
    """Options of a run; the defaults are those of `simulate`.

    Parameters
    ----------
    t_end : float [s]
        End time.
    step : float or None [s]
        Fixed step; None: controlled by the error.
    output_step : float or None [s]
        Interval of the output times.
    formalism : str or None
        Name of the formalism.
    coordinates : 'joint', 'absolute' or 'rheonomic'
        Generalized coordinates of the model.
    integrator : str or None
        Name of the integrator.
    stabilization : 'none', 'baumgarte' or 'projection'
        Stabilization of the constraints.
    rho_inf : float or None
        Spectral radius of generalized-α at infinite frequency, 0 … 1.
    rtol : float or None
        Relative tolerance of controlled steps.
    atol : float or None
        Absolute tolerance of controlled steps.
    audit : 'full', 'standard' or 'none'
        Level of the audit, see `simulate`.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("fall", run=fm.Run(t_end=1.0, step=0.01))
    >>> ball = model.add(fm.PointMass("ball", mass=1.0))
    >>> model.save("fall.toml")
    >>> run = fm.simulate(fm.load("fall.toml"))  # as `flexmbs run fall.toml` does
    >>> run.t[-1].item(), run.body("ball").position[-1, 2].round(6).item()
    (1.0, -4.905)
    """

    t_end: Positive
    step: OptionalPositive = None
    output_step: OptionalPositive = None
    formalism: Annotated[str | None, _one_of(None, *FORMALISM_NAMES)] = None
    coordinates: Annotated[str, _one_of("joint", "absolute", "rheonomic")] = "joint"
    integrator: Annotated[str | None, _one_of(None, *INTEGRATOR_NAMES)] = None
    stabilization: Annotated[str, _one_of("none", "baumgarte", "projection")] = "none"
    rho_inf: Annotated[float | None, BeforeValidator(_rho)] = None
    rtol: Annotated[float | None, BeforeValidator(_relative)] = None
    atol: OptionalPositive = None
    audit: Annotated[str, _one_of(*AUDITS)] = STANDARD

    @model_validator(mode="after")
    def _steps(self) -> "Run":
        """Raise `NestedError` for steps longer than t_end."""
        problems = [
            Problem((key,), f"must not exceed t_end = {self.t_end:g}, not {value:g}")
            for key, value in (("step", self.step), ("output_step", self.output_step))
            if value is not None and value > self.t_end
        ]
        raise_nested(problems)
        return self


def stated(**options: Any) -> dict[str, Any]:
    """Options of a run that are given, by name; those that are None are not."""
    return {key: value for key, value in options.items() if value is not None}


def options_with(run: Run | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a run of which the ``given`` ones are replaced.

    Options of an integrator or a formalism are kept only with that integrator or formalism.
    """
    kept = {
        each.name: getattr(run, each.name)
        for each in (() if run is None else fields(run))
        if OWNERS.get(each.name) not in given
    }
    return kept | dict(given)


def run_with(run: Run | None, given: Mapping[str, Any]) -> Run | None:
    """Run with `options_with`; None without an end time."""
    options = options_with(run, given)
    return Run(**options) if "t_end" in options else None
