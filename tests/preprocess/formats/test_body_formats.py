"""Reduced bodies through the files of other programs: round trips, and checks of inconsistent
files.
"""

import re

import format_samples as samples
import meshio
import numpy as np
import pytest
import scipy.io
import scipy.linalg

import preprocess as pp
from flexmbs.errors import InputError, MachineError
from flexmbs.flexible_body.record import FlexibleBodyData
from preprocess.formats import exporters, importers
from preprocess.formats.exporters.sid import standard_input_data
from preprocess.formats.exporters.superelement import superelement

PUBLIC = __import__("pathlib").Path(__file__).parents[1] / "data" / "balken1m.SID_FEM"


CONTRADICTION = "Cr.m0 and Gr.m0 contradict each other, ∫x × φ dm is taken from"


def close(a: np.ndarray, b: np.ndarray, rtol: float = 1e-13) -> bool:
    return bool(np.abs(np.asarray(a) - b).max(initial=0.0) <= rtol * np.abs(b).max(initial=0.0))


def returned(body: FlexibleBodyData, path) -> tuple[FlexibleBodyData, importers.ImportReport]:
    pp.write_body(body, path)
    part, report = importers.read(path)
    assert isinstance(part, FlexibleBodyData)
    return part, report


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("suffix", [".sid", ".fem", ".mbsim.h5", ".h5"])
def test_invariants_return_to_round_off(tmp_path, suffix: str, n: int) -> None:
    body = samples.lumped_body(n)
    read, report = returned(body, tmp_path / f"lumps{suffix}")
    for name in samples.INTEGRALS:
        assert close(getattr(read, name), getattr(body, name)), name
    assert not report.warnings, str(report)
    for (name, frame), given in zip(read.frames.items(), body.frames.values()):
        assert close(frame.x, given.x), name
        assert close(frame.phi, given.phi), name
        assert close(frame.psi, given.psi), name


@pytest.mark.parametrize("suffix", [".sid", ".fem", ".h5"])
def test_names_and_geometric_stiffness_return(tmp_path, suffix: str) -> None:
    body = samples.lumped_body()
    read, _ = returned(body, tmp_path / f"lumps{suffix}")
    assert list(read.frames) == ["hub", "tip end"]
    for name in ("acceleration", "angular_acceleration", "rotation"):
        assert close(getattr(read.geometric, name), getattr(body.geometric, name)), name
    for name, matrices in body.geometric.frames.items():
        assert close(read.geometric.frames[name], matrices), name


def test_axes_of_frames_return_through_sid(tmp_path) -> None:
    body = samples.lumped_body()
    read, _ = returned(body, tmp_path / "lumps.sid")
    assert close(read.frames["tip end"].R, body.frames["tip end"].R)
    assert (
        pp.write_body(body, tmp_path / "lumps.fem")[0]
        == "axes of frame tip end: nodes have no axes; set them at the joints in MBDyn"
    )


