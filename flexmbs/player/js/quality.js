// Resolution of moving pictures: coarser if the graphics card is late. Static pictures are drawn at full resolution.

/** @typedef {{fine: boolean, scale: number, outlined: boolean}} Level fine: four samples a pixel; scale: of width and height; outlined: lines at edges */

/** @type {Level[]} */ export const LEVELS = [
  { fine: true, scale: 1, outlined: true },
  { fine: false, scale: 1, outlined: true },
  { fine: false, scale: 0.6, outlined: false },
  { fine: false, scale: 0.45, outlined: false },
];
export const CALM = 400; // ms without a new picture, after which the picture is static
export const DUE = 10; // ms within which the card should finish a picture
const SLOW = 17.4; // ms between pictures, slightly more than the refresh interval of most screens
const WINDOW = 300; // ms, interval that is judged at once
const APART = 1000; // ms without pictures that separate two motions
const PATIENCE = 5000; // ms of timely pictures before a finer level is tried

export class Quality {
  constructor() {
    this.level = 0;
    this.sharp = false; // true while recording, which needs the full size
    this.last = -Infinity;
    this.patience = PATIENCE;
    this.good = 0; // ms of timely pictures at this level
    this.tried = false; // true if this level was tried since the coarser one was timely
    this.passed = 0; // ms of the judged pictures
    this.pictures = 0;
    this.asked = 0; // number of judged pictures,
    this.late = 0; // and of late ones
  }

  restart() {
    this.passed = this.pictures = this.late = this.asked = 0;
  }

  /** @param {boolean} late true if the card did not finish a picture in time */
  judge(late) {
    this.asked += 1;
    this.late += late ? 1 : 0;
  }

  /** @param {number} now ms @returns {Level} level of the next picture of a motion */
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
