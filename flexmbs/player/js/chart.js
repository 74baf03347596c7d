// A panel drawn in SVG: grid, curves, bars of states, marks at the width of the page.
import { commonPower, limits, marks, numberText, powerOfTen } from "./ticks.js";

/** @typedef {{name: string, t: Float64Array, y: Float64Array, stepped: boolean, dashed: boolean, colour: number}} ChartCurve */
/** @typedef {{name: string, states: [number, number, string][], marks: number[]}} ChartBar */
/** @typedef {{title: string, logarithmic: boolean, notes: string[], curves: ChartCurve[], bars: ChartBar[]}} ChartPanel */
/** @typedef {[number, number]} Span */
/** @typedef {{panel: ChartPanel, span: Span, ends: Span | null, whole: boolean, hidden: Set<string>}} ChartView visible part of a panel */
/** @typedef {{x: (t: number) => number, y: (v: number) => number, time: (x: number) => number, value: (y: number) => number, ends: Span, width: number, height: number, clipped: number}} ChartPlaces */

export const CHART = { left: 58, right: 10, top: 10, bottom: 22, height: 180, low: 150, row: 26, colours: 8 };
const NAMESPACE = "http://www.w3.org/2000/svg";

/** @param {Float64Array} t increasing @param {Float64Array} y @param {number} time @param {boolean} [stepped] @returns {number} linear interpolation between the points */
export function valueAt(t, y, time, stepped = false) {
  let low = 0, high = t.length - 1;
  if (time <= t[low] || high < 1) return y[low];
  if (time >= t[high]) return y[high];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (t[middle] <= time) low = middle;
    else high = middle;
  }
  const x = stepped ? 0 : (time - t[low]) / (t[high] - t[low] || 1);
  return (1 - x) * y[low] + x * y[high];
}

/** @param {Float64Array} t @param {Span} span @returns {Span} first and last index of the points in the span, plus one on each side */
export function within(t, span) {
  let first = 0, last = t.length - 1;
  while (first < last && t[first + 1] <= span[0]) first++;
  while (last > first && t[last - 1] >= span[1]) last--;
  return [first, last];
}

/** @param {ChartView} view @param {number} width of the drawing, pixels @returns {ChartPlaces} */
export function placesOf(view, width) {
  const { panel, span, hidden } = view;
  const height = panel.bars.length ? CHART.top + CHART.row * panel.bars.length + CHART.bottom : width < 500 ? CHART.low : CHART.height;
  const found = /** @type {number[]} */ ([]);
  for (const curve of panel.curves) {
    if (hidden.has(curve.name) && panel.curves.length > hidden.size) continue;
    const [a, b] = within(curve.t, span);
    for (let i = a; i <= b; i++) found.push(panel.logarithmic ? Math.log10(curve.y[i]) : curve.y[i]);
  }
  const ends = view.ends ?? limits(found, view.whole);
  const inner = width - CHART.left - CHART.right, tall = height - CHART.top - CHART.bottom;
  const clip = (/** @type {number} */ u) => Math.min(Math.max(u, -0.03), 1.03);
  return {
    ends, width, height,
    clipped: found.reduce((most, v) => ((v > ends[1] || v < ends[0]) && !(Math.abs(v) <= Math.abs(most)) ? v : most), NaN),
    x: (t) => CHART.left + ((t - span[0]) / (span[1] - span[0] || 1)) * inner,
    y: (v) => height - CHART.bottom - clip((v - ends[0]) / (ends[1] - ends[0] || 1)) * tall,
    time: (x) => span[0] + ((x - CHART.left) / inner) * (span[1] - span[0]),
    value: (y) => ends[0] + ((height - CHART.bottom - y) / tall) * (ends[1] - ends[0]),
  };
}

/** @param {ChartCurve} curve @param {ChartView} view @param {ChartPlaces} at @returns {string} the path of a curve */
export function pathOf(curve, view, at) {
  const [a, b] = within(curve.t, view.span);
  let path = "", pen = "M";
  for (let i = a; i <= b; i++) {
    const v = view.panel.logarithmic ? Math.log10(curve.y[i]) : curve.y[i];
    if (!Number.isFinite(v)) {
      pen = "M";
      continue;
    }
    const x = at.x(curve.t[i]).toFixed(1), y = at.y(v).toFixed(1);
    path += curve.stepped && pen === "L" ? `H${x}V${y}` : `${pen}${x} ${y}`;
    pen = "L";
  }
  return path;
}

