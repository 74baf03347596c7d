// Two runs in one picture
import { resized, wait } from "./opened.mjs";

export default async (page, seen) => {
  Object.assign(seen, await page.evaluate(looked));
  await page.evaluate(() => scrollBy({ top: document.querySelector(".player canvas").getBoundingClientRect().top + 90, behavior: "instant" })); // the bar covers some of the picture
  await wait(500);
  seen.picture = Buffer.from(await page.screenshot({ type: "png" })).toString("base64");
  await resized(page, 390, 844);
  await page.evaluate(() => document.querySelector('nav a[href="#motion"]').click());
  await wait(1200);
  seen.top = await page.evaluate(() => document.querySelector(".player canvas").getBoundingClientRect().top - document.querySelector("nav").getBoundingClientRect().bottom);
};

// runs in the page
async function looked() {
  const root = document.querySelector(".player"), { player } = root, { clock, viewer } = player;
  const select = root.querySelector('[data-player="other"]');
  const choose = (value) => {
    select.value = value;
    select.dispatchEvent(new Event("change", { bubbles: true }));
    return pixelsOf(player);
  };
  const letters = () => [...root.querySelectorAll('[data-player="labels"] span')].map((label) => ({ text: label.textContent, left: parseFloat(label.style.left), top: parseFloat(label.style.top) }));
  const pictures = (time) => {
    clock.seek(time);
    return Object.fromEntries(["hidden", "clear", "beside"].map((value) => [value, choose(value)]));
  };
  const compared = ({ hidden, clear, beside }) => ({ clear: differing(hidden, clear, 12), beside: differing(hidden, beside, 12) });
  const start = clock.time, both = compared(pictures(0.5 * viewer.other.scene.end)), named = letters();
  const later = compared(pictures(clock.end)); // the other run is over
  choose("clear");
  root.querySelector('[data-show="grid"]').click();
  const trace = root.querySelector('[data-player="trace"]'), before = pixelsOf(player);
  trace.value = trace.options[trace.options.length - 1].value;
  trace.dispatchEvent(new Event("change", { bubbles: true }));
  return {
    start, end: clock.end, both, named, later, own: [viewer.scene.end, viewer.other.scene.end], traced: differing(before, pixelsOf(player), 12),
    needed: !select.closest("[hidden]"), label: player.canvas.getAttribute("aria-label"), largest: viewer.largest === viewer.other.largest,
  };
}
