package status

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/filled"
	"fairlead.dev/test/stagetest"
)

// played is a queue with its own clock, which processes requests as soon as they are due.
type played struct {
	priorityqueue.PriorityQueue[reconcile.Request]

	now time.Duration
	due map[reconcile.Request]time.Duration
	// looks are the times at which each request was processed.
	looks map[reconcile.Request][]time.Duration
	// before is how many were enqueued with more than low priority.
	before int
}

// AddWithOpts implements PriorityQueue.
func (p *played) AddWithOpts(o priorityqueue.AddOpts, requests ...reconcile.Request) {
	if o.Priority == nil || *o.Priority > handler.LowPriority {
		p.before++
	}
	for _, req := range requests {
		if due, waits := p.due[req]; !waits || p.now+o.After < due {
			p.due[req] = p.now + o.After
		}
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

// TestARegionThatFallsSilentIsOneOrTwoWrites has 500 clusters fall silent within two seconds, with an application in all of them and one in
// one, and come back likewise. Each write for the wide application grows with the number of clusters.
func TestARegionThatFallsSilentIsOneOrTwoWrites(t *testing.T) {
	g := NewWithT(t)
	size := filled.Fleet{Clusters: 500, Bindings: 2}
	wide, narrow := size.Binding(0), size.Binding(1)
	wide.Spec.Clusters, wide.Status.AggregatedStatus = nil, nil
	var objects []client.Object
	for i := range size.Clusters {
		objects = append(objects, size.Cluster(i))
		wide.Spec.Clusters = append(wide.Spec.Clusters, workv1alpha2.TargetCluster{Name: filled.ClusterName(i), Replicas: 2})
		item := narrow.Status.AggregatedStatus[0]
		item.ClusterName = filled.ClusterName(i)
		wide.Status.AggregatedStatus = append(wide.Status.AggregatedStatus, item)
	}
	r := &Reconciler{hubClient: filled.New(t, cache.Options{}, append(objects, wide, narrow)...).Client}
	q := &played{due: map[reconcile.Request]time.Duration{}, looks: map[reconcile.Request][]time.Duration{}}

	changed := func(from, to metav1.ConditionStatus) time.Duration {
		t.Helper()
		clear(q.looks)
		for i := range size.Clusters {
			before, after := size.Cluster(i), size.Cluster(i)
			before.Status.Conditions[0].Status, after.Status.Conditions[0].Status = from, to
			after.Status.Conditions[0].LastTransitionTime = metav1.Now()
			r.clusterHandler().Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
			q.pass(2 * time.Second / time.Duration(size.Clusters))
		}
		last := q.now
		q.pass(time.Minute)
		return last
	}
	for range 2 {
		for _, status := range [][2]metav1.ConditionStatus{{metav1.ConditionTrue, metav1.ConditionUnknown}, {metav1.ConditionUnknown, metav1.ConditionTrue}} {
			began := q.now
			last := changed(status[0], status[1])
			g.Expect(len(q.looks[requestFor(wide)])).To(BeNumerically("<=", 2))
			g.Expect(slices.Max(q.looks[requestFor(wide)])).To(And(BeNumerically(">=", last-time.Second/100), BeNumerically("<=", last+silenceMost)), "the last is told of, too")
			g.Expect(q.looks[requestFor(narrow)]).To(HaveLen(1))
			g.Expect(q.looks[requestFor(narrow)][0]-began).To(BeNumerically("<", 50*time.Millisecond), "of one that is in few it is told at once")
		}
	}
	g.Expect(q.before).To(BeZero(), "what somebody changes comes before")
}

// TestClustersThatFallSilentTogetherAreToldOfTogether does the same with a real queue: each write of the binding, and of its template,
// covers a batch.
func TestClustersThatFallSilentTogetherAreToldOfTogether(t *testing.T) {
	const many = 20
	g := NewWithT(t)
	c := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	s := &stage{client: c.Client(t), namespace: c.Namespace(t), seen: &recorder{}}
	s.prefix = s.namespace + "-es-"
	var names []string
	for i := range many {
		names = append(names, fmt.Sprintf("%s-c%02d", s.namespace, i))
		member := builder.MakeCluster(names[i]).Obj()
		s.create(t, member)
		t.Cleanup(func() { g.Expect(s.client.Delete(context.Background(), member)).To(Succeed()) })
	}
	s.open(t, append([]string{"edge-1"}, names...)...)
	b := s.binding(t, s.deployment(t), names...)
	for _, name := range names {
		s.report(t, s.work(t, b, name), b, "", one)
	}
	s.run(t, c.Config, "")
	for _, status := range []metav1.ConditionStatus{metav1.ConditionUnknown, metav1.ConditionTrue} {
		s.eventually(t, b, fullyApplied(metav1.ConditionTrue))
		s.settle(t)
		paths := []string{s.namespace + "/resourcebindings/" + b.Name + "/status", s.namespace + "/deployments/web/status"}
		before, began := []int{s.seen.count(paths[0]), s.seen.count(paths[1])}, time.Now()
		for _, name := range names {
			member := builder.MakeCluster(name).Obj()
			stagetest.ChangeStatus(t, s.client, member, func() {
				member.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterReady, Status: status, Reason: "Test", LastTransitionTime: metav1.Now()}}
			})
		}
		s.eventually(t, b, func(g Gomega, said *workv1alpha2.ResourceBindingStatus) {
			g.Expect(said.AggregatedStatus).To(HaveLen(many))
			for i := range said.AggregatedStatus {
				g.Expect(said.AggregatedStatus[i].StaleSince != nil).To(Equal(status == metav1.ConditionUnknown))
			}
		})
		most := 2 + int(time.Since(began)/gatheringSilence(many))
		for i, path := range paths {
			g.Expect(s.seen.count(path)-before[i]).To(And(BeNumerically(">", 0), BeNumerically("<=", most)), path)
		}
	}
}
