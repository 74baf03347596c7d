// WebGL 2: meshes, tables of nodal displacements and values, and lines of constant width.
import { resolve, sampled } from "./samples.js";
import { LINES, SURFACE } from "./shaders.js";
import { multiplied } from "./vectors.js";

/** @typedef {import("./geometry.js").Mesh} Mesh */
/** @typedef {{vao: WebGLVertexArrayObject, count: number, closed: boolean}} Drawable closed: its back faces are never visible */
/** @typedef {{texture: WebGLTexture, numbers: Float32Array, rows: number}} Moved displacement and value of each node, padded to full rows */
/**
 * Line segments with four corners each; ``room``: capacity of the index.
 * @typedef {{vao: WebGLVertexArrayObject, count: number, data: WebGLBuffer, index: WebGLBuffer, room: number}} Segments
 *
 * @typedef {object} Appearance
 * @property {Float32Array} model
 * @property {number[]} [colour] RGBA
 * @property {Moved | null} [moved] of its nodes
 * @property {number} [exaggeration]
 * @property {boolean} [coloured] true to use the values of the nodes
 * @property {number} [width] pixels, of lines
 * @property {boolean} [own] true if lines have individual colours
 * @property {boolean} [single] true if transparent surfaces show only their nearest faces
 * @property {boolean} [through] true to draw over everything
 * @property {number} [lift] depth by which lines are in front of faces, in clip space
 * @property {number} [nearer] steps of the depth by which it wins against coplanar faces of others
 * @property {number} [object] number by which a picture of the objects shows it; without a number it is not in that picture
 */

const WIDE = 1024; // texels per row
const STEPS = 3; // units of the depth between objects with coplanar faces: above the rounding of their depths
const LEAST_NEAR = 64; // most different depths of coplanar faces

