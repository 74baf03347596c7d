// Elements between bodies: parts fixed to frames, and lines between frames: ropes, rods, springs, dampers, cylinders.
import { BODIES, rgb } from "./colours.js";
import { decoded, numbers } from "./arrays.js";
import { ball, joined, meshed, rod } from "./geometry.js";
import { add, length, matrix, scale, sub, towards, unit } from "./vectors.js";

/** @typedef {import("./vectors.js").Pose} Pose */
/** @typedef {import("./renderer.js").Drawable} Drawable */
/** @typedef {import("./viewer.js").Item} Item */
/** @typedef {{ends: [number, number], style: string, radius: number, length: number, range: [number, number]}} Line */
/** @typedef {{frame: number, own: boolean, vertices: import("./arrays.js").Stored, triangles: import("./arrays.js").Stored}} Part */
/** @typedef {{name: string, kind: string, group: string, parts: Part[], lines: Line[]}} Element */
/** @typedef {{mesh: Drawable, edges: import("./renderer.js").Segments, frame: number, colour: number[]}} Piece */

const STEEL = "#6b7885";
const COLOURS = /** @type {Record<string, string>} */ ({
  "Ropes": "#8a6d3b", "Rods": "#55697a", "Springs and dampers": "#2f8f7d", "Hydraulic cylinders": "#c08a2b", "Bushings": "#3d4650", "Motors and drives": "#7568ad",
  "Friction": "#a34a3f", "Rotors": "#4f7d99", "Belts": "#4a4a4a", "Couplings": "#8a4fbf", "Ground pivots": "#8792a0", "Planes and surfaces": "#a7b3be",
});
const LINKS = 14; // pieces of a slack rope
const PITCH = 2.2; // of a spring at its longest, relative to its radius

/** @param {string} group @returns {number[]} */
export const colourOf = (group) => rgb(COLOURS[group] ?? STEEL);

/** @param {number} turns @returns {import("./geometry.js").Solid} helical spring about z of height and radius 1 */
function coil(turns) {
  const n = 14 * turns, sides = 6, wire = 0.13, points = [], faces = [];
  for (let i = 0; i <= n; i++) {
    const a = (2 * Math.PI * turns * i) / n, r = Math.min(1, 8 * (i / n), 8 * (1 - i / n)); // the ends come to the axis
    for (let k = 0; k < sides; k++) {
      const b = (2 * Math.PI * k) / sides, q = r + wire * Math.cos(b);
      points.push([q * Math.cos(a), q * Math.sin(a), i / n + (0.6 * wire * Math.sin(b)) / turns]);
    }
  }
  for (let i = 0; i < n; i++)
    for (let k = 0; k < sides; k++) {
      const j = (k + 1) % sides;
      faces.push([i * sides + k, (i + 1) * sides + k, (i + 1) * sides + j, i * sides + j]);
    }
  return { points, faces };
}

/** @param {number[]} a @param {number[]} b ends @param {number} whole length of the rope @param {number[]} up @returns {number[][]} points of a rope that hangs between its ends */
export function hanging(a, b, whole, up) {
  const away = length(sub(b, a));
  if (whole <= away * (1 + 1e-6)) return [a, b];
  const sag = Math.min(Math.sqrt(0.375 * away * (whole - away)) || 0.5 * whole, 0.5 * whole); // parabola with this length: l + 8 s²/(3 l)
  const depth = Math.max(sag, 0.5 * (whole - away) * (away < 0.5 * whole ? 1 : 0));
  return Array.from({ length: LINKS + 1 }, (_, i) => {
    const u = i / LINKS;
    return add(add(scale(1 - u, a), scale(u, b)), scale(-4 * depth * u * (1 - u), up));
  });
}

