"""`matrices`: the terms of the equations of a model at a state, by name.

For teaching, verification and user-defined methods.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from flexmbs.api.model import Model
from flexmbs.checked_arguments import checked_arguments
from flexmbs.declaration import shown
from flexmbs.dynamics.dense import Terms, elastic_velocities
from flexmbs.errors import InputError
from flexmbs.formalisms import FORMALISMS
from flexmbs.formalisms.formalism import Formalism
from flexmbs.initial.analysis_arguments import require_no_samplers
from flexmbs.initial.inconsistent_rates import row_owners
from flexmbs.initial.initial_state import InitialState, in_coordinates
from flexmbs.results.block_system import BlockSystem, bordered
from flexmbs.results.state import HasState, State, settled_state, started, state_about
from flexmbs.studies.states.balance import equation_sizes, free_directions
from flexmbs.studies.states.jacobians import body_jacobian, kinematic_matrix, partition
from flexmbs.studies.states.tangent import dense
from flexmbs.studies.terms.articulated_terms import ArticulatedTerms, articulated
from flexmbs.studies.terms.body_terms import BodyTerms
from flexmbs.studies.terms.forces_by_cause import ForcesByCause, forces_by_cause
from flexmbs.studies.terms.free_bodies import bias_rates
from flexmbs.studies.terms.matrices_summary import html, summary
from flexmbs.studies.terms.open_chain import OpenChain, open_chain
from flexmbs.system.names import velocity_names
from flexmbs.system.step_scales import displacement_sizes


@dataclass(frozen=True, eq=False)
class Matrices:
    """M ṡ = k + Gᵀλ, G ṡ = γ, ġ = G s + γ̄ and all that follows from them at a state.

    docs/theory.md, sections 16 to 29.

    velocities: names of the columns.  constraints: joint or drive of each row.  bodies: their
    names, in the order of V. M (ns, ns), k (ns,), G (nc, ns), gamma (nc,), g (nc,), gamma_bar
    (nc,). J (6 nb, ns): twists of the bodies in their own axes, V = J s. independent: names of the
    independent velocities σ.  J_loop (ns, f), s_bar (ns,), p (ns,): explicit loop closure s =
    J_loop σ + s̄, ṡ = J_loop σ̇ + p, G J_loop = 0,  J_loop = [1; −G_d⁻¹ G_i],  s̄ = [0; −G_d⁻¹ γ̄],
    p = [0; G_d⁻¹ γ]. H (nq, ns): q̇ = H s.  H_bar = H_i J_loop, h_bar = H_i s̄ for the positions of
    the independent velocities; 1 and 0 if these are rotations about and translations along axes.
    Further terms are computed on request; ``print`` gives an overview, `plot` the
    pattern of the equations solved.
    """

    state: State
    formalism: str
    velocities: tuple[str, ...]
    constraints: tuple[str, ...]
    bodies: tuple[str, ...]
    M: np.ndarray
    k: np.ndarray
    G: np.ndarray
    gamma: np.ndarray
    g: np.ndarray
    gamma_bar: np.ndarray
    J: np.ndarray
    independent: tuple[str, ...]
    J_loop: np.ndarray
    s_bar: np.ndarray
    p: np.ndarray
    H: np.ndarray
    H_bar: np.ndarray
    h_bar: np.ndarray

    @cached_property
    def elastic(self) -> np.ndarray:
        """Indices of the elastic velocities in s."""
        return elastic_velocities(self.state.compiled.system)

    @cached_property
    def reference(self) -> np.ndarray:
        """Indices of the velocities of joints and bodies in s."""
        return np.setdiff1d(np.arange(len(self.M)), self.elastic)

    @cached_property
    def columns(self) -> dict[str, np.ndarray]:
        """Indices of the velocities s by body or joint.

        The name is the part of a velocity's name before the last dot.
        """
        owner = [name.rpartition(".")[0] for name in self.velocities]
        return {
            name: np.flatnonzero([each == name for each in owner]) for name in dict.fromkeys(owner)
        }

    @cached_property
    def rows(self) -> dict[str, np.ndarray]:
        """Indices of the constraint rows by joint or drive."""
        return {
            name: np.flatnonzero([each == name for each in self.constraints])
            for name in dict.fromkeys(self.constraints)
        }

    def _block(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Block of the mass matrix for rows a and columns b."""
        return self.M[np.ix_(a, b)]

    @property
    def m_rr(self) -> np.ndarray:
        """M of the reference velocities."""
        return self._block(self.reference, self.reference)

    @property
    def m_rf(self) -> np.ndarray:
        """M between reference and elastic velocities."""
        return self._block(self.reference, self.elastic)

    @property
    def m_ff(self) -> np.ndarray:
        """M of the elastic velocities."""
        return self._block(self.elastic, self.elastic)

    @property
    def G_r(self) -> np.ndarray:
        """Columns of G of the reference velocities."""
        return self.G[:, self.reference]

    @property
    def G_f(self) -> np.ndarray:
        """Columns of G of the elastic velocities."""
        return self.G[:, self.elastic]

    @cached_property
    def forces(self) -> ForcesByCause:
        """k by causes: Q_v, Q_g, Q_k, Q_d and Q_e of each force."""
        return forces_by_cause(self.state)

    @property
    def Q_v(self) -> np.ndarray:
        """(ns,) quadratic velocity vector, k^c."""
        return self.forces.Q_v

    @property
    def k_c(self) -> np.ndarray:
        """(ns,) k^c = −Jᵀ(M ā − f^c), the part of k by velocities: Q_v."""
        return self.forces.Q_v

    @property
    def k_t(self) -> np.ndarray:
        """(ns,) k^t = Jᵀ f^t: weight, elastic, damping and applied forces."""
        return self.forces.applied

    @property
    def k_s(self) -> np.ndarray:
        """(ns,) k^s = Gᵀλ at the accelerations of the state."""
        return np.asarray(self.G.T @ self.state.lam)

    @cached_property
    def a_bar(self) -> np.ndarray:
        """(6 nb,) ā = J̇ s of V̇ = J ṡ + ā."""
        return bias_rates(self.state).ravel()

    @property
    def v_bar(self) -> np.ndarray:
        """(6 nb,) v̄ of V = J s + v̄: zero, no primary joint depends on time."""
        return np.zeros(len(self.J))

    @property
    def J_free(self) -> np.ndarray:
        """J J_loop (6 nb, f): V = J_free σ + v_free.

        The columns are the free directions of the bodies.
        """
        return np.asarray(self.J @ self.J_loop)

    @property
    def v_free(self) -> np.ndarray:
        """v̄ = J s̄ (6 nb,) of explicit constraints.

        It is prescribed by drives and other rheonomic constraints.
        """
        return np.asarray(self.J @ self.s_bar)

    @property
    def a_free(self) -> np.ndarray:
        """(6 nb,) J p + ā: V̇ = J_free σ̇ + a_free."""
        return np.asarray(self.J @ self.p + self.a_bar)

    @property
    def M_ii(self) -> np.ndarray:
        """(f, f) M of the embedding, J_loopᵀ M J_loop."""
        return np.asarray(self.J_loop.T @ self.M @ self.J_loop)

    @property
    def Q_i(self) -> np.ndarray:
        """(f,) forces of the embedding, J_loopᵀ (k − M p): M_ii σ̇ = Q_i."""
        return np.asarray(self.J_loop.T @ (self.k - self.M @ self.p))

    @cached_property
    def M_qq(self) -> np.ndarray:
        """Block (ns, ns) of the inverse of [[M, Gᵀ], [G, 0]].

        ṡ = M_qq k + M_qλ γ, M_qq = N (NᵀMN)⁻¹ Nᵀ with G N = 0.
        """
        N, _ = free_directions(self.M, self.G, equation_sizes(self.state))
        return np.asarray(N @ N.T)

    @cached_property
    def M_ql(self) -> np.ndarray:
        """Block (ns, nc) of [[M, Gᵀ], [G, 0]]⁻¹.

        For dependent rows the generalized inverse of least mass-weighted columns.
        """
        return free_directions(self.M, self.G, equation_sizes(self.state))[1]

    @property
    def M_ll(self) -> np.ndarray:
        """(nc, nc) block of [[M, Gᵀ], [G, 0]]⁻¹: −λ = M_qλᵀ k + M_λλ γ, of least norm."""
        return np.asarray(-self.M_ql.T @ self.M @ self.M_ql)

    @cached_property
    def joint_state(self) -> State:
        """The state in joint coordinates."""
        return _state_in(self.state, "joint")

    @cached_property
    def open_chain(self) -> OpenChain:
        """The tree and its closing over the velocities of the bodies.

        M, f^c, f^t, B, C, ā_rel, G^s, γ̄^s, γ^s, their system.
        """
        return open_chain(self.joint_state, articulated(self.joint_state)[0])

    @cached_property
    def recursion(self) -> dict[str, ArticulatedTerms]:
        """M*_i, f*_i and N_i of the recursion by body, of the open tree in joint coordinates."""
        return dict(zip(self.joint_state.compiled.bodies, articulated(self.joint_state)[1]))

    def body(self, name: str) -> BodyTerms:
        """Mass matrix blocks, inertia forces, K_ff and D_ff of a body.

        Raises `InputError`.
        """
        found = {each.name: each for each in self.open_chain.bodies}
        if name not in found:
            raise InputError(f"body '{name}' is not in the model; it has: {', '.join(found)}")
        return found[name]

    @cached_property
    def system(self) -> BlockSystem:
        """The linear equations that the formalism solves."""
        if self.formalism == "recursive":
            return self.open_chain.system
        if self.formalism in ("embedding", "partitioning"):
            f = (("independent", len(self.M_ii)),)
            return BlockSystem(
                "embedded equations M_ii σ̇ = Q_i", f, (("σ̇", len(self.M_ii)),), self.M_ii, self.Q_i
            )
        rate = self.gamma_bar + self.G @ self.state.s
        return bordered(Terms(self.M, self.k, self.G, self.gamma, self.g, rate), self.elastic)

    def plot(self, axes: object = None) -> object:
        """Plot the pattern of the equations that the formalism solves; returns the axes.

        With names of the blocks.
        """
        return self.system.plot(axes)  # type: ignore[arg-type]

    def __str__(self) -> str:
        return summary(self)

    def _repr_html_(self) -> str:
        """HTML representation for notebooks."""
        return html(self)


