package dependencies_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/stagetest"
)

// watchedManager returns a client that counts reads of bindings, and fails to write one of them.
type watchedManager struct {
	manager.Manager

	client *watchedClient
}

// GetClient implements manager.Manager.
func (m watchedManager) GetClient() client.Client { return m.client }

type watchedClient struct {
	client.Client

	gets, refused atomic.Int64
	// full is the name of a binding whose writes fail because it is too large.
	full atomic.Value
}

// Get implements client.Client.
func (c *watchedClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if _, is := obj.(*workv1alpha2.ResourceBinding); is {
		c.gets.Add(1)
	}
	return c.Client.Get(ctx, key, obj, opts...)
}

// Patch implements client.Client.
func (c *watchedClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if c.full.Load() == obj.GetName() {
		c.refused.Add(1)
		return errors.New("etcdserver: request is too large")
	}
	return c.Client.Patch(ctx, obj, patch, opts...)
}

func startWatched(t *testing.T) (*world, *watchedClient) {
	t.Helper()
	c := &watchedClient{}
	w := startWith(t, func(mgr manager.Manager) manager.Manager {
		c.Client = mgr.GetClient()
		return watchedManager{Manager: mgr, client: c}
	})
	return w, c
}

// quiet waits until no binding is read any more.
func (c *watchedClient) quiet(g Gomega) {
	last := int64(-1)
	g.Eventually(func() bool {
		before := last
		last = c.gets.Load()
		return last == before
	}, stagetest.Timeout, time.Second).Should(BeTrue())
}

// TestOneMoreWorkloadDoesNotReconcileTheOthers counts the reads when a workload is added to many that need the same object, and when one
// moves. Each reconcile of a workload reads all the others.
func TestOneMoreWorkloadDoesNotReconcileTheOthers(t *testing.T) {
	w, c := startWatched(t)
	g := NewWithT(t)
	const n = 100
	w.create(t, w.configMap("shared"))
	var moves *workv1alpha2.ResourceBinding
	for i := range n {
		_, moves = w.deployment(t, fmt.Sprintf("app-%03d", i), "shared")
	}
	shared := w.attached(t, w.namespace, "shared-configmap")
	g.Eventually(shared, 3*stagetest.Timeout, stagetest.Poll).Should(HaveLen(n))
	c.quiet(g)

	c.gets.Store(0)
	w.deployment(t, "more", "shared")
	g.Eventually(shared, stagetest.Timeout, stagetest.Poll).Should(HaveLen(n + 1))
	c.quiet(g)
	g.Expect(c.gets.Load()).To(BeNumerically("<", 6*n))

	c.gets.Store(0)
	change(t, w, moves, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "edge-2"}}
	})
	g.Eventually(shared, stagetest.Timeout, stagetest.Poll).Should(HaveKeyWithValue(moves.Name, []string{"edge-2"}))
	c.quiet(g)
	g.Expect(c.gets.Load()).To(BeNumerically("<", 6*n))
}

// TestCommonClustersAreStoredOnce uses a real API server, which stores only fields that it knows.
func TestCommonClustersAreStoredOnce(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	w.create(t, w.configMap("shared"))
	const n, clusters = 8, 1000
	var targets []workv1alpha2.TargetCluster
	for i := range clusters {
		targets = append(targets, workv1alpha2.TargetCluster{Name: fmt.Sprintf("member-%05d", i)})
	}
	var all []*workv1alpha2.ResourceBinding
	for i := range n {
		_, b := w.deployment(t, fmt.Sprintf("app-%d", i), "shared")
		change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Clusters = targets })
		all = append(all, b)
	}
	by := func() map[string]int {
		b := &workv1alpha2.ResourceBinding{}
		if err := w.hub.Get(t.Context(), types.NamespacedName{Namespace: w.namespace, Name: "shared-configmap"}, b); err != nil {
			return nil
		}
		out := map[string]int{"all": len(bindings.Targets(&b.Spec)), "stored": 0}
		for _, s := range b.Spec.RequiredBy {
			out["stored"] += len(s.Clusters)
		}
		for _, s := range bindings.Snapshots(&b.Spec) {
			out[s.Name] = len(s.Clusters)
		}
		return out
	}
	want := map[string]int{"all": clusters, "stored": clusters}
	for _, b := range all {
		want[b.Name] = clusters
	}
	g.Eventually(by, stagetest.Timeout, stagetest.Poll).Should(Equal(want))

	change(t, w, all[0], func(b *workv1alpha2.ResourceBinding) { b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "other"}} })
	want["all"], want["stored"], want[all[0].Name] = clusters+1, clusters+1, 1
	g.Eventually(by, stagetest.Timeout, stagetest.Poll).Should(Equal(want), "the clusters of the others stay")
}

