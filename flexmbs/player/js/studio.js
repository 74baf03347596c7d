// Page on which a model is edited: numbers of its file, findings while they change, runs, curves of the last ones, saving.
import { inflated } from "./arrays.js";
import { Explorer } from "./explorer.js";
import { Fields } from "./fields.js";
import { Follower, made } from "./plots.js";
import { Player } from "./player.js";
import { Scene } from "./scene.js";

/** @typedef {import("./fields.js").Parameter} Parameter */
/** @typedef {Record<string, number>} Values by path */
/** @typedef {{errors: string[], warnings: string[], freedoms: string[], scene: import("./scene.js").Table | null, disk: string}} Check */
/** @typedef {{run: number, running: boolean, fraction: number, text: string, problem: string, kept: number[]}} RunState */
/** @typedef {{values: Values, verdict: string, findings: string[], seconds: number, scene: import("./scene.js").Table, plots: import("./plots.js").Plots}} Result */
/** @typedef {{name: string, file: string, parameters: Parameter[], state: RunState, check: Check}} Opened */

const REST = 120; // ms after an edit before the check
const EVERY = 250; // ms between questions for the progress
const LISTED = 4; // runs, and changed values of each

class Studio {
  /** @param {Opened} opened @param {import("./scene.js").Table | null} start */
  constructor(opened, start) {
    this.file = opened.file;
    this.figure = /** @type {HTMLElement} */ (document.querySelector("figure.player"));
    this.blank = /** @type {HTMLElement} */ (this.figure.cloneNode(true)); // for the next scene
    /** @type {Player | undefined} */ this.player = undefined;
    /** @type {Explorer | undefined} */ this.explorer = undefined;
    this.follower = new Follower([0, 1]);
    this.fields = new Fields(this.part("parameters"), opened.parameters, () => this.edited());
    this.asking = false; // true while a check is made
    this.waiting = 0; // of the pause after an edit
    this.dirty = false; // true after an edit that is not checked yet
    this.ready = true;
    this.running = false;
    this.connect();
    this.found(opened.check);
    if (start) this.show(start);
    this.resume(opened.state);
  }

  /** @param {string} name @returns {HTMLElement} */
  part(name) {
    return /** @type {HTMLElement} */ (document.querySelector(`[data-studio="${name}"]`));
  }

  /** @param {string} name @returns {HTMLButtonElement} */
  button(name) {
    return /** @type {HTMLButtonElement} */ (this.part(name));
  }

  connect() {
    this.part("form").addEventListener("submit", (event) => event.preventDefault());
    this.button("run").addEventListener("click", () => this.run());
    this.button("stop").addEventListener("click", () => this.ask("stop"));
    this.button("save").addEventListener("click", () => this.save());
    this.button("undo").addEventListener("click", () => this.fields.undo());
    this.part("find").addEventListener("input", (event) => this.fields.find(/** @type {HTMLInputElement} */ (event.target).value));
    addEventListener("beforeunload", (event) => {
      if (Object.keys(this.fields.values()).length) event.preventDefault();
    });
  }

