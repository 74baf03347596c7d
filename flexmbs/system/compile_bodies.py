"""Bodies and frames → flat records."""

from collections.abc import Mapping

import numpy as np

from flexmbs.declaration import close_names
from flexmbs.errors import InputError
from flexmbs.flexible_body.record import FlexibleBodyData
from flexmbs.model.bodies import FlexibleBody, PointMass, RigidBody
from flexmbs.model.frames import GROUND, Frame, FrameRef
from flexmbs.model.model import ModelData
from flexmbs.system.records import GYROSCOPIC, MOMENT, Bodies, Frames, Tree
from flexmbs.system.second_order_fields import SecondOrderFields, second_order_fields
from flexmbs.system.topology import Topology

ROUND_OFF = 1e-12  # of the largest entry of a matrix


def body_records(model: ModelData, shape: Topology, data: dict[str, FlexibleBodyData]) -> Bodies:
    """Inertia and modal matrices of all bodies, in the order of the tree."""
    nb = len(shape.tree)
    distinct = {id(d): d for d in data.values()}
    fields_of = {key: second_order_fields(d) for key, d in distinct.items()}
    fields = {name: fields_of[id(d)] for name, d in data.items()}
    n = max((d.nf for d in data.values()), default=0)
    R = max((len(each.C) for each in fields.values()), default=0)
    F = max((d.nf + len(fields[name].C) for name, d in data.items()), default=0)
    # the first row is for bodies without modes
    rows = {key: row for row, key in enumerate(distinct, 1)}
    m, z = 1 + len(rows), np.zeros
    b = Bodies(
        mass=z(nb),
        first=z((nb, 3)),
        second=z((nb, 9)),
        diagonal=z(nb, np.int64),
        n_fields=z(nb, np.int64),
        integrals=np.array([rows.get(id(data.get(name)), 0) for name in shape.bodies], np.int64),
        linear=z((m, 12, F)),
        quadratic=z((m, F, 12, F)),
        m_ff=z((nb, n, n)),
        k_ff=z((nb, n, n)),
        d_ff=z((nb, n, n)),
        m_rest=z((nb, n, n)),
        curvature=z((m, n, R, n)),
        mixed=z((m, R, n)),
    )
    for i, name in enumerate(shape.bodies):
        body = model.bodies[name]
        if isinstance(body, RigidBody):
            mass, com, inertia = body.mass_properties
            b.mass[i] = mass
            b.first[i] = mass * com
            b.second[i] = (
                0.5 * np.trace(inertia) * np.eye(3) - inertia + mass * np.outer(com, com)
            ).ravel()
        elif isinstance(body, PointMass):
            b.mass[i] = body.mass
        elif isinstance(body, FlexibleBody):
            _flexible(b, i, body, data[name], fields[name])
        else:
            raise InputError(f"bodies.{name}: kind '{body.kind}' has no inertia in the equations")
    flat = {
        "linear": (m, 12 * F),
        "quadratic": (m, F, 12 * F),
        "curvature": (m, n, R * n),
        "mixed": (m, R * n),
    }
    return b._replace(**{part: getattr(b, part).reshape(shape) for part, shape in flat.items()})


def _flexible(
    b: Bodies, i: int, body: FlexibleBody, d: FlexibleBodyData, fields: SecondOrderFields
) -> None:
    """Write the inertia and shape integrals of a flexible body into row i of the records."""
    n, r, of = d.nf, len(fields.C), b.integrals[i]
    b.mass[i], b.first[i], b.second[i] = d.mass, d.first_moment, d.second_moment.ravel()
    b.n_fields[i] = r
    S_bar, xS, SS = fields.beside_modes(d)
    b.linear[of, :MOMENT, : n + r] = xS.reshape(9, n + r)
    b.linear[of, MOMENT:, : n + r] = S_bar
    b.quadratic[of, : n + r, :GYROSCOPIC, : n + r] = SS.reshape(9, n + r, n + r).transpose(1, 0, 2)
    for c, (a, e) in enumerate(((1, 2), (2, 0), (0, 1))):
        b.quadratic[of, : n + r, GYROSCOPIC + c, : n + r] = SS[a, e] - SS[e, a]
    b.curvature[of, :n, :r, :n] = fields.C.transpose(1, 0, 2)
    b.mixed[of, :r, :n] = fields.mixed
    b.m_ff[i, :n, :n] = d.m_ff
    b.m_rest[i, :n, :n] = d.m_ff - fields.mixed.T @ fields.mixed
    b.k_ff[i, :n, :n] = d.K_ff
    b.d_ff[i, :n, :n] = d.D_ff if body.damping is None else _damping(body, d)
    own = np.stack([b.m_ff[i], b.k_ff[i], b.d_ff[i]])
    off = own * (1.0 - np.eye(own.shape[-1]))
    diagonal = np.abs(off).max(axis=(1, 2), initial=0.0) <= ROUND_OFF * np.abs(own).max(
        axis=(1, 2), initial=0.0
    )
    if diagonal.all():
        for matrix, part in zip((b.m_ff, b.k_ff, b.d_ff), off):
            matrix[i] -= part
        b.diagonal[i] = 1
    if not r:
        b.m_rest[i] = b.m_ff[i]


