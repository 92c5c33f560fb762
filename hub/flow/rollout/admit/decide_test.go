package admit

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/rollout/judge"
)

// What a rollout does is told in test/rollout. Here is what holds whatever it is given.

func noon() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) }

// odd returns an input that makes no sense, or just some.
func odd(r *rand.Rand) Input {
	oneOf := func(n int64) int64 { return r.Int64N(n) }
	text := func(of ...string) string { return of[r.IntN(len(of))] }
	quantity := func() *intstr.IntOrString {
		return []*intstr.IntOrString{nil, new(intstr.FromInt32(-3)), new(intstr.FromInt32(2)), new(intstr.FromString("40%")), new(intstr.FromString("-9%")), new(intstr.FromString("x"))}[r.IntN(6)]
	}
	at := func() time.Time {
		return []time.Time{{}, noon(), noon().Add(-time.Hour), noon().Add(time.Hour)}[r.IntN(4)]
	}
	duration := func() *metav1.Duration {
		return []*metav1.Duration{nil, {}, {Duration: -time.Minute}, {Duration: time.Minute}}[r.IntN(4)]
	}
	states := []fairleadv1alpha1.ClusterState{
		"", "Odd", fairleadv1alpha1.ClusterHeld, fairleadv1alpha1.ClusterInFlight, fairleadv1alpha1.ClusterHealthy, fairleadv1alpha1.ClusterFailed,
		fairleadv1alpha1.ClusterLost, fairleadv1alpha1.ClusterSetAside, fairleadv1alpha1.ClusterReturning, fairleadv1alpha1.ClusterCatchingUp, fairleadv1alpha1.ClusterSkipped,
	}
	in := Input{Now: noon(), Generation: oneOf(9), HubSuspect: r.IntN(4) == 0, Slots: sets.New("c1", "c2", "c3")}
	in.Spec.Paused = r.IntN(4) == 0
	for range r.IntN(3) {
		in.Spec.Approvals = append(in.Spec.Approvals, fairleadv1alpha1.WaveApproval{Revision: oneOf(6), Wave: text("canary", "rest", "")})
		in.Spec.Retry = append(in.Spec.Retry, fairleadv1alpha1.ClusterAtRevision{Revision: oneOf(6), Cluster: text("c1", "c2", "c99")})
		in.Spec.Skip = append(in.Spec.Skip, fairleadv1alpha1.ClusterAtRevision{Revision: oneOf(6), Cluster: text("c1", "c2", "c99")})
	}
	if r.IntN(3) == 0 {
		in.Spec.Target = &fairleadv1alpha1.RolloutTarget{Revision: oneOf(6), Over: oneOf(6), Immediately: r.IntN(2) == 0}
	}
	in.Status.Revision, in.Status.Stable, in.Status.Immediately = oneOf(6), oneOf(6), r.IntN(5) == 0
	in.Status.Phase = fairleadv1alpha1.RolloutPhase(text("", "Progressing", "Odd"))
	for n := range r.Int64N(6) {
		in.Status.Revisions = append(in.Status.Revisions, fairleadv1alpha1.RevisionStatus{Number: n, Hash: text("a", "b", ""), ContentOf: oneOf(2)})
	}
	for range r.IntN(4) {
		group := fairleadv1alpha1.ClusterGroup{State: states[r.IntN(len(states))], Revision: oneOf(7), Reason: text("", "Silent", "WaitingForSlot", "Left")}
		for range r.IntN(4) {
			group.Names = append(group.Names, fmt.Sprintf("c%d", r.IntN(8)))
		}
		in.Status.Clusters = append(in.Status.Clusters, group)
	}
	in.Status.Waves = []fairleadv1alpha1.WaveStatus{{Name: text("canary", "odd"), StartedAt: &metav1.Time{Time: at()}, WellSince: &metav1.Time{Time: at()}}}
	if r.IntN(4) > 0 {
		in.Frozen = &Frozen{Waves: []revision.Wave{{Name: text("canary", "odd"), Clusters: []string{"c1", "c1", "c99"}}, {Name: "rest", Clusters: []string{"c1", "c2"}}}}
		s := &in.Frozen.Strategy
		s.OnFailure, s.FirstTime, s.ProgressDeadline, s.Settle = fairleadv1alpha1.FailureAction(text("", "RollBack", "odd")), fairleadv1alpha1.FirstTime(text("", "Staged")), duration(), duration()
		s.CatchUp = fairleadv1alpha1.CatchUp{MaxClusters: new(int32(oneOf(3) - 1)), Settle: duration(), To: fairleadv1alpha1.CatchUpTo(text("", "Newest")), WarnAfter: duration()}
		s.HistoryLimit = new(int32(oneOf(3) - 1))
		for range r.IntN(3) {
			s.Waves = append(s.Waves, fairleadv1alpha1.Wave{
				Name: text("canary", "canary", "rest"), Size: quantity(), MaxConcurrent: quantity(), MaxFailures: quantity(),
				MinUpdated: new(int32(oneOf(4) - 1)), Soak: duration(), Approval: fairleadv1alpha1.ApprovalPoint(text("", "Before", "After", "odd")),
			})
		}
	}
	if r.IntN(3) > 0 {
		in.Live = &Live{Hash: text("a", "b"), Edited: r.IntN(2) == 0, Settle: time.Duration(oneOf(4)-1) * time.Minute}
	}
	for range r.IntN(9) {
		in.Clusters = append(in.Clusters, Cluster{
			Cluster: &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("c%d", r.IntN(8))}}, Target: r.IntN(5) > 0,
			SilentSince: at(), HeardSince: at(), Unconfirmed: r.IntN(4) == 0, Early: r.IntN(8) == 0, Suspended: r.IntN(5) == 0,
			Work: judge.Work{
				Exists: r.IntN(4) > 0, Revision: revision.ID{Number: oneOf(8), Hash: text("a", "b", "")}, Unchanged: r.IntN(4) == 0,
				Report: judge.Report{Current: r.IntN(3) > 0, Applied: r.IntN(3) > 0, Refused: r.IntN(4) == 0, Health: judge.Health(text("", "Healthy", "Unhealthy"))},
			},
		})
	}
	return in
}

