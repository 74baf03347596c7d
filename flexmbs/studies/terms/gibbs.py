"""`gibbs`: Gibbs–Appell function and quasi-forces of a model at a state.

The function of accelerations of Appell and Gibbs is

S(q, s, ṡ) = ½ ∫ a·a dm over all bodies; a rotor adds ½ n² I q̈² + (q̈ b + ω × q̇ b)·ω̇, b = n I a,
and terms without accelerations, which are left out. With quasi-velocities σ, ṡ = C σ̇ + d on the
constraints, the equations of motion are ∂S/∂σ̇ = Π, with the quasi-forces Π = Cᵀ Q of the applied
forces Q. Source: Appell, Traité de mécanique rationnelle II (1904); Lurie, Analytical Mechanics
(2002), §4.10 and ch. 7.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from flexmbs.api.model import Model
from flexmbs.checked_arguments import checked_arguments
from flexmbs.errors import InputError, shown
from flexmbs.flexible_body.free_body import skew
from flexmbs.model.joints import Joint
from flexmbs.model.rotors import RotorInertia
from flexmbs.results.solution import SolutionData
from flexmbs.results.state import HasState, State, state_about
from flexmbs.studies.states.balance import equation_sizes, free_directions
from flexmbs.studies.states.jacobians import partition
from flexmbs.studies.states.state_sequence import solution_of
from flexmbs.studies.states.tangent import dense
from flexmbs.system.compile import Compiled
from flexmbs.system.names import velocity_names
from flexmbs.system.second_order_fields import second_order_fields
from flexmbs.system.step_scales import displacement_sizes


@dataclass(frozen=True, eq=False)
class Gibbs:
    """S as a function of σ̇ at a state, and quasi-forces.

    velocities: names of σ.  C (ns, f), d (ns,): ṡ = C σ̇ + d.  quasi_forces (f,): Π = Cᵀ Q, N or N
    m.  rates (f,): σ̇ of the motion, at which ∂S/∂σ̇ = Π.
    """

    state: State = field(repr=False)
    velocities: tuple[str, ...]
    C: np.ndarray
    d: np.ndarray
    quasi_forces: np.ndarray
    rates: np.ndarray

    def __str__(self) -> str:
        lines = [
            f"Gibbs function of '{self.state.compiled.model.name}' at t = "
            f"{self.state.t:g} s: ∂S/∂σ̇ = Π"
        ]
        width = max(map(len, self.velocities), default=0)
        rows = zip(self.velocities, self.rates, self.quasi_forces)
        return "\n".join(
            [
                *lines,
                *(
                    f"  {name:{width}}  σ̇ = {rate:.6g}  Π = {force:.6g}"
                    for name, rate, force in rows
                ),
            ]
        )

    def value(self, rates: Sequence[float] | np.ndarray) -> float:
        """Gibbs function S(σ̇) [N m/s²]."""
        return float(self._values(self._rates(rates)[None])[0])

    def derivative(self, rates: Sequence[float] | np.ndarray) -> np.ndarray:
        """Gradient ∂S/∂σ̇ (f,) by central differences, exact for a quadratic S."""
        given, steps = self._rates(rates), np.eye(len(self.rates))
        return np.asarray(0.5 * (self._values(given + steps) - self._values(given - steps)))

    def _rates(self, given: Sequence[float] | np.ndarray) -> np.ndarray:
        """Rates of the quasi-velocities as an array. Raises `InputError`."""
        try:
            rates = np.array(given, float)
        except (TypeError, ValueError):
            rates = np.full(1, np.nan)
        if rates.shape != self.rates.shape or not np.isfinite(rates).all():
            names = ", ".join(self.velocities) or "none"
            raise InputError(
                f"rates: must be {len(self.rates)} finite numbers, one for each of "
                f"{names}, not {shown(given)}"
            )
        return rates

    def _values(self, rates: np.ndarray) -> np.ndarray:
        """Gibbs functions of the bodies for rates of the quasi-velocities."""
        return gibbs_functions(self.state, rates @ self.C.T + self.d)


@checked_arguments
def gibbs(model: Model, *, start: HasState | None = None, velocities: Sequence[str] = ()) -> Gibbs:
    """Gibbs function (acceleration energy) of a model at a state.

    velocities: names of the velocities taken as σ, chosen by pivoting by default.
    Raises `InputError` for velocities that do not determine the motion.
    Source: docs/theory.md, section 36.

    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("wheel", gravity=(0, 0, 0))
    >>> wheel = model.add(fm.RigidBody("wheel", mass=1.0, inertia=(0.1, 0.1, 0.2)))
    >>> axle = model.add(fm.Revolute("axle", model.ground, wheel, axis="z"))
    >>> motor = model.add(fm.JointTorque("motor", axle, 0.6))
    >>> gibbs = fm.gibbs(model)
    >>> (
    ...     round(gibbs.value([3.0]), 6),
    ...     gibbs.derivative([3.0]).round(6).tolist(),
    ... )  # S = J ω̇²/2, ∂S/∂ω̇ = J ω̇ = τ
    (0.9, [0.6])
    """
    here = state_about(model, start)
    known, names = dense(here), velocity_names(here.compiled)
    N, P = free_directions(known.M, known.G, equation_sizes(here))
    chosen = partition(N, names, velocities, displacement_sizes(here.compiled), key="velocities")
    C = N @ np.linalg.inv(N[chosen])
    d = P @ known.gamma
    d = d - C @ d[chosen]
    ns = len(here.s)
    unit = gibbs_functions(here, np.vstack([np.eye(ns), -np.eye(ns)]))
    inertia = 0.5 * (unit[:ns] - unit[ns:])  # ∂S/∂ṡ at ṡ = 0: the quadratic velocity forces
    return Gibbs(
        here, tuple(names[k] for k in chosen), C, d, C.T @ (known.k + inertia), here.sd[chosen]
    )


def gibbs_functions(here: State, accelerations: np.ndarray) -> np.ndarray:
    """Gibbs functions S (n,) for the accelerations ṡ in each row (n, ns)."""
    compiled, found = here.compiled, np.zeros(len(accelerations))
    motion = solution_of(
        [replace(here, sd=sd) for sd in accelerations], options={"analysis": "gibbs"}
    )
    for i, name in enumerate(compiled.bodies):
        body = motion.body(name)
        A = body.rotation
        a, turn, spin = (
            np.einsum("tij,ti->tj", A, x)
            for x in (body.acceleration, body.angular_acceleration, body.angular_velocity)
        )
        data = compiled.data.get(name)
        fields = None if data is None else second_order_fields(data)
        at, nf = int(compiled.system.tree.sf_at[i]), int(compiled.system.tree.nf[i])
        for k, sd in enumerate(accelerations):
            W = skew(turn[k]) + skew(spin[k]) @ skew(spin[k])
            found[k] += 0.5 * _rigid(compiled, i, a[k], W)
            if data is not None and fields is not None:
                x, xd, xdd = fields.coordinates(
                    body.elastic[k], body.elastic_rate[k], sd[at : at + nf]
                )
                Y = np.einsum("ib,k->ibk", W, x) + np.einsum("ib,k->ibk", np.eye(3), xdd)
                Y += 2.0 * np.einsum("ib,k->ibk", skew(spin[k]), xd)
                found[k] += 0.5 * _elastic(fields.with_modes(data), a[k], W, Y)
    for rotor in compiled.model.rotors.values():
        found += _geared(rotor, compiled.model.joints[rotor.joint], motion)
    return found


def _geared(rotor: RotorInertia, joint: Joint, motion: SolutionData) -> np.ndarray:
    """Gibbs function ½ n² I q̈² + (q̈ b + ω × q̇ b)·ω̇ of a geared rotor."""
    coordinate = motion.joint(joint.name)
    rate, growth = (
        each[:, rotor.coordinate] for each in (coordinate.velocity, coordinate.acceleration)
    )
    found = 0.5 * rotor.reflected * growth**2
    if rotor.gyroscopic:
        carrier = motion.frame(joint.parent)
        b = rotor.ratio * rotor.inertia * carrier.rotation @ np.array(rotor.spin_axis(joint))
        moment = growth[:, None] * b + np.cross(carrier.angular_velocity, rate[:, None] * b)
        found = found + (moment * carrier.angular_acceleration).sum(axis=1)
    return np.asarray(found)


def _rigid(compiled: Compiled, i: int, a: np.ndarray, W: np.ndarray) -> float:
    """Acceleration integral ∫ |a + W x|² dm of a rigid body."""
    bodies = compiled.system.bodies
    first, second = bodies.first[i], bodies.second[i].reshape(3, 3)
    return float(
        bodies.mass[i] * a @ a + 2.0 * a @ W @ first + np.einsum("ia,ic,ac->", W, W, second)
    )


def _elastic(
    integrals: tuple[np.ndarray, ...], a: np.ndarray, W: np.ndarray, Y: np.ndarray
) -> float:
    """Elastic part of the acceleration integral, ∫ 2 (a + W x)·Y φ + |Y φ|² dm.

    From ∫φ dm, ∫x_a φ dm, ∫φ_a φ_b dm.
    """
    S_bar, xS, SS = integrals
    mixed = 2.0 * np.einsum("i,ibk,bk->", a, Y, S_bar) + 2.0 * np.einsum("ia,ibk,abk->", W, Y, xS)
    return float(mixed + np.einsum("ibk,icl,bckl->", Y, Y, SS))
