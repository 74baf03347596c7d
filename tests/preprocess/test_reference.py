"""Reference conditions: one body, several body frames."""

import numpy as np
import pytest
import scipy.linalg
import scipy.spatial

from flexmbs.errors import InputError
from flexmbs.flexible_body import FlexibleBodyData, FloatArray
from preprocess.assembly import assemble
from preprocess.build import reduce
from preprocess.fe_model import FEModel
from preprocess.interfaces import Averaged, Rigid
from preprocess.material import Isotropic
from preprocess.reduction import CraigBampton
from preprocess.structured import box_mesh

STEEL = Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
KINDS = [(Rigid, Rigid), (Averaged, Averaged), (Averaged, Rigid)]
REFERENCES = ["base", "tip", "mean axes"]


@pytest.fixture(scope="module")
def bar() -> FEModel:
    return assemble(box_mesh((0.6, 0.1, 0.07), (6, 2, 1), "hex20", origin=(0.3, -0.1, 0.2)), STEEL)


def reduced(fe: FEModel, kinds: tuple, reference: str, *, count: int = 8, **tip: object) -> FlexibleBodyData:
    interfaces = {"base": kinds[0]("x0"), "tip": kinds[1]("x1", **tip)}
    return reduce(fe, interfaces=interfaces, method=CraigBampton(modes=count), reference=reference)


def mass_matrix(body: FlexibleBodyData) -> FloatArray:
    """[m 1, −c̃, S_bar; ., Θ, ∫x × φ dm; ., ., m_ff] of the undeformed body, (6+nf, 6+nf)."""
    c = body.first_moment
    skew = np.array([[0, -c[2], c[1]], [c[2], 0, -c[0]], [-c[1], c[0], 0]])
    L = np.vstack([body.S_bar, body.x_cross_S])
    rigid = np.block([[body.mass * np.eye(3), -skew], [skew, body.inertia]])
    return np.block([[rigid, L], [L.T, body.m_ff]])


def free_frequencies(body: FlexibleBodyData) -> FloatArray:
    """Frequencies [Hz] of the free reduced body, without its six rigid-body modes."""
    K = np.zeros((6 + body.nf, 6 + body.nf))
    K[6:, 6:] = body.K_ff
    omega2 = scipy.linalg.eigh(K, mass_matrix(body), eigvals_only=True)
    assert np.abs(omega2[:6]).max() < 1e-8 * omega2[6]
    return np.sqrt(omega2[6:]) / (2 * np.pi)


@pytest.mark.parametrize("kinds", KINDS)
def test_free_frequencies_do_not_depend_on_the_reference(bar: FEModel, kinds: tuple) -> None:
    bodies = {reference: reduced(bar, kinds, reference) for reference in REFERENCES}
    expected = bodies["mean axes"].modes.frequency
    for reference, body in bodies.items():
        assert body.nf == 8 + 12 - 6
        assert body.validate().ok, str(body.validate())
        np.testing.assert_allclose(free_frequencies(body), expected, rtol=2e-9, err_msg=reference)


def test_free_frequencies_are_those_of_the_full_model(bar: FEModel) -> None:
    """Averaged interfaces do not stiffen: the reduced frequencies come down to those of the unconstrained matrices."""
    full = np.sqrt(scipy.linalg.eigh(bar.K.toarray(), bar.M.toarray(), eigvals_only=True, subset_by_index=(6, 11))) / (2 * np.pi)
    few = reduced(bar, (Averaged, Averaged), "mean axes", count=8).modes.frequency[:6]
    many = reduced(bar, (Averaged, Averaged), "mean axes", count=40).modes.frequency[:6]
    assert np.all(few >= many * (1 - 1e-9))
    assert np.all(many >= full * (1 - 1e-9))
    np.testing.assert_allclose(many, full, rtol=5e-4)


@pytest.mark.parametrize("kinds", KINDS)
def test_attached_frame_stands_still_at_its_interface(bar: FEModel, kinds: tuple) -> None:
    body = reduced(bar, kinds, "tip")
    frame = body.frames["tip"]
    np.testing.assert_allclose(frame.x, 0, atol=1e-14)
    np.testing.assert_array_equal(frame.R, np.eye(3))
    scale = np.abs(body.frames["base"].psi).max()
    assert np.abs(frame.phi).max() < 1e-11 * scale
    assert np.abs(frame.psi).max() < 1e-11 * scale
    np.testing.assert_allclose(body.com, [-0.3, 0, 0], atol=1e-12)
    assert set(body.modes.kind) <= {"clamped", "static"}


