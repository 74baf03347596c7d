"""Rasterization of triangles: parallel projection, depth buffer, supersampled edges."""

from __future__ import annotations

import functools
import struct
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flexmbs.flexible_body.components import FloatArray, IntArray

Planes = tuple[FloatArray, FloatArray, FloatArray]
FINER = 2  # samples per pixel in each direction
# triangles and pixels processed at a time: fit into the cache of a processor
MOST_PAIRS = 100_000
CREASE = 0.75  # cosine of the angle between normals below which an edge is drawn
LIGHT = np.array([0.35, -0.6, 0.75])  # towards the light: right, up, near
EDGE = np.array([0.11, 0.15, 0.20])
UNKNOWN = np.full(3, 0.72)  # grey
HALF, ONES, EMPTY = (
    np.uint32(0x00FF00FF),
    0x00010001,
    np.uint32(0x00FFFFFF),
)  # packed in four bytes: masks of two bytes, 1 in both; white, transparent


class TrianglePaint(NamedTuple):
    """Colours (n, 3), one per triangle.

    With values (T, 3) at the corners, a colour table over 0 to 1, grey for NaN.
    """

    colours: FloatArray
    values: FloatArray | None = None


class PaintedTriangles(NamedTuple):
    """Triangles drawn together: rows of the visible ones and their colours.

    Also the number of the first one.
    """

    first: int
    rows: IntArray
    planes: Planes
    paint: TrianglePaint