/** @param {ChartCurve} curve @param {ChartView} view @param {ChartPlaces} at @returns {string} triangles at the extremes of the parts beyond the axis, pointing there */
export function peaksOf(curve, view, at) {
  const [a, b] = within(curve.t, view.span), [low, high] = at.ends;
  let path = "", most = -1, before = 0;
  for (let i = a; i <= b + 1; i++) {
    const v = i > b ? NaN : view.panel.logarithmic ? Math.log10(curve.y[i]) : curve.y[i];
    const side = v > high ? -1 : v < low ? 1 : 0;
    if (before && side !== before) path += `M${at.x(curve.t[most]).toFixed(1)} ${(before < 0 ? CHART.top : at.height - CHART.bottom) + 3 * before}l4 ${-7 * before}h-8z`;
    if (side && (side !== before || side * curve.y[i] < side * curve.y[most])) most = i;
    before = side;
  }
  return path;
}

/** @param {string} name @param {Record<string, string | number>} attributes @param {string} [text] @returns {SVGElement} */
export function drawn(name, attributes, text) {
  const made = /** @type {SVGElement} */ (document.createElementNS(NAMESPACE, name));
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (text !== undefined) made.textContent = text;
  return made;
}

/** @param {SVGElement} svg emptied and filled @param {ChartView} view @param {ChartPlaces} at */
export function draw(svg, view, at) {
  const { panel, span, hidden } = view;
  svg.setAttribute("viewBox", `0 0 ${at.width} ${at.height}`);
  svg.setAttribute("height", String(at.height));
  svg.replaceChildren();
  const bottom = at.height - CHART.bottom, right = at.width - CHART.right;
  const clip = `clip-${clips++}`;
  const window_ = drawn("clipPath", { id: clip });
  window_.append(drawn("rect", { x: CHART.left, y: 0, width: Math.max(right - CHART.left, 1), height: at.height }));
  svg.append(window_);
  for (const t of marks(span[0], span[1], Math.max(Math.floor(at.width / 110), 3))) {
    svg.append(drawn("path", { class: "grid", d: `M${at.x(t).toFixed(1)} ${CHART.top}V${bottom}` }));
    svg.append(drawn("text", { class: "tick middle", x: at.x(t).toFixed(1), y: bottom + 16 }, numberText(Number(t.toPrecision(12)), 9)));
  }
  svg.append(drawn("text", { class: "tick end", x: CHART.left - 16, y: bottom + 16 }, "t [s]"));
  if (!panel.bars.length) levels(svg, view, at);
  const inside = drawn("g", { "clip-path": `url(#${clip})` });
  svg.append(inside);
  for (const curve of panel.curves) if (!hidden.has(curve.name)) inside.append(drawn("path", { class: `line ${look(curve)}`, d: pathOf(curve, view, at) }));
  if (!view.ends) for (const curve of panel.curves) if (!hidden.has(curve.name)) inside.append(drawn("path", { class: `clipped ${look(curve)}`, d: peaksOf(curve, view, at) }));
  panel.bars.forEach((bar, k) => states(svg, inside, bar, CHART.top + CHART.row * k, at));
}

let clips = 0;

/** @param {{colour: number, dashed: boolean}} curve @returns {string} its classes */
export function look(curve) {
  const turn = Math.floor(curve.colour / CHART.colours) % 4; // more curves than colours: dashes
  return `c${curve.colour % CHART.colours}${turn && !curve.dashed ? ` d${turn}` : ""}${curve.dashed ? " dashed" : ""}`;
}

/** @param {SVGElement} svg @param {ChartView} view @param {ChartPlaces} at lines of equal values with their labels */
function levels(svg, { panel }, at) {
  const power = panel.logarithmic ? 1 : commonPower(...at.ends);
  for (const v of marks(at.ends[0], at.ends[1], 4)) {
    const y = at.y(v).toFixed(1);
    svg.append(drawn("path", { class: v === 0 && !panel.logarithmic ? "grid zero" : "grid", d: `M${CHART.left} ${y}H${at.width - CHART.right}` }));
    const text = panel.logarithmic ? (Number.isInteger(v) ? powerOfTen(v) : numberText(10 ** v, 2)) : numberText(Number((v / power).toPrecision(12)), 9);
    svg.append(drawn("text", { class: "tick end", x: CHART.left - 7, y: Number(y) + 4 }, text));
  }
  if (power !== 1) svg.append(drawn("text", { class: "tick", x: 2, y: 9 }, `·${powerOfTen(Math.round(Math.log10(power)))}`));
}

/** @param {SVGElement} svg @param {SVGElement} inside @param {ChartBar} bar @param {number} top @param {ChartPlaces} at */
function states(svg, inside, bar, top, at) {
  for (const [start, end, kind] of bar.states) {
    const x = at.x(start);
    inside.append(drawn("rect", { class: `state ${kind}`, x: x.toFixed(1), y: top + 4, width: Math.max(at.x(end) - x, 0.5).toFixed(1), height: CHART.row - 8 }));
  }
  for (const t of bar.marks) inside.append(drawn("circle", { class: "mark", cx: at.x(t).toFixed(1), cy: top + CHART.row / 2, r: 3 }));
  svg.append(drawn("text", { class: "row", x: CHART.left + 6, y: top + CHART.row / 2 + 4 }, bar.name));
}
