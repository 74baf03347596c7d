// Visible part of the scene at a time, according to the viewer's settings.
import { BODIES, SCALES, rgb, table } from "./colours.js";
import { legendOf } from "./legend.js";
import { decoded, numbers } from "./arrays.js";
import { displace, give, sizes, vonMises } from "./deform.js";
import { Elements } from "./elements.js";
import { ball, box, joined, meshed, rod } from "./geometry.js";
import { Marks } from "./marks.js";
import { across, add, cross, dot, length, matrix, placed, scale, sub, towards, turned, unit } from "./vectors.js";

/** @typedef {import("./vectors.js").Pose} Pose */
/** @typedef {import("./renderer.js").Drawable} Drawable */
/** @typedef {import("./renderer.js").Moved} Moved */
/** @typedef {import("./deform.js").Columns} Columns */
/** @typedef {{nodes: number, shapes: Columns | null, stress: Columns | null}} Shapes */
/** @typedef {{mesh: Drawable, edges: import("./renderer.js").Segments, shapes: Shapes | null, colour: number[], middle: number[]}} Item */
/** @typedef {{poses: Pose[], frames: Pose[], world: Pose}} Placed bodies, frames and the ground in the picture */
/** @typedef {Omit<Item, "colour"> & {colour?: number[]}} Surface */
/**
 * @typedef {object} Settings
 * @property {boolean} frames
 * @property {boolean} joints
 * @property {boolean} axes
 * @property {boolean} reactions
 * @property {boolean} forces
 * @property {boolean} contacts
 * @property {boolean} ghost
 * @property {boolean} grid
 * @property {boolean} marks
 * @property {boolean} loads applied forces
 * @property {boolean} triad axes of the world and gravity
 * @property {Set<string>} hidden groups of elements, and names of bodies
 * @property {number} trace frame, or −1
 * @property {number} follow body, or −1
 * @property {number} exaggeration
 * @property {string} field "displacement", "stress", the key of a legend, or none
 * @property {number} mode that is animated, or −1
 * @property {string} other display of another run: "clear" (transparent, in place), "beside" this one, or "hidden"
 */

/** @typedef {{scene: import("./scene.js").Scene, settings: Settings}} Leader */

/** @returns {Settings} */
export const defaults = () => ({
  frames: false, joints: true, axes: false, reactions: false, forces: false, loads: true, contacts: true, ghost: false, grid: true, marks: true, triad: true,
  trace: -1, follow: -1, exaggeration: 1, field: "", mode: -1, other: "clear", hidden: new Set(),
});

const WORLD = { x: [0, 0, 0], p: [1, 0, 0, 0] };
const AXES = ["#c23b3b", "#2e8b57", "#2f62b5"].map(rgb);
const GROUPS = /** @type {Record<string, number[]>} */ ({ reaction: rgb("#8a4fbf"), force: rgb("#c8452f"), load: rgb("#c8452f"), contact: rgb("#d39a00") });
const MARK = rgb("#5b6977");
const MARK_DARK = rgb("#a9b6c2");
const TRACE = rgb("#d07a36");
const FLASH = rgb("#e23b2e");
const CLEAR = 0.34; // opacity of another run shown in place
const BETWEEN = 0.12; // gap between two runs side by side, relative to the size
const CORNER = 46, ARM = 30; // pixels from the corner of the picture to the origin of the triad, length of its axes
const FLASHING = 0.05; // s of real time after an impact

