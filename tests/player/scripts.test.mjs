// Modules of the player by themselves: node --test.
import assert from "node:assert/strict";
import test from "node:test";
import { deflateSync } from "node:zlib";
import { decoded, inflated } from "../../flexmbs/player/js/arrays.js";
import { Camera } from "../../flexmbs/player/js/camera.js";
import { Clock, fittingSpeed } from "../../flexmbs/player/js/clock.js";
import { SCALES, table } from "../../flexmbs/player/js/colours.js";
import { UNKNOWN, displace, give, sizes, vonMises } from "../../flexmbs/player/js/deform.js";
import { ball, box, joined, meshed, rod } from "../../flexmbs/player/js/geometry.js";
import { CHART, pathOf, peaksOf, placesOf, valueAt, within } from "../../flexmbs/player/js/chart.js";
import { LEVELS, Quality } from "../../flexmbs/player/js/quality.js";
import { commonPower, limits, marks, numberText, powerOfTen } from "../../flexmbs/player/js/ticks.js";
import { hanging } from "../../flexmbs/player/js/elements.js";
import { choiceOf, hashOf } from "../../flexmbs/player/js/explorer.js";
import { apart, overlapping } from "../../flexmbs/player/js/labels.js";
import { fieldsOf, legendOf } from "../../flexmbs/player/js/legend.js";
import { regionAt } from "../../flexmbs/player/js/regions.js";
import { Scene } from "../../flexmbs/player/js/scene.js";
import { compose, inverse, multiple, placed, product, towards, turnBy, turned } from "../../flexmbs/player/js/vectors.js";

const near = (a, b, tolerance = 1e-9) => a.forEach((x, k) => assert.ok(Math.abs(x - b[k]) <= tolerance, `${a} is not ${b}`));
const turn = (axis, angle) => [Math.cos(angle / 2), ...axis.map((c) => c * Math.sin(angle / 2))];

test("a triangle at the extreme of each peak that leaves the axis", () => {
  const t = Float64Array.from({ length: 1000 }, (_, k) => k / 1000), y = t.map((x) => Math.sin(20 * x));
  [y[300], y[301], y[700]] = [40, 90, -50];
  const curve = { name: "spiked", t, y, stepped: false, dashed: false, colour: 0 };
  const panel = { title: "", logarithmic: false, notes: [], curves: [curve], bars: [] };
  const view = { panel, span: [0, 1], ends: null, whole: false, hidden: new Set() };
  const at = placesOf(view, 668);
  assert.equal(peaksOf(curve, view, at), `M${at.x(0.301).toFixed(1)} ${CHART.top - 3}l4 7h-8zM${at.x(0.7).toFixed(1)} ${at.height - CHART.bottom + 3}l4 -7h-8z`);
  view.whole = true;
  assert.equal(peaksOf(curve, view, placesOf(view, 668)), "");
});

test("a ray meets the nearest region, from both sides, and none beside it", () => {
  const x = [0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 1, 2, 0, 1, 0, 2, 1], regions = [[0, 1, 2], [3, 4, 5]]; // two triangles, at z = 0 and 1
  const from = (z, direction) => regionAt({ origin: [0.5, 0.5, z], direction: [0, 0, direction] }, { x, regions });
  assert.deepEqual([from(3, -1), from(-3, 1), from(0.5, 1), from(3, 1)], [1, 0, 1, -1]);
  assert.equal(regionAt({ origin: [1.5, 1.5, 3], direction: [0, 0, -1] }, { x, regions }), -1);
});

test("a quarter turn about z takes x to y", () => {
  near(turned(turn([0, 0, 1], Math.PI / 2), [1, 0, 0]), [0, 1, 0]);
  near(turned(product(turn([0, 0, 1], Math.PI / 2), turn([1, 0, 0], Math.PI / 2)), [0, 1, 0]), [0, 0, 1]);
});

