"""The flexible-body record and its file."""

import contextlib
import dataclasses
import os

import h5py
import numpy as np
import pytest
from hdf5_edits import open_unverified

from flexmbs.errors import InputError, MachineError
from flexmbs.flexible_body.components import FlexibleFrame, GeometricStiffness, Surface
from flexmbs.flexible_body.record import FlexibleBodyData


def rod(*, surface: bool = True) -> FlexibleBodyData:
    """Uniform rod of 2 kg and 3 m along x with the lateral shapes sin(πx/L), sin(2πx/L),
    closed-form integrals.
    """
    m, L, nf = 2.0, 3.0, 2
    S_bar, xS, SS = np.zeros((3, nf)), np.zeros((3, 3, nf)), np.zeros((3, 3, nf, nf))
    S_bar[1, 0] = 2 * m / np.pi
    xS[0, 1] = m * L / np.pi, -m * L / (2 * np.pi)
    SS[1, 1] = np.eye(nf) * m / 2
    frames = {
        name: FlexibleFrame.at_node((x, 0, 0), np.zeros((3, nf)))
        for name, x in (("zz", 0.0), ("a tip", L), ("β", 1.0))
    }
    nodes = np.array([[0, 0, 0], [3, 0, 0], [0, 1, 0.0]])
    return FlexibleBodyData.from_integrals(
        "rod",
        mass=m,
        first_moment=(m * L / 2, 0, 0),
        second_moment=np.diag([m * L**2 / 3, 0, 0]),
        S_bar=S_bar,
        xS=xS,
        SS=SS,
        K_ff=np.diag([400.0, 6400.0]),
        D_ff=np.diag([0.8, 3.2]),
        frames=frames,
        surface=Surface(nodes, np.ones((3, 3, nf)), np.array([[0, 1, 2]]), np.array([7, 8, 11]))
        if surface
        else None,
        provenance={"source": "closed form, ∫sin²", "note": "", "dofs": 12.5},
    )


def test_mode_table_of_own_integrals() -> None:
    body = rod()
    np.testing.assert_allclose(
        body.modes.frequency, [20 / (2 * np.pi), 80 / (2 * np.pi)], rtol=1e-14
    )
    np.testing.assert_allclose(
        body.modes.damping, [0.8 / (2 * 20 * 1.0), 3.2 / (2 * 80 * 1.0)], rtol=1e-14
    )
    # 81 % of the mass
    np.testing.assert_allclose(body.modes.effective_mass[:, 1], [2 * 8 / np.pi**2, 0.0], atol=1e-14)
    np.testing.assert_allclose(
        body.modes.effective_mass[:, 5], [18 / np.pi**2 * 2, 18 / (4 * np.pi**2) * 2], rtol=1e-14
    )
    assert len(str(body.modes).splitlines()) == 3


def test_sound_body_passes_every_check() -> None:
    report = rod().validate()
    assert report.ok, str(report)
    assert "FAIL" not in str(report)


@pytest.mark.parametrize(
    ("field", "change", "statement"),
    [
        ("mass", lambda a: -a, "mass is positive"),
        ("second_moment", lambda a: a * 0.7, "second moment about the centre of mass"),
        ("second_moment", lambda a: a + np.eye(3, k=1), "second moment ∫x xᵀdm is symmetric"),
        (
            "SS",
            lambda a: a + np.eye(3)[:, :, None, None] * [[0, 1e-3], [0, 0]],
            "SS[b,a] = SS[a,b]ᵀ",
        ),
        (
            "SS",
            lambda a: a + np.array([[0, 9, 0], [9, 0, 0], [0, 0, 0]])[:, :, None, None] * np.eye(2),
            "|2∫φ_a φ_b dm|",
        ),
        ("S_bar", lambda a: a * 2, "Gram matrix"),
        ("K_ff", lambda a: a + np.eye(2, k=1), "K_ff is symmetric"),
        ("K_ff", lambda a: -a, "K_ff is positive definite"),
        ("K_ff", lambda a: 2 * a, "frequencies agree with"),
        ("D_ff", lambda a: -a, "D_ff dissipates"),
    ],
)
def test_broken_body_fails_its_check(field: str, change, statement: str) -> None:
    from dataclasses import replace

    body = rod()
    report = replace(body, **{field: change(getattr(body, field))}).validate()
    assert any(
        check.name.startswith(statement) or statement in check.name
        for check in report
        if not check.ok
    ), str(report)


