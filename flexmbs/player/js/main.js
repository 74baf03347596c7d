// Starts the player of the page. Where it cannot start, the still picture stays.
import { Player } from "./player.js";
import { Scene } from "./scene.js";

async function start() {
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
