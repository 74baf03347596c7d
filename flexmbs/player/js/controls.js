// Buttons, sliders, keys and pointers.
import { SPEEDS } from "./clock.js";
import { fieldsOf } from "./legend.js";

/** @typedef {import("./player.js").Player} Player */

const TURN = 0.008; // rad per pixel
const STEP = Math.PI / 24;
const SIDE = 0.05; // fraction of the height of the picture

/** @param {HTMLElement} root @param {string} name */
const part = (root, name) => /** @type {HTMLInputElement} */ (root.querySelector(`[data-player="${name}"]`));

/** @param {HTMLElement} root @param {Player} player */
export function connect(root, player) {
  buttons(root, player);
  choices(root, player);
  keys(root, player);
  pointers(player.canvas, player);
}

/** @param {HTMLElement} root @param {Player} player */
function buttons(root, player) {
  const scrub = part(root, "scrub");
  scrub.max = String(player.clock.instants - 1);
  scrub.step = "any";
  scrub.addEventListener("input", () => player.clock.seek(player.clock.timeOf(Number(scrub.value))));
  part(root, "play").addEventListener("click", () => player.toggle());
  part(root, "loop").addEventListener("change", () => (player.clock.loop = part(root, "loop").checked));
  part(root, "record").addEventListener("click", () => player.record());
  part(root, "fit").addEventListener("click", () => player.fit());
  for (const button of root.querySelectorAll("[data-view]"))
    button.addEventListener("click", () => player.look(/** @type {HTMLElement} */ (button).dataset.view ?? "front"));
}

/** @param {HTMLElement} root @param {Player} player */
function choices(root, player) {
  const { scene, viewer, clock } = player;
  const { table } = scene;
  const speeds = SPEEDS.filter((s) => s === clock.speed || ((table.time[1] - table.time[0]) / s >= 0.5 && (table.time[1] - table.time[0]) / s <= 300));
  options(part(root, "speed"), speeds.map((s) => [String(s), `${s}×`]), String(clock.speed), (value) => (clock.speed = Number(value)));
  const frames = /** @type {[string, string][]} */ (table.frames.map((frame, k) => [String(k), frame.name]));
  const moving = frames.filter((_, k) => table.frames[k].body >= 0);
  options(part(root, "trace"), [["-1", "no path"], ...moving], "-1", (value) => player.set("trace", Number(value)));
  const bodies = /** @type {[string, string][]} */ (table.bodies.map((body, k) => [String(k), body.name]));
  options(part(root, "follow"), [["-1", "none"], ...bodies], String(viewer.settings.follow), (value) => player.set("follow", Number(value)));
  options(part(root, "field"), fieldsOf(scene), viewer.settings.field, (value) => player.colour(value));
  const modes = (table.modes ?? []).map((mode, k) => [String(k), mode.name]);
  options(part(root, "mode"), [["-1", "none"], ...modes], String(scene.mode), (value) => player.choose(Number(value), viewer.settings.field || "displacement"));
  options(part(root, "other"), [["clear", "translucent"], ["beside", "next to A"], ["hidden", "hidden"]], viewer.settings.other, (value) => player.place(value));
  const amplitude = part(root, "amplitude");
  amplitude.addEventListener("input", () => player.swing(Number(amplitude.value)));
  const scale = part(root, "scale");
  scale.addEventListener("input", () => player.exaggerate(Number(scale.value)));
  for (const box of /** @type {NodeListOf<HTMLInputElement>} */ (root.querySelectorAll("[data-show]"))) {
    const key = /** @type {keyof import("./viewer.js").Settings} */ (box.dataset.show);
    box.checked = Boolean(viewer.settings[key]);
    box.addEventListener("change", () => player.set(key, box.checked));
  }
  hideUseless(root, player);
}

