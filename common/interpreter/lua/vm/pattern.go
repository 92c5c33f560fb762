package vm

import (
	"fmt"
	"regexp"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// maxPattern bounds the length of a pattern, and maxWork its length times that of the text, to which the cost of a
// match is proportional.
const (
	maxPattern  = 1000
	maxWork     = 50_000_000
	maxPatterns = 64 // per state
)

// pattern is a Lua pattern translated to an RE2 regular expression.
//
// Lua's own matcher backtracks, which takes forever for some patterns and texts. Lua repeats single characters only,
// and takes the first match in Perl's order, which is RE2's order as well: both find the same, but RE2 in linear
// time. Features that RE2 lacks (%b, %f, and %1 to %9) are refused.
type pattern struct {
	re *regexp.Regexp
	// positions are the captures that are positions.
	positions []bool
	// anchored says that it matches only where the search begins.
	anchored bool
}

// pattern translates a pattern, or raises an error.
func (s *sandbox) pattern(l *lua.LState, source string, text int) *pattern {
	s.budget.text(l, text)
	if len(source) > maxPattern || len(source)*text > maxWork {
		l.RaiseError("the pattern (%d bytes) or the text (%d bytes) is too long to be matched", len(source), text)
	}
	s.budget.slow(l)
	if p, ok := s.patterns[source]; ok {
		return p
	}
	p, err := translate(source)
	if err != nil {
		l.RaiseError("malformed pattern %q: %s", source, err.Error())
	}
	if len(s.patterns) >= maxPatterns {
		clear(s.patterns)
	}
	s.patterns[source] = p
	return p
}

// find returns the begin and end of the first match from start on, and of its captures.
func (p *pattern) find(text string, start int) []int {
	at := p.re.FindStringSubmatchIndex(text[start:])
	if at == nil {
		return nil
	}
	for i := range at {
		at[i] += start
	}
	for i, isPosition := range p.positions {
		if isPosition {
			at[2*i+3] = positionCapture
		}
	}
	return at
}

func plainFind(text, part string, start int) []int {
	i := strings.Index(text[start:], part)
	if i < 0 {
		return nil
	}
	return []int{start + i, start + i + len(part)}
}

// classOf returns one of Lua's character classes and its complement, as the inside of an RE2 set; empty if there is
// no such class.
func classOf(letter byte) (in, out string) {
	switch letter {
	case 'a':
		return `A-Za-z`, "\\x00-@\\[-`{-\\x{10FFFF}"
	case 'c':
		return `\x00-\x1f\x7f`, ` -~\x80-\x{10FFFF}`
	case 'd':
		return `0-9`, `\x00-/:-\x{10FFFF}`
	case 'l':
		return `a-z`, "\\x00-`{-\\x{10FFFF}"
	case 'p':
		return "!-/:-@\\[-`{-~", `\x00- 0-9A-Za-z\x7f-\x{10FFFF}`
	case 's':
		return `\t-\r `, `\x00-\x08\x0e-\x1f!-\x{10FFFF}`
	case 'u':
		return `A-Z`, `\x00-@\[-\x{10FFFF}`
	case 'w':
		return `0-9A-Za-z`, "\\x00-/:-@\\[-`{-\\x{10FFFF}"
	case 'x':
		return `0-9A-Fa-f`, "\\x00-/:-@G-`g-\\x{10FFFF}"
	case 'z':
		return `\x00`, `\x01-\x{10FFFF}`
	default:
		return "", ""
	}
}

// translate converts a pattern to a regular expression.
func translate(source string) (*pattern, error) {
	t := &translation{source: source}
	t.out.WriteString("(?s)")
	p := &pattern{}
	if strings.HasPrefix(source, "^") {
		p.anchored = true
		t.at = 1
		t.out.WriteString(`\A`)
	}
	for t.at < len(source) {
		if err := t.item(); err != nil {
			return nil, err
		}
	}
	if t.open > 0 {
		return nil, fmt.Errorf("a ( is not closed")
	}
	re, err := regexp.Compile(t.out.String())
	if err != nil {
		return nil, fmt.Errorf("it cannot be matched: %w", err)
	}
	p.re, p.positions = re, t.positions
	return p, nil
}

type translation struct {
	source    string
	at        int
	out       strings.Builder
	open      int
	positions []bool
}

// item translates the next item of the pattern.
func (t *translation) item() error {
	c := t.source[t.at]
	switch {
	case c == '(':
		isPosition := strings.HasPrefix(t.source[t.at:], "()")
		t.positions = append(t.positions, isPosition)
		t.out.WriteByte('(')
		t.open++
		t.at++
		return nil
	case c == ')':
		if t.open == 0 {
			return fmt.Errorf("a ) has no (")
		}
		t.out.WriteByte(')')
		t.open--
		t.at++
		return nil
	case c == '$' && t.at == len(t.source)-1:
		t.out.WriteString(`\z`)
		t.at++
		return nil
	}
	class, err := t.class()
	if err != nil {
		return err
	}
	t.out.WriteString(class)
	if t.at < len(t.source) {
		if repeat, ok := map[byte]string{'*': "*", '+': "+", '-': "*?", '?': "?"}[t.source[t.at]]; ok {
			t.out.WriteString(repeat)
			t.at++
		}
	}
	return nil
}

// class translates what matches one character.
func (t *translation) class() (string, error) {
	c := t.source[t.at]
	t.at++
	switch c {
	case '.':
		return ".", nil
	case '%':
		inside, err := t.escaped()
		return "[" + inside + "]", err
	case '[':
		return t.set()
	default:
		return regexp.QuoteMeta(t.rest(c)), nil
	}
}

// rest returns the character that begins with c: a byte, or a whole rune.
func (t *translation) rest(c byte) string {
	from := t.at - 1
	if c >= 0x80 {
		for t.at < len(t.source) && t.source[t.at]&0xC0 == 0x80 {
			t.at++
		}
	}
	return t.source[from:t.at]
}

// escaped translates the character after a %, as the inside of a set.
func (t *translation) escaped() (string, error) {
	if t.at == len(t.source) {
		return "", fmt.Errorf("it ends with %%")
	}
	c := t.source[t.at]
	t.at++
	if in, _ := classOf(c); in != "" {
		return in, nil
	}
	if _, out := classOf(c | 0x20); out != "" && 'A' <= c && c <= 'Z' {
		return out, nil
	}
	if c == 'b' || c == 'f' || digit(c) {
		return "", fmt.Errorf("%%%c is not supported", c)
	}
	return quoted(string(c)), nil
}

// quoted returns a character as written in an RE2 set.
func quoted(c string) string {
	if strings.ContainsAny(c, `\]^[-&~`) {
		return `\` + c
	}
	return c
}

// set translates a set; its [ has been read.
func (t *translation) set() (string, error) {
	out := "["
	if t.at < len(t.source) && t.source[t.at] == '^' {
		out += "^"
		t.at++
	}
	for first := true; ; first = false {
		if t.at == len(t.source) {
			return "", fmt.Errorf("a [ is not closed")
		}
		c := t.source[t.at]
		t.at++
		switch {
		case c == ']' && !first:
			return out + "]", nil
		case c == '%':
			inside, err := t.escaped()
			if err != nil {
				return "", err
			}
			out += inside
		default:
			low := t.rest(c)
			out += quoted(low)
			if t.at+1 < len(t.source) && t.source[t.at] == '-' && t.source[t.at+1] != ']' {
				t.at += 2
				high := t.rest(t.source[t.at-1])
				if high < low {
					return "", fmt.Errorf("the range %s-%s is empty", low, high)
				}
				out += "-" + quoted(high)
			}
		}
	}
}