test("a pose and its inverse cancel; a third of a rotation, three times, is the rotation", () => {
  const pose = { x: [1, 2, 3], p: turn([0.6, 0, 0.8], 1.1) };
  const none = compose(pose, inverse(pose));
  near([...none.x, ...none.p], [0, 0, 0, 1, 0, 0, 0]);
  near(placed(inverse(pose), placed(pose, [4, 5, 6])), [4, 5, 6]);
  const third = multiple(pose.p, 1 / 3);
  near(product(third, product(third, third)), pose.p);
  for (const d of [[0, 0, 1], [0, 0, -1], [0.6, -0.8, 0]]) near(turned(towards(d), [0, 0, 1]), d, 1e-6);
});

test("arrays are decoded from their bytes by significance", async () => {
  // integers 1, −2, 515 as low bytes then high bytes, then as differences along the first axis
  const bytes = Buffer.from([0x01, 0xfe, 0x03, 0x00, 0xff, 0x02]);
  const buffer = await inflated(deflateSync(bytes).toString("base64"));
  near([...decoded(buffer, { kind: "i2", shape: [3, 1], at: 0, step: 0.5, offset: [10] })], [10.5, 9, 267.5]);
  near([...decoded(buffer, { kind: "i2", shape: [3, 1], at: 0, step: 1, offset: [0], delta: true })], [1, -1, 514]);
  near([...decoded(planesOf(Int16Array.from([1, 2, 3, 400, 500, 600]), 3).buffer, { kind: "i2", shape: [2, 3], at: 0, delta: true })], [1, 2, 3, 401, 502, 603]);
});

test("views look along the axes, with up upwards, and fit holds every point", () => {
  const camera = new Camera([0, 0, 1]);
  camera.named("front");
  near(camera.eyeward, [0, -1, 0]);
  near(camera.screen[0], [1, 0, 0]);
  near(camera.screen[1], [0, 0, 1]);
  camera.named("right");
  near(camera.eyeward, [1, 0, 0]);
  camera.named("top");
  near(camera.eyeward, [0, 0, 1]);
  near(camera.screen[1], [0, 1, 0]);
  camera.lookFrom([1, -2, 0.5]);
  near(camera.eyeward, [1, -2, 0.5].map((c) => c / Math.hypot(1, -2, 0.5)));
  const points = [[0, 0, 0], [3, 0, 0], [0, 2, 0], [0, 0, 1], [3, 2, 1]];
  for (const aspect of [0.5, 2]) {
    camera.aspect = aspect;
    camera.fit(points);
    const m = camera.matrix(5);
    let most = 0;
    for (const p of points) {
      const [x, y, , w] = [0, 1, 2, 3].map((r) => m[r] * p[0] + m[4 + r] * p[1] + m[8 + r] * p[2] + m[12 + r]);
      assert.ok(w > 0 && Math.abs(x / w) <= 1 && Math.abs(y / w) <= 1);
      most = Math.max(most, Math.abs(x / w), Math.abs(y / w));
    }
    assert.ok(most > 0.6);
  }
});

test("what is before the camera is seen, however far the motion goes", () => {
  const camera = new Camera([0, 0, 1]);
  camera.distance = 3;
  for (const reach of [1, 1e3, 1e30]) {
    const m = camera.matrix(reach);
    for (const near of [0.3, 3, 4]) { // distances from the eye
      const [z, w] = [2, 3].map((r) => [0, 1, 2].reduce((sum, c) => sum + m[4 * c + r] * (camera.eye[c] - near * camera.eyeward[c]), m[12 + r]));
      assert.ok(reach === 1 && near < 1 ? z < -w : Math.abs(z) <= w, `${reach} ${near}`);
    }
  }
});