export class Viewer {
  /** @param {import("./scene.js").Scene} scene @param {import("./renderer.js").Renderer} renderer @param {import("./camera.js").Camera} camera @param {Leader | null} [leader] viewer of the run shown together with this one */
  constructor(scene, renderer, camera, leader = null) {
    this.scene = scene;
    this.renderer = renderer;
    this.camera = camera;
    this.leader = leader;
    /** @type {Settings} */ this.settings = leader ? leader.settings : { ...defaults(), ...scene.table.settings };
    this.theme = { background: [1, 1, 1], grid: [0.8, 0.84, 0.88], edge: [0.1, 0.14, 0.18], dark: false };
    /** @type {number} */ this.size = (leader ? leader.scene : scene).table.size;
    if (this.far && !leader && this.settings.follow < 0) this.settings.follow = 0; // otherwise it would leave the picture immediately
    this.aside = leader ? besideOf(leader.scene.table, scene.table) : [0, 0, 0];
    /** @type {Map<object, Columns>} */ this.stored = new Map(); // keyed by their source
    /** @type {Map<number, Moved>} */ this.moved = new Map(); // of bodies
    const parts = scene.table.parts.map((part) => this.part(part));
    /** @type {Item[][]} */ this.items = scene.table.bodies.map((body, k) => this.body(body, rgb(BODIES[this.number(body.name, k) % BODIES.length]), parts));
    this.scenery = scene.table.scenery.map((each) => this.given(each, MARK));
    this.ball = renderer.mesh(joined([ball([0, 0, 0], 1, 8)]));
    this.shaft = renderer.mesh(joined([rod([0, 0, 0], [0, 0, 1], 1)]));
    this.head = renderer.mesh(joined([rod([0, 0, 0], [0, 0, 1], 1, 1e-3)]));
    this.joints = this.jointMarks();
    this.elements = new Elements(this);
    this.lit = 0; // number of the object that the reader points at
    /** @type {Record<string, number>} */ this.largest = {}; // largest arrow of each group
    for (const arrow of scene.table.arrows) this.largest[scaleOf(arrow)] = Math.max(this.largest[scaleOf(arrow)] ?? 0, arrow.largest);
    this.period = 1; // spacing of the grid lines
    this.plane = renderer.segments(this.grid());
    this.over = renderer.segments(new Float32Array(0));
    this.path = renderer.segments(new Float32Array(0));
    this.corner = renderer.segments(new Float32Array(0));
    this.legs = renderer.segments(new Float32Array(0));
    /** @type {{frame: number, exaggeration: number, points: number[][]}} */ this.traced = { frame: -1, exaggeration: 1, points: [] };
    /** @type {number[] | null} */ this.followed = null;
    this.marks = new Marks(this);
    this.time = scene.start;
    /** @type {Float64Array | null} */ this.rest = null; // positions of the nodes of a single body
    this.outlined = true; // true if bodies have edge lines
    /** @type {Viewer | null} */ this.other = scene.other ? new Viewer(scene.other, renderer, camera, this) : null;
    if (this.other) {
      const most = this.other.largest;
      for (const group of Object.keys({ ...this.largest, ...most })) this.largest[group] = Math.max(this.largest[group] ?? 0, most[group] ?? 0);
      this.other.largest = this.largest; // arrows of both runs share a scale
    }
  }

  /** @param {string} name @param {number} k of a body @returns {number} index of its colour: bodies with the same name in two runs share it */
  number(name, k) {
    const { bodies } = (this.leader ?? this).scene.table, same = bodies.findIndex((body) => body.name === name);
    return same < 0 ? bodies.length + k : same;
  }

  /** @returns {number} opacity of all of this run */
  get opacity() {
    return this.leader && this.settings.other === "clear" ? CLEAR : 1;
  }

  /** @returns {number[]} offset from its place */
  get shift() {
    return this.settings.other === "beside" ? this.aside : [0, 0, 0];
  }

  /** @param {Item} item @returns {number} */
  alpha({ colour }) {
    return (colour[3] ?? 1) * this.opacity;
  }

  /** @param {import("./scene.js").Part} part @returns {Surface[]} its surface, and its regions in their colours */
  part(part) {
    const { scene, renderer } = this;
    const x = decoded(scene.buffer, part.vertices);
    const nodes = part.vertices.shape[0];
    const shapes = { nodes, shapes: this.columns(part.shapes), stress: this.columns(part.stress) };
    /** @param {import("./arrays.js").Stored} triangles @param {number[]} [colour] */
    const piece = (triangles, colour) => {
      const mesh = meshed(x, numbers(scene.buffer, triangles));
      return { mesh: renderer.mesh(mesh), edges: this.edges(mesh, x), shapes, colour, middle: middleOf(x) };
    };
    return [piece(part.triangles), ...(part.regions ?? []).map((region) => piece(region.triangles, rgb(region.colour)))];
  }

  /** @param {import("./arrays.js").Stored | undefined} stored @returns {Columns | null} */
  columns(stored) {
    if (!stored || !stored.shape[0]) return null;
    const made = this.stored.get(stored) ?? { values: /** @type {Int16Array} */ (numbers(this.scene.buffer, stored)), step: stored.step ?? 1, count: stored.shape[0] };
    this.stored.set(stored, made);
    return made;
  }

  /** @param {number} body @param {Shapes} of its surface @param {number} time @returns {Omit<import("./renderer.js").Appearance, "model">} current state of its nodes, uploaded to the card */
  now(body, { nodes, shapes, stress }, time) {
    const { scene, renderer, settings } = this;
    const moved = this.moved.get(body) ?? renderer.moved(nodes), out = moved.numbers.subarray(0, 4 * nodes);
    this.moved.set(body, moved);
    const mode = scene.table.modes?.[scene.mode], factors = scene.factors[body];
    out.fill(0);
    if (mode) displace(out, /** @type {Columns} */ (this.columns(mode.shapes)), [1]);
    else if (shapes && factors) displace(out, shapes, scene.at(factors, time));
    const coloured = this.value(out, body, stress, time);
    renderer.take(moved);
    return { moved, coloured, exaggeration: settings.exaggeration * (mode ? scene.wave(time) : 1) };
  }

