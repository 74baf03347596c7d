"""Numbers in the texts of XML elements."""

import math

from flexmbs.errors import shown
from flexmbs.model.fields import LARGEST


def numbers(text: str, count: int | None = None) -> tuple[float, ...]:
    """Finite numbers separated by blanks, ``count`` of them or any number. Raises ValueError."""
    parts = text.split()
    if count is not None and len(parts) != count:
        raise ValueError(f"must be {count} number{'' if count == 1 else 's'}, not {shown(text)}")
    try:
        if "_" in text or not text.isascii():  # accepted by Python, but not numbers in XML
            raise ValueError
        values = tuple(float(part) for part in parts)
    except ValueError:
        raise ValueError(
            f"must be {'a number' if count == 1 else 'numbers'}, not {shown(text)}"
        ) from None
    if not all(map(math.isfinite, values)):
        raise ValueError(f"must be finite, not {shown(text)}")
    if max(map(abs, values), default=0.0) > LARGEST:
        raise ValueError(f"must be within ±{LARGEST:g}, not {shown(text)}")
    return values
