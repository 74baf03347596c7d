// Places of names in the picture, so that they do not cover each other.

/** @typedef {{left: number, top: number, width: number, height: number}} Box pixels */

const GAP = 6; // pixels between a point and its name
/** Offsets of the near corner, in the order of preference: right below, right above, left below, left above, then further away. */
const SIDES = [[1, 1], [1, -1], [-1, 1], [-1, -1], [1, 2.6], [1, -2.6], [-1, 2.6], [-1, -2.6]];

/**
 * Box of each name beside its point, or null where all places are taken: the reader finds it by pointing.
 * @param {{x: number, y: number, width: number, height: number}[]} names points and sizes of their texts @param {number} width @param {number} height of the picture @returns {(Box | null)[]}
 */
export function apart(names, width, height) {
  /** @type {Box[]} */ const taken = [];
  return names.map(({ x, y, width: wide, height: high }) => {
    for (const [right, below] of SIDES) {
      const box = { left: right > 0 ? x + GAP : x - GAP - wide, top: below > 0 ? y + (below - 1) * high + 2 : y + (below + 1) * high - high - 2, width: wide, height: high };
      const inside = box.left >= 0 && box.left + wide <= width && box.top >= 0 && box.top + high <= height;
      if (inside && !taken.some((other) => overlapping(box, other))) {
        taken.push(box);
        return box;
      }
    }
    return null;
  });
}

/** @param {Box} a @param {Box} b */
export const overlapping = (a, b) => a.left < b.left + b.width && b.left < a.left + a.width && a.top < b.top + b.height && b.top < a.top + a.height;
