package story_test

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/test/story"
)

const text = `# a world with a word
there is light
0s say hello # as people do
90s expect hello
---
what was told`

func TestAStoryIsRead(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s, err := story.Read(text, "there")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(s).To(Equal(&story.Story{
		About: "a world with a word", Setup: [][]string{{"there", "is", "light"}}, Golden: "what was told",
		Lines: []story.Line{{Number: 3, Words: []string{"say", "hello"}}, {Number: 4, At: 90 * time.Second, Words: []string{"expect", "hello"}}},
	}))
	g.Expect(s.String()).To(Equal("# a world with a word\nthere is light\n0s say hello\n1m30s expect hello\n"))
	for bad, why := range map[string]string{"say hello": "line 1: \"say hello\" begins with no time", "1m": "begins with no time", "1m a\n1s b": "line 2: 1s is before the line above"} {
		_, err := story.Read(bad, "there")
		g.Expect(err).To(MatchError(ContainSubstring(why)))
	}
}

// world is a world that records its calls.
type world struct{ said []string }

func (w *world) SetUp(words []string) error { w.said = append(w.said, words[len(words)-1]); return nil }
func (w *world) Advance(at time.Duration)   { w.said = append(w.said, at.String()) }
func (w *world) Told() string               { return "told" }
func (w *world) Broken() []string           { return nil }

func (w *world) Do(words []string) error {
	w.said = append(w.said, words[0])
	if words[0] == "say" {
		return nil
	}
	return map[string]error{"expect": errors.New("silence"), "fall": errors.New("no such word")}[words[0]]
}

func TestAStoryHappens(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s, err := story.Read(text, "there")
	g.Expect(err).NotTo(HaveOccurred())
	w := &world{}
	g.Expect(s.Play(w, story.Variant{Restart: 3})).To(Equal([]string{"line 4, at 1m30s: silence\ntold"}), "what is not met does not end it")
	g.Expect(w.said).To(Equal([]string{"light", "0s", "say", "7s", "restart", "1m30s", "expect"}))
	s.Lines[0].Words[0] = "fall"
	_, err = s.Play(w, story.Variant{})
	g.Expect(err).To(MatchError("line 3: no such word"))
}