def test_sid_blocks_are_the_nodal_sums() -> None:
    """Terms of the equations of motion from the blocks against sums over the points, at a deformed,
    moving state.
    """
    rng = np.random.default_rng(3)
    n, points = 3, 9
    m, x, phi = (
        rng.uniform(0.1, 1, points),
        rng.normal(size=(points, 3)),
        rng.normal(size=(points, 3, n)),
    )
    body = FlexibleBodyData.from_integrals(
        "b",
        mass=m.sum(),
        first_moment=m @ x,
        second_moment=np.einsum("p,pa,pb->ab", m, x, x),
        S_bar=np.einsum("p,pak->ak", m, phi),
        xS=np.einsum("p,pa,pbk->abk", m, x, phi),
        SS=np.einsum("p,pak,pbl->abkl", m, phi, phi),
        K_ff=np.eye(n),
    )
    blocks = standard_input_data(body).blocks
    q, rate, w = rng.normal(size=n), rng.normal(size=n), rng.normal(size=3)
    u, v = x + phi @ q, phi @ rate
    acceleration = np.cross(w, np.cross(w, u)) + 2 * np.cross(w, v)
    products = np.array([w[0] ** 2, w[1] ** 2, w[2] ** 2, w[0] * w[1], w[1] * w[2], w[0] * w[2]])
    Oe, Ge, Cr, Gr = (blocks[name] for name in ("Oe", "Ge", "Cr", "Gr"))
    elastic = Oe.m0 @ products + np.einsum("jic,i,c->j", Oe.m1, q, products)
    elastic += np.einsum("jic,i,c->j", Ge.m0.reshape(n, n, 3), rate, w)
    np.testing.assert_allclose(elastic, np.einsum("pak,p,pa->k", phi, m, acceleration), rtol=1e-12)
    coupling = np.einsum("p,paj->ja", m, np.cross(u[:, :, None], phi, axis=1))
    np.testing.assert_allclose(Cr.m0 + np.einsum("jic,i->jc", Cr.m1, q), coupling, rtol=1e-12)
    gyroscopic = Gr.m0.reshape(3, n, 3) + np.einsum("akib,k->aib", Gr.m1.reshape(3, n, n, 3), q)
    np.testing.assert_allclose(
        np.einsum("aib,i,b->a", gyroscopic, rate, w),
        m @ np.cross(u, 2 * np.cross(w, v)),
        rtol=1e-12,
    )
    J = samples_inertia(blocks["J"], q)
    expected = np.einsum(
        "p,pab->ab", m, np.einsum("pc,pc,ab->pab", x, x, np.eye(3)) - x[:, :, None] * x[:, None, :]
    )
    first = np.einsum("p,pc,pc->", m, x, phi @ q) * 2 * np.eye(3)
    first = (
        first - np.einsum("p,pa,pb->ab", m, x, phi @ q) - np.einsum("p,pa,pb->ba", m, x, phi @ q)
    )
    np.testing.assert_allclose(J, expected + first, rtol=1e-12)


def samples_inertia(block, q: np.ndarray) -> np.ndarray:
    """J(q) from rows xx, yy, zz, xy, xz, yz."""
    xx, yy, zz, xy, xz, yz = block.m0[:, 0] + block.m1[:, :, 0] @ q
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def test_public_sid_file_is_read_and_its_faults_are_reported(tmp_path) -> None:
    part, report = importers.read(PUBLIC)
    assert isinstance(part, FlexibleBodyData)
    assert part.mass == 7.84999999999e-01
    assert part.modes.frequency[0] == pytest.approx(8.360, abs=5e-4)  # "Eigen Mode 1 : 8.360 Hz"
    np.testing.assert_allclose(part.com, [0.5, -0.005, 0], atol=1e-9)
    np.testing.assert_allclose(part.inertia[1, 1], 2.61677319900e-01, rtol=1e-12)
    np.testing.assert_allclose(
        part.frames["node 6022"].phi[:, 0],
        [-1.29593608542e-08, -1.67898308819, -1.53241416944],
        rtol=1e-15,
    )
    faults = [doubt.partition(" (")[0] for doubt in report.warnings]
    contradiction = (
        "Cr.m0 and Gr.m0 contradict each other, ∫x × φ dm is taken from Cr.m0: neither makes "
        "the mass matrix positive definite"
    )
    assert faults[:3] == [
        "Cr.m0 = antisymmetric part of Gr.m0",
        contradiction,
        "Σ Oe.m1(xx, yy, zz) = −2 Me",
    ]
    with pytest.warns(pp.PreprocessWarning):
        body = pp.read_body(PUBLIC)
    again, _ = returned(body, tmp_path / "again.sid")
    for name in samples.INTEGRALS:
        assert close(getattr(again, name), getattr(body, name), 1e-12), name


def sid_text(tmp_path, n: int = 3) -> str:
    pp.write_body(samples.lumped_body(n), tmp_path / "good.sid")
    return (tmp_path / "good.sid").read_text()


def block_of(text: str, name: str) -> str:
    return re.search(rf"\n *{name}\n.*?end {name}", text, re.DOTALL).group()


def without_gyroscopic_terms(text: str) -> str:
    """The file as most programs write it: Gr of order 0."""
    block = block_of(text, "Gr")
    plain = re.sub(r"\n *m1\([^\n]*", "", block).replace(
        "order                 =    1", "order                 =    0"
    )
    return text.replace(block, plain)


