"""Indices of kernels count from the front.

Numba lets an index count from the end, as in Python: at each access of an array it compares the
index with 0 and adds the length. No kernel of ours uses that; without it loops over parts of arrays
are vectorised (evaluations take a sixth less time) and there is less to compile (a tenth less).
Only our own functions are compiled so, not those of users or of Numba itself.

This reaches into Numba: where its inside is another, indices may count from the end.
"""

from typing import Any

OURS = "_ZN7flexmbs", "_ZN10preprocess"  # how the compiled names of our functions begin


def count_from_the_front() -> None:
    """Compile indices of our kernels as they are."""
    try:
        from numba.core import types
        from numba.np import arrayobj

        usual = arrayobj.fix_integer_index
    except (ImportError, AttributeError):
        return

    def fix_integer_index(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
        if builder.function.name.startswith(OURS) and kind.signed:
            return context.cast(builder, index, kind, types.intp)
        return usual(context, builder, kind, index, size)

    arrayobj.fix_integer_index = fix_integer_index
