// Parallel coordinates: dragging along an axis selects a range of cases, a click on it clears the range; the case under the pointer is described.
const rows = JSON.parse(document.getElementById("flexmbs-cases").textContent);
const drawing = document.querySelector("svg.parallel");
const told = document.querySelector(".told-case");
const cases = new Map();
for (const mark of document.querySelectorAll(".case")) {
  const k = mark.dataset.k;
  cases.set(k, [...(cases.get(k) ?? []), mark]);
  mark.addEventListener("pointerenter", () => show(k, true));
  mark.addEventListener("pointerleave", () => show(k, false));
}

function show(k, on) {
  for (const mark of cases.get(k)) mark.classList.toggle("on", on);
  told.textContent = on ? rows[k] : summary();
}

const ranges = new Map(); // band → [top, bottom] in user units
const places = new Map([...drawing.querySelectorAll("polyline.case")].map(
  line => [line.dataset.k, line.getAttribute("points").split(" ").map(pair => pair.split(",").map(Number))]));

function inside(k) {
  const points = places.get(k);
  return points !== undefined && [...ranges].every(([band, [top, bottom]]) => {
    const x = Number(band.getAttribute("x")) + 12;
    const y = points.find(point => Math.abs(point[0] - x) < 1)[1];
    return y >= top - 0.5 && y <= bottom + 0.5;
  });
}

function summary() {
  if (!ranges.size) return "";
  const n = [...places.keys()].filter(inside).length;
  return `${n} of ${places.size} cases in the ranges`;
}

function filter() {
  for (const [k, marks] of cases) for (const mark of marks) mark.classList.toggle("off", ranges.size > 0 && !inside(k));
  told.textContent = summary();
}

for (const band of drawing.querySelectorAll(".band")) {
  const range = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const key of ["x", "width"]) range.setAttribute(key, band.getAttribute(key));
  range.setAttribute("class", "range");
  let from = null;
  const at = event => new DOMPoint(event.clientX, event.clientY).matrixTransform(drawing.getScreenCTM().inverse()).y;
  band.addEventListener("pointerdown", event => { from = at(event); band.setPointerCapture(event.pointerId); });
  band.addEventListener("pointermove", event => {
    if (from === null) return;
    const ends = [Math.min(from, at(event)), Math.max(from, at(event))];
    if (ends[1] - ends[0] < 3) return;
    ranges.set(band, ends);
    range.setAttribute("y", ends[0]);
    range.setAttribute("height", ends[1] - ends[0]);
    drawing.append(range);
    filter();
  });
  band.addEventListener("pointerup", event => {
    if (Math.abs(at(event) - from) < 3) { ranges.delete(band); range.remove(); filter(); }
    from = null;
  });
}

reached(".wide, .scroll"); // from reach.js
