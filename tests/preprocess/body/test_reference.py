"""Reference conditions: one body, several body frames."""

import functools
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.linalg
import scipy.spatial
from bars import solid_bar
from random_parts import KINDS as PARTS
from random_parts import full_model, random_model

from flexmbs.errors import InputError
from flexmbs.flexible_body.components import FloatArray
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.body import body_modes
from preprocess.body.build import reduce as full_reduce
from preprocess.body.divided import reduce_divided
from preprocess.body.reference import REFERENCES as RULES
from preprocess.body.reference import Chord, Reference, reference_of
from preprocess.fe.assembly import assemble
from preprocess.fe.fe_model import FEModel
from preprocess.fe.interfaces import Averaged, Rigid, bind_interfaces
from preprocess.fe.material import Isotropic
from preprocess.fe.shell_sections import ShellSection
from preprocess.mesh.divide import divide
from preprocess.mesh.mesh import Mesh
from preprocess.mesh.structured import box_mesh
from preprocess.reduction import CraigBampton
from preprocess.reduction.interface_statics import InterfaceStatics

reduce = functools.partial(full_reduce, stiffening=False, stress=None, estimate=False)
STEEL = Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
KINDS = [(Rigid, Rigid), (Averaged, Averaged), (Averaged, Rigid)]
REFERENCES = ["base", "tip", "mean axes", "principal axes", "chord", "node 60"]


@pytest.fixture(scope="module")
def bar() -> FEModel:
    return solid_bar((6, 2, 1), (0.3, -0.1, 0.2))


def reduced(
    fe: FEModel, kinds: tuple, reference: str | Reference, *, count: int = 8, **tip: object
) -> FlexibleBodyData:
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


def compliance_held_at_base(body: FlexibleBodyData) -> FloatArray:
    """Displacements of the tip under its unit loads, the base held, in the tip's own axes; from the
    body frame's rigid motion and its modes, so that it does not depend on the reference."""

    def motion(name: str) -> FloatArray:
        frame = body.frames[name]
        x = frame.x
        skew = np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])
        rows = np.block([[np.eye(3), -skew, frame.phi], [np.zeros((3, 3)), np.eye(3), frame.psi]])
        return scipy.linalg.block_diag(frame.R, frame.R).T @ rows

    base, tip = motion("base"), motion("tip")
    E = tip[:, 6:] - tip[:, :6] @ np.linalg.solve(base[:, :6], base[:, 6:])
    return np.asarray(E @ np.linalg.solve(body.K_ff, E.T))


@pytest.mark.parametrize("kinds", KINDS)
def test_compliance_does_not_depend_on_the_reference(bar: FEModel, kinds: tuple) -> None:
    """Oracle: inverse of the interface stiffness of the full model."""
    interfaces = bind_interfaces(
        {"base": kinds[0]("x0"), "tip": kinds[1]("x1")}, bar.nodes, bar.node_sets
    )
    full = InterfaceStatics(bar, interfaces).interface_compliance(0)[6:, 6:]
    for reference in REFERENCES:
        found = compliance_held_at_base(reduced(bar, kinds, reference))
        np.testing.assert_allclose(
            found, full, rtol=1e-7, atol=1e-9 * np.abs(full).max(), err_msg=reference
        )


@pytest.mark.parametrize("kinds", KINDS)
def test_free_frequencies_do_not_depend_on_the_reference(bar: FEModel, kinds: tuple) -> None:
    bodies = {reference: reduced(bar, kinds, reference) for reference in REFERENCES}
    expected = bodies["mean axes"].modes.frequency
    for reference, body in bodies.items():
        assert body.nf == 8 + 12 - 6
        assert body.validate().ok, str(body.validate())
        np.testing.assert_allclose(free_frequencies(body), expected, rtol=2e-9, err_msg=reference)


def test_free_frequencies_are_those_of_the_full_model(bar: FEModel) -> None:
    """Averaged interfaces do not stiffen: the reduced frequencies come down to those of the
    unconstrained matrices.
    """
    full = np.sqrt(
        scipy.linalg.eigh(
            bar.K.toarray(), bar.M.toarray(), eigvals_only=True, subset_by_index=(6, 11)
        )
    ) / (2 * np.pi)
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


