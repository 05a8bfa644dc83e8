// The console at /api: finds operations, keeps the snippets in step with the form, and
// sends requests. What comes back is shown as text only.
(() => {
  "use strict";
  const byId = (id) => document.getElementById(id);
  const prefix = document.body.dataset.prefix || "";

  // The list of operations.
  const filter = byId("filter");
  if (filter) {
    const apply = () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
      let found = 0;
      for (const group of document.querySelectorAll(".ops")) {
        let any = false;
        for (const item of group.querySelectorAll("li")) {
          const hit = words.every((w) => item.dataset.find.includes(w));
          item.hidden = !hit;
          any ||= hit;
          if (hit) found++;
        }
        group.hidden = !any;
      }
      byId("found").textContent = found === 1 ? "1 operation" : found + " operations";
    };
    filter.addEventListener("input", apply);
  }

  const form = byId("operation");
  if (!form) return;
  const key = byId("f-key"), body = byId("f-body"), send = byId("send"), stop = byId("stop");
  const keyName = "quorate-api-key";
  key.hidden = send.hidden = false;
  key.value = sessionStorage.getItem(keyName) || "";
  key.addEventListener("input", () => {
    if (key.value) sessionStorage.setItem(keyName, key.value);
    else sessionStorage.removeItem(keyName);
  });

  // How a body stands in a snippet.
  const quoted = {
    shell: (s) => "'" + s.replaceAll("'", "'\\''") + "'",
    go: (s) => JSON.stringify(s),
    js: (s, old) => {
      try { JSON.parse(s); } catch { return old; }
      return s;
    },
  };
  const showBody = () => {
    if (!body) return;
    for (const part of document.querySelectorAll("[data-as]")) part.textContent = quoted[part.dataset.as](body.value, part.textContent);
  };

  // The server writes address and snippets; it is asked again when a field changes. The
  // body stays here.
  let turn = 0;
  const refresh = async () => {
    const mine = ++turn;
    const fields = new URLSearchParams(new FormData(form));
    fields.delete("body");
    const answer = await fetch(form.getAttribute("action") + "?" + fields, { headers: { Accept: "text/html" } });
    if (!answer.ok || mine !== turn) return;
    const next = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (mine !== turn) return;
    for (const id of ["request", "snippets"]) {
      const old = byId(id), fresh = document.importNode(next.getElementById(id), true);
      const open = old.querySelector("details[open]");
      for (const d of fresh.querySelectorAll("details")) d.open = Boolean(open) && d.dataset.name === open.dataset.name;
      for (const b of fresh.querySelectorAll("button[data-copy]")) b.hidden = !navigator.clipboard;
      old.replaceWith(fresh);
    }
    showBody();
  };
  let timer = 0, asked = Promise.resolve();
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(() => { timer = 0; asked = refresh().catch(() => {}); }, 300);
  };
  form.addEventListener("input", (e) => {
    if (e.target === body) showBody();
    else if (e.target !== key) later();
  });

  // pretty indents JSON without reading its numbers: large ones keep their digits.
  const pretty = (text) => {
    try { JSON.parse(text); } catch { return text; }
    let out = "", depth = 0;
    const line = () => "\n" + "  ".repeat(depth);
    for (const [part] of text.matchAll(/"(?:[^"\\]|\\.)*"|[^\s"{}[\],:]+|[{}[\],:]/g)) {
      if (part === "{" || part === "[") { depth++; out += part + line(); }
      else if (part === "}" || part === "]") {
        depth--;
        const empty = /[{[]\s*$/.exec(out);
        out = empty ? out.slice(0, empty.index + 1) + part : out + line() + part;
      }
      else if (part === ",") out += part + line();
      else out += part === ":" ? ": " : part;
    }
    return out;
  };

  // What is shown of an answer's head.
  const told = ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "retry-after", "x-ignored", "x-indexed-height", "x-chain-height", "x-chain-gaps", "content-type", "etag", "x-request-id"];
  const most = 300_000; // characters of a body
  let running = null;
  const showHead = (answer, begin) => {
    byId("answer").hidden = false;
    byId("status").textContent = `${answer.status} ${answer.statusText} after ${Math.round(performance.now() - begin)} ms`;
    byId("status").className = "badge " + (answer.ok ? "ok" : answer.status < 500 ? "warn" : "bad");
    const list = byId("headers");
    list.replaceChildren();
    for (const name of told) {
      const value = answer.headers.get(name);
      if (value === null) continue;
      const dt = document.createElement("dt"), dd = document.createElement("dd");
      dt.textContent = name;
      dd.textContent = value;
      list.append(dt, dd);
    }
  };
  const readStream = async (answer) => {
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    const out = byId("body");
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      out.textContent = (out.textContent + value).slice(-most);
      out.scrollTop = out.scrollHeight;
    }
  };
  const call = async () => {
    if (timer) { clearTimeout(timer); timer = 0; asked = refresh().catch(() => {}); }
    await asked;
    const request = byId("request");
    if (running) running.abort();
    running = new AbortController();
    const options = { method: form.dataset.method, headers: {}, signal: running.signal, cache: "no-store" };
    if (key.value) options.headers["x-service-api-key"] = key.value;
    if (body) {
      options.headers["content-type"] = "application/json";
      options.body = body.value;
    }
    const begin = performance.now();
    byId("body").textContent = "";
    send.disabled = true;
    stop.hidden = false;
    try {
      const answer = await fetch(prefix + request.dataset.path, options);
      showHead(answer, begin);
      if (request.dataset.streams && answer.ok) { await readStream(answer); return; }
      const text = await answer.text();
      showHead(answer, begin);
      const shown = pretty(text);
      byId("body").textContent = shown.length > most ? shown.slice(0, most) + "\n… " + (shown.length - most) + " more characters" : shown;
    } catch (err) {
      byId("answer").hidden = false;
      if (err.name !== "AbortError") {
        byId("status").textContent = "No answer: " + err.message;
        byId("status").className = "badge bad";
      }
    } finally {
      send.disabled = false;
      stop.hidden = true;
    }
  };
  send.addEventListener("click", call);
  stop.addEventListener("click", () => running && running.abort());
})();