test("the clock plays, loops, stops and tells", () => {
  const told = [];
  const target = new EventTarget();
  target.addEventListener("flexmbs:time", (event) => told.push(event.detail.time));
  const clock = new Clock(1, 3, target, 5);
  assert.deepEqual([clock.timeOf(0), clock.timeOf(1), clock.timeOf(4), clock.instant], [1, 1.5, 3, 0]);
  assert.equal(clock.speed, 1);
  clock.seek(9);
  assert.equal(clock.time, 3);
  clock.play(true, 0);
  assert.equal(clock.time, 1); // from the start again
  clock.tick(200);
  assert.ok(Math.abs(clock.time - 1.2) < 1e-12);
  clock.tick(100_000); // the page was hidden: a quarter of a second at most
  assert.ok(Math.abs(clock.time - 1.45) < 1e-12);
  clock.seek(2.9);
  clock.tick(100_200);
  assert.ok(Math.abs(clock.time - 1.1) < 1e-12);
  clock.loop = false;
  clock.seek(2.95);
  clock.tick(100_400);
  assert.deepEqual([clock.time, clock.playing], [3, false]);
  assert.equal(told.at(-1), 3);
  assert.equal(fittingSpeed(0.05), 0.01);
  assert.equal(fittingSpeed(600), 100);
});

test("pictures become coarser where the card is late, and finer again", () => {
  const quality = new Quality();
  let now = 0;
  const pictures = (duration, each, late) => {
    let level = null;
    for (const end = now + duration; now < end; now += each) {
      level = quality.next(now);
      quality.judge(late);
    }
    return LEVELS.indexOf(level);
  };
  assert.equal(pictures(2000, 16.7, false), 0);
  assert.equal(pictures(2000, 33.3, false), 0); // a screen of 30 pictures a second
  assert.equal(pictures(2000, 16.7, true), 0); // as fast as the screen, one after the other
  assert.equal(pictures(700, 17.9, true), 1); // 56 a second
  assert.equal(pictures(300, 50, true), 2);
  assert.equal(pictures(2000, 50, true), 3);
  quality.sharp = true;
  assert.equal(pictures(400, 50, true), 1); // a film keeps its size
  quality.sharp = false;
  now += 60_000; // time in which nothing moves does not count
  assert.equal(pictures(4000, 16.7, false), 3);
  assert.equal(pictures(2000, 16.7, false), 2); // after 5 s in time
  assert.equal(pictures(1000, 50, true), 3);
  assert.equal(pictures(15_000, 16.7, false), 3); // in vain, so the next trial comes later
  assert.equal(pictures(6000, 16.7, false), 2);
  assert.equal(pictures(50_000, 16.7, false), 0);
});

test("values of curves are linear between their points, and those at the ends beyond", () => {
  const t = Float64Array.from([0, 1, 1, 3]);
  const y = Float64Array.from([0, 2, 4, 8]);
  near([-1, 0, 0.25, 1, 2, 3, 9].map((x) => valueAt(t, y, x)), [0, 0, 0.5, 4, 6, 8, 8]);
});

test("the colours of a field start and end as its legend does", () => {
  for (const scale of Object.values(SCALES)) {
    const colours = table(scale);
    const hex = (k) => `#${[0, 1, 2].map((c) => colours[4 * k + c].toString(16).padStart(2, "0")).join("")}`;
    assert.equal(hex(0), scale[0]);
    assert.equal(hex(255), scale.at(-1));
  }
});

test("solids are closed, point outwards, and have the edges of their creases", () => {
  for (const [solid, volume, edges] of [[box([1, 2, 3], (v) => v), 6, 12], [rod([0, 0, 0], [0, 0, 2], 1), 6.18, 40], [ball([1, 1, 1], 1), 4.1, 0]]) {
    const mesh = joined([solid]);
    let sum = 0;
    for (let i = 0; i < mesh.index.length; i += 3) {
      const [a, b, c] = [0, 1, 2].map((k) => [0, 1, 2].map((j) => mesh.position[3 * mesh.index[i + k] + j]));
      sum += a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
    }
    assert.ok(Math.abs(sum / 6 - volume) < 0.03 * volume, `volume ${sum / 6}`);
    assert.equal(mesh.edges.length / 2, edges);
    assert.ok(mesh.closed);
  }
  const { points, faces } = box([1, 2, 3], (v) => v);
  assert.ok(!joined([{ points, faces: faces.slice(1) }]).closed); // its inside is seen
  assert.ok(!joined([{ points, faces: faces.map((face) => face.slice().reverse()) }]).closed);
  assert.ok(!joined([{ points, faces: [faces[0].slice().reverse(), ...faces.slice(1)] }]).closed);
  const split = meshed([0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1], [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]);
  assert.equal(split.node.length, 12); // three normals at each corner of a tetrahedron
});