def plain_body(n: int = 3) -> FlexibleBodyData:
    from dataclasses import replace

    return replace(samples.lumped_body(n), geometric=None)


def written(tmp_path, text: str):
    path = tmp_path / "changed.sid"
    path.write_text(text)
    return importers.read(path)


def changed(text: str, name: str, changes: dict[str, float]) -> str:
    """The text with numbers added to entries "row,column" of m0 of a block."""

    def number(match: re.Match) -> str:
        added = changes.get(f"{int(match.group(2))},{int(match.group(3))}", 0.0)
        return f"{match.group(1)}{float(match.group(4).replace('D', 'E')) + added!r}".replace(
            "e", "D"
        )

    block = block_of(text, name)
    return text.replace(block, re.sub(r"(m0\( *(\d+), *(\d+)\) *= *)(\S+)", number, block))


@pytest.mark.parametrize(
    ("name", "changes", "used"),
    [("Cr", {"1,3": 50.0}, "Gr.m0"), ("Gr", {"1,2": 100.0, "2,1": -100.0}, "Cr.m0")],
)
def test_sid_takes_the_coupling_that_makes_the_mass_matrix_definite(
    tmp_path, name: str, changes, used: str
) -> None:
    """One of the two blocks with ∫x × φ dm is modified, except its symmetric part: the other one is
    used, and reported.
    """
    text = sid_text(tmp_path)
    part, report = written(tmp_path, changed(text, name, changes))
    np.testing.assert_allclose(part.xS, samples.lumped_body(3).xS, atol=1e-12)
    (told,) = (doubt for doubt in report.warnings if "contradict" in doubt)
    assert told.startswith(
        f"{CONTRADICTION} {used}: only {used} makes the mass matrix positive definite"
    )
    _, good = written(tmp_path, text)
    assert "∫x × φ dm from Gr.m0, with which Cr.m0 agrees" in [
        finding.text for finding in good.findings
    ]


def test_sid_without_gyroscopic_terms_takes_the_centrifugal_ones(tmp_path) -> None:
    body = plain_body()
    pp.write_body(body, tmp_path / "good.sid")
    part, report = written(tmp_path, without_gyroscopic_terms((tmp_path / "good.sid").read_text()))
    assert close(part.SS, body.SS, 1e-12)
    assert not report.warnings, str(report)


def test_sid_columns_by_axis_and_swapped_indices_are_found(tmp_path) -> None:
    """Ge with columns c n + k, and m1 as (row, column, mode): both are in circulation."""
    body, n = plain_body(), 3
    pp.write_body(body, tmp_path / "good.sid")
    text = (tmp_path / "good.sid").read_text()
    block = block_of(text, "Ge")

    def by_axis(match: re.Match) -> str:
        k, c = divmod(int(match.group(2)) - 1, 3)
        return f"m0({match.group(1)},{c * n + k + 1:2d})"

    turned = text.replace(block, re.sub(r"m0\(( *\d+), *(\d+)\)", by_axis, block))
    part, report = written(tmp_path, turned)
    assert report.warnings == [
        "the columns of Ge run by axis (c n + k) instead of by mode (3 k + c); Cr.m1 was "
        "used instead"
    ]
    assert close(part.SS, body.SS, 1e-12)
    swapped = re.sub(r"m1\( *(\d+), *(\d+), *(\d+)\)", r"m1(\1,\3,\2)", text)
    part, report = written(tmp_path, swapped)
    assert not report.warnings
    for name in samples.INTEGRALS:
        assert close(getattr(part, name), getattr(body, name), 1e-12), name


