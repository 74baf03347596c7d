// How fine pictures are while they move: coarser where the card is late. What stands is drawn in full.

/** @typedef {{fine: boolean, scale: number, outlined: boolean}} Level fine: four samples a pixel; scale: of width and height; outlined: lines at edges */

/** @type {Level[]} */ export const LEVELS = [
  { fine: true, scale: 1, outlined: true },
  { fine: false, scale: 1, outlined: true },
  { fine: false, scale: 0.6, outlined: false },
  { fine: false, scale: 0.45, outlined: false },
];
export const CALM = 400; // ms without a new picture, after which one stands
export const DUE = 10; // ms in which the card should be done with a picture
const SLOW = 17.4; // ms between pictures, a little more than those of most screens
const WINDOW = 300; // ms of pictures that are judged together
const APART = 1000; // ms between pictures of different motions
const PATIENCE = 5000; // ms of pictures in time, before a finer level is tried

export class Quality {
  constructor() {
    this.level = 0;
    this.sharp = false; // whether the size has to be full, of films
    this.last = -Infinity;
    this.patience = PATIENCE;
    this.good = 0; // ms in time at this level
    this.tried = false; // whether this level was tried since the coarser one was in time
    this.passed = 0; // ms of the pictures that are judged
    this.pictures = 0;
    this.asked = 0; // how many of them were judged,
    this.late = 0; // and found late
  }

  restart() {
    this.passed = this.pictures = this.late = this.asked = 0;
  }

  /** @param {boolean} late whether the card was not done with a picture when it was due */
  judge(late) {
    this.asked += 1;
    this.late += late ? 1 : 0;
  }

  /** @param {number} now ms @returns {Level} of the next picture of a motion */
  next(now) {
    const passed = now - this.last;
    this.last = now;
    if (passed > APART) this.restart();
    else {
      this.passed += passed;
      this.pictures += 1;
      if (this.passed >= WINDOW) this.decide();
    }
    return LEVELS[Math.min(this.level, this.sharp ? 1 : LEVELS.length - 1)];
  }

  decide() {
    const slow = this.passed > SLOW * this.pictures && 2 * this.late > this.asked;
    this.good = slow ? 0 : this.good + this.passed;
    if (slow && this.level + 1 < LEVELS.length) {
      if (this.tried) this.patience *= 4;
      this.level += 1;
      this.tried = false;
    } else if (this.level && this.good > this.patience) {
      this.level -= 1;
      this.good = 0;
      this.tried = true;
    }
    this.restart();
  }
}