func TestAnyInputIsDecidedAndLeftAsItIs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for seed := range uint64(5000) {
		in := odd(rand.New(rand.NewPCG(seed, 1)))
		before, err := json.Marshal(in)
		g.Expect(err).NotTo(HaveOccurred())
		d := Decide(in)
		after, err := json.Marshal(in)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(after)).To(Equal(string(before)), "seed %d: what it is given is not changed", seed)
		same, err := json.Marshal(d)
		g.Expect(err).NotTo(HaveOccurred())
		again, err := json.Marshal(Decide(in))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(again)).To(Equal(string(same)), "seed %d: it decides the same again", seed)
		known := revision.NewPlan(&d.Status)
		for i := range in.Clusters {
			have := in.Clusters[i].Work.Revision
			g.Expect(known.Wanted(in.Clusters[i].Cluster.Name, have).Number).To(BeNumerically(">=", have.Number), "seed %d: nobody goes back", seed)
		}
		if in.HubSuspect && !in.Status.Immediately && d.Cut == nil {
			fresh := promised(&d.Status, in.Status.Revision).Difference(promised(&in.Status, in.Status.Revision))
			for i := range in.Clusters {
				if judge.Has(in.Clusters[i].Work, revision.Of(in.Status.Revisions, in.Status.Revision)) {
					fresh.Delete(in.Clusters[i].Cluster.Name)
				}
			}
			g.Expect(sets.List(fresh)).To(BeEmpty(), "seed %d: nobody is sent anything while the hub suspects itself", seed)
		}
	}
}

// promised are the clusters that are to have a revision, in whatever state.
func promised(s *fairleadv1alpha1.StagedRolloutStatus, number int64) sets.Set[string] {
	out := sets.Set[string]{}
	for _, group := range s.Clusters {
		if group.Revision == number && number != s.Stable {
			out.Insert(group.Names...)
		}
	}
	return out
}

func TestEditsSettleFromWhenOnTheyAreToldOf(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := Input{Now: noon(), Live: &Live{Hash: "a", Edited: true, Settle: 20 * time.Second, Since: noon().Add(-5 * time.Second)}}
	g.Expect(Decide(in).RetryAfter).To(Equal(15 * time.Second))
	in.Live.Since = time.Time{}
	g.Expect(Decide(in).RetryAfter).To(Equal(20 * time.Second))
}

