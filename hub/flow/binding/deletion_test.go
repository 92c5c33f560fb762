package binding_test

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/evictions"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/stagetest"
)

// errStopped simulates that the hub is killed before a request.
var errStopped = errors.New("the hub was stopped")

func deletionIntents(t *testing.T, s *stage) {
	t.Helper()
	g, w := NewWithT(t), s.world(t, "a", "b", "c")
	template := builder.MakeDeployment(w.namespace, "web").Replicas(1).Obj()
	b := w.create(t, template, "a", "b", "c")
	g.Eventually(func() []string { return w.works(t, "web-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a", "b", "c"}))

	// Failover evicted the application from a, and the task is finished and gone.
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		g.Expect(evictions.Set(b, []workv1alpha2.Eviction{{
			From: w.member("a"), At: metav1.NewTime(time.Now().Add(time.Second).Truncate(time.Second)), Reason: workv1alpha2.EvictionTaintUntolerated,
		}})).To(Succeed())
		b.Spec.Clusters = b.Spec.Clusters[1:]
	})
	g.Eventually(func() string { return w.intent(t, "a", template) }, stagetest.Timeout, stagetest.Poll).Should(Equal(contract.DeletionEvicted))

	// Cluster b is leaving, and the scheduler has removed it.
	gone := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: w.member("b")}}
	g.Expect(w.hub.Delete(t.Context(), gone)).To(Succeed())
	g.Eventually(func(g Gomega) {
		g.Expect(apierrors.IsNotFound(w.hub.Get(t.Context(), client.ObjectKeyFromObject(gone), gone))).To(BeTrue())
	}, stagetest.Timeout, stagetest.Poll).Should(Succeed())
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Clusters = b.Spec.Clusters[1:] })
	g.Eventually(func() string { return w.intent(t, "b", template) }, stagetest.Timeout, stagetest.Poll).Should(Equal(contract.DeletionClusterLeft))

	// The hub stops after writing the intent, before the deletion. Then the targets are restored.
	w.stop("DELETE", w.workKey("c", template).Name)
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Clusters = nil })
	g.Eventually(func() string { return w.intent(t, "c", template) }, stagetest.Timeout, stagetest.Poll).Should(Equal(contract.DeletionRemoved), "the binding has no targets")
	g.Expect(w.work(t, "c", template).DeletionTimestamp).To(BeNil())
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Clusters = w.shares("c") })
	g.Eventually(func() string { return w.intent(t, "c", template) }, stagetest.Timeout, stagetest.Poll).Should(BeEmpty())
	g.Expect(w.work(t, "c", template).DeletionTimestamp).To(BeNil())
}

func preservedObjectsStay(t *testing.T, s *stage) {
	t.Helper()
	g, w := NewWithT(t), s.world(t, "a", "b", "c")
	template := builder.MakeDeployment(w.namespace, "web").Replicas(1).Obj()
	b := w.create(t, template, "a", "b", "c")
	g.Eventually(func() []string { return w.works(t, "web-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a", "b", "c"}))
	stays := func(member string) func(Gomega) {
		return func(g Gomega) {
			work := &workv1alpha1.Work{}
			g.Expect(w.hub.Get(t.Context(), w.workKey(member, template), work)).To(Succeed())
			g.Expect(work.DeletionTimestamp).NotTo(BeNil())
			g.Expect(contract.DeletionIntended(work.Annotations)).To(BeTrue())
			g.Expect(work.Spec.PreserveResourcesOnDeletion).To(HaveValue(BeTrue()))
		}
	}

	// The application is leaving a until a person confirms it, so its Work stays.
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Clusters = w.shares("b", "c")
		b.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{
			FromCluster: w.member("a"), PurgeMode: policyv1alpha1.PurgeNever, Reason: "TaintUntolerated", Producer: "test",
		}}
	})
	// One edit preserves objects on deletion and removes a cluster.
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.PreserveResourcesOnDeletion = new(true)
		b.Spec.Clusters = w.shares("b")
	})
	g.Eventually(stays("c"), stagetest.Timeout, stagetest.Poll).Should(Succeed())
	g.Expect(w.work(t, "a", template).Spec.PreserveResourcesOnDeletion).To(HaveValue(BeFalse()))

	g.Expect(w.hub.Delete(t.Context(), b)).To(Succeed())
	g.Eventually(stays("a"), stagetest.Timeout, stagetest.Poll).Should(Succeed())
	g.Eventually(stays("b"), stagetest.Timeout, stagetest.Poll).Should(Succeed())
}

