// Calls a running server from a page of another origin through both official SDKs,
// and posts what came to the page's own server: each call's line to /line, and to
// /end when there are no more. What to call is in the page's query: server, and key
// for the key that the SDKs send.
import { callAll } from "./all.mjs";

const own = globalThis.fetch.bind(globalThis);
const post = (path, body) => own(path, { method: "POST", body: JSON.stringify(body) });
const lines = [];
const print = (line) => lines.push(post("/line", line));

addEventListener("unhandledrejection", (event) =>
  print({ call: "unhandled rejection", error: { name: event.reason?.name, message: String(event.reason) } }));

const query = new URLSearchParams(location.search);
try {
  const facts = await (await own("/facts.json")).json();
  const url = query.get("server"), apiKey = query.get("key") ?? undefined;
  if (query.has("probe")) await probe(url, facts, apiKey);
  // Webhooks are not for a page of another origin that knows no key.
  else await callAll({ facts, url, apiKey, without: apiKey ? undefined : "webhooks", print });
} catch (err) {
  print({ call: "page", error: { name: err?.name, message: String(err?.stack ?? err) } });
}
await Promise.allSettled(lines);
await post("/end", {});

// probe tells what a page's own code sees of one answer: status, body and headers.
async function probe(url, facts, apiKey) {
  const headers = apiKey ? { "x-service-api-key": apiKey } : {};
  const answer = await fetch(`${url}/v1/chains/${facts.chainId}/transactions`, { headers });
  print({ call: "probe", status: answer.status, body: await answer.json(), headers: Object.fromEntries(answer.headers) });
}
