package agentlimit

// Approximate lengths of values in JSON.
const (
	number = 20
	word   = 5
	// around is the overhead of a string, or of a separator between two values.
	around = 2
	// escaped is by how much escaping can extend a byte.
	escaped = 5
)

// size returns approximately how many bytes a value takes as JSON in the database; it hardly ever underestimates.
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

// length returns how many bytes a string takes in JSON. The Kubernetes encoder also escapes HTML characters.
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
