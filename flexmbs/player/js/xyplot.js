// A panel of signals against another signal, with the same interface as a plot over time.
import { CHART, drawn, look } from "./chart.js";
import { limits, marks, numberText } from "./ticks.js";
import { made, seek } from "./plots.js";

/** @typedef {import("./chart.js").Span} Span */
/** @typedef {{name: string, x: Float64Array, y: Float64Array, t: Float64Array, colour: number, dashed: boolean}} XYCurve */
/** @typedef {{title: string, across: string, curves: XYCurve[]}} XYPanel across: heading of the horizontal axis */

const HEIGHT = 300; // pixels
const NEAR = 24; // pixels between the pointer and a point whose values are shown

export class XYPlot {
  /** @param {HTMLElement} figure @param {XYPanel} panel @param {Span} span of time whose points are shown */
  constructor(figure, panel, span) {
    this.figure = figure;
    this.panel = panel;
    this.span = span;
    /** @type {Set<string>} */ this.hidden = new Set();
    this.time = span[0];
    this.seen = true;
    this.root = made("div", "panel");
    this.head = made("div", "panel-head");
    this.head.append(made("b", "", panel.title));
    for (const curve of panel.curves) this.head.append(this.key(curve));
    this.svg = drawn("svg", { role: "img", "aria-label": `${panel.title} against ${panel.across}` });
    this.dots = drawn("g", {});
    this.values = made("div", "values");
    this.values.hidden = true;
    this.root.append(this.head, this.svg, this.values);
    figure.append(this.root);
    this.redraw();
    this.svg.addEventListener("pointermove", (event) => this.hover(event));
    this.svg.addEventListener("pointerleave", () => this.hover(null));
    this.svg.addEventListener("click", (event) => {
      const found = this.nearest(event);
      if (found) seek(found.curve.t[found.k]);
    });
  }

  /** @param {XYCurve} curve @returns {HTMLElement} its entry in the legend */
  key(curve) {
    const key = made("button", `key ${look(curve)}`, curve.name);
    key.setAttribute("type", "button");
    key.setAttribute("aria-pressed", "true");
    key.addEventListener("click", () => document.dispatchEvent(new CustomEvent("flexmbs:toggle", { detail: { figure: this.figure, name: curve.name } })));
    return key;
  }

  /** @returns {XYCurve[]} */
  get shown() {
    return this.panel.curves.filter(({ name }) => !this.hidden.has(name));
  }

  /** @param {XYCurve} curve @returns {number[]} indices of its points in the span */
  rows({ t }) {
    return Array.from(t.keys()).filter((k) => t[k] >= this.span[0] && t[k] <= this.span[1]);
  }

  redraw() {
    const width = (this.width = Math.max(Math.round(this.figure.clientWidth), 200)), bottom = HEIGHT - CHART.bottom - 14, right = width - CHART.right;
    /** @param {"x" | "y"} key */
    const ends = (key) => limits(this.shown.flatMap((curve) => this.rows(curve).map((k) => curve[key][k])), true);
    const [x, y] = [ends("x"), ends("y")];
    this.x = (/** @type {number} */ v) => CHART.left + ((v - x[0]) / (x[1] - x[0])) * (right - CHART.left);
    this.y = (/** @type {number} */ v) => bottom - ((v - y[0]) / (y[1] - y[0])) * (bottom - CHART.top);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    this.svg.setAttribute("height", String(HEIGHT));
    this.svg.replaceChildren();
    for (const v of marks(x[0], x[1], Math.max(Math.floor(width / 110), 3)))
      this.svg.append(drawn("path", { class: v === 0 ? "grid zero" : "grid", d: `M${this.x(v).toFixed(1)} ${CHART.top}V${bottom}` }), drawn("text", { class: "tick middle", x: this.x(v).toFixed(1), y: bottom + 16 }, numberText(Number(v.toPrecision(12)))));
    for (const v of marks(y[0], y[1], 5))
      this.svg.append(drawn("path", { class: v === 0 ? "grid zero" : "grid", d: `M${CHART.left} ${this.y(v).toFixed(1)}H${right}` }), drawn("text", { class: "tick end", x: CHART.left - 7, y: this.y(v) + 4 }, numberText(Number(v.toPrecision(12)))));
    this.svg.append(drawn("text", { class: "tick end", x: right, y: HEIGHT - 4 }, this.panel.across));
    for (const curve of this.shown) {
      const points = this.rows(curve).filter((k) => Number.isFinite(curve.x[k]) && Number.isFinite(curve.y[k]));
      const d = points.map((k, i) => `${i ? "L" : "M"}${this.x?.(curve.x[k]).toFixed(1)} ${this.y?.(curve.y[k]).toFixed(1)}`).join("");
      this.svg.append(drawn("path", { class: `line ${look(curve)}`, d }));
    }
    this.svg.append(this.dots);
    this.cursor(this.time);
  }

  resize() {
    if (this.width !== Math.max(Math.round(this.figure.clientWidth), 200)) this.redraw();
  }

  /** @param {number} time dots are at its points */
  cursor(time) {
    this.time = time;
    this.dots.replaceChildren(...this.shown.map((curve) => {
      const { t } = curve;
      let k = 0;
      while (k < t.length - 1 && t[k + 1] <= time) k++;
      return drawn("circle", { class: `dot ${look(curve)}`, cx: this.x?.(curve.x[k]) ?? 0, cy: this.y?.(curve.y[k]) ?? 0, r: 4.5 });
    }));
  }

  /** @param {boolean} seen @param {number} time */
  see(seen, time) {
    this.seen = seen;
    if (seen && time !== this.time) this.cursor(time);
  }

  /** @param {Span} span */
  zoom(span) {
    this.span = span;
    this.redraw();
  }

  /** @param {string} name */
  toggle(name) {
    const k = this.panel.curves.findIndex((curve) => curve.name === name);
    if (k < 0) return;
    if (!this.hidden.delete(name)) this.hidden.add(name);
    this.head.querySelectorAll("button.key")[k].setAttribute("aria-pressed", String(!this.hidden.has(name)));
    this.redraw();
  }

  /** @param {MouseEvent} event @returns {{curve: XYCurve, k: number, at: [number, number]} | null} the point under the pointer */
  nearest(event) {
    const { left, top, width } = this.svg.getBoundingClientRect(), scale = (this.width ?? 1) / Math.max(width, 1);
    const at = /** @type {[number, number]} */ ([(event.clientX - left) * scale, (event.clientY - top) * scale]);
    let best = NEAR, found = null;
    for (const curve of this.shown)
      for (const k of this.rows(curve)) {
        const away = Math.hypot((this.x?.(curve.x[k]) ?? 0) - at[0], (this.y?.(curve.y[k]) ?? 0) - at[1]);
        if (away < best) [best, found] = [away, { curve, k, at }];
      }
    return found;
  }

  /** @param {PointerEvent | null} event */
  hover(event) {
    const found = event && this.nearest(event);
    this.values.hidden = !found;
    if (!found) return;
    const { curve: { name, t, x, y }, k, at } = found;
    this.values.replaceChildren(made("div", "", `t = ${numberText(t[k])} s`), made("div", "", `${name}: ${numberText(y[k])}`), made("div", "", `${this.panel.across}: ${numberText(x[k])}`));
    const right = at[0] > 0.6 * (this.width ?? 0);
    this.values.style.left = right ? "auto" : `${at[0] + 14}px`;
    this.values.style.right = right ? `${(this.width ?? 0) - at[0] + 14}px` : "auto";
    this.values.style.top = `${this.head.offsetHeight + 12}px`;
  }
}