@pytest.mark.parametrize("kinds", KINDS)
def test_chord_joins_the_interfaces(bar: FEModel, kinds: tuple) -> None:
    """The first stays at the origin and does not twist, the second stays on the x axis; whatever
    the axes of the interfaces.
    """
    body = reduced(bar, kinds, "chord", position=(0.9, -0.02, 0.24))
    base, tip = body.frames["base"], body.frames["tip"]
    np.testing.assert_allclose(base.x, 0, atol=1e-14)
    np.testing.assert_allclose(tip.x, [np.linalg.norm([0.6, 0.03, 0.005]), 0, 0], atol=1e-12)
    np.testing.assert_allclose(
        base.R.T @ [1.0, 0, 0],
        np.array([0.6, 0.03, 0.005]) / np.linalg.norm([0.6, 0.03, 0.005]),
        atol=1e-12,
    )
    scale, turn = np.abs(tip.phi).max(), np.abs(tip.psi).max()
    assert np.abs(base.phi).max() < 1e-11 * scale
    assert np.abs(tip.phi[1:]).max() < 1e-11 * scale
    assert np.abs(base.psi[0]).max() < 1e-11 * turn
    assert np.abs(base.psi[1:]).max() > 1e-2 * turn
    assert set(body.modes.kind) <= {"simply supported", "static"}
    turned = reduced(bar, kinds, Chord("tip", "base"))
    assert turned.frames["base"].x[0] == pytest.approx(0.6)
    assert turned.provenance["reference"] == "chord from tip to base"


def test_principal_axes_are_those_of_inertia(bar: FEModel) -> None:
    """A bar turned in space: the inertia of the body is diagonal in its frame, the smallest moment
    first, and there is no momentum."""
    R = scipy.spatial.transform.Rotation.from_rotvec([0.3, -0.5, 0.8]).as_matrix()
    Q = scipy.sparse.kron(scipy.sparse.eye(len(bar.nodes)), R)
    K, M = (Q @ A @ Q.T for A in (bar.K, bar.M))
    turned = FEModel.from_matrices(K, M, bar.nodes @ R.T, node_sets=dict(bar.node_sets))
    body = reduced(turned, (Rigid, Averaged), "principal axes")
    b, h, mass = 0.1, 0.07, body.mass
    moments = mass / 12 * np.array([b**2 + h**2, 0.36 + h**2, 0.36 + b**2])
    np.testing.assert_allclose(body.inertia, np.diag(np.sort(moments)), atol=1e-12 * mass)
    assert np.abs(body.S_bar).max() < 1e-9 * np.sqrt(mass)
    assert np.abs(body.x_cross_S).max() < 1e-9 * np.sqrt(mass)
    same = reduced(bar, (Rigid, Averaged), "principal axes")
    np.testing.assert_allclose(body.modes.frequency, same.modes.frequency, rtol=1e-9)


def test_node_carries_the_body_frame(bar: FEModel) -> None:
    """The node stands still at the origin and its neighbours do not turn about it in the mean."""
    body = reduced(bar, (Rigid, Rigid), "node 60")
    row = int(np.flatnonzero(bar.node_ids == 60)[0])
    assert body.surface is not None
    np.testing.assert_allclose(body.surface.nodes[row], 0, atol=1e-14)
    scale = np.abs(body.surface.phi).max()
    assert np.abs(body.surface.phi[row]).max() < 1e-12 * scale
    near = np.setdiff1d(bar.m[row].indices, row)
    moment = np.cross(body.surface.nodes[near][:, :, None], body.surface.phi[near], axis=1).sum(
        axis=0
    )
    assert np.abs(moment).max() < 1e-12 * scale
    assert set(body.modes.kind) <= {"clamped", "static"}


def test_every_rule_has_a_name(bar: FEModel) -> None:
    names = ["base", "tip"]
    rules = [reference_of(given, names) for given in REFERENCES]
    assert {type(rule) for rule in rules} == set(RULES.values())
    assert [str(reference_of(rule, names)) for rule in rules] == [
        *REFERENCES[:4],
        "chord from base to tip",
        "node 60",
    ]


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("node 99999", "reference: the mesh has no node 99999; its node numbers are 0..126"),
        ("node x", "reference: no interface 'node x'; choose one of: "),
        (Chord("base", "top"), "reference: no interface 'top'; choose one of: tip"),
        (
            Chord("tip", "tip"),
            "reference: interfaces tip and tip are at the same position; a chord needs "
            "two positions",
        ),
    ],
)
def test_bad_references(bar: FEModel, reference: str | Reference, message: str) -> None:
    with pytest.raises(InputError) as refused:
        reduced(bar, (Rigid, Rigid), reference)
    assert str(refused.value).startswith(message)


