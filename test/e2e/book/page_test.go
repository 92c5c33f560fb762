package book

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// block is a block of code of a page.
type block struct {
	// language is what the page calls it; "" if nothing.
	language string
	// line is that of its first line.
	line int
	text string
}

// fence begins or ends a block.
var fence = regexp.MustCompile("^```([a-z]*)$")

// read returns the blocks of a page.
func read(path string) ([]block, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a page of the book: %w", err)
	}
	var out []block
	var open *block
	for i, line := range strings.Split(string(data), "\n") {
		match := fence.FindStringSubmatch(line)
		switch {
		case open != nil && line == "```":
			out = append(out, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		case match != nil:
			open = &block{language: match[1], line: i + 2}
		}
	}
	if open != nil {
		return nil, fmt.Errorf("%s:%d: the block does not end", filepath.Base(path), open.line)
	}
	return out, nil
}

// script puts the blocks of shell of a page together. Lines keep their numbers, which the shell tells of what fails.
func script(blocks []block) string {
	var out strings.Builder
	line := 1
	for _, b := range blocks {
		if b.language != shell {
			continue
		}
		out.WriteString(strings.Repeat("\n", b.line-line))
		out.WriteString(b.text)
		line = b.line + strings.Count(b.text, "\n")
	}
	return out.String()
}

// shell is the language of blocks that are run; console that of blocks that are not.
const (
	shell   = "sh"
	console = "console"
)