def test_shape_that_is_a_rigid_motion_is_found() -> None:
    body = FlexibleBodyData.from_integrals(
        "block",
        mass=1.0,
        first_moment=np.zeros(3),
        second_moment=np.eye(3),
        S_bar=[[1.0], [0], [0]],
        xS=np.zeros((3, 3, 1)),
        SS=np.einsum("a,b->ab", [1.0, 0, 0], [1.0, 0, 0])[:, :, None, None],
        K_ff=[[1.0]],
    )
    assert [c.name for c in body.validate() if not c.ok] == [
        "shapes contain no rigid-body motion, M(q=0) positive definite"
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"first_moment": (1, 2)}, "rod.first_moment: has shape (2,); it must be (3,)"),
        ({"S_bar": np.full((3, 2), np.nan)}, "rod.S_bar: has 6 values that are not finite"),
        ({"mass": "heavy"}, "rod.mass: 'heavy' is not an array of numbers"),
        (
            {"frames": {"a/b": FlexibleFrame.at_node((0, 0, 0), np.zeros((3, 2)))}},
            "frame name 'a/b'",
        ),
        (
            {"frames": {"a": FlexibleFrame.at_node((0, 0, 0), np.zeros((3, 4)))}},
            "rod.a: phi has 4 shapes, the body has 2",
        ),
    ],
)
def test_wrong_fields_are_named(change: dict, message: str) -> None:
    from dataclasses import replace

    with pytest.raises(InputError) as caught:
        replace(rod(), **change)
    assert message in str(caught.value)


def test_shapes_without_mass_are_rejected() -> None:
    zero = {"S_bar": np.zeros((3, 1)), "xS": np.zeros((3, 3, 1)), "SS": np.zeros((3, 3, 1, 1))}
    with pytest.raises(InputError, match="must be independent and have mass"):
        FlexibleBodyData.from_integrals(
            "b", mass=1, first_moment=np.zeros(3), second_moment=np.eye(3), K_ff=[[1.0]], **zero
        )


@pytest.mark.parametrize("surface", [True, False])
def test_file_returns_every_bit(tmp_path, surface: bool) -> None:
    body, path = rod(surface=surface), tmp_path / "rod.h5"
    body.save(path)
    read = FlexibleBodyData.load(path)
    for name in ("mass", "first_moment", "second_moment", "S_bar", "xS", "SS", "K_ff", "D_ff"):
        np.testing.assert_array_equal(getattr(read, name), getattr(body, name))
    assert read.name == "rod"
    assert list(read.frames) == ["zz", "a tip", "β"]
    np.testing.assert_array_equal(read.frames["a tip"].x, [3, 0, 0])
    assert read.modes.kind == ("user", "user")
    assert dict(read.provenance) == {"source": "closed form, ∫sin²", "note": "", "dofs": 12.5}
    assert read.digest == body.digest
    assert (read.surface is not None) == surface
    if surface:
        np.testing.assert_array_equal(read.surface.node_ids, [7, 8, 11])
        np.testing.assert_array_equal(read.surface.phi, body.surface.phi)
        assert FlexibleBodyData.load(path, surface=False).surface is None
    assert os.listdir(tmp_path) == ["rod.h5"]


def test_body_without_modes_is_a_rigid_body(tmp_path) -> None:
    zero = {
        "S_bar": np.zeros((3, 0)),
        "xS": np.zeros((3, 3, 0)),
        "SS": np.zeros((3, 3, 0, 0)),
        "K_ff": np.zeros((0, 0)),
    }
    body = FlexibleBodyData.from_integrals(
        "b", mass=2, first_moment=np.zeros(3), second_moment=np.eye(3), **zero
    )
    body.save(tmp_path / "b.h5")
    assert FlexibleBodyData.load(tmp_path / "b.h5").nf == 0
    assert body.validate().ok


def test_failed_save_leaves_the_old_file(tmp_path, monkeypatch) -> None:
    path = tmp_path / "rod.h5"
    rod().save(path)
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(MachineError, match="No space left on device"):
        rod(surface=False).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["rod.h5"]


def test_save_into_a_missing_folder(tmp_path) -> None:
    with pytest.raises(MachineError, match="cannot be written"):
        rod().save(tmp_path / "nowhere" / "rod.h5")


def external_link(file: h5py.File) -> None:
    del file["inertia/xS"]
    file["inertia/xS"] = h5py.ExternalLink("/etc/passwd", "/x")


def soft_link(file: h5py.File) -> None:
    del file["elastic/D_ff"]
    file["elastic/D_ff"] = h5py.SoftLink("/elastic/K_ff")


def cycle(file: h5py.File) -> None:
    file["frames/loop"] = file["/"]