// TestFullBindingDoesNotBlockTheWorkload covers a staged workload that needs an object whose binding has no room for it.
func TestFullBindingDoesNotBlockTheWorkload(t *testing.T) {
	w, c := startWatched(t)
	g := NewWithT(t)
	w.create(t, w.configMap("shared"))
	w.deployment(t, "web", "shared")
	shared := w.attached(t, w.namespace, "shared-configmap")
	g.Eventually(shared, stagetest.Timeout, stagetest.Poll).Should(HaveKey("web-deployment"))

	c.full.Store("shared-configmap")
	_, b := w.deployment(t, "api", "shared", "later")
	leftOut := func() string {
		g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
		if found := meta.FindStatusCondition(b.Status.Conditions, workv1alpha2.BindingDependenciesLeftOut); found != nil {
			return found.Message
		}
		return ""
	}
	g.Eventually(leftOut, stagetest.Timeout, stagetest.Poll).Should(HavePrefix("ConfigMap " + w.namespace + "/shared: "))
	g.Eventually(func() []string { return w.notes("SyncScheduleResultToDependenciesFailed") }, stagetest.Timeout, stagetest.Poll).Should(ConsistOf(leftOut()))
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Annotations = map[string]string{contract.RolloutStrategyAnnotation: "careful"}
	})
	g.Eventually(func() string {
		leftOut()
		return b.Annotations[contract.DependenciesAnnotation]
	}, stagetest.Timeout, stagetest.Poll).Should(ContainSubstring(`"shared"`), "the record is written, so that a rollout can proceed")
	w.create(t, w.configMap("later"))
	g.Eventually(w.attached(t, w.namespace, "later-configmap"), stagetest.Timeout, stagetest.Poll).Should(HaveKey("api-deployment"), "a dependency with room is attached")
	c.quiet(g)
	tried := c.refused.Load()
	g.Consistently(c.refused.Load, 2*time.Second, stagetest.Poll).Should(Equal(tried), "the failed write is not repeated at once")
	g.Expect(w.told("SyncScheduleResultToDependenciesFailed")).To(Equal(1))

	c.full.Store("")
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "edge-2"}}
	})
	g.Eventually(shared, stagetest.Timeout, stagetest.Poll).Should(HaveKeyWithValue("api-deployment", []string{"edge-2"}))
	g.Eventually(leftOut, stagetest.Timeout, stagetest.Poll).Should(BeEmpty())
}

// TestFullBindingCanBeDeleted fills a binding with the clusters of workloads up to the API server's limit, and adds one more.
func TestFullBindingCanBeDeleted(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	config := w.configMap("shared")
	w.create(t, config)
	shared := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: contract.BindingName("ConfigMap", "shared")}}
	shared.Finalizers = []string{contract.BindingFinalizer}
	shared.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: w.namespace, Name: "shared", UID: config.UID}
	for i := range 9 {
		s := workv1alpha2.BindingSnapshot{Namespace: w.namespace, Name: fmt.Sprintf("full-%d-deployment", i)}
		for n := range 600 {
			s.Clusters = append(s.Clusters, workv1alpha2.TargetCluster{Name: fmt.Sprintf("of-%d-%0200d", i, n)})
		}
		shared.Spec.RequiredBy = append(shared.Spec.RequiredBy, s)
	}
	w.create(t, shared)
	_, b := w.deployment(t, "more", "shared")
	g.Eventually(func() *metav1.Condition {
		g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
		return meta.FindStatusCondition(b.Status.Conditions, workv1alpha2.BindingDependenciesLeftOut)
	}, stagetest.Timeout, stagetest.Poll).Should(HaveField("Message", HavePrefix("ConfigMap "+w.namespace+"/shared: ")))
	g.Expect(w.hub.Delete(t.Context(), b)).To(Succeed())
	g.Eventually(func() bool { return apierrors.IsNotFound(w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b)) }, stagetest.Timeout, stagetest.Poll).Should(BeTrue())
	g.Expect(w.hub.Delete(t.Context(), shared)).To(Succeed(), "there is room for a deletionTimestamp")
}

// TestListLeftByEarlierHubIsRemoved deletes the last workload while an earlier version of the hub is active, which knows nothing of
// common lists.
func TestListLeftByEarlierHubIsRemoved(t *testing.T) {
	w := start(t)
	g := NewWithT(t)
	left := func(name string) *workv1alpha2.ResourceBinding {
		config := w.configMap(name)
		w.create(t, config)
		b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: contract.BindingName("ConfigMap", name)}}
		b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: w.namespace, Name: name, UID: config.UID}
		b.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Namespace: w.namespace, Clusters: []workv1alpha2.TargetCluster{{Name: "edge-1"}}}}
		return b
	}
	alone, selected := left("alone"), left("selected")
	selected.Spec.Placement = &policyv1alpha1.Placement{}
	w.create(t, alone, selected)
	g.Eventually(w.attached(t, w.namespace, alone.Name), stagetest.Timeout, stagetest.Poll).Should(BeNil())
	g.Eventually(w.attached(t, w.namespace, selected.Name), stagetest.Timeout, stagetest.Poll).Should(And(Not(BeNil()), BeEmpty()))
}
