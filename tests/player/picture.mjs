// The picture of the player as PNG.
import { wait } from "./opened.mjs";

export default async (page, seen) => {
  await wait(500);
  const canvas = await page.$(".player canvas");
  seen.picture = Buffer.from(await canvas.screenshot({ type: "png" })).toString("base64");
};
