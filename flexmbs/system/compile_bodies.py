"""Bodies and frames → flat records."""

import numpy as np

from flexmbs.errors import InputError
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.model.bodies import FlexibleBody, PointMass, RigidBody
from flexmbs.model.frames import GROUND, Frame, FrameRef
from flexmbs.model.model import ModelData
from flexmbs.system.records import (
    D_FF, DIAGONAL_MODES, F_BODY, F_ELASTIC, F_NF, F_QF, F_R, F_SECOND, F_SF, F_X, FIELDS, FIRST, GYROSCOPIC, K_FF, M_FF, M_REST,
    MASS, MOMENT, NF, QF_AT, RIGID_WIDTH, SECOND, SF_AT, Bodies, Frames,
)  # fmt: skip
from flexmbs.system.second_order_fields import SecondOrderFields, second_order_fields
from flexmbs.system.topology import Topology

ROUND_OFF = 1e-12


def body_records(model: ModelData, shape: Topology, data: dict[str, FlexibleBodyData]) -> Bodies:
    """Inertia and modal matrices of all bodies, in the order of the tree."""
    nb = len(shape.tree)
    fields = {name: second_order_fields(d) for name, d in data.items()}
    n = max((d.nf for d in data.values()), default=0)
    R = max((len(each.C) for each in fields.values()), default=0)
    F = max((d.nf + len(fields[name].C) for name, d in data.items()), default=0)
    z = np.zeros
    b = Bodies(
        z((nb, RIGID_WIDTH)), z((nb, 12, F)), z((nb, F, 12, F)), z((nb, 4, n, n)), z((nb, n, R, n)), z((nb, R, n))
    )  # fmt: skip
    for i, name in enumerate(shape.bodies):
        body = model.bodies[name]
        if isinstance(body, RigidBody):
            com, inertia = np.array(body.com), np.array(body.inertia)
            b.rigid[i, MASS] = body.mass
            b.rigid[i, FIRST : FIRST + 3] = body.mass * com
            b.rigid[i, SECOND:DIAGONAL_MODES] = (
                0.5 * np.trace(inertia) * np.eye(3) - inertia + body.mass * np.outer(com, com)
            ).ravel()
        elif isinstance(body, PointMass):
            b.rigid[i, MASS] = body.mass
        elif isinstance(body, FlexibleBody):
            _flexible(b, i, body, data[name], fields[name])
        else:
            raise InputError(f"bodies.{name}: kind '{body.kind}' has no inertia in the equations")
    flat = {"linear": (nb, 12 * F), "quadratic": (nb, F, 12 * F), "curvature": (nb, n, R * n), "mixed": (nb, R * n)}
    return b._replace(**{part: getattr(b, part).reshape(shape) for part, shape in flat.items()})


def _flexible(b: Bodies, i: int, body: FlexibleBody, d: FlexibleBodyData, fields: SecondOrderFields) -> None:
    n, r = d.nf, len(fields.C)
    b.rigid[i, :DIAGONAL_MODES] = [d.mass, *d.first_moment, *d.second_moment.ravel()]
    b.rigid[i, FIELDS] = r
    S_bar, xS, SS = fields.beside_modes(d)
    b.linear[i, :MOMENT, : n + r] = xS.reshape(9, n + r)
    b.linear[i, MOMENT:, : n + r] = S_bar
    b.quadratic[i, : n + r, :GYROSCOPIC, : n + r] = SS.reshape(9, n + r, n + r).transpose(1, 0, 2)
    for c, (a, e) in enumerate(((1, 2), (2, 0), (0, 1))):
        b.quadratic[i, : n + r, GYROSCOPIC + c, : n + r] = SS[a, e] - SS[e, a]
    b.curvature[i, :n, :r, :n] = fields.C.transpose(1, 0, 2)
    b.mixed[i, :r, :n] = fields.mixed
    b.matrices[i, M_FF, :n, :n] = d.m_ff
    b.matrices[i, M_REST, :n, :n] = d.m_ff - fields.mixed.T @ fields.mixed
    b.matrices[i, K_FF, :n, :n] = d.K_ff
    b.matrices[i, D_FF, :n, :n] = d.D_ff if body.damping is None else _damping(body, d)
    own = b.matrices[i, :M_REST]
    off = own * (1.0 - np.eye(own.shape[-1]))
    diagonal = np.abs(off).max(axis=(1, 2), initial=0.0) <= ROUND_OFF * np.abs(own).max(axis=(1, 2), initial=0.0)
    if diagonal.all():
        own -= off
        b.rigid[i, DIAGONAL_MODES] = 1.0


