// The page works without this. It keeps the page up to date: ages by the clock of the browser,
// fragments by the events of the server.
"use strict";
(() => {
  // How long ago something is, as people say it.
  const spans = [["y", 31536000], ["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const relative = (seconds) => {
    const past = Math.abs(seconds);
    if (past < 5) return "just now";
    const at = spans.findIndex(([, size]) => past >= size);
    const [unit, size] = spans[at];
    let out = Math.floor(past / size) + " " + unit;
    if (past / size < 3 && at < spans.length - 1) {
      const rest = Math.floor((past % size) / spans[at + 1][1]);
      if (rest > 0) out += " " + rest + " " + spans[at + 1][0];
    }
    return seconds < 0 ? "in " + out : out + " ago";
  };
  const age = (root) => {
    for (const el of root.querySelectorAll("time[data-age]")) {
      if (!el.title) el.title = el.textContent;
      const text = relative((Date.now() - Date.parse(el.dateTime)) / 1000);
      if (el.textContent !== text) el.textContent = text;
    }
  };
  age(document);
  setInterval(() => age(document), 5000);

  document.addEventListener("change", (e) => {
    if (e.target.matches("select[data-submit]")) e.target.form.requestSubmit();
  });
  document.addEventListener("click", async (e) => {
    const button = e.target.closest("button[data-copy]");
    if (!button) return;
    const text = document.getElementById(button.dataset.copy).textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      const range = document.createRange();
      range.selectNodeContents(document.getElementById(button.dataset.copy));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = "Selected: press Ctrl+C";
    }
  });

  const main = document.querySelector("main[data-live]");
  const sign = document.getElementById("live");
  if (!main || !window.EventSource) return;
  const say = (state, text) => {
    sign.hidden = false;
    sign.className = "live " + state;
    if (sign.textContent !== text) sign.textContent = text;
  };

  // A fragment that somebody is selecting text in waits.
  const waiting = new Map();
  const busy = (el) => {
    const selection = getSelection();
    return selection && !selection.isCollapsed && selection.containsNode(el, true);
  };
  const pathTo = (el, root) => {
    const path = [];
    for (; el !== root; el = el.parentNode) path.unshift([...el.parentNode.children].indexOf(el));
    return path;
  };
  const replace = ({ id, tag, html }) => {
    const el = document.getElementById("f-" + id);
    if (!el) { location.reload(); return; }
    if (busy(el)) { waiting.set(id, { id, tag, html }); return; }
    waiting.delete(id);
    const focused = el.contains(document.activeElement) ? pathTo(document.activeElement, el) : null;
    const open = [...el.querySelectorAll("details[id][open]")].map((d) => d.id);
    const scrolled = [...el.querySelectorAll("[data-scroll]")].map((s) => [s.scrollLeft, s.scrollTop]);
    el.innerHTML = html;
    el.dataset.tag = tag;
    for (const d of el.querySelectorAll("details[id]")) if (open.includes(d.id)) d.open = true;
    [...el.querySelectorAll("[data-scroll]")].forEach((s, i) => { if (scrolled[i]) [s.scrollLeft, s.scrollTop] = scrolled[i]; });
    if (focused) {
      const again = focused.reduce((at, i) => at && at.children[i], el);
      if (again && again.focus) again.focus({ preventScroll: true });
    }
    age(el);
  };
  document.addEventListener("selectionchange", () => {
    for (const one of [...waiting.values()]) replace(one);
  });

  let source, wait = 1000, timer;
  const connect = () => {
    const have = [...main.querySelectorAll("[data-fragment]")].map((el) => el.dataset.fragment + "-" + el.dataset.tag).join(".");
    const to = new URL(main.dataset.live, location.href);
    to.searchParams.set("have", have);
    source = new EventSource(to);
    source.onopen = () => { wait = 1000; say("on", "Live"); };
    source.addEventListener("fragment", (e) => replace(JSON.parse(e.data)));
    source.addEventListener("over", () => { source.close(); location.reload(); });
    source.addEventListener("failed", (e) => {
      source.close();
      const note = document.getElementById("failed");
      note.textContent = JSON.parse(e.data).text;
      note.hidden = false;
      say("off", "Not live");
      again(15000);
    });
    source.onerror = () => {
      // Not its own way of trying again: that would name the fragments of the first try.
      source.close();
      say("off", "Reconnecting");
      again(wait);
      wait = Math.min(wait * 2, 30000);
    };
  };
  const again = (after) => {
    clearTimeout(timer);
    timer = setTimeout(() => { document.getElementById("failed").hidden = true; connect(); }, after * (0.75 + Math.random() / 2));
  };
  document.addEventListener("visibilitychange", () => {
    // A page that nobody sees asks for nothing.
    clearTimeout(timer);
    if (document.hidden) source.close();
    else connect();
  });
  window.addEventListener("pagehide", () => source.close());
  window.addEventListener("pageshow", (e) => { if (e.persisted) connect(); });
  connect();
})();
