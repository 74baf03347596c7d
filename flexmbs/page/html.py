"""Self-contained HTML page: no other files, nothing from the network, all text escaped."""

import base64
import contextlib
import functools
import hashlib
import math
import pathlib
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jinja2

_EXPONENT = re.compile(r"(?<![\w.])(-?\d+(?:\.\d+)?)e([+-]?\d+)(?!\w)")
PLAIN = -4  # least exponent that is written as decimals, as in Python's format
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Picture:
    """Image of the page with caption and alternative text."""

    source: str
    alt: str
    caption: str = ""


@dataclass(frozen=True)
class PageCode:
    """Style sheet and script of the program.

    Only these are allowed in a page, by their hashes. package: package with the matching templates.
    asks: True for a page of a server on this machine, of which its script may ask more.
    """

    style: str = ""
    script: str = ""
    package: str = "flexmbs.page"
    asks: bool = False


def rendered(package: str, template: str, code: PageCode | None = None, **values: Any) -> str:
    """Text of a page from a ``template`` in the folder templates of ``package``.

    The template extends "page.html"; ``code`` is added to its style sheet.

    The Content-Security-Policy of the page forbids requests and all other scripts and styles.
    """
    given = code or PageCode()
    source = (
        pathlib.Path(__file__)
        .with_name("templates")
        .joinpath("page.css")
        .read_text(encoding="utf-8")
    )
    style = f"{source}{given.style}"
    return (
        _templates(package, given.package)
        .get_template(template)
        .render(
            policy=policy(style, given.script, asks=given.asks),
            style=style,
            script=given.script,
            **values,
        )
    )


@functools.cache
def _templates(*packages: str) -> "jinja2.Environment":
    """Jinja templates of packages, compiled once."""
    import jinja2

    loaders = [jinja2.PackageLoader(home, "templates") for home in (*packages, "flexmbs.page")]
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(loaders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        optimized=False,  # each page is rendered only once
        bytecode_cache=_compiled_templates(),
    )
    environment.filters |= {"number": number, "powers": powers}
    return environment


def _compiled_templates() -> "jinja2.BytecodeCache | None":
    """Cache of compiled templates next to the kernels of this version.

    The folder is accessible only to this user.
    """
    import jinja2

    from flexmbs._jit import CACHE

    class TolerantCache(jinja2.FileSystemBytecodeCache):
        def dump_bytecode(self, bucket: Any) -> None:
            """Store a compiled template; errors of the disk are ignored."""
            with contextlib.suppress(OSError):  # for example a full disk
                super().dump_bytecode(bucket)

    if CACHE is None:
        return None
    folder = pathlib.Path(CACHE, f"pages-{jinja2.__version__}")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return None
    return TolerantCache(str(folder))


def policy(style: str, script: str, *, asks: bool = False) -> str:
    """Content-Security-Policy of a page with one style and one script.

    No requests, or those to its own server if it ``asks``; only this style and this script by their
    SHA-256, and images inside the page.
    """
    allowed = {
        "style-src": _digest(style),
        "script-src": _digest(script) if script else "'none'",
        "img-src": "data:",
    } | ({"connect-src": "'self'"} if asks else {})
    fixed = "default-src 'none'; base-uri 'none'; form-action 'none'"
    return "; ".join([fixed, *(f"{key} {value}" for key, value in allowed.items())])


def _digest(text: str) -> str:
    """SHA-256 source expression of an inline script for the content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def powers(text: str) -> str:
    """Sentence with numbers formatted with powers of ten.

    2.3·10⁻⁵ in place of 2.3e-05 and 0.00023 in place of 2.3e-04, as by `number`.
    """
    return _EXPONENT.sub(lambda found: _mantissa(found[1], int(found[2])), str(text))


def _mantissa(digits: str, exponent: int) -> str:
    """Number with all its digits; common magnitudes without a power of ten."""
    return (
        f"{Decimal(digits).scaleb(exponent):f}"
        if PLAIN <= exponent < 6
        else f"{digits}·{power(exponent)}"
    )


def power(exponent: int) -> str:
    """Power of ten as text: 10⁻⁶ for −6."""
    return f"10{str(exponent).translate(_SUPERSCRIPTS)}"


def number(value: float, digits: int = 4) -> str:
    """Formatted number: few digits, no exponent for common magnitudes."""
    if isinstance(value, (str, bool)):
        return str(value)
    if not math.isfinite(value):
        return str(value)
    if value == 0 or 10.0**PLAIN <= abs(value) < 1e6:
        value += 0.0  # turns −0 into 0
        return (f"{value:.{digits}g}" if abs(value) < 10**digits else f"{value:.0f}").replace(
            "-", "−"
        )
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa}·{power(int(exponent))}".replace("-", "−")
