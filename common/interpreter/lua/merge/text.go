package merge

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// longest is about how many bytes a message has that says what many clusters say.
	longest = 4096
	// most is how many conditions, or types of them, a status has; schemas and the API have limits.
	most = 50
)

// texts collects the sentences of a message.
type texts struct {
	said   []string
	length int
	// more is how many there are that it does not say.
	more int
}

// say adds what a cluster says, or a text of nobody.
func (t *texts) say(cluster, text string) {
	if t.more > 0 || len(t.said) > 0 && t.length+len(text) > longest {
		t.more++
		return
	}
	if cluster != "" {
		text = cluster + "=" + text
	}
	text = shortened(text)
	t.said = append(t.said, text)
	t.length += len(text)
}

func (t *texts) joined() string {
	text := strings.Join(t.said, ", ")
	if t.more > 0 {
		text += ", and " + strconv.Itoa(t.more) + " more"
	}
	return text
}

// shortened returns as much of a text as a message may say, cut between two characters.
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
