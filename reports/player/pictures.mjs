// Pictures of pages: node pictures.mjs chrome|firefox PROGRAM MODULES FOLDER light|dark|phone PAGE…
// Writes NAME.png, the first screen, and with "whole" as a further word after the look the whole page.
import path from "node:path";
import { chromium, launched, opened, resized, wait } from "../../tests/player/opened.mjs";

const [folder, look, ...pages] = process.argv.slice(5);
const browser = await launched();
for (const file of pages)
  await opened(browser, file, async (page) => {
    if (look === "dark" && chromium) await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
    await resized(page, look === "phone" ? 390 : 1280, look === "phone" ? 840 : 900);
    await page.evaluate(() => {
      const { player } = document.querySelector(".player");
      if (!player) return;
      player.clock.seek(player.scene.start + 0.35 * (player.scene.end - player.scene.start));
      player.fit();
      player.draw();
    });
    await wait(500);
    const stage = await page.evaluate(() => {
      const { left, top, width, height } = document.querySelector(".player").getBoundingClientRect();
      return { x: left + scrollX, y: top + scrollY, width, height: Math.min(height, 1000) };
    });
    const name = path.join(folder, `${path.basename(file, ".html")}-${look}${chromium ? "" : "-firefox"}.png`);
    await page.screenshot({ path: name, ...(look === "phone" ? { fullPage: false } : { clip: stage }) });
    console.log(name);
  });
await browser.close();
