package explain

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/evictions"
)

func TestMoves(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := time.Date(2026, 5, 1, 14, 30, 0, 0, time.UTC)
	at := func(minute int) metav1.Time {
		return metav1.NewTime(time.Date(2026, 5, 1, 14, minute, 0, 0, time.UTC))
	}
	b := &workv1alpha2.ResourceBinding{}
	b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "edge-1", Replicas: 2}, {Name: "edge-3", Replicas: 3}}
	b.Status.AggregatedStatus = []workv1alpha2.AggregatedStatusItem{{ClusterName: "edge-3", Status: &runtime.RawExtension{Raw: []byte(`{"readyReplicas":2}`)}}}
	g.Expect(evictions.Set(b, []workv1alpha2.Eviction{
		{From: "edge-0", At: metav1.NewTime(now.AddDate(0, 0, -2)), Message: "The Cluster edge-0 is being removed.", To: []string{"edge-1"}, Ended: new(at(1)), How: "Replaced"},
		{From: "edge-4", At: at(1), Message: "Cluster edge-4 has taint x.", Ended: new(at(2)), How: "Returned"},
		{
			From: "edge-2", At: at(2), Message: "Cluster edge-2 has taint lost:NoExecute, which the policy does not tolerate.",
			Before: []workv1alpha2.TargetCluster{{Name: "edge-1", Replicas: 2}, {Name: "edge-2", Replicas: 3}},
		},
	})).To(Succeed())
	var out strings.Builder
	g.Expect(Write(&out, &Report{Moves: Moves(b)}, now)).To(Succeed())
	g.Expect(out.String()).To(And(
		ContainSubstring("Moved from edge-2 to edge-3 at 14:02 because cluster edge-2 has taint lost:NoExecute, which the policy does not tolerate; waiting for 1 of 3 replicas.\n" +
			"Stayed in edge-4 after all, which it was to leave at 14:01 because cluster edge-4 has taint x; over at 14:02 (Returned).\n" +
			"Moved from edge-0 to edge-1 at 2026-04-29 14:30 because the Cluster edge-0 is being removed; over at 14:01 (Replaced).\n"),
	))

	waits := func() string { return Moves(b)[0].Waiting }
	b.Status.AggregatedStatus[0].StaleSince = new(at(3))
	g.Expect(waits()).To(Equal("waiting for 3 of 3 replicas"), "what a silent cluster said counts for nothing")
	known := evictions.Of(b)
	unknown := evictions.Of(b)
	unknown[2].Before = nil
	g.Expect(evictions.Set(b, unknown)).To(Succeed())
	g.Expect(waits()).To(HavePrefix("waiting for it to be healthy in all of its clusters"))
	g.Expect(evictions.Set(b, known)).To(Succeed())
	b.Spec.Clusters[1].Replicas = 0
	g.Expect(waits()).To(Equal("waiting for it to be healthy there"))
	b.Spec.Clusters = b.Spec.Clusters[:1]
	g.Expect(waits()).To(Equal("no cluster has taken its place yet"))
}
