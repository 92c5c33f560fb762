package merge

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// longest is the approximate limit in bytes of a message that combines many clusters' messages.
	longest = 4096
	// most bounds the conditions, or types of them, in a status, since schemas and the API have limits.
	most = 50
)

// message collects what clusters say, up to its length.
type message struct {
	sentences []string
	length    int
	// omitted is how many there are that it does not say.
	omitted int
}

// add adds what a cluster says, or a text of nobody.
func (m *message) add(cluster, text string) {
	if m.omitted > 0 || len(m.sentences) > 0 && m.length+len(text) > longest {
		m.omitted++
		return
	}
	if cluster != "" {
		text = cluster + "=" + text
	}
	text = shortened(text)
	m.sentences = append(m.sentences, text)
	m.length += len(text)
}

func (m *message) joined() string {
	text := strings.Join(m.sentences, ", ")
	if m.omitted > 0 {
		text += ", and " + strconv.Itoa(m.omitted) + " more"
	}
	return text
}

// shortened cuts a text to the limit of a message, between two characters.
func shortened(text string) string {
	if len(text) <= longest {
		return text
	}
	end := longest
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
