// What all pages do in the browser; see doc.go for the attributes it goes by.
(() => {
  "use strict";
  const prefix = document.body ? document.body.dataset.prefix || "" : "";
  const all = (selector, root = document) => root.querySelectorAll(selector);

  // Times: how long ago, again every few seconds.
  const ago = (ms) => {
    const s = Math.round(ms / 1000), a = Math.abs(s);
    const text = a < 60 ? a + " s" : a < 3600 ? Math.floor(a / 60) + " min" : a < 86400 ? Math.floor(a / 3600) + " h" : Math.floor(a / 86400) + " d";
    return s < -1 ? "in " + text : text + " ago";
  };
  const relative = (root) => {
    for (const t of all("time[datetime]", root)) {
      const at = Date.parse(t.dateTime);
      if (Number.isNaN(at)) continue;
      if (!t.title) t.title = t.textContent;
      const text = (t.dataset.both === undefined ? "" : t.title + ", ") + ago(Date.now() - at);
      if (t.textContent !== text) t.textContent = text;
    }
  };

  // Copy buttons appear only where they can work.
  const copies = (root) => { if (navigator.clipboard) for (const b of all("button[data-copy]", root)) b.hidden = false; };
  document.addEventListener("click", async (e) => {
    const b = e.target.closest("button[data-copy]");
    if (!b) return;
    const text = b.dataset.copy || (b.previousElementSibling || b.parentElement).textContent;
    try {
      await navigator.clipboard.writeText(text);
      b.classList.add("done");
      setTimeout(() => b.classList.remove("done"), 1500);
    } catch { b.title = "The browser does not allow it"; }
  });

  const short = (s) => s.length <= 17 ? s : s.slice(0, 8) + "…" + s.slice(-6);
  const member = (data, path) => path.split(".").reduce((v, name) => v === undefined || v === null ? v : v[name], data);
  const group = (s) => /^\d+$/.test(s) ? s.replace(/\B(?=(\d{3})+$)/g, "\u202f") : s;

  // nameOf returns the name that the page has for a chain.
  const nameOf = (id) => {
    for (const x of all("[data-chainname]")) if (x.dataset.chainname === id) return x.textContent;
    return id;
  };

  // show puts members of an event into an element and those below it.
  const show = (el, data) => {
    for (const x of [el, ...all("[data-text],[data-href],[data-time]", el)]) {
      const d = x.dataset;
      if (d.text !== undefined) {
        const v = member(data, d.text);
        const s = v === undefined || v === null ? "" : String(v);
        x.textContent = d.short !== undefined ? short(s) : d.group !== undefined ? group(s) : d.name !== undefined ? nameOf(s) : s;
        if (d.short !== undefined) x.title = s;
      }
      if (d.href !== undefined) {
        x.setAttribute("href", prefix + d.href.replace(/\{([\w.]+)\}/g, (_, path) => encodeURIComponent(member(data, path) ?? "")));
      }
      if (d.time !== undefined) {
        const at = new Date(Number(member(data, d.time)) * 1000), t = x.localName === "time" ? x : x.querySelector("time");
        if (t && !Number.isNaN(at.getTime())) { t.dateTime = at.toISOString(); t.textContent = t.title = at.toISOString().replace("T", " ").replace(/\.\d+Z/, " UTC"); }
      }
    }
  };

  // Live parts.
  const events = { blocks: "block", transactions: "transaction", transfers: "transfer", messages: "message", validators: "validators", health: "health" };
  const topicsOf = (el) => (el.dataset.live || el.dataset.now || el.dataset.refresh || "").split(",").filter((t) => events[t]);
  let source = null, stale = false, last = 0, pending = 0, retry = 0;

  const state = (text, on) => {
    const s = document.getElementById("live");
    if (!s) return;
    s.hidden = false; s.classList.toggle("on", on);
    if (s.textContent !== text) s.textContent = text;
  };

  const addRow = (list, data) => {
    const t = document.getElementById(list.dataset.row || "");
    if (!t || !t.content) return;
    const row = t.content.firstElementChild.cloneNode(true);
    show(row, data);
    const link = row.querySelector("[data-href]"), first = link && link.getAttribute("href");
    if (first && [...all("a", list)].some((a) => a.getAttribute("href") === first)) return; // the server has rendered it
    row.classList.add("new");
    list.prepend(row);
    relative(row); copies(row);
    const max = Number(list.dataset.max) || 25;
    while (list.children.length > max) list.lastElementChild.remove();
    const none = list.closest("section, .card");
    if (none) for (const e of all(".empty", none)) e.remove();
  };

  const wants = (el, data, key) => {
    if (el.dataset.chain && data.chainId !== undefined && !el.dataset.chain.split(",").includes(data.chainId)) return false;
    if (!el.dataset.match) return true;
    const [name, value] = el.dataset.match.split("=");
    return String(member(data[key] || data, name)) === value;
  };

  const happened = (topic, e) => {
    let data;
    try { data = JSON.parse(e.data); } catch { return; }
    const key = events[topic];
    const item = data[key] && typeof data[key] === "object" ? Object.assign({ chainId: data.chainId }, data[key].nativeTransaction || data[key]) : data;
    for (const el of all("[data-live]")) if (topicsOf(el).includes(topic) && wants(el, data, key)) addRow(el, item);
    for (const el of all("[data-now]")) if (topicsOf(el).includes(topic) && wants(el, data, key)) { show(el, item); relative(el.parentElement); }
    for (const el of all("[data-refresh]")) if (topicsOf(el).includes(topic) && wants(el, data, key)) { refresh(); break; }
    document.dispatchEvent(new CustomEvent("quorate:" + key, { detail: data }));
  };

  // refresh has the server render the page again and takes its live parts over, once what
  // the server keeps of it is older than the event. Pages that are open at the same time
  // ask at about the same time, and share what is kept.
  const least = 5000, keptFor = 1300;
  const refresh = (whole) => {
    if (whole) stale = true;
    if (pending) return;
    const wait = Math.max(keptFor, last + least - Date.now()) + Math.random() * 700;
    pending = setTimeout(async () => {
      pending = 0; last = Date.now();
      if (document.hidden) { stale = true; return; }
      const everything = stale;
      try {
        const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
        if (!answer.ok) return;
        const next = new DOMParser().parseFromString(await answer.text(), "text/html");
        stale = false;
        for (const el of all(everything ? "[data-refresh][id],[data-live][id],[data-now][id]" : "[data-refresh][id]")) {
          const by = next.getElementById(el.id);
          if (!by || el.contains(document.activeElement) && document.activeElement !== document.body) continue;
          const fresh = document.importNode(by, true);
          el.replaceWith(fresh); relative(fresh); copies(fresh);
        }
      } catch { /* the server is away; the stream says so */ }
    }, wait);
  };

  const open = () => {
    if (source || document.hidden || !window.EventSource) return;
    const topics = new Set(), chains = new Set();
    for (const el of all("[data-live],[data-now],[data-refresh]")) {
      for (const t of topicsOf(el)) topics.add(t);
      if (el.dataset.chain && topicsOf(el).length) for (const c of el.dataset.chain.split(",")) chains.add(c);
    }
    if (!topics.size) return;
    const ofChains = [...topics].some((t) => t !== "health" && t !== "validators");
    if (ofChains && !chains.size) return;
    const addresses = new Set();
    for (const el of all("[data-addresses]")) for (const x of el.dataset.addresses.split(",")) addresses.add(x);
    const q = new URLSearchParams({ topics: [...topics].join(",") });
    if (addresses.size) q.set("addresses", [...addresses].join(","));
    if (ofChains) q.set("chainId", [...chains].slice(0, 8).join(","));
    source = new EventSource(prefix + "/v1/events?" + q);
    source.onopen = () => { retry = 0; state("live", true); };
    source.onerror = () => {
      state("waiting for the server", false);
      if (source && source.readyState === EventSource.CLOSED) { // refused: the browser does not try again
        source = null;
        retry = Math.min(retry + 1, 6);
        setTimeout(() => { refresh(true); open(); }, 1000 * 2 ** retry + Math.random() * 1000);
      }
    };
    for (const t of topics) source.addEventListener(events[t], (e) => happened(t, e));
    source.addEventListener("retraction", () => refresh(true));
    // The block at which the stream begins may be later than those that were rendered.
    if (topics.has("blocks")) source.addEventListener("snapshot", (e) => { if (e.data.includes('"block"')) happened("blocks", e); });
    if (performance.now() > 10000) refresh(true);
  };
  const close = () => { if (source) { source.close(); source = null; state("paused", false); } };

  // A hidden page has no stream: a browser opens few connections to a server, for all tabs.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { close(); return; }
    if (document.querySelector("[data-live],[data-now],[data-refresh]")) refresh(true);
    open();
  });

  // The search: "/" goes there, and names are suggested while somebody types.
  const search = document.querySelector("form.search input");
  document.addEventListener("keydown", (e) => {
    if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || !search || e.target.closest("input,textarea,select,[contenteditable]")) return;
    e.preventDefault();
    search.focus();
  });
  let typed;
  if (search) search.addEventListener("input", () => {
    clearTimeout(typed);
    typed = setTimeout(async () => {
      const q = search.value.trim();
      if (q.length < 2 || q.length > 64) return;
      try {
        const answer = await fetch(prefix + "/suggest?" + new URLSearchParams({ q }), { headers: { Accept: "text/html" } });
        if (!answer.ok || search.value.trim() !== q) return;
        document.getElementById("suggestions").replaceChildren(...(await answer.json()).map((name) => new Option(name, name)));
      } catch { /* the search works without */ }
    }, 250);
  });

  relative(document); copies(document); open();
  setInterval(() => { if (!document.hidden) relative(document); }, 5000);
  const every = [...all("[data-refresh]")].map((el) => Number(el.dataset.refresh)).filter((s) => s > 0);
  if (every.length) setInterval(() => { if (!document.hidden) refresh(); }, 1000 * Math.max(5, Math.min(...every)));
  window.quorate = { show, relative, copies, short, prefix };
})();