/** @param {HTMLElement} root @param {Player} player hides controls without effect */
function hideUseless(root, player) {
  const { scene, clock } = player, { table } = scene, { instants } = clock;
  const tables = table.other ? [table, table.other] : [table];
  const elastic = tables.some(({ bodies, fields }) => bodies.some((body) => body.part !== undefined && (fields.displacement ?? 0) > 0));
  /** @param {string} group */
  const arrows = (group) => tables.some((each) => each.arrows.some((arrow) => arrow.group === group));
  const useless = {
    elastic: !elastic, reactions: !arrows("reaction"), loads: !arrows("load"), forces: !arrows("force") && !arrows("contact"),
    contacts: !tables.some(({ touches }) => touches.length), other: !table.other, time: instants < 2, motion: instants < 2 || Boolean(table.modes?.length), joints: !table.joints.length,
    modes: !table.modes?.length, marks: !table.marks?.length, ground: table.ground === null, frames: !table.frames.length,
    colours: fieldsOf(scene).length < 2,
  };
  for (const [key, off] of Object.entries(useless))
    for (const item of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll(`[data-needs="${key}"]`))) item.hidden = off;
}

/** @param {HTMLElement} select @param {string[][]} given value, text @param {string} chosen @param {(value: string) => void} then */
function options(select, given, chosen, then) {
  for (const [value, text] of given) {
    const option = document.createElement("option");
    option.value = value;
    option.textContent = text;
    option.selected = value === chosen;
    select.append(option);
  }
  select.addEventListener("change", () => then(/** @type {HTMLSelectElement} */ (select).value));
}

/** @param {HTMLElement} root @param {Player} player */
function keys(root, player) {
  const { clock } = player;
  /** @param {number} n */
  const step = (n) => {
    clock.playing = false;
    clock.seek(clock.timeOf(Math.round(clock.instant) + n));
    player.invalidate();
  };
  /** @param {number} x @param {number} y @returns {(big: boolean) => void} turns the view, or moves it with the shift key */
  const turn = (x, y) => (big) => (big ? player.pan(SIDE * x, SIDE * y) : player.turn(STEP * x, STEP * y));
  const actions = /** @type {Record<string, (big: boolean) => void>} */ ({
    " ": () => player.toggle(), k: () => player.toggle(),
    ArrowLeft: (big) => step(big ? -10 : -1), ArrowRight: (big) => step(big ? 10 : 1),
    Home: () => clock.seek(clock.start), End: () => clock.seek(clock.end),
    f: () => player.fit(), l: () => part(root, "loop").click(),
    1: () => player.look("front"), 2: () => player.look("right"), 3: () => player.look("top"), 4: () => player.look("oblique"),
    a: turn(1, 0), d: turn(-1, 0), w: turn(0, 1), s: turn(0, -1),
    "+": () => player.zoom(0.85), "=": () => player.zoom(0.85), "-": () => player.zoom(1 / 0.85),
  });
  root.addEventListener("keydown", (event) => {
    const own = event.target instanceof HTMLElement ? event.target.tagName : "";
    if (event.ctrlKey || event.altKey || event.metaKey || own === "SELECT") return;
    if (own === "INPUT" || ((own === "BUTTON" || own === "SUMMARY") && event.key === " ")) return;
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action(event.shiftKey);
  });
}

/** @param {HTMLCanvasElement} canvas @param {Player} player */
function pointers(canvas, player) {
  /** @type {Map<number, [number, number]>} */ const held = new Map();
  canvas.addEventListener("pointerdown", (event) => {
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    held.set(event.pointerId, [event.clientX, event.clientY]);
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = held.get(event.pointerId);
    if (!before) return;
    const [dx, dy] = [event.clientX - before[0], event.clientY - before[1]];
    const others = [...held].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    held.set(event.pointerId, [event.clientX, event.clientY]);
    const height = canvas.clientHeight;
    if (others.length) {
      const [x, y] = others[0];
      const was = Math.hypot(before[0] - x, before[1] - y), is = Math.hypot(event.clientX - x, event.clientY - y);
      player.zoom(was / Math.max(is, 1));
      player.pan(dx / 2 / height, -dy / 2 / height);
    } else if (event.buttons & 6 || event.shiftKey) player.pan(dx / height, -dy / height);
    else player.turn(TURN * dx, TURN * dy);
  });
  for (const end of ["pointerup", "pointercancel"])
    canvas.addEventListener(end, (event) => held.delete(/** @type {PointerEvent} */ (event).pointerId));
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (document.activeElement !== canvas && !event.ctrlKey) return; // the page scrolls unless the picture has the focus
      event.preventDefault();
      player.zoom(Math.exp(0.0012 * Math.min(Math.max(event.deltaY, -300), 300)));
    },
    { passive: false },
  );
  canvas.addEventListener("dblclick", () => player.fit());
}
