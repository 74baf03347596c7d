// Recording of the pictures and labels as WebM.

/** @typedef {{kind: "labels" | "triad" | "marks", name: string, left: number, top: number}} Label positions as fractions of the picture */

const FONT = 12, HIGH = 16, PAD = 4; // labels, page pixels; counterpart of player.css

export class Film {
  /** @param {HTMLCanvasElement} picture @param {number} ratio picture pixels per page pixel */
  constructor(picture, ratio) {
    this.picture = picture;
    this.ratio = ratio;
    this.canvas = document.createElement("canvas");
    this.canvas.width = picture.width;
    this.canvas.height = picture.height;
    this.ink = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d", { alpha: false }));
  }

  /** Adds the next picture, in the task that drew it. @param {Label[]} labels */
  add(labels) {
    const { ink, canvas, ratio } = this;
    ink.setTransform(1, 0, 0, 1, 0, 0);
    ink.drawImage(this.picture, 0, 0, canvas.width, canvas.height);
    ink.scale(ratio, ratio);
    for (const { kind, name, left, top } of labels) {
      const x = (left * canvas.width) / ratio, y = (top * canvas.height) / ratio, number = kind === "marks";
      ink.font = `${number ? 650 : 400} ${FONT}px system-ui, sans-serif`;
      const [a, b] = number ? [x + 7, y - 18] : kind === "triad" ? [x - 8, y - 8] : [x, y];
      ink.fillStyle = "rgb(255 255 255 / .85)";
      ink.fillRect(a, b, ink.measureText(name).width + 2 * PAD, HIGH);
      ink.fillStyle = "#1d2733";
      ink.fillText(name, a + PAD, b + FONT);
      if (!number) continue;
      ink.beginPath();
      ink.arc(x, y, 3.5, 0, 2 * Math.PI);
      ink.fill();
      ink.strokeStyle = "#fff";
      ink.stroke();
    }
  }
}

/**
 * @param {HTMLCanvasElement} canvas @param {(done: () => void) => void} play plays once and calls done at the end
 * @param {string} name of the file @returns {Promise<Blob>}
 */
export function filmed(canvas, play, name) {
  return new Promise((resolve, reject) => {
    if (!("MediaRecorder" in window) || !canvas.captureStream) return reject(new Error("this browser cannot record a canvas"));
    const kind = ["video/webm;codecs=vp9", "video/webm;codecs=vp8", "video/webm"].find((k) => MediaRecorder.isTypeSupported(k));
    if (!kind) return reject(new Error("this browser cannot record WebM"));
    const recorder = new MediaRecorder(canvas.captureStream(30), { mimeType: kind, videoBitsPerSecond: 8e6 });
    /** @type {Blob[]} */ const chunks = [];
    recorder.ondataavailable = (event) => chunks.push(event.data);
    recorder.onerror = () => reject(new Error("the recording failed"));
    recorder.onstop = () => {
      const film = new Blob(chunks, { type: "video/webm" });
      const link = document.createElement("a");
      link.href = URL.createObjectURL(film);
      link.download = `${name.replace(/[^\p{L}\p{N}-]+/gu, "-") || "motion"}.webm`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
      resolve(film);
    };
    recorder.start(500);
    play(() => recorder.stop());
  });
}