def test_chord_of_one_interface(bar: FEModel) -> None:
    with pytest.raises(
        InputError,
        match=r"reference: a chord joins two interfaces, the body has 1; give Chord\(first, "
        r"second\)",
    ):
        reduce(bar, interfaces={"base": Rigid("x0")}, reference="chord")


def test_turned_interface_axes_turn_the_body_frame(bar: FEModel) -> None:
    """Axes of the reference interface are those of the body frame; frequencies, inertia and
    compliance turn along.
    """
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
    np.testing.assert_allclose(
        compliance(turned), expected, rtol=1e-8, atol=1e-10 * np.abs(expected).max()
    )
    assert plain.surface is not None
    assert turned.surface is not None
    np.testing.assert_allclose(turned.surface.nodes, plain.surface.nodes @ R, atol=1e-14)


def test_offset_position_carries_the_lever(bar: FEModel) -> None:
    """A rigid interface's frame moved by d sees φ − d × ψ … of the same shapes: φ' = φ + ψ × d."""
    plain, moved = (
        reduced(bar, (Rigid, Rigid), "base"),
        reduced(bar, (Rigid, Rigid), "base", position=(1.0, 0.0, 0.2)),
    )
    a, b = plain.frames["tip"], moved.frames["tip"]
    d = b.x - a.x
    expected = a.phi + np.cross(a.psi.T, d).T
    signs = np.sign(np.einsum("ak,ak->k", np.vstack([a.psi, expected]), np.vstack([b.psi, b.phi])))
    np.testing.assert_allclose(b.psi * signs, a.psi, atol=1e-7 * np.abs(a.psi).max())
    np.testing.assert_allclose(b.phi * signs, expected, atol=1e-7 * np.abs(a.phi).max())


def test_unknown_reference_is_named(bar: FEModel) -> None:
    with pytest.raises(InputError, match="reference: no interface 'tipp'; choose one of: tip"):
        reduced(bar, (Rigid, Rigid), "tipp")


@pytest.mark.parametrize("kinds", KINDS)
def test_frames_move_with_the_nodes(bar: FEModel, kinds: tuple) -> None:
    """Rigid: nodes = φ + ψ × arm exactly; averaged: φ, ψ are
    the least-squares motion of the nodes.
    """
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
                [
                    np.tile(np.eye(3), (len(arm), 1, 1)),
                    np.cross(np.eye(3)[None], arm[:, None]).transpose(0, 2, 1),
                ],
                axis=2,
            )
            fit = np.linalg.lstsq(T.reshape(-1, 6), u.reshape(-1, body.nf), rcond=None)[0]
            np.testing.assert_allclose(
                np.vstack([frame.phi, frame.psi]), fit, atol=1e-10 * np.abs(fit).max()
            )
            assert np.abs(u - follow).max() > 1e-4 * np.abs(u).max()


def check_held(body: FlexibleBodyData, statics: InterfaceStatics, within: float = 1e-3) -> None:
    """The lowest frequencies with the reference held are those of the full model."""
    found = np.sqrt(scipy.linalg.eigh(body.K_ff, body.m_ff, eigvals_only=True)[:3])
    expected = full_model(statics, 0).eigenvalues(float(found[0]) ** 2)[: len(found)]
    np.testing.assert_allclose(found, np.sqrt(expected), rtol=within)


def strip(kind: str) -> FEModel:
    """Solids so thin that round-off is near, or shells."""
    if kind == "solids":
        return assemble(box_mesh((1.0, 0.1, 0.0005), (10, 1, 1), "hex8"), STEEL)
    x = np.array([(i / 10, 0.1 * j, 0.0) for i in range(11) for j in range(2)])
    quads = np.array([[2 * i, 2 * i + 2, 2 * i + 3, 2 * i + 1] for i in range(10)])
    ends = {"x0": [0, 1], "x1": [20, 21]}
    return assemble(
        Mesh.from_arrays(x, {"quad4": quads}, node_sets=ends), STEEL, sections=ShellSection(0.004)
    )


