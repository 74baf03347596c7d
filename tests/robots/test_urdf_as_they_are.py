"""URDF files as they are: elements without meaning, names with "/", inertias that are not physical;
what is kept of pictures.
"""

import warnings
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
from scipy.optimize import minimize

import flexmbs as fm
from flexmbs.robots import model_from_urdf
from flexmbs.robots.urdf_read import item_name, nearest_physical

# xx xy xz yy yz zz: the largest moment exceeds the sum of the others
STRANGE = (0.02, 0.002, -0.03, 0.05, 0.004, 0.19)
NEGATIVE = (-0.001, 0.0, 0.0, 0.02, 0.0, 0.02)
PLAIN = (0.03, 0.001, 0.002, 0.04, -0.003, 0.05)


def link(name: str, inertia: tuple[float, ...] = PLAIN, more: str = "") -> str:
    values = " ".join(
        f'{key}="{x}"' for key, x in zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), inertia)
    )
    place = '<origin xyz="0.1 -0.2 0.3" rpy="0.3 0.2 -0.4"/>'
    return (
        f'<link name="{name}"><inertial>{place}<mass value="2.5"/><inertia '
        f"{values}/></inertial>{more}</link>"
    )


def joint(name: str, kind: str, parent: str, child: str, more: str = "") -> str:
    place = '<origin xyz="0.3 0.1 -0.2" rpy="0.1 -0.5 0.7"/>'
    return (
        f'<joint name="{name}" type="{kind}">{place}<parent link="{parent}"/><child '
        f'link="{child}"/>{more}</joint>'
    )


def written(folder: Path, *elements: str, name: str = "r") -> Path:
    file = folder / "robot.urdf"
    file.write_text(f'<robot name="{name}">' + "\n".join(elements) + "</robot>")
    return file


AXIS = '<axis xyz="0.2 -0.6 0.9"/>'
LIMIT = '<limit lower="-1" upper="2" effort="5" velocity="3"/>'
WHEEL = joint("wheel", "continuous", "arm", "rim", AXIS)


def arm(first: tuple[float, ...] = PLAIN, second: tuple[float, ...] = PLAIN) -> list[str]:
    """Two moving links, a fixed one between, on a base without mass."""
    return [
        '<link name="base"/>',
        link("arm", first),
        link("rim", second),
        link("cap"),
        joint("lift", "prismatic", "base", "arm", AXIS + LIMIT),
        WHEEL,
        joint("glue", "fixed", "rim", "cap"),
    ]


FILES = {
    "zero axis on a fixed joint": [
        *arm()[:-1],
        joint("glue", "fixed", "rim", "cap", '<axis xyz="0 0 0"/>'),
    ],
    "words as axis of a fixed joint": [
        *arm()[:-1],
        joint("glue", "fixed", "rim", "cap", '<axis xyz="none"/>'),
    ],
    "mimic on a fixed joint": [
        *arm()[:-1],
        joint("glue", "fixed", "rim", "cap", '<mimic joint="lift"/>'),
    ],
    "names with slashes": [
        each.replace("rim", "rim/left/0%2F").replace("wheel", "drive/wheel") for each in arm()
    ],
    "inertias beyond the triangle": arm(first=STRANGE),
    "negative inertia": arm(second=NEGATIVE),
    "several": [each.replace("arm", "a/m") for each in arm(STRANGE, NEGATIVE)],
}


