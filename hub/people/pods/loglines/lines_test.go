package loglines_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/hub/people/pods/loglines"
)

// all reads a log to its end.
func all(t *testing.T, r *loglines.Reader) (texts []string, last time.Time) {
	t.Helper()
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return texts, last
		}
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(line.Text))
		if !line.At.IsZero() {
			last = line.At
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const log = "2026-11-23T08:00:00.5Z one\n2026-11-23T08:00:00.6Z \nno time\n2026-11-23T08:00:01Z end without a break"
	texts, last := all(t, loglines.NewReader(iotest.OneByteReader(strings.NewReader(log)), time.Time{}))
	g.Expect(texts).To(Equal([]string{"one", "", "no time", "end without a break"}))
	g.Expect(last).To(Equal(time.Date(2026, 11, 23, 8, 0, 1, 0, time.UTC)))

	texts, _ = all(t, loglines.NewReader(strings.NewReader(log), time.Date(2026, 11, 23, 8, 0, 0, 5e8, time.UTC)))
	g.Expect(texts).To(Equal([]string{"", "no time", "end without a break"}), "what was read before is left out")

	long := strings.Repeat("x", loglines.MaxLine+loglines.MaxLine/2)
	texts, _ = all(t, loglines.NewReader(strings.NewReader("2026-11-23T08:00:00Z "+long+"\n2026-11-23T08:00:00Z next\n"), time.Time{}))
	g.Expect(strings.Join(texts[:len(texts)-1], "")).To(Equal(long))
	g.Expect(texts).To(HaveLen(3), "a line that is too long becomes several, and the next is one of its own")
	g.Expect(texts[2]).To(Equal("next"))
}
