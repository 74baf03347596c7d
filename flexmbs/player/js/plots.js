// Plots of a page: values under the pointer, a common time cursor, zoom by dragging, legends that toggle curves.
import { decoded, inflated } from "./arrays.js";
import { CHART, draw, drawn, look, placesOf, valueAt } from "./chart.js";
import { numberText } from "./ticks.js";

/** @typedef {import("./arrays.js").Stored} Stored */
/** @typedef {import("./chart.js").ChartPanel} ChartPanel */
/** @typedef {import("./chart.js").ChartView} ChartView */
/** @typedef {import("./chart.js").ChartPlaces} ChartPlaces */
/** @typedef {import("./chart.js").Span} Span */
/** @typedef {{name: string, t: Stored, y: Stored, stepped: boolean, dashed: boolean, colour: number}} StoredCurve */
/** @typedef {Omit<ChartPanel, "curves"> & {curves: StoredCurve[]}} StoredPanel */
/** @typedef {{figures: Record<string, StoredPanel[]>, span: Span, data: string, signals?: import("./explorer.js").Signals}} Plots */
/** @typedef {Plot | import("./xyplot.js").XYPlot} AnyPlot */

const DRAGGED = 6; // pixels: longer movements are drags, not clicks

/** @param {string} text JSON of `Plots` @returns {Promise<{stored: Plots, buffer: ArrayBuffer, follower: Follower}>} */
export async function followed(text) {
  /** @type {Plots} */ const stored = JSON.parse(text);
  const buffer = await inflated(stored.data);
  /** @type {Plot[]} */ const plots = [];
  for (const figure of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-plot]"))) {
    const panels = stored.figures[figure.dataset.plot ?? ""] ?? [];
    if (!panels.length) continue;
    figure.replaceChildren();
    for (const panel of panels) {
      const curves = panel.curves.map((curve) => ({ ...curve, t: decoded(buffer, curve.t), y: decoded(buffer, curve.y) }));
      plots.push(new Plot(figure, { ...panel, curves }, stored.span));
    }
  }
  const follower = new Follower(stored.span);
  for (const plot of plots) follower.add(plot);
  return { stored, buffer, follower };
}

/** Plots that follow the time of the player, zoom together and fit their figures. */
export class Follower {
  /** @param {Span} span of all curves */
  constructor(span) {
    this.span = span;
    this.time = span[0];
    /** @type {AnyPlot[]} */ this.plots = [];
    for (const name of ["flexmbs:time", "flexmbs:seek"])
      document.addEventListener(name, (event) => {
        const { detail } = /** @type {CustomEvent} */ (event);
        this.time = detail.time;
        for (const plot of this.plots) if (plot.seen || !detail.playing) plot.cursor(this.time);
      });
    document.addEventListener("flexmbs:span", (event) => {
      const { chosen } = /** @type {CustomEvent} */ (event).detail;
      for (const plot of this.plots) plot.zoom(chosen ?? span);
    });
    document.addEventListener("flexmbs:toggle", (event) => {
      const { figure, name } = /** @type {CustomEvent} */ (event).detail;
      for (const plot of this.plots) if (plot.figure === figure) plot.toggle(name);
    });
    document.addEventListener("click", (event) => {
      const button = event.target instanceof Element ? event.target.closest("[data-seek]") : null;
      if (button) seek(Number(button.getAttribute("data-seek")));
    });
    this.sizes = new ResizeObserver(() => this.plots.forEach((plot) => plot.resize()));
    this.sight = new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => this.plots.filter((plot) => plot.root === target).forEach((plot) => plot.see(isIntersecting, this.time))));
    addEventListener("beforeprint", () => this.plots.forEach((plot) => plot.hover(null)));
  }

  /** @param {AnyPlot} plot */
  add(plot) {
    this.plots.push(plot);
    this.sizes.observe(plot.figure);
    this.sight.observe(plot.root);
    plot.cursor(this.time);
  }

  /** @param {HTMLElement} figure whose plots are forgotten */
  clear(figure) {
    for (const plot of this.plots) if (plot.figure === figure) this.sight.unobserve(plot.root);
    this.plots = this.plots.filter((plot) => plot.figure !== figure);
  }
}

export class Plot {
  /** @param {HTMLElement} figure @param {ChartPanel} panel @param {Span} span */
  constructor(figure, panel, span) {
    this.figure = figure;
    /** @type {ChartView} */ this.view = { panel, span, ends: null, whole: false, hidden: new Set() };
    this.root = made("div", "panel");
    this.head = made("div", "panel-head");
    this.svg = drawn("svg", { role: "img", "aria-label": panel.title });
    this.now = drawn("line", { class: "now" });
    this.values = made("div", "values");
    this.values.hidden = true;
    this.root.append(this.head, this.svg, this.values);
    figure.append(this.root);
    this.time = span[0];
    this.seen = true; // true if it is on the screen
    /** @type {[number, number] | null} */ this.pressed = null;
    this.dress();
    this.resize();
    this.connect();
  }

