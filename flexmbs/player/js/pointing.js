// Names of what the reader points at, and the list of bodies and kinds of elements, which can be hidden.
import { BODIES } from "./colours.js";
import { colourOf } from "./elements.js";

/** @typedef {import("./player.js").Player} Player */

const PAUSE = 90; // ms between two looks at what is under the pointer
const STILL = 5; // pixels: a shorter movement between press and release is a click
const FEW = 12; // bodies that are listed at first

/** @param {HTMLElement} root @param {Player} player */
export function point(root, player) {
  list(root, player);
  if (player.scene.table.parts.some((part) => part.regions?.length)) return; // regions.js names them
  const { canvas } = player, tip = /** @type {HTMLElement} */ (root.querySelector('[data-player="tip"]'));
  let last = -Infinity, waiting = false, pressed = /** @type {[number, number] | null} */ (null);
  /** @param {PointerEvent} event */
  const look = (event) => {
    const { left, top, width, height } = canvas.getBoundingClientRect(), x = event.clientX - left, y = event.clientY - top;
    const found = player.objectAt(x / width, 1 - y / height);
    tip.hidden = !found;
    if (!found) return;
    tip.textContent = `${found.name} · ${found.kind.replaceAll("-", " ")}`;
    tip.style.left = `${x}px`;
    tip.style.top = `${y}px`;
    tip.classList.toggle("before", x > 0.7 * width);
  };
  const leave = () => {
    tip.hidden = true;
    player.light(0);
  };
  canvas.addEventListener("pointermove", (event) => {
    if (pressed || event.pointerType !== "mouse") return;
    const now = performance.now();
    if (waiting) return;
    waiting = true;
    setTimeout(() => {
      waiting = false;
      last = performance.now();
      if (!pressed) look(event);
    }, Math.max(PAUSE - (now - last), 0));
  });
  canvas.addEventListener("pointerdown", (event) => {
    pressed = [event.clientX, event.clientY];
    tip.hidden = true;
  });
  canvas.addEventListener("pointerup", (event) => {
    if (pressed && Math.hypot(event.clientX - pressed[0], event.clientY - pressed[1]) < STILL) look(event);
    pressed = null;
  });
  canvas.addEventListener("pointercancel", () => (pressed = null));
  canvas.addEventListener("pointerleave", leave);
}

/** Bodies with their colours and kinds of elements; a click hides or shows one, pointing at a body marks it. @param {HTMLElement} root @param {Player} player */
function list(root, player) {
  const box = /** @type {HTMLDetailsElement} */ (root.querySelector('[data-player="objects"]')), { viewer, scene } = player;
  const { bodies } = scene.table, groups = viewer.elements.groups;
  box.hidden = scene.table.ground === null || bodies.length + groups.length < 2;
  box.open = bodies.length <= FEW;
  /** @param {string} name @param {string} kind @param {string} colour @param {number} object */
  const entry = (name, kind, colour, object) => {
    const key = document.createElement("button");
    key.type = "button";
    key.className = `object ${kind}`;
    key.textContent = name;
    key.setAttribute("aria-pressed", "true");
    key.style.setProperty("--c", colour);
    key.addEventListener("click", () => {
      const { hidden } = viewer.settings, item = kind === "kind" ? `/${name}` : name; // no name of a body has a slash
      if (!hidden.delete(item)) hidden.add(item);
      key.setAttribute("aria-pressed", String(!hidden.has(item)));
      player.invalidate();
    });
    for (const [event, on] of /** @type {[string, number][]} */ ([["pointerenter", object], ["focus", object], ["pointerleave", 0], ["blur", 0]]))
      if (object) key.addEventListener(event, () => player.light(on));
    return key;
  };
  /** @param {number[]} rgb */
  const css = (rgb) => `rgb(${rgb.slice(0, 3).map((c) => Math.round(255 * c)).join(" ")})`;
  const first = viewer.first("bodies");
  const own = bodies.map(({ name }, k) => entry(name, "body", viewer.items[k][0] ? css(viewer.items[k][0].colour) : BODIES[k % BODIES.length], first + k));
  const kinds = groups.map((group) => entry(group, "kind", css(colourOf(group)), 0));
  box.querySelector(".keys")?.replaceChildren(...own, ...kinds);
}
