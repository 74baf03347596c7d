"""Docstrings in running text as sections of numpydoc: what ``name: text`` says of a parameter,
``Raises``, ``Source``.

Declarations have these sections already. Types and defaults are those of the signature.
"""

import inspect
import itertools
import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from sphinx.application import Sphinx

END = "\x00"
ERROR = re.compile(r"`?\b(\w+(?:Error|Warning))\b`?")
SHORTER = (
    (r"\b(?:collections\.abc|typing|pathlib|preprocess|flexmbs|numpy)\.(?:\w+\.)*", ""),
    (r"ndarray\[.*?\]\]\]?", "array"),
    (r"\bndarray\b|\bArrayLike\b|\bFloatArray\b|\bArray\b", "array"),
    (r"Union\[_Buffer.*?(NoneType)?\]$", r"array\1"),
    (r"NoneType", " or None"),
    (r" \| ", " or "),
    (r"['\"]", ""),
)

COMMON = {  # of parameters that mean the same everywhere
    "model": "the model",
    "rate": "α (1/s)",
    "unit": "unit of the values",
    "path": "the file",
    "solution": "a solution",
    "body": "name of a body",
    "t": "time (s)",
    "start": "a state, equilibrium or solution to start from, instead of the declared values",
    "step": "fixed step (s), or None for error-controlled steps",
    "rtol": "relative tolerance of error-controlled steps",
    "atol": "absolute tolerance of error-controlled steps",
    "newton_tolerance": "tolerance of Newton's method",
    "max_iterations": "largest number of iterations per step",
    "at": "a state, equilibrium or solution instead of the declared state",
    "package_path": "folders with packages of ``package://`` and ``model://``",
    "allow_outside": "True if files outside the folder may be read",
    "name": "name of the item",
    "t_end": "end time (s)",
    "output_step": "interval of the output times (s)",
    "progress": "called with the completed fraction and a text",
}


class Parts(NamedTuple):
    """Text of a docstring without, and what it says of parameters, exceptions and sources."""

    text: str
    parameters: dict[str, str]
    raises: dict[str, str]
    sources: str


def parts_of(doc: str, names: list[str]) -> Parts:
    """The parts of a docstring, paragraph by paragraph; formulas, indented by four blanks, are left
    as they are.
    """
    kept, parameters, raises, sources = [], dict[str, str](), dict[str, str](), []
    for paragraph in filter(str.strip, re.split(r"\n\s*\n", doc)):
        if (
            paragraph.startswith("    ")
            or paragraph.lstrip().startswith((">>>", ".."))
            or "\n---" in paragraph
        ):
            kept.append(paragraph)
            continue
        text = " ".join(_ended(paragraph, names).split(" "))
        text, _, source = re.sub(r"\bSources: ", "Source: ", text).partition("Source: ")
        sources += [source] if source else []
        text, told = _cut(text, r"\bRaises ")
        raises |= _exceptions(told)
        text = re.sub(r" +", " ", text)
        text, found = _described(text, names)
        parameters |= found
        if text.strip():
            kept.append(" ".join(text.replace(END, " ").split()))
    return Parts("\n\n".join(kept), parameters, raises, " ".join(sources))


def _ended(paragraph: str, names: list[str]) -> str:
    """A paragraph as one line, with a mark where a new sentence begins a line that describes no
    parameter.
    """
    lines = [line.strip() for line in paragraph.splitlines()]
    text = lines[0]
    for before, line in itertools.pairwise(lines):
        new = (
            before.endswith(".")
            and line[:1].isupper()
            and not re.match(rf"`*(?:{'|'.join(map(re.escape, names)) or 'x^'})\b", line)
        )
        text += (END if new else " ") + line
    return re.sub(r" +", " ", text.replace(".  ", ". "))


def _cut(text: str, start: str) -> tuple[str, str]:
    """Text without the sentence that begins with a word, and that sentence."""
    at = re.search(start + r"(?:[^.\x00]|\.(?=\w))*\.?", text)
    return (text[: at.start()] + text[at.end() :], at[0]) if at else (text, "")


