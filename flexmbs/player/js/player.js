// Player: scene, camera, clock and controls on one canvas.
import { Camera } from "./camera.js";
import { Clock } from "./clock.js";
import { SCALES, computed } from "./colours.js";
import { connect } from "./controls.js";
import { CALM, DUE, LEVELS, Quality } from "./quality.js";
import { apart } from "./labels.js";
import { legendOf } from "./legend.js";
import { point } from "./pointing.js";
import { Film, filmed } from "./record.js";
import { Renderer } from "./renderer.js";
import { numberText } from "./ticks.js";
import { Viewer } from "./viewer.js";

/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./viewer.js").Settings} Settings */

const MOST_NOTES = 4;
const ALIKE = 1.5; // ratio of the sizes of scenes that share a view
const LETTER = 12; // pixels, size of a letter of the triad
const READ = 100; // ms between updates of displayed numbers, so that they can be read
const AMPLITUDE = 0.1; // of a mode, relative to the size of the part
const KEYS = "Space plays, arrow keys step, Home and End jump to the ends, F fits, 1 to 4 select views, W A S D turn the view, or move it with shift, plus and minus zoom.";

export class Player {
  /** @param {HTMLElement} root @param {Scene} scene @param {EventTarget} events target of time and seek events; the document for the motion @param {Player} [before] player whose view and choices this one takes over */
  constructor(root, scene, events, before) {
    this.root = root;
    this.events = events;
    this.scene = scene;
    this.canvas = /** @type {HTMLCanvasElement} */ (root.querySelector("canvas"));
    this.camera = new Camera(scene.table.up);
    const all = scene.other ? [scene, scene.other] : [scene];
    const span = [Math.min(...all.map(({ start }) => start)), Math.max(...all.map(({ end }) => end))];
    this.clock = new Clock(span[0], span[1], events, Math.max(...all.map(({ instants }) => instants)));
    this.viewer = new Viewer(scene, new Renderer(this.canvas), this.camera);
    this.camera.lookFrom(scene.table.view);
    this.ending = new AbortController(); // of what it listens to outside of its root
    if (before) this.resume(before);
    this.dirty = true;
    this.near = true; // visible, or about to be
    this.awake = false; // true if an animation frame is requested
    this.quality = new Quality();
    this.room = [1, 1]; // size of the canvas on the page
    this.level = LEVELS[0];
    this.fitted = before ? this.viewOf(before) : ""; // view that shows everything, until the reader selects another
    this.frames = 0; // pictures drawn
    this.drawn = -Infinity; // ms, time of the last picture
    this.told = -Infinity; // ms, last update of the displayed time
    this.waiting = false; // true while waiting for the graphics card
    /** @type {(() => void) | null} */ this.atEnd = null;
    /** @type {Film | null} */ this.film = null;
    this.dress();
    root.classList.add("live"); // from now on the canvas has its size
    this.resize();
    if (!this.fitted) this.fit();
    this.begin();
    connect(root, this);
    point(root, this);
    this.caption();
    this.listen();
  }