export class Elements {
  /** @param {import("./viewer.js").Viewer} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    const { renderer } = viewer;
    /** @type {Element[]} */ this.all = viewer.scene.table.elements ?? [];
    this.rod = renderer.mesh(joined([rod([0, 0, 0], [0, 0, 1], 1)]));
    this.ball = renderer.mesh(joined([ball([0, 0, 0], 1, 8)]));
    /** @type {Map<number, Drawable>} */ this.coils = new Map(); // by their turns
    /** @type {Piece[][]} */ this.pieces = this.all.map((element) => element.parts.map((part) => this.piece(element, part)));
  }

  /** @returns {string[]} groups of the elements, in the order of the list */
  get groups() {
    return [...new Set(this.all.map(({ group }) => group))];
  }

  /** @param {number} turns @returns {Drawable} */
  coil(turns) {
    const made = this.coils.get(turns) ?? this.viewer.renderer.mesh(joined([coil(turns)]));
    this.coils.set(turns, made);
    return made;
  }

  /** @param {Element} element @param {Part} part @returns {Piece} */
  piece({ group }, part) {
    const { viewer } = this, { table, buffer } = viewer.scene;
    const x = decoded(buffer, part.vertices), mesh = meshed(x, numbers(buffer, part.triangles));
    const { body } = table.frames[part.frame];
    const own = part.own && body >= 0 ? rgb(BODIES[viewer.number(table.bodies[body].name, body) % BODIES.length]) : colourOf(group);
    return { mesh: viewer.renderer.mesh(mesh), edges: viewer.edges(mesh, x), frame: part.frame, colour: own };
  }

  /** @param {Pose[]} frames @param {number} first number of the first element among the objects that can be pointed at */
  draw(frames, first) {
    const { viewer } = this, { renderer, opacity, theme, settings } = viewer, grey = theme.dark ? 0.45 : 0.72;
    /** @param {number[]} colour @param {boolean} lit grey beside the colours of a field */
    const tinted = (colour, lit) => [...viewer.tinted(settings.field ? [grey, grey, grey] : colour, lit), opacity];
    this.all.forEach((element, k) => {
      if (settings.hidden.has(`/${element.group}`)) return;
      const object = first + k, lit = viewer.lit === object;
      for (const { mesh, edges, frame, colour } of this.pieces[k]) {
        const model = matrix(frames[frame]);
        renderer.draw(mesh, { model, colour: tinted(colour, lit), object, nearer: 2 + (k % 20), single: true });
        if (viewer.outlined) renderer.drawLines(edges, { model, colour: [...theme.edge, 0.4 * opacity], width: 1.1 });
      }
      for (const line of element.lines) this.line(line, frames, { colour: tinted(colourOf(element.group), lit), object });
    });
  }

  /** @param {Line} line @param {Pose[]} frames @param {{colour: number[], object: number}} look */
  line(line, frames, look) {
    const { renderer, scene } = this.viewer;
    const [a, b] = line.ends.map((frame) => frames[frame].x), d = sub(b, a), away = length(d), r = line.radius;
    if (!(away > 1e-9 * this.viewer.size) && line.style !== "rope") return;
    const p = towards(unit(d));
    /** @param {number[]} from @param {number[]} to @param {number} radius */
    const bar = (from, to, radius) => renderer.draw(this.rod, { ...look, model: matrix({ x: from, p: towards(sub(to, from)) }, [radius, radius, length(sub(to, from))]) });
    /** @param {number[]} x @param {number} radius */
    const knob = (x, radius) => renderer.draw(this.ball, { ...look, model: matrix({ x, p }, [radius, radius, radius]) });
    /** @param {number} s */
    const at = (s) => add(a, scale(s, unit(d)));
    if (line.style === "rope") {
      const points = hanging(a, b, line.length, scene.table.up);
      for (let i = 1; i < points.length; i++) bar(points[i - 1], points[i], r);
      for (const x of [a, b]) knob(x, 2 * r);
    } else if (line.style === "spring") {
      renderer.draw(this.coil(Math.min(Math.max(Math.round(line.range[1] / (PITCH * r)), 4), 24)), { ...look, model: matrix({ x: a, p }, [r, r, away]) });
      for (const x of [a, b]) knob(x, 0.55 * r);
    } else if (line.style === "damper" || line.style === "cylinder") { // barrel on a, rod on b, as long as the stroke allows
      const [shortest, longest] = line.range;
      const barrel = Math.min(Math.max(0.55 * longest, longest - 0.9 * shortest), 0.92 * shortest || 0.55 * away) || 0.55 * away;
      bar(a, at(Math.min(barrel, away)), r);
      bar(at(Math.min(0.5 * barrel, away)), b, 0.45 * r);
      for (const x of [a, b]) knob(x, line.style === "cylinder" ? 1.25 * r : 0.8 * r);
    } else if (line.style === "link") {
      const dashes = 12;
      for (let i = 0; i < dashes; i++) bar(at((i / dashes) * away), at(((i + 0.5) / dashes) * away), r);
    } else {
      bar(a, b, r);
      for (const x of [a, b]) knob(x, 1.8 * r);
    }
  }
}
