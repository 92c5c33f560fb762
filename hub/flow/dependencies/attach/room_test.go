package attach_test

import (
	"encoding/json"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/dependencies/attach"
)

// fill attaches workloads of a namespace to a binding until there is no room for one more, and returns their number.
func fill(t *testing.T, b *workv1alpha2.ResourceBinding, namespace string, clusters func(i int) []string) int {
	t.Helper()
	if b.Labels == nil {
		b.Labels = map[string]string{}
	}
	for i := range 10000 {
		s := workv1alpha2.BindingSnapshot{Namespace: namespace, Name: fmt.Sprintf("app-%04d-deployment", i), Preserve: new(false)}
		for _, cluster := range clusters(i) {
			s.Clusters = append(s.Clusters, workv1alpha2.TargetCluster{Name: cluster})
		}
		before := attach.TakenOf(b)
		b.Spec.RequiredBy = append(b.Spec.RequiredBy, s)
		if !attach.HasRoom(b, before, namespace, true) {
			b.Spec.RequiredBy = b.Spec.RequiredBy[:len(b.Spec.RequiredBy)-1]
			return i
		}
		b.Labels[attach.Label(namespace, s.Name)] = "0f8fad5b-d9cb-469f-a165-70867728950e"
	}
	NewWithT(t).Expect("room").To(BeEmpty(), "the binding must become full")
	return 0
}

func TestHasRoomKeepsReserve(t *testing.T) {
	t.Parallel()
	const stored, others = 1536 << 10, 256 << 10
	for name, clusters := range map[string]func(i int) []string{
		"by thousands of workloads":      func(int) []string { return []string{"edge-1"} },
		"by workloads in other clusters": func(i int) []string { return []string{"a", "b", "c", fmt.Sprint("own-", i)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			b := &workv1alpha2.ResourceBinding{}
			b.Namespace = "shop"
			n := fill(t, b, "shop", clusters)
			g.Expect(n).To(BeNumerically(">", 3000))
			data, err := json.Marshal(b)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(len(data)).To(BeNumerically("<", stored-others))

			before, smaller := attach.TakenOf(b), b.DeepCopy()
			attach.To(smaller, configMap(), settings(), workload("app-0001-deployment"), "id")
			g.Expect(attach.HasRoom(smaller, before, "shop", true)).To(BeTrue(), "a smaller record always has room")
			attach.Detach(b, keyOf(workload("app-0000-deployment")))
			before = attach.TakenOf(b)
			attach.To(b, configMap(), settings(), workload("new-deployment", "edge-1"), "id")
			g.Expect(attach.HasRoom(b, before, "shop", true)).To(BeTrue(), "there is room after a workload was detached")
		})
	}
}

func TestHasRoomLimitsEachNamespace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &workv1alpha2.ResourceBinding{}
	b.Namespace = "vault"
	one := func(int) []string { return []string{"edge-1"} }
	greedy := fill(t, b, "shop", one)
	g.Expect(greedy).To(BeNumerically(">", 1500))
	g.Expect(fill(t, b, "bank", one)).To(BeNumerically(">", greedy/2), "other namespaces have room")
}

// TestHasRoomLetsNamedWorkloadsMove moves one of thousands of workloads with a common list of clusters.
func TestHasRoomLetsNamedWorkloadsMove(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &workv1alpha2.ResourceBinding{}
	b.Namespace = "shop"
	n := fill(t, b, "shop", func(int) []string { return []string{"edge-1"} })
	g.Expect(attach.Names(b, keyOf(workload("app-0000-deployment")))).To(BeTrue())
	g.Expect(attach.Names(b, keyOf(workload(fmt.Sprintf("app-%04d-deployment", n))))).To(BeFalse(), "the last workload had no room")

	clusters := func(n int) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = fmt.Sprintf("edge-%04d", i)
		}
		return out
	}
	before := attach.TakenOf(b)
	moved := b.DeepCopy()
	attach.To(moved, configMap(), settings(), workload("app-0000-deployment", clusters(5000)...), "id")
	g.Expect(attach.HasRoom(moved, before, "shop", true)).To(BeFalse())
	g.Expect(attach.HasRoom(moved, before, "shop", false)).To(BeTrue(), "a named workload may move with its own list")
	before = attach.TakenOf(moved)
	attach.To(moved, configMap(), settings(), workload("app-0001-deployment", clusters(4999)...), "id")
	g.Expect(attach.HasRoom(moved, before, "shop", false)).To(BeFalse(), "moves may not fill the binding")
}
