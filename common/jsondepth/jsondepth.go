// Package jsondepth measures and bounds how deep JSON is nested, without decoding it: a
// decoder gives up at ten thousand levels, and with one object that is nested so deep the
// whole list or watch that it is in. It also counts values, of which a decoder makes far
// more than they are in JSON.
package jsondepth

import "io"

// Bounds, in levels of objects and lists.
const (
	// MaxStatus is how deep the status of an object in a member may be.
	MaxStatus = 64
	// MaxValue is how deep a value in a policy may be.
	MaxValue = 64
	// MaxManifest is how deep an object may be that goes to members.
	MaxManifest = 256
	// MaxAnswer is how deep an answer of the hub's API is read. What is cut there is deeper
	// than all of the others.
	MaxAnswer = 512
)

// Of returns how deep JSON is nested: 0 for a string, 1 for a list of strings.
func Of(data []byte) int {
	var s scanner
	deepest := 0
	for _, c := range data {
		s.next(c)
		deepest = max(deepest, s.depth)
	}
	return deepest
}

// Values returns how many values there are in JSON of which a decoder makes something, and
// hardly more: it counts objects, lists and what is between commas.
func Values(data []byte) int {
	var s scanner
	values := 1
	for _, c := range data {
		s.next(c)
		if !s.text && (c == ',' || c == '{' || c == '[') {
			values++
		}
	}
	return values
}

// Limit reads JSON, or several documents of it after one another, and leaves out the content
// of objects and lists that would be nested deeper.
func Limit(r io.Reader, levels int) io.Reader { return &limited{from: r, levels: levels} }

type limited struct {
	from   io.Reader
	levels int
	scanner
}

// Read cuts in place what it reads: what stays is never longer.
func (l *limited) Read(p []byte) (int, error) {
	for {
		n, err := l.from.Read(p)
		kept := 0
		for _, c := range p[:n] {
			before := l.depth
			l.next(c)
			// Of an object or list that is deeper only its two brackets stay.
			if min(before, l.depth) <= l.levels {
				p[kept] = c
				kept++
			}
		}
		if kept > 0 || err != nil || len(p) == 0 {
			return kept, err
		}
	}
}

// scanner knows after every byte of JSON how deep it is.
type scanner struct {
	depth   int
	text    bool // in a string
	escaped bool // after a backslash in it
}

func (s *scanner) next(c byte) {
	switch {
	case s.escaped:
		s.escaped = false
	case s.text && c == '\\':
		s.escaped = true
	case c == '"':
		s.text = !s.text
	case s.text:
	case c == '{' || c == '[':
		s.depth++
	case c == '}' || c == ']':
		s.depth--
	}
}
