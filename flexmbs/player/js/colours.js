// Colours of bodies and fields. Fields are not shaded, so that their colours match the legend exactly.

export const BODIES = ["#3f7fb8", "#dd9150", "#4aa592", "#b76479", "#8f81c4", "#bfa548", "#7b8a96", "#6fb6dc"];
export const SCALES = /** @type {Record<string, string[]>} */ ({
  displacement: ["#e3e9ef", "#a9c6de", "#4b8bc0", "#1f5a94", "#123a63"],
  stress: ["#eef1f4", "#f8dcab", "#f2ab62", "#dc662f", "#a5241f", "#4f0f14"],
  damage: ["#eef1f4", "#cfd6ea", "#aba4d4", "#9466b5", "#7a2286", "#3f0a4f"],
});

/** @param {string} text #rrggbb @returns {number[]} 0 … 1 */
export const rgb = (text) => [1, 3, 5].map((k) => parseInt(text.slice(k, k + 2), 16) / 255);

/** @param {string} text a CSS colour, rgb(…) or #rrggbb @returns {number[]} */
export function computed(text) {
  if (text.startsWith("#")) return rgb(text);
  return (text.match(/[\d.]+/g) ?? ["0", "0", "0"]).slice(0, 3).map((c) => Number(c) / 255);
}

/** @param {string[]} scale @returns {Uint8Array} 256 colours, interpolated linearly in the scale, RGBA */
export function table(scale) {
  const stops = scale.map(rgb);
  const values = new Uint8Array(1024);
  for (let i = 0; i < 256; i++) {
    const u = (i / 255) * (stops.length - 1);
    const k = Math.min(Math.floor(u), stops.length - 2);
    for (let c = 0; c < 3; c++) values[4 * i + c] = Math.round(255 * ((1 - (u - k)) * stops[k][c] + (u - k) * stops[k + 1][c]));
    values[4 * i + 3] = 255;
  }
  return values;
}