export class Renderer {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: false });
    if (!gl) throw new Error("WebGL 2 is not available");
    this.gl = gl;
    this.canvas = canvas;
    this.ratio = 1; // canvas pixels per page pixel
    /** @type {Float32Array} */ this.seen = new Float32Array(16); // world → clip
    this.fine = true;
    this.picking = false; // true while a picture of the objects is drawn
    /** @type {WebGLFramebuffer | null} */ this.picked = null;
    /** @type {import("./samples.js").Sampled | null} */ this.sampled = null;
    this.surface = program(gl, SURFACE, ["position", "normal", "node"]);
    this.lines = program(gl, LINES, ["corner", "start", "end", "ends", "tint"]);
    this.nothing = this.moved(1);
    /** @type {WebGLTexture | null} */ this.scale = null;
  }

  /** @param {number} nodes @returns {Moved} table without displacements */
  moved(nodes) {
    const gl = this.gl, rows = Math.ceil(nodes / WIDE), texture = gl.createTexture();
    const made = { texture, numbers: new Float32Array(4 * WIDE * rows), rows };
    gl.activeTexture(gl.TEXTURE0); // not the unit of the colour scale
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32F, WIDE, rows, 0, gl.RGBA, gl.FLOAT, made.numbers);
    for (const side of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, side, gl.NEAREST);
    return made;
  }

  /** @param {Moved} moved whose numbers are uploaded */
  take({ texture, numbers, rows }) {
    const gl = this.gl;
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, WIDE, rows, gl.RGBA, gl.FLOAT, numbers);
  }

  /** @param {() => void} draw invisible objects @returns {WebGLQuery} tests their visibility, see `answer` */
  ask(draw) {
    const gl = this.gl;
    const query = gl.createQuery();
    gl.colorMask(false, false, false, false);
    gl.beginQuery(gl.ANY_SAMPLES_PASSED, query);
    draw();
    gl.endQuery(gl.ANY_SAMPLES_PASSED);
    gl.colorMask(true, true, true, true);
    return query;
  }

  /** @param {WebGLQuery} query @returns {boolean | null} null while pending */
  answer(query) {
    const gl = this.gl;
    if (!gl.getQueryParameter(query, gl.QUERY_RESULT_AVAILABLE)) return null;
    const passed = Boolean(gl.getQueryParameter(query, gl.QUERY_RESULT));
    gl.deleteQuery(query);
    return passed;
  }

  /** @param {Uint8Array} colours 256, RGBA */
  setScale(colours) {
    const gl = this.gl;
    this.scale ??= gl.createTexture();
    gl.activeTexture(gl.TEXTURE2);
    gl.bindTexture(gl.TEXTURE_2D, this.scale);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, colours);
    for (const side of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, side, gl.NEAREST);
  }

  /** @param {Mesh} mesh @returns {Drawable} */
  mesh(mesh) {
    const gl = this.gl;
    const vao = gl.createVertexArray();
    gl.bindVertexArray(vao);
    [mesh.position, mesh.normal, mesh.node].forEach((values, k) => {
      buffer(gl, values);
      gl.enableVertexAttribArray(k);
      gl.vertexAttribPointer(k, k === 2 ? 1 : 3, gl.FLOAT, false, 0, 0);
    });
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, mesh.index, gl.STATIC_DRAW);
    gl.bindVertexArray(null);
    return { vao, count: mesh.index.length, closed: mesh.closed };
  }

  /**
   * Line segments, each a row (start 3, end 3, nodes 2, colour 4).
   * @param {Float32Array} rows @returns {Segments}
   */
  segments(rows) {
    const gl = this.gl;
    const made = { vao: gl.createVertexArray(), count: 0, data: gl.createBuffer(), index: gl.createBuffer(), room: 0 };
    gl.bindVertexArray(made.vao);
    gl.bindBuffer(gl.ARRAY_BUFFER, made.data);
    [[2, 0], [3, 8], [3, 20], [2, 32], [4, 40]].forEach(([n, at], k) => {
      gl.enableVertexAttribArray(k);
      gl.vertexAttribPointer(k, n, gl.FLOAT, false, 56, at);
    });
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, made.index);
    gl.bindVertexArray(null);
    this.replace(made, rows);
    return made;
  }

  /** @param {Segments} segments @param {Float32Array} rows */
  replace(segments, rows) {
    const gl = this.gl;
    const n = rows.length / 12;
    segments.count = 6 * n;
    if (!n) return;
    const corners = new Float32Array(56 * n); // not instanced: software renderers draw instances one by one
    for (let i = 0; i < n; i++)
      for (let k = 0; k < 4; k++) {
        corners[56 * i + 14 * k] = k & 1;
        corners[56 * i + 14 * k + 1] = k & 2 ? 1 : -1;
        corners.set(rows.subarray(12 * i, 12 * i + 12), 56 * i + 14 * k + 2);
      }
    gl.bindVertexArray(null);
    gl.bindBuffer(gl.ARRAY_BUFFER, segments.data);
    gl.bufferData(gl.ARRAY_BUFFER, corners, gl.DYNAMIC_DRAW);
    if (n <= segments.room) return;
    const index = new Uint32Array(6 * n);
    for (let i = 0; i < n; i++) index.set([4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 2, 4 * i + 1, 4 * i + 3], 6 * i);
    gl.bindVertexArray(segments.vao);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, index, gl.DYNAMIC_DRAW);
    gl.bindVertexArray(null);
    segments.room = n;
  }

  /** @param {import("./camera.js").Camera} camera @param {number} reach @param {number[]} background @param {() => void} [bind] binds another buffer than that of the picture */
  begin(camera, reach, background, bind) {
    const gl = this.gl;
    if (bind) bind();
    else {
      if (this.fine) this.sampled = sampled(gl, this.sampled);
      gl.bindFramebuffer(gl.FRAMEBUFFER, this.fine && this.sampled ? this.sampled.drawn : null);
    }
    camera.aspect = this.canvas.width / Math.max(this.canvas.height, 1);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(background[0], background[1], background[2], 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    const [right, up] = camera.screen;
    const light = [0, 1, 2].map((c) => 0.35 * right[c] + 0.6 * up[c] + 0.72 * camera.eyeward[c]);
    const n = Math.hypot(...light);
    this.seen = camera.matrix(reach);
    for (const each of [this.surface, this.lines]) {
      gl.useProgram(each.program);
      gl.uniformMatrix4fv(each.at("camera"), false, this.seen);
      gl.uniform3fv(each.at("eye"), camera.eye);
      gl.uniform3fv(each.at("light"), light.map((c) => c / n));
      gl.uniform2f(each.at("pixels"), this.canvas.width / 2, this.canvas.height / 2);
      gl.uniform1i(each.at("moved"), 0);
      gl.uniform1i(each.at("scale"), 2);
    }
    gl.activeTexture(gl.TEXTURE2);
    gl.bindTexture(gl.TEXTURE_2D, this.scale);
  }

  /** Completes the picture in the canvas. */
  end() {
    if (this.fine && this.sampled) resolve(this.gl, this.sampled);
  }

  /**
   * Number of the object at a place of the picture, 0 for none: the scene is drawn once more, with numbers as colours, for one pixel.
   * @param {import("./camera.js").Camera} camera @param {number} reach @param {[number, number]} at from the left and bottom, in pixels of the canvas @param {() => void} draw @returns {number}
   */
  objectAt(camera, reach, [x, y], draw) {
    const gl = this.gl, { width, height } = this.canvas;
    this.picked ??= gl.createFramebuffer();
    const [colour, depth] = [gl.RGBA8, gl.DEPTH_COMPONENT24].map((format) => {
      const buffer = gl.createRenderbuffer();
      gl.bindRenderbuffer(gl.RENDERBUFFER, buffer);
      gl.renderbufferStorage(gl.RENDERBUFFER, format, width, height);
      return buffer;
    });
    this.picking = true;
    gl.enable(gl.SCISSOR_TEST);
    gl.scissor(x, y, 1, 1);
    this.begin(camera, reach, [0, 0, 0], () => {
      gl.bindFramebuffer(gl.FRAMEBUFFER, this.picked);
      gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.RENDERBUFFER, colour);
      gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.RENDERBUFFER, depth);
    });
    draw();
    const pixel = new Uint8Array(4);
    gl.readPixels(x, y, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
    this.picking = false;
    gl.disable(gl.SCISSOR_TEST);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    for (const buffer of [colour, depth]) gl.deleteRenderbuffer(buffer);
    return pixel[0] + 256 * pixel[1] + 65536 * pixel[2];
  }

  /** @returns {() => boolean} true if the card has finished all commands so far */
  fence() {
    const gl = this.gl;
    const sync = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
    return () => {
      const done = !sync || gl.getSyncParameter(sync, gl.SYNC_STATUS) === gl.SIGNALED;
      gl.deleteSync(sync);
      return done;
    };
  }

  /** @param {Drawable} drawable @param {Appearance} look */
  draw(drawable, look) {
    const gl = this.gl;
    if (this.picking && !look.object) return;
    this.prepare(this.surface, look);
    const clear = !this.picking && (look.colour?.[3] ?? 1) < 1;
    (clear ? gl.enable : gl.disable).call(gl, gl.BLEND);
    (drawable.closed && (!clear || look.single) ? gl.enable : gl.disable).call(gl, gl.CULL_FACE);
    gl.depthMask(!clear);
    if (look.through) gl.disable(gl.DEPTH_TEST);
    gl.enable(gl.POLYGON_OFFSET_FILL);
    gl.polygonOffset(1, 1 + STEPS * (LEAST_NEAR - (look.nearer ?? 0)));
    gl.bindVertexArray(drawable.vao);
    gl.drawElements(gl.TRIANGLES, drawable.count, gl.UNSIGNED_INT, 0);
    gl.depthMask(true);
    gl.enable(gl.DEPTH_TEST);
  }

  /** @param {Segments} segments @param {Appearance} look */
  drawLines(segments, look) {
    if (!segments.count || this.picking) return;
    const gl = this.gl;
    this.prepare(this.lines, look);
    gl.uniformMatrix4fv(this.lines.at("placing"), false, multiplied(this.seen, look.model));
    gl.uniform1f(this.lines.at("width"), Math.max((look.width ?? 1) * this.ratio, 1));
    gl.uniform1f(this.lines.at("lift"), look.lift ?? 2e-4);
    gl.uniform1i(this.lines.at("own"), look.own ? 1 : 0);
    gl.enable(gl.BLEND);
    gl.disable(gl.CULL_FACE);
    gl.disable(gl.POLYGON_OFFSET_FILL); // of the object drawn before
    if (look.through) gl.disable(gl.DEPTH_TEST);
    gl.bindVertexArray(segments.vao);
    gl.drawElements(gl.TRIANGLES, segments.count, gl.UNSIGNED_INT, 0);
    gl.enable(gl.DEPTH_TEST);
  }

  /** @param {ReturnType<typeof program>} using @param {Appearance} look */
  prepare(using, look) {
    const gl = this.gl;
    const { at } = using;
    gl.useProgram(using.program);
    gl.uniformMatrix4fv(at("model"), false, look.model);
    gl.uniform4fv(at("colour"), look.colour ?? [1, 1, 1, 1]);
    gl.uniform1i(at("moves"), look.moved ? 1 : 0);
    gl.uniform1i(at("coloured"), look.moved && look.coloured ? 1 : 0);
    gl.uniform1f(at("exaggeration"), look.exaggeration ?? 1);
    const object = this.picking ? look.object ?? 0 : 0;
    gl.uniform3f(at("code"), (object & 255) / 255, ((object >> 8) & 255) / 255, (object >> 16) / 255);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, (look.moved ?? this.nothing).texture);
  }
}

/** @param {WebGL2RenderingContext} gl @param {Float32Array} values @returns {WebGLBuffer} */
function buffer(gl, values) {
  const made = gl.createBuffer();
  gl.bindBuffer(gl.ARRAY_BUFFER, made);
  gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
  return made;
}

/** @param {WebGL2RenderingContext} gl @param {{vertex: string, fragment: string}} source @param {string[]} attributes */
function program(gl, source, attributes) {
  const made = gl.createProgram();
  for (const [kind, text] of /** @type {[number, string][]} */ ([[gl.VERTEX_SHADER, source.vertex], [gl.FRAGMENT_SHADER, source.fragment]])) {
    const shader = /** @type {WebGLShader} */ (gl.createShader(kind));
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader) ?? "shader");
    gl.attachShader(made, shader);
  }
  attributes.forEach((name, k) => gl.bindAttribLocation(made, k, name));
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made) ?? "program");
  /** @type {Map<string, WebGLUniformLocation | null>} */ const places = new Map();
  /** @param {string} name */
  const at = (name) => {
    if (!places.has(name)) places.set(name, gl.getUniformLocation(made, name));
    return places.get(name) ?? null;
  };
  return { program: made, at };
}
