"""`SolutionData`: results of a run, with views by body, frame, joint, drive and coupling."""

import dataclasses
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np

from flexmbs.declaration import close_names, shown
from flexmbs.dynamics.work import make_work
from flexmbs.errors import InputError
from flexmbs.model.fields import number
from flexmbs.model.frames import FrameRef, frame_ref
from flexmbs.model.model import ModelData
from flexmbs.results.applied_wrenches import applied_wrenches
from flexmbs.results.between_outputs import ImpactTimes, histories_at, trajectory_at, wrenches_at
from flexmbs.results.bodies import deformation, stress_view
from flexmbs.results.deformation import Deformation
from flexmbs.results.force_signals import ForceSignal, force_signals
from flexmbs.results.histories import (
    CONTACT_NUMBERS,
    MotionHistory,
    contact_history,
    energy_history,
    frames_history,
    rotor_history,
    states_of,
)
from flexmbs.results.joints import (
    JointHistories,
    declared_coordinates,
    declared_wrench,
    drive_efforts,
    joint_histories,
    path_coordinates,
    unique_multipliers,
)  # fmt: skip
from flexmbs.results.overview import overview
from flexmbs.results.stress import StressView
from flexmbs.results.summary import checks
from flexmbs.results.views import (
    BodyView,
    ContactView,
    CouplingView,
    DriveView,
    Energy,
    FloatArray,
    FrameMotion,
    FrameView,
    JointView,
)
from flexmbs.system.check import Check, verdict
from flexmbs.system.compile import Compiled, frozen
from flexmbs.system.coordinate_functions import factors_at
from flexmbs.system.records import Work
from flexmbs.system.trajectory import EventRecord, RunInfo, Trajectory

# motions of frames that are kept: bytes of all and number of blocks, of frames evaluated together
KEPT_MOTIONS, KEPT_BLOCKS = 2**26, 4
MOTION_NUMBERS = 24  # of a frame at an output: see `frames_history`
# the integrator whose accelerations are changes of the velocity over a step
TIME_STEPPING = "moreau-jean"


