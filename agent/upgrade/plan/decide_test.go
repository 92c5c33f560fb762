package plan

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

var now = time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC)

func TestAnImageIsAllowedByItsRepository(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		allowed []string
		image   string
		want    bool
	}{
		"the same repository":            {[]string{"r.example:5000/fairlead/agent"}, "r.example:5000/fairlead/agent:v2", true},
		"by digest":                      {[]string{"fairlead/agent"}, "fairlead/agent:v2@sha256:00", true},
		"without a tag":                  {[]string{"r.example:5000/agent"}, "r.example:5000/agent", true},
		"below a prefix":                 {[]string{"r.example/mirror/"}, "r.example/mirror/fairlead/agent:v2", true},
		"of another registry":            {[]string{"fairlead/agent"}, "evil.example/fairlead/agent:v2", false},
		"of a longer name":               {[]string{"fairlead/agent"}, "fairlead/agent-evil:v2", false},
		"below a name that is no prefix": {[]string{"fairlead/agent"}, "fairlead/agent/evil:v2", false},
		"out of a prefix":                {[]string{"r.example/mirror/"}, "r.example/mirror/../evil:v2", false},
		"of none":                        {nil, "fairlead/agent:v2", false},
		"of one without a name":          {[]string{""}, ":v2", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(Allows(c.allowed, c.image)).To(Equal(c.want))
		})
	}
}

// begun is an upgrade from agent:v1 to agent:v2.
func begun() Input {
	in := Input{Request: &Request{Image: "agent:v2", ReportWithin: time.Minute}, Image: "agent:v1", Allowed: []string{"agent"}, Now: now}
	step := Decide(in)
	in.Record, in.Image = step.Record, step.Image
	return in
}

func TestAnUpgradeBegins(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := begun()
	g.Expect(in.Image).To(Equal("agent:v2"))
	g.Expect(*in.Record).To(And(HaveField("Phase", clusterv1alpha1.AgentUpgrading), HaveField("Previous", "agent:v1"), HaveField("Deadline", now.Add(time.Minute))))
	g.Expect(in.Record.Start).NotTo(BeEmpty())
	g.Expect(Decide(in)).To(Equal(Step{}), "it waits")
	in.Request = &Request{Image: "agent:v3", ReportWithin: time.Minute}
	g.Expect(Decide(in)).To(Equal(Step{}), "whatever is wanted meanwhile")
}

func TestHowAnUpgradeEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change    func(*Input)
		phase     clusterv1alpha1.AgentUpgradePhase
		message   string
		wantImage string
	}{
		"heard":                        {func(in *Input) { in.Reported = in.Record.Start }, clusterv1alpha1.AgentUpgraded, "from agent:v1", ""},
		"heard, though it is late":     {func(in *Input) { in.Reported, in.Now = in.Record.Start, now.Add(time.Hour) }, clusterv1alpha1.AgentUpgraded, "from agent:v1", ""},
		"not heard":                    {func(in *Input) { in.Now, in.Trouble = now.Add(time.Minute), "ErrImagePull" }, clusterv1alpha1.AgentRolledBack, "within 1m0s, so agent:v1 runs again: ErrImagePull", "agent:v1"},
		"another start was heard":      {func(in *Input) { in.Now, in.Reported = now.Add(time.Minute), "other" }, clusterv1alpha1.AgentRolledBack, "agent:v1 runs again", "agent:v1"},
		"somebody else changed it":     {func(in *Input) { in.Image = "agent:v0" }, clusterv1alpha1.AgentRolledBack, "changed the image to agent:v0", ""},
		"though nobody asks any more":  {func(in *Input) { in.Now, in.Request = now.Add(time.Minute), nil }, clusterv1alpha1.AgentRolledBack, "agent:v1 runs again", "agent:v1"},
		"though it is allowed no more": {func(in *Input) { in.Now, in.Allowed = now.Add(time.Minute), nil }, clusterv1alpha1.AgentRolledBack, "agent:v1 runs again", "agent:v1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			in := begun()
			c.change(&in)
			step := Decide(in)
			g.Expect(step.Record).NotTo(BeNil())
			g.Expect(step.Record.Phase).To(Equal(c.phase))
			g.Expect(step.Record.Message).To(ContainSubstring(c.message))
			g.Expect(step.Image).To(Equal(c.wantImage))
			in.Record = step.Record
			if in.Request != nil {
				g.Expect(Decide(in)).To(Equal(Step{Done: true}), "it is not tried again")
				in.Request.Attempt++
				in.Image, in.Allowed = "agent:v1", []string{"agent"}
				g.Expect(Decide(in).Image).To(Equal("agent:v2"), "unless somebody says so")
			}
		})
	}
}

func TestAnAgentProvesItselfOnlyOnceItHasRunForAWhile(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	record := &Record{Phase: clusterv1alpha1.AgentUpgrading, Start: "a", Within: 5 * time.Minute}
	g.Expect(ProvesAfter(record, "a")).To(Equal(30 * time.Second))
	record.Within = 20 * time.Second
	g.Expect(ProvesAfter(record, "a")).To(Equal(10*time.Second), "so that it can within the time that it has")
	g.Expect(ProvesAfter(record, "b")).To(BeZero(), "it is not the one that is waited for")
	record.Phase = clusterv1alpha1.AgentUpgraded
	g.Expect(ProvesAfter(record, "a")).To(BeZero())
	g.Expect(ProvesAfter(nil, "a")).To(BeZero())
}

func TestARequestOfBeforeTheLastUpgradeIsNotBegun(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, phase := range []clusterv1alpha1.AgentUpgradePhase{clusterv1alpha1.AgentUpgraded, clusterv1alpha1.AgentRolledBack, clusterv1alpha1.AgentRefused} {
		in := Input{
			Request: &Request{Image: "agent:v1", Attempt: 7, ReportWithin: time.Minute}, Record: &Record{Image: "agent:v2", Attempt: 8, Phase: phase},
			Image: "agent:v2", Allowed: []string{"agent"}, Now: now,
		}
		g.Expect(Decide(in)).To(Equal(Step{Done: true}), "a hub that was restored asks for it: %s", phase)
		in.Request.Attempt = 8
		g.Expect(Decide(in).Image).To(Equal("agent:v1"), "attempts of one number are those of hubs of before: %s", phase)
	}
}

func TestAForbiddenImageIsRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(Decide(Input{Image: "agent:v1"})).To(Equal(Step{Done: true}))
	in := Input{Request: &Request{Image: "evil:v2"}, Image: "agent:v1", Allowed: []string{"agent"}, Now: now}
	step := Decide(in)
	g.Expect(step.Image).To(BeEmpty())
	g.Expect(*step.Record).To(And(HaveField("Phase", clusterv1alpha1.AgentRefused), HaveField("Message", ContainSubstring("--upgrade-images"))))
	in.Request.Image = "agent:v1"
	step = Decide(in)
	g.Expect(step.Image).To(BeEmpty())
	g.Expect(*step.Record).To(HaveField("Phase", clusterv1alpha1.AgentUpgraded))
}
