package agentlimit

// How long values are as JSON, about.
const (
	number = 20
	word   = 5
	// around is the number of bytes around a string, or between two values.
	around = 2
	// escaped is how much longer than one byte what has to be escaped is at most.
	escaped = 5
)

// size returns about how many bytes a value takes in the database, which has it as JSON, and nearly never too few.
func size(value any) int {
	switch value := value.(type) {
	case nil, bool:
		return word
	case string:
		return length(value)
	case map[string]any:
		n := around
		for key, of := range value {
			n += length(key) + size(of) + around
		}
		return n
	case []any:
		n := around
		for _, of := range value {
			n += size(of) + around
		}
		return n
	default:
		return number
	}
}

// length is how many bytes a string takes in JSON. The encoder of Kubernetes escapes what means something in HTML, too.
func length(s string) int {
	n := len(s) + around
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c == '<', c == '>', c == '&':
			n += escaped
		case c == '"', c == '\\':
			n++
		}
	}
	return n
}
