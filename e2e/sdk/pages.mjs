// Opens pages of a running server in a browser without a screen: narrow and wide, light
// and dark. Prints a line of JSON for each visit with what went wrong, and one for each
// page that is to change by itself.
//
//   node --experimental-websocket pages.mjs BROWSER SERVER PAGES.json FOLDER
//
// PAGES.json is {"visit": [paths], "live": {path: selector}, "whole": each width with each
// scheme?}; screenshots go to FOLDER.
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const [browser, server, list, folder] = process.argv.slice(2);
const { visit, live, whole } = JSON.parse(readFileSync(list, "utf8"));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const loadWait = 30_000, liveWait = 60_000;

const profile = join(dirname(list), "profile"); // who made that folder removes it
const child = spawn(browser, ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--remote-debugging-port=0", "--user-data-dir=" + profile, "about:blank"],
{ stdio: ["ignore", "ignore", "pipe"] });
const address = await new Promise((found, failed) => {
  let text = "";
  child.stderr.on("data", (b) => { text += b; const m = text.match(/ws:\/\/\S+/); if (m) found(m[0]); });
  child.on("exit", () => failed(new Error("the browser ended: " + text)));
});
const socket = new WebSocket(address);
await new Promise((opened, failed) => { socket.onopen = opened; socket.onerror = () => failed(new Error("no connection to the browser")); });

let last = 0;
const answers = new Map(), listeners = new Set();
socket.onmessage = (e) => {
  const m = JSON.parse(e.data);
  if (m.id) { answers.get(m.id)(m); answers.delete(m.id); } else for (const hear of listeners) hear(m);
};
const call = (sessionId, method, params = {}) => new Promise((done, failed) => {
  answers.set(++last, (m) => m.error ? failed(new Error(`${method}: ${m.error.message}`)) : done(m.result));
  socket.send(JSON.stringify({ id: last, method, params, sessionId }));
});

// evaluate returns the value of an expression in the page, which its policy cannot refuse.
const evaluate = async (session, expression) => {
  const { result, exceptionDetails } = await call(session, "Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.value;
};

// watch collects what must not happen in a page.
const watch = (session, found) => (m) => {
  if (m.sessionId !== session) return;
  const p = m.params;
  if (m.method === "Runtime.exceptionThrown") found.errors.push(p.exceptionDetails.exception?.description ?? p.exceptionDetails.text);
  if (m.method === "Runtime.consoleAPICalled" && (p.type === "error" || p.type === "warning")) found.errors.push(JSON.stringify(p.args));
  if (m.method === "Log.entryAdded" && p.entry.level === "error") found.errors.push(`${p.entry.text} ${p.entry.url ?? ""}`);
  if (m.method === "Page.javascriptDialogOpening") {
    found.errors.push("a dialog opened: " + p.message);
    call(session, "Page.handleJavaScriptDialog", { accept: true });
  }
  if (m.method === "Network.requestWillBeSent" && !p.request.url.startsWith("data:")) {
    if (!found.loaded && !p.request.url.includes("/v1/events?")) found.requests++;
    if (!p.request.url.startsWith(server + "/")) found.foreign.push(p.request.url);
  }
  if (m.method === "Network.responseReceived" && p.type === "Document") found.status = p.response.status;
};

// open loads a page in a tab of its own, does something with it and closes it.
const open = async (path, width, scheme, found, act) => {
  const { targetId } = await call(undefined, "Target.createTarget", { url: "about:blank" });
  const { sessionId: session } = await call(undefined, "Target.attachToTarget", { targetId, flatten: true });
  for (const part of ["Page", "Runtime", "Log", "Network"]) await call(session, part + ".enable");
  await call(session, "Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile: width < 500 });
  await call(session, "Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
  const hear = watch(session, found);
  listeners.add(hear);
  try {
    const loaded = new Promise((done, failed) => {
      const timer = setTimeout(() => failed(new Error("the page does not load")), loadWait);
      const wait = (m) => {
        if (m.sessionId !== session || m.method !== "Page.loadEventFired") return;
        listeners.delete(wait); clearTimeout(timer); done();
      };
      listeners.add(wait);
    });
    await call(session, "Page.navigate", { url: server + path });
    await loaded;
    found.loaded = true;
    await act(session);
  } catch (err) { found.errors.push(String(err?.message ?? err)); } finally {
    listeners.delete(hear);
    await call(undefined, "Target.closeTarget", { targetId });
  }
};

const print = (line) => console.log(JSON.stringify(line));
const fileName = (path) => path.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 80) || "home";

const views = [[360, "light"], [1440, "dark"]]; // each width and each scheme once
const others = whole ? [[360, "dark"], [1440, "light"]] : [];
for (const path of visit) for (const [width, scheme] of [...views, ...others]) {
  const found = { page: path, width, scheme, status: 0, requests: 0, errors: [], foreign: [], faults: [], overflow: 0 };
  await open(path, width, scheme, found, async (session) => {
    found.overflow = await evaluate(session, "document.documentElement.scrollWidth - document.documentElement.clientWidth");
    const { cssContentSize: size } = await call(session, "Page.getLayoutMetrics");
    const { data } = await call(session, "Page.captureScreenshot", { format: "png", captureBeyondViewport: true,
      clip: { x: 0, y: 0, width, height: Math.min(size.height, 4000), scale: 1 } });
    writeFileSync(join(folder, `${fileName(path)}-${width}-${scheme}.png`), Buffer.from(data, "base64"));
    if (!views.some(([w, s]) => w === width && s === scheme)) return;
    await evaluate(session, axe + ";0");
    const { violations } = await evaluate(session, 'axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => ({ violations }))');
    for (const v of violations) {
      if (v.impact === "serious" || v.impact === "critical") found.faults.push(`${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)).join(" ")}`);
    }
  });
  print(found);
}

for (const [path, selector] of Object.entries(live)) {
  const found = { page: path, live: selector, changed: false, status: 0, requests: 0, errors: [], foreign: [], faults: [], overflow: 0 };
  await open(path, 1440, "light", found, async (session) => {
    found.changed = await evaluate(session, `new Promise((done) => {
      const text = () => document.querySelector(${JSON.stringify(selector)})?.textContent, first = text();
      const look = setInterval(() => { if (text() !== first) { clearInterval(look); done(true); } }, 200);
      setTimeout(() => { clearInterval(look); done(false); }, ${liveWait});
    })`);
  });
  print(found);
}

socket.close();
await new Promise((ended) => { child.on("exit", ended); child.kill(); });
