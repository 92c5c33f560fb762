package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestMessagesAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var many []Line
	for i := range 250 {
		many = append(many, Line{Cluster: fmt.Sprintf("%s-%03d", strings.Repeat("e", 44), i), Up: i%2 == 0, SinceAgo: maxAge, Presence: "line", Operators: strings.Repeat("é\"", 300), Session: strings.Repeat("0f", 32)})
	}
	var stream bytes.Buffer
	for _, m := range append(Split(many, []string{"gone-1", "gone-2"}), Message{Synced: true, Heartbeat: &Heartbeat{Elected: true}}) {
		data, err := Encode(m)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(len(data)).To(BeNumerically("<=", MaxMessage))
		stream.Write(data)
	}
	g.Expect(many[0].Operators).To(HaveLen(900), "what the caller has stays as it is")

	r, got := NewReader(&stream), Message{}
	for {
		m, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		g.Expect(err).NotTo(HaveOccurred())
		got.Lines, got.Gone = append(got.Lines, m.Lines...), append(got.Gone, m.Gone...)
		got.Synced = m.Synced
	}
	g.Expect(got.Lines).To(HaveLen(len(many)))
	for i, l := range got.Lines {
		g.Expect(l.Operators).NotTo(BeEmpty())
		l.Operators = many[i].Operators
		g.Expect(l).To(Equal(many[i]))
	}
	g.Expect(got.Gone).To(Equal([]string{"gone-1", "gone-2"}))
	g.Expect(got.Synced).To(BeTrue())
}

func TestInvalidMessagesAreRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no JSON":                     "up\n",
		"a message without an end":    `{"gone":["` + strings.Repeat("a", MaxMessage) + `"]}` + "\n",
		"the name of no cluster":      `{"lines":[{"cluster":"../etc"}]}` + "\n",
		"a name that is too long":     `{"gone":["` + strings.Repeat("a", 49) + `"]}` + "\n",
		"a line of the future":        `{"lines":[{"cluster":"edge-1","sinceAgo":-1}]}` + "\n",
		"a line older than all":       `{"lines":[{"cluster":"edge-1","lostAgo":9223372036854775807}]}` + "\n",
		"a novel of what may be done": `{"lines":[{"cluster":"edge-1","operators":"` + strings.Repeat("a", 257) + `"}]}` + "\n",
		"a session that is no hash":   `{"lines":[{"cluster":"edge-1","session":"s1"}]}` + "\n",
		"a presence that is none":     `{"lines":[{"cluster":"edge-1","presence":"smoke"}]}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := NewReader(strings.NewReader(text)).Next()
			NewWithT(t).Expect(err).To(MatchError(ErrMalformed))
		})
	}
	_, err := NewReader(strings.NewReader(`{"synced":true}`)).Next()
	NewWithT(t).Expect(err).To(MatchError(io.ErrUnexpectedEOF), "a message that was cut off")
}

func FuzzReader(f *testing.F) {
	f.Add([]byte(`{"lines":[{"cluster":"edge-1","up":true,"sinceAgo":5}],"synced":true,"beat":{"elected":true}}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewReader(bytes.NewReader(data))
		for {
			m, err := r.Next()
			if err != nil {
				return
			}
			if _, err := Encode(m); err != nil && !errors.Is(err, ErrMalformed) {
				t.Fatal(err)
			}
		}
	})
}