  /** Title, legend, and a button for peaks that are cut off. */
  dress() {
    const { panel, hidden } = this.view;
    this.head.append(made("b", "", panel.title));
    panel.curves.forEach((curve) => {
      const key = made("button", `key ${look(curve)}`, curve.name);
      key.setAttribute("type", "button");
      key.setAttribute("aria-pressed", String(!hidden.has(curve.name)));
      key.addEventListener("click", () => document.dispatchEvent(new CustomEvent("flexmbs:toggle", { detail: { figure: this.figure, name: curve.name } })));
      this.head.append(key);
    });
    for (const kind of new Set(panel.bars.flatMap((bar) => bar.states.map((state) => state[2])))) this.head.append(made("span", `key state-key ${kind}`, kind));
    if (panel.bars.some((bar) => bar.marks.length)) this.head.append(made("span", "key impact-key", "impact"));
    for (const note of panel.notes) this.head.append(made("span", "note", note));
    this.peak = /** @type {HTMLButtonElement} */ (made("button", "peak"));
    this.peak.type = "button";
    this.peak.addEventListener("click", () => {
      this.view.whole = !this.view.whole;
      this.redraw();
    });
    this.head.append(this.peak);
  }

  resize() {
    const width = Math.max(Math.round(this.figure.clientWidth), 200);
    if (this.places?.width === width) return;
    this.redraw();
  }

  redraw() {
    this.places = placesOf(this.view, Math.max(Math.round(this.figure.clientWidth), 200));
    draw(this.svg, this.view, this.places);
    this.select = drawn("rect", { class: "select" });
    this.crosshair = drawn("line", { class: "crosshair" });
    this.dots = drawn("g", {});
    this.svg.append(this.select, this.crosshair, this.now, this.dots);
    const { clipped } = this.places, peak = /** @type {HTMLButtonElement} */ (this.peak);
    peak.hidden = !Number.isFinite(clipped) && !this.view.whole;
    peak.textContent = this.view.whole ? "clip peaks" : `▲ peaks to ${numberText(this.view.panel.logarithmic ? 10 ** clipped : clipped, 3)}: show`;
    this.cursor(this.time);
  }

  /** @param {number} time */
  cursor(time) {
    this.time = time;
    const { span } = this.view, at = /** @type {ChartPlaces} */ (this.places);
    this.now.toggleAttribute("hidden", !(time >= span[0] && time <= span[1]));
    vertical(this.now, at.x(Math.min(Math.max(time, span[0]), span[1])), at);
  }

  /** @param {boolean} seen @param {number} time */
  see(seen, time) {
    this.seen = seen;
    if (seen && time !== this.time) this.cursor(time);
  }

  /** @param {Span} span */
  zoom(span) {
    this.view.span = span;
    if (!this.boxed) this.view.ends = null;
    this.boxed = false;
    this.redraw();
  }

  /** @param {string} name */
  toggle(name) {
    const { panel, hidden } = this.view;
    const k = panel.curves.findIndex((curve) => curve.name === name);
    if (k < 0) return;
    if (!hidden.delete(name)) hidden.add(name);
    this.head.querySelectorAll("button.key")[k].setAttribute("aria-pressed", String(!hidden.has(name)));
    this.redraw();
  }

