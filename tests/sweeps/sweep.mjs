// The page of a sweep under a real mouse, as JSON: node sweep.mjs EXECUTABLE PAGE FOLDER
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [executablePath, page_, modules] = process.argv.slice(2);
const puppeteer = createRequire(path.join(path.resolve(modules), "x.js"))("puppeteer-core");
const browser = await puppeteer.launch({ executablePath, args: ["--no-sandbox"], headless: true, defaultViewport: { width: 1280, height: 900 } });
const seen = { messages: [], requests: [] };
try {
  const page = await browser.newPage();
  page.on("console", (message) => ["error", "warn"].includes(message.type()) && seen.messages.push(message.text()));
  page.on("pageerror", (error) => seen.messages.push(String(error)));
  page.on("request", (request) => /^(file|data|blob):/.test(request.url()) || seen.requests.push(request.url()));
  await page.goto(pathToFileURL(page_).href);
  const state = () => page.evaluate(() => ({
    lines: document.querySelectorAll("polyline.case").length, off: document.querySelectorAll("polyline.case.off").length,
    points: document.querySelectorAll("circle.case.off").length, told: document.querySelector(".told-case").textContent,
    on: document.querySelectorAll(".case.on").length, maps: document.querySelectorAll("#surfaces svg.small").length,
  }));
  seen.start = await state();
  const band = await page.evaluate(() => {
    document.documentElement.style.scrollBehavior = "auto";
    const found = document.querySelector(".band");
    found.closest("svg").scrollIntoView({ block: "center" });
    const { left, top, width, height } = found.getBoundingClientRect();
    return { x: left + width / 2, top, height };
  });
  await page.mouse.move(band.x, band.top + 0.55 * band.height);
  await page.mouse.down();
  await page.mouse.move(band.x, band.top + 0.8 * band.height);
  await page.mouse.move(band.x, band.top + 1.02 * band.height);
  await page.mouse.up();
  seen.kept = await state();
  await page.mouse.click(band.x, band.top + 0.8 * band.height);
  seen.freed = await state();
  await page.evaluate(() => document.querySelector("circle.case").dispatchEvent(new PointerEvent("pointerenter")));
  seen.hovered = await state();
  await page.setViewport({ width: 390, height: 800 });
  await page.waitForSelector(".wide[tabindex]", { timeout: 5000 }).catch(() => seen.messages.push("no key reaches what scrolls"));
  seen.phone = await page.evaluate(() => ({ width: innerWidth, scroll: document.documentElement.scrollWidth }));
} finally {
  await browser.close();
}
console.log(JSON.stringify(seen));