// livePolicyPreserves edits the policy and deletes the template before the detector has written the edit on the binding.
func livePolicyPreserves(t *testing.T, s *stage) {
	t.Helper()
	g, w := NewWithT(t), s.world(t, "a")
	for name, tc := range map[string]struct {
		id       string
		preserve bool
		want     bool
	}{
		"kept":    {id: "policy-1", preserve: true, want: true},
		"another": {id: "policy-0", preserve: true},
		"lost":    {id: "policy-1"},
	} {
		policy := builder.MakePolicy(w.namespace, name).Select("v1", "ConfigMap", name).Clusters(w.member("a")).Obj()
		policy.Labels, policy.Spec.PreserveResourcesOnDeletion = map[string]string{contract.PropagationPolicyPermanentIDLabel: "policy-1"}, &tc.preserve
		g.Expect(w.hub.Create(t.Context(), policy)).To(Succeed())
		template := builder.MakeConfigMap(w.namespace, name, "color", "blue").Obj()
		b := w.create(t, template, "a")
		change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
			b.Labels[contract.PropagationPolicyPermanentIDLabel] = tc.id
			b.Annotations = map[string]string{
				contract.PropagationPolicyNamespaceAnnotation: w.namespace, contract.PropagationPolicyNameAnnotation: name,
			}
		})
		g.Eventually(func() []string { return w.works(t, name+"-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a"}))
		g.Expect(w.hub.Delete(t.Context(), b)).To(Succeed())
		g.Eventually(func() string { return w.intent(t, "a", template) }, stagetest.Timeout, stagetest.Poll).Should(Equal(contract.DeletionRemoved))
		g.Expect(w.work(t, "a", template).Spec.PreserveResourcesOnDeletion).To(HaveValue(Equal(tc.want)), name)
	}
}

// livePolicyPreservesDependencies edits the policy and deletes the dependency before the edit is written on the dependency's
// binding.
func livePolicyPreservesDependencies(t *testing.T, s *stage) {
	t.Helper()
	g, w := NewWithT(t), s.world(t, "a", "b")
	bank := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-bank"}}
	g.Expect(w.hub.Create(t.Context(), bank)).To(Succeed())
	foreign := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: bank.Name, Name: "web-deployment"}}
	foreign.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: bank.Name, Name: "web"}
	foreign.Spec.PreserveResourcesOnDeletion = new(true)
	g.Expect(w.hub.Create(t.Context(), foreign)).To(Succeed())
	for name, tc := range map[string]struct {
		id       string
		preserve bool
		selected bool
		want     bool
	}{
		"kept":     {id: "policy-1", preserve: true, want: true},
		"another":  {id: "policy-0", preserve: true},
		"lost":     {id: "policy-1"},
		"selected": {id: "policy-1", preserve: true, selected: true},
	} {
		policy := builder.MakePolicy(w.namespace, name).Select("v1", "ConfigMap", name).Clusters(w.member("a")).Obj()
		policy.Labels, policy.Spec.PreserveResourcesOnDeletion = map[string]string{contract.PropagationPolicyPermanentIDLabel: "policy-1"}, &tc.preserve
		g.Expect(w.hub.Create(t.Context(), policy)).To(Succeed())
		workload := w.create(t, builder.MakeConfigMap(w.namespace, name, "color", "blue").Obj())
		change(t, w, workload, func(b *workv1alpha2.ResourceBinding) {
			b.Labels[contract.PropagationPolicyPermanentIDLabel] = tc.id
			b.Annotations = map[string]string{
				contract.PropagationPolicyNamespaceAnnotation: w.namespace, contract.PropagationPolicyNameAnnotation: name,
			}
		})
		other := w.create(t, builder.MakeConfigMap(w.namespace, "beside-"+name, "color", "blue").Obj())
		template := builder.MakeConfigMap(w.namespace, "of-"+name, "color", "red").Obj()
		needed := w.create(t, template)
		change(t, w, needed, func(b *workv1alpha2.ResourceBinding) {
			b.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{
				{Namespace: w.namespace, Name: other.Name, Clusters: w.shares("a", "b"), Preserve: new(false)},
				{Namespace: w.namespace, Name: workload.Name, Clusters: w.shares("a"), Preserve: new(false)},
				{Namespace: foreign.Namespace, Name: foreign.Name, Clusters: w.shares("b"), Preserve: new(false)},
				{Namespace: w.namespace, Name: "no/name", Clusters: w.shares("b"), Preserve: new(false)},
			}
			if tc.selected {
				b.Spec.Placement = &policyv1alpha1.Placement{}
			}
		})
		g.Eventually(func() []string { return w.works(t, "of-"+name+"-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a", "b"}))
		g.Expect(w.hub.Delete(t.Context(), needed)).To(Succeed())
		for member, want := range map[string]bool{"a": tc.want, "b": false} {
			g.Eventually(func() string { return w.intent(t, member, template) }, stagetest.Timeout, stagetest.Poll).Should(Equal(contract.DeletionRemoved))
			g.Expect(w.work(t, member, template).Spec.PreserveResourcesOnDeletion).To(HaveValue(Equal(want)), "%s in %s", name, member)
		}
	}
}

