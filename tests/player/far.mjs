// Pixels of the body and of the ground at times of a motion that goes far
export default async (page, seen) => Object.assign(seen, await page.evaluate(looked));

// runs in the page
function looked() {
  const root = document.querySelector(".player"), { player } = root, { clock, viewer } = player;
  const body = [], ground = [];
  for (const u of [0, 0.01, 0.3, 1]) {
    clock.seek(clock.start + u * (clock.end - clock.start));
    viewer.settings.grid = true;
    const all = pixelsOf(player);
    viewer.settings.grid = false;
    const plain = pixelsOf(player), items = viewer.items;
    viewer.items = [];
    body.push(differing(plain, pixelsOf(player), 24));
    viewer.items = items;
    ground.push(differing(all, plain, 4));
  }
  return { body, ground, follow: root.querySelector('[data-player="follow"]').value };
}
