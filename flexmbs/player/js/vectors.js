// Vectors, quaternions (scalar first) and matrices (4 × 4 by columns, as WebGL takes them).

/** @typedef {number[]} Vector */
/** @typedef {{x: Vector, p: Vector}} Pose position and quaternion */

/** @param {Vector} a @param {Vector} b */
export const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
/** @param {Vector} a @param {Vector} b */
export const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
/** @param {number} s @param {Vector} a */
export const scale = (s, a) => [s * a[0], s * a[1], s * a[2]];
/** @param {Vector} a @param {Vector} b */
export const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
/** @param {Vector} a @param {Vector} b */
export const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
/** @param {Vector} a */
export const length = (a) => Math.hypot(...a);
/** @param {Vector} a */
export const unit = (a) => scale(1 / Math.max(length(a), 1e-300), a);

/** @param {Vector} a @returns {Vector} a unit vector normal to it */
export function across(a) {
  const k = [0, 1, 2].reduce((m, i) => (Math.abs(a[i]) < Math.abs(a[m]) ? i : m), 0);
  return unit(cross(a, [0, 1, 2].map((i) => (i === k ? 1 : 0))));
}

/** @param {Vector} p @param {Vector} v @returns {Vector} A(p) v */
export function turned(p, v) {
  const w = p.slice(1);
  const t = scale(2, cross(w, v));
  return add(v, add(scale(p[0], t), cross(w, t)));
}

/** @param {Vector} a @param {Vector} b @returns {Vector} a ∘ b */
export function product(a, b) {
  const v = add(add(scale(a[0], b.slice(1)), scale(b[0], a.slice(1))), cross(a.slice(1), b.slice(1)));
  return [a[0] * b[0] - dot(a.slice(1), b.slice(1)), ...v];
}

/** @param {Vector} p */
export const conjugate = (p) => [p[0], -p[1], -p[2], -p[3]];

/** @param {Vector} p @param {number} s @returns {Vector} the rotation about the same axis by s times the angle */
export function multiple(p, s) {
  const q = p[0] < 0 ? p.map((c) => -c) : p;
  const n = length(q.slice(1));
  if (n < 1e-12) return [1, 0, 0, 0];
  const half = s * Math.atan2(n, q[0]);
  return [Math.cos(half), ...scale(Math.sin(half) / n, q.slice(1))];
}

/** @param {Vector} v rotation vector, rad @returns {Vector} its quaternion */
export function turnBy(v) {
  const angle = length(v);
  return angle < 1e-12 ? [1, 0, 0, 0] : [Math.cos(angle / 2), ...scale(Math.sin(angle / 2) / angle, v)];
}

/** @param {Pose} a @param {Pose} b @returns {Pose} b given in a */
export const compose = (a, b) => ({ x: add(a.x, turned(a.p, b.x)), p: product(a.p, b.p) });
/** @param {Pose} a @returns {Pose} */
export const inverse = (a) => ({ x: scale(-1, turned(conjugate(a.p), a.x)), p: conjugate(a.p) });
/** @param {Pose} a @param {Vector} v @returns {Vector} the point v of a's axes in the outer ones */
export const placed = (a, v) => add(a.x, turned(a.p, v));

/** @param {Pose} pose @param {Vector} [s] scales along its axes @returns {Float32Array} */
export function matrix(pose, s = [1, 1, 1]) {
  const [x, y, z] = [[s[0], 0, 0], [0, s[1], 0], [0, 0, s[2]]].map((v) => turned(pose.p, v));
  return new Float32Array([...x, 0, ...y, 0, ...z, 0, ...pose.x, 1]);
}

/** @param {Vector} d a direction @returns {Vector} quaternion that rotates z onto it */
export function towards(d) {
  const u = unit(d);
  if (u[2] < -0.999999) return [0, 1, 0, 0];
  const p = [1 + u[2], -u[1], u[0], 0];
  const n = Math.hypot(...p);
  return p.map((c) => c / n);
}

/** @param {Float32Array} a @param {Float32Array} b @returns {Float32Array} a b */
export function multiplied(a, b) {
  const c = new Float32Array(16);
  for (let j = 0; j < 4; j++)
    for (let i = 0; i < 4; i++) for (let k = 0; k < 4; k++) c[4 * j + i] += a[4 * k + i] * b[4 * j + k];
  return c;
}