  /** @param {string} action @returns {Promise<any>} the answer; null with a line on the page if there is none */
  async ask(action) {
    return this.answer(fetch(action, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ values: this.fields.values(), file: this.file }) }));
  }

  /** @param {Promise<Response>} asked @returns {Promise<any>} */
  async answer(asked) {
    let problem = "flexmbs studio does not answer; start it again";
    try {
      const response = await asked;
      problem = `flexmbs studio answers ${response.status}`;
      const answer = await response.json();
      if (response.ok) return answer;
      problem = answer.problem;
    } catch {
      // told below
    }
    this.tell(problem, true);
    return null;
  }

  /** @param {string} text @param {boolean} [bad] */
  tell(text, bad = false) {
    const line = this.part("told");
    line.textContent = text;
    line.hidden = !text;
    line.classList.toggle("bad", bad);
  }

  /** A number has changed: the check follows after a pause, and after the one in progress. */
  edited() {
    this.dirty = true;
    this.allow();
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.check(), REST);
  }

  async check() {
    if (this.asking || !this.dirty) return;
    this.asking = true;
    this.dirty = false;
    this.part("findings").classList.add("busy");
    const answer = this.fields.problems.length ? null : await this.ask("check");
    this.asking = false;
    this.part("findings").classList.remove("busy");
    if (answer) {
      this.tell("");
      this.found(answer);
      if (answer.scene && !this.dirty) await this.show(answer.scene);
    } else if (this.fields.problems.length) this.found({ errors: this.fields.problems, warnings: [], freedoms: [], scene: null, disk: "" });
    if (this.dirty) this.check();
  }

  /** @param {Check} check */
  found({ errors, warnings, freedoms, disk }) {
    this.ready = !errors.length;
    const lines = [...errors.map((text) => made("p", "error", text)), ...warnings.map((text) => made("p", "warning", text))];
    if (this.ready) lines.unshift(made("p", "good", ["ready to run", ...freedoms.slice(0, 1)].join(": ")));
    if (disk) lines.push(made("p", "error", disk));
    this.part("findings").replaceChildren(...lines);
    this.fields.mark(errors);
    this.allow();
  }

  /** Enables the buttons that have an effect. */
  allow() {
    const changed = Object.keys(this.fields.values()).length > 0, wrong = this.fields.problems.length > 0;
    this.button("run").disabled = this.running || !this.ready || wrong;
    this.button("stop").hidden = !this.running;
    this.button("save").disabled = !changed || wrong;
    this.button("undo").disabled = !changed && !wrong;
  }

  /** @param {import("./scene.js").Table} table of the start or the motion of a run @param {boolean} [plays] */
  async show(table, plays = false) {
    const scene = await Scene.read(table), before = this.player;
    const root = before ? /** @type {HTMLElement} */ (this.blank.cloneNode(true)) : this.figure;
    if (before) this.figure.replaceWith(root);
    this.figure = root;
    before?.end();
    try {
      this.player = new Player(root, scene, document, before);
      Object.assign(root, { player: this.player });
      if (plays && !matchMedia("(prefers-reduced-motion: reduce)").matches) this.player.toggle();
    } catch (error) {
      const note = root.querySelector('[data-player="note"]');
      if (note) note.textContent = `No playback: ${error instanceof Error ? error.message : error}`;
      this.player = undefined;
    }
  }

  async run() {
    this.tell("");
    const answer = await this.ask("run");
    if (!answer) return;
    this.follow();
  }

  /** @param {RunState} state at the opening of the page: results of earlier runs, and one in progress */
  async resume(state) {
    for (const k of state.kept) await this.take(k, false);
    if (state.running) this.follow();
  }

  /** Shows the progress of a run, then its result. */
  async follow() {
    const going = this.part("going"), bar = /** @type {HTMLProgressElement} */ (going.querySelector("progress")), text = /** @type {HTMLElement} */ (going.querySelector("span"));
    this.running = true;
    going.hidden = false;
    this.allow();
    /** @type {RunState | null} */ let state = null;
    do {
      state = await this.answer(fetch("state"));
      if (!state) break;
      bar.value = state.fraction;
      text.textContent = `${Math.round(100 * state.fraction)} % ${state.text}`;
      if (state.running) await new Promise((done) => setTimeout(done, EVERY));
    } while (state.running);
    going.hidden = true;
    this.running = false;
    this.allow();
    if (state?.problem) this.tell(state.problem, true);
    else if (state) await this.take(state.run, true);
  }

  /** @param {number} k number of a run @param {boolean} plays */
  async take(k, plays) {
    /** @type {Result | null} */ const result = await this.answer(fetch(`runs/${k}`));
    if (!result) return;
    this.list(k, result);
    const { signals, data } = result.plots;
    if (signals) await this.draw(`run ${k}`, signals, await inflated(data), result.plots.span);
    if (plays) await this.show(result.scene, true);
  }

  /** @param {string} title @param {import("./explorer.js").Signals} signals @param {ArrayBuffer} buffer @param {import("./chart.js").Span} span */
  async draw(title, signals, buffer, span) {
    /** @type {HTMLElement} */ (document.getElementById("curves")).hidden = false;
    const form = /** @type {HTMLElement} */ (document.querySelector("[data-explorer]")), figure = /** @type {HTMLElement} */ (document.querySelector("[data-explored]"));
    this.follower.span = this.explorer ? [Math.min(span[0], this.follower.span[0]), Math.max(span[1], this.follower.span[1])] : span;
    if (this.explorer) this.explorer.renew(title, signals, buffer);
    else this.explorer = new Explorer(form, figure, signals, buffer, this.follower, title);
  }

  /** @param {number} k @param {Result} result in the list of runs, the last one first */
  list(k, { verdict, findings, seconds, values, scene }) {
    const row = made("li", ""), changed = Object.entries(values);
    row.append(made("span", `badge ${verdict.split(" ").at(-1)}`, verdict), made("b", "", `Run ${k}`));
    const some = changed.slice(0, LISTED).map(([path, value]) => `${path} = ${value}`);
    if (changed.length > LISTED) some.push(`and ${changed.length - LISTED} more`);
    row.append(made("span", "", [`${seconds.toPrecision(2)} s`, some.join(", ") || "values of the file"].join("; ")));
    if (findings.length) {
      const more = document.createElement("details");
      more.append(made("summary", "", findings.length === 1 ? "1 finding" : `${findings.length} findings`), ...findings.map((text) => made("p", "", text)));
      row.append(more);
    }
    const motion = made("button", "", "Show");
    motion.setAttribute("type", "button");
    motion.setAttribute("aria-label", `Show the motion of run ${k}`);
    motion.addEventListener("click", () => this.show(scene, true));
    row.prepend(motion);
    const list = this.part("runs");
    list.prepend(row);
    while (list.childElementCount > LISTED) list.lastElementChild?.remove();
  }

  async save() {
    const sent = this.fields.values(), answer = await this.ask("save");
    if (!answer) return;
    this.file = answer.file;
    this.fields.saved(answer.values, sent);
    this.tell(answer.message);
    this.allow();
  }
}

const given = document.getElementById("flexmbs-studio")?.textContent ?? "";
const first = document.getElementById("flexmbs-scene")?.textContent ?? "null";
Object.assign(window, { studio: new Studio(JSON.parse(given), JSON.parse(first)) });
