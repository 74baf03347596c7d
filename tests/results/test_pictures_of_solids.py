"""Pixels of triangles: areas, depth, colours of the legend, hidden points, and the file as another
program reads it.
"""

import base64
import io
import re
import urllib.parse

import matplotlib.image
import numpy as np
from test_stress import mechanism, stressed_beam

import flexmbs as fm
from flexmbs.flexible_body.components import Surface
from flexmbs.page.drawings import deformed_drawing, field_drawing, frames_drawing
from flexmbs.page.figures import field_picture
from flexmbs.page.raster import Canvas, flat, ramp, smooth
from flexmbs.page.solids import MarkedFrame
from flexmbs.page.style import STRESS
from flexmbs.report.page import page
from flexmbs.results.summary import summary

RED, BLUE = np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 0.0, 1.0]])
SQUARE = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
HALVES = np.array([[0, 1, 2], [0, 2, 3]])


def cube() -> Surface:
    """Twelve triangles, their normals outwards."""
    nodes = np.array([[x, y, z] for x in (0.0, 2.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])
    return Surface(nodes, np.zeros((8, 3, 1)), triangles, np.arange(8))


def pixels(url: str) -> np.ndarray:
    """What matplotlib reads from the file."""
    return np.asarray(
        matplotlib.image.imread(
            io.BytesIO(base64.b64decode(url.partition("base64,")[2])), format="png"
        )
    )


def test_a_square_covers_its_area_without_seams() -> None:
    canvas = Canvas(SQUARE, 100, 80, margin=0.1)
    canvas.draw(SQUARE[HALVES], flat(np.vstack([RED, RED])))
    image = canvas.image()
    assert image[:, :, 3].sum() / 255 == 64 * 64  # pixels: 0.8 of the height
    assert set(map(tuple, image[image[:, :, 3] == 255])) == {(255, 0, 0, 255)}
    turned = SQUARE @ np.array([[0.8, -0.6, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
    canvas = Canvas(turned, 400, 400)
    canvas.draw(turned[HALVES], flat(np.vstack([RED, RED])))
    assert abs(canvas.image()[:, :, 3].sum() / 255 / canvas.scale**2 - 1.0) < 2e-3
    inner = canvas.image()[180:220, 180:220, 3]  # across the border of both triangles
    assert inner.min() == 255
    # seen from behind
    canvas.draw(turned[HALVES[:, ::-1]] + [0.0, 0.0, 1.0], flat(np.vstack([BLUE, BLUE])))
    assert canvas.image()[200, 200, 2] == 0


def test_the_nearest_is_seen_in_any_order() -> None:
    above = np.array([[0.0, 0, 0], [1, 0, 1], [0, 1, 1]])
    # nowhere at the depth of a pixel of the other
    below = np.array([[0.0, 0, 1.0137], [1, 0, 0.0137], [0, 1, 0.0137]])
    images = []
    for order in ((above, RED, below, BLUE), (below, BLUE, above, RED)):
        canvas = Canvas(np.vstack([above, below]), 200, 200)
        canvas.draw(order[0][None], flat(order[1]))
        canvas.draw(order[2][None], flat(order[3]))
        images.append(canvas.image())
    np.testing.assert_array_equal(*images)
    drawn = images[0][images[0][:, :, 3] == 255]
    shares = [float((drawn[:, c] == 255).mean()) for c in (0, 2)]
    assert abs(shares[0] / (shares[0] + shares[1]) - 0.75) < 0.01  # x + y > ½
    near, far = np.array([0.4, 0.4, 0.8]), np.array([0.4, 0.4, 0.2])
    assert canvas.visible(near, 1e-2)
    assert not canvas.visible(far, 1e-2)


def test_a_field_has_the_colours_of_its_bar_alone() -> None:
    table = ramp(STRESS)
    canvas = Canvas(SQUARE, 200, 200)
    canvas.draw(SQUARE[HALVES], smooth(np.array([[0.0, 1, 1], [0, 1, 0]]), table))  # the value x
    image = canvas.image()
    inside = image[image[:, :, 3] == 255][:, :3] / 255.0
    assert np.abs(inside[:, None] - table[None, ::2]).max(axis=2).min(axis=1).max() < 0.02
    row = image[100][image[100, :, 3] == 255][:, :3] / 255.0
    np.testing.assert_allclose(
        row, table[np.rint(np.linspace(0, 255, len(row))).astype(int)], atol=0.03
    )


def test_numbers_stand_at_marks_that_are_seen() -> None:
    """Opposite corners of a cube are each seen from one side, its centre from none."""
    surface = cube()
    marks = np.array([[1.0, 0.5, 0.5], *surface.nodes[[0, 7]]])
    text = urllib.parse.unquote(field_drawing(surface, np.arange(8.0), "<MPa>", marks))
    assert "&lt;MPa&gt;" in text
    shown = re.findall(r'class="spot"[^>]*>(\d)<', text)
    assert "1" not in shown
    assert {"2", "3"} <= set(shown)
    assert re.findall(r">(\d+)</text>", text)[-2:] == ["4", "6"]
    images = [pixels(url) for url in re.findall(r'href="(data:image/png[^"]*)"', text)]
    assert [image.shape[2] for image in images] == [4, 4]
    assert all(0.1 < image[:, :, 3].mean() < 0.9 for image in images)


def test_a_mode_is_drawn_over_the_body_at_rest() -> None:
    surface = cube()
    u = np.zeros((8, 3))
    u[4:, 2] = 1.0
    image = pixels(deformed_drawing(surface, u, np.linalg.norm(u, axis=1)))
    grey = (np.ptp(image[:, :, :3], axis=2) < 0.01) & (image[:, :, 3] == 1.0)
    blue = (image[:, :, 2] > image[:, :, 0] + 0.05) & (image[:, :, 3] == 1.0)
    assert grey.mean() > 0.01
    assert blue.mean() > 0.05


def test_a_page_needs_no_plotting_program() -> None:
    solution = fm.simulate(mechanism(stressed_beam(yield_stress=1e3)), t_end=0.01, step=0.002)
    text = page(solution, summary(solution))
    urls = re.findall(r'<img[^>]*src="(data:image/[a-z+]*)', text)
    assert set(urls) == {"data:image/png", "data:image/svg+xml"}
    # the pictures of the stress, until the player starts
    assert text.count('<figure class="player single field"') == 2
    assert len(re.findall(r'<img class="still" src="data:image/svg', text)) == 3


def test_figures_show_the_pixels_of_the_page() -> None:
    """Numbers stand on the same marks, and a tip of the mechanism on its path."""
    surface = cube()
    marks = np.array([[1.0, 0.5, 0.5], *surface.nodes[[0, 7]]])
    figure = field_picture(surface, np.arange(8.0), "MPa", marks)
    shown = [text.get_text() for ax in figure.axes[:2] for text in ax.texts]
    assert "1" not in shown
    assert {"2", "3"} <= set(shown)
    solution = fm.simulate(mechanism(stressed_beam()), t_end=0.01, step=0.002)
    ax = solution.plot.motion().axes[0]
    (picture,) = ax.images
    image = np.asarray(picture.get_array())
    for line in ax.lines:
        x, y = np.asarray(line.get_xydata()).T
        assert min(x.min(), y.min()) >= 0.0
        assert x.max() <= image.shape[1]
        assert y.max() <= image.shape[0]
    body = next(iter(solution.compiled.data))
    assert np.asarray(solution.plot.mode(body, 0).axes[0].images[0].get_array())[..., 3].any()


def test_interfaces_are_coloured_and_named() -> None:
    surface = cube()
    places = {"<hub>": MarkedFrame(np.arange(4), np.array([0.0, 0.5, 0.5]), np.eye(3))}
    text = urllib.parse.unquote(frames_drawing(surface, places))
    assert re.findall(r'class="ink"[^>]*>([^<]*)<', text) == ["x", "y", "z", "&lt;hub&gt;"]
