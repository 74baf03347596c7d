// Shaders. Both displace points by the stored displacement of their nodes; the stored value selects the colour.

const MOVED = `#version 300 es
precision highp float; precision highp int; precision highp sampler2D;
uniform mat4 camera, model;
uniform sampler2D moved;
uniform bool moves;
uniform float exaggeration;

vec4 entry(float node) { int i = int(node), w = textureSize(moved, 0).x; return texelFetch(moved, ivec2(i % w, i / w), 0); }`;

export const SURFACE = {
  vertex: `${MOVED}
in vec3 position; in vec3 normal; in float node;
out vec3 facing; out vec3 place; out float value; out float known;
void main() {
  vec4 now = moves ? entry(node) : vec4(0.0);
  value = now.w;
  known = now.w < 0.0 ? 0.0 : 1.0;
  vec4 world = model * vec4(position + exaggeration * now.xyz, 1.0);
  facing = mat3(model) * normal;
  place = world.xyz;
  gl_Position = camera * world;
}`,
  fragment: `#version 300 es
precision highp float; precision highp int;
in vec3 facing; in vec3 place; in float value; in float known;
uniform vec4 colour; uniform vec3 eye, light, code; uniform bool coloured; uniform sampler2D scale;
out vec4 result;
void main() {
  if (code != vec3(0.0)) { result = vec4(code, 1.0); return; }
  if (coloured && known > 0.999) { result = vec4(texture(scale, vec2((clamp(value, 0.0, 1.0) * 255.0 + 0.5) / 256.0, 0.5)).rgb, 1.0); return; }
  vec3 n = normalize(facing), e = normalize(eye - place);
  if (dot(n, e) < 0.0) n = -n;
  float bright = 0.56 + 0.32 * max(dot(n, light), 0.0) + 0.24 * max(dot(n, e), 0.0);
  vec3 shine = vec3(0.10 * pow(max(dot(n, normalize(light + e)), 0.0), 40.0));
  result = vec4(colour.rgb * bright + shine, colour.a);
}`,
};

export const LINES = {
  vertex: `${MOVED}
in vec2 corner; in vec3 start; in vec3 end; in vec2 ends; in vec4 tint;
uniform mat4 placing; uniform vec2 pixels; uniform float width, lift;
out vec4 shade;
void main() {
  vec3 a = start, b = end;
  if (moves) { a += exaggeration * entry(ends.x).xyz; b += exaggeration * entry(ends.y).xyz; }
  vec4 p = placing * vec4(a, 1.0), q = placing * vec4(b, 1.0);
  float behind = p.z + p.w, beyond = q.z + q.w; // above zero in front of the near plane
  if (behind < 0.0 && beyond < 0.0) { gl_Position = vec4(2.0, 2.0, 2.0, 1.0); return; }
  if (behind < 0.0) p = mix(p, q, behind / (behind - beyond));
  else if (beyond < 0.0) q = mix(q, p, beyond / (beyond - behind));
  vec2 d = (q.xy / q.w - p.xy / p.w) * pixels;
  d = length(d) > 1e-6 ? normalize(d) : vec2(1.0, 0.0);
  vec4 here = corner.x < 0.5 ? p : q;
  vec2 side = vec2(-d.y, d.x) * corner.y * 0.5 * width / pixels;
  gl_Position = vec4(here.xy + side * here.w, here.z - lift * here.w, here.w);
  shade = tint;
}`,
  fragment: `#version 300 es
precision highp float;
in vec4 shade; uniform vec4 colour; uniform int own; out vec4 result;
void main() { result = own == 1 ? shade * colour : colour; }`,
};
