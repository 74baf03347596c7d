// Starts the player and the curves of the page. Where the player cannot start, the still picture stays.
import { followed } from "./plots.js";
import { Player } from "./player.js";
import { reached } from "./reach.js";
import { Scene } from "./scene.js";

async function start() {
  reached(".scroll, figure.field");
  const plots = document.getElementById("flexmbs-plots")?.textContent;
  if (plots) await followed(plots);
  const root = /** @type {HTMLElement & {player?: Player} | null} */ (document.querySelector(".player"));
  const text = document.getElementById("flexmbs-scene")?.textContent;
  if (!root || !text) return;
  try {
    root.player = new Player(root, await Scene.read(JSON.parse(text)));
    document.dispatchEvent(new CustomEvent("flexmbs:ready"));
  } catch (error) {
    const note = root.querySelector('[data-player="note"]');
    if (note) note.textContent = `No playback: ${error instanceof Error ? error.message : error}`;
    root.classList.remove("live");
  }
}

start();
