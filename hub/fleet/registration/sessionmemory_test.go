package registration

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestSeveralAgentsAreNoticed(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		heard string
		want  bool
	}{
		"one agent":                                       {heard: "a"},
		"an agent that was started again":                 {heard: "a b"},
		"an agent that is started again and again":        {heard: "a b c d e f g h i j k"},
		"two agents":                                      {heard: "a b a", want: true},
		"two agents, of which one was started again":      {heard: "a b c a", want: true},
		"an agent that says nothing of itself":            {heard: "a  a"},
		"three agents":                                    {heard: "a b c a b c", want: true},
		"two agents until one was stopped":                {heard: "a b a b a " + strings.Repeat("a ", 73)},
		"two agents until one was stopped a moment ago":   {heard: "a b a b a " + strings.Repeat("a ", 65), want: true},
		"two agents until both were stopped and replaced": {heard: "a b a b c " + strings.Repeat("c ", 73)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, now := sessionMemory{}, time.Unix(0, 0)
			for heard := range strings.SplitSeq(tc.heard, " ") {
				m, now = m.hear(heard, now), now.Add(10*time.Second)
			}
			NewWithT(t).Expect(m.Conflict).To(Equal(tc.want))
		})
	}
}

func TestSessionMemoryIsBounded(t *testing.T) {
	t.Parallel()
	m := sessionMemory{}
	for i := range 100 {
		m = m.hear(time.Duration(i).String(), time.Unix(int64(i), 0))
	}
	NewWithT(t).Expect(m.Earlier).To(HaveLen(memorySize))
}