def twice(file: h5py.File) -> None:
    del file["elastic/D_ff"]
    file["elastic/D_ff"] = file["elastic/K_ff"]


def replaced(file: h5py.File, item: str, **options: object) -> None:
    del file[item]
    file.create_dataset(item, **options)


def external_storage(file: h5py.File) -> None:
    replaced(file, "elastic/D_ff", shape=(2, 2), dtype="f8", external=[("/etc/passwd", 0, 32)])


def virtual(file: h5py.File) -> None:
    layout = h5py.VirtualLayout((2, 2), "f8")
    layout[:] = h5py.VirtualSource("/etc/passwd", "x", (2, 2))
    del file["elastic/D_ff"]
    file.create_virtual_dataset("elastic/D_ff", layout)


def huge(file: h5py.File) -> None:
    replaced(file, "surface/nodes", shape=(10**11, 3), dtype="f8")


def many_modes(file: h5py.File) -> None:
    replaced(file, "elastic/K_ff", shape=(5000, 5000), dtype="f8")


def object_attribute(file: h5py.File) -> None:
    file["provenance"].attrs["source"] = "a string of any length"


def removed(file: h5py.File) -> None:
    del file["modes/damping"]


def stranger(file: h5py.File) -> None:
    file["elastic/extra"] = np.zeros(3)


def newer(file: h5py.File) -> None:
    file.attrs["format"] = np.bytes_("flexmbs-flexible-body/7")


def edited(file: h5py.File) -> None:
    file["elastic/K_ff"][0, 0] = 401.0


def edited_surface(file: h5py.File) -> None:
    file["surface/nodes"][0, 0] = 1e-3


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (external_link, "inertia/xS: is a soft or external link"),
        (soft_link, "elastic/D_ff: is a soft or external link"),
        (cycle, "frames/loop: is linked twice or contains itself"),
        (twice, "is linked twice or contains itself"),
        (external_storage, "elastic/D_ff: is chunked, filtered, virtual or stored in another file"),
        (virtual, "elastic/D_ff: is chunked, filtered, virtual or stored in another file"),
        (
            lambda f: replaced(f, "elastic/D_ff", data=np.eye(2), compression="gzip"),
            "elastic/D_ff: is chunked, filtered",
        ),
        (huge, "surface/nodes: claims 2400000000000 bytes"),
        (many_modes, "elastic/K_ff: claims 200000000 bytes but stores 0"),
        (
            lambda f: replaced(f, "modes/kind", data=["a", "b"]),
            "modes/kind: has type object; it must hold fixed-length strings",
        ),
        (
            lambda f: replaced(f, "elastic/D_ff", data=np.eye(2, dtype="f4")),
            "elastic/D_ff: has type float32; it must hold 64-bit",
        ),
        (lambda f: replaced(f, "elastic/D_ff", data=np.eye(3)), "elastic/D_ff: has shape (3, 3)"),
        (
            lambda f: replaced(f, "elastic/D_ff", data=np.zeros(4)),
            "elastic/D_ff: has 1 dimensions; it must have 2",
        ),
        (object_attribute, "/provenance attribute 'source': has type object"),
        (removed, "modes/damping: is missing"),
        (stranger, "elastic/extra: is unknown to flexmbs-flexible-body/1"),
        (
            newer,
            "format: is 'flexmbs-flexible-body/7'; this version reads 'flexmbs-flexible-body/1'",
        ),
        (edited, "sha256: does not match the data"),
        (edited_surface, "sha256_surface: does not match the data"),
    ],
)
def test_reader_rejects(tmp_path, damage, message: str) -> None:
    path = tmp_path / "rod.h5"
    rod().save(path)
    with open_unverified(path) as file:
        damage(file)
    with pytest.raises(InputError) as caught:
        FlexibleBodyData.load(path)
    assert message in str(caught.value)
    assert all(line.startswith(str(path)) for line in str(caught.value).splitlines())


def test_reader_rejects_bad_values_under_a_right_digest(tmp_path) -> None:
    path = tmp_path / "rod.h5"
    for spoil, message in (
        (
            lambda body: object.__setattr__(body, "mass", np.nan),
            "rod.mass: has 1 values that are not finite or exceed 1e+60",
        ),
        (
            lambda body: body.xS.__setitem__((0, 1, 1), np.inf),
            "rod.xS: has 1 values that are not finite or exceed 1e+60",
        ),
        (
            lambda body: body.surface.triangles.__setitem__((0, 0), 3),
            "surface.triangles: refer to node rows outside 0..2",
        ),
    ):
        body = rod()
        spoil(body)
        body.save(path)
        with pytest.raises(InputError) as caught:
            FlexibleBodyData.load(path)
        assert str(caught.value) == f"{path}: {message}"


