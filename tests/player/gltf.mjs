// What the validator of the Khronos Group finds in a binary glTF: node gltf.mjs FILE FOLDER
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [file, folder] = process.argv.slice(2);
const { validateBytes } = createRequire(`${folder}/`)("gltf-validator");
const { issues, info } = await validateBytes(new Uint8Array(readFileSync(file)));
console.log(JSON.stringify({ messages: issues.messages.map(({ code, message, pointer }) => `${code} ${message} ${pointer}`), triangles: info.totalTriangleCount, animations: info.animationCount }));
