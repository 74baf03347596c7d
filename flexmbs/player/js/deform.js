// Current displacement and value of each node of a surface from a few shapes; four numbers per node for the graphics card.
// A picture takes at most 2·10⁶ products, a few ms; software rendering would take ten times as long for them.

/** @typedef {{values: Int16Array, step: number, count: number}} Columns integers with a step: ``count`` shapes, each (nodes, components) */

export const UNKNOWN = -1; // value of nodes without a value

/** @param {Float32Array} out (nodes, 4) @param {Columns} shapes @param {number[]} factors writes the displacement u = step Σ y_k c_k to the first three */
export function displace(out, { values, step, count }, factors) {
  const nodes = out.length / 4;
  for (let k = 0; k < Math.min(count, factors.length); k++) {
    const f = step * factors[k];
    for (let n = 0, i = 3 * k * nodes; n < 4 * nodes; n += 4, i += 3) {
      out[n] += f * values[i];
      out[n + 1] += f * values[i + 1];
      out[n + 2] += f * values[i + 2];
    }
  }
}

/** @param {Float32Array} out (nodes, 4) whose last components become |u| divided by the largest @param {number} largest */
export function sizes(out, largest) {
  for (let n = 0; n < out.length; n += 4) out[n + 3] = Math.sqrt(out[n] * out[n] + out[n + 1] * out[n + 1] + out[n + 2] * out[n + 2]) / largest; // hypot takes ten times as long
}

/**
 * Writes the von Mises stress divided by the largest to the last components, from σ = step Σ y_k c_k with six components.
 * @param {Float32Array} out (nodes, 4) @param {Columns} shapes @param {number[]} factors @param {number} largest
 */
export function vonMises(out, { values, step, count }, factors, largest) {
  const length = (6 * out.length) / 4, sum = new Float32Array(length);
  for (let k = 0; k < Math.min(count, factors.length); k++) {
    const f = (step * factors[k]) / largest, first = k * length;
    for (let i = 0; i < length; i++) sum[i] += f * values[first + i];
  }
  for (let n = 3, i = 0; n < out.length; n += 4, i += 6) {
    const a = sum[i] - sum[i + 1], b = sum[i + 1] - sum[i + 2], c = sum[i + 2] - sum[i];
    const shear = sum[i + 3] * sum[i + 3] + sum[i + 4] * sum[i + 4] + sum[i + 5] * sum[i + 5];
    out[n] = Math.sqrt(0.5 * (a * a + b * b + c * c) + 3 * shear);
  }
}

/** @param {Float32Array} out (nodes, 4) whose last components become the given values @param {Columns} given one component, -32768 where unknown */
export function give(out, { values, step }) {
  for (let n = 0; n < values.length; n++) out[4 * n + 3] = values[n] < -32767 ? UNKNOWN : step * Math.max(values[n], 0);
}
