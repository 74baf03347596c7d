// Numbered points of surfaces. Occlusion queries find the visible ones; their results arrive with a later picture.
import { add, matrix, scale } from "./vectors.js";

/** @typedef {import("./vectors.js").Pose} Pose */

const SMALL = 0.0015; // radius of the queried sphere relative to the size of the scene
const PIXELS = 1.5; // pixels, least radius of the queried sphere

export class Marks {
  /** @param {import("./viewer.js").Viewer} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    this.all = viewer.scene.table.marks ?? [];
    /** @type {{query: WebGLQuery, mark: number}[]} */ this.asked = [];
    /** @type {boolean[]} */ this.seen = this.all.map(() => false);
  }

  /** @param {import("./scene.js").Mark} mark @returns {boolean} true if it belongs to the current field */
  wanted(mark) {
    const { marks, field } = this.viewer.settings;
    return marks && mark.fields.includes(field);
  }

  /** @param {import("./scene.js").Mark} mark @param {Pose[]} poses @param {number} time @returns {number[]} */
  place(mark, poses, time) {
    return this.viewer.scene.marked(mark, poses, time, this.viewer.settings.exaggeration);
  }

  /** @param {Pose[]} poses @param {number} time */
  ask(poses, time) {
    if (this.asked.length) return; // results of the last queries are pending
    const { renderer, camera, size, ball } = this.viewer;
    const r = Math.max(SMALL * size, PIXELS * camera.pixel(renderer.canvas.height));
    this.all.forEach((mark, k) => {
      if (!this.wanted(mark)) return;
      const x = add(this.place(mark, poses, time), scale(2 * r, camera.eyeward));
      const look = { model: matrix({ x, p: [1, 0, 0, 0] }, [r, r, r]), colour: [1, 1, 1, 0.5] };
      this.asked.push({ query: renderer.ask(() => renderer.draw(ball, look)), mark: k });
    });
  }

  /** @returns {boolean} true if results changed the visible marks */
  hear() {
    let changed = false;
    this.asked = this.asked.filter(({ query, mark }) => {
      const passed = this.viewer.renderer.answer(query);
      if (passed === null) return true;
      changed ||= passed !== this.seen[mark];
      this.seen[mark] = passed;
      return false;
    });
    return changed;
  }

  /** @returns {{x: number[], name: string}[]} visible marks with their positions */
  shown() {
    const { scene, settings, time } = this.viewer;
    const found = this.all.filter((mark, k) => this.wanted(mark) && this.seen[k]);
    if (!found.length) return [];
    const poses = scene.poses(time, settings.exaggeration);
    return found.map((mark) => ({ name: mark.name, x: this.place(mark, poses, time) }));
  }
}
