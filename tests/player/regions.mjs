// Regions of a part: the pointer names the one that the graphics card draws there, and a click chooses it in the list
export default async (page, seen) => {
  const box = await (await page.$(".player canvas")).boundingBox();
  const places = [];
  for (let i = 1; i < 14; i++) for (let j = 4; j < 12; j++) places.push([i / 14, j / 15]);
  Object.assign(seen, { points: [], rows: await page.$$eval("[data-region]", (rows) => rows.map((row) => row.dataset.region)) });
  const cards = await page.evaluate(drawn, places);
  for (const [n, [u, v]] of places.entries()) {
    await page.mouse.move(box.x + u * box.width, box.y + v * box.height);
    const k = seen.rows.indexOf(await page.$eval(".tip", (tip) => (tip.hidden ? "" : tip.textContent)));
    seen.points.push([k, cards[n]]);
    if (k < 0 || k !== cards[n] || seen.clicked) continue;
    await page.mouse.click(box.x + u * box.width, box.y + v * box.height);
    const current = await page.$$eval("[data-region]", (rows) => rows.map((row) => row.getAttribute("aria-current") === "true"));
    seen.clicked = { chosen: k, current, note: await page.$eval('[data-player="note"]', (note) => note.textContent) };
  }
};

// runs in the page: the regions at places of the picture by the card, drawn in colours whose ratio of red to green is their number; −1: none
function drawn(places) {
  const play = document.querySelector(".player").player, items = play.viewer.items[0].slice(1), { canvas } = play;
  for (const items of play.viewer.items) for (const item of items) item.edges.count = 0; // edges hide what is below
  const colours = items.map((item) => item.colour), numbers = items.map((_, k) => (k + 1) / (items.length + 1));
  items.forEach((item, k) => (item.colour = [numbers[k], 0.2, 0.2]));
  const values = pixelsOf(play);
  items.forEach((item, k) => (item.colour = colours[k]));
  play.draw();
  return places.map(([u, v]) => {
    const at = 4 * (Math.floor((1 - v) * canvas.height) * canvas.width + Math.floor(u * canvas.width));
    const [r, g] = [values[at], values[at + 1]];
    if (Math.abs(r - g) < 4 && g > 200) return -1; // the background is light grey
    const off = numbers.map((number) => Math.abs(number / 0.2 - r / g));
    return off.indexOf(Math.min(...off));
  });
}
