package failover

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/disruption"
	"fairlead.dev/common/kube"
	"fairlead.dev/test/filled"
)

// played is a queue with its own clock, which handles each request as soon as it is due.
type played struct {
	requests

	now time.Duration
	due map[reconcile.Request]time.Duration
	// looks are the times at which each request was handled.
	looks map[reconcile.Request][]time.Duration
}

// Add implements a workqueue.
func (p *played) Add(req reconcile.Request) { p.AddAfter(req, 0) }

// AddAfter implements a workqueue: a request already in it keeps the earlier of the two times.
func (p *played) AddAfter(req reconcile.Request, after time.Duration) {
	if due, waits := p.due[req]; !waits || p.now+after < due {
		p.due[req] = p.now + after
	}
	p.pass(0)
}

// pass advances the clock.
func (p *played) pass(d time.Duration) {
	p.now += d
	for req, due := range p.due {
		if due <= p.now {
			p.looks[req] = append(p.looks[req], due)
			delete(p.due, req)
		}
	}
}

// TestARegionThatIsLostIsDecidedOnTogether taints 500 clusters, or deletes them, within five seconds, under an
// application in all of them and an application in one.
func TestARegionThatIsLostIsDecidedOnTogether(t *testing.T) {
	g := NewWithT(t)
	size := filled.Fleet{Clusters: 500, Bindings: 2}
	wide, narrow := size.Binding(0), size.Binding(1)
	wide.Spec.Clusters = nil
	for i := range size.Clusters {
		wide.Spec.Clusters = append(wide.Spec.Clusters, workv1alpha2.TargetCluster{Name: filled.ClusterName(i), Replicas: 2})
	}
	hub := filled.New(t, cache.Options{}, wide, narrow).Client
	r := &reconciler{hubClient: hub, kind: kube.ResourceBindings(), verdicts: disruption.NewVerdicts(nil), taints: &taints{hubClient: hub}, clock: &ahead{}}
	q := &played{due: map[reconcile.Request]time.Duration{}, looks: map[reconcile.Request][]time.Duration{}}
	ofWide, ofNarrow := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(wide)}, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(narrow)}

	for name, change := range map[string]func(i int){
		"they are tainted": func(i int) {
			before, after := size.Cluster(i), size.Cluster(i)
			after.Spec.Taints = []corev1.Taint{lost}
			r.onCluster().Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
		},
		"they go": func(i int) { r.onCluster().Delete(t.Context(), event.DeleteEvent{Object: size.Cluster(i)}, q) },
	} {
		clear(q.looks)
		began, last := q.now, time.Duration(0)
		for i := range size.Clusters {
			last = q.now
			change(i)
			q.pass(5 * time.Second / time.Duration(size.Clusters))
		}
		q.pass(time.Minute)
		t.Logf("%s: %d looks at the wide one, %d at the narrow one", name, len(q.looks[ofWide]), len(q.looks[ofNarrow]))
		g.Expect(len(q.looks[ofWide])).To(BeNumerically("<=", 12), name)
		g.Expect(slices.Max(q.looks[ofWide])).To(And(BeNumerically(">=", last), BeNumerically("<=", last+gatherMost)), "%s: the last one counts, too", name)
		g.Expect(slices.Min(q.looks[ofWide])-began).To(BeNumerically("<=", gatherMost), name)
		g.Expect(q.looks[ofNarrow]).To(HaveLen(1), name)
	}
}

// TestAnApplicationInFewClustersIsDecidedOnAtOnce checks that few clusters and tasks cause a delay of less than 50 ms.
func TestAnApplicationInFewClustersIsDecidedOnAtOnce(t *testing.T) {
	t.Parallel()
	b := &workv1alpha2.ResourceBinding{}
	b.Spec.Clusters = make([]workv1alpha2.TargetCluster, 3)
	b.Spec.GracefulEvictionTasks = make([]workv1alpha2.GracefulEvictionTask, 2)
	NewWithT(t).Expect(gathering(b)).To(BeNumerically("<", 50*time.Millisecond))
}
