// Camera that orbits a target: angles, distance, named views, fit.
import { across, add, cross, dot, length, multiplied, scale, sub, unit } from "./vectors.js";

/** @typedef {import("./vectors.js").Vector} Vector */

const OPENING = Math.tan((15 * Math.PI) / 180); // half the angle of view

export class Camera {
  /** @param {Vector} up */
  constructor(up) {
    this.up = unit(up);
    const x = sub([1, 0, 0], scale(this.up[0], this.up));
    this.east = length(x) > 0.1 ? unit(x) : across(this.up);
    this.north = cross(this.up, this.east);
    this.azimuth = 0; // of the direction to the viewer, counted from south to east
    this.elevation = 0;
    this.distance = 1;
    this.nearest = 1e-6; // least distance, set by the last fit
    /** @type {Vector} */ this.target = [0, 0, 0];
    this.aspect = 1;
  }

  /** @returns {Vector} unit vector from the target to the viewer */
  get eyeward() {
    const [c, s] = [Math.cos(this.elevation), Math.sin(this.elevation)];
    const flat = add(scale(-Math.cos(this.azimuth), this.north), scale(Math.sin(this.azimuth), this.east));
    return add(scale(c, flat), scale(s, this.up));
  }

  /** @returns {[Vector, Vector]} directions right and up on the screen */
  get screen() {
    const right = add(scale(Math.cos(this.azimuth), this.east), scale(Math.sin(this.azimuth), this.north));
    return [right, cross(this.eyeward, right)];
  }

  /** @param {Vector} direction to the viewer */
  lookFrom(direction) {
    const d = unit(direction);
    this.elevation = Math.asin(Math.min(Math.max(dot(d, this.up), -1), 1));
    this.azimuth = Math.atan2(dot(d, this.east), -dot(d, this.north));
  }

  /** @param {string} name front, back, left, right, top, bottom or oblique */
  named(name) {
    const views = /** @type {Record<string, [number, number]>} */ ({
      front: [0, 0], back: [Math.PI, 0], right: [Math.PI / 2, 0], left: [-Math.PI / 2, 0],
      top: [0, Math.PI / 2], bottom: [0, -Math.PI / 2], oblique: [Math.PI / 4, Math.asin(1 / Math.sqrt(3))],
    });
    [this.azimuth, this.elevation] = views[name];
  }

  /** @param {number} right @param {number} up rad */
  turn(right, up) {
    this.azimuth -= right;
    this.elevation = Math.min(Math.max(this.elevation + up, -Math.PI / 2), Math.PI / 2);
  }

  /** @param {number} right @param {number} up fractions of the height of the picture */
  pan(right, up) {
    const [x, y] = this.screen;
    const s = 2 * OPENING * this.distance;
    this.target = sub(this.target, add(scale(s * right, x), scale(s * up, y)));
  }

  /** @param {number} factor of the distance */
  zoom(factor) {
    this.distance = Math.max(this.distance * factor, this.nearest);
  }

  /** @param {Vector[]} points that must be visible */
  fit(points) {
    const [x, y] = this.screen;
    const z = this.eyeward;
    const range = [x, y, z].map((axis) => {
      const along = points.map((p) => dot(p, axis));
      return [Math.min(...along), Math.max(...along)];
    });
    const middle = range.map(([low, high]) => 0.5 * (low + high));
    this.target = add(add(scale(middle[0], x), scale(middle[1], y)), scale(middle[2], z));
    let distance = 0;
    for (const point of points) {
      const d = sub(point, this.target);
      const size = Math.max(Math.abs(dot(d, x)) / Math.min(this.aspect, 1e3), Math.abs(dot(d, y)));
      distance = Math.max(distance, size / (0.86 * OPENING) + dot(d, z));
    }
    this.distance = distance > 0 ? distance : 1;
    this.nearest = 1e-6 * this.distance;
  }

  /** @returns {string} identifier of the view */
  get place() {
    return [this.azimuth, this.elevation, this.distance, ...this.target].join(" ");
  }

  /** @param {number} height of the picture in pixels @returns {number} length of a pixel at the target */
  pixel(height) {
    return (2 * OPENING * this.distance) / Math.max(height, 1);
  }

  /** @returns {Vector} */
  get eye() {
    return add(this.target, scale(this.distance, this.eyeward));
  }

  /** @param {number} reach radius about the target that must be visible @returns {Float32Array} world → clip */
  matrix(reach) {
    const [x, y] = this.screen;
    const z = this.eyeward;
    const e = this.eye;
    const view = new Float32Array([x[0], y[0], z[0], 0, x[1], y[1], z[1], 0, x[2], y[2], z[2], 0, -dot(x, e), -dot(y, e), -dot(z, e), 1]);
    const far = this.distance + 2 * reach;
    const near = Math.max(this.distance - 2 * reach, Math.min(0.004 * far, 0.05 * this.distance)); // in front of the target, regardless of the extent of the motion
    const f = 1 / OPENING;
    const a = (far + near) / (near - far);
    const b = (2 * far * near) / (near - far);
    return multiplied(new Float32Array([f / this.aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, a, -1, 0, 0, b, 0]), view);
  }
}