/** As arrays.py stores them: the first components of all rows first, by bytes of the same significance. */
function planesOf(values, components) {
  const bytes = new Uint8Array(values.buffer), width = values.BYTES_PER_ELEMENT, rows = values.length / components;
  return Uint8Array.from(bytes, (_, j) => {
    const b = Math.floor(j / values.length), c = Math.floor((j % values.length) / rows), row = j % rows;
    return bytes[width * (row * components + c) + b];
  });
}

const empty = { kind: "u1", shape: [0], at: 0 };
function pendulum() {
  // one body that moves from x = 0 to 1 and turns by a half turn about z; a frame whose elastic displacement grows to 0.1
  const position = Float32Array.from([0, 0, 0, 1, 0, 0]);
  const rotation = Float32Array.from([1, 0, 0, 0, Math.SQRT1_2, 0, 0, Math.SQRT1_2]);
  const moved = Float32Array.from([0, 0, 0, 0, 0.1, 0]);
  const still = Float32Array.from([1, 0, 0, 0, 1, 0, 0, 0]);
  const parts = [];
  let at = 0;
  const add = (values, shape) => {
    const planes = planesOf(values, shape.at(-1));
    parts.push(planes);
    at += planes.length;
    return { kind: "f4", shape, at: at - planes.length };
  };
  const table = {
    format: "flexmbs-scene/1", name: "", time: [0, 2, 2], up: [0, 0, 1], size: 1, bodies: [{ name: "a", kind: "rigid", shapes: [], solids: [] }],
    position: add(position, [2, 1, 3]), rotation: add(rotation, [2, 1, 4]), parts: [], fields: {}, arrows: [],
    frames: [{ name: "a/tip", body: 0, rest: [1, 0, 0, 1, 0, 0, 0], moved: add(moved, [2, 3]), turned: add(still, [2, 4]) },
             { name: "ground", body: -1, rest: [0, 0, 0, 1, 0, 0, 0] }],
    touches: [{ name: "stop", frame: 0, closed: { ...empty, shape: [2], at: 0 }, impacts: [1.5] }], joints: [], chain: [[0, 1, 0]], notes: [],
  };
  const closed = new Uint8Array([0, 1]);
  table.touches[0].closed.at = at;
  const buffer = new Uint8Array(at + 2);
  let end = 0;
  for (const part of [...parts, closed]) buffer.set(part, end), (end += part.length);
  return new Scene(table, buffer.buffer);
}

test("poses and elastic frames are linear between the instants", () => {
  const scene = pendulum();
  near(scene.pose(0, 1).x, [0.5, 0, 0]);
  near(turned(scene.pose(0, 2).p, [1, 0, 0]), [0, 1, 0], 1e-6);
  near(scene.frame(0, scene.poses(2, 1), 2, 1).x, [0.9, 1, 0], 1e-6); // (1, 0.1) turned, from x = 1
  assert.equal(scene.timeOf(1), 2);
});

test("with exaggerated deformation the frame at the joint stays where the joint is", () => {
  const scene = pendulum();
  for (const s of [0, 1, 7]) {
    const here = scene.frame(0, scene.poses(2, s), 2, s).x;
    near(here, scene.frame(0, scene.poses(2, 1), 2, 1).x, 1e-6);
  }
});

