package vm

import (
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// format is string.format. gopher-lua's own passes the format to Go, whose verbs can repeat an argument or show Go's
// representation of it.
func (s *sandbox) format(l *lua.LState) int {
	format, next := l.CheckString(1), 2
	s.budget.text(l, len(format))
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(format, "%")
		out.WriteString(before)
		if !found {
			break
		}
		if strings.HasPrefix(rest, "%") {
			out.WriteByte('%')
			format = rest[1:]
			continue
		}
		spec := verbOf(l, rest)
		format = rest[len(spec):]
		text := formatted(l, spec, next)
		s.budget.text(l, out.Len()+len(text))
		out.WriteString(text)
		next++
	}
	l.Push(lua.LString(out.String()))
	return 1
}

// verbOf returns the flags, width, precision and verb at the start of a text. As in Lua, width and precision have at
// most two digits, since they make long texts from short ones.
func verbOf(l *lua.LState, text string) string {
	end := len(text) - len(strings.TrimLeft(text, "-+ #0"))
	for part := range 2 {
		if part == 1 {
			if end == len(text) || text[end] != '.' {
				break
			}
			end++
		}
		from := end
		for end < len(text) && digit(text[end]) {
			end++
		}
		if end-from > 2 {
			l.RaiseError("invalid format: a width or precision has more than two digits")
		}
	}
	if end > 10 || end == len(text) {
		l.RaiseError("invalid format: a %% is followed by no conversion; write %%%% for a percent sign")
	}
	return text[:end+1]
}

// formatted formats the argument at an index with a verb.
func formatted(l *lua.LState, spec string, at int) string {
	flags, verb := "%"+spec[:len(spec)-1], spec[len(spec)-1]
	switch verb {
	case 'd', 'i', 'u':
		return fmt.Sprintf(flags+"d", int64(l.CheckNumber(at)))
	case 'c', 'o', 'x', 'X':
		return fmt.Sprintf(flags+string(verb), int64(l.CheckNumber(at)))
	case 'e', 'E', 'f', 'g', 'G':
		return fmt.Sprintf(flags+string(verb), float64(l.CheckNumber(at)))
	case 'q':
		return fmt.Sprintf(flags+"q", l.CheckString(at))
	case 's', 'v':
		return fmt.Sprintf(flags+"s", l.ToStringMeta(l.CheckAny(at)).String())
	default:
		l.RaiseError("invalid format: there is no conversion %%%c", verb)
		return ""
	}
}

func digit(c byte) bool { return '0' <= c && c <= '9' }
