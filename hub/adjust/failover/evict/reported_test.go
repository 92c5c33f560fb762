package evict

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/disruption"
)

// TestNothingIsReplacedByWhatWasReportedBeforeTheHubWasAway: everything known about the replacement may date from
// before a long outage.
func TestNothingIsReplacedByWhatWasReportedBeforeTheHubWasAway(t *testing.T) {
	t.Parallel()
	known := int((disruption.StartGrace(disruption.DefaultSilence) + disruption.Wait).Seconds())
	// The application moved from edge-1 to edge-3, and this process started 100 s later.
	moved := func(changes ...func(*Input)) Input {
		return given(append([]func(*Input){
			targets(target("edge-2", 2), target("edge-3", 2)), task(), taint("edge-1"), report("edge-3", workv1alpha1.Healthy, 2),
			func(in *Input) {
				in.Began = second(100)
				in.Works["edge-3"] = Work{Observed: true, Created: second(1)}
				in.Past = []workv1alpha2.Eviction{{From: "edge-1", Before: []workv1alpha2.TargetCluster{target("edge-1", 2), target("edge-2", 2)}}}
			},
		}, changes...)...)
	}
	work := func(cluster string, is Work) func(*Input) { return func(in *Input) { in.Works[cluster] = is } }
	patience := func(cluster string) func(*Input) {
		return func(in *Input) { in.Patience = map[string]time.Duration{cluster: 5 * time.Minute} }
	}
	joined := func(cluster string, at int) func(*Input) {
		return func(in *Input) { in.Clusters[cluster].CreationTimestamp = metav1.NewTime(second(at)) }
	}
	directly := func(in *Input) {
		in.Spec.GracefulEvictionTasks[0].PurgeMode = policyv1alpha1.PurgeDirectly
		delete(in.Works, "edge-1")
	}
	tests := map[string]struct {
		in          Input
		wantEnd     bool
		wantRecheck time.Duration
	}{
		"a hub that starts waits":                             {in: moved(now(103)), wantRecheck: time.Duration(known-3) * time.Second},
		"until it is known who is silent":                     {in: moved(now(100 + known)), wantEnd: true},
		"for a lease that asks for it longer":                 {in: moved(now(100+known), patience("edge-3")), wantRecheck: 5*time.Minute + disruption.Wait - time.Duration(known)*time.Second},
		"and no longer than that":                             {in: moved(now(100+5*60+15), patience("edge-3")), wantEnd: true},
		"not for a cluster that replaces nothing":             {in: moved(now(100+known), patience("edge-2")), wantEnd: true},
		"not for a Work that was made and reported on since":  {in: moved(now(103), work("edge-3", Work{Observed: true, Created: second(101)})), wantEnd: true},
		"not for one that was made in the same second":        {in: moved(now(103), work("edge-3", Work{Observed: true, Created: second(100)}), func(in *Input) { in.Began = second(100).Add(time.Millisecond) }), wantEnd: true},
		"not for a cluster that has joined since":             {in: moved(now(103), joined("edge-3", 101)), wantEnd: true},
		"for one that has joined before":                      {in: moved(now(103), joined("edge-3", 99)), wantRecheck: time.Duration(known-3) * time.Second},
		"for one that was made and is not reported on":        {in: moved(now(103), work("edge-3", Work{Created: second(101)})), wantRecheck: time.Duration(known-3) * time.Second},
		"not if nothing is deleted by the end of the task":    {in: moved(now(103), directly), wantEnd: true},
		"not if this process follows the clusters since ever": {in: moved(now(103), func(in *Input) { in.Began = time.Time{} }), wantEnd: true},
		"for all targets if none is known to replace it": {
			in: moved(now(103), work("edge-3", Work{Observed: true, Created: second(101)}), func(in *Input) { in.Past = nil }), wantRecheck: time.Duration(known-3) * time.Second,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			d := Decide(tc.in)
			if tc.wantEnd {
				g.Expect(d.Ended).To(ConsistOf(Ended{Cluster: "edge-1", How: workv1alpha2.EvictionReplaced}))
				return
			}
			g.Expect(d.Ended).To(BeEmpty())
			g.Expect(d.Condition.Reason).To(Equal(workv1alpha2.ReasonWaitingForReplacement))
			g.Expect(d.Condition.Message).To(ContainSubstring("before the hub started"))
			g.Expect(d.RecheckAfter).To(Equal(tc.wantRecheck))
		})
	}
}