def _damping(body: FlexibleBody, d: FlexibleBodyData) -> np.ndarray:
    """Modal damping matrix D = m Φ diag(2 ζ ω) Φᵀ m of a body."""
    from scipy.linalg import eigh

    values, modes = eigh(d.K_ff, d.m_ff)
    omega, scaled = np.sqrt(np.maximum(values, 0.0)), d.m_ff @ modes
    return np.asarray((scaled * (2.0 * body.ratios(omega / (2.0 * np.pi)) * omega)) @ scaled.T)


class FrameTable:
    """Numbered frames of the bodies and the ground.

    same: other references to some of the frames.
    """

    def __init__(
        self,
        model: ModelData,
        shape: Topology,
        data: dict[str, FlexibleBodyData],
        same: Mapping[FrameRef, FrameRef],
    ) -> None:
        """Table of the frames of a model, numbered for compilation."""
        self.model, self.data = model, data
        self.bodies = {GROUND: -1} | {name: i for i, name in enumerate(shape.bodies)}
        refs = [FrameRef(name) for name in self.bodies] + [
            FrameRef(name, frame) for name in self.bodies for frame in self.known(name)
        ]
        self.own = {ref: m for m, ref in enumerate(refs)}
        self.numbers = self.own | {ref: self.own[other] for ref, other in same.items()}

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
                raise InputError(
                    f"frame '{ref}': there is no body '{ref.body}'; "
                    f"{close_names(ref.body, self.bodies)}"
                )
            raise InputError(
                f"body '{ref.body}' has no frame '{ref.frame}'; "
                f"{close_names(ref.frame, self.known(ref.body))}"
            )
        return found

    def place(self, ref: FrameRef) -> tuple[np.ndarray, np.ndarray]:
        """Rotation (3, 3) and position (3,) of a frame in its body, undeformed."""
        if not ref.frame:
            return np.eye(3), np.zeros(3)
        if ref.body in self.data:
            found = self.data[ref.body].frames[ref.frame]
            return found.R, found.x
        frames = self.model.frames if ref.body == GROUND else self.model.bodies[ref.body].frames  # type: ignore[attr-defined]
        given: Frame = frames[ref.frame]
        return np.array(given.rotation), np.array(given.position)

    def record(self, tree: Tree) -> Frames:
        """Flat record of all frames."""
        n, F = len(self.own), max((d.nf for d in self.data.values()), default=0)
        z = np.zeros
        integers = {name: z(n, np.int64) for name in Frames._fields[:6]}
        frames = Frames(
            **integers, x=z((n, 3)), R=z((n, 9)), shape=z((n, 6, F)), second=z((0, F, 6 * F))
        )
        second: list[np.ndarray] = []
        for ref, m in self.own.items():
            i = self.bodies[ref.body]
            frames.body[m], frames.second_at[m] = i, -1
            if i >= 0:
                frames.nf[m], frames.qf_at[m], frames.sf_at[m] = (
                    tree.nf[i],
                    tree.qf_at[i],
                    tree.sf_at[i],
                )
            R, x = self.place(ref)
            if ref.frame and ref.body in self.data:
                place = self.data[ref.body].frames[ref.frame]
                frames.shape[m, :3, : place.phi.shape[1]] = place.phi
                frames.shape[m, 3:, : place.psi.shape[1]] = place.psi
                _second_order(frames, m, self.data[ref.body], ref.frame, second)
            frames.x[m], frames.R[m] = x, np.ravel(R)
            frames.elastic[m] = int(
                np.abs(frames.shape[m]).max(initial=0.0) > 0.0 or frames.second_at[m] >= 0
            )
        return frames._replace(second=np.array(second)) if second else frames


def _second_order(
    frames: Frames, m: int, d: FlexibleBodyData, name: str, second: list[np.ndarray]
) -> None:
    """Second-order displacement of a frame, if its body has any."""
    K0 = d.geometric.frames.get(name) if d.geometric is not None else None
    if K0 is not None and K0.any():
        frames.second_at[m] = len(second)
        rows = np.zeros((frames.second.shape[1], 6, frames.second.shape[1]))
        rows[: d.nf, :, : d.nf] = K0.transpose(1, 0, 2)
        second.append(rows.reshape(frames.second.shape[1:]))
