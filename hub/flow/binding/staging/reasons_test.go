package staging_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/hub/flow/binding/staging"
)

// TestReasons checks, for random bindings and rollouts, for which clusters workloads need the object, and whether a cluster
// has it independently of any rollout.
func TestReasons(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(6, 18))
	some := func() []workv1alpha2.TargetCluster {
		var out []workv1alpha2.TargetCluster
		for _, i := range random.Perm(5)[:random.IntN(4)] {
			out = append(out, workv1alpha2.TargetCluster{Name: fmt.Sprint("edge-", i)})
		}
		return out
	}
	workloads := []client.ObjectKey{{Namespace: "shop", Name: "web"}, {Namespace: "other", Name: "web"}, {Name: "web"}, {Namespace: "shop"}}
	independent, dependent := 0, 0
	for range 2000 {
		b := &workv1alpha2.ResourceBinding{}
		if random.IntN(3) == 0 {
			b.Spec.Clusters = some()
		}
		var rollouts []string
		for _, by := range workloads {
			if random.IntN(2) == 0 {
				b.Spec.RequiredBy = append(b.Spec.RequiredBy, workv1alpha2.BindingSnapshot{Namespace: by.Namespace, Name: by.Name, Clusters: some()})
			}
			if by.Name != "" && random.IntN(2) == 0 {
				rollouts = append(rollouts, by.String())
			}
		}
		reasons := staging.ReasonsOf(b, rollouts)
		for i := range 5 {
			cluster := fmt.Sprint("edge-", i)
			for _, by := range workloads {
				needs := requiredIn(bindings.Snapshots(&b.Spec), cluster, func(other client.ObjectKey) bool { return other == by })
				g.Expect(reasons.Has(cluster, by.String())).To(Equal(needs))
			}
			want := slices.Contains(bindings.TargetNames(b.Spec.Clusters), cluster) ||
				requiredIn(bindings.Snapshots(&b.Spec), cluster, func(by client.ObjectKey) bool { return !slices.Contains(rollouts, by.String()) })
			g.Expect(reasons.Independent(cluster)).To(Equal(want))
			if want {
				independent++
			} else {
				dependent++
			}
		}
	}
	g.Expect(min(independent, dependent)).To(BeNumerically(">", 500))
}

// requiredIn returns whether any of the snapshots that by selects has a cluster.
func requiredIn(snapshots []workv1alpha2.BindingSnapshot, cluster string, by func(client.ObjectKey) bool) bool {
	return slices.ContainsFunc(snapshots, func(s workv1alpha2.BindingSnapshot) bool {
		return by(client.ObjectKey{Namespace: s.Namespace, Name: s.Name}) && slices.Contains(bindings.TargetNames(s.Clusters), cluster)
	})
}
