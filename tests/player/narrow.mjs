// What does not fit on the screen of a phone: node narrow.mjs BROWSER EXECUTABLE PAGE FOLDER
import { opened, resized } from "./opened.mjs";

await opened(async (page, seen) => {
  await resized(page, 390, 844);
  Object.assign(seen, await page.evaluate(() => ({
    page: document.documentElement.scrollWidth - innerWidth,
    checks: [...document.querySelectorAll("#checks .scroll")].map((box) => box.scrollWidth - box.clientWidth),
  })));
});
