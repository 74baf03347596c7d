// One divided body: whether it moves, has gaps, and jumps of its colours
import { brokenRules, chromium, resized } from "./opened.mjs";

export default async (page, seen) => {
  Object.assign(seen, await page.evaluate(looked));
  seen.broken = { light: await brokenRules(page) };
  if (chromium) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
    seen.broken.dark = await brokenRules(page);
  }
  await resized(page, 390, 844);
  seen.broken.phone = await brokenRules(page);
};

// runs in the page
function looked() {
  const { player } = document.querySelector(".player");
  if (!player) return { live: false };
  const { canvas, clock, scene, viewer } = player, gl = viewer.renderer.gl;
  const { width, height } = canvas;
  bodiesAlone(viewer);
  player.look("front");
  for (const items of viewer.items) for (const item of items) item.shapes ? (item.edges.count = 0) : (item.edges.count = item.mesh.count = 0); // the surface alone
  const background = viewer.theme.background.map((c) => Math.round(255 * c)).join(",");
  const pixels = () => {
    player.draw();
    const values = new Uint8Array(4 * width * height);
    gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, values);
    return values;
  };
  const colour = (values, x, y) => [0, 1, 2].map((k) => values[4 * (y * width + x) + k]).join(",");
  // first and last pixel of the body in each line across it, [] where there is none, and whether all between are the body's
  const across = (values) => {
    const columns = Array.from({ length: width }, (_, x) => Array.from({ length: height }, (_, y) => y).filter((y) => colour(values, x, y) !== background));
    const rows = Array.from({ length: height }, (_, y) => Array.from({ length: width }, (_, x) => x).filter((x) => colour(values, x, y) !== background));
    const full = (lines) => lines.filter((line) => line.length).length;
    const [lines, upright] = full(columns) > full(rows) ? [columns, true] : [rows, false];
    const first = lines.findIndex((line) => line.length), last = lines.length - 1 - [...lines].reverse().findIndex((line) => line.length);
    return { upright, first, lines: lines.slice(first, last + 1) };
  };
  const gaps = ({ lines }) => lines.filter((line) => !line.length || line.length !== line[line.length - 1] - line[0] + 1).length;
  const start = pixels();
  const found = { live: true, bodies: scene.table.bodies.map((body) => body.name), gaps: { start: gaps(across(start)) }, fields: {} };
  clock.seek(scene.end);
  const end = pixels();
  found.gaps.end = gaps(across(end));
  found.moved = Array.from({ length: width * height }, (_, i) => i).filter((i) => [0, 1, 2].some((k) => Math.abs(start[4 * i + k] - end[4 * i + k]) > 8)).length / (width * height);
  for (const field of ["displacement", "stress"]) {
    player.colour(field);
    const values = pixels(), table = new Uint8Array(1024), frame = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame); // the colours of the legend, as the card has them
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, viewer.renderer.scale, 0);
    gl.readPixels(0, 0, 256, 1, gl.RGBA, gl.UNSIGNED_BYTE, table);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    const places = new Map(Array.from({ length: 256 }, (_, i) => [[0, 1, 2].map((k) => table[4 * i + k]).join(","), i / 255]));
    const { upright, first, lines } = across(values), kinds = new Set();
    let body = 0, inside = 0, jump = 0, before = null;
    lines.forEach((line, k) => {
      const at = (i) => colour(values, ...(upright ? [first + k, i] : [i, first + k]));
      for (const i of line.slice(1, -1)) body++, // the others are mixed at the silhouette
        places.has(at(i)) && (inside++, kinds.add(at(i)));
      const place = places.get(at(Math.round(0.5 * (line[0] + line[line.length - 1])))) ?? null;
      if (place !== null && before !== null) jump = Math.max(jump, Math.abs(place - before));
      before = place;
    });
    found.fields[field] = { body, inside, jump, kinds: kinds.size };
  }
  return found;
}
