"""Triangles as pixels: parallel projection, the nearest of every pixel by its depth, edges smoothed by averaging."""

from __future__ import annotations

import functools
import struct
import zlib
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from flexmbs.flexible_body.parts import FloatArray, IntArray

FINER = 2  # pixels computed for one, in each direction
MOST_PAIRS = 2_000_000  # of triangles and pixels at a time
CREASE = 0.75  # cosine between normals, below which an edge is drawn
EDGE = np.array([0.11, 0.15, 0.20])
Paint = Callable[[IntArray, FloatArray], FloatArray]


class Canvas:
    """Pixels of a view with the same scale in both directions: ``width`` × ``height``; coordinates seen are right, up, near."""

    def __init__(self, seen: FloatArray, width: int, height: int, margin: float = 0.05) -> None:
        """``seen`` (n, 3): points that must be within the view."""
        low, high = seen[:, :2].min(axis=0), seen[:, :2].max(axis=0)
        room = np.array([width, height]) * (1.0 - 2.0 * margin)
        self.width, self.height = width, height
        self.scale = float(np.min(room / np.maximum(high - low, 1e-300)))
        self.centre = 0.5 * (low + high)
        shape = height * FINER, width * FINER
        self.colour, self.normal = np.zeros((2, *shape, 3), np.float32)
        self.depth = np.full(shape, -np.inf, np.float32)

    def place(self, seen: FloatArray) -> FloatArray:
        """Pixels (…, 2), right and down, of points (…, 3) seen."""
        x = (seen[..., :2] - self.centre) * self.scale * np.array([1.0, -1.0])
        return x + 0.5 * np.array([self.width, self.height])

    def clear_depth(self) -> None:
        """What is drawn next is before everything drawn so far."""
        self.depth = np.where(np.isfinite(self.depth), np.float32(-1e30), self.depth)

    def draw(self, corners: FloatArray, paint: Paint) -> None:
        """Triangles (T, 3, 3) seen from their front; ``paint`` gives the colours (n, 3) of triangles (n,) at weights (n, 3) of
        their corners."""
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        rows = np.flatnonzero(normal[:, 2] > 0.0)
        corner = np.concatenate([FINER * self.place(corners[rows]), corners[rows, :, 2:]], axis=2)
        low = np.maximum(np.ceil(corner[:, :, :2].min(axis=1) - 0.5), 0).astype(int)
        high = np.minimum(np.floor(corner[:, :, :2].max(axis=1) - 0.5), np.array(self.depth.shape[::-1]) - 1).astype(int)
        counts = np.prod(np.maximum(high - low + 1, 0), axis=1)
        unit = normal[rows] / np.linalg.norm(normal[rows], axis=1, keepdims=True)
        for part in np.array_split(np.arange(len(rows)), max(int(counts.sum()) // MOST_PAIRS + 1, 1)):
            self._fill(corner[part], (low[part], high[part]), unit[part], functools.partial(_some, paint, rows[part]))

    def _fill(self, corner: FloatArray, box: tuple[IntArray, IntArray], normal: FloatArray, paint: Paint) -> None:
        low, high = box
        spread = np.maximum(high - low + 1, 0)
        down = np.where(spread[:, 0] > 0, spread[:, 1], 0)
        lines = np.repeat(np.arange(len(corner)), down)  # rows of pixels, by triangle
        y = _counted(down) + low[lines, 1]
        a, b, c = _planes(corner)
        start = b[lines] * (y + 0.5)[:, None] + c[lines]
        first, last = _crossing(start, a[lines], low[lines, 0], high[lines, 0])
        across = np.maximum(last - first + 1, 0)
        rise, height = np.einsum("ti,ti->t", a, corner[:, :, 2])[lines], np.einsum("ti,ti->t", start, corner[lines, :, 2])
        line = np.repeat(np.arange(len(lines), dtype=np.int32), across)
        x = _counted(across)  # single precision from here on: half the time
        height = (height + rise * (first + 0.5)).astype(np.float32)
        z = rise.astype(np.float32)[line] * x.astype(np.float32) + height[line]
        pixel = (y * self.depth.shape[1] + first).astype(np.int32)[line] + x
        depth, shades, normals = self.depth.reshape(-1), self.colour.reshape(-1, 3), self.normal.reshape(-1, 3)
        near = z > depth[pixel]
        np.maximum.at(depth, pixel[near], z[near])
        chosen = np.flatnonzero(near & (z == depth[pixel]))
        at, row = pixel[chosen], line[chosen]
        k = lines[row]
        weight = a[k] * (x[chosen] + first[row] + 0.5)[:, None] + start[row]
        normals[at], shades[at] = normal[k], paint(k, weight)

    def outline(self, size: float) -> None:
        """Dark lines at steps in depth beyond ``size`` and at creases."""
        seen = np.isfinite(self.depth)
        depth, edge = np.where(seen, self.depth, -1e30), np.zeros(seen.shape, bool)
        for axis in (0, 1):
            a, b = _neighbours(depth, axis)
            folded = (np.einsum("ijk,ijk->ij", *_neighbours(self.normal, axis)) < CREASE) & (a > -1e29) & (b > -1e29)
            cut = (np.abs(a - b) > size) | folded
            front, back = _neighbours(edge, axis)
            front |= cut & (a >= b)
            back |= cut & (b > a)
        self.colour[edge & seen] = 0.55 * EDGE + 0.45 * self.colour[edge & seen]

    def visible(self, seen: FloatArray, tolerance: float) -> bool:
        """Whether nothing is before a point (3,) by more than ``tolerance``."""
        x, y = np.clip((FINER * self.place(seen)).astype(int), 0, np.array(self.depth.shape[::-1]) - 1)
        return bool(self.depth[y, x] <= seen[2] + tolerance)

    def image(self) -> NDArray[np.uint8]:
        """Colours with opacity (height, width, 4); white where nothing is, which viewers mix into edges."""
        parts = [(slice(a, None, FINER), slice(b, None, FINER)) for a in range(FINER) for b in range(FINER)]
        opaque = np.stack([np.isfinite(self.depth[part]) for part in parts])
        cover = opaque.sum(axis=0, dtype=np.float32)[:, :, None]
        colour = np.sum([self.colour[part] for part in parts], axis=0)  # zero where nothing is
        plain = np.concatenate([np.where(cover > 0.0, colour / np.maximum(cover, 1.0), 1.0), cover / len(parts)], axis=2)
        return np.asarray(np.rint(255.0 * np.clip(plain, 0.0, 1.0)), np.uint8)

    def png(self) -> bytes:
        """The image as a file (PNG, ISO/IEC 15948), differences of neighbours compressed."""
        pixels = self.image()
        rows = np.diff(pixels, axis=1, prepend=np.zeros_like(pixels[:, :1])).reshape(self.height, -1)
        data = np.column_stack([np.ones(self.height, np.uint8), rows]).tobytes()
        head = struct.pack(">IIBBBBB", self.width, self.height, 8, 6, 0, 0, 0)
        chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(data, 4)), (b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*each) for each in chunks)


