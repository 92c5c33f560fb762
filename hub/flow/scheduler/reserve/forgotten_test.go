package reserve

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// TestLedgerForgetsBindingsWithoutReservations ends reservations in every possible way. A hub that runs for years must not keep memory
// for every application that it ever placed.
func TestLedgerForgetsBindingsWithoutReservations(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	targets := []workv1alpha2.TargetCluster{{Name: "a", Replicas: 2}, {Name: "b", Replicas: 3}}
	reporting := func(pods int64) *clusterv1alpha1.Cluster {
		c := &clusterv1alpha1.Cluster{}
		c.Name = "a"
		c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{Allocated: corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(pods, resource.DecimalSI)}}
		return c
	}
	for name, end := range map[string]func(*Ledger, types.NamespacedName){
		"they expire":              func(l *Ledger, _ types.NamespacedName) { l.All(now.Add(Lifetime)) },
		"the replicas are removed": func(l *Ledger, b types.NamespacedName) { l.Assign(b, targets, nil, nil, now) },
		"the binding is deleted":   func(l *Ledger, b types.NamespacedName) { l.Forget(b) },
		"the clusters are deleted": func(l *Ledger, _ types.NamespacedName) { l.Leave("a"); l.Leave("b") },
		"one cluster reports, the other is deleted": func(l *Ledger, _ types.NamespacedName) {
			l.Report(reporting(0))
			l.Report(reporting(1000))
			l.Leave("b")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, l := NewWithT(t), New()
			for i := range 5 {
				b := types.NamespacedName{Namespace: "shop", Name: fmt.Sprint(i)}
				l.Assign(b, nil, targets[:1], nil, now)
				l.Assign(b, targets[:1], targets, nil, now)
			}
			g.Expect(l.at).To(HaveLen(5))
			for i := range 5 {
				end(l, types.NamespacedName{Namespace: "shop", Name: fmt.Sprint(i)})
			}
			g.Expect(l.at).To(BeEmpty())
			for _, a := range l.accounts {
				g.Expect(a.entries).To(BeEmpty())
				g.Expect(a.sum).To(BeNil())
			}
		})
	}
}
