// Scene: poses, factors and vectors at any time, interpolated linearly between the stored instants.
import { decoded, inflated, numbers } from "./arrays.js";
import { add, compose, conjugate, inverse, multiple, placed, product, scale, turnBy } from "./vectors.js";

/** @typedef {import("./arrays.js").Stored} Stored */
/** @typedef {import("./vectors.js").Pose} Pose */
/** @typedef {{values: Float64Array, width: number}} History rows of numbers, one per instant */
/** @typedef {{kind: string, on: string, point: number[], axis: number[], range?: number[], stops?: [number, number][]}} Axis */
/** @typedef {{name: string, kind: string, parent: number, child: number, axes: Axis[]}} Joint */
/** @typedef {{name: string, body: number, rest: number[], moved?: Stored, turned?: Stored}} FrameTable */
/** @typedef {{name: string, group: string, frame: number, largest: number, vector: Stored, turns?: boolean}} Arrow turns: a moment */
/** @typedef {{name: string, frame: number, closed: Stored, impacts: number[]}} Touch */
/** @typedef {{vertices: Stored, triangles: Stored, colour: number[] | null}} Solid colour: with or without opacity */
/** @typedef {{kind: string, from?: number[], to?: number[], at?: number[], radius?: number, plain?: boolean, pose?: number[], size?: number[]}} Shape */
/** @typedef {{name: string, kind: string, shapes: Shape[], solids: Solid[], part?: number, factors?: Stored, stress?: Stored, values?: Record<string, Stored>}} Body */
/** @typedef {{name: string, colour: string, triangles: Stored}} Region */
/** @typedef {{vertices: Stored, triangles: Stored, shapes?: Stored, stress?: Stored, regions?: Region[]}} Part */
/** @typedef {{name: string, shapes: Stored, frames: number[][], stress?: Stored, largest?: number}} Mode frames: (u, θ) of each per unit displacement */
/** @typedef {{key: string, title: string, scale: string, ticks: [number, string][], low: number, high: number, logarithmic: boolean}} StoredLegend */
/** @typedef {{name: string, body: number, at: number[], vertex: number, fields: string[]}} Mark */
/**
 * @typedef {object} Table
 * @property {string} format
 * @property {string} name
 * @property {number[]} time start, end, instants
 * @property {number[]} up
 * @property {number[]} view
 * @property {number} size
 * @property {number[]} low
 * @property {number[]} high
 * @property {number[][]} extremes
 * @property {number | null} ground
 * @property {Body[]} bodies
 * @property {Part[]} parts
 * @property {{displacement?: number, stress?: number}} fields
 * @property {Stored} position
 * @property {Stored} rotation
 * @property {FrameTable[]} frames
 * @property {Joint[]} joints
 * @property {Arrow[]} arrows
 * @property {Touch[]} touches
 * @property {number[][]} chain
 * @property {Solid[]} scenery
 * @property {import("./elements.js").Element[]} [elements]
 * @property {number[]} [gravity] m/s²
 * @property {string[]} notes
 * @property {Mode[]} [modes] of a single body: the reader selects one, and time is its phase
 * @property {StoredLegend[]} [legends] of time-independent fields
 * @property {Mark[]} [marks]
 * @property {{frame: number, colour: string, vertices: number[]}[]} [spiders] frames of a single body with the vertices coupled to them
 * @property {Partial<import("./viewer.js").Settings>} [settings] at first
 * @property {Record<string, Table>} [alone] scenes of single bodies, whose arrays are in the same data
 * @property {Table} [other] another run shown with this one, likewise
 * @property {string} [data]
 */

export class Scene {
  /** @param {Table} table @returns {Promise<Scene>} */
  static async read(table) {
    if (table.format !== "flexmbs-scene/1") throw new Error(`the format ${table.format} is unknown`);
    return new Scene(table, await inflated(table.data ?? ""));
  }

