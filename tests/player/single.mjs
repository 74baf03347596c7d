// Players of single bodies, each with its colours at vertices
import { chromium } from "./opened.mjs";

export default async (page, seen) => {
  Object.assign(seen, await page.evaluate(looked));
  if (chromium && seen.picked) {
    await page.emulateMediaFeatures([{ name: "prefers-reduced-motion", value: "reduce" }]);
    seen.picked.reduced = await page.evaluate(() => {
      const pick = document.querySelector("[data-pick] button"), key = pick.closest("[data-pick]").dataset.of ?? "";
      pick.click();
      return [...document.querySelectorAll(".player")].find((each) => (each.dataset.scene ?? "") === key).player.clock.playing;
    });
  }
};

// runs in the page
async function looked() {
  document.documentElement.style.scrollBehavior = "auto";
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const until = async (ready) => {
    for (let k = 0; k < 600 && !ready(); k++) await wait(50);
  };
  const different = (a, b) => differing(a, b, 24) / (a.length / 4);
  const legendColours = (player) => {
    const gl = player.viewer.renderer.gl, table = new Uint8Array(1024), frame = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, player.viewer.renderer.scale, 0);
    gl.readPixels(0, 0, 256, 1, gl.RGBA, gl.UNSIGNED_BYTE, table);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    return table;
  };
  // places of the colours in the legend at the vertices that are uppermost in the view from the top; −1: not of the legend
  const valuesFromTop = (player) => {
    player.look("top");
    const { scene, viewer, canvas, clock, camera } = player;
    for (const items of viewer.items) for (const item of items) item.edges.count = 0;
    viewer.settings.frames = false;
    const values = pixelsOf(player), table = legendColours(player), m = camera.matrix(viewer.reach());
    const points = scene.vertices(0, clock.time, 1), up = scene.table.up;
    const heights = points.map((x) => x[0] * up[0] + x[1] * up[1] + x[2] * up[2]), top = Math.max(...heights);
    const found = [];
    points.forEach((x, i) => {
      if (heights[i] < top - 1e-4 * scene.table.size) return;
      const [u, v, , w] = [0, 1, 2, 3].map((r) => m[r] * x[0] + m[4 + r] * x[1] + m[8 + r] * x[2] + m[12 + r]);
      const [column, row] = [Math.floor(0.5 * (1 + u / w) * canvas.width), Math.floor(0.5 * (1 + v / w) * canvas.height)];
      const at = 4 * (row * canvas.width + column);
      let best = 0, least = Infinity;
      for (let k = 0; k < 256; k++) {
        const d = [0, 1, 2].reduce((sum, c) => sum + Math.abs(table[4 * k + c] - values[at + c]), 0);
        if (d < least) [best, least] = [k, d];
      }
      found.push([i, least > 6 ? -1 : best / 255]);
    });
    return found;
  };

  // a recording with numbered places: shares of white and dark pixels where their numbers are in its last picture
  const filmed = async (player, root) => {
    const stream = HTMLCanvasElement.prototype.captureStream;
    let taken = null;
    HTMLCanvasElement.prototype.captureStream = function (...given) {
      taken = this;
      return stream.apply(this, given);
    };
    player.colour(player.scene.table.marks[0].fields[0]);
    player.look("top");
    player.clock.speed = (player.scene.end - player.scene.start) / 1.5;
    const film = await player.record();
    HTMLCanvasElement.prototype.captureStream = stream;
    const values = taken.getContext("2d").getImageData(0, 0, taken.width, taken.height).data;
    const places = player.placed("marks", player.viewer.marks.shown());
    const ratio = taken.width / player.canvas.clientWidth, kinds = [];
    for (const { left, top } of places) {
      const count = { white: 0, dark: 0, n: 0 };
      for (let dy = -17; dy < -4; dy++) for (let dx = 8; dx < 20; dx++) {
        const [column, row] = [Math.round(left * taken.width + ratio * dx), Math.round(top * taken.height + ratio * dy)];
        if (column < 0 || column >= taken.width || row < 0 || row >= taken.height) continue;
        const at = 4 * (row * taken.width + column);
        count.n += 1;
        count.white += Math.min(values[at], values[at + 1], values[at + 2]) > 215;
        count.dark += Math.max(values[at], values[at + 1], values[at + 2]) < 110;
      }
      kinds.push(count);
    }
    return { size: film?.size, own: taken !== player.canvas, like: [taken.width, taken.height].join() === [player.canvas.width, player.canvas.height].join(), kinds };
  };

  await until(() => document.querySelector(".player").player || document.querySelector('.player [data-player="note"]').textContent);
  const players = [];
  for (const root of document.querySelectorAll(".player")) {
    root.scrollIntoView({ block: "center" });
    await until(() => root.player);
    const player = root.player;
    if (!player) {
      players.push({ key: root.dataset.scene ?? "", live: false, note: root.querySelector('[data-player="note"]').textContent });
      continue;
    }
    const { scene, clock, viewer } = player;
    const texts = (name) => [...root.querySelector(`[data-player="${name}"]`).options].map((option) => [option.value, option.textContent]);
    const made = { key: root.dataset.scene ?? "", live: true, fields: texts("field"), modes: texts("mode"), label: player.canvas.getAttribute("aria-label") };
    made.hidden = [...root.querySelectorAll("[data-needs]")].filter((item) => item.hidden).map((item) => item.dataset.needs);
    made.first = { field: viewer.settings.field, mode: scene.mode, time: clock.time, colours: new Set(new Uint32Array(pixelsOf(player).buffer)).size };
    if (scene.table.ground === null) {
      made.swing = [];
      for (const [value] of made.modes.filter(([value]) => value !== "-1")) {
        player.choose(Number(value), "displacement");
        made.plays = clock.playing;
        clock.playing = false;
        clock.seek(scene.end);
        clock.seek(scene.start + 0.25 * (scene.end - scene.start));
        const up = pixelsOf(player), frame = viewer.draw(clock.time).map((pose) => pose.x);
        clock.seek(scene.start + 0.75 * (scene.end - scene.start));
        const down = pixelsOf(player);
        made.swing.push({ moved: different(up, down), frame });
      }
      clock.seek(scene.start); // the mode passes the undeformed shape
      made.colours = [];
      for (const [field] of made.fields.filter(([value]) => value)) {
        if (made.modes.length > 1) player.choose(0, field);
        else player.colour(field);
        clock.playing = false;
        clock.seek(scene.start);
        const legend = { title: root.querySelector(".legend .title").textContent, ticks: [...root.querySelectorAll(".legend .tick")].map((tick) => tick.textContent) };
        made.colours.push({ field, legend, values: valuesFromTop(player) });
      }
      made.marks = {};
      for (const view of ["top", "bottom"]) {
        player.look(view);
        for (let k = 0; k < 8; k++) await new Promise((done) => requestAnimationFrame(done));
        await wait(200);
        made.marks[view] = [...root.querySelectorAll(".marks span:not([hidden])")].map((label) => label.textContent);
      }
    }
    if (scene.table.ground !== null && scene.table.marks?.length) made.film = await filmed(player, root);
    players.push(made);
  }
  const pick = document.querySelector("[data-pick] button");
  let picked = null;
  if (pick) {
    pick.click();
    const root = [...document.querySelectorAll(".player")].find((each) => (each.dataset.scene ?? "") === (pick.closest("[data-pick]").dataset.of ?? ""));
    picked = { mode: root.player.scene.mode, field: root.player.viewer.settings.field, playing: root.player.clock.playing };
    const before = root.player.clock.time;
    await wait(500);
    picked.passed = root.player.clock.time - before;
  }
  return { players, picked };
}
