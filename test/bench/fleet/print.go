package main

import (
	"fmt"
	"strings"
	"time"

	"fairlead.dev/test/bench/meter"
)

// report has the tables of each scene, with a column for each size.
type report struct {
	machine string
	when    time.Time
	copies  int
	lines   bool
	sizes   []size
	scenes  []*section
}

// section has the results of a scene.
type section struct {
	scene scene
	// each is the item that requests and bytes are counted for, such as "application".
	each string
	// figures, requests and bytes are by client and verb; parts are by activity of the API server.
	figures, requests, bytes, parts columns
}

// sheet is the current column of a section.
type sheet struct {
	*section

	column int
}

// begin adds a column.
func (r *report) begin(s size) { r.sizes = append(r.sizes, s) }

// sheet returns the current sheet of a scene.
func (r *report) sheet(of scene) *sheet {
	for _, s := range r.scenes {
		if s.scene.name == of.name {
			return &sheet{s, len(r.sizes) - 1}
		}
	}
	r.scenes = append(r.scenes, &section{scene: of})
	return &sheet{r.scenes[len(r.scenes)-1], len(r.sizes) - 1}
}

// put records a figure.
func (s *sheet) put(what string, value float64, unit string) {
	s.figures.put(s.column, what, value, unit)
}

// tell records a figure, and prints it as progress.
func (s *sheet) tell(what string, value float64, unit string) {
	s.put(what, value, unit)
	progress("%-80s %s", s.scene.name+": "+what, meter.Figure(value, unit))
}

// String returns all tables in Markdown.
func (r *report) String() string {
	out := &strings.Builder{}
	lines := "with lines"
	if !r.lines {
		lines = "without lines"
	}
	fmt.Fprintf(out, "\nHollow agents %s, applications to at most %d clusters each; %s; %s\n", lines, r.copies, r.machine, r.when.Format(time.DateOnly))
	for _, s := range r.scenes {
		fmt.Fprintf(out, "\n%s: %s\n", s.scene.name, s.scene.what)
		for _, t := range []struct {
			head  string
			of    columns
			least float64
		}{
			{"what", s.figures, 0},
			{"requests for each " + s.each, s.requests, rare},
			{"kB for each " + s.each, s.bytes, rare},
			{"what the API server does, for each write", s.parts, 0},
		} {
			if len(t.of.order) > 0 {
				fmt.Fprintf(out, "\n%s", t.of.table(t.head, r.sizes, t.least))
			}
		}
	}
	return out.String()
}

// rare is the share of all requests, or bytes, below which rows are combined.
const rare = 0.005
