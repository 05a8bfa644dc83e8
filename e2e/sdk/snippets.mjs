// Runs every snippet of the console at /api as it is shown, filled in with what the server
// has, and compares each request with that of the page. Prints a line of JSON for each
// snippet. Programs in Go are checked elsewhere, and of curl only what a shell makes of it.
//
//   node snippets.mjs SERVER_URL
//
// Reading requests go to the server, and the SDKs have to parse what it answers. Others, and
// streams, end here: what matters is what would be sent.
//
// Exit codes: 0 all was well, 1 a snippet failed, 2 wrong usage.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [server] = process.argv.slice(2);
if (!server) {
  console.error("usage: node snippets.mjs SERVER_URL");
  process.exit(2);
}
const realFetch = globalThis.fetch;
const entities = { amp: "&", lt: "<", gt: ">", "#34": '"', "#39": "'", "#43": "+", "#96": "`" };
const plain = (html) => html.replace(/<[^>]*>/g, "").replace(/&([^;]+);/g, (all, name) => entities[name] ?? all);
// Calls of snippets await, and end by printing.
const AsyncFunction = (async () => {}).constructor;
process.on("unhandledRejection", () => {}); // the SDKs reject a second time, uncaught

// unparsed are operations whose good answers the SDKs refuse: they know the chains of
// mainnet and Fuji only.
const unparsed = new Set(["getChainIdsForAddresses"]);

let failed = 0;
const print = (line) => {
  if (line.error) failed++;
  console.log(JSON.stringify(line));
};

// canonical is a request without what may differ: the order of the query and of members,
// and defaults, which the SDKs write out; that of the size of pages may be their own.
const sorted = (v) => Array.isArray(v) ? v.map(sorted) : v && typeof v === "object" ? Object.fromEntries(Object.keys(v).sort().map((k) => [k, sorted(v[k])])) : v;
const canonical = (method, url, body, defaults) => {
  const u = new URL(url);
  for (const [name, value] of defaults) if (value === undefined || u.searchParams.get(name) === value) u.searchParams.delete(name);
  u.searchParams.sort();
  return JSON.stringify([method, u.origin, decodeURIComponent(u.pathname), [...u.searchParams], body ? sorted(JSON.parse(body)) : null]);
};

async function run(code, sends, defaults) {
  const requests = [];
  let status = 0;
  globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    requests.push(canonical(request.method, request.url, await request.clone().text(), defaults));
    if (!sends) return new Response("{}", { status: 400, headers: { "content-type": "application/json" } });
    const answer = await realFetch(request);
    status = answer.status;
    return answer;
  };
  const dynamic = code.replace(/^import \{ (\w+) \} from ("[^"]+");$/m, "const { $1 } = await import($2);");
  let error;
  try {
    await new AsyncFunction("console", dynamic)({ log() {} });
  } catch (err) {
    error = String(err?.message ?? err).slice(0, 500) + (err?.cause ? ": " + String(err.cause.message ?? err.cause).slice(0, 1000) : "");
  }
  globalThis.fetch = realFetch;
  return { requests, status, error };
}

// shell returns the request that curl would make, as a shell reads the line.
function shell(line, defaults) {
  const out = execFileSync("sh", ["-c", `curl() { for a; do printf '%s\\0' "$a"; done; }\n${line}`], { encoding: "utf8" });
  const words = out.split("\0").slice(0, -1);
  let method, url, body;
  for (let i = 0; i < words.length; i++) {
    if (words[i] === "-X") method = words[++i];
    else if (words[i] === "-d") body = words[++i];
    else if (words[i] === "-H") i++;
    else if (words[i] !== "-N") url = words[i];
  }
  return canonical(method ?? (body === undefined ? "GET" : "POST"), url, body, defaults);
}

// python returns the request that a program in Python would make, with a module "requests" that
// prints it.
const modules = mkdtempSync(join(tmpdir(), "requests-"));
writeFileSync(join(modules, "requests.py"), `
import json, sys
def call(method):
    def made(url, headers={}, data=None, stream=False, timeout=None):
        print(json.dumps([method, url, data]))
        sys.exit(0)
    return made
get, post, patch, delete = call("GET"), call("POST"), call("PATCH"), call("DELETE")
`);
function python(program, defaults) {
  const env = { ...process.env, PYTHONPATH: modules, PYTHONDONTWRITEBYTECODE: "1", QUORATE_API_KEY: "key" };
  const [method, url, body] = JSON.parse(execFileSync("python3", ["-c", program], { encoding: "utf8", env }));
  return canonical(method, url, body ?? undefined, defaults);
}

const document = await (await realFetch(server + "/openapi.json")).json();
for (const [path, methods] of Object.entries(document.paths)) {
  for (const [method, operation] of Object.entries(methods)) {
    const answer = await realFetch(`${server}/api/${operation.operationId}`, { headers: { accept: "text/html" } });
    if (!answer.ok) {
      print({ operation: operation.operationId, error: `its page answers ${answer.status}` });
      continue;
    }
    const html = await answer.text();
    const field = (pattern) => { const m = pattern.exec(html); return m ? plain(m[1]) : undefined; };
    const shown = field(/<div id="request" data-path="([^"]*)"/);
    const missing = / data-missing="1"/.test(html), streams = / data-streams="1"/.test(html);
    const body = field(/<textarea[^>]*>([\s\S]*?)<\/textarea>/);
    const defaults = (operation.parameters ?? []).filter((p) => p.schema.default !== undefined).map((p) => [p.name, String(p.schema.default)]);
    if (!/[?&]pageSize=/.test(shown)) defaults.push(["pageSize", undefined]);
    const wanted = canonical(method.toUpperCase(), server + shown, body, defaults);
    const sends = method === "get" && !missing && !streams;
    for (const [, name, text] of html.matchAll(/<pre[^>]* data-snippet="([^"]+)">([\s\S]*?)<\/pre>/g)) {
      if (name === "Go") continue;
      if (name === "curl" || name === "Python") {
        const got = (name === "curl" ? shell : python)(plain(text), defaults);
        print({ operation: operation.operationId, snippet: name, ...(got === wanted ? {} : { error: `requests ${got}, the page says ${wanted}` }) });
        continue;
      }
      const { requests, status, error } = await run(plain(text), sends, defaults);
      const line = { operation: operation.operationId, snippet: name, status, missing };
      if (requests.length === 0) line.error = `no request: ${error}`;
      else if (requests[0] !== wanted) line.error = `requested ${requests[0]}, the page says ${wanted}`;
      else if (sends && error && status < 400 && !unparsed.has(operation.operationId)) line.error = error;
      else if (sends && status >= 400) line.refused = error;
      print(line);
    }
  }
}
rmSync(modules, { recursive: true });
process.exitCode = failed ? 1 : 0;
