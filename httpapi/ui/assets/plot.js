// Plots: figures under the pointer or by arrow keys, and a range drawn with the pointer
// becomes the range of the page. The figures are those of the table below the plot.
(() => {
  "use strict";
  const svg = "http://www.w3.org/2000/svg";
  for (const figure of document.querySelectorAll("figure[data-plot]")) {
    const box = figure.querySelector("svg");
    const table = document.getElementById(figure.dataset.plot);
    const readout = figure.querySelector("output");
    if (!box || !table || !readout) continue;
    const rows = [...table.tBodies[0].rows].reverse(); // the oldest first, as they are drawn
    const n = rows.length;
    const unit = table.tHead.rows[0].cells[1].textContent;
    const shape = (name, kind) => {
      const el = box.appendChild(document.createElementNS(svg, name));
      el.setAttribute("class", kind);
      el.setAttribute("y1", 0); el.setAttribute("y2", 240);
      el.setAttribute("y", 0); el.setAttribute("height", 240);
      el.setAttribute("visibility", "hidden");
      return el;
    };
    const range = shape("rect", "plot-range"), cursor = shape("line", "plot-cursor");
    cursor.setAttribute("vector-effect", "non-scaling-stroke");
    let at = -1, from = -1;

    const index = (e) => {
      const r = box.getBoundingClientRect();
      return Math.max(0, Math.min(n - 1, Math.floor((e.clientX - r.left) / r.width * n)));
    };
    const point = (i) => {
      at = i;
      const x = (i + 0.5) / n * 1000;
      cursor.setAttribute("x1", x); cursor.setAttribute("x2", x);
      cursor.setAttribute("visibility", "visible");
      const cells = rows[i].cells;
      readout.textContent = cells[0].textContent + ": " + cells[1].textContent + " (" + unit + ")";
      if (from < 0) { range.setAttribute("visibility", "hidden"); return; }
      const a = Math.min(from, i), b = Math.max(from, i) + 1;
      range.setAttribute("x", a / n * 1000); range.setAttribute("width", (b - a) / n * 1000);
      range.setAttribute("visibility", a + 1 < b ? "visible" : "hidden");
    };
    const zoom = (i) => {
      const a = Math.min(from, i), b = Math.max(from, i) + 1;
      from = -1;
      range.setAttribute("visibility", "hidden");
      if (b - a < 2 || b - a >= n) return;
      const q = new URLSearchParams({ interval: figure.dataset.interval, from: rows[a].dataset.start, to: b < n ? rows[b].dataset.start : figure.dataset.end });
      location.search = "?" + q;
    };
    box.addEventListener("pointermove", (e) => point(index(e)));
    box.addEventListener("pointerdown", (e) => { if (e.pointerType === "mouse" && e.button === 0) { from = index(e); box.setPointerCapture(e.pointerId); e.preventDefault(); figure.focus(); } else point(index(e)); });
    box.addEventListener("pointerup", (e) => { if (from >= 0) zoom(index(e)); });
    box.addEventListener("pointercancel", () => { from = -1; range.setAttribute("visibility", "hidden"); });
    figure.addEventListener("keydown", (e) => {
      const to = { ArrowLeft: at < 0 ? n - 1 : at - 1, ArrowRight: at + 1, Home: 0, End: n - 1 }[e.key];
      if (e.key === "Escape") { from = -1; range.setAttribute("visibility", "hidden"); }
      if (e.key === "Enter" && at >= 0) { if (from < 0) { from = at; readout.textContent += ". Move, and press Enter to zoom."; } else zoom(at); }
      if (to === undefined) return;
      e.preventDefault();
      point(Math.max(0, Math.min(n - 1, to)));
    });
  }
})();
