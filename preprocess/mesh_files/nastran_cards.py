"""Entries (cards) of Nastran bulk data.

Small, large and free fields, continuation lines, included files.

Source: MSC Nastran, Quick Reference Guide, section "Format of Bulk Data Entries".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from flexmbs.errors import InputError
from preprocess.mesh_files import plain_numbers
from preprocess.mesh_files.claims import CARD, Claims
from preprocess.mesh_files.include import Includes

TEXTS = ("DEQATN", "METADATA", "SELABEL", "UDNAME")  # whose fields, and commas, are those of a text
_TEXT = re.compile(rf"\s*({'|'.join(TEXTS)})(?![A-Z0-9])", re.I)
_INCLUDE = re.compile(r"\s*INCLUDE\s+([^$]+)", re.I)


@dataclass
class Card:
    """One entry: name, fields without the name, location of its first line, claims of its file."""

    name: str
    fields: list[str]
    line: str
    claims: Claims = field(default_factory=Claims)


def included_name(text: str) -> str | None:
    """Name of the file that a line includes, None for other lines."""
    found = _INCLUDE.match(text)
    return found.group(1) if found else None


def cards_of(path: Path, lines: list[str], before: int, includes: Includes) -> Iterator[Card]:
    """Cards with their continuation lines, following includes. Raises `InputError`."""
    found = _Entries(includes.claims)
    for number, raw in enumerate(lines, before + 1):
        text = raw.partition("$")[0].rstrip().expandtabs(8)
        if not text.strip():
            continue
        where = f"{path}:{number}"
        included = included_name(text)
        if included is not None:
            found.cards += cards_of(path, includes.lines(where, included), 0, includes)
            found.last = None
            includes.close()
        elif not found.add(text, where):
            break
    found.join()
    yield from found.cards


class _Entries:
    """Cards read so far, and continuation lines that wait for theirs."""

    def __init__(self, claims: Claims) -> None:
        """No cards."""
        self.claims = claims
        self.cards: list[Card] = []
        self.last: Card | None = None
        self._tail = ""  # the name that the last line gives its continuation
        self._open: dict[str, Card] = {}  # cards by the name of a continuation yet to come
        self._loose: dict[str, tuple[list[str], str, str]] = {}  # fields, tail, line
        self._steps: list[float | None] = []  # of the last replicated card

    def add(self, text: str, where: str) -> bool:
        """Add a line; False at the end of the data. Raises InputError."""
        if written := _TEXT.match(text):
            self._begin(Card(written.group(1).upper(), [], where, self.claims), "")
            return True
        name, fields = fields_of(text)
        continues = name in ("", "+") or name.startswith(("+", "*"))
        in_text = self.last is not None and self.last.name in TEXTS
        if in_text and (continues or not text[:8].strip()):
            return True
        _refuse_more_fields(text, where)
        if continues:
            self._continue(name, fields, _tail(text), where)
        elif name.startswith("="):
            self._replicate(name, fields, where)
        elif name == "ENDDATA":
            return False
        else:  # meshio writes CTETRA_
            self._begin(Card(name.rstrip("*").rstrip("_"), fields, where, self.claims), _tail(text))
        return True

    def _begin(self, card: Card, tail: str) -> None:
        """Begin a card whose continuation has the name ``tail``, "" for any."""
        self.cards.append(card)
        self.last, self._tail = card, tail
        if tail:
            self._open[tail] = card

    def _continue(self, name: str, fields: list[str], tail: str, where: str) -> None:
        """Add a continuation line to the card before, or to the one that names it."""
        own = _continuation_name(name)
        # of the name at the end of a line the first character counts for nothing
        if (
            own
            and own not in (self._tail, self._tail[1:])
            and (own in self._open or self._tail or self.last is None)
        ):
            # it belongs to another card, before or after it
            if own in self._loose:
                raise InputError(f"{where}: continuation '{name}' occurs twice; name them uniquely")
            self._loose[own] = fields, tail, where
            return
        if self.last is None:
            raise InputError(f"{where}: continuation line without a preceding card: '{name}'")
        self._open.pop(self._tail, None)
        self.last.fields += fields
        self._tail = tail
        if tail:
            self._open[tail] = self.last

    def _replicate(self, name: str, fields: list[str], where: str) -> None:
        """Repeat the card before with changes, or the last changes "=n" times.

        "=" copies a field, "==" all further ones, and "*(x)" or "*x" adds x to the field of the card
        before. Source: MSC Nastran, Quick Reference Guide, "Replication".
        """
        if self.last is None:
            raise InputError(f"{where}: '{name}' repeats the card before, but there is none")
        times = re.fullmatch(r"=\(?(\d{1,6})\)?", name)
        if times and not any(fields):
            self.claims.add(where, int(times.group(1)), "cards", CARD)
            for _ in range(int(times.group(1))):
                steps = zip(self.last.fields, self._steps)
                fields = [_increased(*each, where) for each in steps]
                self._begin(Card(self.last.name, fields, where, self.claims), "")
            return
        if name not in ("=", "=="):
            raise InputError(f"{where}: '{name}' is no replication; write =, == or =n")
        before, rest = self.last.fields, name == "=="
        written, self._steps = [], []
        for k in range(max(len(before), len(fields))):
            old, new = (each[k] if k < len(each) else "" for each in (before, fields))
            rest = rest or new == "=="
            step = re.fullmatch(r"\*\(?([^()]*)\)?", new)
            self._steps.append(_number(step.group(1), where) if step and not rest else None)
            written.append(
                old
                if rest or new == "="
                else _increased(old, self._steps[-1], where)
                if step
                else new
            )
        self._begin(Card(self.last.name, written, where, self.claims), "")

    def join(self) -> None:
        """Add the continuation lines that were apart from their cards. Raises InputError."""
        while joined := [name for name in self._open if name in self._loose]:
            for name in joined:
                card = self._open.pop(name)
                fields, tail, _ = self._loose.pop(name)
                card.fields += fields
                if tail:
                    self._open[tail] = card
        for name, (_, _, where) in self._loose.items():
            raise InputError(f"{where}: continuation '+{name}' follows no card; name its card")


def _number(text: str, where: str) -> float:
    """Increment of a replication. Raises InputError."""
    try:
        return real(text)
    except ValueError:
        raise InputError(f"{where}: increment '{text[:20]}'; give a number") from None


def _increased(text: str, step: float | None, where: str) -> str:
    """Field of a replicated card: the text before plus a step."""
    if step is None:
        return text
    value = _number(text, where) + step
    return str(round(value)) if text.strip().isdecimal() and step == round(step) else repr(value)


def fields_of(text: str) -> tuple[str, list[str]]:
    """Card name and fields of a line in free, small or large format.

    Free with commas, large fields of 16 columns after a star, otherwise small fields of 8.
    """
    if "," in text[:80]:
        name, *fields = (part.strip() for part in text.split(","))
        count = 4 if name.endswith("*") or name.startswith("*") else 8
        return name.upper(), (fields + [""] * count)[:count]
    name = text[:8].strip().upper()
    if name.endswith("*"):  # "GRID   *" in punch files
        name = f"{name[:-1].rstrip()}*"
    width, count = (16, 4) if name.endswith("*") or name.startswith("*") else (8, 8)
    return name, [text[8 + width * k : 8 + width * (k + 1)].strip() for k in range(count)]


def _continuation_name(name: str) -> str:
    """Name of a continuation without its sign."""
    return name.lstrip("+*").replace(" ", "").upper()


def _tail(text: str) -> str:
    """Name of the continuation in the last field of a line, without its sign; "" for none."""
    if "," in text[:80]:
        name, *fields = (part.strip() for part in text.split(","))
        last = fields[4 if "*" in name else 8 :][:1]
        return _continuation_name(last[0]) if last else ""
    return _continuation_name(text[72:80].strip())


def _refuse_more_fields(text: str, where: str) -> None:
    """Raise InputError for data after the last field of a line with commas.

    Only the name of its continuation may follow there.
    """
    name, *fields = (part.strip() for part in text.split(","))
    more = fields[4 if "*" in name else 8 :]
    if any(more[1:]) or (more and re.fullmatch(r"[\d.]+", more[0])):
        raise InputError(
            f"{where}: {name} has more fields than a line can hold; continue them on the next line"
        )


def real(text: str) -> float:
    """Real number in Nastran's notation, 1.5+3 and 1.5D+3 included; zero if blank.

    Raises ValueError.
    """
    try:
        return plain_numbers.real(text)
    except ValueError:
        short = re.fullmatch(r"([+-]?(?:\d+\.?\d*|\.\d+))([+-]\d+)", text)
    return plain_numbers.real(f"{short.group(1)}E{short.group(2)}" if short else text or "0")


def text_field(card: Card, index: int) -> str:
    """Text of a field of a card; empty beyond its end."""
    return card.fields[index] if index < len(card.fields) else ""


def integer_field(card: Card, index: int, default: int | None = None) -> int:
    """An integer field. Raises InputError naming the card."""
    text = text_field(card, index)
    if text.isdecimal() and len(text) <= 15:
        return int(text)
    if not text and default is not None:
        return default
    if not re.fullmatch(r"[+-]?\d{1,15}", text):
        raise InputError(
            f"{card.line}: {card.name} field {index + 2}: expected an integer, found '{text[:30]}'"
        )
    return int(text)


def real_field(card: Card, index: int) -> float:
    """A real number. Raises InputError naming the card."""
    text = text_field(card, index)
    try:
        return real(text)
    except ValueError:
        raise InputError(
            f"{card.line}: {card.name} field {index + 2}: expected a number, found '{text[:30]}'"
        ) from None


def listed_numbers(entries: list[str], where: str, claims: Claims) -> list[int]:
    """Integers of a list that may contain ranges "a THRU b"."""
    words = [entry.upper() for entry in entries if entry]
    result: list[int] = []
    for index, word in enumerate(words):
        if (
            word == "THRU"
            and 0 < index < len(words) - 1
            and words[index - 1].isdigit()
            and words[index + 1].isdigit()
        ):
            first, last = int(words[index - 1]), int(words[index + 1])
            result += claims.range(where, first + 1, last - 1)
        elif re.fullmatch(r"\d{1,15}", word):
            result.append(int(word))
        else:
            raise InputError(f"{where}: expected a number or THRU, found '{word[:30]}'")
    return result