def test_sid_variants_of_inertia_and_numbers(tmp_path) -> None:
    """J of 3 × 3; a symmetric block with one triangle; numbers with E, axes of structure 4."""
    body = plain_body()
    pp.write_body(body, tmp_path / "good.sid")
    text = (tmp_path / "good.sid").read_text().replace("D+", "E+").replace("D-", "e-")
    rows = "\n".join(
        f"  m0({a + 1}, {b + 1}) = {body.inertia[a, b]:.16e}" for a in range(3) for b in range(3)
    )
    J = f"\n J\n order = 0\n nrow = 3\n ncol = 3\n nq = 3\n nqn = 0\n structure = 3\n{rows}\n end J"
    text = text.replace(block_of(text, "J"), J)
    lower = re.sub(
        r"\n *m0\( 1, 2\)[^\n]*|\n *m0\( 1, 3\)[^\n]*|\n *m0\( 2, 3\)[^\n]*",
        "",
        block_of(text, "Ke"),
    )
    text = text.replace(block_of(text, "Ke"), re.sub(r"structure *= *3", "structure = 2", lower))
    part, report = written(tmp_path, text)
    assert close(part.second_moment, body.second_moment, 1e-12)
    assert close(part.K_ff, body.K_ff)
    assert not report.warnings


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: "mass = 3", "has no 'new modal'; it is not standard input data"),
        (lambda s: s[: len(s) // 2], "does not end; the file is truncated"),
        (
            lambda s: s.replace(
                "nelastq                         =     3", "nelastq                         =     4"
            ),
            "4 modes need 3 × 4",
        ),
        (
            lambda s: s.replace("nelastq                         =     3", "nelastq  = 99999999"),
            "0 to 500 modes are supported",
        ),
        (lambda s: s.replace(block_of(s, "Gr"), ""), "has no block Gr; it is truncated"),
        (lambda s: s.replace(block_of(s, "Gr"), block_of(s, "Gr") * 2), "duplicate block Gr"),
        (
            lambda s: re.sub(r"m0\( 3, 3\) ", "m0( 3, 9) ", s, count=1),
            "has an entry (3, 9) outside its size (3, 3)",
        ),
        (lambda s: s.replace("D+00", "X+00", 1), "is not a number"),
        (
            lambda s: re.sub(r"(mass *= )\S+", r"\g<1>-1.0", s),
            "mass is positive [kg] does not hold",
        ),
        (
            lambda s: s.replace(block_of(s, "AP"), "\n AP\n m0( 1, 1) = 2.0\n end AP", 1),
            "axes AP of node 1 are not right-handed",
        ),
    ],
)
def test_broken_sid_files_are_named(tmp_path, change, message: str) -> None:
    text = change(sid_text(tmp_path))
    with pytest.raises(InputError) as caught:
        written(tmp_path, text)
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_mbdyn_columns_of_the_quadratic_invariants(tmp_path) -> None:
    """Columns (j − 1) n + k hold ∫φ_j × φ_k dm in group 17, the rows of ∫φ̃_j φ̃_k dm in group 18:
    MBDyn sums over q_j.
    """
    body, n = samples.lumped_body(3), 3
    pp.write_body(body, tmp_path / "a.fem")
    text = (tmp_path / "a.fem").read_text()

    def group(number: int) -> np.ndarray:
        lines = text.partition(f"RECORD GROUP {number},")[2].partition("**")[0].splitlines()[1:]
        return np.array([[float(word) for word in line.split()] for line in lines if line])

    phi, m = body.surface.phi, masses_of(body)
    cross = np.einsum("p,pajk->ajk", m, np.cross(phi[:, :, :, None], phi[:, :, None, :], axis=1))
    np.testing.assert_allclose(group(17), cross.reshape(3, n * n), atol=1e-12)
    tilde = np.array(
        [[np.cross(phi[p, :, k], np.eye(3)).T for k in range(n)] for p in range(len(m))]
    )
    products = np.einsum("p,pjac,pkcb->ajkb", m, tilde, tilde)
    np.testing.assert_allclose(group(18), products.reshape(3, 3 * n * n), atol=1e-12)


def masses_of(body: FlexibleBodyData) -> np.ndarray:
    """The masses that `lumped_body` drew: the first of its random numbers."""
    return np.random.default_rng(1).uniform(0.1, 1.0, len(body.surface.nodes))


