// Pages in one browser, for all tests: Chromium without a screen, Firefox on the one of DISPLAY or without.
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [browserName, executablePath, modules] = process.argv.slice(2);
export const chromium = browserName === "chrome";
export const required = createRequire(path.join(path.resolve(modules), "x.js"));

const CHROMIUM = ["--no-sandbox", "--enable-unsafe-swiftshader", "--disable-background-networking"]; // WebGL without a graphics card
const SIZE = { width: 1280, height: 900 };

export const launched = () => required("puppeteer-core").launch({
  browser: browserName, executablePath, headless: chromium || !process.env.DISPLAY, args: chromium ? CHROMIUM : [`--width=${SIZE.width}`, `--height=${SIZE.height}`],
  defaultViewport: chromium ? SIZE : null, extraPrefsFirefox: { "webgl.force-enabled": true },
});

/** Lets `look` see the page in a context of its own: what it found, the messages of the page and what it asked of others. */
export async function opened(browser, file, look) {
  const seen = { messages: [], requests: [] };
  const context = await browser.createBrowserContext();
  try {
    const page = await context.newPage();
    page.on("console", (message) => ["error", "warn"].includes(message.type()) && !message.text().includes("ReadPixels") && seen.messages.push(message.text())); // the test reads them
    page.on("pageerror", (error) => seen.messages.push(String(error)));
    const address = /^http:/.test(file) ? file : pathToFileURL(file).href; // of a page on this machine, which may ask its server
    page.on("request", (request) => /^(file|data|blob):/.test(request.url()) || (address === file && request.url().startsWith(file)) || seen.requests.push(request.url()));
    await page.goto(address);
    await page.evaluate(async () => { // waitForFunction needs what the policy of the page forbids
      const ready = () => !document.querySelector(".player") || document.querySelector('.player.live, .player [data-player="note"]:not(:empty)');
      for (let k = 0; k < 600 && !ready(); k++) await new Promise((done) => setTimeout(done, 100));
    });
    await page.evaluate(measures);
    await look(page, seen);
  } finally {
    await context.close();
  }
  return seen;
}

// for what runs in the page: the pixels of a player's picture, RGBA, and the number of those that differ by more than `least`
export function measures() {
  window.pixelsOf = (player) => {
    const { canvas, viewer } = player, { gl } = viewer.renderer;
    player.draw();
    const values = new Uint8Array(4 * canvas.width * canvas.height);
    gl.readPixels(0, 0, canvas.width, canvas.height, gl.RGBA, gl.UNSIGNED_BYTE, values);
    return values;
  };
  window.bodiesAlone = ({ settings, elements }) => { // nothing else in the picture
    settings.grid = settings.joints = settings.frames = settings.triad = settings.loads = false;
    for (const group of elements.groups) settings.hidden.add(`/${group}`);
  };
  window.differing = (a, b, least) => {
    let n = 0;
    for (let i = 0; i < a.length; i += 4) if (Math.abs(a[i] - b[i]) + Math.abs(a[i + 1] - b[i + 1]) + Math.abs(a[i + 2] - b[i + 2]) > least) n++;
    return n;
  };
}

export const wait = (ms) => new Promise((done) => setTimeout(done, ms));

/** Firefox ESR has the size of a phone, not the orientation. */
export async function resized(page, width, height) {
  await page.setViewport({ width, height }).catch((error) => {
    if (!/unknown command/.test(error.message)) throw error;
  });
  await wait(300);
}

/** The rules of axe that the page breaks seriously, and where. */
export async function brokenRules(page) {
  await page.evaluate(fs.readFileSync(required.resolve("axe-core/axe.min.js"), "utf8"));
  return page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
    return violations.filter(({ impact }) => ["serious", "critical"].includes(impact)).map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).slice(0, 4).join(", ")}`);
  });
}
