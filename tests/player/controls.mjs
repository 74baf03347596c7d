// Whether each control changes the picture, and takes the change back
export default async (page, seen) => Object.assign(seen, await page.evaluate(looked));

// runs in the page
async function looked() {
  const root = document.querySelector(".player");
  const { player } = root;
  if (!player) return { live: false };
  const { clock, scene, canvas } = player;
  const pixels = () => pixelsOf(player);
  const different = (a, b) => differing(a, b, 12);
  const change = (input, value) => {
    input.value = value;
    input.dispatchEvent(new Event(input.type === "range" ? "input" : "change", { bubbles: true }));
  };
  const needed = (input) => !input.closest("[hidden]");
  const changed = {};
  const found = (name, act, back) => {
    const before = pixels();
    act();
    const then = pixels();
    back();
    changed[name] = [different(before, then), different(before, pixels())];
  };
  clock.seek(scene.timeOf(Math.floor(0.6 * scene.instants)));
  for (const box of root.querySelectorAll("[data-show]"))
    if (needed(box) && box.dataset.show !== "marks") found(box.dataset.show, () => box.click(), () => box.click()); // marks are above the picture
  for (const name of ["trace", "field"]) {
    const select = root.querySelector(`[data-player="${name}"]`), first = select.value;
    if (needed(select)) found(name, () => change(select, select.options[select.options.length - 1].value), () => change(select, first));
  }
  const scale = root.querySelector('[data-player="scale"]');
  if (needed(scale)) found("deformation", () => change(scale, "1"), () => change(scale, "0"));
  for (const button of root.querySelectorAll("[data-view]")) { // whatever was seen before
    const before = pixels();
    const views = [0.3, -0.4].map((angle) => (player.turn(angle, 0.5 * angle), button.click(), pixels()));
    changed[button.dataset.view] = [different(before, views[0]), different(...views)];
  }
  const key = (name, shiftKey = false) => canvas.dispatchEvent(new KeyboardEvent("keydown", { key: name, shiftKey, bubbles: true }));
  for (const [there, back] of [["a", "d"], ["w", "s"], ["A", "D"], ["W", "S"]]) found(there, () => key(there, there === there.toUpperCase()), () => key(back, back === back.toUpperCase()));
  const follow = root.querySelector('[data-player="follow"]');
  const target = () => [...player.camera.target];
  const last = () => scene.poses(clock.time, 1).at(-1).x;
  const [still, place] = [target(), last()];
  change(follow, follow.options[follow.options.length - 1].value);
  pixels();
  clock.seek(scene.end);
  pixels();
  const apart = (a, b) => Math.hypot(...a.map((x, c) => x - b[c]));
  return { live: true, changed, followed: apart(target(), still), moved: apart(last(), place) };
}
