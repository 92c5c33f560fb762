// Logs and terminals of pods. What comes from there is shown as text, and steers nothing.
"use strict";
(() => {
  const most = 5000; // lines that are kept of what was said
  // What cannot be seen, or turns text around.
  const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

  const log = document.getElementById("log");
  if (log) {
    const state = document.getElementById("log-state");
    let kept = 0;
    const add = (text) => {
      const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
      log.append(text);
      kept += text.split("\n").length - 1;
      while (kept > most && log.childNodes.length > 1) {
        kept -= log.firstChild.textContent.split("\n").length - 1;
        log.firstChild.remove();
      }
      if (atEnd) log.scrollTop = log.scrollHeight;
    };
    const follow = async () => {
      const stop = new AbortController();
      window.addEventListener("pagehide", () => stop.abort());
      try {
        const answer = await fetch(log.dataset.stream, { signal: stop.signal, redirect: "error" });
        if (!answer.ok) { state.textContent = "They cannot be shown: " + answer.status + " " + answer.statusText + "."; return; }
        state.textContent = "Connected.";
        const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
        for (;;) {
          const { value, done } = await reader.read();
          if (done) break;
          add(value.replace(hidden, ""));
        }
        state.textContent = "This is all. Load the page again to read on.";
      } catch {
        state.textContent = "The connection was lost. Load the page again to read on.";
      }
    };
    follow();
  }

  const screen = document.getElementById("terminal");
  const form = document.getElementById("terminal-form");
  if (!screen || !form) return;
  const state = document.getElementById("terminal-state");

  // Lines of characters and a cursor in the last of them: enough for shells that edit their line.
  let lines, column, pending, drawn;
  const reset = () => { lines = [""]; column = 0; pending = ""; draw(); };
  const put = (c) => {
    const at = lines.length - 1;
    const line = lines[at].padEnd(column, " ");
    lines[at] = line.slice(0, column) + c + line.slice(column + 1);
    column += 1;
  };
  const control = (final, parameters) => {
    const at = lines.length - 1;
    const n = Math.min(parseInt(parameters, 10) || 0, 10000);
    const line = lines[at];
    switch (final) {
      case "C": column = Math.min(column + (n || 1), 10000); break;
      case "D": column = Math.max(0, column - (n || 1)); break;
      case "G": column = Math.max(0, n - 1); break;
      case "K":
        if (n === 0) lines[at] = line.slice(0, column);
        else if (n === 1) lines[at] = " ".repeat(Math.min(column, line.length)) + line.slice(column);
        else lines[at] = "";
        break;
      case "P": lines[at] = line.slice(0, column) + line.slice(column + (n || 1)); break;
      case "@": lines[at] = line.slice(0, column) + " ".repeat(n || 1) + line.slice(column); break;
      case "J":
        if (n >= 2) { lines = [""]; column = 0; } else lines[at] = line.slice(0, column);
        break;
      case "H": column = 0; break;
      default: // colours and what else there is are left out
    }
  };
  const sequence = /^\x1b(?:\[([0-?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-OQ-WYZ\\`-~])/;
  const write = (text) => {
    text = pending + text;
    pending = "";
    for (let i = 0; i < text.length;) {
      const c = text[i];
      if (c === "\x1b") {
        const found = sequence.exec(text.slice(i, i + 4096));
        if (found) {
          if (found[2]) control(found[2], found[1]);
          i += found[0].length;
          continue;
        }
        if (text.length - i < 4096) { pending = text.slice(i); break; } // its end comes later
      } else if (c === "\n") {
        lines.push("");
        if (lines.length > most) lines.splice(0, lines.length - most);
      } else if (c === "\r") column = 0;
      else if (c === "\b") column = Math.max(0, column - 1);
      else if (c === "\t") { do put(" "); while (column % 8); }
      else {
        const whole = String.fromCodePoint(text.codePointAt(i));
        if (whole.replace(hidden, "")) put(whole[0] === whole ? whole : "\ufffd");
        i += whole.length;
        continue;
      }
      i += 1;
    }
    draw();
  };
  const draw = () => {
    if (drawn) return;
    drawn = requestAnimationFrame(() => {
      drawn = 0;
      const atEnd = screen.scrollHeight - screen.scrollTop - screen.clientHeight < 60;
      const line = lines[lines.length - 1].padEnd(column + 1, " ");
      const cursor = document.createElement("span");
      cursor.className = "cursor";
      cursor.textContent = line[column];
      screen.replaceChildren(lines.slice(0, -1).map((l) => l + "\n").join("") + line.slice(0, column), cursor, line.slice(column + 1).trimEnd());
      if (atEnd) screen.scrollTop = screen.scrollHeight;
    });
  };

  let socket;
  const encoder = new TextEncoder();
  const type = (text) => {
    if (!socket || socket.readyState !== WebSocket.OPEN) return;
    const bytes = encoder.encode(text);
    for (let at = 0; at < bytes.length; at += 16384) socket.send(bytes.slice(at, at + 16384));
  };
  const keys = {
    Enter: "\r", Backspace: "\x7f", Tab: "\t", Escape: "\x1b", Delete: "\x1b[3~", ArrowUp: "\x1b[A", ArrowDown: "\x1b[B",
    ArrowRight: "\x1b[C", ArrowLeft: "\x1b[D", Home: "\x1b[H", End: "\x1b[F", PageUp: "\x1b[5~", PageDown: "\x1b[6~",
  };
  screen.addEventListener("keydown", (e) => {
    if (e.metaKey || e.isComposing || (e.key === "Tab" && e.shiftKey)) return; // Shift and Tab leave the terminal
    if (e.ctrlKey && e.shiftKey) return; // the browser's own copy and paste
    if (e.ctrlKey && e.key === "c" && !getSelection().isCollapsed) return; // what is selected is copied
    if (e.ctrlKey && e.key === "v") return; // it comes as paste
    let text = keys[e.key];
    if (!text && e.ctrlKey && !e.altKey && /^[a-z\[\\\]^_@ ]$/i.test(e.key)) text = String.fromCharCode(e.key.toUpperCase().charCodeAt(0) & 31);
    else if (!text && [...e.key].length === 1) text = (e.altKey && !e.ctrlKey ? "\x1b" : "") + e.key;
    if (!text) return;
    e.preventDefault();
    type(text);
  });
  screen.addEventListener("paste", (e) => {
    e.preventDefault();
    type(e.clipboardData.getData("text").replace(/\r?\n/g, "\r"));
  });
  const resize = () => {
    if (!socket || socket.readyState !== WebSocket.OPEN) return;
    const ruler = document.createElement("span");
    ruler.textContent = "m".repeat(100);
    screen.append(ruler);
    const { width, height } = ruler.getBoundingClientRect();
    ruler.remove();
    if (!width || !height) return;
    const style = getComputedStyle(screen);
    const inner = screen.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    const columns = Math.max(20, Math.min(500, Math.floor(inner / (width / 100))));
    const rows = Math.max(5, Math.min(200, Math.floor(screen.clientHeight / parseFloat(style.lineHeight))));
    socket.send(JSON.stringify({ columns, rows: rows || 24 }));
  };
  window.addEventListener("resize", resize);

  form.addEventListener("submit", async (e) => {
    e.preventDefault();
    if (socket) socket.close();
    state.textContent = "Connecting…";
    try {
      const answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)), redirect: "error" });
      if (!answer.ok) { state.textContent = (await answer.text()).trim() || "It was refused."; return; }
      const { path } = await answer.json();
      const to = new URL(path, location.href);
      to.protocol = location.protocol === "https:" ? "wss:" : "ws:";
      const one = new WebSocket(to);
      const decoder = new TextDecoder();
      socket = one;
      one.binaryType = "arraybuffer";
      one.onopen = () => { screen.hidden = false; reset(); screen.focus(); state.textContent = "Connected."; resize(); };
      one.onmessage = ({ data }) => {
        if (typeof data === "string") state.textContent = JSON.parse(data).end;
        else write(decoder.decode(data, { stream: true }));
      };
      one.onclose = ({ wasClean }) => { if (!wasClean && socket === one) state.textContent = "The connection was lost."; };
    } catch {
      state.textContent = "The hub could not be reached.";
    }
  });
})();
