// A model in the hands of a reader: sliders, numbers, findings, runs, curves, saving
import { brokenRules, chromium, resized, wait } from "./opened.mjs";

export default async (page, seen) => {
  const state = () => page.evaluate(() => ({
    findings: [...document.querySelectorAll('[data-studio="findings"] p')].map((line) => [line.className, line.textContent]),
    told: document.querySelector('[data-studio="told"]').textContent,
    values: window.studio.fields.values(),
    enabled: ["run", "save", "undo"].filter((name) => !document.querySelector(`[data-studio="${name}"]`).disabled),
    wrong: [...document.querySelectorAll(".field.wrong .name")].map((name) => name.textContent),
    runs: [...document.querySelectorAll('[data-studio="runs"] b')].map((name) => name.textContent),
    curves: [...document.querySelectorAll("[data-explored] .panel-head .key")].map((key) => key.textContent),
    lines: [...document.querySelectorAll("[data-explored] path.line")].map((line) => line.getAttribute("d")),
    end: window.studio.player.scene.end, camera: window.studio.player.camera.azimuth, live: document.querySelectorAll(".player.live").length, canvases: document.querySelectorAll(".player canvas").length,
  }));
  const settled = async () => {
    await wait(300);
    for (let k = 0; k < 400 && (await page.evaluate(() => window.studio.asking || window.studio.dirty || window.studio.running)); k++) await wait(100);
    await wait(200);
  };
  const shown = () => page.evaluate(() => [...pixelsOf(window.studio.player)].reduce((sum, value, k) => (sum + value * (k % 9973)) % 4294967296, 0));
  const field = (path) => page.evaluateHandle((path) => {
    const { root } = window.studio.fields.fields.find(({ parameter }) => parameter.path === path);
    root.closest("details").open = true;
    document.documentElement.style.scrollBehavior = "auto";
    root.scrollIntoView({ block: "center" });
    return root;
  }, path);
  const slide = async (path, u) => {
    const { left, top, width, height } = await (await field(path)).evaluate((root) => root.querySelector("input[type=range]").getBoundingClientRect().toJSON());
    await page.mouse.click(left + u * width, top + height / 2);
    await settled();
  };
  const type = async (path, text) => {
    await (await field(path)).evaluate((root) => root.querySelector("input[type=text]").select());
    await page.keyboard.type(text);
    await settled();
  };
  const press = async (name) => {
    await page.evaluate((name) => document.querySelector(`[data-studio="${name}"]`).scrollIntoView({ block: "center" }), name);
    await page.click(`[data-studio="${name}"]`);
    await settled();
  };
  await settled();
  seen.start = await state();
  const first = await shown();
  await page.evaluate(() => window.studio.player.turn(0.3, 0));
  await slide("joints.hinge.q0", 0.75);
  seen.moved = { ...(await state()), picture: (await shown()) !== first };
  await slide("bodies.rod.mass", 0.002);
  seen.massless = await state();
  await type("bodies.rod.mass", "heavy");
  seen.wrong = await state();
  await type("bodies.rod.mass", "2,5");
  seen.right = await state();
  await press("run");
  seen.one = await state();
  await type("bodies.rod.mass", "0.5");
  await press("run");
  seen.two = await state();
  seen.broken = { light: await brokenRules(page) };
  if (chromium) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
    seen.broken.dark = await brokenRules(page);
  }
  await press("save");
  seen.saved = await state();
  await resized(page, 390, 844);
  seen.broken.phone = await brokenRules(page);
  seen.phone = await page.evaluate(() => ({ width: innerWidth, scroll: document.documentElement.scrollWidth }));
};
