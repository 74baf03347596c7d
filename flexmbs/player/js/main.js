// Starts the player and the curves of the page. If the player cannot start, the static picture remains.
import { Explorer } from "./explorer.js";
import { followed } from "./plots.js";
import { Player } from "./player.js";
import { reached } from "./reach.js";
import { listRegions } from "./regions.js";
import { Scene } from "./scene.js";

/** @typedef {HTMLElement & {player?: Player, start?: () => void}} Stage */

async function start() {
  reached(".scroll, figure.field");
  const plots = document.getElementById("flexmbs-plots")?.textContent;
  if (plots) explore(await followed(plots));
  const roots = /** @type {Stage[]} */ ([...document.querySelectorAll(".player")]);
  const text = document.getElementById("flexmbs-scene")?.textContent;
  if (!roots.length || !text) return;
  const main = roots.find((root) => !root.dataset.scene) ?? roots[0];
  try {
    const scene = await Scene.read(JSON.parse(text));
    main.player = new Player(main, scene, document);
    for (const root of roots) if (root !== main) later(root, scene);
    picks(roots);
    listRegions(main, main.player);
    document.dispatchEvent(new CustomEvent("flexmbs:ready"));
  } catch (error) {
    failed(main, error);
  }
}

/** Builds the choice of curves if the page has one. @param {Awaited<ReturnType<typeof followed>>} from */
function explore({ stored, buffer, follower }) {
  const form = /** @type {HTMLElement | null} */ (document.querySelector("[data-explorer]"));
  const figure = /** @type {HTMLElement | null} */ (document.querySelector("[data-explored]"));
  if (form && figure && stored.signals) new Explorer(form, figure, stored.signals, buffer, follower);
}

/** Starts the player of a single body when it scrolls into view. @param {Stage} root @param {Scene} scene */
function later(root, scene) {
  root.classList.add("live"); // from now on it occupies its place on the page
  root.start = () => {
    observer.disconnect();
    try {
      root.player ??= new Player(root, scene.alone(root.dataset.scene ?? ""), new EventTarget());
    } catch (error) {
      failed(root, error);
    }
  };
  const observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && root.start?.(), { rootMargin: "300px" });
  observer.observe(root);
}

/** @param {Stage} root @param {unknown} error */
function failed(root, error) {
  const note = root.querySelector('[data-player="note"]');
  if (note) note.textContent = `No playback: ${error instanceof Error ? error.message : error}`;
  root.classList.remove("live");
}

/** Turns pictures of modes into buttons that show them in the player. @param {Stage[]} roots */
function picks(roots) {
  for (const figure of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-pick]"))) {
    const root = roots.find((each) => (each.dataset.scene ?? "") === (figure.dataset.of ?? ""));
    const picture = figure.querySelector("img");
    if (!root || !picture) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "pick";
    picture.replaceWith(button);
    button.append(picture);
    button.addEventListener("click", () => {
      root.start?.();
      root.player?.choose(Number(figure.dataset.pick), figure.dataset.field ?? "displacement");
      root.scrollIntoView({ block: "center" });
    });
  }
}

start();