@pytest.mark.parametrize("case", FILES)
def test_the_equations_are_those_of_pinocchio(case: str, tmp_path: Path) -> None:
    pinocchio = pytest.importorskip("pinocchio")
    file = written(tmp_path, *FILES[case])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fm.ModelWarning)
        robot = fm.Robot.from_urdf(file)
    model = pinocchio.buildModelFromUrdf(str(file))
    data = model.createData()
    for q, qd, qdd in np.random.default_rng(7).uniform(-1.5, 1.5, (5, 3, 2)):
        # of a continuous joint: cosine and sine
        position = np.array([q[0], np.cos(q[1]), np.sin(q[1])])
        M = pinocchio.crba(model, data, position)
        np.testing.assert_allclose(robot.mass_matrix(q), np.triu(M) + np.triu(M, 1).T, atol=1e-12)
        bias = pinocchio.nonLinearEffects(model, data, position, qd)
        np.testing.assert_allclose(robot.inverse_dynamics(q, qd, 0.0 * q), bias, atol=1e-12)
        np.testing.assert_allclose(
            robot.inverse_dynamics(q, qd, qdd),
            pinocchio.rnea(model, data, position, qd, qdd),
            atol=1e-12,
        )
        found = fm.matrices(robot.model, start=robot.state(q, qd))
        np.testing.assert_allclose(found.M, robot.mass_matrix(q), atol=1e-12)


def test_one_warning_names_all_links_that_are_not_physical(tmp_path: Path) -> None:
    file = written(tmp_path, *arm(STRANGE, NEGATIVE))
    with pytest.warns(fm.ModelWarning) as caught:
        model_from_urdf(file)
    assert len(caught) == 1
    assert "links arm, rim: inertias that no mass distribution can have, used unchanged" in str(
        caught[0].message
    )
    assert caught[0].filename == __file__
    with pytest.raises(fm.InputError) as error:
        model_from_urdf(file, unphysical="error")
    first, second = error.value.problems
    assert ":2: link 'arm'.inertial.inertia: not physical: principal moments" in first
    assert "link 'rim'" in second
    with pytest.raises(
        fm.InputError, match="unphysical: must be one of warn, repair, error, not 'ignore'"
    ):
        fm.Robot.from_urdf(file, unphysical="ignore")


def test_a_model_with_such_an_inertia_is_a_file_like_any_other(tmp_path: Path) -> None:
    file = written(tmp_path, *arm(STRANGE))
    with pytest.warns(fm.ModelWarning):
        model = model_from_urdf(file)
    assert model.bodies["arm"].unphysical
    assert not model.bodies["rim"].unphysical
    model.save(tmp_path / "model.toml")
    assert fm.load(tmp_path / "model.toml") == model
    with pytest.raises(fm.InputError, match=r"bodies\.b\.inertia: not physical"):
        fm.RigidBody("b", mass=1.0, inertia=(1.0, 1.0, 3.0))
    with pytest.raises(fm.InputError, match=r"bodies\.b\.inertia: is not symmetric"):
        fm.RigidBody("b", mass=1.0, inertia=((1, 2, 0), (0, 1, 0), (0, 0, 1)), unphysical=True)


def test_repaired_inertias_are_the_nearest_physical_ones(tmp_path: Path) -> None:
    """Against a general minimizer over J = tr(S) 1 − S, S = L Lᵀ."""
    file = written(tmp_path, *arm(STRANGE, NEGATIVE))
    with pytest.warns(
        fm.ModelWarning,
        match="links arm, rim: .*, replaced by the nearest physical ones; correct the file$",
    ):
        model = model_from_urdf(file, unphysical="repair")
    assert not any(body.unphysical for body in model.bodies.values())

    def physical(x: np.ndarray) -> np.ndarray:
        L = np.zeros((3, 3))
        L[np.tril_indices(3)] = x
        S = L @ L.T
        return np.trace(S) * np.eye(3) - S

    for values in (STRANGE, NEGATIVE):
        J = np.zeros((3, 3))
        J[np.triu_indices(3)] = values
        J += np.triu(J, 1).T
        starts = np.random.default_rng(0).normal(size=(5, 6)) * 0.3
        best = min(
            minimize(lambda x, J=J: 1e4 * ((physical(x) - J) ** 2).sum(), start).fun * 1e-4
            for start in starts
        )
        assert ((nearest_physical(J) - J) ** 2).sum() == pytest.approx(best, rel=1e-4)
        np.testing.assert_allclose(
            nearest_physical(nearest_physical(J)), nearest_physical(J), atol=1e-15
        )


