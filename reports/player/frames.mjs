// A page played at 1280 × 720 in Chromium without a graphics card: node frames.mjs CHROMIUM MODULES PAGE…
// Prints for each page: s until the first picture; by field: pictures per second, ms of processor time of all processes of the browser
// for each, and their size. Several pages are played in turns, each thrice, so that they meet the same load; the numbers are medians.
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [executablePath, modules, ...pages] = process.argv.slice(2);
const puppeteer = createRequire(path.join(path.resolve(modules), "x.js"))("puppeteer-core");
const args = ["--no-sandbox", "--enable-unsafe-swiftshader"];
const LEARNING = 2000, PLAYING = 3000, ROUNDS = 3; // ms, ms

// s of processor time of a process and those that it started
function processorTime(root) {
  const parents = new Map(), times = new Map();
  for (const id of fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name)))
    try {
      const stat = fs.readFileSync(`/proc/${id}/stat`, "utf8");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      parents.set(id, fields[1]);
      times.set(id, (Number(fields[11]) + Number(fields[12])) / 100);
    } catch { /* ended meanwhile */ }
  let sum = 0;
  for (const [id, time] of times) {
    let above = id;
    while (above && above !== String(root)) above = parents.get(above);
    if (above) sum += time;
  }
  return sum;
}

async function opened(file) {
  const browser = await puppeteer.launch({ executablePath, args, headless: true, defaultViewport: { width: 1280, height: 720 } });
  const page = await browser.newPage();
  const start = Date.now();
  await page.goto(pathToFileURL(file).href);
  await page.evaluate(() => new Promise((done) => (document.querySelector(".player.live") ? done() : document.addEventListener("flexmbs:ready", done))));
  const ready = (Date.now() - start) / 1000;
  await page.evaluate(() => {
    const { canvas } = document.querySelector(".player").player;
    Object.assign(canvas.style, { position: "fixed", left: 0, top: 0, zIndex: 9, width: "1280px", height: "720px", maxWidth: "none", border: "none" });
  });
  return { browser, page, ready, played: {} };
}

async function play({ browser, page, played }, field) {
  const known = await page.evaluate((field) => {
    const { player } = document.querySelector(".player");
    if (field && !player.scene.table.fields[field]) return false;
    player.colour(field);
    player.clock.loop = true;
    player.clock.play(true, performance.now());
    return true;
  }, field);
  if (!known) return;
  await new Promise((done) => setTimeout(done, LEARNING));
  const before = processorTime(browser.process().pid);
  const found = await page.evaluate(async (playing) => {
    const { player } = document.querySelector(".player");
    const first = player.frames, from = performance.now();
    await new Promise((done) => setTimeout(done, playing));
    const made = { pictures: player.frames - first, ms: performance.now() - from, size: [player.canvas.width, player.canvas.height] };
    player.clock.play(false, performance.now());
    return made;
  }, PLAYING);
  const used = 1000 * (processorTime(browser.process().pid) - before);
  (played[field] ??= []).push({ rate: (1000 * found.pictures) / found.ms, used: used / found.pictures, size: found.size });
}

const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
const cases = [];
for (const file of pages) cases.push(await opened(file));
for (let round = 0; round < ROUNDS; round++)
  for (const field of ["", "displacement", "stress"]) for (const each of cases) await play(each, field);
for (const { browser, ready, played } of cases) {
  const fields = Object.fromEntries(Object.entries(played).map(([field, made]) => [field, {
    rate: median(made.map((each) => each.rate)), used: median(made.map((each) => each.used)), size: made.at(-1).size,
  }]));
  console.log(JSON.stringify({ ready, fields }));
  await browser.close();
}
