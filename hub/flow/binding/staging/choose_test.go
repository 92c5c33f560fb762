package staging_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/hub/flow/binding/staging"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	old, young := time.Unix(1, 0), time.Unix(2, 0)
	present := func(rollout string, at time.Time) staging.Candidate {
		return staging.Candidate{State: staging.Present, Rollout: rollout, MadeAt: at}
	}
	absent, unknown := staging.Candidate{State: staging.Absent}, staging.Candidate{}
	for name, c := range map[string]struct {
		candidates  []staging.Candidate
		independent bool
		want        staging.Verdict
		of          string
	}{
		"the content of the only rollout":                   {[]staging.Candidate{present("a", young)}, false, staging.Send, "a"},
		"the older content of two":                          {[]staging.Candidate{present("a", young), present("b", old)}, false, staging.Send, "b"},
		"the same of two with equal age":                    {[]staging.Candidate{present("b", old), present("a", old)}, false, staging.Send, "a"},
		"a rollout without the object does not decide":      {[]staging.Candidate{absent, present("a", young)}, false, staging.Send, "a"},
		"a rollout that cannot be read keeps the content":   {[]staging.Candidate{present("a", old), unknown}, true, staging.Keep, ""},
		"a new dependency waits for its wave":               {[]staging.Candidate{absent}, false, staging.Keep, ""},
		"an independent object follows its template":        {[]staging.Candidate{absent}, true, staging.Live, ""},
		"a workload without a rollout does not speed it up": {[]staging.Candidate{present("a", old)}, true, staging.Send, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			verdict, candidate := staging.Choose(c.candidates, c.independent)
			g.Expect(verdict).To(Equal(c.want))
			g.Expect(candidate.Rollout).To(Equal(c.of))
		})
	}
}
