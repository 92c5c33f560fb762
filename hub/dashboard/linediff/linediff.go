// Package linediff compares two texts line by line. It is pure.
package linediff

import (
	"slices"
	"strings"
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

// maxLines bounds what is compared line by line: the work grows with the product.
const maxLines = 4000

// Of compares two texts, and shows so many lines around what differs. It returns nothing if
// the texts are the same.
func Of(first, second string, around int) []Line {
	if first == second {
		return nil
	}
	return condense(compare(split(first), split(second)), around)
}

func split(text string) []string {
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func compare(a, b []string) []Line {
	var head, tail []Line
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head = append(head, Line{Same, a[0]})
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append(tail, Line{Same, a[len(a)-1]})
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	slices.Reverse(tail)
	return slices.Concat(head, middle(a, b), tail)
}

// middle compares texts that differ in the first and the last line, by the longest sequence
// of lines that both have.
func middle(a, b []string) []Line {
	var out []Line
	if len(a) > maxLines || len(b) > maxLines {
		for _, line := range a {
			out = append(out, Line{Del, line})
		}
		for _, line := range b {
			out = append(out, Line{Add, line})
		}
		return out
	}
	// length[i][j] is that of the longest one of a[i:] and b[j:].
	length := make([][]int16, len(a)+1)
	for i := range length {
		length[i] = make([]int16, len(b)+1)
	}
	for i, one := range slices.Backward(a) {
		for j, other := range slices.Backward(b) {
			if one == other {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, Line{Same, a[i]})
			i++
			j++
		case i < len(a) && (j == len(b) || length[i+1][j] >= length[i][j+1]):
			out = append(out, Line{Del, a[i]})
			i++
		default:
			out = append(out, Line{Add, b[j]})
			j++
		}
	}
	return out
}

// condense replaces what is far from any difference by gaps.
func condense(lines []Line, around int) []Line {
	near := make([]bool, len(lines))
	for i, line := range lines {
		if line.Kind == Same {
			continue
		}
		for k := max(0, i-around); k <= min(len(lines)-1, i+around); k++ {
			near[k] = true
		}
	}
	var out []Line
	for i, line := range lines {
		switch {
		case near[i]:
			out = append(out, line)
		case len(out) == 0 || out[len(out)-1].Kind != Gap:
			out = append(out, Line{Gap, "⋯"})
		}
	}
	return out
}
