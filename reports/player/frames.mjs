// Pictures per second of a page at 1280 × 720 in Chromium on the processor: node frames.mjs CHROMIUM PAGE MODULES
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [executablePath, page_, modules] = process.argv.slice(2);
const puppeteer = createRequire(path.join(path.resolve(modules), "x.js"))("puppeteer-core");
const args = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"];
const browser = await puppeteer.launch({ executablePath, args, headless: true, defaultViewport: { width: 1280, height: 720 } });
const page = await browser.newPage();
const start = Date.now();
await page.goto(pathToFileURL(page_).href);
await page.evaluate(() => new Promise((done) => (document.querySelector(".player.live") ? done() : document.addEventListener("flexmbs:ready", done))));
const ready = (Date.now() - start) / 1000;
const rates = await page.evaluate(async () => {
  const { player } = document.querySelector(".player");
  player.canvas.style.height = "720px";
  player.canvas.style.width = "1280px";
  player.canvas.style.maxWidth = "none";
  await new Promise((done) => setTimeout(done, 300));
  const gl = player.viewer.renderer.gl;
  const found = [];
  for (const field of ["", "displacement", "stress"]) {
    if (field && !player.scene.table.fields[field]) {
      found.push(0);
      continue;
    }
    player.colour(field);
    const from = performance.now();
    let n = 0;
    while (performance.now() - from < 3000) {
      player.clock.time = player.scene.timeOf(n % player.scene.instants);
      player.draw();
      gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4)); // waits for the picture
      n++;
    }
    found.push((1000 * n) / (performance.now() - from));
  }
  return found;
});
await browser.close();
console.log(JSON.stringify({ ready, rates }));