def test_mbdyn_loads_of_interfaces_after_a_modal_node(tmp_path) -> None:
    """Files of other preprocessors list the modal node first and number the loads of the others
    from 13 on.
    """
    body = samples.lumped_body(2)
    pp.write_body(body, tmp_path / "a.fem")
    text = (tmp_path / "a.fem").read_text().replace('"hub", "tip end"', '"ALL"')
    head, mark, tail = text.partition("RECORD GROUP 19, MODAL STRESS STIFFENING MATRIX\n24\n")
    kept = tail.splitlines()[: 18 * 3]
    (tmp_path / "b.fem").write_text(
        head + mark.replace("\n24\n", "\n18\n") + "\n".join(kept) + "\n"
    )
    part, report = importers.read(tmp_path / "b.fem")
    assert "group 19 numbers the nodes from the second on" in str(report)
    assert list(part.geometric.frames) == ["node 2"]
    assert close(part.geometric.frames["node 2"], body.geometric.frames["hub"])


def test_mbdyn_invariants_about_a_modal_node(tmp_path) -> None:
    """Other preprocessors refer the invariants to the modal node, the first, and give positions
    from another point.
    """
    bar = pp.box_mesh((0.3, 0.04, 0.03), (2, 1, 1), "hex20")
    interfaces = {"hub": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
    steel = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    body = pp.reduce(
        bar, steel, interfaces=interfaces, method=pp.CraigBampton(modes=2), reference="hub"
    )
    pp.write_body(body, tmp_path / "a.fem")
    text = (tmp_path / "a.fem").read_text().replace('"hub", "tip"', '"ALL"')
    for axis, letter in enumerate("XYZ"):
        title = f"NODAL {letter} COORDINATES\n"
        values = "".join(f"{frame.x[axis] + 0.5 + axis:.16e}\n" for frame in body.frames.values())
        text = re.sub(rf"{title}(?:[^*\n]+\n)+", title + values, text)
    com = " ".join(f"{value:.16e}" for value in body.com + [0.5, 1.5, 2.5])
    text = re.sub(r"(INERTIA MATRIX\n[^\n]+\n)[^\n]+", rf"\g<1>{com}", text)
    (tmp_path / "b.fem").write_text(text)
    part, report = importers.read(tmp_path / "b.fem")
    assert "it is the modal node" in str(report)
    np.testing.assert_allclose(part.frames["node 2"].x, body.frames["tip"].x, atol=1e-15)
    np.testing.assert_allclose(part.second_moment, body.second_moment, atol=1e-15)


def test_mbdyn_lumped_masses_give_the_integrals(tmp_path) -> None:
    """A file without invariants, as finite-element programs write it: sums over the nodes of group
    11.
    """
    rng = np.random.default_rng(5)
    N, n = 7, 2
    m, x, phi = rng.uniform(0.1, 1, N), rng.normal(size=(N, 3)), rng.normal(size=(N, 6, n))
    M = np.einsum("p,pak,pal->kl", m, phi[:, :3], phi[:, :3])

    def group(number: int, values: np.ndarray) -> str:
        return (
            f"** RECORD GROUP {number}, X\n"
            + "\n".join(" ".join(f"{v:.17g}" for v in row) for row in values)
            + "\n**\n"
        )

    text = (
        '** MBDyn MODAL DATA FILE\n** NODE SET "ALL"\n** RECORD GROUP 1, HEADER\n** REV\n '
        f"REV0 {N} {n} 0 0 0\n"
    )
    text += "** RECORD GROUP 2, LIST\n" + " ".join(str(k) for k in range(11, 11 + N)) + "\n"
    text += "".join(group(5 + a, x[:, a : a + 1]) for a in range(3))
    modes = "".join(
        f"**    NORMAL MODE SHAPE #  {k + 1}\n"
        + "\n".join(" ".join(f"{v:.17g}" for v in row) for row in phi[:, :, k])
        + "\n"
        for k in range(n)
    )
    text += "** RECORD GROUP 8, MODE SHAPES\n" + modes + group(9, M) + group(10, np.eye(n))
    text += group(11, np.c_[m, m, m, np.zeros((N, 3))])
    (tmp_path / "lumped.fem").write_text(text)
    part, report = importers.read(tmp_path / "lumped.fem", frames={"end": 14})
    assert close(part.SS, np.einsum("p,pak,pbl->abkl", m, phi[:, :3], phi[:, :3]))
    assert close(part.xS, np.einsum("p,pa,pbk->abk", m, x, phi[:, :3]))
    assert close(part.frames["end"].psi, phi[3, 3:])
    assert not report.warnings
    with pytest.raises(
        InputError, match=r"no node for frame 'end' at node 3; the nodes are 11, 12, 13"
    ):
        importers.read(tmp_path / "lumped.fem", frames={"end": 3})


def test_units_of_a_body_keep_what_is_measured(tmp_path) -> None:
    """The same body in mm, t, s has the same frequencies, mass and tip compliance."""
    body = samples.lumped_body()
    pp.write_body(body, tmp_path / "a.fem")
    scaled = pp.read_body(tmp_path / "a.fem", unit="mm-t-s")
    assert scaled.mass == pytest.approx(1e3 * body.mass)
    np.testing.assert_allclose(scaled.modes.frequency, body.modes.frequency, rtol=1e-12)
    phi, psi = body.frames["hub"].phi, body.frames["hub"].psi
    phi_, psi_ = scaled.frames["hub"].phi, scaled.frames["hub"].psi
    np.testing.assert_allclose(
        phi_ @ np.linalg.solve(scaled.K_ff, phi_.T),
        phi @ np.linalg.solve(body.K_ff, phi.T) / 1e3,
        rtol=1e-12,
    )
    np.testing.assert_allclose(
        psi_ @ np.linalg.solve(scaled.K_ff, psi_.T),
        psi @ np.linalg.solve(body.K_ff, psi.T) * 1e3,
        rtol=1e-12,
    )
    stiffened = np.linalg.eigvals(np.linalg.solve(body.K_ff, body.geometric.acceleration[0]))
    np.testing.assert_allclose(
        np.linalg.eigvals(np.linalg.solve(scaled.K_ff, scaled.geometric.acceleration[0])),
        stiffened * 1e3,
        rtol=1e-10,
    )


def test_simscape_superelement(tmp_path) -> None:
    """Six rigid motions without strain, free frequencies of the reduced body, mass of its rigid
    motion, unit boundary.
    """
    bar = pp.box_mesh((0.3, 0.04, 0.03), (2, 1, 1), "hex20")
    steel = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    options = {
        "interfaces": {"hub": pp.Rigid("x0"), "tip": pp.Averaged("x1")},
        "method": pp.CraigBampton(modes=4),
    }
    body = pp.reduce(bar, steel, reference="hub", **options)
    K, M, _ = superelement(body)
    assert K.shape == (16, 16)
    rigid = np.zeros((16, 6))
    for k, frame in enumerate(body.frames.values()):
        rigid[6 * k : 6 * k + 6] = np.eye(6)
        rigid[6 * k : 6 * k + 3, 3:] = np.cross(np.eye(3), frame.x).T
    assert np.abs(K @ rigid).max() < 1e-9 * np.abs(K).max()
    np.testing.assert_allclose(rigid[:, :3].T @ M @ rigid[:, :3], body.mass * np.eye(3), atol=1e-9)
    free = pp.reduce(bar, steel, reference="mean axes", **options)
    omega2 = scipy.linalg.eigh(K, M, eigvals_only=True)
    np.testing.assert_allclose(np.sqrt(omega2[6:]) / (2 * np.pi), free.modes.frequency, rtol=1e-7)
    # fixed-interface modes carry no boundary force
    assert np.abs(K[:12, 12:]).max() < 1e-9 * np.abs(K).max()
    pp.write_body(body, tmp_path / "bar.mat")
    stored = scipy.io.loadmat(tmp_path / "bar.mat")
    np.testing.assert_array_equal(stored["K"], K)
    np.testing.assert_allclose(stored["origins"][1], body.frames["tip"].x)
    np.testing.assert_allclose(stored["quaternions"][0], [1, 0, 0, 0])
    pp.write_body(body, tmp_path / "bar.npz")
    np.testing.assert_array_equal(np.load(tmp_path / "bar.npz", allow_pickle=False)["M"], M)


@pytest.mark.parametrize("write", [samples.abaqus_substructure, samples.dmig_superelement])
def test_superelements_keep_what_they_know(tmp_path, write) -> None:
    """Mass, inertia, momenta, frequencies and shapes at the nodes return; the report says that the
    rest is approximate.
    """
    bar = pp.box_mesh((0.3, 0.04, 0.03), (2, 1, 1), "hex20")
    steel = pp.Isotropic(E=2.1e11, nu=0.3, rho=7850.0)
    interfaces = {"hub": pp.Rigid("x0"), "tip": pp.Rigid("x1")}
    body = pp.reduce(
        bar, steel, interfaces=interfaces, method=pp.CraigBampton(modes=4), reference="hub"
    )
    path = write(
        body,
        tmp_path
        / {"abaqus_substructure": "bar.mtx", "dmig_superelement": "bar.pch"}[write.__name__],
    )
    nodes = samples.frame_file(body, tmp_path / "nodes.csv")
    read, report = importers.read(path, nodes=nodes, frames={"hub": 11, "tip": 12})
    assert [doubt.partition(":")[0] for doubt in report.warnings] == [
        "a superelement has no products of shapes"
    ]
    assert list(read.frames) == ["hub", "tip"]
    np.testing.assert_allclose(read.modes.frequency, body.modes.frequency, rtol=1e-8)
    np.testing.assert_allclose(read.inertia, body.inertia, atol=1e-12)
    np.testing.assert_allclose(read.first_moment, body.first_moment, atol=1e-12)
    sign = np.sign(
        np.sum(
            read.frames["tip"].phi * body.frames["tip"].phi
            + read.frames["tip"].psi * body.frames["tip"].psi,
            axis=0,
        )
    )
    for name in ("S_bar", "x_cross_S"):
        np.testing.assert_allclose(getattr(read, name) * sign, getattr(body, name), atol=1e-6)
    np.testing.assert_allclose(read.m_ff, np.eye(10), atol=1e-9)
    nodes.write_text("11,0,0,0\n12,1,1,0\n")
    with pytest.raises(InputError, match=r"K is not free of rigid-body modes"):
        importers.read(path, nodes=nodes)


def test_modes_as_vtu(tmp_path) -> None:
    body = samples.lumped_body()
    pp.write_body(body, tmp_path / "modes.vtu")
    grid = meshio.read(tmp_path / "modes.vtu")
    shapes = [values for name, values in grid.point_data.items() if name.startswith("mode 00")]
    np.testing.assert_allclose(np.stack(shapes, axis=2), body.surface.phi, rtol=1e-14)
    np.testing.assert_array_equal(grid.cells[0].data, body.surface.triangles)


def test_exporters_refuse_in_one_line(tmp_path) -> None:
    body = samples.lumped_body()
    with pytest.raises(InputError, match=r"the format of '.xyz' is unknown; give format="):
        pp.write_body(body, tmp_path / "a.xyz")
    with pytest.raises(InputError, match="format: 'catia' is unknown; choose one of"):
        pp.write_body(body, tmp_path / "a.fem", format="catia")
    for suffix in (".sid", ".fem", ".mat", ".vtu", ".mbsim.h5"):
        with pytest.raises(
            (MachineError, InputError), match=r"cannot be written|displacements of 2 frames"
        ):
            pp.write_body(body, tmp_path / "nowhere" / f"a{suffix}")
    with pytest.raises(
        InputError,
        match=r"its 3 modes and 6 rigid-body modes span 9 of 12 displacements of 2 frames",
    ):
        pp.write_body(body, tmp_path / "a.mat")


@pytest.mark.parametrize("formats", [importers.FORMATS, exporters.FORMATS])
def test_every_format_is_one_entry_with_its_own_suffix(formats) -> None:
    for name, entry in formats.items():
        assert entry.kind == name
        assert entry.suffixes
        assert all(suffix.startswith(".") for suffix in entry.suffixes)
        assert type(entry).__doc__


def test_readers_of_one_suffix_are_told_apart_by_what_files_begin_with() -> None:
    rivals = [entry for entry in importers.FORMATS.values() if ".mtx" in entry.suffixes]
    assert len(rivals) > 1
    assert sum(not entry.signature for entry in rivals) <= 1
