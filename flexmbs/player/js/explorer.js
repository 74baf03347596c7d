// Curves that the reader chooses: any signals against time or against another one. The address of the page keeps the choice.
import { decoded } from "./arrays.js";
import { CHART } from "./chart.js";
import { Plot, made } from "./plots.js";
import { XYPlot } from "./xyplot.js";

/** @typedef {import("./arrays.js").Stored} Stored */
/** @typedef {import("./plots.js").Follower} Follower */
/** @typedef {{name: string, unit: string, parts: string[], names: string[], values: Stored[]}} Quantity */
/** @typedef {{t: Stored, items: {name: string, quantities: Quantity[]}[]}} Signals */
/** @typedef {{curves: string[], against: string}} Choice full names; "" is time */
/** @typedef {{title: string, t: Float64Array, buffer: ArrayBuffer, known: Map<string, {unit: string, stored: Stored}>}} Signalled signals of a run; the title is "" if it is the only one */

/** @param {string} title @param {Signals} signals @param {ArrayBuffer} buffer @returns {Signalled} */
function signalled(title, signals, buffer) {
  const known = new Map();
  for (const item of signals.items)
    for (const { unit, names, values } of item.quantities) names.forEach((name, k) => known.set(name, { unit, stored: values[k] }));
  return { title, t: decoded(buffer, signals.t), buffer, known };
}

/** @param {string} hash of the address @returns {Choice | null} */
export function choiceOf(hash) {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  return given.has("curve") ? { curves: given.getAll("curve"), against: given.get("against") ?? "" } : null;
}

/** @param {Choice} choice @returns {string} the fragment of an address */
export function hashOf({ curves, against }) {
  const text = new URLSearchParams([...curves.map((name) => ["curve", name]), ...(against ? [["against", against]] : [])]);
  return `#${text}`;
}

const MOST_EARLIER = 3; // runs, as there are dashes

export class Explorer {
  /** @param {HTMLElement} form @param {HTMLElement} figure @param {Signals} signals @param {ArrayBuffer} buffer @param {Follower} follower @param {string} [title] of the run, where others follow */
  constructor(form, figure, signals, buffer, follower, title = "") {
    this.form = form;
    this.figure = figure;
    this.signals = signals;
    this.follower = follower;
    this.run = signalled(title, signals, buffer);
    /** @type {Signalled[]} */ this.earlier = []; // the latest first
    /** @type {Choice} */ this.choice = { curves: [], against: "" };
    this.build();
    addEventListener("hashchange", () => this.take(choiceOf(location.hash)));
    this.take(choiceOf(location.hash) ?? { curves: signals.items[0].quantities[0].names.slice(0, 3), against: "" });
  }

  /** Shows the curves of a further run, with those of the runs before. @param {string} title @param {Signals} signals @param {ArrayBuffer} buffer */
  renew(title, signals, buffer) {
    this.earlier = [this.run, ...this.earlier].slice(0, MOST_EARLIER);
    this.run = signalled(title, signals, buffer);
    this.signals = signals;
    this.form.replaceChildren();
    this.build();
    this.take(this.choice);
  }