func preservedInSomeClusters(t *testing.T, s *stage) {
	t.Helper()
	g, w := NewWithT(t), s.world(t, "a", "b", "c")
	template := builder.MakeConfigMap(w.namespace, "settings", "color", "blue").Obj()
	b := w.create(t, template, "a", "b", "c")
	g.Eventually(func() []string { return w.works(t, "settings-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a", "b", "c"}))
	preserved := func(member string) *bool { return w.work(t, member, template).Spec.PreserveResourcesOnDeletion }

	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.PreservedIn = []string{w.member("a")} })
	g.Eventually(func() *bool { return preserved("a") }, stagetest.Timeout, stagetest.Poll).Should(HaveValue(BeTrue()))
	g.Expect(preserved("b")).To(HaveValue(BeFalse()))
	// One edit preserves the object in one more cluster, and removes that cluster.
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.PreservedIn = []string{w.member("a"), w.member("b")}
		b.Spec.Clusters = w.shares("a", "c")
	})
	g.Eventually(func() string { return w.intent(t, "b", template) }, stagetest.Timeout, stagetest.Poll).Should(Equal(contract.DeletionMoved))
	g.Expect(preserved("b")).To(HaveValue(BeTrue()))
	g.Expect(w.hub.Delete(t.Context(), b)).To(Succeed())
	g.Eventually(func() string { return w.intent(t, "c", template) }, stagetest.Timeout, stagetest.Poll).Should(Equal(contract.DeletionRemoved))
	g.Expect(preserved("c")).To(HaveValue(BeFalse()))
	g.Expect(preserved("a")).To(HaveValue(BeTrue()))
}

func deletedWorksAreCreatedAgain(t *testing.T, s *stage) {
	t.Helper()
	g, w := NewWithT(t), s.world(t, "a")
	template := builder.MakeConfigMap(w.namespace, "settings", "color", "blue").Obj()
	b := w.create(t, template, "a")
	g.Eventually(func() []string { return w.works(t, "settings-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a"}))

	work := w.work(t, "a", template)
	g.Expect(w.hub.Delete(t.Context(), work)).To(Succeed())
	g.Consistently(func() string { return w.intent(t, "a", template) }, stagetest.Quiet, stagetest.Poll).Should(BeEmpty(), "the deletion was not intended")
	w.release(t, work)
	g.Eventually(func(g Gomega) {
		again := &workv1alpha1.Work{}
		g.Expect(w.hub.Get(t.Context(), w.workKey("a", template), again)).To(Succeed())
		g.Expect(again.UID).NotTo(Equal(work.UID))
	}, stagetest.Timeout, stagetest.Poll).Should(Succeed())

	// If the binding is deleted as well, the deletion is intended.
	g.Expect(w.hub.Delete(t.Context(), w.work(t, "a", template))).To(Succeed())
	g.Expect(w.hub.Delete(t.Context(), b)).To(Succeed())
	g.Eventually(func() string { return w.intent(t, "a", template) }, stagetest.Timeout, stagetest.Poll).Should(Equal(contract.DeletionRemoved))
}

// newExecutionNamespace does what the API server and then the cluster stage do when an execution namespace is deleted: it deletes
// the Works, removes their finalizers, and creates the namespace again.
func newExecutionNamespace(t *testing.T, s *stage) {
	t.Helper()
	g, w := NewWithT(t), s.world(t, "a")
	template := builder.MakeConfigMap(w.namespace, "settings", "color", "blue").Obj()
	w.create(t, template, "a")
	g.Eventually(func() []string { return w.works(t, "settings-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a"}))
	work := w.work(t, "a", template)
	// The namespace controller of the API server is slow on a busy machine.
	const atLast = time.Minute
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: work.Namespace}}
	g.Expect(w.hub.Delete(t.Context(), ns)).To(Succeed())
	g.Eventually(func() []string { return w.works(t, "settings-") }, atLast, stagetest.Poll).Should(Equal([]string{"a going"}))
	g.Expect(w.intent(t, "a", template)).To(BeEmpty(), "the deletion was not intended")
	w.release(t, work)
	g.Eventually(func() error { return w.hub.Get(t.Context(), client.ObjectKeyFromObject(ns), ns) }, atLast, stagetest.Poll).
		Should(Satisfy(apierrors.IsNotFound))
	w.openNamespace(t, "a")
	g.Eventually(func() []string { return w.works(t, "settings-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a"}))
}
