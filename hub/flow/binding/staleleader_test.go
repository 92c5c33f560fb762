package binding_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/evictions"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/stagetest"
)

// held is a finalizer that keeps an object that is being deleted.
const held = "test.fairlead.dev/held"

// shows makes the cache of a hub show objects in an old state, whatever changed since.
func shows[O client.Object](as func(O)) func(*cache.Options) {
	return func(o *cache.Options) {
		by := cache.ByObject{Transform: func(in any) (any, error) {
			if obj, ok := in.(O); ok {
				as(obj)
			}
			return in, nil
		}}
		var kind O
		switch any(kind).(type) {
		case *workv1alpha2.ResourceBinding:
			o.ByObject[&workv1alpha2.ResourceBinding{}] = by
		case *clusterv1alpha1.Cluster:
			o.ByObject[&clusterv1alpha1.Cluster{}] = by
		case *corev1.Namespace:
			o.ByObject[&corev1.Namespace{}] = by
		}
	}
}

// placed creates an application in some members, and stops the hub that did so.
func placed(t *testing.T, members ...string) (*world, *unstructured.Unstructured, *workv1alpha2.ResourceBinding) {
	t.Helper()
	g, w := NewWithT(t), start(t).world(t, members...)
	template := builder.MakeDeployment(w.namespace, "web").Replicas(1).Obj()
	b := w.create(t, template, members...)
	g.Eventually(func() []string { return w.works(t, "web-") }, stagetest.Timeout, stagetest.Poll).Should(Equal(members))
	w.end()
	return w, template, b
}

// leave deletes a Cluster, whose deletion does not complete.
func (w *world) leave(t *testing.T, name string) {
	t.Helper()
	cluster := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: w.member(name)}}
	change(t, w, cluster, func(c *clusterv1alpha1.Cluster) { controllerutil.AddFinalizer(c, held) })
	NewWithT(t).Expect(w.hub.Delete(t.Context(), cluster)).To(Succeed())
	t.Cleanup(func() {
		release := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		_ = w.hub.Patch(context.WithoutCancel(t.Context()), cluster, release)
	})
}

// stayed makes a cache show no Cluster as being deleted.
func stayed(c *clusterv1alpha1.Cluster) {
	c.DeletionTimestamp = nil
	delete(c.Annotations, contract.RetiredAnnotation)
}

func TestStaleClusterLosesNothingWhenLeaving(t *testing.T) {
	g := NewWithT(t)
	w, template, b := placed(t, "evicted", "forgotten", "moved", "stays")
	w.leave(t, "evicted")
	w.leave(t, "moved")
	change(t, w, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: w.member("forgotten")}}, func(c *clusterv1alpha1.Cluster) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, contract.RetiredAnnotation, "{}")
	})
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		g.Expect(evictions.Set(b, []workv1alpha2.Eviction{{
			From: w.member("evicted"), At: metav1.NewTime(time.Now().Add(time.Second).Truncate(time.Second)), Reason: workv1alpha2.EvictionTaintUntolerated,
		}})).To(Succeed())
		b.Spec.Clusters = w.shares("stays")
	})
	w.behind(t, b, shows(stayed))
	for _, name := range []string{"evicted", "forgotten", "moved"} {
		g.Eventually(func() string { return w.intent(t, name, template) }, stagetest.Timeout, stagetest.Poll).Should(Equal(contract.DeletionClusterLeft), name)
	}
	g.Expect(w.intent(t, "stays", template)).To(BeEmpty())
}

func TestMoveOutOfClusterMissingFromCache(t *testing.T) {
	g := NewWithT(t)
	w, template, b := placed(t, "late", "stays")
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Clusters = w.shares("stays") })
	w.behind(t, b, shows(func(c *clusterv1alpha1.Cluster) {
		if c.Name == w.member("late") {
			c.Name = w.member("not-here-yet")
		}
	}))
	g.Eventually(func() string { return w.intent(t, "late", template) }, stagetest.Timeout, stagetest.Poll).Should(Equal(contract.DeletionMoved))
}

