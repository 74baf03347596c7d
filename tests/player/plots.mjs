// The plots of a page under a real mouse
import { resized } from "./opened.mjs";

export default async (page, seen) => {
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
    const svg = document.querySelector("#contacts .plot svg");
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
  seen.selected = await page.evaluate(() => Number(document.querySelector("#contacts .plot svg .select").getAttribute("width")));
  await page.mouse.up();
  seen.zoomed = await state();
  await page.mouse.click(...at(0.5), { count: 2 });
  seen.reset = await state();
  await page.click("#contacts .plot button.key");
  seen.hidden = await state();
  await page.click("#contacts .plot button.key");
  seen.shown = await state();
  if (await page.$("[data-seek]")) {
    await page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));
    seen.event = await page.evaluate(() => Number(document.querySelector("[data-seek]").dataset.seek));
    await page.evaluate(() => document.querySelector("[data-seek]").scrollIntoView({ block: "center" }));
    await page.click("[data-seek]");
    seen.jumped = await state();
  }
  await resized(page, 390, 844);
  seen.phone = await page.evaluate(() => ({ scroll: document.documentElement.scrollWidth, width: innerWidth, plot: document.querySelector("#contacts .plot svg").getBoundingClientRect().width, text: parseFloat(getComputedStyle(document.querySelector(".plot svg .tick")).fontSize) }));
};
