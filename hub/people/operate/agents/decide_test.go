package agents

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
)

var now = time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC)

// fleet returns the clusters edge-0, edge-1, …, all heard from.
func fleet(n int) []*clusterv1alpha1.Cluster {
	out := make([]*clusterv1alpha1.Cluster, n)
	for i := range out {
		out[i] = &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("edge-%d", i)}}
		out[i].Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionTrue}}
	}
	return out
}

// asking is an upgrade of a fleet to agent:v2.
func asking(clusters []*clusterv1alpha1.Cluster, waves ...fairleadv1alpha1.Wave) Input {
	return Input{
		Wanted: clusterv1alpha1.WantedAgent{Image: "agent:v2"}, Strategy: fairleadv1alpha1.RolloutStrategySpec{Waves: waves},
		Clusters: clusters, Asked: map[string]time.Time{}, Now: now,
	}
}

// answer has the clusters that were asked answer as agents do.
func answer(in Input, names []string, phase clusterv1alpha1.AgentUpgradePhase) {
	for _, name := range names {
		c := named(in, name)
		c.Spec.Agent = in.Wanted.DeepCopy()
		c.Status.AgentUpgrade = &clusterv1alpha1.AgentUpgrade{Image: in.Wanted.Image, Phase: phase, Time: metav1.NewTime(now)}
	}
}

func silence(c *clusterv1alpha1.Cluster) { c.Status.Conditions[0].Status = metav1.ConditionUnknown }

func TestAgentsAreUpgradedWaveByWave(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := asking(fleet(20))
	var sizes []int
	for range 10 {
		d := Decide(in)
		if d.Done {
			break
		}
		sizes = append(sizes, len(d.Ask))
		answer(in, d.Ask, clusterv1alpha1.AgentUpgrading)
		g.Expect(Decide(in).Ask).To(BeEmpty(), "it waits for those that are under way")
		answer(in, d.Ask, clusterv1alpha1.AgentUpgraded)
	}
	g.Expect(sizes).To(Equal([]int{1, 2, 17}))
	g.Expect(Decide(in)).To(And(HaveField("Done", true), HaveField("Ask", BeEmpty())))
}

func TestAFailureStopsAWave(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := asking(fleet(5))
	canary := Decide(in).Ask
	answer(in, canary, clusterv1alpha1.AgentRolledBack)
	d := Decide(in)
	g.Expect(d.Ask).To(BeEmpty())
	g.Expect(d.Stopped).To(ContainSubstring("in wave canary the upgrade failed in " + canary[0]))
	in.Retry = sets.New(canary...)
	g.Expect(Decide(in).Ask).To(Equal(canary), "unless it is to be tried again")

	in = asking(fleet(5), fairleadv1alpha1.Wave{Name: "all", MaxFailures: new(intstr.FromInt32(1)), MaxConcurrent: new(intstr.FromInt32(2))})
	first := Decide(in).Ask
	g.Expect(first).To(HaveLen(2))
	answer(in, first[:1], clusterv1alpha1.AgentRolledBack)
	answer(in, first[1:], clusterv1alpha1.AgentUpgrading)
	d = Decide(in)
	g.Expect(d.Stopped).To(BeEmpty(), "one may fail")
	g.Expect(d.Ask).To(HaveLen(1), "and its place is free")
	answer(in, first[1:], clusterv1alpha1.AgentRolledBack)
	g.Expect(Decide(in).Stopped).NotTo(BeEmpty())
}

func TestAnAgentThatNeverAnswersHasFailed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := asking(fleet(1))
	in.Wanted.ReportWithin = &metav1.Duration{Duration: time.Minute}
	in.Clusters[0].Spec.Agent = in.Wanted.DeepCopy()
	in.Asked["edge-0"] = now.Add(-time.Minute - grace)
	g.Expect(Decide(in).Stopped).To(BeEmpty())
	in.Asked["edge-0"] = now.Add(-time.Minute - grace - time.Second)
	d := Decide(in)
	g.Expect(d.Stopped).To(ContainSubstring("edge-0"))
	g.Expect(d.Waves[0].Members[0].Message).To(ContainSubstring("upgraded by hand"))
}

