// What does not fit on the screen of a phone
import { resized } from "./opened.mjs";

export default async (page, seen) => {
  await resized(page, 390, 844);
  Object.assign(seen, await page.evaluate(() => ({
    page: document.documentElement.scrollWidth - innerWidth,
    checks: [...document.querySelectorAll("#checks .scroll")].map((box) => box.scrollWidth - box.clientWidth),
  })));
};
