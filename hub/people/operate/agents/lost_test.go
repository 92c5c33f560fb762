package agents

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
)

// named returns a cluster of an upgrade.
func named(in Input, name string) *clusterv1alpha1.Cluster {
	for _, c := range in.Clusters {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// askedAt makes clusters upgraded that were asked at a time.
func askedAt(in Input, names []string, at time.Time) {
	answer(in, names, clusterv1alpha1.AgentUpgraded)
	for _, name := range names {
		c := named(in, name)
		c.Spec.Agent.Attempt, c.Status.AgentUpgrade.Attempt = at.Unix(), at.Unix()
	}
}

func TestAnAgentThatFallsSilentAfterItsUpgradeStopsTheNextWave(t *testing.T) {
	t.Parallel()
	for name, canary := range map[string]fairleadv1alpha1.Wave{
		"at once":           {Name: "canary", Size: new(intstr.FromInt32(1))},
		"while it soaks":    {Name: "canary", Size: new(intstr.FromInt32(1)), Soak: &metav1.Duration{Duration: time.Hour}},
		"before a decision": {Name: "canary", Size: new(intstr.FromInt32(1)), Approval: fairleadv1alpha1.ApprovalAfter},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			in := asking(fleet(20), canary)
			first := Decide(in).Ask
			g.Expect(first).To(HaveLen(1))
			askedAt(in, first, now)
			silence(named(in, first[0]))
			d := Decide(in)
			g.Expect(d.Ask).To(BeEmpty())
			g.Expect(d).To(And(HaveField("Soaking", BeEmpty()), HaveField("Done", false)))
			g.Expect(d.Stopped).To(Equal("in wave canary no heartbeat was received since the upgrade of " + first[0] + ", and 0 may fail; --retry tries them again"))
			g.Expect(d.Waves[0].Members[0]).To(And(HaveField("State", Lost), HaveField("Message", ContainSubstring("no heartbeat was received since"))))

			named(in, first[0]).Status.Conditions = nil
			g.Expect(Decide(in).Ask).To(BeEmpty(), "nor is one of which the hub knows nothing")
		})
	}
}

func TestAnEarlierUpgradeDoesNotLetTheFirstWavePass(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := asking(fleet(20), fairleadv1alpha1.Wave{Name: "canary", Size: new(intstr.FromInt32(1)), Soak: &metav1.Duration{Duration: time.Hour}})
	waves := Decide(in).Waves
	canary, other := waves[0].Members[0].Name, waves[1].Members[0].Name
	askedAt(in, []string{other}, now.Add(-2*time.Hour))
	askedAt(in, []string{canary}, now)
	g.Expect(Decide(in).Soaking).To(Equal("canary"), "it was asked before the canary, so it says nothing about that")
	silence(named(in, canary))
	g.Expect(Decide(in)).To(And(HaveField("Ask", BeEmpty()), HaveField("Stopped", ContainSubstring("the upgrade of "+canary))))
}

func TestALaterSilenceDoesNotHoldUpAWaveThatHasPassed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := asking(fleet(20), fairleadv1alpha1.Wave{Name: "canary", Size: new(intstr.FromInt32(1)), Soak: &metav1.Duration{Duration: time.Hour}},
		fairleadv1alpha1.Wave{Name: "rest", MaxConcurrent: new(intstr.FromInt32(2))})
	waves := Decide(in).Waves
	canary := waves[0].Members[0].Name
	askedAt(in, []string{canary}, now.Add(-time.Minute))
	askedAt(in, []string{waves[1].Members[0].Name}, now)
	silence(named(in, canary))
	g.Expect(Decide(in)).To(And(HaveField("Ask", HaveLen(2)), HaveField("Stopped", BeEmpty())))
}

