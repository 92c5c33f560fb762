package chart

import (
	"fmt"
	"html"
	"math"
	"strings"
	"time"
)

// The size of a plot in its own units; the page scales it.
const (
	width, height = 320.0, 80.0
	pad           = 2.0
)

// Line is a line of a plot.
type Line struct {
	// Class is its class in the style sheet.
	Class   string
	Samples []Sample
}

// Options are the settings of a plot.
type Options struct {
	// Title is the accessible text of the plot.
	Title string
	// Top is the value at the top edge, unless there are greater values.
	Top float64
	// Span is the length of the time axis.
	Span time.Duration
	// Now is the time at the right edge.
	Now time.Time
}

// SVG draws lines, each with the area below it; the first one is at the bottom.
func SVG(o Options, lines ...Line) string {
	top := o.Top
	for _, line := range lines {
		for _, s := range line.Samples {
			top = math.Max(top, s.Value)
		}
	}
	if top <= 0 {
		top = 1
	}
	var out strings.Builder
	fmt.Fprintf(&out, `<svg class="plot" viewBox="0 0 %g %g" preserveAspectRatio="none" role="img" aria-label="%s">`, width, height, html.EscapeString(o.Title))
	for _, part := range []float64{0.25, 0.5, 0.75} {
		fmt.Fprintf(&out, `<path class="grid" d="M0 %gH%g"/>`, pad+part*(height-2*pad), width)
	}
	for _, line := range lines {
		draw(&out, o, line, top)
	}
	out.WriteString(`</svg>`)
	return out.String()
}

func draw(out *strings.Builder, o Options, line Line, top float64) {
	var path strings.Builder
	first, last := -1.0, 0.0
	for _, s := range line.Samples {
		x := width - float64(o.Now.Sub(s.At))/float64(o.Span)*width
		if x < 0 || x > width || math.IsNaN(s.Value) {
			continue
		}
		y := height - pad - math.Min(math.Max(s.Value, 0)/top, 1)*(height-2*pad)
		verb := "L"
		if first < 0 {
			verb, first = "M", x
		}
		fmt.Fprintf(&path, "%s%.1f %.1f", verb, x, y)
		last = x
	}
	if first < 0 {
		return
	}
	if first == last { // a single sample is drawn as a dot
		first = last - 1
		fmt.Fprintf(&path, "h1")
		last++
	}
	class := html.EscapeString(line.Class)
	fmt.Fprintf(out, `<path class="area %s" d="%sL%.1f %gL%.1f %gZ"/>`, class, path.String(), last, height, first, height)
	fmt.Fprintf(out, `<path class="line %s" d="%s"/>`, class, path.String())
}

// Bar draws which share of a whole is used, and beside it which share is pending.
func Bar(title string, used, pending float64) string {
	used = math.Min(math.Max(used, 0), 1)
	pending = math.Min(math.Max(pending, 0), 1-used)
	class := "ok"
	switch {
	case used >= 0.9: //nolint:mnd // a share
		class = "bad"
	case used >= 0.75: //nolint:mnd // a share
		class = "warn"
	}
	const w, h = 100.0, 6.0
	return fmt.Sprintf(`<svg class="bar" viewBox="0 0 %g %g" preserveAspectRatio="none" role="img" aria-label="%s">`+
		`<rect class="track" width="%g" height="%g"/><rect class="fill %s" width="%.1f" height="%g"/><rect class="fill pending" x="%.1f" width="%.1f" height="%g"/></svg>`,
		w, h, html.EscapeString(title), w, h, class, used*w, h, used*w, pending*w, h)
}

// Share is one part of a whole.
type Share struct {
	Class string
	Count int
}

// Shares draws the parts of a whole side by side.
func Shares(title string, parts []Share) string {
	total := 0
	for _, p := range parts {
		total += p.Count
	}
	const w, h = 1000.0, 12.0
	var out strings.Builder
	fmt.Fprintf(&out, `<svg class="shares" viewBox="0 0 %g %g" preserveAspectRatio="none" role="img" aria-label="%s"><rect class="track" width="%g" height="%g"/>`,
		w, h, html.EscapeString(title), w, h)
	x := 0.0
	for _, p := range parts {
		if p.Count == 0 {
			continue
		}
		wide := float64(p.Count) / float64(total) * w
		fmt.Fprintf(&out, `<rect class="share s-%s" x="%.1f" width="%.1f" height="%g"/>`, html.EscapeString(p.Class), x, wide, h)
		x += wide
	}
	out.WriteString(`</svg>`)
	return out.String()
}
