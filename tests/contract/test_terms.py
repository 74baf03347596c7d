"""The terms that `fm.matrices` names: identities of docs/theory.md, sections 16 to 29, at states of
random models.
"""

import functools

import numpy as np
import pytest
from any_models import any_model
from random_models import Recipe, random_model

import flexmbs as fm
from flexmbs.model.forces.force import JointForce, OnSeveral
from flexmbs.model.relations.relation import Relation
from flexmbs.studies.states.balance import moved
from flexmbs.studies.states.evaluate import Evaluator
from flexmbs.studies.states.tangent import dense
from flexmbs.studies.terms.matrices import Matrices

SEEDS = range(9)
BY_DIFFERENCES = 1e-4  # rows of user functions without derivatives


def close(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-10) -> bool:
    scale = max(np.abs(found).max(initial=0.0), np.abs(expected).max(initial=0.0), 1e-3)
    return bool(np.abs(found - expected).max(initial=0.0) <= tolerance * scale)


@functools.cache
def drawn(seed: int, coordinates: str = "joint") -> Matrices:
    if coordinates != "joint":
        return fm.matrices(
            drawn(seed).state.compiled.model, start=drawn(seed).state, coordinates=coordinates
        )
    model = any_model(seed).model
    return fm.matrices(model, start=fm.state(model))


def tolerance(terms: Matrices) -> float:
    joints = terms.state.compiled.model.joints.values()
    return BY_DIFFERENCES if any(isinstance(joint, Relation) for joint in joints) else 1e-9


@pytest.mark.parametrize("seed", SEEDS)
def test_open_chain(seed: int) -> None:
    """B J = C, M̂ = JᵀMJ, k = k^c + k^t = −Jᵀ(M ā − f^c) + Jᵀf^t, G^ℓ = G^s J, γ^ℓ = γ^s − G^s ā,
    Jᵀ f^k = 0.
    """
    terms = drawn(seed)
    chain, s = terms.open_chain, terms.state.s
    assert close((chain.B @ chain.J)[:, terms.reference], chain.C)
    assert close(
        (chain.B @ chain.J)[:, terms.elastic], np.zeros((len(chain.B), len(terms.elastic)))
    )
    assert close(chain.B @ chain.J @ s, chain.C @ s[terms.reference] + chain.v_rel)
    assert close(chain.J.T @ chain.M @ chain.J, terms.M)
    assert close(-chain.J.T @ (chain.M @ chain.a_bar - chain.f_c), terms.k_c, 1e-9)
    assert close(chain.J.T @ chain.f_t, terms.k_t, 1e-9)
    assert close(terms.k_c + terms.k_t, terms.k, 1e-9)
    assert close(chain.G_s @ chain.J, terms.G, tolerance(terms))
    assert close(chain.gamma_s - chain.G_s @ chain.a_bar, terms.gamma, tolerance(terms))
    assert close(chain.gamma_bar_s, terms.gamma_bar, tolerance(terms))