test("contacts show while closed and after an impact", () => {
  const scene = pendulum();
  assert.deepEqual([0.2, 1.8, 1.51, 1.49].map((t) => scene.touching(0, t, 0.05)), [false, true, true, true]);
  const apart = pendulum();
  apart.closed[0].fill(0);
  assert.deepEqual([1.49, 1.5, 1.54, 1.56].map((t) => apart.touching(0, t, 0.05)), [false, true, true, false]);
});

test("axes end before short peaks, which can be shown", () => {
  const sine = Float64Array.from({ length: 1000 }, (_, k) => Math.sin(k / 50));
  near(limits(sine), [-1.12, 1.12], 1e-3);
  const peaked = Float64Array.from(sine);
  peaked[500] = 4000;
  const [low, high] = limits(peaked);
  assert.ok(low < -0.99 && high > 1 && high < 3, `${low} ${high}`);
  near(limits(peaked, true), [-1 - 0.06 * 4001, 4000 + 0.06 * 4001], 0.1);
  near(limits([3, 3, 3]), [1.8, 4.2]);
  near(limits([0, NaN]), [-1, 1]);
  near(limits([]), [0, 1]);
});

test("marks are multiples of 1, 2 or 5", () => {
  near(marks(0, 1, 5), [0, 0.2, 0.4, 0.6, 0.8, 1]);
  near(marks(-0.13, 0.27, 4), [-0.1, 0, 0.1, 0.2]);
  near(marks(17, 94, 4), [20, 40, 60, 80]);
  assert.equal(commonPower(-3e-6, 1e-6), 1e-6);
  assert.equal(commonPower(0, 40), 1);
  assert.deepEqual([numberText(-0.25), numberText(2.5e-7), numberText(1234567), numberText(0), numberText(NaN), powerOfTen(-12)], ["−0.25", "2.500·10⁻⁷", "1.235·10⁶", "0", "–", "10⁻¹²"]);
});

test("a panel maps times and values to its places and back, and the parts in the span are drawn", () => {
  const t = Float64Array.from([0, 1, 2, 3, 4]), y = Float64Array.from([0, 10, 0, 10, 40]);
  const panel = { title: "", logarithmic: false, notes: [], bars: [], curves: [{ name: "a", t, y, stepped: false, dashed: false, colour: 0 }] };
  const view = { panel, span: [0, 3], ends: null, whole: false, hidden: new Set() };
  const at = placesOf(view, 600);
  near([at.time(at.x(1.7)), at.value(at.y(3))], [1.7, 3]);
  near([at.x(0), at.x(3)], [CHART.left, 600 - CHART.right]);
  assert.deepEqual([within(t, [0, 3]), within(t, [1.2, 2.1]), within(t, [3.5, 9])], [[0, 3], [1, 3], [3, 4]]);
  near(at.ends, [-0.6, 10.6]); // not the 40 beyond the span
  assert.equal(pathOf(panel.curves[0], view, at).match(/[ML]/g).join(""), "MLLL");
  view.panel.curves[0].stepped = true;
  assert.equal(pathOf(panel.curves[0], view, at).match(/[MHV]/g).join(""), "MHVHVHV");
  near([valueAt(t, y, 0.5), valueAt(t, y, 0.5, true), valueAt(t, y, 9)], [5, 0, 40]);
  view.ends = [2, 4];
  near(placesOf(view, 600).ends, [2, 4]);
  assert.equal(placesOf({ ...view, ends: null, span: [0, 4], hidden: new Set(["a"]) }, 300).height, CHART.low);
});

