// Meshes: vertices split at creases with their normals, feature edges, and simple solids.
import { across, add, cross, dot, scale, sub, unit } from "./vectors.js";

/**
 * Mesh to draw: corners with normals; ``node`` is the row of a corner in the tables of shapes; ``closed``: it bounds a volume, with
 * all triangles counterclockwise from outside.
 * @typedef {{position: Float32Array, normal: Float32Array, node: Float32Array, index: Uint32Array, edges: Uint32Array, closed: boolean}} Mesh
 * @typedef {{points: number[][], faces: number[][]}} Solid
 */

const CREASE = Math.cos((35 * Math.PI) / 180);

/** @param {ArrayLike<number>} x positions @param {ArrayLike<number>} triangles @returns {Mesh} */
export function meshed(x, triangles) {
  const faces = triangles.length / 3;
  /** @param {number} i */
  const point = (i) => [x[3 * i], x[3 * i + 1], x[3 * i + 2]];
  const area = [];
  for (let f = 0; f < faces; f++) {
    const [a, b, c] = [0, 1, 2].map((k) => point(triangles[3 * f + k]));
    area.push(cross(sub(b, a), sub(c, a)));
  }
  const normals = area.map(unit);
  const around = neighbours(x.length / 3, triangles);
  /** @type {number[][]} */ const groups = Array.from({ length: x.length / 3 }, () => []);
  /** @type {number[]} */ const position = [];
  /** @type {number[]} */ const normal = [];
  /** @type {number[]} */ const node = [];
  const index = new Uint32Array(triangles.length);
  for (let f = 0; f < faces; f++)
    for (let k = 0; k < 3; k++) {
      const i = triangles[3 * f + k];
      let sum = [0, 0, 0];
      for (const g of around[i]) if (dot(normals[f], normals[g]) > CREASE) sum = add(sum, area[g]);
      const n = unit(sum);
      let corner = groups[i].find((c) => dot([normal[3 * c], normal[3 * c + 1], normal[3 * c + 2]], n) > 0.9995);
      if (corner === undefined) {
        corner = node.length;
        position.push(...point(i));
        normal.push(...n);
        node.push(i);
        groups[i].push(corner);
      }
      index[3 * f + k] = corner;
    }
  const edges = creases(triangles, normals, x.length / 3);
  const closed = bounding(triangles, x.length / 3) && volume(x, triangles) > 0;
  return { position: new Float32Array(position), normal: new Float32Array(normal), node: new Float32Array(node), index, edges, closed };
}

/** @param {ArrayLike<number>} triangles @param {number} n vertices @returns {boolean} true if each edge is traversed equally often in both directions */
function bounding(triangles, n) {
  /** @type {Map<number, number>} */ const passed = new Map();
  for (let i = 0; i < triangles.length; i++) {
    const a = triangles[i], b = triangles[i % 3 === 2 ? i - 2 : i + 1];
    const key = a < b ? a * n + b : b * n + a;
    passed.set(key, (passed.get(key) ?? 0) + (a < b ? 1 : -1));
  }
  return [...passed.values()].every((sum) => sum === 0);
}

/** @param {ArrayLike<number>} x positions @param {ArrayLike<number>} triangles @returns {number} Σ a · (b × c) / 6 */
function volume(x, triangles) {
  /** @param {number} i */
  const point = (i) => [x[3 * triangles[i]], x[3 * triangles[i] + 1], x[3 * triangles[i] + 2]];
  let sum = 0;
  for (let i = 0; i < triangles.length; i += 3) sum += dot(point(i), cross(point(i + 1), point(i + 2))) / 6;
  return sum;
}

/** @param {number} n @param {ArrayLike<number>} triangles @returns {number[][]} triangles at each vertex */
function neighbours(n, triangles) {
  /** @type {number[][]} */ const around = Array.from({ length: n }, () => []);
  for (let i = 0; i < triangles.length; i++) around[triangles[i]].push(Math.floor(i / 3));
  return around;
}

/** @param {ArrayLike<number>} triangles @param {number[][]} normals @param {number} n vertices @returns {Uint32Array} pairs of nodes of sharp or open edges */
function creases(triangles, normals, n) {
  /** @type {Map<number, number>} */ const open = new Map();
  /** @type {number[]} */ const pairs = [];
  for (let f = 0; f < triangles.length / 3; f++)
    for (let k = 0; k < 3; k++) {
      const a = triangles[3 * f + k], b = triangles[3 * f + ((k + 1) % 3)];
      const key = a < b ? a * n + b : b * n + a;
      const other = open.get(key);
      if (other === undefined) open.set(key, f);
      else {
        open.delete(key);
        if (dot(normals[f], normals[other]) < CREASE) pairs.push(a, b);
      }
    }
  for (const key of open.keys()) pairs.push(Math.floor(key / n), key % n);
  return new Uint32Array(pairs);
}

/** @param {Solid[]} solids @returns {Mesh} combined mesh */
export function joined(solids) {
  /** @type {number[]} */ const x = [];
  /** @type {number[]} */ const triangles = [];
  for (const { points, faces } of solids) {
    const first = x.length / 3;
    for (const point of points) x.push(...point);
    for (const face of faces) for (let k = 2; k < face.length; k++) triangles.push(face[0] + first, face[k - 1] + first, face[k] + first);
  }
  return meshed(x, triangles);
}

/** @param {number[]} size edges @param {(v: number[]) => number[]} place @returns {Solid} */
export function box(size, place) {
  const points = [];
  for (let i = 0; i < 8; i++) points.push(place([0, 1, 2].map((c) => (i & (1 << c) ? 0.5 : -0.5) * size[c])));
  return { points, faces: [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]] };
}

/** @param {number[]} a @param {number[]} b ends @param {number} r radius at a @param {number} [s] radius at b @returns {Solid} */
export function rod(a, b, r, s = r, sides = 20) {
  const z = unit(sub(b, a)), x = across(z), y = cross(z, x);
  const points = [];
  for (const [end, radius] of /** @type {[number[], number][]} */ ([[a, r], [b, s]]))
    for (let k = 0; k < sides; k++) {
      const t = (2 * Math.PI * k) / sides;
      points.push(add(end, add(scale(radius * Math.cos(t), x), scale(radius * Math.sin(t), y))));
    }
  const ring = Array.from({ length: sides }, (_, k) => k);
  const faces = ring.map((k) => [k, (k + 1) % sides, sides + ((k + 1) % sides), sides + k]);
  faces.push(ring.slice().reverse(), ring.map((k) => sides + k));
  return { points, faces };
}

/** @param {number[]} at @param {number} r @returns {Solid} */
export function ball(at, r, rows = 12) {
  const points = [add(at, [0, 0, -r])];
  const sides = 2 * rows;
  for (let i = 1; i < rows; i++)
    for (let k = 0; k < sides; k++) {
      const u = (Math.PI * i) / rows, t = (2 * Math.PI * k) / sides;
      points.push(add(at, scale(r, [Math.sin(u) * Math.cos(t), Math.sin(u) * Math.sin(t), -Math.cos(u)])));
    }
  points.push(add(at, [0, 0, r]));
  const top = points.length - 1, faces = [];
  for (let k = 0; k < sides; k++) {
    const next = (k + 1) % sides;
    faces.push([0, 1 + next, 1 + k]);
    for (let i = 0; i < rows - 2; i++) faces.push([1 + i * sides + k, 1 + i * sides + next, 1 + (i + 1) * sides + next, 1 + (i + 1) * sides + k]);
    faces.push([top, 1 + (rows - 2) * sides + k, 1 + (rows - 2) * sides + next]);
  }
  return { points, faces };
}