func TestALostClusterIsSetAsideOnRequest(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := asking(fleet(5), fairleadv1alpha1.Wave{Name: "all", MaxConcurrent: new(intstr.FromInt32(2))})
	first := Decide(in).Ask
	askedAt(in, first, now)
	silence(named(in, first[0]))
	d := Decide(in)
	g.Expect(d).To(And(HaveField("Ask", BeEmpty()), HaveField("Stopped", ContainSubstring(first[0]))))
	g.Expect(d.Unsuccessful()).To(Equal(sets.New(first[0])))

	in.Retry = d.Unsuccessful()
	g.Expect(Decide(in)).To(And(HaveField("Ask", HaveLen(2)), HaveField("Stopped", BeEmpty())))

	in.Retry = nil
	in.Strategy.Waves[0].MaxFailures = new(intstr.FromInt32(1))
	g.Expect(Decide(in)).To(And(HaveField("Ask", HaveLen(2)), HaveField("Stopped", BeEmpty())), "one may fail")
}

func TestABriefSilenceIsAwaited(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := asking(fleet(20), fairleadv1alpha1.Wave{Name: "canary", Size: new(intstr.FromInt32(1)), Soak: &metav1.Duration{Duration: time.Hour}})
	first := Decide(in).Ask
	askedAt(in, first, now)
	c := named(in, first[0])
	silence(c)
	c.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now)
	in.Now = now.Add(grace - time.Second)
	g.Expect(Decide(in)).To(And(HaveField("Ask", BeEmpty()), HaveField("Stopped", BeEmpty())), "lines are lost and come back")
	in.Now = now.Add(grace)
	g.Expect(Decide(in)).To(And(HaveField("Ask", BeEmpty()), HaveField("Stopped", ContainSubstring(first[0]))))

	// An agent in a crash loop is heard from in between: it is watched for a while, whatever is left of the time.
	c.Status.Conditions[0].Status = metav1.ConditionTrue
	in.Now = now.Add(time.Hour)
	in.Back = map[string]time.Time{first[0]: in.Now}
	g.Expect(Decide(in)).To(And(HaveField("Ask", BeEmpty()), HaveField("Until", in.Now.Add(time.Minute))))
	in.Now = in.Now.Add(time.Minute)
	g.Expect(Decide(in).Ask).To(HaveLen(19))
}

func TestALostClusterStopsNothingOnceAllWereAsked(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := asking(fleet(3), fairleadv1alpha1.Wave{Name: "all"})
	askedAt(in, Decide(in).Ask, now)
	silence(in.Clusters[1])
	d := Decide(in)
	g.Expect(d).To(And(HaveField("Done", true), HaveField("Stopped", BeEmpty())))
	g.Expect(d.Waves[0].Members).To(ContainElement(And(HaveField("Name", "edge-1"), HaveField("State", Lost))))
}

func TestWithoutAStrategyEachWaveSoaks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := asking(fleet(20))
	in.Strategy = DefaultStrategy()
	var sizes []int
	for range 10 {
		d := Decide(in)
		if d.Done {
			break
		}
		sizes = append(sizes, len(d.Ask))
		askedAt(in, d.Ask, in.Now)
		for _, name := range d.Ask {
			named(in, name).Status.AgentUpgrade.Time = metav1.NewTime(in.Now)
		}
		in.Now = in.Now.Add(59 * time.Second)
		g.Expect(Decide(in)).To(And(HaveField("Ask", BeEmpty()), HaveField("Soaking", Not(BeEmpty()))))
		in.Now = in.Now.Add(time.Second)
	}
	g.Expect(sizes).To(Equal([]int{1, 2, 17}))
}

func TestAReportFromThePastSoaksAsLongAsTheStrategySays(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := asking(fleet(3), fairleadv1alpha1.Wave{Name: "first", Size: new(intstr.FromInt32(1)), Soak: &metav1.Duration{Duration: time.Hour}})
	first := Decide(in).Ask
	askedAt(in, first, now)
	named(in, first[0]).Status.AgentUpgrade.Time = metav1.NewTime(now.AddDate(-1, 0, 0))
	in.Asked[first[0]] = now // this command saw it in progress
	g.Expect(Decide(in)).To(And(HaveField("Soaking", "first"), HaveField("Until", now.Add(time.Hour))))
	in.Seen = map[string]time.Time{first[0]: now}
	in.Now = now.Add(time.Hour)
	g.Expect(Decide(in).Ask).To(HaveLen(2))
}