  /** @param {Float32Array} out displacement of each node, and its value by the field @param {number} body @param {Columns | null} stress @param {number} time @returns {boolean} true if it has a value */
  value(out, body, stress, time) {
    const { scene } = this, key = this.settings.field;
    const mode = scene.table.modes?.[scene.mode], factors = scene.stress[body];
    const given = (mode && key === "stress" && mode.stress) || scene.table.bodies[body].values?.[key];
    const largest = Math.max(scene.table.fields[/** @type {"stress"} */ (key)] ?? 1, 1e-30);
    if (key === "displacement" && (mode || scene.factors[body])) sizes(out, mode ? 1 : largest);
    else if (given) give(out, /** @type {Columns} */ (this.columns(given)));
    else if (key === "stress" && stress && factors) vonMises(out, stress, scene.at(factors, time), largest);
    else return false;
    return true;
  }

  /** @param {import("./geometry.js").Mesh} mesh @param {ArrayLike<number>} x positions of its nodes @returns {import("./renderer.js").Segments} */
  edges(mesh, x) {
    const rows = new Float32Array(6 * mesh.edges.length);
    for (let i = 0; i < mesh.edges.length; i += 2) {
      const [a, b] = [mesh.edges[i], mesh.edges[i + 1]];
      rows.set([x[3 * a], x[3 * a + 1], x[3 * a + 2], x[3 * b], x[3 * b + 1], x[3 * b + 2], a, b, 1, 1, 1, 1], 6 * i);
    }
    return this.renderer.segments(rows);
  }

  /**
   * @param {import("./scene.js").Body} body @param {number[]} colour @param {Surface[][]} parts
   * @returns {Item[]}
   */
  body(body, colour, parts) {
    const { renderer } = this;
    /** @type {Item[]} */ const found = [];
    if (body.part !== undefined) for (const piece of parts[body.part]) found.push({ ...piece, colour: piece.colour ?? colour });
    for (const each of body.solids) found.push(this.given(each, colour));
    if (body.shapes.length) {
      const mesh = joined(body.shapes.flatMap((shape) => solids(shape)));
      const own = meshedPositions(mesh);
      found.push({ mesh: renderer.mesh(mesh), edges: this.edges({ ...mesh, edges: own.edges }, own.x), shapes: null, colour, middle: middleOf(own.x) });
    }
    return found;
  }

  /** @param {import("./scene.js").Solid} given @param {number[]} colour @returns {Item} */
  given(given, colour) {
    const x = decoded(this.scene.buffer, given.vertices);
    const mesh = meshed(x, numbers(this.scene.buffer, given.triangles));
    return { mesh: this.renderer.mesh(mesh), edges: this.edges(mesh, x), shapes: null, colour: given.colour ?? colour, middle: middleOf(x) };
  }

  /** @returns {{name: string, kind: string}[]} everything in the picture that has a name: bodies, joints, elements, arrows, contacts; the ground */
  get objects() {
    const { bodies, joints, arrows, touches } = this.scene.table;
    const forces = arrows.map(({ name, group }) => ({ name, kind: group === "reaction" ? "reaction" : `${group === "contact" ? "contact " : ""}force` }));
    return [...bodies, ...joints, ...this.elements.all, ...forces, ...touches.map(({ name }) => ({ name, kind: "contact" })), { name: "ground", kind: "fixed" }];
  }

  /** @param {"bodies" | "joints" | "elements" | "arrows" | "touches" | "ground"} section @returns {number} number of its first object; 0 is none */
  first(section) {
    const { bodies, joints, arrows, touches } = this.scene.table, counts = { bodies, joints, elements: this.elements.all, arrows, touches, ground: [] };
    let n = 1;
    for (const [name, own] of Object.entries(counts)) {
      if (name === section) return n;
      n += own.length;
    }
    return n;
  }

  /** @param {number[]} colour @param {boolean} lit @returns {number[]} brighter if the reader points at it */
  tinted(colour, lit) {
    return lit ? colour.slice(0, 3).map((c) => 0.45 * c + 0.55) : colour.slice(0, 3);
  }

