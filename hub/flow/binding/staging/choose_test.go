package staging_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/hub/flow/binding/staging"
)

func TestTheSlowestRolloutDecides(t *testing.T) {
	t.Parallel()
	old, young := time.Unix(1, 0), time.Unix(2, 0)
	gives := func(rollout string, at time.Time) staging.Opinion {
		return staging.Opinion{Stand: staging.Gives, Rollout: rollout, MadeAt: at}
	}
	lacks, unknown := staging.Opinion{Stand: staging.Lacks}, staging.Opinion{}
	for name, c := range map[string]struct {
		opinions []staging.Opinion
		free     bool
		want     staging.Verdict
		of       string
	}{
		"the content of its one rollout":                       {[]staging.Opinion{gives("a", young)}, false, staging.Send, "a"},
		"of two the older content":                             {[]staging.Opinion{gives("a", young), gives("b", old)}, false, staging.Send, "b"},
		"of two that are as old always the same":               {[]staging.Opinion{gives("b", old), gives("a", old)}, false, staging.Send, "a"},
		"who does not know it has no say":                      {[]staging.Opinion{lacks, gives("a", young)}, false, staging.Send, "a"},
		"one that cannot be read holds it":                     {[]staging.Opinion{gives("a", old), unknown}, true, staging.Stay, ""},
		"what a new revision needs does not come early":        {[]staging.Opinion{lacks}, false, staging.Stay, ""},
		"what is there for other reasons follows its template": {[]staging.Opinion{lacks}, true, staging.Live, ""},
		"a workload without a rollout does not hurry it":       {[]staging.Opinion{gives("a", old)}, true, staging.Send, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			verdict, opinion := staging.Choose(c.opinions, c.free)
			g.Expect(verdict).To(Equal(c.want))
			g.Expect(opinion.Rollout).To(Equal(c.of))
		})
	}
}