def _damping(body: FlexibleBody, d: FlexibleBodyData) -> np.ndarray:
    """D = m Φ diag(2 ζ ω) Φᵀ m with the modes Φ of (K_ff, m_ff)."""
    from scipy.linalg import eigh

    ratio = np.asarray(body.damping, float)
    if ratio.ndim == 1 and len(ratio) != d.nf:
        raise InputError(f"bodies.{body.name}.damping: {len(ratio)} ratios for {d.nf} modes; give one number or one per mode")
    values, modes = eigh(d.K_ff, d.m_ff)
    scaled = d.m_ff @ modes
    return np.asarray((scaled * (2.0 * ratio * np.sqrt(np.maximum(values, 0.0)))) @ scaled.T)


class FrameTable:
    """All frames of the bodies and the ground, numbered."""

    def __init__(self, model: ModelData, shape: Topology, data: dict[str, FlexibleBodyData]) -> None:
        self.model, self.data = model, data
        self.bodies = {GROUND: -1} | {name: i for i, name in enumerate(shape.bodies)}
        refs = [FrameRef(name) for name in self.bodies] + [
            FrameRef(name, frame) for name in self.bodies for frame in self.known(name)
        ]
        self.numbers = {ref: m for m, ref in enumerate(refs)}

    def known(self, body: str) -> tuple[str, ...]:
        """Names of the frames of a body."""
        if body == GROUND:
            return tuple(self.model.frames)
        if body in self.data:
            return tuple(self.data[body].frames)
        return self.model.bodies[body].known_frames() or ()

    def number(self, ref: FrameRef) -> int:
        """Number of a frame. Raises `InputError` when there is none."""
        found = self.numbers.get(FrameRef(ref.body, ref.frame))
        if found is None:
            if ref.body not in self.bodies:
                raise InputError(f"frame '{ref}': there is no body '{ref.body}'; there are {', '.join(self.bodies)}")
            raise InputError(f"body '{ref.body}' has no frame '{ref.frame}'; it has: {', '.join(self.known(ref.body)) or 'none'}")
        return found

    def record(self, tree: np.ndarray) -> Frames:
        """Flat record of all frames."""
        n, F = len(self.numbers), max((d.nf for d in self.data.values()), default=0)
        frames = Frames(np.zeros((n, 6), np.int64), np.zeros((n, 12)), np.zeros((n, 6, F)), np.zeros((0, F, 6 * F)))
        second: list[np.ndarray] = []
        for ref, m in self.numbers.items():
            i = self.bodies[ref.body]
            frames.info[m, F_BODY], frames.info[m, F_SECOND] = i, -1
            if i >= 0:
                frames.info[m, F_NF], frames.info[m, F_QF], frames.info[m, F_SF] = tree[i, NF], tree[i, QF_AT], tree[i, SF_AT]
            x, R = np.zeros(3), np.eye(3)
            if ref.frame and ref.body in self.data:
                place = self.data[ref.body].frames[ref.frame]
                x, R = place.x, place.R
                frames.shape[m, :3, : place.phi.shape[1]] = place.phi
                frames.shape[m, 3:, : place.psi.shape[1]] = place.psi
                _second_order(frames, m, self.data[ref.body], ref.frame, second)
            elif ref.frame:
                given: Frame = (self.model.frames if i < 0 else self.model.bodies[ref.body].frames)[ref.frame]  # type: ignore[attr-defined]
                x, R = np.array(given.position), np.array(given.rotation)
            frames.place[m, F_X : F_X + 3], frames.place[m, F_R:] = x, np.ravel(R)
            frames.info[m, F_ELASTIC] = int(np.abs(frames.shape[m]).max(initial=0.0) > 0.0 or frames.info[m, F_SECOND] >= 0)
        return frames._replace(second=np.array(second)) if second else frames


def _second_order(frames: Frames, m: int, d: FlexibleBodyData, name: str, second: list[np.ndarray]) -> None:
    """Second-order displacement of a frame, where its body has one."""
    K0 = d.geometric.frames.get(name) if d.geometric is not None else None
    if K0 is not None and K0.any():
        frames.info[m, F_SECOND] = len(second)
        rows = np.zeros((frames.second.shape[1], 6, frames.second.shape[1]))
        rows[: d.nf, :, : d.nf] = K0.transpose(1, 0, 2)
        second.append(rows.reshape(frames.second.shape[1:]))