  /** @returns {{frame: number, mesh: Drawable, joint: number}[]} pins, balls, rails and sliders, each in the axes of a frame */
  jointMarks() {
    const m = 0.011 * this.size;
    /** @type {{frame: number, mesh: Drawable, joint: number}[]} */ const found = [];
    this.scene.table.joints.forEach((joint, number) => {
      for (const axis of joint.axes) {
        const frame = axis.on === "parent" ? joint.parent : joint.child;
        const u = unit(axis.axis);
        /** @param {number} s */
        const along = (s) => add(axis.point, scale(s, u));
        if (axis.kind === "ball") found.push({ frame, joint: number, mesh: this.solid([ball(axis.point, 1.7 * m, 6)]) });
        else if (axis.kind === "turn") found.push({ frame, joint: number, mesh: this.solid([rod(along(-2.4 * m), along(2.4 * m), 1.25 * m)]) });
        else if (axis.range) {
          const stops = axis.stops ?? [], ends = [...axis.range, ...stops.map(([, bound]) => bound)];
          const [low, high] = [Math.min(...ends), Math.max(...ends)];
          const one = joint.axes.filter((each) => each.kind === "slide").length <= 1; // draw a rail only for a single direction
          if (!one || high - low > 20 * this.size) continue;
          found.push({ frame, joint: number, mesh: this.solid([rod(along(low - 3 * m), along(high + 3 * m), 0.5 * m)]) });
          const x = across(u), y = cross(u, x);
          /** @param {number[]} v */
          const place = (v) => add(scale(v[0], x), add(scale(v[1], y), scale(v[2], u)));
          for (const [side, bound] of stops) { // end plate of the slider
            const at = along(bound - side * 2.75 * m);
            found.push({ frame, joint: number, mesh: this.solid([box([4 * m, 4 * m, 1.5 * m], (v) => add(place(v), at))]) });
          }
          if (axis.on === "parent") found.push({ frame: joint.child, joint: number, mesh: this.solid([box([2.6 * m, 2.6 * m, 4 * m], place)]) });
        }
      }
    });
    return found;
  }

  /** @param {import("./geometry.js").Solid[]} parts @returns {Drawable} */
  solid(parts) {
    return this.renderer.mesh(joined(parts));
  }

  /** @returns {Float32Array} lines of the ground, spaced by 1, 2 or 5 times a power of ten of a metre */
  grid() {
    const { up, ground, low, high } = this.scene.table;
    if (ground === null) return new Float32Array(0);
    const e = this.camera.east, n = this.camera.north;
    const middle = scale(0.5, add(low, high));
    const span = this.far ? 10 * this.size : Math.max(length(sub(high, low)), this.size);
    const decade = 10 ** Math.floor(Math.log10(span / 8));
    const step = decade * ([1, 2, 5, 10].find((f) => f * decade >= span / 10) ?? 10);
    const half = Math.ceil(((this.far ? 1.5 : 0.75) * span) / step);
    const [i0, j0] = [e, n].map((axis) => (this.far ? 0 : Math.round(dot(middle, axis) / step)));
    this.period = 5 * step;
    /** @type {number[]} */ const rows = [];
    /** @param {number} i @param {number} j */
    const point = (i, j) => add(scale(ground, up), add(scale(step * i, e), scale(step * j, n)));
    for (let k = 1 - half; k < half; k++) {
      const ends = Array.from({ length: 2 * half + 1 }, (_, l) => l - half).filter((l) => Math.abs(l) >= Math.abs(k)); // of pieces that fade equally
      for (let l = 1; l < ends.length; l++) {
        const [a, b] = [ends[l - 1], ends[l]];
        const faded = 1 - (Math.max(Math.abs(k), Math.abs(a + b) / 2) / half) ** 2;
        rows.push(...point(i0 + k, j0 + a), ...point(i0 + k, j0 + b), 0, 0, 1, 1, 1, faded * ((i0 + k) % 5 === 0 ? 1 : 0.55));
        rows.push(...point(i0 + a, j0 + k), ...point(i0 + b, j0 + k), 0, 0, 1, 1, 1, faded * ((j0 + k) % 5 === 0 ? 1 : 0.55));
      }
    }
    return new Float32Array(rows);
  }

  /** @param {number} time @returns {number[][]} points that must be visible: of the whole motion, or of this instant for a far motion */
  extent(time) {
    const { other } = this;
    if (!other || this.settings.other === "hidden") return this.points(time);
    return [...this.points(time), ...other.points(time).map((x) => add(x, other.shift))];
  }

  /** @returns {boolean} true for a far motion: the picture shows only an instant of it */
  get far() {
    const { low, high, size } = this.scene.table;
    return length(sub(high, low)) > 6 * size;
  }

  /** @returns {number[]} offset (whole periods) by which the grid follows the camera of a far motion */
  groundShift() {
    if (!this.far) return [0, 0, 0];
    const { period, camera: { east, north, target } } = this;
    const [x, y] = [east, north].map((axis) => period * Math.round(dot(target, axis) / period));
    return add(scale(x, east), scale(y, north));
  }