@dataclass(frozen=True, eq=False)
class SolutionData:
    """Result of a run: states at the output times and derived quantities.

    compiled: the compiled model.  trajectory: t (nt,), q, s, ṡ, λ, force states, works, drift.
    statistics: counts and times. run: options, outcome, redundant constraints, notes, provenance.
    Views are evaluated on demand.


    Examples
    --------
    >>> import flexmbs as fm
    >>> model = fm.Model("throw")
    >>> stone = model.add(fm.PointMass("stone", mass=0.2))
    >>> flight = model.add(fm.Translation("flight", model.ground, stone, v0=(4.0, 0.0, 9.81)))
    >>> run = fm.simulate(model, t_end=2.0, step=0.02)
    >>> run.verdict, run.body("stone").position[:, 2].max().round(3).item()  # v²/(2 g)
    ('PASS', 4.905)
    >>> run.save("throw.h5")
    >>> bool((fm.Solution.load("throw.h5").q == run.q).all())
    True
    """

    compiled: Compiled
    trajectory: Trajectory
    statistics: dict[str, int | float]
    run: RunInfo = field(default_factory=RunInfo)
    stored: JointHistories | None = None
    stored_applied: Mapping[str, FloatArray] | None = None

    def __repr__(self) -> str:
        run, n = self.run.options, len(self.t)
        means = ", ".join(
            str(run[key]) for key in ("formalism", "coordinates", "integrator") if key in run
        )
        outputs = f"{n} outputs, t = {self.t[0]:.6g} … {self.t[-1]:.6g} s" if n else "no outputs"
        return f"<Solution of {shown(self.model.name)}: {f'{means}; ' if means else ''}{outputs}>"

    def __str__(self) -> str:
        return overview(self)

    def __post_init__(self) -> None:
        frozen(self.trajectory)  # read-only: views share it

    @property
    def t(self) -> FloatArray:
        """Output times (nt,) [s]."""
        return self.trajectory.t

    @property
    def q(self) -> FloatArray:
        """Positions (nt, nq), body by body.

        Joint coordinates of the tree and elastic coordinates.
        """
        return self.trajectory.q

    @property
    def s(self) -> FloatArray:
        """Velocities (nt, ns)."""
        return self.trajectory.s

    @property
    def sd(self) -> FloatArray:
        """Accelerations (nt, ns)."""
        return self.trajectory.sd

    @property
    def lam(self) -> FloatArray:
        """Lagrange multipliers (nt, nc).

        With redundant constraints those of the least-norm wrenches.
        """
        return self._joints.lam if self.run.redundant else self.trajectory.lam

    @property
    def drift(self) -> FloatArray:
        """Constraint errors (nt, 2): max |g| and max |G s + γ̄|."""
        return self.trajectory.drift

    @property
    def events(self) -> tuple[EventRecord, ...]:
        """Events located in the run in chronological order: name, t, q, s."""
        return tuple(self.run.events)

    def at(self, times: float | Iterable[float]) -> Self:
        """Solution interpolated at other times (s) within the run.

        Quintic Hermite interpolation (see `between_outputs`). The error is of order Δt⁶ in
        positions, Δt⁵ in velocities, Δt⁴ in accelerations and wrenches, with Δt between outputs.
        Between outputs with an impact it is of order Δt³, Δt² and Δt before and after the impact,
        and wrenches do not follow the jump. Raises `InputError` for times outside the run or not in
        ascending order.

        """
        chosen = _times(times)
        jumps = ImpactTimes(
            np.sort([impact.t for impact in self.run.impacts]),
            self.run.options.get("integrator") == TIME_STEPPING,
        )
        trajectory = trajectory_at(self.compiled, self.trajectory, jumps, chosen)
        stored = histories_at(self.compiled, self._joints, self.t, chosen)
        applied = wrenches_at(self.applied, self.t, chosen)
        return dataclasses.replace(
            self, trajectory=trajectory, stored=stored, stored_applied=applied
        )

    @cached_property
    def audit(self) -> tuple[Check, ...]:
        """Checks of the run.

        Outcome, energy, drift, redundancy, steps, deflections, stresses; independent verification
        of accelerations, reactions and joint angles; error of the steps and their resolution of
        laws and forces. Each has a title, a status (PASS, WARN or FAIL), the finding with its
        location and time, and a remedy. With ``audit="none"`` there is one alone, NOT JUDGED,
        beside the outcome of a run that did not finish.
        """
        return (*checks(self), *self.run.checks)

    def with_checks(self, checks: Iterable[Check]) -> Self:
        """Same solution with these checks added to its audit; evaluated views are kept."""
        judged = dataclasses.replace(self, run=dataclasses.replace(self.run, checks=tuple(checks)))
        own = {field.name for field in dataclasses.fields(self)}
        judged.__dict__.update(
            {key: value for key, value in self.__dict__.items() if key not in {*own, "audit"}}
        )
        return judged

    @property
    def verdict(self) -> str:
        """The worst of the `audit`: "PASS", "WARN" or "FAIL"; "NOT JUDGED" without one."""
        return verdict(self.audit)

    @property
    def model(self) -> ModelData:
        """The model of the run."""
        return self.compiled.declared

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names of the bodies."""
        return tuple(self.model.bodies)

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints, without the welds of divided bodies."""
        return tuple(self.model.joints)

    @property
    def drives(self) -> tuple[str, ...]:
        """Names of the drives."""
        return tuple(self.compiled.model.drives)

    @property
    def couplings(self) -> tuple[str, ...]:
        """Names of the couplings, without the welds of divided bodies."""
        return tuple(self.model.couplings)

    @property
    def contacts(self) -> tuple[str, ...]:
        """Names of the contacts; each bound of a joint limit is a contact."""
        return self.compiled.contacts

    @property
    def frames(self) -> tuple[str, ...]:
        """Names of the frames on bodies, ``body/frame``."""
        return tuple(
            str(ref) for ref in self.compiled.frames if ref.frame and ref.body in self.model.bodies
        )

    @property
    def model_text(self) -> str:
        """Text of the model file.

        Content that a file cannot represent is only described.
        """
        return self.run.model_text or self.model.to_toml(complete=False)

    def frame(self, name: str | FrameRef) -> FrameView:
        """View of the motion of a frame ``body/frame``, of a body frame or of the ground.

        Raises InputError for an unknown name.
        """
        try:
            ref = frame_ref(name)
        except ValueError as error:
            raise InputError(f"frame: {error}") from None
        if ref not in self.compiled.frames:
            raise InputError(
                f"frame '{ref}' is not in the solution; "
                f"{close_names(str(ref), self.compiled.frame_names)}"
            )
        return FrameView(str(ref), self.t, *self._motion(self.compiled.frames[ref]))

    def body(self, name: str) -> BodyView:
        """View of the motion of a body frame and the body's elastic coordinates.

        Also for a piece of a divided body, ``boom[2]``. Raises InputError for an unknown name.
        """
        name = str(name)
        if name not in self.compiled.bodies:
            _require_name("body", name, self.bodies)
        motion, pieces = (
            self._motion(self.compiled.frames[FrameRef(name)]),
            self.compiled.pieces_of(name),
        )
        elastic, rate = (
            np.concatenate([part(piece) for piece in pieces], axis=1)
            for part in (self.elastic, self._elastic_rate)
        )
        shape, stress = self.shape(name), self._stress(name)
        return BodyView(
            name,
            self.t,
            **motion._asdict(),
            elastic=elastic,
            elastic_rate=rate,
            _stress=stress,
            _deformation=shape,
        )

    def elastic(self, body: str) -> FloatArray:
        """Elastic coordinates (nt, nf) of a body in one piece, or of a piece."""
        tree, i = self.compiled.system.tree, self.compiled.topology.numbers[body]
        return self.q[:, tree.qf_at[i] :][:, : tree.nf[i]]

    def _elastic_rate(self, body: str) -> FloatArray:
        """Rates of the modal coordinates of a body, (nt, nf)."""
        tree, i = self.compiled.system.tree, self.compiled.topology.numbers[body]
        return self.s[:, tree.sf_at[i] :][:, : tree.nf[i]]

    def shape(self, body: str) -> Deformation | None:
        """Surface of a flexible body and displacements of its nodes.

        None without a surface.
        """
        if body not in self._shapes:
            self._shapes[body] = deformation(self, body)
        return self._shapes[body]

    def joint(self, name: str) -> JointView:
        """Coordinates and wrench of a joint. Raises InputError for an unknown name."""
        name = str(name)
        if name not in self.compiled.places:
            _require_name("joint", name, self.joints)
        place = self.compiled.places[name]
        wrench = declared_wrench(self.compiled, self.trajectory, self._joints, name)
        coordinates = declared_coordinates(self.compiled, self.trajectory, self._joints, name)
        child = self.compiled.model.joints[name].child
        A = self._motion(self.compiled.frames[FrameRef(child.body, child.frame)]).rotation
        force, torque = (
            np.einsum("tij,tj->ti", A, part) for part in (wrench[:, :3], wrench[:, 3:])
        )
        number = place.body if place.cut < 0 else len(self.compiled.bodies) + place.cut
        unique = bool(self._joints.unique[number])
        return JointView(
            name,
            self.t,
            **coordinates._asdict(),
            wrench=wrench,
            force=force,
            torque=torque,
            unique=unique,
        )

    def drive(self, name: str) -> DriveView:
        """Coordinate, torque and power of a drive. Raises InputError for an unknown name."""
        name = str(name)
        _require_name("drive", name, self.drives)
        drive = self.compiled.model.drives[name]
        number = self.drives.index(name)
        joint = declared_coordinates(self.compiled, self.trajectory, self._joints, drive.joint)
        position = _position_of(self.compiled, drive.joint, drive.coordinate)
        torque = drive_efforts(self.compiled, self._joints, number)
        rate = joint.velocity[:, drive.coordinate]
        return DriveView(name, self.t, joint.position[:, position], rate, torque, torque * rate)

    def coupling(self, name: str) -> CouplingView:
        """Value, multiplier, efforts on the coordinates, and power of a coupling.

        Raises InputError for an unknown name.
        """
        name = str(name)
        _require_name("coupling", name, self.couplings)
        coupling, row = (
            self.compiled.model.couplings[name],
            int(self.compiled.system.couplers.row[self.couplings.index(name)]),
        )
        lam = self._joints.lam[:, row]
        x, v = np.zeros((2, len(self.t), len(coupling.terms)))
        for k, use in enumerate(coupling.coordinates(self.compiled.model.joints)):
            joint = declared_coordinates(self.compiled, self.trajectory, self._joints, use.joint)
            x[:, k] = joint.position[:, _position_of(self.compiled, *use)]
            v[:, k] = joint.velocity[:, use.coordinate]
        a = factors_at(
            coupling, self.t, x, self.compiled.model.joints, self.compiled.system.laws.length[0]
        )
        value, rate = np.einsum("tk,tk->t", a, x), np.einsum("tk,tk->t", a, v)
        effort = {term.coordinate: a[:, k] * lam for k, term in enumerate(coupling.terms)}
        unique = not self.run.redundant or bool(
            unique_multipliers(self.compiled, self.trajectory)[row]
        )
        return CouplingView(name, self.t, value, lam, effort, lam * rate, unique)

    def contact(self, name: str) -> ContactView:
        """Gap, velocities and forces of a contact.

        Bounds of a joint limit are named ``name.lower`` and ``name.upper``. Raises InputError.
        """
        name = str(name)
        _require_name("contact", name, self.contacts)
        number = self.contacts.index(name)
        now = self._contacts[:, number]
        impacts = tuple(impact for impact in self.run.impacts if impact.contact == name)
        gaps = now[:, 0], now[:, 1], now[:, 2:4]
        forces = {"normal": now[:, 7], "friction": now[:, 8:10], "force": now[:, 4:7]}
        return ContactView(
            name,
            self.t,
            *gaps,
            **forces,
            turning=now[:, 11:14],
            moment=now[:, 14:17],
            impacts=impacts,
        )

    @cached_property
    def overlaps(self) -> dict[str, FloatArray]:
        """Penetration (nt,) [m or rad] of rigid contacts, by name.

        0 if they are open or outside their bounds.
        """
        rigid = self.compiled.system.contacts.law_kernel < 0
        if not rigid.any():
            return {}
        now = self._contacts
        depth = np.where(now[:, :, 10] == 0.0, np.maximum(-now[:, :, 0], 0.0), 0.0)
        return {name: depth[:, k] for k, name in enumerate(self.contacts) if rigid[k]}

    @cached_property
    def energy(self) -> Energy:
        """Energies, works and energy balance over time."""
        values = np.zeros((len(self.t), 3))
        beta = path_coordinates(self.compiled, self.trajectory)
        work = make_work(self.compiled.system, beta[0])
        energy_history(self.compiled.system, work, states_of(self.trajectory, beta), values)
        kinetic, strain, potential = values.T
        forces, dissipated, drives = self.trajectory.work.T
        return Energy(self.t, kinetic, strain, potential, forces, drives, dissipated)

    @cached_property
    def force_signals(self) -> tuple[ForceSignal, ...]:
        """Efforts, tensions, states and references of the forces, with units."""
        return tuple(force_signals(self))

    @cached_property
    def rotor_moments(self) -> Mapping[str, FloatArray]:
        """Moment (nt, 3) [N m] of each gyroscopic rotor on the parent frame of its joint.

        In axes of that frame.
        """
        beta = path_coordinates(self.compiled, self.trajectory)
        out = np.zeros((len(self.t), len(self.model.rotors), 3))
        rotor_history(
            self.compiled.system,
            make_work(self.compiled.system, beta[0]),
            states_of(self.trajectory, beta),
            out,
        )
        return {
            name: -out[:, k]
            for k, (name, rotor) in enumerate(self.model.rotors.items())
            if rotor.gyroscopic
        }

    @cached_property
    def applied(self) -> Mapping[str, FloatArray]:
        """Force and moment (nt, 6) [N, N m] of applied forces on bodies with stress modes.

        Also on those whose residual modes move the frames. By frame ``body/frame``, about the
        position of the frame, in body axes; without joints, drives and joint forces.
        """
        if self.stored_applied is not None:
            return self.stored_applied
        return applied_wrenches(self.compiled, self.trajectory)

    @cached_property
    def _shapes(self) -> dict[str, Deformation | None]:
        return {}

    @cached_property
    def _stresses(self) -> dict[str, StressView | None]:
        return {}

    @cached_property
    def _scratches(self) -> dict[int, Work]:
        return {}  # by thread

    def __getstate__(self) -> dict[str, Any]:
        """Drop cached workspaces: they hold raw addresses that are invalid in a copy."""
        return {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}

    @cached_property
    def _motions(self) -> dict[int, FloatArray]:
        return {}

    def _stress(self, body: str) -> StressView | None:
        """View of the stress of a body, evaluated on demand.

        None without stress modes.
        """
        if body not in self._stresses:
            self._stresses[body] = stress_view(self, body)
        return self._stresses[body]

    @cached_property
    def _contacts(self) -> FloatArray:
        """Arrays (nt, n, CONTACT_NUMBERS) of `contact_history`."""
        out = np.zeros((len(self.t), len(self.contacts), CONTACT_NUMBERS))
        now = self.trajectory
        beta = path_coordinates(self.compiled, now)
        contact_history(
            self.compiled.system,
            make_work(self.compiled.system, beta[0]),
            states_of(now, beta),
            out,
        )
        return out

    @cached_property
    def _joints(self) -> JointHistories:
        """Joint loads and coordinates: stored, or computed again."""
        if self.stored is not None:
            return self.stored
        return joint_histories(self.compiled, self.trajectory, redundant=bool(self.run.redundant))

    def _motion(self, number: int) -> FrameMotion:
        """Motion of a frame by its index.

        Neighbouring frames are evaluated together, and the last ones are cached: views ask
        repeatedly, and for one frame after the other.
        """
        size = max(1, KEPT_MOTIONS // (KEPT_BLOCKS * max(len(self.t), 1) * 8 * MOTION_NUMBERS))
        block = number // size
        motions = self._motions.get(block)
        if motions is None:
            last = min((block + 1) * size, len(self.compiled.system.frames.body))
            numbers = np.arange(block * size, last)
            motions = np.zeros((len(numbers), len(self.t), MOTION_NUMBERS))
            thread = threading.get_ident()
            if thread not in self._scratches:
                self._scratches[thread] = make_work(self.compiled.system)
            states = MotionHistory(self.t, self.q, self.s, self.sd)
            frames_history(self.compiled.system, self._scratches[thread], numbers, states, motions)
            for old in list(self._motions)[: 1 - KEPT_BLOCKS]:
                self._motions.pop(old, None)
            self._motions[block] = motions
        out = motions[number - block * size]
        out = out.copy()  # views are their owner's
        return FrameMotion(
            out[:, 9:12],
            out[:, :9].reshape(-1, 3, 3),
            out[:, 12:15],
            out[:, 15:18],
            out[:, 18:21],
            out[:, 21:],
        )


def _times(given: Any) -> FloatArray:
    """Times (s) from a number or a list. Raises InputError."""
    values = np.array(list(given) if isinstance(given, Iterator) else given, object)
    if not values.size:
        raise InputError("times: give one time or more, in seconds")
    try:
        found = np.array([number(each) for each in values.ravel().tolist()])
    except ValueError as error:
        raise InputError(f"times: the time in seconds {error}") from None
    for k in np.flatnonzero(np.diff(found) <= 0.0)[:1]:
        raise InputError(
            f"times: must ascend, but {found[k + 1]:g} s follows {found[k]:g} s; give "
            "np.unique(times)"
        )
    return found


def _require_name(what: str, name: str, names: Iterable[str]) -> None:
    """Raise `InputError` for a name that is not in the solution."""
    if name not in (known := tuple(names)):
        raise InputError(f"{what} '{name}' is not in the solution; {close_names(name, known)}")


def _position_of(compiled: Compiled, joint: str, index: int) -> int:
    """Index of the position of a degree of freedom among the declared joint's coordinates."""
    v = q = 0
    for motion in compiled.model.joints[joint].motions:
        if v == index:
            break
        v, q = v + motion.nv, q + motion.nq
    return q
