// Legend of the colours of a field.
import { numberText } from "./ticks.js";

/** @typedef {{title: string, scale: string, ticks: [number, string][]}} Legend ticks: places, 0 to 1 upwards, and their texts */

const QUARTERS = [0, 0.25, 0.5, 0.75, 1];

/** @param {import("./scene.js").Scene} scene @param {string} field @returns {Legend | null} */
export function legendOf(scene, field) {
  const { legends, modes, fields } = scene.table;
  const stored = legends?.find((each) => each.key === field);
  if (stored || !field) return stored ?? null;
  /** @param {number} largest @returns {[number, string][]} */
  const quarters = (largest) => QUARTERS.map((u) => [u, numberText(u * largest, 3)]);
  if (modes?.length) {
    const mode = modes[scene.mode];
    if (field === "displacement") return { title: "displacement / largest", scale: field, ticks: quarters(1) };
    return { title: "von Mises, MPa per mm of the largest displacement", scale: field, ticks: quarters(mode?.largest ?? 0) };
  }
  if (field === "stress") return { title: "von Mises, MPa", scale: field, ticks: quarters(1e-6 * (fields.stress ?? 0)) };
  return { title: "displacement, mm", scale: field, ticks: quarters(1e3 * (fields.displacement ?? 0)) };
}

/** @param {import("./scene.js").Scene} scene @returns {[string, string][]} fields of the scene: key, name */
export function fieldsOf(scene) {
  const { legends, modes, fields } = scene.table;
  /** @type {[string, string][]} */ const found = [["", modes?.length ? "part" : "body"]];
  if (fields.displacement || modes?.length) found.push(["displacement", "displacement"]);
  if (fields.stress || modes?.some((mode) => mode.stress)) found.push(["stress", "von Mises stress"]);
  return [...found, .../** @type {[string, string][]} */ ((legends ?? []).map(({ key, title }) => [key, title.replace(/,[^,]*$/, "")]))];
}
