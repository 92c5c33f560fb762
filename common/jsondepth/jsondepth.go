// Package jsondepth measures and bounds the nesting of JSON without decoding it: decoders fail at ten thousand
// levels, and one such object makes the whole list or watch fail that contains it. It also counts values, which take
// far more memory when decoded than in JSON.
package jsondepth

import "io"

// Bounds, in levels of objects and lists.
const (
	// MaxStatus bounds the status of an object in a member.
	MaxStatus = 64
	// MaxValue bounds a value in a policy.
	MaxValue = 64
	// MaxManifest bounds an object that is sent to members.
	MaxManifest = 256
	// MaxAnswer bounds what is read of an answer of the hub's API. It exceeds all the others.
	MaxAnswer = 512
)

// Of returns how deeply JSON is nested: 0 for a string, 1 for a list of strings.
func Of(data []byte) int {
	var s scanner
	deepest := 0
	for _, c := range data {
		s.next(c)
		deepest = max(deepest, s.depth)
	}
	return deepest
}

// Values returns approximately how many values a decoder makes of JSON: it counts objects, lists and the parts
// between commas.
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

// Limit returns a reader of JSON, or of several consecutive documents, that drops the content of objects and lists
// nested deeper than levels.
func Limit(r io.Reader, levels int) io.Reader { return &limited{from: r, levels: levels} }

type limited struct {
	from   io.Reader
	levels int
	scanner
}

// Read edits in place, since the result is never longer.
func (l *limited) Read(p []byte) (int, error) {
	for {
		n, err := l.from.Read(p)
		kept := 0
		for _, c := range p[:n] {
			before := l.depth
			l.next(c)
			// Of a deeper object or list only the two brackets stay.
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

// scanner tracks the depth after every byte of JSON.
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