  listen() {
    const { signal } = this.ending, sizes = new ResizeObserver(() => this.resize());
    sizes.observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.dress(), { signal });
    const sight = new IntersectionObserver((entries) => {
      this.near = entries.some((entry) => entry.isIntersecting);
      if (this.near && this.dirty) this.wake();
    }, { rootMargin: "100px" });
    sight.observe(this.root);
    this.events.addEventListener("flexmbs:time", () => {
      this.showTime();
      this.showPlaying();
    }, { signal });
    this.events.addEventListener("flexmbs:seek", (event) => this.clock.seek(/** @type {CustomEvent} */ (event).detail.time), { signal });
    signal.addEventListener("abort", () => {
      sizes.disconnect();
      sight.disconnect();
    });
    this.canvas.addEventListener("webglcontextlost", () => this.root.classList.remove("live"));
    this.showTime();
  }

  /** Takes over the view and the choices of another player. @param {Player} before */
  resume({ camera, viewer }) {
    const { azimuth, elevation, distance, nearest, target } = camera;
    Object.assign(this.camera, { azimuth, elevation, distance, nearest, target });
    const kept = /** @type {const} */ (["frames", "joints", "axes", "reactions", "forces", "loads", "contacts", "ghost", "grid", "marks", "triad", "hidden"]);
    Object.assign(this.viewer.settings, Object.fromEntries(kept.map((key) => [key, viewer.settings[key]])));
  }

  /** @param {Player} before @returns {string} the view taken over from a player; "" if it does not suit this scene */
  viewOf(before) {
    const ratio = this.scene.table.size / before.scene.table.size;
    if (!(ratio > 1 / ALIKE && ratio < ALIKE)) return "";
    return before.fitted === before.camera.place ? this.camera.place : "as before";
  }

  /** Ends the player, whose root is removed from the page. */
  end() {
    this.clock.playing = false;
    this.ending.abort();
    this.viewer.renderer.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }

  /** Draws the first picture: settings of the scene, a mode at its maximum. */
  begin() {
    const { scene, viewer } = this;
    if (scene.table.modes?.length) {
      scene.mode = viewer.settings.mode;
      this.clock.time = scene.start + 0.25 * (scene.end - scene.start);
      this.swing(AMPLITUDE);
    }
    this.colour(viewer.settings.field);
  }

  /** @param {number} mode or −1 for none @param {string} field */
  choose(mode, field) {
    this.scene.mode = mode;
    this.colour(mode < 0 ? "" : field);
    for (const [name, value] of [["mode", String(mode)], ["field", this.viewer.settings.field]]) {
      const list = /** @type {HTMLSelectElement | null} */ (this.root.querySelector(`[data-player="${name}"]`));
      if (list) list.value = value;
    }
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.clock.play(mode >= 0 && !still, performance.now());
    this.caption();
    this.invalidate();
  }

  /** @param {number} u amplitude relative to the size of the part */
  swing(u) {
    this.viewer.settings.exaggeration = u * this.scene.table.size;
    const text = this.root.querySelector('[data-player="swing"]');
    if (text) text.textContent = `${Math.round(100 * u)} %`;
    this.invalidate();
  }

  /** @param {number} now ms */
  step(now) {
    this.awake = false;
    if (this.ending.signal.aborted) return;
    const was = this.clock.time;
    const moved = this.clock.tick(now);
    if (this.atEnd && (!this.clock.playing || this.clock.time < was)) {
      this.atEnd();
      this.atEnd = null;
    }
    if (this.viewer.marks.hear()) this.dirty = true;
    if (this.viewer.marks.asked.length) this.wake();
    if (!this.near) this.dirty ||= moved;
    else if (moved || this.dirty) {
      const moving = this.clock.playing || now - this.drawn < CALM;
      this.draw(moving ? this.quality.next(now) : LEVELS[0]);
      this.drawn = now;
      if (moving) this.watch();
    } else if (this.level !== LEVELS[0] && now - this.drawn >= CALM) this.draw();
    if (this.clock.playing || (this.near && this.level !== LEVELS[0])) this.wake();
  }

  /** @param {import("./quality.js").Level} [level] */
  draw(level = LEVELS[0]) {
    this.level = level;
    this.dirty = false;
    this.size();
    const frames = this.viewer.draw(this.clock.time, 0.15 * this.clock.speed);
    const own = this.viewer.settings.frames ? frames.map(({ x }, k) => ({ x, name: this.scene.table.frames[k].name })) : [];
    const named = this.apart(this.placed("labels", [...own, ...this.viewer.letters()]));
    const corner = this.spread(this.placed("triad", this.viewer.axisNames()));
    const numbered = this.placed("marks", this.viewer.marks.shown());
    this.film?.add([...named, ...corner, ...numbered]);
    this.label("labels", named);
    this.label("triad", corner);
    this.label("marks", numbered);
    if (this.viewer.marks.asked.length) this.wake();
    this.frames += 1;
  }

  /** Checks after a while if the graphics card has finished the last picture. */
  watch() {
    if (this.waiting) return;
    this.waiting = true;
    const done = this.viewer.renderer.fence(), asked = performance.now();
    setTimeout(() => {
      this.waiting = false;
      this.quality.judge(!done() || performance.now() - asked > 2 * DUE); // some browsers block here until the card has finished
    }, DUE);
  }

  invalidate() {
    this.dirty = true;
    this.wake();
  }

  wake() {
    if (this.awake || this.ending.signal.aborted) return;
    this.awake = true;
    requestAnimationFrame((now) => this.step(now));
  }

  resize() {
    this.room = [this.canvas.clientWidth, this.canvas.clientHeight];
    if (!this.size()) return;
    if (this.fitted === this.camera.place) this.fit();
    this.draw();
  }

  /** @returns {boolean} true if the size of the canvas changed */
  size() {
    const ratio = this.level.scale * Math.min(window.devicePixelRatio || 1, 2);
    const [width, height] = this.room.map((n) => Math.max(Math.round(n * ratio), 1));
    this.viewer.renderer.ratio = ratio;
    this.viewer.renderer.fine = this.level.fine;
    this.viewer.outlined = this.level.outlined;
    if (this.canvas.width === width && this.canvas.height === height) return false;
    [this.canvas.width, this.canvas.height] = [width, height];
    return true;
  }

  /** Colours of the page. */
  dress() {
    const style = getComputedStyle(this.root);
    /** @param {string} name */
    const colour = (name) => computed(style.getPropertyValue(name).trim());
    const background = colour("--stage");
    this.viewer.theme = { background, grid: colour("--stage-grid"), edge: colour("--stage-edge"), dark: background[0] < 0.5 };
    this.invalidate();
  }

  toggle() {
    this.clock.play(!this.clock.playing, performance.now());
    this.invalidate();
  }

  /** @template {keyof Settings} K @param {K} key @param {Settings[K]} value */
  set(key, value) {
    this.viewer.settings[key] = value;
    this.invalidate();
  }

  /** @param {number} u 0 … 1: logarithmic scale from 1 to the factor that makes the largest displacement a fifth of the size */
  exaggerate(u) {
    const most = Math.max((0.2 * this.scene.table.size) / Math.max(this.scene.table.fields.displacement ?? 0, 1e-300), 1);
    const s = most ** u;
    const digits = 10 ** Math.max(Math.floor(Math.log10(s)) - 1, 0);
    this.viewer.settings.exaggeration = u === 0 ? 1 : Math.max(Math.round(s / digits) * digits, 1);
    const text = this.root.querySelector('[data-player="factor"]');
    if (text) text.textContent = `${this.viewer.settings.exaggeration}×`;
    this.invalidate();
  }

  /** @param {string} field */
  colour(field) {
    this.viewer.setField(field);
    const box = /** @type {HTMLElement} */ (this.root.querySelector('[data-player="legend"]'));
    const legend = legendOf(this.scene, field);
    box.hidden = !legend;
    if (legend) {
      const bar = /** @type {HTMLElement} */ (box.querySelector(".bar"));
      bar.style.setProperty("--colours", SCALES[legend.scale].join(", "));
      const texts = legend.ticks.map(([place, text]) => {
        const tick = document.createElement("span");
        tick.className = "tick";
        tick.textContent = text;
        tick.style.setProperty("--at", `${100 * place}%`);
        return tick;
      });
      box.querySelector(".ticks")?.replaceChildren(...texts);
      const title = box.querySelector(".title");
      if (title) title.textContent = legend.title;
    }
    this.invalidate();
  }

  fit() {
    this.camera.aspect = this.canvas.width / Math.max(this.canvas.height, 1);
    this.camera.fit(this.viewer.extent(this.clock.time));
    this.fitted = this.camera.place;
    this.invalidate();
  }

  /** @param {string} other position of the other run */
  place(other) {
    this.set("other", other);
    this.fit();
  }

  /** @param {string} view */
  look(view) {
    this.camera.named(view);
    this.fit();
  }

  /** @param {number} right @param {number} up rad */
  turn(right, up) {
    this.camera.turn(right, up);
    this.invalidate();
  }

  /** @param {number} right @param {number} up */
  pan(right, up) {
    this.camera.pan(right, up);
    this.invalidate();
  }

  /** @param {number} factor */
  zoom(factor) {
    this.camera.zoom(factor);
    this.invalidate();
  }

  record() {
    const button = /** @type {HTMLButtonElement} */ (this.root.querySelector('[data-player="record"]'));
    button.disabled = this.quality.sharp = true;
    const { clock } = this, film = new Film(this.canvas, this.canvas.width / this.canvas.clientWidth);
    this.film = film;
    /** @param {() => void} done */
    const play = (done) => {
      clock.seek(clock.start);
      clock.play(true, performance.now());
      this.atEnd = () => {
        clock.play(false, performance.now());
        done();
      };
    };
    return filmed(film.canvas, play, this.scene.table.name)
      .catch((error) => this.say(String(error.message)))
      .finally(() => {
        this.film = null;
        button.disabled = this.quality.sharp = false;
      });
  }

  /** @param {string} text */
  say(text) {
    const note = this.root.querySelector('[data-player="note"]');
    if (note) note.textContent = text;
  }

  /** Updates the slider and, at a readable rate, the displayed time. */
  showTime() {
    const { clock, scene } = this;
    this.invalidate();
    const scrub = /** @type {HTMLInputElement} */ (this.root.querySelector('[data-player="scrub"]'));
    scrub.value = String(clock.instant);
    const now = performance.now();
    if (clock.playing && now - this.told < READ) return;
    this.told = now;
    const text = scene.table.modes?.length ? `${Math.round((360 * clock.instant) / (clock.instants - 1))}°` : `${Number(clock.time.toPrecision(4))} s`;
    scrub.setAttribute("aria-valuetext", text);
    const shown = this.root.querySelector('[data-player="time"]');
    if (shown) shown.textContent = text;
  }

  showPlaying() {
    const { playing } = this.clock;
    const play = /** @type {HTMLElement} */ (this.root.querySelector('[data-player="play"]'));
    if (play.classList.toggle("playing", playing) !== (play.getAttribute("aria-label") === "Pause"))
      play.setAttribute("aria-label", playing ? "Pause" : "Play");
  }

  /** Sets the description for screen readers, and the notes. */
  caption() {
    const { table } = this.scene;
    this.canvas.setAttribute("aria-label", `${table.name} in three dimensions: ${table.ground === null ? this.body() : this.motion()} ${KEYS}`);
    const more = table.notes.length - MOST_NOTES;
    this.say([...table.notes.slice(0, MOST_NOTES), ...(more > 0 ? [`and ${more} more notes`] : [])].join("; "));
  }

  /** @returns {string} */
  motion() {
    const { table } = this.scene, { start, end, instants } = this.clock;
    const time = instants > 1 ? ` Motion from ${numberText(start, 3)} to ${numberText(end, 3)} s, ${instants} instants.` : "";
    const other = table.other ? ` With another run, translucent: ${table.other.bodies.length} bodies.` : "";
    return `${table.bodies.length} bodies, ${table.joints.length} joints.${time}${other}`;
  }

  /** @returns {string} */
  body() {
    const { scene } = this, mode = scene.table.modes?.[scene.mode], legend = legendOf(scene, this.viewer.settings.field);
    const shown = mode ? `${mode.name}, animated.` : "The body at rest.";
    return `${shown}${legend ? ` Colours: ${legend.title}.` : ""}`;
  }

  /** @param {number} right @param {number} up fractions of the picture from its lower left corner @returns {{name: string, kind: string} | null} the object there, which is marked */
  objectAt(right, up) {
    const { width, height } = this.canvas, before = this.viewer.lit;
    const found = this.viewer.objectAt(this.clock.time, [Math.min(Math.floor(right * width), width - 1), Math.min(Math.floor(up * height), height - 1)]);
    if (this.viewer.lit !== before) this.invalidate();
    return found;
  }

  /** @param {number} object that is marked; 0 for none */
  light(object) {
    if (this.viewer.lit === object) return;
    this.viewer.lit = object;
    this.invalidate();
  }

  /** @param {import("./record.js").Label[]} points @returns {import("./record.js").Label[]} names beside their points that do not cover each other */
  apart(points) {
    const [width, height] = this.room;
    const boxes = apart(points.map(({ name, left, top }) => ({ x: left * width, y: top * height, width: textWidth(name) + 6, height: 17 })), width, height);
    return points.flatMap((point, k) => {
      const box = boxes[k];
      return box ? [{ ...point, left: box.left / width, top: box.top / height }] : [];
    });
  }

  /** @param {import("./record.js").Label[]} letters @returns {import("./record.js").Label[]} letters of the triad, moved to the right where they would cover each other */
  spread(letters) {
    const [width, height] = this.room, found = /** @type {typeof letters} */ ([]);
    for (const letter of letters) {
      const taken = found.some((other) => Math.hypot((other.left - letter.left) * width, (other.top - letter.top) * height) < LETTER);
      found.push(taken ? { ...letter, left: letter.left + LETTER / width } : letter);
    }
    return found;
  }

  /** Positions of names in the picture. @param {"labels" | "triad" | "marks"} kind @param {{x: number[], name: string}[]} wanted */
  placed(kind, wanted) {
    const m = this.camera.matrix(this.viewer.reach());
    return wanted.flatMap(({ x, name }) => {
      const [u, v, , w] = [0, 1, 2, 3].map((r) => m[r] * x[0] + m[4 + r] * x[1] + m[8 + r] * x[2] + m[12 + r]);
      return w > 0 ? [{ kind, name, left: 0.5 * (1 + u / w), top: 0.5 * (1 - v / w) }] : [];
    });
  }

  /** Draws names at their positions. @param {"labels" | "triad" | "marks"} kind @param {import("./record.js").Label[]} placed */
  label(kind, placed) {
    const layer = /** @type {HTMLElement} */ (this.root.querySelector(`[data-player="${kind}"]`));
    if (!placed.length && !layer.childElementCount) return;
    while (layer.childElementCount > placed.length) layer.lastElementChild?.remove();
    while (layer.childElementCount < placed.length) layer.append(document.createElement("span"));
    placed.forEach(({ name, left, top }, k) => {
      const label = /** @type {HTMLElement} */ (layer.children[k]);
      label.textContent = name;
      label.style.left = `${100 * left}%`;
      label.style.top = `${100 * top}%`;
    });
  }
}

const ruler = document.createElement("canvas").getContext("2d");

/** @param {string} text of a label @returns {number} its width, pixels */
function textWidth(text) {
  if (!ruler) return 7 * text.length;
  ruler.font = "12px system-ui, sans-serif";
  return ruler.measureText(text).width;
}
