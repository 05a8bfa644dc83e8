// Walks the lists that grow with their chains again and again through both SDKs, and prints
// each walk as a line of JSON with all that was listed, until its standard input ends: then
// once more, to the end.
//
//   node walk.mjs FACTS_FILE SERVER_URL
import { readFile } from "node:fs/promises";
import { clients } from "./all.mjs";
import { lists } from "./calls.mjs";
import { run } from "./run.mjs";

const [factsFile, url] = process.argv.slice(2);
const pause = 250; // ms, so that the machine has time for others
const print = (line) => console.log(JSON.stringify(line));

// The SDKs reject a second time, uncaught, when a body is not JSON or is cut off.
process.on("unhandledRejection", (reason) => print({ call: "unhandled rejection", error: { name: reason?.name, message: String(reason) } }));

const calls = lists(JSON.parse(await readFile(factsFile, "utf8")));
const { sdks, options } = await clients({ url, print });
let ended = false;
process.stdin.on("end", () => { ended = true; }).resume();
for (let last = false; !last;) {
  last = ended;
  for (const call of calls) {
    for (const [sdk, client] of Object.entries(sdks)) print({ sdk, ...(await run(client, call, options)) });
  }
  await new Promise((resolve) => setTimeout(resolve, pause));
}