@pytest.mark.parametrize("part", ["solids", "shells"])
@pytest.mark.parametrize("modes", [40, 60])
def test_shapes_that_move_the_frame_and_no_mass_are_left_out_by_name(part: str, modes: int) -> None:
    """With nearly as many modes as the part has, nodes of the frame turn about their normal or
    apart from the others.
    """
    fe, interfaces = strip(part), {"root": Averaged("x0"), "tip": Averaged("x1")}
    body = reduce(fe, interfaces=interfaces, reference="root", method=CraigBampton(modes=modes))
    assert "that move the body frame with hardly any mass" in str(body.provenance["dropped shapes"])
    assert body.failed == ()
    statics = InterfaceStatics(
        fe, bind_interfaces(interfaces, fe.nodes, fe.node_sets, fe.triangles, fe.freedoms)
    )
    check_held(body, statics, within=5e-3)


@pytest.mark.parametrize("seed", range(6 * len(PARTS)))
def test_bodies_whose_frame_has_hardly_any_mass_are_right_or_refused(seed: int) -> None:
    """One node of shells turns about their normal against no mass: with many modes no basis without
    this motion is near. Mean axes have it."""
    fe, interfaces = random_model(seed)
    statics = InterfaceStatics(
        fe, bind_interfaces(interfaces, fe.nodes, fe.node_sets, fe.triangles, fe.freedoms)
    )
    count = min(40, fe.freedoms.size // 4 - 2 * len(interfaces))
    how = {"interfaces": interfaces, "method": CraigBampton(modes=count)}
    if PARTS[seed % len(PARTS)] != "plate":
        check_held(reduce(fe, reference=next(iter(interfaces)), **how), statics)
        return
    with pytest.raises(
        InputError,
        match="reference: the body frame moves relative to the body with hardly any mass",
    ):
        reduce(fe, reference=next(iter(interfaces)), **how)
    lowest = np.sqrt(full_model(statics, None).eigenvalues(1.0)[6:9]) / (2 * np.pi)
    np.testing.assert_allclose(
        free_frequencies(reduce(fe, reference="mean axes", **how))[:3], lowest, rtol=1e-3
    )


def test_divided_parts_whose_frame_has_hardly_any_mass_get_a_remedy():
    """Their frame is at an interface: mean axes are no remedy."""
    sheet = box_mesh((0.4, 0.2, 1.0), (6, 3, 1), "hex8")
    corner = sheet.node_sets["z0"]
    cells = np.searchsorted(corner, sheet.blocks["hex8"].connectivity[:, :4])
    mesh = Mesh.from_arrays(
        sheet.nodes[corner], {"quad4": cells}, node_sets={"x0": [0], "x1": [len(corner) - 1]}
    )
    how = {
        "interfaces": {"root": Rigid("x0"), "tip": Rigid("x1")},
        "reference": "root",
        "method": CraigBampton(modes=40),
    }
    pieces = [
        assemble(piece, STEEL, sections=ShellSection(0.004)) for piece in divide(mesh, pieces=2)
    ]
    with pytest.raises(
        InputError,
        match=r"hardly any mass.*give another interface as reference, use fewer modes.*piece 1\)",
    ):
        reduce_divided(pieces, **how, estimate=False)
    with pytest.raises(
        InputError, match=r'hardly any mass.*give reference = "mean axes", use fewer modes'
    ):
        reduce(assemble(mesh, STEEL, sections=ShellSection(0.004)), **how)


def test_directions_without_motion_hide_no_lost_compliance():
    """Along these 0/0 of the compliance would be left, which no limit refuses."""
    c = np.zeros((6, 2))
    c[2] = 1.0, 1e5
    engine = SimpleNamespace(inner=lambda a, b: a.T @ b)
    fe = SimpleNamespace(engine=engine, stiffness_product=lambda shapes: shapes)
    statics = SimpleNamespace(
        interfaces=[], fe=fe, rigid_modes=np.zeros((0, 6)), interface_motion=lambda x: x[:0]
    )
    with pytest.raises(InputError, match="1 of the compliance under its own inertia is missing"):
        body_modes._require_compliance(statics, np.eye(2), c, 1, body_modes.REMEDIES[0])
