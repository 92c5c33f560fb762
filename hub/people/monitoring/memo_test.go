package monitoring

import (
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/test/filled"
)

// TestTheMemoAgreesWithAFreshLook changes bindings and clusters at random: what is said is at every moment what would be said by
// somebody who remembers nothing, and nothing is looked at anew but what the change concerns.
func TestTheMemoAgreesWithAFreshLook(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(17, 1))
	size := filled.Fleet{Clusters: 6, Bindings: 30}
	known := applications.Clusters{}
	for i := range size.Clusters {
		known[filled.ClusterName(i)] = applications.Freshness{Fresh: true, Since: time.Unix(1000, 0)}
	}
	var bindings []kube.Binding
	in := map[string]int{}
	for i := range size.Bindings {
		bindings = append(bindings, size.Binding(i))
		in[size.ClusterOf(i)]++
	}
	m := &memo{}
	_, anew := m.of(bindings, known)
	g.Expect(anew).To(Equal(size.Bindings))
	for range 400 {
		now, want := maps.Clone(known), 0
		switch i := random.IntN(len(bindings)); random.IntN(5) {
		case 0: // nothing changes
		case 1: // a cluster falls silent, or is heard from again
			name := filled.ClusterName(random.IntN(size.Clusters))
			heard := now[name]
			now[name] = applications.Freshness{Fresh: !heard.Fresh, Since: heard.Since.Add(time.Second)}
			want = in[name]
		case 2: // a cluster is deleted, or created
			name := filled.ClusterName(random.IntN(size.Clusters))
			if _, there := now[name]; there {
				delete(now, name)
			} else {
				now[name] = applications.Freshness{}
			}
			want = in[name]
		case 3: // a binding gets another status
			changed, ok := bindings[i].DeepCopyObject().(*workv1alpha2.ResourceBinding)
			g.Expect(ok).To(BeTrue())
			changed.Status.AggregatedStatus[0].Applied = !changed.Status.AggregatedStatus[0].Applied
			bindings[i], want = changed, 1
		default: // a binding is deleted, and recreated under the same name
			other, ok := bindings[i].DeepCopyObject().(*workv1alpha2.ResourceBinding)
			g.Expect(ok).To(BeTrue())
			other.Labels, bindings[i], want = nil, other, 1
			random.Shuffle(len(bindings), func(i, j int) { bindings[i], bindings[j] = bindings[j], bindings[i] })
		}
		known = now
		apps, anew := m.of(bindings, known)
		g.Expect(anew).To(Equal(want))
		for i, b := range bindings {
			g.Expect(*apps[i]).To(BeComparableTo(applications.Of(b, known)))
		}
		g.Expect(m.judged).To(HaveLen(len(bindings)), "of what is gone nothing is left")
	}
	apps, _ := m.of(bindings[:3], known)
	g.Expect(apps).To(HaveLen(3))
	g.Expect(m.judged).To(HaveLen(3))
}
