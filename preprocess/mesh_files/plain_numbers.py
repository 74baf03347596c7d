"""Numbers as finite-element programs write them, in place of Python's notation.

Fortran writes exponents with D, 1.5D+3. Python also accepts underscores (1_5 is fifteen) and the
digits of other scripts, which no such program writes.
"""


def real(text: str) -> float:
    """Real number, also with Fortran's D for the exponent. Raises ValueError."""
    return float(plain(text).upper().replace("D", "E"))


def whole(text: str) -> int:
    """Integer with or without a sign. Raises ValueError."""
    return int(plain(text))


def plain(text: str) -> str:
    """The text. Raises ValueError for characters that are in no number of a file."""
    if "_" in text or not text.isascii():
        raise ValueError(f"{text!r} is not a number")
    return text