def flat(colours: FloatArray) -> Paint:
    """One colour (T, 3) for each triangle."""
    return lambda k, _: colours[k]


def smooth(values: FloatArray, table: FloatArray) -> Paint:
    """Values (T, 3) at the corners, 0 to 1, as colours of a table (n, 3)."""
    last = len(table) - 1
    return lambda k, weight: table[np.clip(np.rint(np.einsum("ti,ti->t", weight, values[k]) * last), 0, last).astype(int)]


def _some(paint: Paint, rows: IntArray, k: IntArray, weight: FloatArray) -> FloatArray:
    """Colours of triangles numbered among some of all."""
    return paint(rows[k], weight)


def ramp(colours: Sequence[str], n: int = 256) -> FloatArray:
    """A table (n, 3) of colours between those of equal distances."""
    known = np.array([[int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5)] for colour in colours])
    at = np.linspace(0.0, len(known) - 1.0, n)
    return np.column_stack([np.interp(at, np.arange(len(known)), known[:, i]) for i in range(3)])


def _planes(corner: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Barycentric coordinates (T, 3) of triangles as a x + b y + c."""
    (x0, y0), (x1, y1), (x2, y2) = (corner[:, i, :2].T for i in range(3))
    area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    area = np.where(np.abs(area) < 1e-12, np.inf, area)[:, None]
    a = np.column_stack([y1 - y2, y2 - y0, y0 - y1]) / area
    b = np.column_stack([x2 - x1, x0 - x2, x1 - x0]) / area
    c = np.column_stack([x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0]) / area
    c[np.isinf(area[:, 0])] = -1.0
    return a, b, c


def _crossing(start: FloatArray, slope: FloatArray, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """First and last pixel of rows inside of triangles, where all ``start`` + ``slope`` (x + ½) ≥ 0 (n, 3)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        zero = -start / slope - 0.5
    left = functools.reduce(np.maximum, np.where(slope > 0.0, zero, -np.inf).T)  # over three columns, faster than along an axis
    right = functools.reduce(np.minimum, np.where(slope < 0.0, zero, np.inf).T)
    outside = functools.reduce(np.logical_or, ((slope == 0.0) & (start < 0.0)).T)
    first = np.maximum(np.ceil(np.where(outside, np.inf, left).clip(-1e9, 1e9) - 1e-9), low).astype(int)
    return first, np.minimum(np.floor(right.clip(-1e9, 1e9) + 1e-9), high).astype(int)


def _counted(counts: IntArray) -> IntArray:
    """0 … n − 1 for each of the counts n, in sequence."""
    starts = (np.cumsum(counts) - counts).astype(np.int32)
    return np.asarray(np.arange(int(counts.sum()), dtype=np.int32) - np.repeat(starts, counts))


def _neighbours(values: NDArray, axis: int) -> tuple[NDArray, NDArray]:  # type: ignore[type-arg]
    return (values[:-1], values[1:]) if axis == 0 else (values[:, :-1], values[:, 1:])


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
