"""Array indices of kernels without wraparound: negative ones do not count from the end.

Numba compares each index with 0 and adds the length to negative ones. No kernel of these packages
uses that. Without it, loops over parts of arrays are vectorised (evaluations take a sixth less
time) and there is less to compile (a tenth less). Functions of users and of Numba itself are
compiled as usual.

One function of Numba's is replaced; if it does not exist, indices keep the usual meaning.
"""

from typing import Any

OURS = "_ZN7flexmbs", "_ZN10preprocess"  # begin of the compiled names of functions of the packages


def count_from_the_front() -> None:
    """Disable Numba's treatment of negative indices in functions of flexmbs."""
    try:
        from numba.core import types
        from numba.np import arrayobj

        usual = arrayobj.fix_integer_index
    except (ImportError, AttributeError):
        return

    def fix_integer_index(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
        """Emit an index without the test for negative ones in functions of flexmbs."""
        if builder.function.name.startswith(OURS) and kind.signed:
            return context.cast(builder, index, kind, types.intp)
        return usual(context, builder, kind, index, size)

    arrayobj.fix_integer_index = fix_integer_index