  /** @param {string} key @returns {Scene} scene of a single body */
  alone(key) {
    const table = this.table.alone?.[key];
    if (!table) throw new Error(`there is no scene ${key}`);
    return new Scene(table, this.buffer);
  }

  /** @param {Table} table @param {ArrayBuffer} buffer */
  constructor(table, buffer) {
    this.table = table;
    this.buffer = buffer;
    this.start = table.time[0];
    this.end = table.time[1];
    this.instants = table.time[2];
    this.position = this.history(table.position, 3 * table.bodies.length);
    this.rotation = this.history(table.rotation, 4 * table.bodies.length);
    this.factors = table.bodies.map((body) => (body.factors ? this.history(body.factors) : null));
    this.stress = table.bodies.map((body) => (body.stress ? this.history(body.stress) : null));
    this.moved = table.frames.map((frame) => (frame.moved ? this.history(frame.moved) : null));
    this.turned = table.frames.map((frame) => (frame.turned ? this.history(frame.turned) : null));
    this.vectors = table.arrows.map((arrow) => this.history(arrow.vector));
    this.closed = table.touches.map((touch) => numbers(buffer, touch.closed));
    this.mode = table.modes?.length ? 0 : -1; // that swings
    /** @type {Scene | null} */ this.other = table.other ? new Scene(table.other, buffer) : null;
    /** @type {Map<number, ArrayLike<number>>} */ this.columns = new Map();
  }

  /** @param {Stored} stored @param {number} [width] @returns {History} */
  history(stored, width) {
    const values = decoded(this.buffer, stored);
    return { values, width: width ?? stored.shape[1] };
  }

  /** @param {number} time @returns {{k: number, x: number}} previous instant and fraction of the interval to the next */
  place(time) {
    if (this.instants < 2) return { k: 0, x: 0 };
    const u = ((time - this.start) / (this.end - this.start)) * (this.instants - 1);
    const k = Math.min(Math.max(Math.floor(u + 1e-9), 0), this.instants - 2);
    return { k, x: Math.min(Math.max(u - k, 0), 1) };
  }

  /** @param {History} history @param {number} time @param {number} [from] @param {number} [count] @returns {number[]} */
  at(history, time, from = 0, count = history.width) {
    const constant = history.values.length <= history.width;
    const { k, x } = constant ? { k: 0, x: 0 } : this.place(time);
    const a = k * history.width + from;
    const b = this.instants > 1 && !constant ? a + history.width : a;
    const row = [];
    for (let i = 0; i < count; i++) row.push((1 - x) * history.values[a + i] + x * history.values[b + i]);
    return row;
  }

  /** @param {number} body @param {number} time @returns {Pose} */
  pose(body, time) {
    const p = this.at(this.rotation, time, 4 * body, 4);
    const n = Math.hypot(...p) || 1;
    return { x: this.at(this.position, time, 3 * body, 3), p: p.map((c) => c / n) };
  }

  /** @param {number} frame @param {number} time @param {number} exaggeration @returns {Pose} in its body */
  local(frame, time, exaggeration) {
    const { rest } = this.table.frames[frame];
    const x = rest.slice(0, 3);
    const p = rest.slice(3);
    const swing = this.table.modes?.[this.mode]?.frames[frame];
    if (swing) {
      const y = exaggeration * this.wave(time);
      return { x: add(x, scale(y, swing.slice(0, 3))), p: product(turnBy(scale(y, swing.slice(3))), p) };
    }
    const moved = this.moved[frame];
    const turn = this.turned[frame];
    if (!moved || !turn) return { x, p };
    const now = this.at(turn, time);
    const n = Math.hypot(...now) || 1;
    const change = product(now.map((c) => c / n), conjugate(p));
    return { x: add(x, scale(exaggeration, this.at(moved, time))), p: product(multiple(change, exaggeration), p) };
  }

  /** @param {number} time @returns {number} mode coordinate over its amplitude, sine of the phase; 0 without a mode */
  wave(time) {
    return this.mode < 0 ? 0 : Math.sin((2 * Math.PI * (time - this.start)) / (this.end - this.start));
  }

