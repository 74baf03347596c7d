// Regions of a part: the pointer names the one that the graphics card draws there, and a click chooses it in the list
export default async (page, seen) => {
  const box = await (await page.$(".player canvas")).boundingBox();
  Object.assign(seen, { points: [], rows: await page.$$eval("[data-region]", (rows) => rows.map((row) => row.dataset.region)) });
  await page.evaluate(() => {
    window.play = document.querySelector(".player").player;
    for (const items of window.play.viewer.items) for (const item of items) item.edges.count = 0; // edges hide what is below
  });
  // the region at a pixel by the card: the one whose change of colour changes the pixel
  const drawn = (u, v) => page.evaluate((u, v) => {
    const { play } = window, items = play.viewer.items[0].slice(1), { canvas } = play;
    const at = () => {
      const values = pixelsOf(play), x = Math.floor(u * canvas.width), y = Math.floor((1 - v) * canvas.height);
      return [0, 1, 2].map((c) => values[4 * (y * canvas.width + x) + c]);
    };
    const colours = items.map((item) => item.colour);
    items.forEach((item, k) => (item.colour = [(k + 1) / (items.length + 1), 0.2, 0.2])); // the hue is the number
    const [r, g] = at();
    items.forEach((item, k) => (item.colour = colours[k]));
    const values = items.map((_, k) => Math.abs((k + 1) / (items.length + 1) / 0.2 - r / g));
    return Math.abs(r - g) < 4 && g > 200 ? -1 : values.indexOf(Math.min(...values)); // the background is light grey
  }, u, v);
  for (let i = 1; i < 14; i++) for (let j = 4; j < 12; j++) {
    const [u, v] = [i / 14, j / 15];
    await page.mouse.move(box.x + u * box.width, box.y + v * box.height);
    const named = await page.$eval(".tip", (tip) => (tip.hidden ? "" : tip.textContent)).catch(() => "");
    const k = seen.rows.indexOf(named), card = await drawn(u, v);
    seen.points.push([k, card]);
    if (k >= 0 && k === card && !seen.clicked) {
      await page.mouse.click(box.x + u * box.width, box.y + v * box.height);
      seen.clicked = { chosen: k, current: await page.$$eval("[data-region]", (rows) => rows.map((row) => row.getAttribute("aria-current") === "true")), note: await page.$eval('[data-player="note"]', (note) => note.textContent) };
    }
  }
};