  /** @returns {{x: number[], name: string}[]} letters above two runs side by side */
  letters() {
    const { other } = this;
    if (!other || this.settings.other !== "beside") return [];
    return [this, other].map((each, k) => {
      const { low, high, up, extremes } = each.scene.table, middle = scale(0.5, add(low, high));
      const rise = Math.max(...extremes.map((x) => dot(sub(x, middle), up)));
      return { x: add(add(middle, each.shift), scale(rise, up)), name: "AB"[k] };
    });
  }

  /** @param {number} time @returns {number[][]} of this run */
  points(time) {
    const { extremes, size } = this.scene.table;
    if (!this.far) return extremes;
    const places = this.scene.poses(time, 1).map((pose) => pose.x);
    const a = [0, 1, 2].map((c) => Math.min(...places.map((x) => x[c])) - 0.4 * size);
    const b = [0, 1, 2].map((c) => Math.max(...places.map((x) => x[c])) + 0.4 * size);
    return Array.from({ length: 8 }, (_, i) => [0, 1, 2].map((c) => (i & (1 << c) ? b : a)[c]));
  }

  /** @param {string} field */
  setField(field) {
    this.settings.field = field;
    const legend = legendOf(this.scene, field);
    if (legend) this.renderer.setScale(table(SCALES[legend.scale]));
  }

  /** @param {number} time @param {number} [lasting] s, display time of an impact */
  draw(time, lasting = FLASHING) {
    const { renderer, settings, theme, other } = this;
    const placed = this.placed(time);
    this.follow(placed.poses);
    renderer.begin(this.camera, this.reach(), theme.background);
    if (settings.grid) renderer.drawLines(this.plane, { model: matrix({ x: this.groundShift(), p: WORLD.p }), colour: [...theme.grid, 1], width: 1.2, own: true, lift: 0 });
    if (this.during(time)) this.drawRun(placed, time, lasting);
    if (other && settings.other !== "hidden" && other.during(time)) {
      [other.theme, other.outlined] = [theme, this.outlined];
      other.drawRun(other.placed(time), time, lasting);
    }
    renderer.end();
    return placed.frames;
  }

  /** @param {number} time @param {[number, number]} at pixel of the canvas from the left and bottom @returns {{name: string, kind: string} | null} the object there */
  objectAt(time, at) {
    const { renderer } = this;
    const number = renderer.objectAt(this.camera, this.reach(), at, () => this.during(time) && this.drawRun(this.placed(time), time, FLASHING));
    this.lit = number;
    return this.objects[number - 1] ?? null;
  }

  /** @param {number} time @returns {boolean} true during the run: one of two runs may begin later or end earlier */
  during(time) {
    const { start, end } = this.scene, near = 1e-9 * (end - start);
    return (!this.leader && !this.other) || (time >= start - near && time <= end + near);
  }

  /** @param {number} time @returns {Placed} */
  placed(time) {
    const { scene, shift, settings: { exaggeration } } = this;
    const poses = scene.poses(time, exaggeration);
    const frames = scene.table.frames.map((_, k) => scene.frame(k, poses, time, exaggeration));
    /** @param {Pose} pose */
    const moved = ({ x, p }) => ({ x: add(x, shift), p });
    return { poses: poses.map(moved), frames: frames.map(moved), world: moved(WORLD) };
  }

  /** @param {Placed} placed @param {number} time @param {number} lasting */
  drawRun({ poses, frames, world }, time, lasting) {
    const { renderer, settings, theme, opacity, scene } = this;
    this.time = time;
    /** @param {Item[]} items */
    const solid = (items) => items.filter((item) => this.alpha(item) === 1);
    this.items.forEach((items, body) => this.drawBody(solid(items), body, poses[body], time));
    this.drawBody(solid(this.scenery), -1, world, time);
    const mark = theme.dark ? MARK_DARK : MARK, pin = this.first("joints");
    if (settings.joints && opacity === 1)
      for (const { frame, mesh, joint } of this.joints) renderer.draw(mesh, { model: matrix(frames[frame]), colour: [...this.tinted(mark, this.lit === pin + joint), 1], object: pin + joint, nearer: 40 });
    this.elements.draw(frames, this.first("elements"));
    this.drawArrows(frames, time);
    if (settings.contacts) this.drawTouches(frames, time, lasting);
    this.drawClear(poses, world, time);
    if (renderer.picking) return;
    if (settings.ghost && opacity === 1) this.items.forEach((items, body) => this.drawGhost(items, poses[body]));
    this.marks.ask(poses, time);
    this.drawTrace(time);
    if (settings.frames) this.drawSpiders(frames, time);
    if (opacity === 1) this.drawAxes(frames, world);
    if (settings.triad && !this.leader && scene.table.ground !== null) this.drawTriad();
  }

