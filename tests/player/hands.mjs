// A page in the hands of a reader: mouse, wheel, keys, touch; and the rules of accessibility
import { brokenRules, chromium, resized, wait } from "./opened.mjs";

export default async (page, seen) => {
  seen.live = await page.evaluate(() => {
    document.documentElement.style.scrollBehavior = "auto";
    return Boolean(document.querySelector(".player").player);
  });
  seen.broken = { light: await brokenRules(page) };
  if (!seen.live) return;
  const state = () => page.evaluate(() => {
    const { player } = document.querySelector(".player");
    const { camera, canvas, clock, room, scene } = player;
    const text = (name) => document.querySelector(`[data-player="${name}"]`).textContent;
    const play = document.querySelector('[data-player="play"]');
    return {
      time: clock.time, start: scene.start, end: scene.end, playing: clock.playing, shown: text("time"), slider: Number(document.querySelector('[data-player="scrub"]').value) / (scene.instants - 1),
      azimuth: camera.azimuth, elevation: camera.elevation, distance: camera.distance, target: camera.target, label: play.getAttribute("aria-label"), field: text("field") && document.querySelector('[data-player="field"]').value,
      legend: !document.querySelector('[data-player="legend"]').hidden, sharp: canvas.width / (room[0] * devicePixelRatio), frames: player.frames,
    };
  });
  const place = (selector) => page.evaluate((selector) => {
    const part = document.querySelector(selector);
    part.scrollIntoView({ block: "center" });
    const { left, top, width, height } = part.getBoundingClientRect();
    return { left, top, width, height };
  }, selector);
  const picture = async () => {
    const { left, top, width, height } = await place(".player canvas");
    return page.screenshot({ encoding: "base64", clip: { x: left, y: top, width, height }, captureBeyondViewport: false });
  };
  const of = (box, u, v) => [box.left + u * box.width, box.top + v * box.height];
  seen.start = await state();
  const first = await picture();

  const slider = await place('[data-player="scrub"]');
  await page.mouse.click(...of(slider, 0.5, 0.5));
  seen.clicked = await state();
  await page.mouse.move(...of(slider, 0.5, 0.5));
  await page.mouse.down();
  await page.mouse.move(...of(slider, 0.7, 0.5), { steps: 3 });
  await page.mouse.up();
  await wait(100);
  seen.dragged = await state();
  seen.moved = (await picture()) !== first;

  const canvas = await place(".player canvas");
  await page.mouse.move(...of(canvas, 0.5, 0.5));
  await page.mouse.down();
  await page.mouse.move(...of(canvas, 0.65, 0.4), { steps: 4 });
  await page.mouse.up();
  seen.turned = await state();
  await page.mouse.wheel({ deltaY: -240 });
  await wait(100);
  seen.nearer = await state();

  const keys = {};
  for (const key of ["Home", "ArrowRight", "End", "2", "f", "+"]) {
    await page.keyboard.press(key);
    keys[key] = await state();
  }
  seen.keys = keys;

  await page.select('[data-player="field"]', "displacement");
  seen.coloured = await state();
  await page.evaluate(() => Object.assign(document.querySelector(".player").player.quality, { level: 2, decide() {} })); // as of a slow card, however fast this one is
  await page.click('[data-player="play"]');
  await wait(700);
  seen.playing = await state();
  await page.click('[data-player="play"]');
  await wait(900);
  seen.paused = await state();

  const touched = await place(".player canvas");
  const finger = await page.touchscreen.touchStart(...of(touched, 0.4, 0.5));
  await finger.move(...of(touched, 0.55, 0.5));
  await finger.end();
  seen.stroked = await state();
  const [one, two] = [await page.touchscreen.touchStart(...of(touched, 0.45, 0.5)), await page.touchscreen.touchStart(...of(touched, 0.55, 0.5))];
  await one.move(...of(touched, 0.3, 0.5));
  await two.move(...of(touched, 0.7, 0.5));
  await one.end();
  await two.end();
  seen.pinched = await state();

  if (chromium) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
    seen.broken.dark = await brokenRules(page);
  }
  await resized(page, 390, 844);
  seen.broken.phone = await brokenRules(page);
};
