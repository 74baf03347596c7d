"""A state over free bodies.

y_i = (V_i, q̇_f,i) of each body are its velocities, and every joint is a set of rows.
"""

from functools import cached_property

import numpy as np

from flexmbs._jit.address import packed
from flexmbs.dynamics.dense import Terms
from flexmbs.dynamics.equations import motion_of_bodies
from flexmbs.initial.inconsistent_rates import row_items
from flexmbs.initial.initial_state import converted
from flexmbs.model.bodies import PointMass, RigidBody
from flexmbs.model.model import ModelData
from flexmbs.results.state import State, started
from flexmbs.studies.states.tangent import dense, loads_at
from flexmbs.studies.terms.forces_by_cause import ForcesByCause, forces_by_cause
from flexmbs.system.compile import compile_model


class FreeBodies:
    """Terms of the equations in absolute coordinates at a state in joint coordinates.

    The bodies are in the order of the joint coordinates.

    A point mass is a rigid body without moments of inertia here, so that it has a twist as the
    others have. ``rotors``: with those of the model, which couple the bodies.
    """

    def __init__(self, joint: State, *, rotors: bool = True) -> None:
        """The state with all bodies free, in absolute coordinates."""
        model = joint.compiled.declared
        compiled = compile_model(_with_twists(model, rotors), "absolute", all_free=True)
        compiled = compiled.with_initial_constants(joint.compiled.initial_constants)
        start = converted(joint.compiled, started(joint.compiled, joint, joint.t), compiled)
        none = np.zeros(len(start.s)), np.zeros(compiled.n_constraints)
        self.joint = joint
        self.state = State(compiled, joint.t, start.q, start.s, *none, joint.z, start.beta)
        self.order = self._order()

    def _order(self) -> np.ndarray:
        """Indices (ny,) of the twists y in the velocities of absolute coordinates."""
        tree, bodies = self.state.compiled.system.tree, self.state.compiled.bodies
        numbers = [bodies.index(name) for name in self.joint.compiled.bodies]
        return np.concatenate(
            [np.arange(tree.s_at[i], tree.s_at[i] + 6 + tree.nf[i]) for i in numbers]
        )

    @cached_property
    def terms(self) -> Terms:
        """Mass matrix, forces and constraints M, k, G, γ, g, ġ of the free bodies.

        The rows are those of cut joints, drives and couplings in joint coordinates.
        """
        found, rows, y = (
            dense(self.state, loads_at(self.joint)),
            np.array(self._rows(), int),
            self.order,
        )
        return Terms(
            found.M[np.ix_(y, y)],
            found.k[y],
            found.G[np.ix_(rows, y)],
            found.gamma[rows],
            found.g[rows],
            found.gd[rows],
        )

    @cached_property
    def forces(self) -> ForcesByCause:
        """Generalized forces (ny,) of the free bodies split by cause."""
        found, y = forces_by_cause(self.state, loads_at(self.joint)), self.order
        applied = {name: each[y] for name, each in found.Q_e.items()}
        return ForcesByCause(found.Q_v[y], found.Q_g[y], found.Q_k[y], found.Q_d[y], applied)

    def _rows(self) -> list[int]:
        """Indices of the rows that are constraints in joint coordinates too."""
        items = row_items(self.state.compiled)
        places = {
            item: iter([k for k, each in enumerate(items) if each == item])
            for item in dict.fromkeys(items)
        }
        return [next(places[item]) for item in row_items(self.joint.compiled)]


def _with_twists(model: ModelData, rotors: bool) -> ModelData:
    """Copy of the model with rigid bodies in place of point masses."""
    found = model.without_items()
    found.joints, found.forces, found.drives = model.joints, model.forces, model.drives
    found.couplings, found.contacts = model.couplings, model.contacts
    found.rotors = model.rotors if rotors else {}
    for name, body in model.bodies.items():
        if isinstance(body, PointMass):
            body = RigidBody(name, mass=body.mass, inertia=(0.0, 0.0, 0.0), frames=body.frames)
        found.bodies[name] = body
    return found


@packed()
def twist_rates(system, work, t, q, s, out):
    """out ← twist rates V̇ (nb, 6) of all bodies for ṡ = 0, without gravity."""
    motion_of_bodies(system, work, t, (q, s, work.zero), 1.0)
    for i in range(out.shape[0]):
        for a in range(6):
            out[i, a] = work.motion.acceleration[i, a]


def bias_rates(state: State) -> np.ndarray:
    """ā (nb, 6) of V̇ = J ṡ + ā, body axes (theory, section 18)."""
    out = np.zeros((len(state.compiled.bodies), 6))
    twist_rates(state.compiled.system, state.work(), state.t, state.q, state.s, out)
    return out