/** A body by itself with one frame, one vertex table and two modes, the second with stress. */
function swinging() {
  const parts = [];
  let at = 0;
  const add = (values, shape, step = 1) => {
    parts.push(planesOf(Int16Array.from(values), shape.at(-1)));
    at += 2 * values.length;
    return { kind: "i2", shape, at: at - 2 * values.length, step };
  };
  const modes = [
    { name: "Mode 1 · 10 Hz", shapes: add([0, 0, 0, 0, 0, 1000], [1, 2, 3], 1e-3), frames: [[0, 0, 0.5, 0, 1, 0]] },
    { name: "Mode 2 · 20 Hz", shapes: add([0, 0, 0, 0, 1000, 0], [1, 2, 3], 1e-3), frames: [[0, 0.5, 0, 0, 0, 1]], stress: add([0, 32000], [2], 1 / 32000), largest: 12.5 },
  ];
  const table = {
    format: "flexmbs-scene/1", name: "part", time: [0, 2, 81], up: [0, 0, 1], view: [1, 0, 0], size: 2, low: [0, 0, 0], high: [1, 1, 1], extremes: [], ground: null,
    bodies: [{ name: "part", kind: "flexible", shapes: [], solids: [], part: 0, values: {} }], parts: [{ vertices: add([0, 0, 0, 1, 0, 0], [2, 3]) }],
    position: add([0, 0, 0], [1, 3]), rotation: add([1, 0, 0, 0], [1, 4]), fields: {}, arrows: [], touches: [], joints: [], chain: [], scenery: [], notes: [],
    frames: [{ name: "tip", body: 0, rest: [1, 0, 0, 1, 0, 0, 0] }], modes,
    legends: [{ key: "envelope", title: "largest von Mises stress, MPa", scale: "stress", ticks: [[0, "0"]], low: 0, high: 1, logarithmic: false }],
  };
  const buffer = new Uint8Array(at);
  let end = 0;
  for (const part of parts) buffer.set(part, end), (end += part.length);
  return new Scene({ ...table, alone: { one: table } }, buffer.buffer);
}

test("a mode swings by the sine of the phase, its frames with it", () => {
  const scene = swinging();
  near([0, 0.25, 0.5, 1.5].map((t) => scene.wave(t)), [0, Math.SQRT1_2, 1, -1]);
  const tip = scene.frame(0, scene.poses(0.5, 0.2), 0.5, 0.2);
  near(tip.x, [1, 0, 0.1]);
  near(turned(tip.p, [1, 0, 0]), [Math.cos(0.2), 0, -Math.sin(0.2)]);
  scene.mode = 1;
  near(scene.frame(0, scene.poses(1.5, 0.2), 1.5, 0.2).x, [1, -0.1, 0]);
  scene.mode = -1;
  near(scene.frame(0, scene.poses(0.5, 0.2), 0.5, 0.2).x, [1, 0, 0]);
  assert.equal(scene.wave(0.5), 0);
});

test("a scene of a single body shares the arrays; another name is an error", () => {
  const scene = swinging();
  assert.equal(scene.alone("one").buffer, scene.buffer);
  assert.throws(() => scene.alone("two"), /no scene two/);
});

test("legends say what the colours of a field mean", () => {
  const scene = swinging();
  assert.deepEqual(fieldsOf(scene).map(([key]) => key), ["", "displacement", "stress", "envelope"]);
  assert.deepEqual(legendOf(scene, "displacement").ticks.map(([, text]) => text), ["0", "0.25", "0.5", "0.75", "1"]);
  scene.mode = 1;
  assert.equal(legendOf(scene, "stress").ticks.at(-1)[1], "12.5");
  assert.equal(legendOf(scene, "envelope").title, "largest von Mises stress, MPa");
  assert.equal(legendOf(scene, ""), null);
  const motion = pendulum();
  motion.table.fields = { displacement: 2e-3, stress: 4e6 };
  assert.deepEqual([legendOf(motion, "displacement"), legendOf(motion, "stress")].map(({ title, ticks }) => [title, ticks[4][1]]), [["displacement, mm", "2"], ["von Mises, MPa", "4"]]);
});

