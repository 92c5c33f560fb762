package book

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// block is a code block of a page.
type block struct {
	// language is that of the fence; "" if none.
	language string
	// line is the number of its first line.
	line int
	text string
}

// fence matches the start or end of a block.
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

// script joins the shell blocks of a page. Line numbers are preserved, because the shell reports them with errors.
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

// shell is the language of blocks that are run, console that of blocks that are not.
const (
	shell   = "sh"
	console = "console"
)
