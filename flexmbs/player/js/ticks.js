// Axis limits, ticks and tick labels. Counterpart of page/curve_panels.py.

const CLIPPED = 5, TAIL = 0.01, MARGIN = 0.06;
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** @param {ArrayLike<number>} values @param {boolean} [whole] peaks included @returns {[number, number]} the ends of an axis */
export function limits(values, whole = false) {
  const y = Float64Array.from(values).filter(Number.isFinite).sort();
  if (!y.length) return [0, 1];
  let low = y[0], high = y[y.length - 1];
  const [a, b] = [y[Math.floor(TAIL * (y.length - 1))], y[Math.ceil((1 - TAIL) * (y.length - 1))]];
  if (!whole && b > a && high - low > CLIPPED * (b - a)) [low, high] = [Math.max(low, a - 0.5 * (b - a)), Math.min(high, b + 0.5 * (b - a))];
  if (high === low) return [low - (0.4 * Math.abs(low) || 1), high + (0.4 * Math.abs(high) || 1)];
  return [low - MARGIN * (high - low), high + MARGIN * (high - low)];
}

/** @param {number} low @param {number} high @param {number} most intervals @returns {number[]} multiples of 1, 2 or 5 times a power of ten */
export function marks(low, high, most) {
  const raw = (high - low) / most;
  if (!(raw > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].find((k) => k * power >= raw * (1 - 1e-9)) ?? 10) * power;
  const first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(last - first + 1, 0) }, (_, k) => (first + k) * step);
}

/** @param {number} low @param {number} high @returns {number} power of ten omitted from the labels */
export function commonPower(low, high) {
  const largest = Math.max(Math.abs(low), Math.abs(high));
  return largest === 0 || (largest >= 1e-2 && largest < 1e5) ? 1 : 10 ** (3 * Math.floor(Math.log10(largest) / 3));
}

/** @param {number} exponent @returns {string} 10⁻³ */
export function powerOfTen(exponent) {
  return `10${[...String(Math.abs(exponent))].reduce((text, digit) => text + SUPERSCRIPTS[Number(digit)], exponent < 0 ? "⁻" : "")}`;
}

/** @param {number} value @param {number} [digits] @returns {string} few digits, powers of ten as on the rest of the page */
export function numberText(value, digits = 5) {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const exponent = Math.floor(Math.log10(Math.abs(value)));
  if (exponent >= -4 && exponent < 6) return String(Number(value.toPrecision(digits))).replace("-", "−");
  const [mantissa, power] = value.toExponential(Math.min(digits - 1, 3)).split("e");
  return `${mantissa.replace("-", "−")}·${powerOfTen(Number(power))}`;
}
