// Multisampling with four samples per pixel: pictures are drawn into separate buffers, then resolved into the canvas.

const SAMPLES = 4;

/** @typedef {{drawn: WebGLFramebuffer, between: WebGLFramebuffer | null, buffers: WebGLRenderbuffer[], width: number, height: number}} Sampled */

/** @param {WebGL2RenderingContext} gl @param {Sampled | null} before @returns {Sampled} buffers of the canvas size; the previous ones if they have it */
export function sampled(gl, before) {
  const { width, height } = gl.canvas;
  if (before?.width === width && before.height === height) return before;
  if (before) {
    for (const each of before.buffers) gl.deleteRenderbuffer(each);
    for (const each of [before.drawn, before.between]) gl.deleteFramebuffer(each);
  }
  /** @type {WebGLRenderbuffer[]} */ const buffers = [];
  /** @param {number} samples @param {[number, number][]} attached format and place @returns {WebGLFramebuffer} */
  const frame = (samples, attached) => {
    const made = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, made);
    for (const [format, place] of attached) {
      const buffer = gl.createRenderbuffer();
      buffers.push(buffer);
      gl.bindRenderbuffer(gl.RENDERBUFFER, buffer);
      gl.renderbufferStorageMultisample(gl.RENDERBUFFER, samples, format, width, height);
      gl.framebufferRenderbuffer(gl.FRAMEBUFFER, place, gl.RENDERBUFFER, buffer);
    }
    return made;
  };
  const drawn = frame(SAMPLES, [[gl.RGB8, gl.COLOR_ATTACHMENT0], [gl.DEPTH_COMPONENT24, gl.DEPTH_ATTACHMENT]]);
  const made = { drawn, between: null, buffers, width, height };
  while (gl.getError() !== gl.NO_ERROR);
  resolve(gl, made);
  if (gl.getError() === gl.NO_ERROR) return made;
  return { ...made, between: frame(0, [[gl.RGB8, gl.COLOR_ATTACHMENT0]]) }; // samples resolve only into equal formats, and the canvas has another one
}

/** @param {WebGL2RenderingContext} gl @param {Sampled} from into the canvas */
export function resolve(gl, from) {
  const { drawn, between, width, height } = from;
  for (const [source, target] of between ? [[drawn, between], [between, null]] : [[drawn, null]]) {
    gl.bindFramebuffer(gl.READ_FRAMEBUFFER, source);
    gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, target);
    gl.blitFramebuffer(0, 0, width, height, 0, 0, width, height, gl.COLOR_BUFFER_BIT, gl.NEAREST);
  }
  gl.bindFramebuffer(gl.FRAMEBUFFER, null);
}