  /** @returns {{x: number[], end: number[], name: string, colour: number[]}[]} axes of the world and the direction of gravity in the lower left corner of the picture */
  triad() {
    const { camera, scene: { table } } = this, [right, up] = camera.screen;
    const pixel = camera.pixel(this.renderer.canvas.height) * this.renderer.ratio, wide = 0.5 * this.renderer.canvas.width / this.renderer.ratio, high = 0.5 * this.renderer.canvas.height / this.renderer.ratio;
    const x = add(camera.target, add(scale((CORNER - wide) * pixel, right), scale((CORNER - high) * pixel, up)));
    const axes = AXES.map((colour, c) => ({ x, end: add(x, [0, 1, 2].map((i) => (i === c ? ARM * pixel : 0))), name: "xyz"[c], colour }));
    const g = table.gravity ?? [0, 0, 0];
    return length(g) > 0 ? [...axes, { x, end: add(x, scale(0.95 * ARM * pixel, unit(g))), name: "g", colour: rgb("#c27c1c") }] : axes;
  }

  /** @returns {{x: number[], name: string}[]} names at the ends of the triad */
  axisNames() {
    return this.settings.triad && this.scene.table.ground !== null ? this.triad().map(({ x, end, name }) => ({ x: add(x, scale(1.22, sub(end, x))), name })) : [];
  }

  drawTriad() {
    const rows = this.triad().flatMap(({ x, end, name, colour }) => {
      const d = sub(end, x), side = scale(0.12, length(cross(d, this.camera.eyeward)) > 0 ? cross(d, this.camera.eyeward) : [0, 0, 0]), back = sub(end, scale(0.28, d));
      const head = name === "g" ? [...end, ...add(back, side), 0, 0, ...colour, 1, ...end, ...sub(back, side), 0, 0, ...colour, 1] : [];
      return [...x, ...end, 0, 0, ...colour, 1, ...head];
    });
    this.renderer.replace(this.corner, new Float32Array(rows));
    this.renderer.drawLines(this.corner, { model: matrix(WORLD), width: 2.2, own: true, through: true });
  }

  reach() {
    const { scene: { table }, other } = this;
    const corners = [table.low, table.high, ...(other ? [other.scene.table.low, other.scene.table.high].map((x) => add(x, other.shift)) : [])];
    return Math.max(...corners.map((x) => length(sub(x, this.camera.target))), this.size) + this.size;
  }

  /** @param {Pose[]} poses */
  follow(poses) {
    const { follow } = this.settings;
    if (follow < 0) {
      this.followed = null;
      return;
    }
    const now = poses[follow].x;
    if (this.followed) this.camera.target = add(this.camera.target, sub(now, this.followed));
    this.followed = now;
  }

  /** @param {Item[]} items @param {number} body @param {Pose} pose @param {number} time */
  drawBody(items, body, pose, time) {
    const { renderer, settings, theme } = this;
    const field = settings.field, model = matrix(pose);
    const shapes = items.find((item) => item.shapes)?.shapes, now = shapes ? this.now(body, shapes, time) : {};
    const object = body < 0 ? this.first("ground") : this.first("bodies") + body, lit = this.lit === object;
    if (body >= 0 && settings.hidden.has(this.scene.table.bodies[body].name)) return;
    for (const item of items) {
      const look = { ...(item.shapes ? now : {}), model, object, nearer: 22 + (body % 16) };
      const grey = theme.dark ? 0.45 : 0.72;
      const [r, g, b] = this.tinted(item.colour, lit), own = item.colour[3] ?? 1, a = this.alpha(item);
      // transparent objects over a field are drawn as lines, so that its colours match the legend
      if (!field || a === 1) renderer.draw(item.mesh, { ...look, colour: field ? [grey, grey, grey, 1] : [r, g, b, a], single: true });
      if (this.outlined) renderer.drawLines(item.edges, { ...look, colour: [...theme.edge, own * (field ? 0.6 : 0.4)], width: 1.3 });
    }
  }

  /** @param {Pose[]} poses @param {Pose} world @param {number} time draws transparent objects last, farthest first */
  drawClear(poses, world, time) {
    const seen = [...this.items, this.scenery].flatMap((items, k) => {
      const [body, pose] = k < poses.length ? [k, poses[k]] : [-1, world];
      return items.flatMap((item) => {
        if (this.alpha(item) === 1 || !this.alpha(item)) return [];
        return [{ item, body, pose, near: dot(this.camera.eyeward, placed(pose, item.middle)) }];
      });
    });
    for (const { item, body, pose } of seen.sort((a, b) => a.near - b.near)) this.drawBody([item], body, pose, time);
  }