func TestDeletionLeavesObjectsInLeavingCluster(t *testing.T) {
	g := NewWithT(t)
	w, template, b := placed(t, "leaves", "stays")
	w.leave(t, "leaves")
	g.Expect(w.hub.Delete(t.Context(), b)).To(Succeed())
	w.behind(t, b, shows(stayed))
	g.Eventually(func() string { return w.intent(t, "stays", template) }, stagetest.Timeout, stagetest.Poll).Should(Equal(contract.DeletionRemoved))
	g.Eventually(func() string { return w.intent(t, "leaves", template) }, stagetest.Timeout, stagetest.Poll).Should(Equal(contract.DeletionClusterLeft))
}

func TestStaleBindingDeletesNoReturnedWork(t *testing.T) {
	g := NewWithT(t)
	w, template, b := placed(t, "one", "two")
	blind, read := w.behind(t, b, shows(func(b *workv1alpha2.ResourceBinding) {
		if b.Namespace == w.namespace && len(b.Spec.Clusters) == 2 {
			b.Spec.Clusters, b.Generation = b.Spec.Clusters[1:], b.Generation-1
		}
	}))
	g.Eventually(read.Load, stagetest.Timeout, stagetest.Poll).Should(BeNumerically(">", 1), "the reconcile is retried")
	g.Expect(w.works(t, "web-")).To(Equal([]string{"one", "two"}))
	g.Expect(w.intent(t, "one", template)).To(BeEmpty())
	g.Expect(blind.wrote()).To(BeEmpty())
}

// mayUseNothing makes a cache show that a namespace may use no cluster of its world but one.
func mayUseNothing(w *world, but string) func(*corev1.Namespace) {
	return func(ns *corev1.Namespace) {
		if ns.Name == w.namespace {
			metav1.SetMetaDataAnnotation(&ns.ObjectMeta, contract.ClustersAnnotation, "name="+but)
		}
	}
}

func TestStaleAllowanceDeletesNothing(t *testing.T) {
	g := NewWithT(t)
	w, template, b := placed(t, "one", "two")
	change(t, w, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: w.member("one")}}, func(c *clusterv1alpha1.Cluster) {
		metav1.SetMetaDataLabel(&c.ObjectMeta, "name", w.namespace)
	})
	another := w.world(t)
	by := another.create(t, builder.MakeDeployment(another.namespace, "web").Obj())
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Namespace: by.Namespace, Name: by.Name, Clusters: b.Spec.Clusters}}
		b.Spec.Clusters = nil
	})
	blind, read := w.behind(t, b, shows(mayUseNothing(w, w.namespace)))
	g.Eventually(read.Load, stagetest.Timeout, stagetest.Poll).Should(BeNumerically(">", 1), "the reconcile is retried")
	g.Expect(w.works(t, "web-")).To(Equal([]string{"one", "two"}))
	g.Expect(w.intent(t, "two", template)).To(BeEmpty())
	g.Expect(blind.wrote()).NotTo(ContainElement("DELETE"))
}

func TestStaleAllowanceKeepsPreservation(t *testing.T) {
	g := NewWithT(t)
	s := start(t)
	w := s.world(t, "one", "two")
	template := builder.MakeDeployment(w.namespace, "web").Replicas(1).Obj()
	b := w.create(t, template, "one", "two")
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.PreserveResourcesOnDeletion = new(true) })
	g.Eventually(func(g Gomega) {
		work := &workv1alpha1.Work{}
		g.Expect(w.hub.Get(t.Context(), w.workKey("two", template), work)).To(Succeed())
		g.Expect(work.Spec.PreserveResourcesOnDeletion).To(HaveValue(BeTrue()))
	}, stagetest.Timeout, stagetest.Poll).Should(Succeed())
	w.end()
	change(t, w, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: w.member("one")}}, func(c *clusterv1alpha1.Cluster) {
		metav1.SetMetaDataLabel(&c.ObjectMeta, "name", w.namespace)
	})
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Clusters = b.Spec.Clusters[:1] })
	w.behind(t, b, shows(mayUseNothing(w, w.namespace)))
	g.Eventually(func() string { return w.intent(t, "two", template) }, stagetest.Timeout, stagetest.Poll).Should(Equal(contract.DeletionMoved))
	g.Expect(w.work(t, "two", template).Spec.PreserveResourcesOnDeletion).To(HaveValue(BeTrue()))
}
