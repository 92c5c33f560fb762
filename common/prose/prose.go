package prose

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// How many bytes a text may have.
const (
	// OfCondition bounds the message of a condition. The API takes 32 kB; nobody reads that.
	OfCondition = 2048
	// OfEvent bounds the note of an event, as the API does.
	OfEvent = 1024
)

// Cut returns a text of at most so many bytes, cut at the boundary of a character, with a
// sign that there was more.
func Cut(text string, most int) string {
	const more = " …"
	if len(text) <= most {
		return text
	}
	cut := max(most-len(more), 0)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + more
}

// Names lists names, of which it writes out so many at most: "a, b and 3 more". It returns an empty text for no names.
func Names(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
