package diff

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Kind of a line.
type Kind string

// Kinds. The values are classes of the page.
const (
	Same Kind = "same"
	// Add is in the second text only, Del in the first.
	Add Kind = "add"
	Del Kind = "del"
	// Gap stands for lines that are the same and far from any that is not.
	Gap Kind = "gap"
)

// Line is one line of a comparison.
type Line struct {
	Kind Kind
	Text string
}

// Lines compares two texts, and shows so many lines around what differs. It returns nothing if
// the texts are the same. How long it looks for what both texts have is bounded: of texts that are
// made to be slow more is shown as replaced than need be.
func Lines(first, second string, around int) ([]Line, error) {
	compared, err := udiff.ToUnifiedDiff("", "", first, udiff.Lines(first, second), around)
	if err != nil {
		return nil, fmt.Errorf("comparing texts line by line: %w", err)
	}
	var out []Line
	end := 0 // the line of the first text up to which it is shown
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