  /** @param {number} body @param {number} vertex @param {number} time @returns {number[]} elastic displacement in body axes */
  displacement(body, vertex, time) {
    const { part } = this.table.bodies[body], factors = this.factors[body];
    const stored = part === undefined ? undefined : this.table.parts[part].shapes;
    if (part === undefined || !factors || !stored) return [0, 0, 0];
    const columns = this.columns.get(part) ?? numbers(this.buffer, stored);
    this.columns.set(part, columns);
    const [, nodes] = stored.shape, y = this.at(factors, time), step = stored.step ?? 1;
    return [0, 1, 2].map((c) => step * y.reduce((u, f, k) => u + f * columns[3 * (k * nodes + vertex) + c], 0));
  }

  /** @param {Mark} mark @param {Pose[]} poses @param {number} time @param {number} exaggeration @returns {number[]} its world position */
  marked({ body, at, vertex }, poses, time, exaggeration) {
    return placed(poses[body], add(at, scale(exaggeration, this.displacement(body, vertex, time))));
  }

  /**
   * Poses of all bodies. With exaggerated deformation every body follows the exaggerated frame to which its joint attaches it, so that
   * the tree stays connected; joints that close loops open.
   * @param {number} time @param {number} exaggeration @returns {Pose[]}
   */
  poses(time, exaggeration) {
    const true_ = this.table.bodies.map((_, body) => this.pose(body, time));
    if (exaggeration === 1) return true_;
    const made = true_.slice();
    const ground = { x: [0, 0, 0], p: [1, 0, 0, 0] };
    for (const [body, outer, inner] of this.table.chain) {
      if (outer < 0 && inner < 0) continue;
      const parent = outer < 0 ? -1 : this.table.frames[outer].body;
      /** @param {number} frame @param {number} s */
      const place = (frame, s) => (frame < 0 ? ground : this.local(frame, time, s));
      const before = compose(parent < 0 ? ground : true_[parent], place(outer, 1));
      const after = compose(true_[body], place(inner, 1));
      const joint = compose(inverse(before), after);
      const start = compose(parent < 0 ? ground : made[parent], place(outer, exaggeration));
      made[body] = compose(compose(start, joint), inverse(place(inner, exaggeration)));
    }
    return made;
  }

  /** @param {number} frame @param {Pose[]} poses @param {number} time @param {number} exaggeration @returns {Pose} in the world */
  frame(frame, poses, time, exaggeration) {
    const { body } = this.table.frames[frame];
    const local = this.local(frame, time, exaggeration);
    return body < 0 ? local : compose(poses[body], local);
  }

  /** @param {number} touch @param {number} time @param {number} lasting s @returns {boolean} closed, or just hit */
  touching(touch, time, lasting) {
    const { k, x } = this.place(time);
    const closed = this.closed[touch];
    return Boolean(closed[x > 0.5 ? k + 1 : k]) || this.table.touches[touch].impacts.some((t) => t <= time && time < t + lasting);
  }

  /** @param {number} instant @returns {number} its time */
  timeOf(instant) {
    return this.instants < 2 ? this.start : this.start + ((this.end - this.start) * instant) / (this.instants - 1);
  }

  /**
   * Positions of the vertices of a surface in the world, computed as the shader does; for tests.
   * @param {number} body @param {number} time @param {number} exaggeration @returns {number[][]}
   */
  vertices(body, time, exaggeration) {
    const { part } = this.table.bodies[body];
    if (part === undefined) return [];
    const rest = decoded(this.buffer, this.table.parts[part].vertices);
    const pose = this.pose(body, time);
    return Array.from({ length: rest.length / 3 }, (_, i) => {
      const v = [0, 1, 2].map((c) => rest[3 * i + c]);
      return placed(pose, add(v, scale(exaggeration, this.displacement(body, i, time))));
    });
  }
}