  /** @param {Item[]} items @param {Pose} pose */
  drawGhost(items, pose) {
    const { renderer, theme } = this;
    for (const item of items)
      if (item.shapes) {
        if (!this.settings.field) renderer.draw(item.mesh, { model: matrix(pose), colour: [...theme.edge, 0.16] });
        renderer.drawLines(item.edges, { model: matrix(pose), colour: [...theme.edge, 0.5], width: 1 });
      }
  }

  /** @param {Pose[]} frames @param {number} time */
  drawArrows(frames, time) {
    const { scene, renderer, settings } = this;
    const shown = /** @type {Record<string, boolean>} */ ({ reaction: settings.reactions, force: settings.forces, contact: settings.forces, load: settings.loads });
    const first = this.first("arrows");
    scene.table.arrows.forEach((arrow, k) => {
      if (!shown[arrow.group]) return;
      const v = scene.at(scene.vectors[k], time);
      const size = (0.3 * this.size * length(v)) / this.largest[scaleOf(arrow)];
      if (size < 0.004 * this.size) return;
      const p = towards(v);
      const head = Math.min(0.045 * this.size, 0.6 * size);
      const object = first + k, colour = [...this.tinted(GROUPS[arrow.group], this.lit === object), this.opacity];
      const start = frames[arrow.frame].x;
      const r = 0.0045 * this.size;
      renderer.draw(this.shaft, { model: matrix({ x: start, p }, [r, r, size - head]), colour, object });
      const tip = add(start, scale(size - head, unit(v)));
      renderer.draw(this.head, { model: matrix({ x: tip, p }, [2.6 * r, 2.6 * r, head]), colour, object });
      if (arrow.turns) renderer.draw(this.head, { model: matrix({ x: sub(tip, scale(0.8 * head, unit(v))), p }, [2.6 * r, 2.6 * r, head]), colour, object }); // two heads: a moment
    });
  }

  /** @param {Pose[]} frames @param {number} time @param {number} lasting */
  drawTouches(frames, time, lasting) {
    const r = 0.022 * this.size, first = this.first("touches");
    this.scene.table.touches.forEach((touch, k) => {
      if (!this.scene.touching(k, time, lasting)) return;
      const model = matrix(frames[touch.frame], [r, r, r]);
      this.renderer.draw(this.ball, { model, colour: [...FLASH, this.opacity], through: true, object: first + k }); // it lies inside the contacting sphere
    });
  }

  /** @param {number} time */
  drawTrace(time) {
    const { scene, renderer, settings } = this;
    const trace = this.leader ? scene.table.frames.findIndex(({ name }) => name === this.leader?.scene.table.frames[settings.trace]?.name) : settings.trace;
    if (trace < 0 || scene.instants < 2) return;
    const s = settings.exaggeration;
    if (this.traced.frame !== trace || this.traced.exaggeration !== s) {
      const points = Array.from({ length: scene.instants }, (_, k) => {
        const t = scene.timeOf(k);
        return scene.frame(trace, scene.poses(t, s), t, s).x;
      });
      this.traced = { frame: trace, exaggeration: s, points };
    }
    const { points } = this.traced;
    const { k, x } = scene.place(time);
    /** @type {number[]} */ const rows = [];
    for (let i = 0; i + 1 < points.length; i++) {
      const middle = add(points[i], scale(x, sub(points[i + 1], points[i])));
      /** @param {number[]} a @param {number[]} b @param {number} alpha */
      const line = (a, b, alpha) => rows.push(...a, ...b, 0, 0, ...TRACE, alpha);
      if (i === k) line(points[i], middle, 1), line(middle, points[i + 1], 0.35);
      else line(points[i], points[i + 1], i < k ? 1 : 0.35);
    }
    renderer.replace(this.path, new Float32Array(rows));
    renderer.drawLines(this.path, { model: matrix({ x: this.shift, p: WORLD.p }), width: this.leader ? 1.6 : 3, own: true });
  }

