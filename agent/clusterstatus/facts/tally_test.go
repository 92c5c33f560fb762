package facts_test

import (
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/agent/clusterstatus/facts"
)

// TestSumsOfWhatComesAndGoesAreThoseOfWhatIsThere checks that the incremental sums equal those of the pods that
// remain, whatever is added, changed or removed.
func TestSumsOfWhatComesAndGoesAreThoseOfWhatIsThere(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dice := rand.New(rand.NewPCG(1, 2))
	nodes := []*corev1.Node{node("a", true, "cpu", "4", "pods", "110"), node("b", true, "cpu", "8", "pods", "110")}
	phases := []corev1.PodPhase{corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed}
	there := map[string]*corev1.Pod{}
	tally := facts.NewPods()
	for range 2000 {
		name := "p-" + strconv.Itoa(dice.IntN(40))
		if old, ok := there[name]; ok && dice.IntN(3) == 0 {
			tally.Drop(old)
			delete(there, name)
			continue
		}
		p := pod([]string{"", "a", "b"}[dice.IntN(3)], phases[dice.IntN(4)], "cpu", strconv.Itoa(1+dice.IntN(3)))
		p.Name = name
		tally.Put(p)
		there[name] = p
	}
	whole := facts.NewPods()
	for _, p := range there {
		g.Expect(whole.Put(p)).To(BeTrue())
		g.Expect(whole.Put(p)).To(BeFalse(), "the same again makes no difference")
	}
	want, got := facts.Resources(nodesOf(nodes), whole, nil), facts.Resources(nodesOf(nodes), tally, nil)
	g.Expect(texts(got.Allocated)).To(Equal(texts(want.Allocated)))
	g.Expect(texts(got.Allocating)).To(Equal(texts(want.Allocating)))
	for _, p := range there {
		tally.Drop(p)
		tally.Drop(p) // it is gone already
	}
	empty := facts.Resources(nodesOf(nodes), tally, nil)
	g.Expect(empty.Allocated).To(BeEmpty())
	g.Expect(empty.Allocating).To(BeEmpty())
}

func TestANodeThatIsAsItWasMakesNoDifference(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	nodes := facts.NewNodes()
	g.Expect(nodes.Put(node("a", true, "cpu", "4"))).To(BeTrue())
	g.Expect(nodes.Put(node("a", true, "cpu", "4000m"))).To(BeFalse())
	g.Expect(nodes.Put(node("a", false, "cpu", "4"))).To(BeTrue())
	g.Expect(nodes.Put(node("a", false, "cpu", "5"))).To(BeTrue())
	nodes.Drop("a")
	g.Expect(nodes.Summary().TotalNum).To(BeZero())
}

// BenchmarkPods measures the memory kept for each pod.
func BenchmarkPods(b *testing.B) {
	const n = 5000
	before, after := runtime.MemStats{}, runtime.MemStats{}
	var tally *facts.Pods
	p := pod("", corev1.PodRunning, "cpu", "500m", "memory", "512Mi")
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		tally = facts.NewPods()
		for i := range n {
			p.Namespace, p.Name, p.Spec.NodeName = "shop", "web-7d4b9c6f5d-"+strconv.Itoa(i), "node-"+strconv.Itoa(i%50)
			tally.Put(p)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/pod")
	runtime.KeepAlive(tally)
}
