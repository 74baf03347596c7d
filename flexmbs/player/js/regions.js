// Regions of a part with a list beside the picture: the pointer names them, the list shows where they are.
import { decoded, numbers } from "./arrays.js";
import { add, cross, dot, scale, sub } from "./vectors.js";

/** @typedef {import("./player.js").Player} Player */
/** @typedef {import("./vectors.js").Vector} Vector */
/** @typedef {{origin: Vector, direction: Vector}} Ray */

const MARKED = [0.95, 0.55, 0.1]; // colour of the region under the pointer
const CLICK = 4; // px: a pointer that moves farther turns the view

/** @param {HTMLElement} root @param {Player} player connects the list and the picture */
export function listRegions(root, player) {
  const rows = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("[data-region]")]);
  const part = player.scene.table.parts[0];
  if (!rows.length || !part?.regions?.length) return;
  const items = player.viewer.items[0].slice(1), own = items.map((item) => item.colour); // the first one is the rest of the surface
  const surface = { x: decoded(player.scene.buffer, part.vertices), regions: part.regions.map((region) => numbers(player.scene.buffer, region.triangles)) };
  const tip = /** @type {HTMLElement} */ (root.querySelector('[data-player="tip"]'));
  let [hovered, chosen] = [-1, -1];
  const colour = () => {
    items.forEach((item, k) => (item.colour = k === hovered || k === chosen ? MARKED : own[k]));
    rows.forEach((row, k) => row.classList.toggle("hovered", k === hovered));
    player.invalidate();
  };
  /** @param {number} k */
  const hover = (k) => {
    if (k === hovered) return;
    hovered = k;
    colour();
  };
  /** @param {number} k */
  const choose = (k) => {
    chosen = k === chosen ? -1 : k;
    rows.forEach((row, i) => row.setAttribute("aria-current", String(i === chosen)));
    player.say(chosen < 0 ? "" : rows[chosen].dataset.region ?? "");
    colour();
  };
  rows.forEach((row, k) => {
    row.addEventListener("pointerenter", () => hover(k));
    row.addEventListener("pointerleave", () => hover(-1));
    row.addEventListener("click", () => getSelection()?.isCollapsed !== false && choose(k)); // marking text to copy is no choice
    row.addEventListener("keydown", (event) => event.key === "Enter" && choose(k));
  });
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-copy]")))
    button.addEventListener("click", async (event) => {
      event.stopPropagation();
      const code = button.previousElementSibling;
      if (!code) return;
      getSelection()?.selectAllChildren(code);
      await navigator.clipboard?.writeText(code.textContent ?? "").then(() => (button.textContent = "Copied"), () => {}); // else the text is marked
    });
  const { canvas } = player;
  let from = [0, 0];
  canvas.addEventListener("pointerdown", (event) => (from = [event.clientX, event.clientY]));
  canvas.addEventListener("pointermove", (event) => {
    const k = event.buttons ? -1 : regionAt(rayThrough(player, event), surface);
    hover(k);
    canvas.classList.toggle("pointing", k >= 0);
    tip.hidden = k < 0;
    tip.textContent = k < 0 ? "" : rows[k].dataset.region ?? "";
    tip.style.left = `${event.offsetX}px`;
    tip.style.top = `${event.offsetY}px`;
    tip.classList.toggle("before", event.offsetX > 0.7 * canvas.clientWidth);
  });
  canvas.addEventListener("pointerleave", () => {
    hover(-1);
    tip.hidden = true;
  });
  canvas.addEventListener("click", (event) => {
    if (Math.hypot(event.clientX - from[0], event.clientY - from[1]) > CLICK) return;
    const k = regionAt(rayThrough(player, event), surface);
    choose(k < 0 ? chosen : k);
    if (k >= 0) rows[k].scrollIntoView({ block: "nearest" });
  });
}

/** @param {Player} player @param {MouseEvent} event @returns {Ray} from the eye through the pointer */
function rayThrough({ camera, canvas }, event) {
  const box = canvas.getBoundingClientRect();
  const u = (2 * (event.clientX - box.left)) / box.width - 1, v = 1 - (2 * (event.clientY - box.top)) / box.height;
  const [right, up] = camera.screen, half = camera.pixel(2); // half the height of the picture at the target
  const point = add(camera.target, add(scale(u * half * camera.aspect, right), scale(v * half, up)));
  return { origin: camera.eye, direction: sub(point, camera.eye) };
}

/** @param {Ray} ray @param {{x: ArrayLike<number>, regions: ArrayLike<number>[]}} surface @returns {number} nearest region that the ray meets, or −1 */
export function regionAt({ origin, direction }, { x, regions }) {
  /** @param {number} node */
  const point = (node) => [x[3 * node], x[3 * node + 1], x[3 * node + 2]];
  let [found, nearest] = [-1, Infinity];
  regions.forEach((triangles, k) => {
    for (let i = 0; i < triangles.length; i += 3) {
      const a = point(triangles[i]), e = sub(point(triangles[i + 1]), a), f = sub(point(triangles[i + 2]), a);
      const n = cross(direction, f), determinant = dot(e, n); // Möller and Trumbore, Journal of Graphics Tools 2 (1997) 21
      if (!determinant) continue;
      const d = sub(origin, a), u = dot(d, n) / determinant, q = cross(d, e), v = dot(direction, q) / determinant;
      const t = dot(f, q) / determinant;
      if (u < 0 || v < 0 || u + v > 1 || t <= 0 || t >= nearest) continue;
      [found, nearest] = [k, t];
    }
  });
  return found;
}