  /** @param {Pose[]} frames @param {number} time draws lines from frames to the nodes coupled to them */
  drawSpiders(frames, time) {
    const { scene, renderer, settings } = this;
    const spiders = scene.table.spiders ?? [], moved = this.moved.get(0)?.numbers;
    if (!spiders.length || !moved) return;
    const rest = this.rest ??= decoded(scene.buffer, scene.table.parts[0].vertices);
    const s = settings.exaggeration * scene.wave(time);
    /** @type {number[]} */ const rows = [];
    for (const { frame, colour, vertices } of spiders)
      for (const v of vertices) {
        const x = [0, 1, 2].map((c) => rest[3 * v + c] + s * moved[4 * v + c]);
        rows.push(...frames[frame].x, ...x, 0, 0, ...rgb(colour), 0.8);
      }
    renderer.replace(this.legs, new Float32Array(rows));
    renderer.drawLines(this.legs, { model: matrix(WORLD), width: 1.2, own: true, through: true });
  }

  /** @param {Pose[]} frames @param {Pose} world */
  drawAxes(frames, world) {
    const { scene, settings } = this;
    /** @type {number[]} */ const rows = [];
    if (settings.frames)
      for (const frame of [world, ...frames])
        AXES.forEach((colour, c) => {
          const end = placed(frame, [0, 1, 2].map((i) => (i === c ? 0.07 * this.size : 0)));
          rows.push(...frame.x, ...end, 0, 0, ...colour, 1);
        });
    if (settings.axes)
      for (const joint of scene.table.joints)
        for (const axis of joint.axes) {
          if (axis.kind === "ball") continue;
          const frame = frames[axis.on === "parent" ? joint.parent : joint.child];
          const d = scale(0.1 * this.size, turned(frame.p, axis.axis));
          const x = placed(frame, axis.point);
          rows.push(...sub(x, d), ...add(x, d), 0, 0, ...(axis.kind === "turn" ? GROUPS.reaction : TRACE), 1);
        }
    this.renderer.replace(this.over, new Float32Array(rows));
    this.renderer.drawLines(this.over, { model: matrix(WORLD), width: 3, own: true, through: true });
  }
}

/** @param {import("./scene.js").Arrow} arrow @returns {string} arrows with the same key share a scale */
const scaleOf = ({ group, turns }) => `${group}${turns ? " moment" : ""}`;

/** @param {import("./scene.js").Shape} shape @returns {import("./geometry.js").Solid[]} */
function solids(shape) {
  if (shape.kind === "rod" && shape.from && shape.to && shape.radius)
    return shape.plain
      ? [rod(shape.from, shape.to, shape.radius, shape.radius, 40), ...spokes(shape.from, shape.to, shape.radius)]
      : [rod(shape.from, shape.to, shape.radius, shape.radius, 14), ball(shape.from, 1.15 * shape.radius, 6), ball(shape.to, 1.15 * shape.radius, 6)];
  if (shape.kind === "ball" && shape.at && shape.radius) return [ball(shape.at, shape.radius)];
  if (shape.kind === "box" && shape.pose && shape.size) {
    const pose = { x: shape.pose.slice(0, 3), p: shape.pose.slice(3) };
    return [box(shape.size, (v) => placed(pose, v))];
  }
  throw new Error(`unknown kind of shape ${shape.kind}`);
}

/** @param {number[]} a @param {number[]} b @param {number} radius @returns {import("./geometry.js").Solid[]} bars across a wheel, by which its rotation is seen */
function spokes(a, b, radius) {
  const z = unit(sub(b, a)), x = across(z), y = cross(z, x), middle = scale(0.5, add(a, b)), width = 1.12 * length(sub(b, a));
  return [[x, y], [y, x]].map(([u, v]) => box([1.5 * radius, 0.12 * radius, width], (p) => add(middle, add(scale(p[0], u), add(scale(p[1], v), scale(dot(cross(u, v), z) * p[2], z))))));
}

/** @param {import("./scene.js").Table} a @param {import("./scene.js").Table} b @returns {number[]} offset that places b next to a in the initial view */
function besideOf(a, b) {
  const right = unit(cross(a.up, a.view));
  const [own, others] = [a, b].map(({ extremes }) => extremes.map((x) => dot(x, right)));
  return scale(Math.max(...own) - Math.min(...others) + BETWEEN * a.size, right);
}

/** @param {ArrayLike<number>} x positions @returns {number[]} the middle of their bounds */
function middleOf(x) {
  const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
  for (let i = 0; i < x.length; i++) {
    low[i % 3] = Math.min(low[i % 3], x[i]);
    high[i % 3] = Math.max(high[i % 3], x[i]);
  }
  return scale(0.5, add(low, high));
}

/** @param {import("./geometry.js").Mesh} mesh nodes and edges by the corners of a mesh made of solids */
function meshedPositions(mesh) {
  /** @type {number[]} */ const x = [];
  mesh.node.forEach((node, corner) => [0, 1, 2].forEach((c) => (x[3 * node + c] = mesh.position[3 * corner + c])));
  return { x, edges: mesh.edges };
}