@pytest.mark.parametrize(
    "name", ["a/b", "a%2Fb", "/", "100%", "ground", "tab\there", " edge ", "plain name", "ü/€"]
)
def test_names_come_back(name: str) -> None:
    assert unquote(item_name(name)) == name
    fm.RigidBody(item_name(name), mass=1.0, inertia=(1.0, 1.0, 1.0))


def test_links_are_found_by_the_names_of_the_file(tmp_path: Path) -> None:
    text = [each.replace("cap", "cap/top").replace("wheel", "drive/wheel") for each in arm()]
    robot = fm.Robot.from_urdf(written(tmp_path, *text, name="a/b"), tool="cap/top")
    assert robot.coordinates == ("lift.0", "drive%2Fwheel.0")
    np.testing.assert_array_equal(robot.pose((0.1, 0.2), "cap/top"), robot.pose((0.1, 0.2)))
    assert robot.model.name == "a%2Fb"
    moving = written(
        tmp_path,
        '<link name="world"/>',
        link("ground"),
        joint("j", "continuous", "world", "ground", AXIS),
    )
    robot = fm.Robot.from_urdf(moving)
    assert not np.allclose(robot.pose([1.0], "ground"), robot.pose([0.0], "ground"))


def test_two_names_that_differ_only_by_their_spelling(tmp_path: Path) -> None:
    text = (link("a/b"), link("a%2Fb"), joint("j", "continuous", "a/b", "a%2Fb", AXIS))
    assert set(fm.Robot.from_urdf(written(tmp_path, *text)).model.bodies) == {"a%2Fb", "a%252Fb"}


def test_visuals_are_kept_for_pictures(tmp_path: Path) -> None:
    package = tmp_path / "crane"
    (package / "urdf").mkdir(parents=True)
    (package / "meshes").mkdir()
    (package / "meshes" / "arm.stl").touch()
    place = '<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/>'
    looks = (
        f'<visual>{place}<geometry><mesh filename="package://crane/meshes/arm.stl" '
        'scale="1 2 0.001"/></geometry></visual>',
        '<visual><geometry><box size="1 2 3"/></geometry><material name="steel"/></visual>',
        '<visual><geometry><cylinder radius="0.5" length="2"/></geometry>'
        '<material name="x"><color rgba="1 0 0 1"/></material></visual>',
        "<visual><geometry><sphere "
        'radius="0.25"/></geometry></visual><visual><geometry><cloud/></geometry></visual>',
        '<visual><geometry><mesh filename="near.obj"/></geometry></visual>',
    )
    steel = '<material name="steel"><color rgba="0.5 0.6 0.7 1"/></material>'
    text = [
        steel,
        '<link name="base"/>',
        link("arm", more="".join(looks)),
        joint("j", "continuous", "base", "arm", AXIS),
    ]
    robot = fm.Robot.from_urdf(written(package / "urdf", *text), package_path=tmp_path)
    assert {visual.link for visual in robot.visuals} == {"arm"}
    found, box, cylinder, sphere, near = (visual.shape for visual in robot.visuals)
    mesh = package / "meshes" / "arm.stl"
    place = {"position": (1, 2, 3), "rotation": found.rotation}
    assert found == fm.MeshShape(mesh, scale=(1, 2, 0.001), **place)
    np.testing.assert_allclose(found.rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)
    assert box == fm.Box((1, 2, 3), colour=(0.5, 0.6, 0.7, 1))
    assert cylinder == fm.Cylinder(0.5, 2, colour=(1, 0, 0, 1))
    assert sphere == fm.Sphere(0.25)
    assert near == fm.MeshShape(package / "urdf" / "near.obj")
    assert robot.started([0.3]).visuals == robot.visuals
