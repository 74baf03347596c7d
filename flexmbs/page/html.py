"""A self-contained HTML page: no other files, nothing from the network, all text escaped."""

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Picture:
    """An image of the page with caption and alternative text."""

    source: str
    alt: str
    caption: str = ""


def rendered(package: str, template: str, **values: Any) -> str:
    """The text of a page: ``template`` in the folder templates of ``package``, which extends "page.html"."""
    import jinja2

    loaders = [jinja2.PackageLoader(home, "templates") for home in (package, "flexmbs.page")]
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(loaders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    return environment.get_template(template).render(**values)


def number(value: float, digits: int = 4) -> str:
    """A formatted number: few digits, no exponent for common magnitudes."""
    if isinstance(value, (str, bool)):
        return str(value)
    if not math.isfinite(value):
        return str(value)
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return f"{value:.{digits}g}" if abs(value) < 10**digits else f"{value:.0f}"
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa}·10{str(int(exponent)).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"
