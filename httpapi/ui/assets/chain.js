// Asks the API from a page: what a link or a form with data-sign or data-post would show
// as JSON is shown in the page.
(() => {
  "use strict";
  const say = (el, text) => { el.hidden = false; el.textContent = text; };
  const reason = async (answer) => {
    try { return (await answer.json()).message || answer.statusText; } catch { return answer.statusText; }
  };

  document.addEventListener("click", async (e) => {
    const a = e.target.closest("a[data-sign]");
    const out = document.getElementById("signed");
    if (!a || !out || e.ctrlKey || e.metaKey || e.shiftKey || e.button) return;
    e.preventDefault();
    say(out, "Waiting for the validators…");
    try {
      const answer = await fetch(a.href, { headers: { Accept: "application/json" } });
      if (!answer.ok) { say(out, "Not signed: " + await reason(answer)); return; }
      const body = await answer.json();
      say(out, (body.signedMessages || [body.signedMessage]).join("\n\n"));
    } catch { say(out, "The server cannot be reached."); }
  });

  document.addEventListener("submit", async (e) => {
    const form = e.target.closest("form[data-post]");
    const out = form && document.getElementById(form.dataset.post);
    if (!out) return;
    e.preventDefault();
    say(out, "…");
    try {
      const answer = await fetch(form.action, { method: "POST" });
      say(out, answer.ok ? "It will be fetched; look again in a minute." : await reason(answer));
    } catch { say(out, "The server cannot be reached."); }
  });
})();