class Canvas:
    """Pixels of a view with equal scales in both directions: ``width`` × ``height``.

    View coordinates are right, up, near.
    """

    def __init__(self, seen: FloatArray, width: int, height: int, margin: float = 0.05) -> None:
        """Prepare a view that contains the points ``seen`` (n, 3)."""
        low, high = seen[:, :2].min(axis=0), seen[:, :2].max(axis=0)
        room = np.array([width, height]) * (1.0 - 2.0 * margin)
        self.width, self.height = width, height
        self.scale = float(np.min(room / np.maximum(high - low, 1e-300)))
        self.centre = 0.5 * (low + high)
        shape = height * FINER, width * FINER
        self.depth = np.full(shape, -np.inf, np.float32)
        # number of the nearest triangle, counted over all drawn ones
        self.triangle = np.full(shape, -1, np.int32)
        self.edge = np.zeros(0, int)  # indices of pixels on lines
        self.normals: list[FloatArray] = []
        self.painted: list[PaintedTriangles] = []
        # offset added to the depths of the current layer, and largest depth drawn so far
        self.lift, self.reach = 0.0, 0.0

    def place(self, seen: FloatArray) -> FloatArray:
        """Pixels (…, 2), right and down, of points (…, 3) in view coordinates."""
        x = (seen[..., :2] - self.centre) * self.scale * np.array([1.0, -1.0])
        return x + 0.5 * np.array([self.width, self.height])

    def clear_depth(self) -> None:
        """Clear the depth buffer: later triangles are drawn in front of all earlier ones."""
        self.lift += 2.0 * self.reach

    def draw(self, corners: FloatArray, paint: TrianglePaint) -> None:
        """Draw triangles (T, 3, 3) whose front faces the viewer."""
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        rows = np.flatnonzero(normal[:, 2] > 0.0)
        corner = np.concatenate([FINER * self.place(corners[rows]), corners[rows, :, 2:]], axis=2)
        low = np.maximum(np.ceil(corner[:, :, :2].min(axis=1) - 0.5), 0).astype(int)
        high = np.minimum(
            np.floor(corner[:, :, :2].max(axis=1) - 0.5), np.array(self.depth.shape[::-1]) - 1
        ).astype(int)
        counts = np.prod(np.maximum(high - low + 1, 0), axis=1)
        planes, first = _planes(corner), sum(map(len, self.normals))
        self.reach = max(self.reach, float(np.abs(corner[:, :, 2]).max(initial=0.0)))
        heights = _heights(planes, corner[:, :, 2] + self.lift)
        for part in np.array_split(
            np.arange(len(rows)), max(int(counts.sum()) // MOST_PAIRS + 1, 1)
        ):
            self._fill(part, first, heights, (low, high), planes)
        self.normals.append(normal[rows] / np.linalg.norm(normal[rows], axis=1, keepdims=True))
        self.painted.append(PaintedTriangles(first, rows, planes, paint))

    def draw_shaded(self, corners: FloatArray, colours: FloatArray) -> None:
        """Draw triangles (T, 3, 3) in colours (T, 3) or one colour, brighter towards the light."""
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        towards = LIGHT / np.linalg.norm(LIGHT)
        bright = 0.72 + 0.33 * np.clip(
            normal @ towards / np.maximum(np.linalg.norm(normal, axis=1), 1e-300), 0.0, 1.0
        )
        self.draw(corners, flat(np.clip(colours * bright[:, None], 0.0, 1.0)))

    def _fill(
        self,
        part: IntArray,
        first: int,
        heights: FloatArray,
        box: tuple[IntArray, IntArray],
        planes: Planes,
    ) -> None:
        """Nearest triangle and its depth at the pixels covered by some triangles."""
        low, high = (end[part] for end in box)
        down = np.where(high[:, 0] >= low[:, 0], np.maximum(high[:, 1] - low[:, 1] + 1, 0), 0)
        lines = np.repeat(np.arange(len(part)), down)  # rows of pixels, by triangle
        y = _counted(down) + low[lines, 1]
        a, b, c = (each[part][lines] for each in planes)
        left, right = _crossing(b * (y + 0.5)[:, None] + c, a, low[lines, 0], high[lines, 0])
        across = np.maximum(right - left + 1, 0)
        rise, slope, base = heights[part][lines].T
        start = (base + slope * (y + 0.5) + rise * (left + 0.5)).astype(np.float32)
        x = _counted(across)  # single precision from here on: half the time
        z = np.repeat(rise.astype(np.float32), across) * x.astype(np.float32)
        z += np.repeat(start, across)
        x += np.repeat((y * self.depth.shape[1] + left).astype(np.int32), across)
        depth, triangle = self.depth.reshape(-1), self.triangle.reshape(-1)
        before = depth[x]
        np.maximum.at(depth, x, z)
        chosen = np.flatnonzero((z == depth[x]) & (z > before))
        triangle[x[chosen]] = np.repeat((part[lines] + first).astype(np.int32), across)[chosen]

    def _shades(self) -> NDArray[np.uint32]:
        """Pixel colours packed in integers, 0 for the background."""
        own = [
            _packed(
                each.paint.colours[each.rows]
                if each.paint.values is None
                else np.zeros((len(each.rows), 3))
            )
            for each in self.painted
        ]
        # the last entry belongs to the background
        shades = np.concatenate([*own, np.zeros(1, np.uint32)])[self.triangle].reshape(-1)
        for first, rows, planes, paint in self.painted:
            if paint.values is not None:
                at = np.flatnonzero((self.triangle >= first) & (self.triangle < first + len(rows)))
                shades[at] = self._values(
                    at,
                    _heights(planes, paint.values[rows])[self.triangle.reshape(-1)[at] - first],
                    paint.colours,
                )
        shades[self.edge] = _packed(0.55 * EDGE + 0.45 * _unpacked(shades[self.edge]))
        return shades.reshape(self.triangle.shape)

    def _values(self, at: IntArray, heights: FloatArray, colours: FloatArray) -> NDArray[np.uint32]:
        """Colours of pixels from values that are linear in each triangle."""
        rise, slope, base = heights.astype(np.float32).T
        y, x = np.divmod(at.astype(np.int32), np.int32(self.depth.shape[1]))
        value, last = (
            rise * (x + np.float32(0.5)) + slope * (y + np.float32(0.5)) + base,
            len(colours) - 1,
        )
        unknown = np.isnan(value)
        value = np.clip(value, 0.0, 1.0) * last
        value[unknown] = last + 1
        return _packed(np.vstack([colours, UNKNOWN]))[np.rint(value).astype(np.int32)]

    def outline(self, size: float) -> None:
        """Draw dark lines at depth steps above ``size`` and at creases."""
        normals, edge = (
            np.vstack([*self.normals, np.zeros((1, 3))]),
            np.zeros(self.depth.size, bool),
        )
        triangle, depth, pixels = (
            self.triangle.reshape(-1),
            self.depth.reshape(-1),
            np.arange(self.depth.size).reshape(self.depth.shape),
        )
        for axis in (0, 1):
            ends = _neighbours(self.triangle, axis)
            # between two triangles, or a triangle and the background
            a, b = (side[ends[0] != ends[1]] for side in _neighbours(pixels, axis))
            folded = np.einsum("ni,ni->n", normals[triangle[a]], normals[triangle[b]]) < CREASE
            cut = ~(np.abs(depth[a] - depth[b]) <= size) | folded
            near = depth[a] >= depth[b]
            edge[a[cut & near]] = edge[b[cut & ~near]] = True
        self.edge = np.flatnonzero(edge)

    def visible(self, seen: FloatArray, tolerance: float) -> bool:
        """True if no triangle is more than ``tolerance`` in front of a point (3,)."""
        x, y = np.clip(
            (FINER * self.place(seen)).astype(int), 0, np.array(self.depth.shape[::-1]) - 1
        )
        return bool(self.depth[y, x] <= seen[2] + self.lift + tolerance)

    def image(self) -> NDArray[np.uint8]:
        """Colours with opacity (height, width, 4).

        The transparent background is white because viewers blend it into edges.
        """
        shades, count = self._shades(), FINER * FINER
        samples = [shades[a::FINER, b::FINER] for a in range(FINER) for b in range(FINER)]
        sums = [
            functools.reduce(np.add, ((each >> shift) & HALF for each in samples))
            for shift in (0, 8)
        ]  # sums of two bytes at a time
        even, odd = (
            (((each + count // 2 * ONES) // count) & HALF) << shift
            for each, shift in zip(sums, (0, 8))
        )
        opacity = sums[1] >> 16
        image = (
            np.where(opacity > 0, even | odd, EMPTY)
            .view(np.uint8)
            .reshape(self.height, self.width, 4)
        )
        # the remaining samples are transparent
        partly = np.nonzero((opacity > 0) & (opacity < 255 * count))
        red, green, blue = sums[0][partly] & 0xFFFF, sums[1][partly] & 0xFFFF, sums[0][partly] >> 16
        image[partly[0], partly[1], :3] = np.rint(
            np.column_stack([red, green, blue]) / (opacity[partly][:, None] / 255.0)
        )
        return image

    def png(self) -> bytes:
        """PNG file (ISO/IEC 15948) of the image, with compressed differences of neighbours."""
        pixels = self.image()
        rows = np.diff(pixels, axis=1, prepend=np.zeros_like(pixels[:, :1])).reshape(
            self.height, -1
        )
        data = np.column_stack([np.ones(self.height, np.uint8), rows]).tobytes()
        head = struct.pack(">IIBBBBB", self.width, self.height, 8, 6, 0, 0, 0)
        chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(data, 4)), (b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*each) for each in chunks)


def flat(colours: FloatArray) -> TrianglePaint:
    """Paint function with one colour per triangle (T, 3)."""
    return TrianglePaint(colours)


def smooth(values: FloatArray, table: FloatArray) -> TrianglePaint:
    """Paint function by values (T, 3) at the corners, 0 to 1, and a colour table (n, 3).

    Triangles with a NaN corner are grey.

    Triangles with a NaN corner are grey.
    """
    return TrianglePaint(table, values)


def ramp(colours: Sequence[str], n: int = 256) -> FloatArray:
    """Colour table (n, 3) interpolated between equally spaced colours."""
    known = np.array(
        [[int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5)] for colour in colours]
    )
    at = np.linspace(0.0, len(known) - 1.0, n)
    return np.column_stack([np.interp(at, np.arange(len(known)), known[:, i]) for i in range(3)])


def _planes(corner: FloatArray) -> Planes:
    """Barycentric coordinates (T, 3) of triangles as a x + b y + c."""
    (x0, y0), (x1, y1), (x2, y2) = (corner[:, i, :2].T for i in range(3))
    area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    area = np.where(np.abs(area) < 1e-12, np.inf, area)[:, None]
    a = np.column_stack([y1 - y2, y2 - y0, y0 - y1]) / area
    b = np.column_stack([x2 - x1, x0 - x2, x1 - x0]) / area
    c = np.column_stack([x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0]) / area
    c[np.isinf(area[:, 0])] = -1.0
    return a, b, c


def _heights(planes: Planes, values: FloatArray) -> FloatArray:
    """Linear interpolation of corner values (T, 3), as coefficients (T, 3) of x, y and 1."""
    return np.column_stack([np.einsum("ti,ti->t", each, values) for each in planes])


def _crossing(
    start: FloatArray, slope: FloatArray, low: IntArray, high: IntArray
) -> tuple[IntArray, IntArray]:
    """First and last pixel of rows inside triangles.

    Inside, all ``start`` + ``slope`` (x + ½) ≥ 0 (n, 3).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        zero = -start / slope - 0.5
    # column by column: faster than a reduction along an axis
    left = functools.reduce(np.maximum, np.where(slope > 0.0, zero, -np.inf).T)
    right = functools.reduce(np.minimum, np.where(slope < 0.0, zero, np.inf).T)
    outside = functools.reduce(np.logical_or, ((slope == 0.0) & (start < 0.0)).T)
    first = np.maximum(np.ceil(np.where(outside, np.inf, left).clip(-1e9, 1e9) - 1e-9), low).astype(
        int
    )
    return first, np.minimum(np.floor(right.clip(-1e9, 1e9) + 1e-9), high).astype(int)


def _packed(colours: FloatArray) -> NDArray[np.uint32]:
    """Opaque colours (n, 3), 0 to 1, as four bytes each."""
    made = np.full((len(colours), 4), 255, np.uint8)
    made[:, :3] = np.rint(255.0 * colours)
    return made.view(np.uint32)[:, 0]


def _unpacked(shades: NDArray[np.uint32]) -> FloatArray:
    """Colours (n, 3), 0 to 1, without opacity."""
    return np.asarray(shades.view(np.uint8).reshape(-1, 4)[:, :3] / 255.0)


def _counted(counts: IntArray) -> IntArray:
    """Concatenated ranges 0 … n − 1 for each of the counts n."""
    starts = (np.cumsum(counts) - counts).astype(np.int32)
    return np.asarray(np.arange(int(counts.sum()), dtype=np.int32) - np.repeat(starts, counts))


def _neighbours(values: NDArray, axis: int) -> tuple[NDArray, NDArray]:  # type: ignore[type-arg]
    """Views of all adjacent pairs along an axis."""
    return (values[:-1], values[1:]) if axis == 0 else (values[:, :-1], values[:, 1:])


def _chunk(kind: bytes, data: bytes) -> bytes:
    """Chunk of a PNG file: length, type, data and CRC."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
