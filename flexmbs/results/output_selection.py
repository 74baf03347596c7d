"""Selection of output times likely to contain extremes, and of places of a body.

For expensive quantities.
"""

import numpy as np

from flexmbs.results.stress_values import FloatArray, IntArray


def outputs_with_extremes(scores: FloatArray, most: int) -> IntArray:
    """Indices of at most ``most`` outputs likely to contain the maxima of scores.

    Half of them are equally spaced, the others at the largest local maxima of inexpensive scores
    (k, nt).
    """
    k, nt = scores.shape
    if nt <= most:
        return np.arange(nt)
    peaks = [_peaks(score)[: most // 2 // k] for score in scores]
    return np.unique(
        np.concatenate([*peaks, np.linspace(0, nt - 1, most - most // 2).astype(np.int64)])
    )


def equally_spaced(count: int, most: int) -> IntArray:
    """Equally spaced indices below ``count``, at most ``most``."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))


def _peaks(score: FloatArray) -> IntArray:
    """Indices of the local maxima (nt,), the largest first."""
    padded = np.concatenate([[-np.inf], score, [-np.inf]])
    tops = np.flatnonzero((score >= padded[:-2]) & (score > padded[2:]))
    return tops[np.argsort(-score[tops], kind="stable")]
