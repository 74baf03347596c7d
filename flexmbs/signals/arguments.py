"""Arguments of analyses of signals: lists of numbers, names out of a list."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexmbs.declaration import close_names, shown
from flexmbs.errors import InputError

FloatArray = NDArray[np.float64]


def number_list(value: Any, key: str, *, least: float = -np.inf) -> FloatArray:
    """A list (n,) of finite numbers, n ≥ 1, none below ``least``. Raises InputError."""
    try:
        given = np.atleast_1d(np.asarray(value))
    except ValueError:  # rows of unlike lengths
        given = np.array(["?"])
    if given.dtype.kind not in "iuf":
        raise InputError(f"{key}: must be a list of numbers, not {shown(value)}")
    found = given.astype(float)
    if found.ndim != 1 or not len(found):
        raise InputError(f"{key}: must be a list of one or more numbers, not an array of shape {found.shape}")
    wrong = found[~(np.isfinite(found) & (found >= least))]
    if len(wrong):
        limit = "" if least == -np.inf else f" from {least:g}"
        raise InputError(f"{key}: {wrong[0]:g} is not allowed; give finite numbers{limit}")
    return found


def chosen_names(wanted: Iterable[Any] | None, known: Sequence[str], key: str) -> list[str]:
    """Names out of ``known``, each a text or a tuple of its words; all of them by default. Raises InputError."""
    if wanted is None:
        return list(known)
    given = [wanted] if isinstance(wanted, str) or not isinstance(wanted, Iterable) else list(wanted)
    for name in given:
        if not isinstance(name, str | tuple):
            raise InputError(f"{key}: {shown(name)} is no name; give one of: {', '.join(known)}")
    found = [name if isinstance(name, str) else " ".join(map(str, name)) for name in given]
    unknown = [name for name in found if name not in known]
    if unknown:
        raise InputError(*(f"{key}: '{name}' is not there; {close_names(name, known)}" for name in unknown))
    return found
