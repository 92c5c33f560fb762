package browser

import (
	"strings"

	"github.com/chromedp/chromedp"
)

// audit is a script that checks a page for people who cannot see it, or use no mouse. It returns a sentence for each
// fault.
const audit = `(() => {
  const faults = [];
  const say = (el, what) => faults.push(what + ": " + el.outerHTML.slice(0, 120));
  const seen = (el) => { const r = el.getBoundingClientRect(); return el.checkVisibility() && r.width > 1 && r.height > 1; };
  const name = (el) => (el.getAttribute("aria-label") || el.textContent || el.title || "").trim() ||
    [...el.querySelectorAll("img[alt]")].map((i) => i.alt).join(" ").trim();

  if (!document.documentElement.lang) faults.push("the page has no language");
  if (!document.title) faults.push("the page has no title");
  if (document.querySelectorAll("main").length !== 1) faults.push("there is not exactly one main");
  if (document.querySelectorAll("h1").length !== 1) faults.push("there is not exactly one h1");
  let last = 0;
  for (const h of document.querySelectorAll("h1, h2, h3, h4")) {
    const level = +h.tagName[1];
    if (level > last + 1) say(h, "a heading skips a level");
    last = level;
  }
  const ids = new Set();
  for (const el of document.querySelectorAll("[id]")) {
    if (ids.has(el.id)) say(el, "an id is not unique");
    ids.add(el.id);
  }
  for (const el of document.querySelectorAll("a[href], button")) if (!name(el)) say(el, "it has no name");
  for (const el of document.querySelectorAll("input:not([type=hidden]), select, textarea"))
    if (!el.labels.length && !el.getAttribute("aria-label")) say(el, "it has no label");
  for (const el of document.querySelectorAll("img")) if (!el.hasAttribute("alt")) say(el, "it has no text instead");
  for (const el of document.querySelectorAll("svg")) if (!el.getAttribute("aria-label") && el.getAttribute("aria-hidden") !== "true") say(el, "a picture has no name");
  for (const el of document.querySelectorAll("table")) {
    if (!el.caption) say(el, "a table has no caption");
    for (const th of el.querySelectorAll("th")) if (!th.scope) say(th, "a heading of a table has no scope");
  }
  for (const el of document.querySelectorAll("[tabindex]")) if (el.tabIndex > 0) say(el, "it is out of the order of tabs");
  for (const el of document.querySelectorAll("[style], [onclick], [onload]")) say(el, "it has a style or a script of its own");
  for (const el of document.querySelectorAll("[aria-describedby]"))
    for (const id of el.getAttribute("aria-describedby").split(" ")) if (!document.getElementById(id)) say(el, "what describes it is not there");
  // What can be scrolled can be reached with the keys.
  for (const el of document.querySelectorAll("main *"))
    if (el.scrollWidth > el.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(el).overflowX) && seen(el) &&
        el.tabIndex < 0 && !el.querySelector("a[href], button, input, select")) say(el, "it scrolls, and not by keys");
  if (document.documentElement.scrollWidth > innerWidth + 1) faults.push("the page is wider than the screen by " + (document.documentElement.scrollWidth - innerWidth));

  // Contrast of texts against what is behind them: 4.5, or 3 if they are large.
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const paint = (over, color) => {
    canvas.fillStyle = over ? "rgb(" + over.join(",") + ")" : "#fff";
    canvas.fillRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (el) => {
    const chain = [];
    for (; el; el = el.parentElement) chain.unshift(getComputedStyle(el).backgroundColor);
    return chain.reduce((over, color) => paint(over, color), null);
  };
  const told = new Set();
  for (const el of document.querySelectorAll("body *")) {
    if (![...el.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) || !seen(el) || el.closest("[aria-hidden=true], svg, .off, option, .sr, .skip")) continue;
    const style = getComputedStyle(el);
    const back = behind(el);
    const opacity = [...(function* () { for (let e = el; e; e = e.parentElement) yield +getComputedStyle(e).opacity; })()].reduce((a, b) => a * b, 1);
    let fore = paint(back, style.color);
    fore = fore.map((v, i) => v * opacity + back[i] * (1 - opacity));
    const [a, b] = [light(fore), light(back)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize);
    const need = size >= 24 || size >= 18.66 && +style.fontWeight >= 700 ? 3 : 4.5;
    const key = el.className + style.color + back;
    if (ratio < need && !told.has(key)) { told.add(key); say(el, "the contrast is " + ratio.toFixed(2)); }
  }
  return faults.join("\n");
})()`

// accessible fails the test for each fault found by the audit, on every screen. The content must be reachable by
// keyboard, and focus must be visible.
func (b *browser) accessible(name string) {
	b.tb.Helper()
	for _, s := range screens {
		b.on(s)
		var faults string
		b.do("auditing "+name, chromedp.Evaluate(audit, &faults))
		for fault := range strings.Lines(faults) {
			b.tb.Errorf("%s on %s: %s", name, s.name, fault)
		}
	}
	b.on(desktop)
}

// keys fails the test unless the tab key reaches every control, with a visible focus.
func (b *browser) keys() {
	b.tb.Helper()
	b.do("beginning at the top", chromedp.Evaluate(`document.activeElement.blur(); scrollTo(0, 0)`, nil))
	for range 8 {
		b.do("pressing the tab key", chromedp.KeyEvent("\t"))
		var fault string
		b.do("looking for the focus", chromedp.Evaluate(`(() => {
  const el = document.activeElement, style = getComputedStyle(el);
  if (el === document.body) return "the focus is lost";
  return style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2 ? "the focus does not show: " + el.outerHTML.slice(0, 120) : "";
})()`, &fault))
		if fault != "" {
			b.tb.Error(fault)
		}
	}
}
