"""`Robot`: model of links in a chain or tree, with the dynamic terms and views of robotics."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from flexmbs.api.model import Model
from flexmbs.checked_arguments import checked_arguments
from flexmbs.declaration import close_names, shown
from flexmbs.errors import InputError
from flexmbs.model.argument_checks import checked, checked_count, checked_kind, real_array
from flexmbs.model.bodies import Body
from flexmbs.model.control.motion import homogeneous, jacobian, pose_of, poses
from flexmbs.model.control.rigid_terms import RigidTerms
from flexmbs.model.control.terms import accelerations
from flexmbs.model.control.tree import NodePose, RobotTree
from flexmbs.model.fields import positive, switch
from flexmbs.model.frames import FrameRef, frame_ref
from flexmbs.model.joints import Fixed
from flexmbs.player.solids import Solid
from flexmbs.report.model_at_start import model_view
from flexmbs.report.view import View
from flexmbs.report.view import shown as shown_page
from flexmbs.results.state import State, state
from flexmbs.robots.coordinate_couplings import couplings_of
from flexmbs.robots.dh import BASE, dh_model, joint_name, table_rows
from flexmbs.robots.euler import euler_rates
from flexmbs.robots.flexible import with_flexible_links
from flexmbs.robots.inverse import Found, PoseTask, solve
from flexmbs.robots.links import Motor
from flexmbs.robots.robot_arguments import (
    copy_of,
    given_frame,
    given_limits,
    given_motors,
    given_poses,
)
from flexmbs.robots.solids import solids_of
from flexmbs.robots.tree import tree_of
from flexmbs.robots.urdf import urdf_model
from flexmbs.robots.urdf_read import read_urdf
from flexmbs.robots.visual_elements import Visual

DOWN = (0.0, 0.0, -9.81)
CONVENTIONS = ("standard", "modified")
PAYLOAD = "payload"
UNLIMITED = 1e9  # rad, m: larger limits count as infinite for random starts


@checked_arguments
class Robot:
    """Robot with n joint coordinates q in the order of its tree.

    model: an ordinary `Model`, of rigid or flexible links, with forces, drives and analyses.  tool:
    the default frame.  limits (n, 2): limits of the coordinates, infinite if there are none.
    motors: joint → `Motor`.  visuals: appearance of the links in a file.  frames: links without a
    separate body, by name. All terms treat every link as rigid in its undeformed shape and accept
    arrays of states: q (..., n) gives D (..., n, n). Equations: D(q) q̈ + C(q, q̇) q̇ + g(q) +
    friction(q̇) = τ, where D includes the motors' inertia. Siciliano et al., Robotics (2009), ch.
    7. Couplings A q = b of the model, such as <mimic> of URDF files, leave all joint coordinates in
    q: poses, Jacobians, D, C, g and `inverse_dynamics` refer to the uncoupled tree, whereas
    `forward_dynamics`, `inverse_kinematics` and runs of the model satisfy them. Raises `InputError`
    for closed loops, joints whose coordinates are not single rotations or translations, and
    time-dependent couplings.


    Examples
    --------
    >>> import flexmbs as fm
    >>> table = [
    ...     {"a": 0.4, "mass": 2.0, "com": (-0.2, 0, 0), "inertia": (0, 0.03, 0.03)}
    ...     for _ in range(2)
    ... ]
    >>> arm = fm.Robot.from_dh(table, gravity=(0, -10.0, 0))
    >>> arm.pose([0.0, 1.5707963])[:3, 3].round(
    ...     6
    ... ).tolist()  # the tool: one link along x, the other along y
    [0.4, 0.4, 0.0]
    >>> arm.gravity_forces([0.0, 0.0]).round(6).tolist()  # m g (0.2 + 0.6) and m g · 0.2
    [16.0, 4.0]
    """

    model: Model
    tree: RobotTree
    tool: FrameRef
    limits: np.ndarray
    motors: Mapping[str, Motor]
    rigid_terms: RigidTerms
    visuals: tuple[Visual, ...]

    def __init__(
        self,
        model: Model,
        *,
        tool: str | FrameRef | None = None,
        limits: Mapping[str, Sequence[float]] | None = None,
        motors: Mapping[str, Motor] | None = None,
        frames: Mapping[str, FrameRef] | None = None,
        visuals: Sequence[Visual] = (),
    ) -> None:
        """Robot from a tree model, with tool frame, joint limits and motors."""
        if not checked_kind("model", Model, model).bodies:
            raise InputError(f"model '{model.name}': has no bodies; add a link with mass")
        self.model, self.tree = model, tree_of(model)
        self._coupled = couplings_of(model, self.tree.coordinates)
        self.motors, self._named = (
            given_motors(motors, model),
            dict(checked_kind("frames", Mapping, frames or {})),
        )
        self.visuals = tuple(
            checked_kind(f"visuals[{i}]", Visual, visual) for i, visual in enumerate(visuals)
        )
        self.tool = FrameRef(list(model.bodies)[-1])
        self.tool = self._ref(tool) if tool is not None else self.tool
        free, none, known = (-np.inf, np.inf), Motor(), given_limits(limits, model)
        self._chosen = chosen = [self.motors.get(c.joint, none) for c in self.tree.coordinates]
        friction = np.array(
            [(m.gear**2 * m.viscous, *(abs(m.gear) * T for T in m.coulomb)) for m in chosen]
        ).reshape(-1, 3)
        self.rigid_terms = RigidTerms.of(
            self.tree, np.array([m.gear**2 * m.inertia for m in chosen]), friction
        )
        self.limits = np.array(
            [known.get(c.joint, free) for c in self.tree.coordinates], float
        ).reshape(-1, 2)

    @classmethod
    def from_dh(
        cls,
        table: Sequence[Any],
        convention: str = "standard",
        *,
        name: str = "robot",
        gravity: Sequence[float] = DOWN,
        base: Any = (0.0, 0.0, 0.0),
        tool: Any = (0.0, 0.0, 0.0),
        payload: Body | None = None,
        links: Mapping[str, Any] | None = None,
    ) -> Robot:
        """Robot from a Denavit–Hartenberg table.

        table: `Link` rows, mappings of their fields, or numbers (a, alpha, d, theta).  convention:
        "standard" (frame i at the far end of link i) or "modified" (at its joint).  base, tool:
        poses of the first frame in the world and of the tool in the last frame, as positions,
        `Frame` or (4, 4) matrices. payload: a body whose frame is fixed to the tool.  links: link →
        `FlexibleLink` or the path of a flexible body. Bodies are named "link1" …, joints "joint1"
        …. Raises `InputError`.

        """
        if convention not in CONVENTIONS:
            raise InputError(
                f"convention: must be 'standard' or 'modified', not {shown(convention)}"
            )
        rows = table_rows(table)
        model, end = dh_model(
            rows,
            standard=convention == "standard",
            name=name,
            gravity=gravity,
            base=given_frame("base", base),
            tool=given_frame("tool", tool),
        )
        named = {joint_name(i): row for i, row in enumerate(rows)}
        return cls._made(
            model,
            end,
            payload,
            links,
            {joint: row.limits for joint, row in named.items() if row.limits},
            {joint: row.motor for joint, row in named.items() if row.motor},
            {},
        )

    @classmethod
    def from_urdf(
        cls,
        path: str | Path,
        *,
        tool: str | None = None,
        gravity: Sequence[float] = DOWN,
        payload: Body | None = None,
        links: Mapping[str, Any] | None = None,
        allow_outside: bool = False,
        package_path: str | Path | Iterable[str | Path] = (),
        unphysical: str = "warn",
    ) -> Robot:
        """Robot from a URDF file.

        The file is XML without document types. Meshes are not read, see `visuals`.

        allow_outside: True to allow meshes outside the folder of the file.  package_path: folders
        with the packages of ``package://``, in addition to those in the variables ROS_PACKAGE_PATH
        and GZ_SIM_RESOURCE_PATH. tool: name of a link, by default the last one without children.
        Links without inertia on fixed joints become frames of the supporting link, with their
        names; the root is fixed to the ground. payload, links: see `from_dh`. Damping and friction
        of <dynamics>, effort and velocity of <limit> become `motors`, <mimic> becomes a
        `LinearCoupling`, drake:rotor_inertia with drake:gear_ratio of a transmission a
        `RotorInertia`. For floating joints use `robots.model_from_urdf`.  unphysical: inertias that
        no mass distribution can have are kept with one `ModelWarning` ("warn"), replaced by the
        nearest physical ones ("repair") or raise an error ("error").  Names with "/" have %2F in
        the model (`urllib.parse.unquote`); frames are found by both names. A `ModelWarning` lists
        elements and attributes that are not read. Raises `InputError` with every problem of the
        file and its line.

        """
        urdf = read_urdf(
            path, allow_outside=allow_outside, package_path=package_path, unphysical=unphysical
        )
        built = urdf_model(urdf, base="fixed", gravity=gravity)
        if tool is not None and (not isinstance(tool, str) or tool not in built.frames):
            raise InputError(f"tool: no link {shown(tool)}; {close_names(str(tool), built.frames)}")
        end = built.tip if tool is None else built.frames[tool]
        return cls._made(
            built.model,
            end,
            payload,
            links,
            built.limits,
            built.motors,
            built.frames,
            built.visuals,
        )

    @classmethod
    def _made(
        cls,
        model: Model,
        tool: FrameRef,
        payload: Body | None,
        links: Mapping[str, Any] | None,
        limits: Mapping[str, Any],
        motors: Mapping[str, Motor],
        frames: Mapping[str, FrameRef],
        visuals: Sequence[Visual] = (),
    ) -> Robot:
        """Robot from a model and parts that are checked already."""
        if payload is not None:
            model.add(Fixed(PAYLOAD, tool, model.add(payload)))
        if links:
            model, tool = with_flexible_links(model, links, tool)
            frames = {
                name: ref for name, ref in frames.items() if ref.body not in links or not ref.frame
            }
            visuals = [
                visual
                for visual in visuals
                if visual.link in frames and frames[visual.link].body not in links
            ]
        return cls(model, tool=tool, limits=limits, motors=motors, frames=frames, visuals=visuals)

    @property
    def n(self) -> int:
        """Number of joint coordinates."""
        return len(self.tree.coordinates)

    @property
    def rate_limits(self) -> np.ndarray:
        """Largest rates of the coordinates (n,) given by their motors, rad/s or m/s.

        Infinite by default.
        """
        return np.array([m.rate / abs(m.gear) if m.gear else np.inf for m in self._chosen])

    @property
    def effort_limits(self) -> np.ndarray:
        """Largest motor forces at the joints (n,), N m or N; infinite by default.

        Controllers do not enforce them.
        """
        return np.array([m.torque * abs(m.gear) if m.gear else 0.0 for m in self._chosen])

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates: ``joint.0``, ``joint.1``, …"""
        return tuple(f"{c.joint}.{c.number}" for c in self.tree.coordinates)

    def pose(self, q: ArrayLike, frame: str | FrameRef | None = None) -> np.ndarray:
        """Homogeneous transformation (..., 4, 4) from a frame to the world: forward kinematics."""
        place = self._place(frame)
        return homogeneous(*pose_of(poses(self.tree, self._q(q)), place))

    def transforms(self, q: ArrayLike) -> dict[str, np.ndarray]:
        """Transformations A_{i−1,i} (..., 4, 4) from each body to the previous one, by body.

        Pose of its frame relative to the frame of the previous body; for a DH table the matrices of
        its rows.

        The first is relative to the ground frame "base", or to the world if there is none.
        """
        all_ = poses(self.tree, self._q(q))
        world = {
            name: homogeneous(*pose_of(all_, self.tree.frames[FrameRef(name)]))
            for name in ("ground", *self.model.bodies)
        }
        if BASE in self.model.frames:
            world["ground"] = homogeneous(
                *pose_of(all_, self.tree.frames[FrameRef("ground", BASE)])
            )
        return {
            name: np.linalg.solve(world[self.tree.before[name]], world[name])
            for name in self.model.bodies
        }

    def jacobian(self, q: ArrayLike, frame: str | FrameRef | None = None) -> np.ndarray:
        """Geometric Jacobian J (..., 6, n) of a frame.

        Velocity and angular velocity of a frame in world axes are J q̇.
        """
        q = q if self.tree.kernels.is_state(q) else self._q(q)
        return jacobian(self.tree, q, self._place(frame))  # type: ignore[arg-type]

    def analytic_jacobian(
        self, q: ArrayLike, frame: str | FrameRef | None = None, *, angles: str = "ZYX"
    ) -> np.ndarray:
        """Jacobian J (..., 6, n) of position and Euler angles: their rates are J q̇.

        angles: three axes of rotations about moving axes, such as "ZYX" (yaw, pitch, roll) or
        "ZYZ". Raises `InputError` for other sequences and if the angles are singular.
        """
        J, R = self.jacobian(q, frame), self.pose(q, frame)[..., :3, :3]
        return np.concatenate(
            [J[..., :3, :], np.linalg.solve(euler_rates(R, angles), J[..., 3:, :])], axis=-2
        )

    def manipulability(
        self, q: ArrayLike, frame: str | FrameRef | None = None, *, part: str = "all"
    ) -> np.ndarray:
        """Manipulability √det(J Jᵀ) (...), zero in singular positions.

        √det(JᵀJ) for n below the number of rows.

        part: rows of J, "all", "translation" or "rotation". Yoshikawa, Int. J. Robotics Research 4
        (1985) 3.
        """
        rows = {"all": slice(0, 6), "translation": slice(0, 3), "rotation": slice(3, 6)}
        if not isinstance(part, str) or part not in rows:
            raise InputError(f"part: must be one of {', '.join(rows)}, not {shown(part)}")
        return np.asarray(
            np.linalg.svd(self.jacobian(q, frame)[..., rows[part], :], compute_uv=False).prod(
                axis=-1
            )
        )

    def inverse_kinematics(
        self,
        pose: ArrayLike,
        frame: str | FrameRef | None = None,
        *,
        start: ArrayLike | None = None,
        starts: int = 30,
        tolerance: float = 1e-10,
        iterations: int = 60,
        turned: bool = True,
        seed: int = 0,
    ) -> Found:
        """Coordinates within the limits at which a frame has a pose (..., 4, 4).

        By damped least squares from several starts.

        start (..., n): first start, by default the middle of the limits; the others are random
        (``seed``) within the limits, or within a half turn or the robot's reach on both sides.
        tolerance: in m and rad.  turned=False: match positions only, with any rotation.
        ``success``: True where it converged. Coupled coordinates that do not move the frame are
        adjusted to their couplings. Raises `InputError`, also for frames that coupled coordinates
        move.

        """
        wanted = given_poses(pose)
        flat, most = wanted.reshape(-1, 4, 4), checked_count("iterations", iterations)
        place, span = self._place(frame), self._span()
        self._without_couplings(place)
        given = (
            span.mean(axis=1) if start is None else np.clip(self._q(start, "start"), *self.limits.T)
        )
        first = self._like("start", given, (*wanted.shape[:-2], self.n)).reshape(
            1, len(flat), self.n
        )
        more, seed = checked_count("starts", starts) - 1, checked_count("seed", seed, 0)
        others = np.random.default_rng(seed).uniform(
            span[:, 0], span[:, 1], (more, len(flat), self.n)
        )
        turned = checked("turned", switch, turned)
        task = PoseTask(
            self.tree, place, flat[:, :3, :3], flat[:, :3, 3], self.limits, self._reach(), turned
        )
        tolerance = checked("tolerance", positive, tolerance)
        found = solve(task, np.concatenate([first, others]), tolerance, most)
        if len(self._coupled.b):
            q = self._coupled.nearest(found.q)
            inside = (
                (q >= self.limits[:, 0] - tolerance) & (q <= self.limits[:, 1] + tolerance)
            ).all(axis=-1)
            found = found._replace(q=q, success=found.success & inside)
        return Found(*(part.reshape((*wanted.shape[:-2], *part.shape[1:])) for part in found))

    def mass_matrix(self, q: ArrayLike) -> np.ndarray:
        """Mass matrix D (..., n, n) of the tree, symmetric positive definite.

        It has the motors' inertia G²J on its diagonal.
        """
        kernels = self.rigid_terms.tree.kernels
        return kernels.mass_matrix(q if kernels.is_state(q) else self._q(q))  # type: ignore[arg-type]

    def coriolis_matrix(self, q: ArrayLike, qd: ArrayLike) -> np.ndarray:
        """Coriolis matrix C (..., n, n) from Christoffel symbols.

        Velocity forces are C q̇, and Ḋ − 2C is skew-symmetric.
        """
        return self.rigid_terms.coriolis_matrix(*self._states(q, qd))

    def gravity_forces(self, q: ArrayLike) -> np.ndarray:
        """Joint forces g (..., n) that balance gravity at rest."""
        return self.rigid_terms.gravity_forces(self._q(q))

    def friction(self, qd: ArrayLike) -> np.ndarray:
        """Friction forces |G|(|G| B q̇ + T) (..., n) of the motors; zero at rest."""
        return self.rigid_terms.friction(self._q(qd, "qd"))

    def inverse_dynamics(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> np.ndarray:
        """Joint forces τ (..., n) for a motion, by inverse dynamics.

        Recursive Newton–Euler sweeps, motor inertia and friction.

        The couplings carry no load under these forces; with q̇ = N u, all τ with the same Nᵀτ
        produce the same motion.
        """
        return self.rigid_terms.inverse_dynamics(*self._states(q, qd, qdd))

    def forward_dynamics(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> np.ndarray:
        """Accelerations q̈ (..., n) for joint forces τ: D q̈ = τ − C q̇ − g − friction.

        Raises `SolverError` if D is singular.

        With couplings A q = b and A N = 0: q̈ = N u̇, NᵀD N u̇ = Nᵀ(τ − C q̇ − g − friction).
        """
        q, qd, tau = self._states(q, qd, tau)
        if len(self._coupled.independent) == self.n:
            tree = self.rigid_terms.tree
            found = tree.kernels.accelerations(q, qd, tau, tree.gravity)
            if found is not None:
                return found
        needed = self.inverse_dynamics(q, qd, np.zeros_like(q))
        N = self._coupled.N
        names = [self.coordinates[k] for k in self._coupled.independent]
        return np.asarray(
            accelerations(N.T @ self.mass_matrix(q) @ N, (tau - needed) @ N, names) @ N.T
        )

    def state(
        self, q: ArrayLike, qd: ArrayLike | None = None, qdd: ArrayLike | None = None
    ) -> State:
        """`State` of the model at coordinates q (n,), rates and accelerations.

        It is the argument of all analyses of the model.
        """
        values = [
            None if given is None else self._joints(self._single(given)) for given in (q, qd, qdd)
        ]
        return state(self.model, position=values[0], velocity=values[1], acceleration=values[2])

    def solids(self) -> tuple[Solid, ...]:
        """Visuals as solids, for `Solution.report` and `Solution.show`.

        Unreadable meshes are left out.
        """
        return tuple(solids_of(self.model, self.visuals, self._named)[0])

    def show(self, q: ArrayLike | None = None, *, browser: bool | None = None) -> View:
        """Show the robot at coordinates q (n,), by default its initial ones, in three dimensions.

        See `Model.show`.
        """
        robot = self if q is None else self.started(q)
        solids, notes = solids_of(robot.model, robot.visuals, robot._named)
        return shown_page(model_view(robot.model, tuple(solids), notes), browser)

    def started(self, q: ArrayLike, qd: ArrayLike | None = None) -> Robot:
        """Same robot, with a model that starts at coordinates q (n,) and rates q̇.

        By default it starts at rest.
        """
        position, velocity = (
            self._joints(self._single(q)),
            self._joints(self._single(np.zeros(self.n) if qd is None else qd)),
        )
        model = copy_of(self.model)
        for name, values in position.items():
            model.joints[name] = dataclasses.replace(
                self.model.joints[name], q0=values, v0=velocity[name]
            )
        limits = {c.joint: tuple(row) for c, row in zip(self.tree.coordinates, self.limits)}
        return Robot(
            model,
            tool=self.tool,
            limits=limits,
            motors=self.motors,
            frames=self._named,
            visuals=self.visuals,
        )

    def _joints(self, values: np.ndarray) -> dict[str, list[float]]:
        """Values grouped by joint, in the order of its coordinates."""
        found: dict[str, dict[int, float]] = {}
        for coordinate, value in zip(self.tree.coordinates, values):
            found.setdefault(coordinate.joint, {})[coordinate.number] = float(value)
        return {joint: [numbered[k] for k in sorted(numbered)] for joint, numbered in found.items()}

    def _ref(self, given: str | FrameRef) -> FrameRef:
        """Reference to a frame of the robot by name. Raises `InputError`."""
        if isinstance(given, str) and given in self._named:
            given = self._named[given]
        try:
            ref = frame_ref(given)
        except ValueError as error:
            raise InputError(f"frame: {error}") from None
        if ref not in self.tree.frames:
            known = [*self._named, *map(str, self.tree.frames)]
            raise InputError(f"frame '{ref}' is not on the robot; {close_names(str(ref), known)}")
        return ref

    def _place(self, frame: str | FrameRef | None) -> NodePose:
        """Link and constant pose of a frame; the tool without a name."""
        return self.tree.frames[self.tool if frame is None else self._ref(frame)]

    def _without_couplings(self, place: NodePose) -> None:
        """Raise `InputError` if coupled coordinates move a point."""
        moved = self.tree.above[place.node] if place.node >= 0 else np.zeros(self.n)
        coupled = [
            name
            for name, k in zip(self.coordinates, np.abs(self._coupled.A).sum(axis=0) * moved)
            if k
        ]
        if coupled:
            text = (
                "inverse kinematics: the frame is moved by coupled coordinates, "
                f"{', '.join(coupled)}"
            )
            raise InputError(
                f"{text}; choose a frame closer to the base, such as the link that carries their "
                "joints"
            )

    def _q(self, q: ArrayLike, key: str = "q") -> np.ndarray:
        """Coordinates as an array (…, n). Raises `InputError`."""
        values = real_array(key, q)
        if values.ndim < 1 or values.shape[-1] != self.n:
            raise InputError(
                f"{key}: must have {self.n} coordinates on its last axis, one per joint, "
                f"not the shape {values.shape}"
            )
        return values

    def _states(self, *given: ArrayLike) -> tuple[np.ndarray, ...]:
        """Arrays q, qd and qdd or τ broadcast to the same shape. Raises `InputError`."""
        if self.tree.kernels.is_state(*given):
            return given  # type: ignore[return-value]
        values = [self._q(each, key) for each, key in zip(given, ("q", "qd", "qdd or tau"))]
        if all(each.shape == values[0].shape for each in values):
            return tuple(values)
        try:
            return tuple(np.broadcast_arrays(*values))
        except ValueError:
            shapes = ", ".join(str(each.shape) for each in values)
            raise InputError(
                f"q, qd and qdd or tau: numbers of states do not match, shapes {shapes}"
            ) from None

    def _like(self, key: str, values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """Values broadcast to a shape. Raises `InputError`."""
        try:
            return np.broadcast_to(values, shape)
        except ValueError:
            raise InputError(
                f"{key}: must be one state or one per pose, not shape {values.shape}"
            ) from None

    def _single(self, q: ArrayLike) -> np.ndarray:
        """Coordinates of one state (n,). Raises `InputError`."""
        values = self._q(q)
        if values.ndim != 1:
            raise InputError(
                f"q: must be one state of {self.n} coordinates, not shape {values.shape}"
            )
        return values

    def _span(self) -> np.ndarray:
        """Range (n, 2) of the coordinates from which random starts are drawn."""
        half = np.where(np.abs(self.tree.turn).max(axis=1) > 0.0, np.pi, self._reach())
        low, high = np.where(
            np.abs(self.limits) > UNLIMITED, np.copysign(np.inf, self.limits), self.limits
        ).T
        low, high = (
            np.where(np.isinf(low), np.where(np.isinf(high), -half, high - 2.0 * half), low),
            high,
        )
        return np.stack([low, np.where(np.isinf(high), low + 2.0 * half, high)], axis=1)

    def _reach(self) -> float:
        """Characteristic length of the robot (m)."""
        sizes = np.linalg.norm(self.tree.x, axis=1)
        reach = float(sizes.sum() + np.linalg.norm(self._place(None).x))
        return reach if reach > 0.0 else 1.0

    def __repr__(self) -> str:
        return f"<Robot '{self.model.name}': {self.n} coordinates, tool {self.tool}>"
