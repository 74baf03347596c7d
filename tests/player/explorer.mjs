// Curves of the reader's choice, names under the pointer, and the list of bodies and elements, under a real mouse
import { brokenRules, chromium, resized, wait } from "./opened.mjs";

export default async (page, seen) => {
  await page.evaluate(() => (document.documentElement.style.scrollBehavior = "auto"));
  const state = () => page.evaluate(() => ({
    hash: location.hash, chips: [...document.querySelectorAll(".chips .chip")].map((chip) => chip.textContent),
    panels: [...document.querySelectorAll("[data-explored] .panel")].map((panel) => ({
      title: panel.querySelector("b").textContent, keys: [...panel.querySelectorAll(".key")].map((key) => key.textContent),
      lines: panel.querySelectorAll(".line").length, paths: [...panel.querySelectorAll(".line")].map((line) => line.getAttribute("d").length), dots: panel.querySelectorAll(".dot").length,
    })),
  }));
  const choose = (item, quantity, part) => page.evaluate((names) => {
    document.querySelectorAll(".explorer select").forEach((select, k) => {
      const option = [...select.options].find(({ text }) => text === names[k]);
      if (!option) throw new Error(`${names[k]} is not among ${[...select.options].map(({ text }) => text)}`);
      select.value = option.value;
      select.dispatchEvent(new Event("change"));
    });
  }, [item, quantity, part]);
  const press = (text) => page.evaluate((text) => [...document.querySelectorAll(".explorer button")].find((button) => button.textContent === text).click(), text);
  seen.start = await state();
  await press("Clear");
  await choose("joint pin", "force [N]", "all");
  await press("Add");
  await choose("force motor", "current [A]", "value");
  await press("Add");
  seen.two = await state();
  await choose("frame arm/end", "position [m]", "x");
  await press("Use as horizontal axis");
  seen.against = await state();
  const hash = seen.against.hash;
  await page.evaluate(() => document.querySelector(".chips .chip").click());
  seen.removed = await state();
  await page.evaluate((hash) => (location.hash = hash), hash);
  await wait(200);
  seen.back = await state();
  await page.evaluate(() => (location.hash = "#curve=%3Cimg+src%3Dx+onerror%3Dalert(1)%3E&curve=joint+pin.0+position"));
  await wait(200);
  seen.unknown = await state();

  // the middle of the first link in the picture, as its pose says
  const place = await page.evaluate(() => {
    const { player } = document.querySelector(".player"), { canvas, viewer, scene, camera, clock } = player;
    canvas.scrollIntoView({ block: "center" });
    player.draw();
    const body = scene.table.bodies.findIndex(({ name }) => name === "arm"), pose = scene.pose(body, clock.time);
    const end = scene.frame(scene.table.frames.findIndex(({ name }) => name === "arm/end"), scene.poses(clock.time, 1), clock.time, 1);
    const x = pose.x.map((c, k) => 0.4 * c + 0.6 * end.x[k]), m = camera.matrix(viewer.reach());
    const [u, v, , w] = [0, 1, 2, 3].map((r) => m[r] * x[0] + m[4 + r] * x[1] + m[8 + r] * x[2] + m[12 + r]);
    const { left, top, width, height } = canvas.getBoundingClientRect();
    return [left + 0.5 * (1 + u / w) * width, top + 0.5 * (1 - v / w) * height];
  });
  const tip = () => page.evaluate(() => {
    const tip = document.querySelector('[data-player="tip"]'), { viewer } = document.querySelector(".player").player;
    return { hidden: tip.hidden, text: tip.textContent, lit: viewer.lit };
  });
  await page.mouse.move(place[0] - 3, place[1]);
  await page.mouse.move(...place);
  await wait(400);
  seen.pointed = await tip();
  await page.mouse.move(2, 2);
  await wait(300);
  seen.left = await tip();
  await page.mouse.click(...place);
  await wait(300);
  seen.clicked = await tip();
  await page.mouse.move(2, 2);
  await wait(300);

  seen.hidden = await page.evaluate(() => {
    const { player } = document.querySelector(".player"), found = {};
    for (const key of document.querySelectorAll(".objects button.object")) {
      const before = pixelsOf(player);
      key.click();
      const off = [differing(before, pixelsOf(player), 12), key.getAttribute("aria-pressed")];
      key.click();
      found[key.textContent] = [...off, differing(before, pixelsOf(player), 12)];
    }
    return found;
  });
  // names of frames: those that are shown do not overlap
  seen.labels = await page.evaluate(() => {
    const { player } = document.querySelector(".player");
    document.querySelector('[data-show="frames"]').click();
    player.draw();
    const boxes = [...document.querySelectorAll('[data-player="labels"] span')].map((span) => span.getBoundingClientRect());
    const over = boxes.flatMap((a, i) => boxes.slice(i + 1).map((b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1)).filter(Boolean).length;
    return { shown: boxes.length, over };
  });
  seen.broken = { light: await brokenRules(page) };
  if (chromium) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
    seen.broken.dark = await brokenRules(page);
  }
  await resized(page, 390, 844);
  seen.phone = await page.evaluate(() => ({ scroll: document.documentElement.scrollWidth, width: innerWidth }));
};