test("marks move with the displacement of their vertex", () => {
  const scene = swinging();
  const { parts, bodies, modes } = scene.table;
  delete scene.table.modes;
  parts[0].shapes = { ...modes[0].shapes, shape: [1, 2, 3] };
  bodies[0].factors = scene.table.position;
  scene.factors = [{ values: Float64Array.from([0.5]), width: 1 }];
  near(scene.displacement(0, 1, 0), [0, 0, 0.5]);
  near(scene.marked({ name: "1", body: 0, at: [1, 0, 0], vertex: 1, fields: [] }, scene.poses(0, 1), 0, 4), [1, 0, 2]);
  near(scene.vertices(0, 0, 1)[1], [1, 0, 0.5]);
});

test("nodes have their displacement, and their value by the largest", () => {
  const out = new Float32Array(8); // two nodes
  displace(out, { values: Int16Array.from([1, 2, 2, 0, 0, 0, 10, 0, 0, 0, -6, 0]), step: 0.5, count: 2 }, [2, 1]);
  near([...out], [6, 2, 2, 0, 0, -3, 0, 0]);
  sizes(out, 2);
  near([out[3], out[7]], [Math.sqrt(44) / 2, 1.5], 1e-6);
  vonMises(out, { values: Int16Array.from([3, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0]), step: 1, count: 1 }, [-10], 2); // tension, shear
  near([out[3], out[7]], [15, 10 * Math.sqrt(3)], 1e-5);
  give(out, { values: Int16Array.from([16000, -32768]), step: 1 / 32000, count: 1 });
  near([out[3], out[7], out[0]], [0.5, UNKNOWN, 6], 1e-6);
});

test("rotation vectors become quaternions", () => {
  near(turned(turnBy([0, 0, Math.PI / 2]), [1, 0, 0]), [0, 1, 0]);
  near(turnBy([0, 0, 0]), [1, 0, 0, 0]);
});

test("names beside points that are close together do not overlap, or are left out", () => {
  const points = Array.from({ length: 40 }, (_, k) => ({ x: 100 + 7 * (k % 8), y: 80 + 5 * Math.floor(k / 8), width: 60, height: 17 }));
  const boxes = apart(points, 400, 300);
  const placed_ = boxes.filter((box) => box);
  assert.ok(placed_.length >= 8 && placed_.length < 40);
  for (const [i, a] of placed_.entries()) for (const b of placed_.slice(i + 1)) assert.ok(!overlapping(a, b));
  for (const { left, top, width, height } of placed_) assert.ok(left >= 0 && top >= 0 && left + width <= 400 && top + height <= 300);
  const [corner] = apart([{ x: 398, y: 298, width: 60, height: 17 }], 400, 300); // left above, where there is room
  assert.ok(corner.left + corner.width <= 398 && corner.top + corner.height <= 298);
});

test("a slack rope has nearly its length between its ends and hangs downwards", () => {
  const a = [0, 0, 1], b = [2, 0, 1];
  for (const whole of [2.02, 2.1, 2.3]) {
    const points = hanging(a, b, whole, [0, 0, 1]);
    const along = points.slice(1).reduce((sum, x, k) => sum + Math.hypot(...x.map((c, i) => c - points[k][i])), 0);
    assert.ok(Math.abs(along - whole) < 0.03 * whole, `${along} of ${whole}`);
    assert.ok(points.every(([, , z]) => z <= 1 + 1e-12));
  }
  assert.deepEqual(hanging(a, b, 1.9, [0, 0, 1]), [a, b]); // taut
  const double = hanging(a, a, 1, [0, 0, 1]);
  assert.ok(Math.abs(Math.min(...double.map(([, , z]) => z)) - 0.5) < 1e-9);
});

test("the fragment of the address keeps a choice of curves with any characters", () => {
  const choice = { curves: ["joint <b>&a=#1 force x", "frame α/β position z"], against: "energy kinetic" };
  assert.deepEqual(choiceOf(hashOf(choice)), choice);
  assert.equal(choiceOf("#model"), null);
  assert.deepEqual(choiceOf("#curve=a"), { curves: ["a"], against: "" });
});
