// A film of the canvas, WebM.

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
