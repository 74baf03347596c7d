// Arrays of the scene: base64, deflate, bytes sorted by significance, components stored separately, steps. Counterpart of arrays.py.

/** @typedef {{kind: string, shape: number[], at: number, step?: number, offset?: number[], delta?: boolean}} Stored */

/** @param {string} text base64 @returns {Promise<ArrayBuffer>} the bytes of all arrays */
export async function inflated(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

/** @param {ArrayBuffer} buffer @param {Stored} stored @returns {Int16Array | Int32Array | Float32Array | Uint8Array} as stored */
export function numbers(buffer, stored) {
  const width = { i2: 2, i4: 4, f4: 4, u1: 1 }[stored.kind] ?? 0;
  const n = stored.shape.reduce((a, b) => a * b, 1);
  const planes = new Uint8Array(buffer, stored.at, n * width);
  const bytes = new Uint8Array(n * width);
  const components = stored.shape.at(-1) || 1, rows = n / components;
  for (let b = 0; b < width; b++)
    for (let c = 0, k = b * n; c < components; c++) for (let i = 0; i < rows; i++, k++) bytes[(i * components + c) * width + b] = planes[k];
  const Kind = { i2: Int16Array, i4: Int32Array, f4: Float32Array, u1: Uint8Array }[stored.kind];
  if (!Kind) throw new Error(`unknown kind of array ${stored.kind}`);
  const values = new Kind(bytes.buffer);
  if (stored.delta) {
    const row = n / Math.max(stored.shape[0], 1);
    for (let i = row; i < n; i++) values[i] += values[i - row];
  }
  return values;
}

/** @param {ArrayBuffer} buffer @param {Stored} stored @returns {Float64Array} offset + step · integers */
export function decoded(buffer, stored) {
  const given = numbers(buffer, stored);
  const offset = stored.offset ?? [0];
  const step = stored.step ?? 1;
  const values = new Float64Array(given.length);
  for (let i = 0; i < given.length; i++) values[i] = step * given[i] + offset[i % offset.length];
  return values;
}
