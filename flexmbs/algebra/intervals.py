"""Search in increasing numbers, for law kernels (`flexmbs.law_kernel`) and all other kernels."""

from flexmbs.law_kernel import LawPart


@LawPart
def interval(p, o, n, x):
    """Index of the interval of p[o] … p[o + n − 1] that contains x, clamped to the ends."""
    low, high = 0, n - 1
    while high - low > 1:
        middle = (low + high) // 2
        if p[o + middle] <= x:
            low = middle
        else:
            high = middle
    return low
