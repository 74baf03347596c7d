// The plots of a page under a real mouse, as JSON: node plots.mjs BROWSER EXECUTABLE PAGE FOLDER
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [browserName, executablePath, page_, modules] = process.argv.slice(2);
const puppeteer = createRequire(path.join(path.resolve(modules), "x.js"))("puppeteer-core");
const args = browserName === "chrome" ? ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"] : [];
const browser = await puppeteer.launch({ browser: browserName, executablePath, args, headless: browserName === "chrome" || !process.env.DISPLAY, defaultViewport: browserName === "chrome" ? { width: 1280, height: 900 } : null, extraPrefsFirefox: { "webgl.force-enabled": true } });
const seen = { messages: [], requests: [] };
try {
  const page = await browser.newPage();
  page.on("console", (message) => ["error", "warn"].includes(message.type()) && !message.text().includes("ReadPixels") && seen.messages.push(message.text()));
  page.on("pageerror", (error) => seen.messages.push(String(error)));
  page.on("request", (request) => /^(file|data|blob):/.test(request.url()) || seen.requests.push(request.url()));
  await page.goto(pathToFileURL(page_).href);
  await page.evaluate(async () => { // waitForFunction needs what the policy of the page forbids
    const ready = () => document.querySelector(".plot svg .now") && (!document.querySelector(".player") || document.querySelector(".player.live, .player [data-player=note]:not(:empty)"));
    for (let k = 0; k < 600 && !ready(); k++) await new Promise((done) => setTimeout(done, 100));
  });
  await page.evaluate(() => {
    document.documentElement.style.scrollBehavior = "auto";
    window.times = [];
    for (const name of ["flexmbs:time", "flexmbs:seek"]) document.addEventListener(name, (event) => window.times.push(event.detail.time));
  });
  const state = () => page.evaluate(() => ({
    ticks: [...document.querySelectorAll(".plot svg")].map((svg) => [...svg.querySelectorAll(".tick.middle")].map((tick) => tick.textContent)),
    cursors: [...document.querySelectorAll(".plot svg")].filter((svg) => !svg.querySelector(".now").hasAttribute("hidden")).map((svg) => Number(svg.querySelector(".now").getAttribute("x1"))),
    widths: [...new Set([...document.querySelectorAll(".plot svg")].map((svg) => svg.getBoundingClientRect().width))],
    time: document.querySelector(".player")?.player?.clock.time, last: window.times.at(-1), lines: document.querySelectorAll(".plot .line").length,
    values: [...document.querySelectorAll(".plot .values:not([hidden])")].map((box) => [...box.children].map((row) => row.textContent)),
  }));
  const box = await page.evaluate(() => {
    const svg = document.querySelector(".plot svg");
    svg.scrollIntoView({ block: "center" });
    const { left, top, width, height } = svg.getBoundingClientRect();
    return { left, top, width, height };
  });
  const at = (u, v = 0.5) => [box.left + 58 + u * (box.width - 68), box.top + 10 + v * (box.height - 32)];
  seen.start = await state();
  await page.mouse.move(...at(0.25));
  seen.hover = await state();
  await page.mouse.click(...at(0.5));
  seen.clicked = await state();
  await page.mouse.move(...at(0.25));
  await page.mouse.down();
  await page.mouse.move(...at(0.4));
  await page.mouse.move(...at(0.75));
  seen.selected = await page.evaluate(() => Number(document.querySelector(".plot svg .select").getAttribute("width")));
  await page.mouse.up();
  seen.zoomed = await state();
  await page.mouse.click(...at(0.5), { count: 2 });
  seen.reset = await state();
  await page.click(".plot button.key");
  seen.hidden = await state();
  await page.click(".plot button.key");
  seen.shown = await state();
  if (await page.$("[data-seek]")) {
    await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
    seen.event = await page.evaluate(() => Number(document.querySelector("[data-seek]").dataset.seek));
    await page.evaluate(() => document.querySelector("[data-seek]").scrollIntoView({ block: "center" }));
    await page.click("[data-seek]");
    seen.jumped = await state();
  }
  await page.setViewport({ width: 390, height: 844 }).catch((error) => { // Firefox ESR has the size, not the orientation
    if (!/unknown command/.test(error.message)) throw error;
  });
  await new Promise((done) => setTimeout(done, 300));
  seen.phone = await page.evaluate(() => ({ scroll: document.documentElement.scrollWidth, width: innerWidth, plot: document.querySelector(".plot svg").getBoundingClientRect().width, text: parseFloat(getComputedStyle(document.querySelector(".plot svg .tick")).fontSize) }));
} finally {
  await browser.close();
}
console.log(JSON.stringify(seen));
