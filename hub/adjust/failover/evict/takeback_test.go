package evict

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

func TestTheCopyInAClusterThatIsBackTakesItsPlaceAgain(t *testing.T) {
	t.Parallel()
	was := []workv1alpha2.TargetCluster{target("edge-1", 2), target("edge-2", 2)}
	past := func(in *Input) { in.Past = []workv1alpha2.Eviction{{From: "edge-1", Before: was}} }
	spread := func(in *Input) { in.Spec.Placement.SpreadConstraints = make([]policyv1alpha1.SpreadConstraint, 1) }
	lineLost := func(in *Input) {
		in.Clusters["edge-2"].Status.Conditions[0].Reason = clusterv1alpha1.ReasonAgentDisconnected
	}
	stale := func(in *Input) { in.item("edge-3").StaleSince = &metav1.Time{Time: start} }
	noRoom := func(in *Input) { in.item("edge-3").AppliedMessage = bindings.TooLargePrefix + "9 bytes" }
	whole := targets(target("edge-2", 4), target("edge-3", 4))
	almost := report("edge-3", workv1alpha1.Unhealthy, 3)
	ill := report("edge-1", workv1alpha1.Unhealthy, 0)
	tests := map[string]struct {
		in          Input
		want        []workv1alpha2.TargetCluster // nil: the task lasts
		wantRecheck time.Duration
	}{
		"from what is not healthy yet": {
			in:   given(task(), past, targets(target("edge-2", 2), target("edge-3", 2))),
			want: was,
		},
		"from what has grown and is not healthy with that": {
			in:   given(task(), past, targets(target("edge-2", 4))),
			want: was,
		},
		"from what is silent by now": {
			in:   given(task(), past, targets(target("edge-2", 4)), report("edge-2", workv1alpha1.Healthy, 4), ready("edge-2", "Unknown")),
			want: was,
		},
		"from what has been silent for long enough since its line was lost": {
			in:   given(task(), past, targets(target("edge-2", 4)), report("edge-2", workv1alpha1.Healthy, 4), ready("edge-2", "Unknown"), lineLost, now(40)),
			want: was,
		},
		"not from what works and whose line was lost a moment ago": {
			in:          given(task(), past, targets(target("edge-2", 4)), report("edge-2", workv1alpha1.Healthy, 4), ready("edge-2", "Unknown"), lineLost, now(3)),
			wantRecheck: 37 * time.Second,
		},
		"not in part either, as long as nobody knows of the other": {
			in:          given(task(), past, targets(target("edge-2", 3), target("edge-3", 1)), ready("edge-2", "Unknown"), lineLost, now(3)),
			wantRecheck: 37 * time.Second,
		},
		"not from what has not reported since it is heard from again": {
			in: given(task(), past, targets(target("edge-2", 2), target("edge-3", 2)), report("edge-3", workv1alpha1.Unhealthy, 0), stale),
		},
		"not from what says more than the binding has room for": {
			in: given(task(), past, targets(target("edge-2", 2), target("edge-3", 2)), report("edge-3", workv1alpha1.Unhealthy, -1), noRoom),
		},
		"nor of what is not divided": {
			in: given(duplicated, spread, task(), past, whole, report("edge-3", workv1alpha1.Unhealthy, -1), noRoom, ill, now(60)),
		},
		"as far as the other has not got ready, whatever the copy is like": {
			in:   given(task(), past, targets(target("edge-2", 2), target("edge-3", 2)), report("edge-3", workv1alpha1.Unhealthy, 1), ill),
			want: []workv1alpha2.TargetCluster{target("edge-1", 1), target("edge-2", 2), target("edge-3", 1)},
		},
		"not if all that the other lacks was its own before": {
			in: given(task(), past, targets(target("edge-2", 3), target("edge-3", 1)), report("edge-2", workv1alpha1.Unhealthy, 3), report("edge-3", workv1alpha1.Unhealthy, 1)),
		},
		"not of what is not divided while some of the other is ready and the copy is not healthy": {
			in: given(duplicated, spread, task(), past, whole, almost, ill, now(60)),
		},
		"not of what is not divided while the copy may be as it was before": {
			in: given(duplicated, spread, task(), past, whole, almost, now(10)), wantRecheck: 20 * time.Second,
		},
		"of what is not divided when the copy is healthy and the other is not": {
			in:   given(duplicated, spread, task(), past, whole, almost, now(30)),
			want: []workv1alpha2.TargetCluster{target("edge-1", 2), target("edge-2", 4)},
		},
		"of what is not divided when nothing of the other is ready": {
			in:   given(duplicated, spread, task(), past, whole, report("edge-3", workv1alpha1.Unhealthy, 0), ill),
			want: []workv1alpha2.TargetCluster{target("edge-1", 2), target("edge-2", 4)},
		},
		"and leaves what is healthy": {
			in:   given(task(), past, targets(target("edge-2", 3), target("edge-3", 1)), report("edge-2", workv1alpha1.Healthy, 3)),
			want: []workv1alpha2.TargetCluster{target("edge-1", 1), target("edge-2", 3)},
		},
		"as a whole cluster of what is not divided": {
			in:   given(duplicated, spread, task(), past, targets(target("edge-2", 4), target("edge-3", 4)), report("edge-2", workv1alpha1.Healthy, 4)),
			want: []workv1alpha2.TargetCluster{target("edge-1", 2), target("edge-2", 4)},
		},
		"not from who had it before, however unhealthy": {
			in: given(task(), past, targets(target("edge-2", 2), target("edge-3", 2)), report("edge-2", workv1alpha1.Unhealthy, 0), report("edge-3", workv1alpha1.Healthy, 2),
				func(in *Input) { in.WouldReturn = func(string) bool { return true } }),
		},
		"not while it is tainted": {in: given(task(), past, taint("edge-1"), targets(target("edge-2", 4)))},
		"not if it was to go at once": {
			in: given(task(func(t *workv1alpha2.GracefulEvictionTask) { t.PurgeMode = policyv1alpha1.PurgeDirectly }), past, targets(target("edge-2", 4))),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			d := Decide(tc.in)
			clusters, tasks := Apply(tc.in.Spec, &d, tc.in.Now)
			if tc.want == nil {
				g.Expect(tasks).To(HaveLen(1))
				g.Expect(d.Withdrawn).To(BeEmpty())
				if tc.wantRecheck > 0 {
					g.Expect(d.RecheckAfter).To(Equal(tc.wantRecheck))
				}
				return
			}
			g.Expect(d.Ended).To(HaveLen(1))
			g.Expect(d.Ended[0].How).To(Equal(workv1alpha2.EvictionReturned))
			g.Expect(tasks).To(BeEmpty())
			g.Expect(clusters).To(BeComparableTo(tc.want))
		})
	}
}