def test_reader_rejects_what_is_no_body_file(tmp_path) -> None:
    path = tmp_path / "rod.h5"
    with pytest.raises(InputError, match="no such file"):
        FlexibleBodyData.load(path)
    path.write_text("mass = 3")
    with pytest.raises(InputError, match="is not an HDF5 file"):
        FlexibleBodyData.load(path)
    path.unlink()
    rod().save(path)
    whole = path.read_bytes()
    for size in (100, len(whole) // 2, len(whole) - 8):
        path.write_bytes(whole[:size])
        with pytest.raises(InputError, match="is damaged or not readable"):
            FlexibleBodyData.load(path)
    with h5py.File(path, "w") as file:
        file["x"] = 1.0
    with pytest.raises(InputError, match="format: is 'missing'"):
        FlexibleBodyData.load(path)


def test_flipped_bytes_never_pass_silently(tmp_path) -> None:
    """Any single changed byte gives the same body, or InputError; nothing else."""
    path = tmp_path / "rod.h5"
    body = rod()
    body.save(path)
    whole = bytearray(path.read_bytes())
    for place in np.random.default_rng(1).choice(len(whole), 150, replace=False):
        damaged = bytearray(whole)
        damaged[place] ^= 0x41
        path.write_bytes(damaged)
        with contextlib.suppress(InputError):
            assert FlexibleBodyData.load(path).digest == body.digest


def stiffened_rod() -> FlexibleBodyData:
    """The rod with random geometric stiffness of its loads and of one frame."""
    rng = np.random.default_rng(0)
    acceleration, turning, rotation, tip = (
        A + A.transpose(0, 2, 1) for A in (rng.normal(size=(n, 2, 2)) for n in (3, 3, 6, 6))
    )
    return dataclasses.replace(
        rod(), geometric=GeometricStiffness(acceleration, turning, rotation, {"a tip": tip})
    )


def test_geometric_stiffness_is_kept_in_the_file(tmp_path) -> None:
    body = stiffened_rod()
    body.save(tmp_path / "rod.h5")
    back = FlexibleBodyData.load(tmp_path / "rod.h5")
    assert back.geometric is not None
    assert body.geometric is not None
    for name in ("acceleration", "angular_acceleration", "rotation"):
        np.testing.assert_array_equal(getattr(back.geometric, name), getattr(body.geometric, name))
    assert list(back.geometric.frames) == ["a tip"]
    np.testing.assert_array_equal(back.geometric.frames["a tip"], body.geometric.frames["a tip"])
    assert back.digest == body.digest != rod().digest
    assert body.validate().ok


def test_second_moments_of_the_geometric_stiffness() -> None:
    """They give back the work of every inertia load: −ρ ω×(ω×x) and −ρ e×x on a displacement with
    the moments D[a, b].
    """
    geometric = stiffened_rod().geometric
    assert geometric is not None
    D, cyclic = geometric.second_moments, ((0, 1, 2), (1, 2, 0), (2, 0, 1))
    for a, b, c in cyclic:
        np.testing.assert_allclose(-D[b, b] - D[c, c], geometric.rotation[a], atol=1e-14)
        np.testing.assert_allclose(D[b, c] - D[c, b], geometric.angular_acceleration[a], atol=1e-14)
        np.testing.assert_allclose(D[a, b] + D[b, a], geometric.rotation[3 + a], atol=1e-14)


def test_wrong_geometric_stiffness_is_rejected() -> None:
    zero, six = np.zeros((3, 2, 2)), np.zeros((6, 2, 2))
    with pytest.raises(InputError, match=r"geometric.rotation: has shape \(3, 2, 2\)"):
        GeometricStiffness(zero, zero, zero)
    with pytest.raises(InputError, match="geometric: there is no frame 'end'"):
        dataclasses.replace(rod(), geometric=GeometricStiffness(zero, zero, six, {"end": six}))
    with pytest.raises(InputError, match="geometric: has 3 shapes, the body has 2"):
        dataclasses.replace(
            rod(), geometric=GeometricStiffness(*(np.zeros((n, 3, 3)) for n in (3, 3, 6)))
        )
    skewed = dataclasses.replace(
        rod(), geometric=GeometricStiffness(zero + np.triu(np.ones((2, 2)), 1), zero, six)
    )
    assert [check.name for check in skewed.validate() if not check.ok] == [
        "K0 of every unit load is symmetric"
    ]
