package diff

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Kind is the kind of a line.
type Kind string

// The kinds. The values are CSS classes.
const (
	Same Kind = "same"
	// Add is only in the second text, and Del only in the first.
	Add Kind = "add"
	Del Kind = "del"
	// Gap stands for equal lines that are not shown.
	Gap Kind = "gap"
)

// Line is one line of a comparison.
type Line struct {
	Kind Kind
	Text string
}

// Lines compares two texts, and shows that many lines of context. It returns nothing if the texts are equal. The search
// for common lines is bounded, so for adversarial texts the diff may not be minimal.
func Lines(first, second string, around int) ([]Line, error) {
	compared, err := udiff.ToUnifiedDiff("", "", first, udiff.Lines(first, second), around)
	if err != nil {
		return nil, fmt.Errorf("comparing texts line by line: %w", err)
	}
	var out []Line
	end := 0 // the last line of the first text that is already shown
	for _, hunk := range compared.Hunks {
		if hunk.FromLine-1 > end {
			out = append(out, Line{Gap, "⋯"})
		}
		end = max(hunk.FromLine-1, end)
		for _, line := range hunk.Lines {
			if line.Kind != udiff.Insert {
				end++
			}
			out = append(out, Line{kindOf(line.Kind), strings.TrimSuffix(line.Content, "\n")})
		}
	}
	if len(out) > 0 && end < len(strings.SplitAfter(strings.TrimSuffix(first, "\n"), "\n")) {
		out = append(out, Line{Gap, "⋯"})
	}
	return out, nil
}

func kindOf(op udiff.OpKind) Kind {
	switch op {
	case udiff.Insert:
		return Add
	case udiff.Delete:
		return Del
	default:
		return Same
	}
}