// Failover and the scheduler move an application away from a cluster that its revision may have cut off. What the rollout finds
// in between depends on who is first.
func TestNothingIsProvenByLeaving(t *testing.T) {
	t.Parallel()
	const (
		held, flying, healthy = fairleadv1alpha1.ClusterHeld, fairleadv1alpha1.ClusterInFlight, fairleadv1alpha1.ClusterHealthy
		lost, left            = fairleadv1alpha1.ClusterLost, fairleadv1alpha1.ClusterReasonLeft
	)
	r1, r2 := revision.ID{Number: 1, Hash: "o"}, revision.ID{Number: 2, Hash: "a"}
	canary, rest := fairleadv1alpha1.Wave{Name: "canary", Size: new(intstr.FromInt32(1)), Soak: &metav1.Duration{Duration: time.Hour}}, fairleadv1alpha1.Wave{Name: "rest"}
	one := fairleadv1alpha1.Wave{Name: "canary", Soak: canary.Soak}
	// The rollout is in the middle of its first wave, which has edge-1.
	given := func(state fairleadv1alpha1.ClusterState, waves []fairleadv1alpha1.Wave, clusters ...Cluster) Input {
		in := Input{Now: noon(), Live: &Live{Hash: "a"}, Clusters: clusters, Frozen: &Frozen{Waves: []revision.Wave{{Name: "canary", Clusters: []string{"edge-1"}}}}}
		in.Frozen.Strategy.Waves = waves
		in.Status = fairleadv1alpha1.StagedRolloutStatus{
			Revision: 2, Stable: 1, Phase: fairleadv1alpha1.RolloutSoaking, Wave: "canary",
			Revisions: []fairleadv1alpha1.RevisionStatus{{Number: 1, Hash: "o"}, {Number: 2, Hash: "a", Cause: fairleadv1alpha1.CauseEdited}},
			Clusters:  []fairleadv1alpha1.ClusterGroup{{State: state, Revision: 2, Names: []string{"edge-1"}}},
			Waves:     []fairleadv1alpha1.WaveStatus{{Name: "canary", StartedAt: &metav1.Time{Time: noon().Add(-time.Minute)}}},
		}
		if state == healthy {
			in.Status.Waves[0].WellSince = in.Status.Waves[0].StartedAt
		}
		return in
	}
	cluster := func(name string, target bool, silent time.Duration, has ...revision.ID) Cluster {
		c := Cluster{Cluster: &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}, Target: target}
		if silent > 0 {
			c.SilentSince = noon().Add(-silent)
		}
		if len(has) > 0 {
			c.Work = judge.Work{Exists: true, Revision: has[0], Report: judge.Report{Current: true, Applied: true, Health: judge.Healthy}}
		}
		return c
	}
	unconfirmed := func(c Cluster) Cluster { c.Unconfirmed = true; return c }
	passed := func(in Input) Input { in.Status.Waves[0].PassedAt = in.Status.Waves[0].StartedAt; return in }
	two, single := []fairleadv1alpha1.Wave{canary, rest}, []fairleadv1alpha1.Wave{one}
	for name, tc := range map[string]struct {
		in Input
		// edge1 and edge2 are how these are then; empty if nothing is said of them.
		edge1, edge2 position
		wantPhase    fairleadv1alpha1.RolloutPhase
	}{
		"silent, and nobody else yet":                      {in: given(healthy, two, cluster("edge-1", false, time.Minute, r2)), edge1: position{lost, left, 0}, wantPhase: "Halted"},
		"silent, and its Work is going":                    {in: given(healthy, two, cluster("edge-1", false, time.Minute)), edge1: position{lost, left, 0}, wantPhase: "Halted"},
		"silent, and another is there":                     {in: given(healthy, two, cluster("edge-1", false, time.Minute, r2), cluster("edge-2", true, 0)), edge1: position{lost, left, 0}, wantPhase: "Halted"},
		"silent on its way":                                {in: given(flying, two, cluster("edge-1", false, time.Minute, r2)), edge1: position{lost, left, 0}, wantPhase: "Halted"},
		"silent before it was sent anything":               {in: given(flying, two, cluster("edge-1", false, time.Minute, r1)), wantPhase: "Progressing"},
		"silent, which is not believed yet":                {in: given(healthy, two, unconfirmed(cluster("edge-1", false, time.Minute, r2))), edge1: position{flying, left, 2}, wantPhase: "Progressing"},
		"silent, which is not believed, of one on its way": {in: given(flying, two, unconfirmed(cluster("edge-1", false, time.Minute, r2)), cluster("edge-2", true, 0)), edge1: position{flying, left, 2}, wantPhase: "Progressing"},
		"silent after its wave has passed":                 {in: passed(given(healthy, two, cluster("edge-1", false, time.Minute, r2), cluster("edge-2", true, 0, r1))), edge2: position{flying, "", 2}, wantPhase: "Progressing"},
		"heard, and nobody else yet":                       {in: given(healthy, two, cluster("edge-1", false, 0, r2)), wantPhase: "Progressing"},
		"heard and gone, and nobody else yet":              {in: given(healthy, two), wantPhase: "Progressing"},
		"heard, and another is there":                      {in: given(healthy, two, cluster("edge-1", false, 0, r2), cluster("edge-2", true, 0, r1)), edge2: position{flying, "", 2}, wantPhase: "Progressing"},
		"heard, and another is in its wave, which soaked":  {in: given(healthy, single, cluster("edge-1", false, 0, r2), cluster("edge-2", true, 0, r1)), edge2: position{flying, "", 2}, wantPhase: "Progressing"},
		"not sent anything, and nobody else yet":           {in: given(held, two, cluster("edge-1", false, time.Minute, r1)), wantPhase: "Progressing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			d := Decide(tc.in)
			g.Expect(d.Status.Stable).To(BeEquivalentTo(1))
			g.Expect(d.Status.Phase).To(Equal(tc.wantPhase))
			got := positions(&d.Status)
			g.Expect(got["edge-1"]).To(Equal(tc.edge1))
			g.Expect(got["edge-2"]).To(Equal(tc.edge2))
		})
	}
}

