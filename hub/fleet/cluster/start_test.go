package cluster

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/hub/fleet/cluster/health"
)

// TestAHubThatStartsWritesNothingWhileAgentsComeBack has all agents of a fleet but one open their lines one after the
// other for two minutes.
func TestAHubThatStartsWritesNothingWhileAgentsComeBack(t *testing.T) {
	t.Parallel()
	const clusters, last = 41, 40
	g := NewWithT(t)
	r := newRegion(t, clusters, 0)
	lines := &someLines{}
	r.lines = newLineTracker(lines, r.clock)
	r.options.FirstGrace = time.Minute
	name := func(i int) string { return fmt.Sprintf("edge-%03d", i) }
	versions := func() map[string]string {
		list, out := &clusterv1alpha1.ClusterList{}, map[string]string{}
		g.Expect(r.hub.List(t.Context(), list)).To(Succeed())
		for _, c := range list.Items {
			out[c.Name] = c.ResourceVersion
		}
		return out
	}
	before, began := versions(), r.clock.Now()
	second := func() int { return int(r.clock.Since(began).Seconds()) }
	// pass advances the clock by a second, with the reconciles that are due.
	pass := func() {
		r.pass(t, time.Second)
		for due, at := r.next(); due != "" && !at.After(r.clock.Now()); due, at = r.next() {
			r.look(t, due)
		}
	}
	for i := range last {
		for range 3 {
			pass()
		}
		lines.set(name(i), health.LineReport{Up: true, Since: r.clock.Now()})
		r.look(t, name(i))
	}
	g.Expect(second()).To(Equal(120))
	g.Expect(versions()).To(Equal(before), "nobody is called Unknown")
	g.Expect(r.reconnects.Last(r.clock.Now())).To(Equal(r.clock.Now().Round(0)))

	ready := func() *metav1.Condition {
		c := &clusterv1alpha1.Cluster{}
		g.Expect(r.hub.Get(t.Context(), client.ObjectKey{Name: name(last)}, c)).To(Succeed())
		return meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ClusterReady)
	}
	for second() < 149 {
		pass()
	}
	g.Expect(ready().Status).To(Equal(metav1.ConditionTrue))
	pass()
	g.Expect(ready().Status).To(Equal(metav1.ConditionUnknown), "half a minute after the last one")
	delete(before, name(last))
	after := versions()
	delete(after, name(last))
	g.Expect(after).To(Equal(before))
}
