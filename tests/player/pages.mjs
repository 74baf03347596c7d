// A browser that sees page after page: node pages.mjs BROWSER EXECUTABLE FOLDER. Each line of the input is [SCRIPT, PAGE]; each line of
// the output is what the script saw, as JSON, or the error.
import { createInterface } from "node:readline";
import { launched, opened } from "./opened.mjs";

const browser = await launched();
try {
  for await (const line of createInterface({ input: process.stdin })) {
    const [script, page] = JSON.parse(line);
    const { default: look } = await import(`./${script}`);
    const seen = await opened(browser, page, look).catch((error) => ({ error: String(error.stack ?? error) }));
    console.log(JSON.stringify(seen));
  }
} finally {
  await browser.close();
}