  connect() {
    this.svg.addEventListener("pointermove", (event) => (this.pressed && event.pointerType === "mouse" ? this.drag(event) : this.hover(event)));
    this.svg.addEventListener("pointerleave", () => !this.pressed && this.hover(null));
    this.svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      this.pressed = this.place(event);
      if (event.pointerType === "mouse") this.svg.setPointerCapture(event.pointerId);
    });
    this.svg.addEventListener("pointerup", (event) => this.release(event));
    this.svg.addEventListener("pointercancel", () => {
      this.pressed = null;
      this.hover(null);
    });
    this.svg.addEventListener("dblclick", () => {
      this.view.ends = null;
      this.view.whole = false;
      document.dispatchEvent(new CustomEvent("flexmbs:span", { detail: {} }));
    });
  }

  /** @param {PointerEvent} event @returns {[number, number]} in the units of the drawing */
  place(event) {
    const { left, top, width } = this.svg.getBoundingClientRect();
    const scale = /** @type {ChartPlaces} */ (this.places).width / Math.max(width, 1);
    return [(event.clientX - left) * scale, (event.clientY - top) * scale];
  }

  /** @param {PointerEvent} event */
  drag(event) {
    const box = this.box(this.place(event));
    this.hover(null);
    for (const [key, value] of Object.entries(box ?? { x: 0, y: 0, width: 0, height: 0 })) this.select?.setAttribute(key, String(value));
  }

  /** @param {[number, number]} end @returns {{x: number, y: number, width: number, height: number, flat: boolean} | null} box from the press to the current position; flat: all values */
  box(end) {
    const at = /** @type {ChartPlaces} */ (this.places), [x0, y0] = /** @type {[number, number]} */ (this.pressed);
    if (Math.abs(end[0] - x0) < DRAGGED) return null;
    const bound = (/** @type {number} */ x) => Math.min(Math.max(x, CHART.left), at.width - CHART.right);
    const flat = Math.abs(end[1] - y0) < 4 * DRAGGED || this.view.panel.bars.length > 0;
    const [a, b] = [bound(Math.min(x0, end[0])), bound(Math.max(x0, end[0]))];
    const [top, bottom] = flat ? [CHART.top, at.height - CHART.bottom] : [Math.min(y0, end[1]), Math.max(y0, end[1])];
    return { x: a, y: top, width: Math.max(b - a, 0), height: bottom - top, flat };
  }

  /** @param {PointerEvent} event */
  release(event) {
    if (!this.pressed) return;
    const place = this.place(event), at = /** @type {ChartPlaces} */ (this.places);
    const box = event.pointerType === "mouse" ? this.box(place) : null;
    const moved = Math.hypot(place[0] - this.pressed[0], place[1] - this.pressed[1]) >= DRAGGED;
    this.pressed = null;
    if (box && box.width > 2) {
      const chosen = /** @type {Span} */ ([at.time(box.x), at.time(box.x + box.width)]);
      if (!box.flat) [this.view.ends, this.boxed] = [[at.value(box.y + box.height), at.value(box.y)], true];
      document.dispatchEvent(new CustomEvent("flexmbs:span", { detail: { chosen } }));
    } else if (!moved && place[0] >= CHART.left && place[0] <= at.width - CHART.right) seek(at.time(place[0]));
    else this.redraw();
  }

  /** @param {PointerEvent | null} event */
  hover(event) {
    const { panel, hidden } = this.view, at = /** @type {ChartPlaces} */ (this.places);
    const place = event && this.place(event);
    const off = !place || place[0] < CHART.left || place[0] > at.width - CHART.right || place[1] > at.height;
    this.values.hidden = off;
    this.crosshair?.toggleAttribute("hidden", off);
    this.dots?.replaceChildren();
    if (off || !place) return;
    const time = at.time(place[0]);
    vertical(/** @type {SVGElement} */ (this.crosshair), place[0], at);
    const rows = [made("div", "", `t = ${numberText(time)} s`)];
    panel.curves.forEach((curve) => {
      if (hidden.has(curve.name) || !curve.t.length || time < curve.t[0] || time > curve.t[curve.t.length - 1]) return;
      const value = valueAt(curve.t, curve.y, time, curve.stepped);
      rows.push(made("div", `key ${look(curve)}`, `${curve.name}: ${numberText(value)}`));
      this.dots?.append(drawn("circle", { class: `dot ${look(curve)}`, cx: place[0], cy: at.y(panel.logarithmic ? Math.log10(value) : value), r: 3.5 }));
    });
    for (const bar of panel.bars) {
      const state = bar.states.find(([start, end]) => start <= time && time <= end);
      if (state) rows.push(made("div", `key state-key ${state[2]}`, `${bar.name}: ${state[2]}`));
    }
    this.values.replaceChildren(...rows);
    const right = place[0] > 0.6 * at.width;
    this.values.style.left = right ? "auto" : `${place[0] + 14}px`;
    this.values.style.right = right ? `${at.width - place[0] + 14}px` : "auto";
    this.values.style.top = `${this.head.offsetHeight + 12}px`;
  }
}

/** @param {string} name @param {string} kind @param {string} [text] @returns {HTMLElement} */
export function made(name, kind, text) {
  const found = document.createElement(name);
  found.className = kind;
  if (text) found.textContent = text;
  return found;
}

/** @param {SVGElement} line @param {number} x @param {ChartPlaces} at */
function vertical(line, x, at) {
  for (const [key, value] of Object.entries({ x1: x, x2: x, y1: CHART.top, y2: at.height - CHART.bottom })) line.setAttribute(key, String(value));
}

/** @param {number} time */
export function seek(time) {
  document.dispatchEvent(new CustomEvent("flexmbs:seek", { detail: { time } }));
}
