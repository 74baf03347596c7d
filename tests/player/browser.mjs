// What a page shows, as its pixels and its clock say
export default async (page, seen) => Object.assign(seen, await page.evaluate(looked));

// runs in the page
async function looked() {
  const root = document.querySelector(".player");
  const player = root.player;
  if (!player) return { live: false, note: root.querySelector('[data-player="note"]').textContent };
  const { clock, scene, viewer, canvas } = player;
  const gl = viewer.renderer.gl;
  const pixels = () => pixelsOf(player);
  const different = (a, b) => differing(a, b, 24) / (a.length / 4);
  const colours = (values) => {
    const found = new Map();
    for (let i = 0; i < values.length; i += 4) {
      const key = `${values[i]},${values[i + 1]},${values[i + 2]}`;
      found.set(key, (found.get(key) ?? 0) + 1);
    }
    return found;
  };
  const told = [];
  document.addEventListener("flexmbs:time", (event) => told.push(event.detail.time));
  const first = pixels();
  clock.seek(scene.end);
  const last = pixels();
  document.dispatchEvent(new CustomEvent("flexmbs:seek", { detail: { time: 0.5 * (scene.start + scene.end) } }));
  player.look("top");
  const top = pixels();
  player.look("front");
  bodiesAlone(viewer);
  const fields = {};
  for (const field of ["displacement", "stress"]) {
    if (!scene.table.fields[field]) continue;
    player.colour(field);
    for (const items of viewer.items) for (const item of items) item.shapes ? (item.edges.count = 0) : (item.edges.count = item.mesh.count = 0); // surfaces alone
    const values = pixels();
    const table = new Uint8Array(1024);
    const frame = gl.createFramebuffer(); // the colours of the legend, as the card has them
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, viewer.renderer.scale, 0);
    gl.readPixels(0, 0, 256, 1, gl.RGBA, gl.UNSIGNED_BYTE, table);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    const known = new Set();
    for (let i = 0; i < 256; i++) known.add(`${table[4 * i]},${table[4 * i + 1]},${table[4 * i + 2]}`);
    const background = viewer.theme.background.map((c) => Math.round(255 * c)).join(",");
    let inside = 0, body = 0;
    for (const [colour, n] of colours(values)) if (colour !== background) (body += n), known.has(colour) && (inside += n);
    fields[field] = { inside, body, kinds: [...colours(values).keys()].filter((c) => known.has(c)).length };
  }
  player.colour("");
  canvas.focus();
  const press = (key) => canvas.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  press("Home");
  const home = clock.time;
  press("ArrowRight");
  const stepped = clock.time;
  press("End");
  const end = clock.time;
  press(" ");
  const playing = clock.playing;
  await new Promise((done) => setTimeout(done, 400));
  const later = clock.time;
  press(" ");
  clock.speed = (scene.end - scene.start) / 1.5;
  const film = await player.record();
  return {
    film: film ? { size: film.size, type: film.type } : root.querySelector('[data-player="note"]').textContent,
    live: true, shown: colours(first).size, moved: different(first, last), turned: different(last, top), fields, told: told.slice(0, 2),
    home, stepped, end, playing, later, paused: !clock.playing, step: scene.timeOf(1), label: canvas.getAttribute("aria-label"),
    stored: scene.table.bodies.map((body, k) => (body.part === undefined ? [] : scene.vertices(k, scene.timeOf(2), 1).slice(0, 4))),
  };
}
