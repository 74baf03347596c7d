// Curves that follow the time of the page: a line at the present time, values beside the pointer, a click chooses the time.
import { decoded, inflated } from "./arrays.js";

/** @typedef {import("./arrays.js").Stored} Stored */
/** @typedef {{name: string, t: Stored, y: Stored}} StoredCurve */
/** @typedef {{box: number[], span: number[], title: string, curves: StoredCurve[]}} Panel box: left, bottom, right, top of the picture */
/** @typedef {{figures: Record<string, Panel[]>, data: string}} Plots */
/** @typedef {{panel: Panel, line: HTMLElement, curves: {name: string, t: Float64Array, y: Float64Array}[]}} Followed */

/** @param {Float64Array} t increasing @param {Float64Array} y @param {number} time @returns {number} linear between the points */
export function valueAt(t, y, time) {
  let low = 0, high = t.length - 1;
  if (time <= t[low] || high < 1) return y[low];
  if (time >= t[high]) return y[high];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (t[middle] <= time) low = middle;
    else high = middle;
  }
  const x = (time - t[low]) / (t[high] - t[low] || 1);
  return (1 - x) * y[low] + x * y[high];
}

/** @param {string} text JSON of `Plots` */
export async function followed(text) {
  /** @type {Plots} */ const plots = JSON.parse(text);
  const buffer = await inflated(plots.data);
  for (const figure of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-plot]"))) {
    const panels = plots.figures[figure.dataset.plot ?? ""] ?? [];
    if (panels.length) follow(figure, panels.map((panel) => ({ panel, line: line(figure, panel), curves: panel.curves.map((curve) => ({ name: curve.name, t: decoded(buffer, curve.t), y: decoded(buffer, curve.y) })) })));
  }
}

/** @param {HTMLElement} figure @param {Panel} panel @returns {HTMLElement} the line at the present time */
function line(figure, panel) {
  const made = document.createElement("span");
  made.className = "now";
  made.style.top = `${100 * (1 - panel.box[3])}%`;
  made.style.height = `${100 * (panel.box[3] - panel.box[1])}%`;
  figure.append(made);
  return made;
}

/** @param {HTMLElement} figure @param {Followed[]} panels */
function follow(figure, panels) {
  const values = document.createElement("span");
  values.className = "values";
  values.hidden = true;
  figure.append(values);
  /** @param {number} time */
  const show = (time) => {
    for (const { panel, line } of panels) {
      const u = (time - panel.span[0]) / (panel.span[1] - panel.span[0]);
      line.hidden = !(u >= 0 && u <= 1);
      line.style.left = `${100 * (panel.box[0] + u * (panel.box[2] - panel.box[0]))}%`;
    }
  };
  /** @param {PointerEvent} event @returns {{time: number, at: Followed} | null} */
  const under = (event) => {
    const { left, top, width, height } = figure.getBoundingClientRect();
    const x = (event.clientX - left) / width, y = 1 - (event.clientY - top) / height;
    const at = panels.find(({ panel }) => y >= panel.box[1] - 0.02 && y <= panel.box[3] + 0.02);
    if (!at || x < at.panel.box[0] || x > at.panel.box[2]) return null;
    const u = (x - at.panel.box[0]) / (at.panel.box[2] - at.panel.box[0]);
    return { time: at.panel.span[0] + u * (at.panel.span[1] - at.panel.span[0]), at };
  };
  figure.addEventListener("pointermove", (event) => {
    const found = under(event);
    values.hidden = !found;
    if (!found) return;
    if (event.buttons & 1) seek(found.time);
    const { left, top } = figure.getBoundingClientRect();
    const lines = found.at.curves.map(({ name, t, y }) => `${name}: ${Number(valueAt(t, y, found.time).toPrecision(5))}`);
    values.textContent = [`t = ${Number(found.time.toPrecision(5))} s`, ...lines].join("\n");
    values.style.left = `${event.clientX - left + 14}px`;
    values.style.top = `${event.clientY - top + 14}px`;
  });
  figure.addEventListener("pointerleave", () => (values.hidden = true));
  figure.addEventListener("pointerdown", (event) => {
    const found = under(event);
    if (found) seek(found.time);
  });
  for (const name of ["flexmbs:time", "flexmbs:seek"])
    document.addEventListener(name, (event) => show(/** @type {CustomEvent} */ (event).detail.time));
  show(panels[0].panel.span[0]);
}

/** @param {number} time */
function seek(time) {
  document.dispatchEvent(new CustomEvent("flexmbs:seek", { detail: { time } }));
}
