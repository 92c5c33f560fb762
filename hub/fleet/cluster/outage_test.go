package cluster

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/test/builder"
)

// region is the stage with clusters that fall silent at the same time, on an API whose writes are slow.
type region struct {
	*Reconciler

	hub   client.WithWatch
	clock *clocktesting.FakeClock
	due   map[string]time.Time
}

func newRegion(t *testing.T, clusters int, write time.Duration) *region {
	t.Helper()
	g := NewWithT(t)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	r := &region{clock: clocktesting.NewFakeClock(time.Now().Truncate(time.Second)), due: map[string]time.Time{}}
	objs := []client.Object{}
	for i := range clusters {
		c := builder.MakeCluster(fmt.Sprintf("edge-%03d", i)).Obj()
		c.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionTrue, Reason: clusterv1alpha1.ReasonClusterReady, LastTransitionTime: metav1.NewTime(r.clock.Now())}}
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: contract.ClusterNamespace, Name: c.Name}}
		objs = append(objs, c, lease)
	}
	took := time.Duration(0) // the first writes, of finalizers and namespaces, do not count
	r.hub = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objs...).WithStatusSubresource(&clusterv1alpha1.Cluster{}).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			r.pass(t, took)
			return c.Patch(ctx, obj, patch, opts...)
		},
	}).Build()
	r.Reconciler, err = New(r.hub, r.hub, Deps{ExecutionNamespacePrefix: contract.DefaultExecutionNamespacePrefix, Clock: r.clock, Events: func(eventsink.Event) {}})
	g.Expect(err).NotTo(HaveOccurred())
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
	t.Cleanup(queue.ShutDown)
	g.Expect(r.watchdog.start(t.Context(), queue)).To(Succeed())
	for i := range clusters {
		r.look(t, fmt.Sprintf("edge-%03d", i))
	}
	took = write
	return r
}

// pass advances the clock while the hub is running.
func (r *region) pass(t *testing.T, d time.Duration) {
	t.Helper()
	for d > 0 {
		step := min(d, time.Second)
		d -= step
		r.clock.Step(step)
		r.watchdog.tick()
	}
}

// look reconciles a cluster that is due.
func (r *region) look(t *testing.T, name string) {
	t.Helper()
	g := NewWithT(t)
	result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: name}})
	g.Expect(err).NotTo(HaveOccurred())
	delete(r.due, name)
	if result.RequeueAfter > 0 {
		r.due[name] = r.clock.Now().Add(result.RequeueAfter)
	}
}

// next returns the cluster that is due next, if any.
func (r *region) next() (name string, at time.Time) {
	for n, due := range r.due {
		if name == "" || due.Before(at) || due.Equal(at) && n < name {
			name, at = n, due
		}
	}
	return name, at
}

// TestALostRegionIsUnknownAfterOneGracePeriod checks that a late reconcile, caused by hundreds of clusters being due at
// once with a write each, is trusted like any other. Each that was not used to start another grace period, after which
// most were late again.
func TestALostRegionIsUnknownAfterOneGracePeriod(t *testing.T) {
	t.Parallel()
	const clusters, write = 40, 1250 * time.Millisecond
	g := NewWithT(t)
	r := newRegion(t, clusters, write)
	silent := r.clock.Now()
	for len(r.due) > 0 {
		name, at := r.next()
		r.pass(t, at.Sub(r.clock.Now()))
		r.look(t, name)
		g.Expect(r.clock.Now().Sub(silent)).To(BeNumerically("<=", DefaultGracePeriod+clusters*write), "%d are left", len(r.due))
	}
	var list clusterv1alpha1.ClusterList
	g.Expect(r.hub.List(t.Context(), &list)).To(Succeed())
	g.Expect(list.Items).To(HaveLen(clusters))
	for i := range list.Items {
		ready := meta.FindStatusCondition(list.Items[i].Status.Conditions, clusterv1alpha1.ClusterReady)
		g.Expect(ready.Status).To(Equal(metav1.ConditionUnknown), list.Items[i].Name)
	}
}

// TestAHubThatWasStoppedGivesItsMembersAnotherChance suspends the process while the members are healthy: none of them
// is given up before it had time to be heard again, whichever is reconciled first.
func TestAHubThatWasStoppedGivesItsMembersAnotherChance(t *testing.T) {
	t.Parallel()
	for name, wake := range map[string]func(r *region){
		"it beats first":     func(r *region) { r.watchdog.tick() },
		"somebody is faster": func(*region) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := newRegion(t, 3, 0)
			r.clock.Step(time.Hour)
			wake(r)
			for range 3 {
				next, _ := r.next()
				r.look(t, next)
			}
			g.Expect(r.due).To(HaveLen(3))
			for _, at := range r.due {
				g.Expect(at).To(Equal(r.clock.Now().Add(DefaultGracePeriod)))
			}
			r.pass(t, DefaultGracePeriod)
			for range 3 {
				next, _ := r.next()
				r.look(t, next)
			}
			g.Expect(r.due).To(BeEmpty(), "then they are silent")
		})
	}
}

// TestAnAPIThatDidNotAnswerGivesMembersAnotherChance has one write block for most of the grace period: while the hub
// could not write, agents could not renew their leases either.
func TestAnAPIThatDidNotAnswerGivesMembersAnotherChance(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRegion(t, 3, 30*time.Second)
	r.pass(t, DefaultGracePeriod)
	for range 3 {
		next, _ := r.next()
		r.look(t, next)
	}
	g.Expect(r.due).To(HaveLen(2), "the first was judged before")
}
