// Calls a running server through both official SDKs, walks every page, and prints
// what came as one line of JSON for each call.
//
//   node main.mjs FACTS_FILE [SERVER_URL [ENDPOINT,...]]
//
// The server is that of the facts if no other is named, and the endpoints are all.
// API_KEY in the environment is the key that the SDKs send.
//
// Exit codes: 0 all was well, 1 a call failed or an answer did not parse (its line
// has the SDK's error), 2 wrong usage.
import { readFile } from "node:fs/promises";
import { callAll } from "./all.mjs";

const [factsFile, serverURL, endpoints] = process.argv.slice(2);
if (!factsFile || process.argv.length > 5) {
  console.error("usage: node main.mjs FACTS_FILE [SERVER_URL [ENDPOINT,...]]");
  process.exit(2);
}
const facts = JSON.parse(await readFile(factsFile, "utf8"));
const url = serverURL || facts.baseUrl;
const wanted = endpoints && new Set(endpoints.split(","));
const apiKey = process.env.API_KEY;

let failed = 0;
const print = (line) => {
  if (line.error) failed++;
  console.log(JSON.stringify(line));
};

// The SDKs reject a second time, uncaught, when a body is not JSON or is cut off.
process.on("unhandledRejection", (reason) => print({ call: "unhandled rejection", error: { name: reason?.name, message: String(reason) } }));

const made = await callAll({ facts, url, wanted, apiKey, print });
if (made === 0) {
  console.error(`no calls to the endpoints ${endpoints}`);
  process.exit(2);
}
process.exitCode = failed ? 1 : 0;