func fleet(n int) Input {
	in := Input{Now: noon(), Live: &Live{Hash: "a"}}
	in.Status = Begin(fairleadv1alpha1.StagedRolloutStatus{Stable: 1, Revisions: []fairleadv1alpha1.RevisionStatus{{Number: 1, Hash: "o"}}},
		Made{Cut: Cut{Number: 2, Cause: fairleadv1alpha1.CauseEdited}, Hash: "a", Strategy: "s", At: noon()}, fairleadv1alpha1.RolloutStrategySpec{})
	in.Frozen = &Frozen{Waves: []revision.Wave{{Name: "canary"}, {Name: "tenth"}, {Name: "rest"}}}
	for i := range n {
		name := fmt.Sprintf("shop-%05d.example", i)
		w := &in.Frozen.Waves[min(i, 1)+min(max(i-n/10, 0), 1)]
		w.Clusters = append(w.Clusters, name)
		c := Cluster{Cluster: &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}, Target: true, Work: judge.Work{Exists: true, Revision: revision.ID{Number: 1, Hash: "o"}}}
		if i%5 == 1 {
			c.SilentSince = noon().Add(-time.Hour)
		}
		in.Clusters = append(in.Clusters, c)
	}
	return in
}

// The status of a rollout over ten thousand clusters fits well into an object.
func TestAStatusOfTenThousandClustersIsSmall(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := fleet(10000)
	for range 10 {
		d := Decide(in)
		data, err := json.Marshal(d.Status)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(len(data)).To(BeNumerically("<", 500_000))
		in.Status, in.Memory = d.Status, d.Memory
		known := revision.NewPlan(&in.Status)
		for i := range in.Clusters {
			c := &in.Clusters[i]
			if want := known.Wanted(c.Cluster.Name, c.Work.Revision); i < 3 || in.Status.Wave != "canary" && want.Number == 2 {
				c.Work.Revision, c.Work.Report = want, judge.Report{Current: true, Applied: true, Health: judge.Healthy}
			}
		}
		in.Now = in.Now.Add(time.Minute)
	}
	g.Expect(in.Status.Phase).To(Equal(fairleadv1alpha1.RolloutCompleted))
	g.Expect(revision.Names(in.Status.Clusters, fairleadv1alpha1.ClusterSetAside)).To(HaveLen(2000))
}

func BenchmarkDecideOverTenThousandClusters(b *testing.B) {
	in := fleet(10000)
	in.Status = Decide(in).Status
	for b.Loop() {
		Decide(in)
	}
}