@pytest.mark.parametrize("kinds", KINDS)
def test_mean_axes_see_no_momentum(bar: FEModel, kinds: tuple) -> None:
    body = reduced(bar, kinds, "mean axes")
    scale = np.sqrt(body.mass)  # of ∫φ dm for a mass-normalised shape
    assert np.abs(body.S_bar).max() < 1e-9 * scale
    assert np.abs(body.x_cross_S).max() < 1e-9 * scale
    np.testing.assert_allclose(body.com, 0, atol=1e-13)
    assert body.modes.effective_mass.max() < 1e-12
    assert body.surface is not None
    np.testing.assert_allclose(body.surface.nodes.mean(axis=0), 0, atol=1e-2)


def test_turned_interface_axes_turn_the_body_frame(bar: FEModel) -> None:
    """Axes of the reference interface are those of the body frame; frequencies, inertia and compliance turn along."""
    R = scipy.spatial.transform.Rotation.from_rotvec([0.3, -0.5, 0.8]).as_matrix()
    plain, turned = reduced(bar, (Rigid, Rigid), "tip"), reduced(bar, (Rigid, Rigid), "tip", axes=R)
    np.testing.assert_allclose(turned.modes.frequency, plain.modes.frequency, rtol=1e-10)
    np.testing.assert_allclose(turned.inertia, R.T @ plain.inertia @ R, atol=1e-12)
    np.testing.assert_allclose(turned.frames["base"].x, R.T @ plain.frames["base"].x, atol=1e-14)
    np.testing.assert_allclose(turned.frames["base"].R, R.T, atol=1e-14)
    np.testing.assert_allclose(turned.frames["tip"].R, np.eye(3), atol=1e-14)

    def compliance(body: FlexibleBodyData) -> FloatArray:
        J = np.vstack([body.frames["base"].phi, body.frames["base"].psi])
        return J @ np.linalg.solve(body.K_ff, J.T)

    Q = scipy.linalg.block_diag(R, R)
    expected = Q.T @ compliance(plain) @ Q
    np.testing.assert_allclose(compliance(turned), expected, rtol=1e-8, atol=1e-10 * np.abs(expected).max())
    assert plain.surface is not None
    assert turned.surface is not None
    np.testing.assert_allclose(turned.surface.nodes, plain.surface.nodes @ R, atol=1e-14)


def test_offset_position_carries_the_lever(bar: FEModel) -> None:
    """A rigid interface's frame moved by d sees φ − d × ψ … of the same shapes: φ' = φ + ψ × d."""
    plain, moved = reduced(bar, (Rigid, Rigid), "base"), reduced(bar, (Rigid, Rigid), "base", position=(1.0, 0.0, 0.2))
    a, b = plain.frames["tip"], moved.frames["tip"]
    d = b.x - a.x
    signs = np.sign(np.einsum("ak,ak->k", a.psi, b.psi))
    np.testing.assert_allclose(b.psi * signs, a.psi, atol=1e-7 * np.abs(a.psi).max())
    np.testing.assert_allclose(b.phi * signs, a.phi + np.cross(a.psi.T, d).T, atol=1e-7 * np.abs(a.phi).max())


def test_unknown_reference_is_named(bar: FEModel) -> None:
    with pytest.raises(InputError, match="reference: no interface 'tipp'; choose one of: tip"):
        reduced(bar, (Rigid, Rigid), "tipp")


@pytest.mark.parametrize("kinds", KINDS)
def test_frames_move_with_the_nodes(bar: FEModel, kinds: tuple) -> None:
    """Rigid: nodes = φ + ψ × arm exactly; averaged: φ, ψ are the least-squares motion of the nodes."""
    body = reduced(bar, kinds, "mean axes")
    assert body.surface is not None
    for name, frame in body.frames.items():
        rows = bar.node_sets["x0" if name == "base" else "x1"]
        arm = body.surface.nodes[rows] - frame.x
        u = body.surface.phi[rows]
        follow = frame.phi[None] + np.cross(frame.psi.T[None], arm[:, None]).transpose(0, 2, 1)
        if frame.kind == "rigid":
            np.testing.assert_allclose(u, follow, atol=1e-12 * np.abs(u).max())
        else:
            T = np.concatenate(
                [np.tile(np.eye(3), (len(arm), 1, 1)), np.cross(np.eye(3)[None], arm[:, None]).transpose(0, 2, 1)], axis=2
            )
            fit = np.linalg.lstsq(T.reshape(-1, 6), u.reshape(-1, body.nf), rcond=None)[0]
            np.testing.assert_allclose(np.vstack([frame.phi, frame.psi]), fit, atol=1e-10 * np.abs(fit).max())
            assert np.abs(u - follow).max() > 1e-4 * np.abs(u).max()
