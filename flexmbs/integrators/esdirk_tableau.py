"""Coefficients of ESDIRK5(4)7L[2]SA2.

Seven stages, the first explicit, the others with one diagonal entry γ = 23/125.

    Σ_j a_ij = c_i,   Σ_j a_ij c_j = ½ c_i²  (stage order 2),   a_7j = b_j  (stiffly accurate),   Σ b̂ = 1:

order 5 with an embedded order 4, L-stable. First entries of the rows of A follow from the nodes,
that of b̂ from Σ b̂ = 1.

Theory: docs/theory.md, section 47. Kennedy and Carpenter (2019), Appl. Numer. Math. 146, 221, and
NASA/TM-2016-219173; order conditions: Hairer, Nørsett and Wanner, Solving Ordinary Differential
Equations I (1993), chapter II.
"""

from fractions import Fraction

import numpy as np

STAGES = 7
GAMMA = 23 / 125
DEGREE = 4  # of the continuous method
GUESS_DEGREE = 3  # of the polynomial through rates of earlier stages

_NODES = (
    Fraction(0), Fraction(46, 125), Fraction(7121331996143, 11335814405378), Fraction(49, 353),
    Fraction(3706679970760, 5295570149437), Fraction(347, 382), Fraction(1),
)  # fmt: skip
_ROWS = (  # columns 2 … i − 1 of row i of A
    (),
    (),
    (Fraction(791020047304, 3561426431547),),
    (Fraction(-158159076358, 11257294102345), Fraction(-85517644447, 5003708988389)),
    (
        Fraction(-1653327111580, 4048416487981),
        Fraction(1514767744496, 9099671765375),
        Fraction(14283835447591, 12247432691556),
    ),
    (
        Fraction(-4540011970825, 8418487046959),
        Fraction(-1790937573418, 7393406387169),
        Fraction(10819093665085, 7266595846747),
        Fraction(4109463131231, 7386972500302),
    ),
    (
        Fraction(-188593204321, 4778616380481),
        Fraction(2809310203510, 10304234040467),
        Fraction(1021729336898, 2364210264653),
        Fraction(870612361811, 2470410392208),
        Fraction(-1307970675534, 8059683598661),
    ),
)
_EMBEDDED = (  # b̂ from its second entry
    Fraction(-582099335757, 7214068459310),
    Fraction(615023338567, 3362626566945),
    Fraction(3192122436311, 6174152374399),
    Fraction(6156034052041, 14430468657929),
    Fraction(-1011318518279, 9693750372484),
    Fraction(1914490192573, 13754262428401),
)


def _matrix() -> np.ndarray:
    """Runge–Kutta matrix A (7, 7); its first column follows from the nodes c."""
    A = np.zeros((STAGES, STAGES))
    for i in range(1, STAGES):
        later = [*_ROWS[i], Fraction(23, 125)]
        A[i, : i + 1] = [float(each) for each in (_NODES[i] - sum(later), *later)]
    return A


def _powers(x: np.ndarray, degree: int) -> np.ndarray:
    """Powers x⁰ … xⁿ of each x, (len(x), degree + 1)."""
    return x[:, None] ** np.arange(degree + 1)


def _continuous(A: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Coefficients B of the weights of dense output, b_j(θ) = Σ_p B[j, p] θ^(p+1).

    Order 4 at every θ, A's last row at θ = 1, rates of the first and the last stage at the ends.
    With A c = ½ c² of stage order 2, order 4 requires Σ b φ = θ, θ²/2, θ³/3, θ⁴/4, θ⁴/12 with φ =
    1, c, c², c³, A c².
    """
    functions = ((c**0, 1, 1.0), (c, 2, 2.0), (c**2, 3, 3.0), (c**3, 4, 4.0), (A @ c**2, 4, 12.0))
    rows, values = [], []
    for phi, power, divisor in functions:
        for p in range(1, DEGREE + 1):
            rows.append(np.outer(phi, np.arange(1, DEGREE + 1) == p).ravel())
            values.append(1.0 / divisor if p == power else 0.0)
    first, last = np.eye(STAGES)[0], np.eye(STAGES)[-1]
    for weights, wanted in (
        (np.ones(DEGREE), A[-1]),
        (np.arange(DEGREE) == 0, first),
        (np.arange(1, DEGREE + 1), last),
    ):
        for j in range(STAGES):
            rows.append(np.outer(np.arange(STAGES) == j, weights).ravel())
            values.append(wanted[j])
    # more coefficients than conditions: those of least norm, which amplify errors of the rates
    # least
    found, *_ = np.linalg.lstsq(np.array(rows, float), np.array(values), rcond=None)
    return np.ascontiguousarray(found.reshape(STAGES, DEGREE))


def _guesses(c: np.ndarray) -> np.ndarray:
    """Weights that extrapolate the rates of stages 0 … i − 1 to stage i, in row i.

    By a polynomial through these rates, or nearest to them.
    """
    weights = np.zeros((STAGES, STAGES))
    for i in range(2, STAGES):
        degree = min(i - 1, GUESS_DEGREE)
        weights[i, :i] = _powers(c[i : i + 1], degree)[0] @ np.linalg.pinv(_powers(c[:i], degree))
    return weights


A = _matrix()
C = np.array([float(each) for each in _NODES])
EMBEDDED = np.array([float(each) for each in (1 - sum(_EMBEDDED), *_EMBEDDED)])
WEIGHTS = np.array(
    [A[-1] - EMBEDDED, (A[-1] - EMBEDDED) @ A]
)  # of ṡ of the stages, for the errors of velocities and displacements
DENSE = _continuous(A, C)
GUESS = _guesses(C)
# rates of a step at θ: Σ_p θ^p Σ_j AHEAD[j, p] k_j
AHEAD = np.ascontiguousarray(np.linalg.pinv(_powers(C, GUESS_DEGREE)).T)