def _exceptions(sentence: str) -> dict[str, str]:
    """Each exception of a sentence with what follows it."""
    places = list(ERROR.finditer(sentence))
    ends = [place.start() for place in places[1:]] + [len(sentence)]
    texts = [sentence[place.end() : end].strip(" ,.;") for place, end in zip(places, ends)]
    return {
        place[1]: re.sub(r"[,;]? ?\b(?:and|or|an?)$", "", text).strip(" ,;")
        for place, text in zip(places, texts)
    }


def _described(text: str, names: list[str]) -> tuple[str, dict[str, str]]:
    """Text without the descriptions of parameters, and these."""
    if not names:
        return text, {}
    one = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    start = re.compile(
        rf"(?:^|(?<=[.;)] )|(?<=\x00))`*({one})((?:, `*(?:{one}))*)`*(?: (\([^()]*\)))?: "
    )
    places = list(start.finditer(text))
    if not places:
        return text, {}
    ends = [place.start() for place in places[1:]] + [len(text)]
    found, rest = {}, [text[: places[0].start()]]
    for place, end in zip(places, ends):
        shape = f"{place[3]} " if place[3] else ""
        told, _, after = text[place.end() : end].partition(END)
        rest.append(after)
        for name in [place[1], *re.findall(r"\w+", place[2])]:
            found[name] = shape + told.strip(" ;")
    return " ".join(filter(None, rest)), found


def kind_of(annotation: Any) -> str:
    """A type as a reader names it."""
    if annotation is inspect.Parameter.empty:
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    for pattern, new in SHORTER:
        text = re.sub(pattern, new, text)
    return re.sub(r"\s+", " ", text)


def sections(doc: str, thing: Any) -> str:
    """The docstring of a function, method or class with sections."""
    if "Parameters\n---" in doc:
        return doc
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return doc
    arguments = {
        name: value
        for name, value in signature.parameters.items()
        if name not in ("self", "cls", "_")
    }
    parts = parts_of(doc, list(arguments))
    told = {**COMMON, **_inherited(thing, list(arguments)), **parts.parameters}
    body, examples, shown = parts.text.partition("Examples\n--------")
    found = [body.rstrip(), ""]
    if arguments and not isinstance(thing, property) and not _is_exception(thing):
        found += ["Parameters", "----------"]
        for name, value in arguments.items():
            default = "" if value.default is inspect.Parameter.empty else ", optional"
            found += [
                f"{name} : {kind_of(value.annotation) or 'object'}{default}",
                f"    {_sentence(told.get(name, ''))}".rstrip(),
            ]
        found.append("")
    if parts.raises:
        found += ["Raises", "------"]
        for name, text in parts.raises.items():
            found += [name, f"    {_sentence(text)}".rstrip()]
        found.append("")
    if parts.sources:
        found += ["References", "----------", parts.sources, ""]
    return "\n".join([*found, examples + shown])


def _inherited(thing: Any, names: list[str]) -> dict[str, str]:
    """What the base classes of a class say of its parameters."""
    found: dict[str, str] = {}
    for base in reversed(thing.__mro__[1:]) if isinstance(thing, type) else ():
        found |= parts_of(inspect.cleandoc(base.__doc__ or ""), names).parameters
    return found


def _sentence(text: str) -> str:
    """A text that begins with a capital and ends with a point."""
    text = text.strip().rstrip(".")
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _is_exception(thing: Any) -> bool:
    return isinstance(thing, type) and issubclass(thing, BaseException)


def prepare(
    app: "Sphinx", what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Prepare a docstring for numpydoc, in place."""
    if what in ("function", "method", "class"):
        lines[:] = sections("\n".join(lines), thing).split("\n")


def setup(app: "Sphinx") -> dict[str, bool]:
    app.connect("autodoc-process-docstring", prepare, priority=50)
    return {"parallel_read_safe": True}