@pytest.mark.parametrize("seed", SEEDS)
def test_block_system(seed: int) -> None:
    """The system of bodies, joints and loops gives ẏ = J ṡ + ā and η̇ of the formalisms; f^p and λ
    balance the bodies.
    """
    terms = drawn(seed)
    chain, sd = terms.open_chain, terms.state.sd
    found, bound = chain.system.solve(), max(tolerance(terms), 1e-8)
    assert close(found["ẏ"], chain.J @ sd + chain.a_bar, bound)
    assert close(found["η̇"], sd[terms.reference], bound)
    through = chain.M @ found["ẏ"] - chain.f_c - chain.f_t
    assert close(chain.B.T @ found["f^p"] + chain.G_s.T @ found["λ"], through, bound)
    assert close(
        chain.J.T @ chain.B.T @ found["f^p"],
        np.zeros(len(sd)),
        bound * max(1.0, np.abs(found["f^p"]).max()),
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_explicit_constraints(seed: int) -> None:
    """G J_loop = 0, G s̄ + γ̄ = 0, G p = γ, and the same of the bodies; σ̇ of M_ii σ̇ = Q_i is that
    of the multipliers.
    """
    terms = drawn(seed)
    bound = tolerance(terms)
    assert close(terms.G @ terms.J_loop, np.zeros_like(terms.G @ terms.J_loop))
    assert close(terms.G @ terms.s_bar, -terms.gamma_bar, 1e-8)
    assert close(terms.G @ terms.p, terms.gamma, 1e-6)
    chosen = [terms.velocities.index(name) for name in terms.independent]
    rates = np.linalg.solve(terms.M_ii, terms.Q_i) if chosen else np.zeros(0)
    assert close(terms.J_loop @ rates + terms.p, terms.state.sd, max(bound, 1e-7))
    twists = terms.J @ terms.state.s
    assert close(terms.J_free @ terms.state.s[chosen] + terms.v_free, twists, 1e-7)
    assert close(
        terms.J_free @ terms.state.sd[chosen] + terms.a_free,
        terms.J @ terms.state.sd + terms.a_bar,
        max(bound, 1e-7),
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_partitioned_inverse(seed: int) -> None:
    """ṡ = M_qq k + M_qλ γ; M_qq G = 0; the inverse itself where the rows are independent."""
    terms = drawn(seed)
    assert close(terms.M_qq @ terms.k + terms.M_ql @ terms.gamma, terms.state.sd, 1e-6)
    assert close(terms.M_qq @ terms.G.T, np.zeros_like(terms.M_qq @ terms.G.T))
    if np.linalg.matrix_rank(terms.G) == len(terms.G):
        whole = np.block([[terms.M, terms.G.T], [terms.G, np.zeros((len(terms.G),) * 2)]])
        inverse = np.block([[terms.M_qq, terms.M_ql], [terms.M_ql.T, terms.M_ll]])
        assert close(inverse @ whole, np.eye(len(whole)), 1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_articulated_terms(seed: int) -> None:
    """C_iᵀ f^p_i = τ_i with f^p_i = M*_i W_i − f*_i, W_i the rates of the frame at the joint, of
    trees without rotors, whose torques would be in τ_i: `test_rotors`."""
    model = random_model(Recipe(bodies=4, forces=4), seed)[0]
    terms = fm.matrices(model, start=fm.state(model))
    compiled, chain = terms.state.compiled, terms.open_chain
    on_joints = [
        name
        for name, force in compiled.model.forces.items()
        if isinstance(force, JointForce | OnSeveral)
    ]
    tau = sum((terms.forces.Q_e[name] for name in on_joints), np.zeros(len(terms.k)))
    rates, at = chain.J @ terms.state.sd, 0
    for i, name in enumerate(compiled.bodies):
        own, nf = terms.recursion[name], int(compiled.system.tree.nf[i])
        to, nv = int(compiled.system.tree.s_at[i]), int(compiled.system.tree.nv[i])
        W = chain.B[6 * i : 6 * i + 6, at : at + 6 + nf] @ rates[at : at + 6 + nf]
        scale = max(1.0, np.abs(own.f_star).max())
        assert (
            np.abs(own.C.T @ (own.M_star @ W - own.f_star) - tau[to : to + nv]).max(initial=0.0)
            < 1e-8 * scale
        )
        assert close(own.N, own.C.T @ own.M_star @ own.C)
        at += 6 + nf


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("seed", SEEDS)
def test_quadratic_velocity_vector(seed: int, coordinates: str) -> None:
    """sᵀQ_v = −½ sᵀ Ṁ s: without other forces the kinetic energy is constant."""
    terms = drawn(seed, coordinates)
    s, h = terms.state.s, 1e-4 / (1.0 + np.abs(terms.state.s).max())
    M = [dense(moved(terms.state, k * h * s)).M for k in (-2, -1, 1, 2)]
    rate = (8.0 * (M[2] - M[1]) - (M[3] - M[0])) / (12.0 * h)
    power = float(s @ terms.Q_v)
    assert power == pytest.approx(
        -0.5 * float(s @ rate @ s), abs=1e-6 * (1.0 + np.abs(s).max() ** 3 * np.abs(terms.M).max())
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_terms_of_bodies(seed: int) -> None:
    """Blocks of 𝓜 and, of rigid bodies, Q_v in closed form: −(m ω × v + ω × (ω × c), c × (ω × v) +
    ω × Θω).
    """
    terms = drawn(seed)
    twists, bodies = (terms.J @ terms.state.s).reshape(-1, 6), terms.state.compiled.system.bodies
    for i, name in enumerate(terms.bodies):
        body = terms.body(name)
        assert close(
            np.block([[body.m_TT, body.m_TR, body.m_Tf], [body.m_TR.T, body.m_RR, body.m_Rf]]),
            body.M[:6],
        )
        assert close(body.m_TT, bodies.mass[i] * np.eye(3))
        if len(body.K_ff):
            continue
        v, w, c = twists[i, :3], twists[i, 3:], bodies.first[i]
        turn = np.cross(w, v)
        force = -(bodies.mass[i] * turn + np.cross(w, np.cross(w, c)))
        assert close(body.Q_v_T, force, 1e-8)
        assert close(body.Q_v_R, -(np.cross(c, turn) + np.cross(w, body.m_RR @ w)), 1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_embedding_factors_the_same_matrix(seed: int) -> None:
    """BᵀMB of the formalism, of which its workspace holds the Cholesky factor, is M_ii."""
    terms = drawn(seed)
    compiled, here = terms.state.compiled, terms.state
    if not terms.independent or np.linalg.matrix_rank(terms.G) != len(terms.G):
        pytest.skip("independent rows and freedoms are wanted")
    evaluator = Evaluator(compiled, fm.Embedding(quasi_velocities=terms.independent), here.beta)
    evaluator.at(here.t, here.q, here.s, here.z)
    f = len(terms.independent)
    U = np.triu(evaluator.workspace.H[:f, :f])
    assert close(np.sort(np.linalg.eigvalsh(U.T @ U)), np.linalg.eigvalsh(terms.M_ii), 1e-8)


def test_bad_arguments() -> None:
    terms = drawn(1)
    model = terms.state.compiled.model
    with pytest.raises(
        fm.InputError, match=r"formalism: 'newton' is not known; choose one of multiplier"
    ):
        fm.matrices(model, formalism="newton")
    with pytest.raises(
        fm.InputError, match=r"coordinates: 'recursive' works in joint coordinates only"
    ):
        fm.matrices(model, formalism="recursive", coordinates="absolute")
    with pytest.raises(fm.InputError, match=r"body 'none' is not in the model; it has: "):
        terms.body("none")


@pytest.mark.parametrize("formalism", ["multiplier", "embedding", "partitioning", "recursive"])
def test_overview(formalism: str) -> None:
    terms = fm.matrices(any_model(7).model, formalism=formalism)
    assert formalism in str(terms).splitlines()[0]
    assert terms._repr_html_().count("<tr>") == 14
    assert len(str(terms.system).splitlines()) >= 2
    assert dict(terms.system.unknowns).keys() == dict.fromkeys(terms.system.solve()).keys()
