"""Quality of elements: one for regular ones, none for flat ones, the worst by number."""

import numpy as np
import pytest

from preprocess.elements import ELEMENTS
from preprocess.mesh.mesh import Mesh
from preprocess.mesh.structured import box_mesh

HEIGHT = np.sqrt(2 / 3)
TETRAHEDRON = [[0, 0, 0], [1, 0, 0], [0.5, np.sqrt(0.75), 0], [0.5, np.sqrt(1 / 12), HEIGHT]]
WEDGE = [
    [0, 0, 0],
    [1, 0, 0],
    [0.5, np.sqrt(0.75), 0],
    [0, 0, 1],
    [1, 0, 1],
    [0.5, np.sqrt(0.75), 1],
]
PYRAMID = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0.5, 0.5, np.sqrt(0.5)]]
REGULAR = {
    5: ("pyramid5", PYRAMID, np.sqrt(0.5) / 3),
    4: ("tet4", TETRAHEDRON, 1 / np.sqrt(72)),
    6: ("wedge6", WEDGE, np.sqrt(3) / 4),
    8: ("hex8", ELEMENTS["hex8"].nodes, 8.0),
}


@pytest.mark.parametrize("name", ELEMENTS)
def test_regular_elements_are_of_quality_one(name):
    element = ELEMENTS[name]
    linear, corners, volume = REGULAR[element.corners]
    x = ELEMENTS[linear].shape_functions(element.nodes) @ np.array(corners)
    (block,) = Mesh.from_arrays(x, {name: np.arange(len(x))[None]}).quality().blocks
    assert block.scaled_jacobian[0] == pytest.approx(1.0, abs=1e-12)
    assert block.aspect_ratio[0] == pytest.approx(1.0, abs=1e-12)
    assert block.volume[0] == pytest.approx(volume, rel=1e-12)


def test_a_slanted_brick_has_the_cosine_of_its_slant():
    """Sheared by 60° from the upright: sin 30° between its edges; edges of 1, 1, 2."""
    slanted = box_mesh((1.0, 1.0, 1.0), (1, 1, 1), "hex20").moved(
        lambda x: x @ [[1, 0, 0], [0, 1, 0], [np.sqrt(3), 0, 1]]
    )
    (block,) = slanted.quality().blocks
    assert block.scaled_jacobian[0] == pytest.approx(0.5, abs=1e-12)
    assert block.aspect_ratio[0] == pytest.approx(2.0, abs=1e-12)


def test_table_names_the_worst_and_the_volumes_of_sets():
    box = box_mesh((4.0, 1.0, 1.0), (4, 1, 1), "hex8")
    x = box.nodes.copy()
    x[(x[:, 0] == 3) & (x[:, 1] == 1), 0] = 3.6
    mesh = Mesh.from_arrays(
        x, {"hex8": box.blocks["hex8"].connectivity}, element_sets={"left": [1, 2]}
    )
    quality = mesh.quality()
    assert sorted(quality.blocks[0].worst[:2]) == [3, 4]
    assert quality.volumes == {"left": pytest.approx(2.0)}
    lines = str(quality).splitlines()
    assert lines[2].split()[:3] == ["hex8", "4", "4"]
    assert lines[-1] == "set left: 2 m³"
