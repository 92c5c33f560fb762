package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// wellFormed fails the test unless a text is well-formed XML without inline styles.
func wellFormed(t *testing.T, text string) {
	t.Helper()
	g := NewWithT(t)
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		g.Expect(err).NotTo(HaveOccurred(), text)
	}
	g.Expect(text).NotTo(ContainSubstring("style="), "the page's policy forbids it")
	g.Expect(text).NotTo(MatchRegexp("NaN|Inf"))
}

func TestSVG(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Unix(100_000, 0)
	o := Options{Title: `of "a" <b>`, Top: 1, Span: time.Hour, Now: now}
	wellFormed(t, SVG(o))
	for name, samples := range map[string][]Sample{
		"none":           nil,
		"one":            {{At: now, Value: 0.5}},
		"some":           {{At: now.Add(-30 * time.Minute), Value: 0.25}, {At: now, Value: 1}},
		"too old":        {{At: now.Add(-2 * time.Hour), Value: 1}},
		"nothing at all": {{At: now, Value: math.NaN()}},
	} {
		text := SVG(o, Line{Class: "ok", Samples: samples})
		wellFormed(t, text)
		drawn := name == "one" || name == "some"
		g.Expect(strings.Contains(text, `class="line ok"`)).To(Equal(drawn), name)
	}
	g.Expect(SVG(o, Line{Samples: []Sample{{At: now.Add(-30 * time.Minute), Value: 1}, {At: now, Value: 0}}})).
		To(ContainSubstring("M160.0 2.0L320.0 78.0"), "half an hour ago is in the middle, the top is at the top")
}

func TestBarAndShares(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for used, class := range map[float64]string{0: "ok", 0.5: "ok", 0.8: "warn", 0.95: "bad", 7: "bad", -1: "ok"} {
		text := Bar("CPU", used, 0.3)
		wellFormed(t, text)
		g.Expect(text).To(ContainSubstring(`class="fill ` + class))
	}
	text := Shares("two of four", []Share{{Class: "ok", Count: 2}, {Class: "bad"}, {Class: "warn", Count: 2}})
	wellFormed(t, text)
	g.Expect(text).To(And(ContainSubstring(`s-ok" x="0.0" width="500.0"`), ContainSubstring(`s-warn" x="500.0"`), Not(ContainSubstring("s-bad"))))
	wellFormed(t, Shares("none", nil))
}
