// Number fields and sliders of parameters, in groups that open.
import { made } from "./plots.js";
import { numberText } from "./ticks.js";

/** @typedef {{item: string, path: string, value: number, unit: string, text: string, range: [number, number, boolean]}} Parameter range: low, high, logarithmic */

const PLACES = 400; // of a slider
const OPENED = 12; // parameters of groups that are open at first

/** @param {[number, number, boolean]} range @param {number} u 0 … 1 @returns {number} value with few digits */
export function valueOf([low, high, log], u) {
  if (log) return Number((low * (high / low) ** u).toPrecision(3));
  const digits = Math.max(2 - Math.floor(Math.log10(high - low)), 0);
  return Number((low + u * (high - low)).toFixed(Math.min(digits, 100)));
}

/** @param {[number, number, boolean]} range @param {number} value @returns {number} 0 … 1 */
export function placeOf([low, high, log], value) {
  const u = log ? (value > 0 ? Math.log(value / low) / Math.log(high / low) : 0) : (value - low) / (high - low);
  return Math.min(Math.max(u, 0), 1);
}

/** @param {string} text @returns {number} NaN if it is not a number; a comma is a decimal point */
export function numberOf(text) {
  const plain = text.trim().replace("−", "-").replace(/^([^.,]*),([^.,]*)$/, "$1.$2");
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) ? Number(plain) : NaN;
}

class Field {
  /** @param {Parameter} parameter @param {() => void} changed */
  constructor(parameter, changed) {
    this.parameter = parameter;
    this.value = parameter.value;
    this.changed = changed;
    const { path, item, unit, text, range } = parameter, short = path.slice(item.length + 1) || path;
    this.root = made("div", "field");
    this.root.title = `${path}${text ? `: ${text}` : ""}`;
    const label = made("label", "name", short);
    this.box = document.createElement("input");
    this.box.id = `value ${path}`.replaceAll(" ", "_");
    label.setAttribute("for", this.box.id);
    Object.assign(this.box, { type: "text", inputMode: "decimal", autocomplete: "off", spellcheck: false });
    this.slider = document.createElement("input");
    Object.assign(this.slider, { type: "range", min: "0", max: String(PLACES), step: "any" });
    this.slider.setAttribute("aria-label", `${path}, slider`);
    this.back = made("button", "back", "↺");
    this.back.setAttribute("type", "button");
    this.back.setAttribute("aria-label", `Undo ${path}`);
    this.root.append(label, this.box, made("span", "unit", unit), this.slider, this.back);
    this.box.addEventListener("input", () => this.take(numberOf(this.box.value)));
    this.slider.addEventListener("input", () => {
      this.take(valueOf(range, Number(this.slider.value) / PLACES));
      this.box.value = String(this.value);
    });
    this.back.addEventListener("click", () => this.set(parameter.value));
    this.set(parameter.value, false);
  }

  /** @param {number} value @param {boolean} [told] */
  set(value, told = true) {
    this.box.value = String(value);
    this.take(value, told);
  }

  /** @param {number} value NaN if the box has no number @param {boolean} [told] */
  take(value, told = true) {
    this.value = value;
    if (Number.isFinite(value)) {
      const place = PLACES * placeOf(this.parameter.range, value);
      if (document.activeElement !== this.slider) this.slider.value = String(place);
      this.slider.setAttribute("aria-valuetext", `${numberText(value)} ${this.parameter.unit}`);
    }
    this.root.classList.toggle("changed", value !== this.parameter.value);
    this.back.hidden = value === this.parameter.value;
    if (told) this.changed();
  }

  /** @returns {boolean} true for positions and shapes, which follow masses and stiffnesses */
  get geometric() {
    const { path, item } = this.parameter;
    return /^(frames|shapes|axis|normal|direction)\./.test(path.slice(item.length + 1));
  }

  /** @returns {string} */
  get problem() {
    return Number.isFinite(this.value) ? "" : `${this.parameter.path}: '${this.box.value}' is not a number; type one such as 0.5 or 2e-3`;
  }

  /** @param {boolean} wrong */
  mark(wrong) {
    this.root.classList.toggle("wrong", wrong);
    this.box.setAttribute("aria-invalid", String(wrong));
  }
}

export class Fields {
  /** @param {HTMLElement} root @param {Parameter[]} parameters @param {() => void} changed */
  constructor(root, parameters, changed) {
    this.root = root;
    this.fields = parameters.map((parameter) => new Field(parameter, changed));
    /** @type {Map<string, Field[]>} */ const items = new Map();
    for (const field of this.fields) items.set(field.parameter.item, [...(items.get(field.parameter.item) ?? []), field]);
    let room = OPENED;
    this.groups = [...items].map(([name, all]) => {
      const fields = [...all].sort((a, b) => Number(a.geometric) - Number(b.geometric));
      const group = document.createElement("details");
      group.append(made("summary", "", name), ...fields.map((field) => field.root));
      group.open = room > 0;
      room -= fields.length;
      return { group, name, fields };
    });
    root.replaceChildren(...this.groups.map(({ group }) => group));
    if (!parameters.length) root.append(made("p", "note", "The model has no numbers that can vary."));
  }

  /** @returns {Record<string, number>} numbers that differ from those of the file, by path */
  values() {
    return Object.fromEntries(this.fields.filter(({ value, parameter }) => value !== parameter.value && Number.isFinite(value)).map(({ value, parameter }) => [parameter.path, value]));
  }

  /** @returns {string[]} a line for each box without a number */
  get problems() {
    return this.fields.map(({ problem }) => problem).filter(Boolean);
  }

  undo() {
    for (const field of this.fields) if (field.value !== field.parameter.value) field.set(field.parameter.value);
  }

  /** @param {Record<string, number>} values of the file @param {Record<string, number>} sent numbers that were saved; later ones stay changes */
  saved(values, sent) {
    for (const field of this.fields) {
      const { path, value: before } = field.parameter;
      const same = field.value === (sent[path] ?? before);
      field.parameter.value = values[path] ?? before;
      if (same) field.set(field.parameter.value, false);
      else field.take(field.value, false);
    }
  }

  /** @param {string} text shows the parameters whose paths contain it */
  find(text) {
    const wanted = text.trim().toLowerCase();
    for (const { group, fields } of this.groups) {
      for (const { root, parameter } of fields) root.hidden = !parameter.path.toLowerCase().includes(wanted);
      group.hidden = fields.every(({ root }) => root.hidden);
      if (wanted) group.open = !group.hidden;
    }
  }

  /** @param {string[]} errors marks the parameters that they begin with */
  mark(errors) {
    for (const field of this.fields) {
      const { path } = field.parameter;
      field.mark(errors.some((line) => path === line.split(": ")[0] || path.startsWith(`${line.split(": ")[0]}.`)));
    }
  }
}
