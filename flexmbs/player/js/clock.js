// Clock of a page: it plays, and announces the time to the document by the event flexmbs:time.

export const SPEEDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100];
const LASTING = 5; // s, default duration of a playback

export class Clock {
  /** @param {number} start @param {number} end @param {EventTarget} [told] @param {number} [instants] targets of single steps */
  constructor(start, end, told, instants = 2) {
    this.start = start;
    this.end = end;
    this.instants = instants;
    this.time = start;
    this.told = told;
    this.playing = false;
    this.loop = true;
    this.speed = fittingSpeed(end - start);
    this.last = 0;
  }

  /** @param {number} instant @returns {number} its time */
  timeOf(instant) {
    return this.instants < 2 ? this.start : this.start + ((this.end - this.start) * instant) / (this.instants - 1);
  }

  /** @returns {number} index of the current instant, fractional */
  get instant() {
    return this.end > this.start ? ((this.time - this.start) / (this.end - this.start)) * (this.instants - 1) : 0;
  }

  /** @param {number} time s */
  seek(time) {
    const inside = Math.min(Math.max(time, this.start), this.end);
    if (inside === this.time) return;
    this.time = inside;
    this.tell();
  }

  tell() {
    this.told?.dispatchEvent(new CustomEvent("flexmbs:time", { detail: { time: this.time, playing: this.playing } }));
  }

  /** @param {boolean} playing @param {number} now ms */
  play(playing, now) {
    if (playing && this.time >= this.end) this.time = this.start;
    this.playing = playing && this.end > this.start;
    this.last = now;
    this.tell();
  }

  /** @param {number} now ms @returns {boolean} true if the time changed */
  tick(now) {
    if (!this.playing) return false;
    const passed = Math.min(Math.max(now - this.last, 0), 250) / 1000; // bounded, for example after a pause of the page
    this.last = now;
    let time = this.time + this.speed * passed;
    if (time >= this.end) {
      if (this.loop) time = this.start + ((time - this.start) % (this.end - this.start));
      else [time, this.playing] = [this.end, false];
    }
    this.time = time;
    this.tell();
    return true;
  }
}

/** @param {number} duration s @returns {number} real time if it lasts 1 … 20 s, else about `LASTING` */
export function fittingSpeed(duration) {
  if (duration >= 1 && duration <= 20) return 1;
  const wanted = Math.max(duration, 1e-9) / LASTING;
  return SPEEDS.reduce((best, s) => (Math.abs(Math.log(s / wanted)) < Math.abs(Math.log(best / wanted)) ? s : best), 1);
}