@checked_arguments
def matrices(
    model: Model,
    *,
    start: HasState | None = None,
    formalism: str | Formalism = "multiplier",
    coordinates: str = "joint",
    independent: Sequence[str] = (),
) -> Matrices:
    """Terms of the equations of motion at the declared or a given state.

    coordinates: "joint" or "absolute". formalism: whose equations `Matrices.system` holds.
    independent: names of the independent velocities σ, chosen by pivoting by default. Raises
    `InputError`.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("pendulum")
    >>> rod = model.add(
    ...     fm.RigidBody("rod", mass=3.0, com=(0, 0, -0.5), inertia=(0.25, 0.25, 0.001))
    ... )
    >>> hinge = model.add(fm.Revolute("hinge", model.ground, rod, axis="y", q0=0.1))
    >>> terms = fm.matrices(model)
    >>> terms.M.tolist(), terms.k.round(5).tolist()  # m l²/3, −m g l/2 sin φ
    ([[1.0]], [-1.46905])
    """
    name = formalism.name if isinstance(formalism, Formalism) else formalism
    if not isinstance(name, str) or name not in FORMALISMS:
        raise InputError(
            f"formalism: {shown(name)} is not known; choose one of {', '.join(FORMALISMS)}"
        )
    known_in = [each for each in FORMALISMS[name].coordinates if each != "rheonomic"]
    if not isinstance(coordinates, str):
        raise InputError(
            f"coordinates: must be one of {', '.join(known_in)}, not {shown(coordinates)}"
        )
    if coordinates == "rheonomic":
        raise InputError(
            "coordinates: the terms are shown with drives as rows; take 'joint', and "
            "open_chain.rheonomic for v̄ and ā"
        )
    if coordinates not in known_in:
        raise InputError(f"coordinates: '{name}' works in {', '.join(known_in)} coordinates only")
    here = state_about(model, start)
    if start is None:  # the outputs that discrete controllers hold are known in states of a run
        require_no_samplers(model, "fm.matrices without a state of a run")
    here = _state_in(here, coordinates)
    known, H = dense(here), kinematic_matrix(here)
    names = velocity_names(here.compiled)
    N, P = free_directions(known.M, known.G, equation_sizes(here))
    chosen = partition(N, names, independent, displacement_sizes(here.compiled))
    J_loop = N @ np.linalg.inv(N[chosen])
    gamma_bar = known.gd - known.G @ here.s
    along = P - J_loop @ P[chosen]
    s_bar, p = -along @ gamma_bar, along @ known.gamma
    rows = np.flatnonzero(np.abs(H[:, chosen]).max(axis=1, initial=0.0) > 0.0)
    bodies = here.compiled.bodies
    return Matrices(
        here,
        name,
        tuple(names),
        tuple(row_owners(here.compiled)),
        bodies,
        known.M,
        known.k,
        known.G,
        known.gamma,
        known.g,
        gamma_bar,
        np.vstack([body_jacobian(here, body) for body in bodies]),
        tuple(names[k] for k in chosen),
        J_loop,
        s_bar,
        p,
        H,
        H[rows] @ J_loop,
        H[rows] @ s_bar,
    )


def _state_in(here: State, coordinates: str) -> State:
    """State converted to other coordinates."""
    start: InitialState = started(here.compiled, here, here.t)
    compiled, start = in_coordinates(here.compiled, start, coordinates)
    if compiled is here.compiled:
        return here
    return settled_state(compiled, here.t, start.q, start.s, start.beta, here.z)
