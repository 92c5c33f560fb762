package diff

import (
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
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

// maxLines bounds what is compared line by line: for texts that are made to be slow the work
// grows faster than their length.
const maxLines = 4000

// Lines compares two texts, and shows so many lines around what differs. It returns nothing if
// the texts are the same. Of texts of more than maxLines lines it shows where they begin and
// end to differ, and all between as replaced.
func Lines(first, second string, around int) []Line {
	if first == second {
		return nil
	}
	a, b := split(first), split(second)
	codes := compare(a, b)
	var out []Line
	end := 0
	for _, group := range grouped(codes, around) {
		if group[0].I1 > end {
			out = append(out, Line{Gap, "⋯"})
		}
		for _, c := range group {
			if c.Tag == 'e' {
				out = appendLines(out, Same, a[c.I1:c.I2])
				continue
			}
			out = appendLines(out, Del, a[c.I1:c.I2])
			out = appendLines(out, Add, b[c.J1:c.J2])
		}
		end = group[len(group)-1].I2
	}
	if end < len(a) {
		out = append(out, Line{Gap, "⋯"})
	}
	return out
}

func split(text string) []string {
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func appendLines(out []Line, kind Kind, lines []string) []Line {
	for _, line := range lines {
		out = append(out, Line{kind, line})
	}
	return out
}

// compare returns how the second text is made of the first.
func compare(a, b []string) []difflib.OpCode {
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	middleA, middleB := a[head:len(a)-tail], b[head:len(b)-tail]
	codes := []difflib.OpCode{{Tag: 'r', I2: len(middleA), J2: len(middleB)}}
	if len(middleA) <= maxLines && len(middleB) <= maxLines {
		codes = difflib.NewMatcher(middleA, middleB).GetOpCodes()
	}
	for i := range codes {
		c := &codes[i]
		c.I1, c.I2, c.J1, c.J2 = c.I1+head, c.I2+head, c.J1+head, c.J2+head
	}
	if head > 0 {
		codes = slices.Insert(codes, 0, difflib.OpCode{Tag: 'e', I2: head, J2: head})
	}
	if tail > 0 {
		codes = append(codes, difflib.OpCode{Tag: 'e', I1: len(a) - tail, I2: len(a), J1: len(b) - tail, J2: len(b)})
	}
	return codes
}

// grouped returns the codes in groups, each with so many lines around what differs.
func grouped(codes []difflib.OpCode, around int) [][]difflib.OpCode {
	var out [][]difflib.OpCode
	var group []difflib.OpCode
	for i, c := range codes {
		if c.Tag != 'e' {
			group = append(group, c)
			continue
		}
		before, after := c, c // what is shown of the same lines after the last difference, and before the next
		before.I2, before.J2 = min(c.I2, c.I1+around), min(c.J2, c.J1+around)
		after.I1, after.J1 = max(c.I1, c.I2-around), max(c.J1, c.J2-around)
		switch first, last := i == 0, i == len(codes)-1; {
		case first:
			group = append(group, after)
		case last:
			group = append(group, before)
		case before.I2 >= after.I1:
			group = append(group, c)
		default:
			out = append(out, append(group, before))
			group = []difflib.OpCode{after}
		}
	}
	if len(group) > 0 {
		out = append(out, group)
	}
	return out
}