func TestSilentClustersAreAskedAtTheEnd(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := asking(fleet(3), fairleadv1alpha1.Wave{Name: "all"})
	silence(in.Clusters[1])
	d := Decide(in)
	g.Expect(d.Ask).To(ConsistOf("edge-0", "edge-2"))
	answer(in, d.Ask, clusterv1alpha1.AgentUpgraded)
	d = Decide(in)
	g.Expect(d.Ask).To(Equal([]string{"edge-1"}))
	in.Clusters[1].Spec.Agent = in.Wanted.DeepCopy()
	g.Expect(Decide(in).Done).To(BeTrue(), "nobody waits for it")

	in = asking(fleet(2))
	silence(in.Clusters[0])
	silence(in.Clusters[1])
	g.Expect(Decide(in).Stopped).To(ContainSubstring("silent: edge-"), "a wave of which nothing is heard proves nothing")
}

func TestAnAgentUpgradedByHandIsNotAwaited(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := asking(fleet(1))
	answer(in, []string{"edge-0"}, clusterv1alpha1.AgentNotInPod)
	d := Decide(in)
	g.Expect(d.Done).To(BeTrue())
	g.Expect(d.Waves[0].Members[0].State).To(Equal(ByHand))
}

func TestApprovalsAndSoakTimesAreKept(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := asking(fleet(3), fairleadv1alpha1.Wave{Name: "first", Size: new(intstr.FromInt32(1)), Soak: &metav1.Duration{Duration: time.Hour}},
		fairleadv1alpha1.Wave{Name: "rest", Approval: fairleadv1alpha1.ApprovalBefore})
	answer(in, Decide(in).Ask, clusterv1alpha1.AgentUpgraded)
	d := Decide(in)
	g.Expect(d).To(And(HaveField("Soaking", "first"), HaveField("Until", now.Add(time.Hour)), HaveField("Ask", BeEmpty()), HaveField("Done", false)))
	in.Now = now.Add(59 * time.Minute)
	g.Expect(Decide(in).Soaking).To(Equal("first"))
	in.Now = now.Add(time.Hour)
	g.Expect(Decide(in).Stopped).To(ContainSubstring("--approve rest"))
	in.Approved = sets.New("rest")
	g.Expect(Decide(in).Ask).To(HaveLen(2))
}

func TestAReportFromTheFutureSoaksNoLongerThanTheStrategySays(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := asking(fleet(3), fairleadv1alpha1.Wave{Name: "first", Size: new(intstr.FromInt32(1)), Soak: &metav1.Duration{Duration: time.Hour}},
		fairleadv1alpha1.Wave{Name: "rest"})
	first := Decide(in).Ask
	answer(in, first, clusterv1alpha1.AgentUpgraded)
	for _, c := range in.Clusters {
		if c.Name == first[0] {
			c.Status.AgentUpgrade.Time = metav1.NewTime(now.AddDate(10, 0, 0))
		}
	}
	g.Expect(Decide(in)).To(And(HaveField("Soaking", "first"), HaveField("Until", now.Add(time.Hour))))
	in.Seen = map[string]time.Time{first[0]: now}
	in.Now = now.Add(59 * time.Minute)
	g.Expect(Decide(in)).To(And(HaveField("Soaking", "first"), HaveField("Until", now.Add(time.Hour))))
	in.Now = now.Add(time.Hour)
	g.Expect(Decide(in).Ask).To(HaveLen(2))
}

func TestAnAgentThatEndsAnotherUpgradeFirstIsWaitedFor(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := asking(fleet(1))
	in.Wanted.ReportWithin = &metav1.Duration{Duration: time.Minute}
	c := in.Clusters[0]
	c.Spec.Agent = in.Wanted.DeepCopy()
	c.Status.AgentUpgrade = &clusterv1alpha1.AgentUpgrade{Image: "agent:hangs", Phase: clusterv1alpha1.AgentUpgrading, Time: metav1.NewTime(now)}
	silence(c)
	in.Asked["edge-0"] = now
	in.Now = now.Add(time.Hour)
	d := Decide(in)
	g.Expect(d.Stopped).To(BeEmpty())
	g.Expect(d.Waves[0].Members[0]).To(And(HaveField("State", InFlight), HaveField("Ends", "agent:hangs"), HaveField("Message", ContainSubstring("it ends its upgrade to agent:hangs first"))))

	in.Now = now.Add(25 * time.Hour) // longer than any upgrade takes
	g.Expect(Decide(in).Waves[0].Members[0]).To(And(HaveField("State", Failed), HaveField("Ends", BeEmpty()), HaveField("Message", ContainSubstring("its upgrade to agent:hangs"))))

	c.Status.AgentUpgrade.Image = in.Wanted.Image
	in.Now, in.Asked["edge-0"] = now.Add(time.Hour), now.Add(time.Hour)
	g.Expect(Decide(in).Waves[0].Members[0]).To(And(HaveField("State", InFlight), HaveField("Ends", BeEmpty())), "now it is about this one")
}
