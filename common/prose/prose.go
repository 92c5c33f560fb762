package prose

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Maximum lengths of texts, in bytes.
const (
	// OfCondition bounds the message of a condition. The API accepts 32 kB, which nobody would read.
	OfCondition = 2048
	// OfEvent bounds the note of an event, like the API.
	OfEvent = 1024

	// more marks a text that was cut.
	more = " …"
)

// Cut returns a text cut to a maximum number of bytes, between two characters, with a mark if something was cut.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	cut := max(most-len(more), 0)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + more
}

// IsCut returns whether a text has the mark of Cut.
func IsCut(text string) bool { return strings.HasSuffix(text, more) }

// Names lists names, at most this many in full: "a, b and 3 more". It is empty if there are no names.
func Names(names []string, most int) string {
	return FirstNames(names[:min(len(names), most)], len(names))
}

// FirstNames does likewise for who has only the first of so many names.
func FirstNames(first []string, all int) string {
	listed := strings.Join(first, ", ")
	if more := all - len(first); more > 0 {
		return fmt.Sprintf("%s and %d more", listed, more)
	}
	return listed
}