  /** Lists of items, quantities and components, and the buttons. */
  build() {
    const { items } = this.signals;
    /** @param {string} label @param {string} className */
    const list = (label, className) => {
      const box = made("label", className, label), select = document.createElement("select");
      box.append(select);
      this.form.append(box);
      return select;
    };
    const [item, quantity, part] = [list("Item ", "wide"), list("Quantity ", ""), list("Component ", "")];
    /** @param {HTMLSelectElement} select @param {string[]} names */
    const fill = (select, names) => select.replaceChildren(...names.map((name, k) => new Option(name, String(k))));
    const chosen = () => items[Number(item.value)].quantities[Number(quantity.value)];
    const parts = () => {
      const { parts: own } = chosen();
      fill(part, own.length > 1 ? ["all", ...own] : [own[0] || "value"]);
    };
    const quantities = () => {
      const { quantities: own } = items[Number(item.value)];
      fill(quantity, own.map(({ name, unit }) => (unit ? `${name} [${unit}]` : name)));
      parts();
    };
    fill(item, items.map(({ name }) => name));
    item.addEventListener("change", quantities);
    quantity.addEventListener("change", parts);
    quantities();
    const named = () => {
      const { names } = chosen(), k = Number(part.value);
      return names.length > 1 && k > 0 ? [names[k - 1]] : names.length > 1 ? names : [names[0]];
    };
    /** @param {string} text @param {() => void} then */
    const button = (text, then) => {
      const made_ = made("button", "", text);
      made_.setAttribute("type", "button");
      made_.addEventListener("click", then);
      this.form.append(made_);
    };
    button("Add", () => this.set({ ...this.choice, curves: [...new Set([...this.choice.curves, ...named()])] }));
    button("Use as horizontal axis", () => this.set({ ...this.choice, against: named()[0] }));
    button("Clear", () => this.set({ curves: [], against: "" }));
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.chips = made("div", "chips");
    this.form.append(this.chips);
  }

  /** @param {Choice} choice of the reader, which the address keeps */
  set(choice) {
    this.take(choice);
    try {
      history.replaceState(null, "", hashOf(choice));
    } catch {
      // a page within a notebook has no address
    }
  }

  /** @param {Choice | null} choice names that are not in this run are left out */
  take(choice) {
    if (!choice) return;
    this.choice = { curves: choice.curves.filter((name) => this.run.known.has(name)), against: this.run.known.has(choice.against) ? choice.against : "" };
    this.show();
  }

  /** One panel for each unit, and the list of the choice. */
  show() {
    const { curves, against } = this.choice, { span } = this.follower, { known } = this.run;
    this.follower.clear(this.figure);
    this.figure.replaceChildren();
    /** @param {string} name */
    const unitOf = (name) => known.get(name)?.unit ?? "";
    const heading = unitOf(against) ? `${against} [${unitOf(against)}]` : against;
    for (const unit of new Set(curves.map(unitOf))) {
      const own = curves.map((name, colour) => ({ name, colour })).filter(({ name }) => unitOf(name) === unit);
      const rows = own.flatMap(({ name, colour }) => this.rows(name, colour));
      const title = unit ? `[${unit}]` : "[–]";
      this.follower.add(against
        ? new XYPlot(this.figure, { title, across: heading, curves: rows }, span)
        : new Plot(this.figure, { title, logarithmic: false, notes: [], curves: rows, bars: [] }, span));
    }
    /** @param {string} name @param {string} text @param {() => void} then */
    const chip = (name, text, then) => {
      const key = made("button", "chip", `${text} ×`);
      key.setAttribute("type", "button");
      key.setAttribute("aria-label", `Remove ${name}`);
      key.addEventListener("click", then);
      return key;
    };
    const found = curves.map((name) => chip(name, name, () => this.set({ curves: curves.filter((other) => other !== name), against })));
    if (against) found.push(chip(against, `horizontal: ${against}`, () => this.set({ curves, against: "" })));
    this.chips?.replaceChildren(...found);
  }

  /** @param {string} name @param {number} colour @returns the curve of each run that has the signal; those of earlier runs have other dashes */
  rows(name, colour) {
    const { against } = this.choice;
    return [this.run, ...this.earlier].flatMap((run, age) => {
      const [y, x] = [name, against].map((each) => run.known.get(each)).map((each) => each && decoded(run.buffer, each.stored));
      if (!y || (against && !x)) return [];
      return [{ name: run.title ? `${name}, ${run.title}` : name, colour: this.earlier.length ? (colour % CHART.colours) + CHART.colours * age : colour, t: run.t, x: x ?? run.t, y, stepped: false, dashed: false }];
    });
  }
}
