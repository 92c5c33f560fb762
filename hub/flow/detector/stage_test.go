package detector

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/detector/claim"
	"fairlead.dev/test/cluster"
)

func TestNewTemplateCostsTwoWrites(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	p := s.policy("web", named("apps/v1", "Deployment", "web"))
	p.Spec.Suspension = &policyv1alpha1.Suspension{Dispatching: new(true)}
	p.Spec.ConflictResolution = policyv1alpha1.ConflictOverwrite
	p.Spec.PreserveResourcesOnDeletion = new(true)
	s.create(t, p)
	g.Eventually(func(g Gomega) {
		g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(p), p)).To(Succeed())
		g.Expect(p.Labels).To(HaveKey(contract.PropagationPolicyPermanentIDLabel))
		g.Expect(p.Finalizers).To(ConsistOf(contract.PropagationPolicyFinalizer))
	}, "1m", "50ms").Should(Succeed())
	g.Expect(s.writes.requests()).To(HaveLen(1), "id and finalizer are written together")

	template := s.deployment("web", 3)
	s.create(t, template)
	b := s.eventually(t, "web-deployment", claimedBy("web"))

	g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(template), template)).To(Succeed())
	wantClaim := claim.By(p)
	onTemplate, _ := claim.On(template)
	g.Expect(onTemplate).To(Equal(wantClaim))
	onBinding, _ := claim.On(b)
	g.Expect(onBinding).To(Equal(wantClaim))
	g.Expect(b.Spec.Resource).To(Equal(workv1alpha2.ObjectReference{
		APIVersion: "apps/v1", Kind: "Deployment", Namespace: s.namespace, Name: "web",
		UID: template.GetUID(), ResourceVersion: template.GetResourceVersion(),
	}), "the binding has the template's resourceVersion after the claim")
	g.Expect(b.Spec.Replicas).To(Equal(int32(3)))
	g.Expect(b.Spec.ReplicaRequirements.ResourceRequest.Cpu().String()).To(Equal("100m"))
	g.Expect(b.Spec.Placement.ClusterAffinity.ClusterNames).To(ConsistOf("edge-1"))
	g.Expect(b.Spec.Suspension.Dispatching).To(HaveValue(BeTrue()))
	g.Expect(b.Spec.ConflictResolution).To(Equal(policyv1alpha1.ConflictOverwrite))
	g.Expect(b.Spec.PreserveResourcesOnDeletion).To(HaveValue(BeTrue()))
	g.Expect(b.Spec.SchedulerName).To(Equal("default-scheduler"))
	g.Expect(b.Labels).To(HaveKey(contract.ResourceBindingPermanentIDLabel))
	g.Expect(b.Finalizers).To(ConsistOf(contract.BindingFinalizer))
	g.Expect(metav1.GetControllerOf(b).UID).To(Equal(template.GetUID()))
	g.Expect(*metav1.GetControllerOf(b).BlockOwnerDeletion).To(BeTrue())

	s.settle(t)
	var web []string
	for _, write := range s.writes.requests() {
		if strings.Contains(write, "/web") || strings.HasSuffix(write, "/resourcebindings") {
			web = append(web, strings.ReplaceAll(write, s.namespace, "ns"))
		}
	}
	g.Expect(web).To(Equal([]string{
		"PATCH /apis/policy.karmada.io/v1alpha1/namespaces/ns/propagationpolicies/web",
		"PATCH /apis/apps/v1/namespaces/ns/deployments/web",
		"POST /apis/work.karmada.io/v1alpha2/namespaces/ns/resourcebindings",
		"POST /apis/work.karmada.io/v1alpha2/namespaces/ns/resourcebindings", // of the canary
	}))
	g.Expect(s.writes.notes(reasonApplyPolicySucceed)).To(ContainElement(
		"Apply policy(" + s.namespace + "/web) succeed"))
	g.Expect(s.writes.notes(reasonApplyPolicyFailed)).To(BeEmpty())
}

func TestTemplateStatusDoesNotChangeBinding(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	template := s.deployment("web", 3)
	s.create(t, s.policy("web", named("apps/v1", "Deployment", "web")), template)
	b := s.eventually(t, "web-deployment", claimedBy("web"))

	// What the scheduler and others write stays.
	b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "edge-1", Replicas: 3}}
	b.Spec.Suspension = &workv1alpha2.Suspension{Scheduling: new(true)}
	b.Annotations["other"] = "stays"
	g.Expect(s.client.Update(t.Context(), b)).To(Succeed())
	g.Expect(s.client.Status().Patch(t.Context(), template, client.RawPatch(types.MergePatchType,
		[]byte(`{"status":{"replicas":3,"readyReplicas":3}}`)))).To(Succeed())
	s.settle(t)
	after, err := s.binding(t.Context(), "web-deployment")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(after.ResourceVersion).To(Equal(b.ResourceVersion))

	// A change of the spec is copied.
	g.Expect(s.client.Patch(t.Context(), template, client.RawPatch(types.MergePatchType,
		[]byte(`{"spec":{"replicas":5}}`)))).To(Succeed())
	after = s.eventually(t, "web-deployment", func(g Gomega, b *workv1alpha2.ResourceBinding) {
		g.Expect(b.Spec.Replicas).To(Equal(int32(5)))
	})
	g.Expect(after.Spec.Resource.ResourceVersion).To(Equal(template.GetResourceVersion()))
	g.Expect(after.Spec.Clusters).To(Equal(b.Spec.Clusters))
	g.Expect(after.Spec.Suspension.Scheduling).To(HaveValue(BeTrue()))
	g.Expect(after.Annotations).To(HaveKeyWithValue("other", "stays"))

	// So is one of the labels.
	g.Expect(s.client.Patch(t.Context(), template, client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"tier":"gold"}}}`)))).To(Succeed())
	s.eventually(t, "web-deployment", func(g Gomega, b *workv1alpha2.ResourceBinding) {
		g.Expect(b.Spec.Resource.ResourceVersion).To(Equal(template.GetResourceVersion()))
	})
}

func TestRestartWritesNothing(t *testing.T) {
	c := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	s := &stage{client: c.Client(t), namespace: c.Namespace(t)}
	s.writes = &recorder{namespace: s.namespace}
	g := NewWithT(t)
	stop := s.run(t, g, c.Config)
	template := s.deployment("web", 1)
	s.create(t, s.policy("all", named("apps/v1", "Deployment", ""), named("v1", "ConfigMap", "cm")), template, s.configMap("cm"))
	s.eventually(t, "web-deployment", claimedBy("all"))
	s.eventually(t, "cm-configmap", claimedBy("all"))
	stop()
	g.Expect(s.client.Status().Patch(t.Context(), template, client.RawPatch(types.MergePatchType,
		[]byte(`{"status":{"replicas":1}}`)))).To(Succeed())

	s.writes = &recorder{namespace: s.namespace}
	s.run(t, g, c.Config)
	s.settle(t)
	s.looksAt(t, "web")
	s.looksAt(t, "cm")
	for _, write := range s.writes.requests() {
		g.Expect(write).To(Or(ContainSubstring("canary"), HaveSuffix("/resourcebindings")), "only the canary is written")
	}
	g.Eventually(func() []string { return s.writes.notes(reasonApplyPolicySucceed) }, "1m", "50ms").Should(HaveLen(1), "the event is emitted once")
}

func TestUnreadableTemplateIsReportedOnce(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	web := s.deployment("web", 2)
	web.SetAnnotations(map[string]string{"fails": "the rule does not know"})
	s.create(t, s.policy("web", named("apps/v1", "Deployment", "web")), web)
	g.Eventually(func() []string { return s.writes.notes(reasonGetReplicasFailed) }, "1m", "50ms").
		Should(ConsistOf(And(ContainSubstring(`Reading the replicas of Deployment "web"`), ContainSubstring("the rule does not know"))))
	g.Eventually(func() []string { return s.writes.notes(reasonApplyPolicyFailed) }, "1m", "50ms").Should(ConsistOf(ContainSubstring("the rule does not know")))
	g.Consistently(func() []string { return s.writes.notes(reasonGetReplicasFailed) }, "300ms", "50ms").Should(HaveLen(1), "retries do not repeat the event")

	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"fails":null}}}`))
	g.Expect(s.client.Patch(t.Context(), web, patch)).To(Succeed())
	b := s.eventually(t, "web-deployment", claimedBy("web"))
	g.Expect(b.Spec.Replicas).To(BeEquivalentTo(2))
}

func TestTamperedBindingIsRestored(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	s.create(t, s.policy("web", named("v1", "ConfigMap", "a")), s.configMap("a"))
	b := s.eventually(t, "a-configmap", claimedBy("web"))
	b.Spec.Placement.ClusterAffinity.ClusterNames = []string{"elsewhere"}
	delete(b.Labels, contract.PropagationPolicyPermanentIDLabel)
	g.Expect(s.client.Update(t.Context(), b)).To(Succeed())
	s.eventually(t, "a-configmap", func(g Gomega, b *workv1alpha2.ResourceBinding) {
		claimedBy("web")(g, b)
		g.Expect(b.Spec.Placement.ClusterAffinity.ClusterNames).To(ConsistOf("edge-1"))
	})

	// A deleted binding is created again. It is deleted first, because the detector would put back a finalizer that is removed from a
	// binding that stays.
	g.Expect(s.client.Delete(t.Context(), b)).To(Succeed())
	g.Expect(client.IgnoreNotFound(s.client.Patch(t.Context(), b, client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":null}}`))))).To(Succeed())
	s.eventually(t, "a-configmap", func(g Gomega, after *workv1alpha2.ResourceBinding) {
		g.Expect(after.DeletionTimestamp).To(BeNil())
	})
}

func TestBindingOfEarlierTemplateIsNotTouched(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	old := &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace, Name: "a-configmap",
			Finalizers: []string{contract.BindingFinalizer},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: "gone", Controller: new(true),
			}},
		},
		Spec: workv1alpha2.ResourceBindingSpec{Resource: workv1alpha2.ObjectReference{
			APIVersion: "v1", Kind: "ConfigMap", Namespace: s.namespace, Name: "a", UID: "gone",
		}},
	}
	s.create(t, old, s.policy("web", named("v1", "ConfigMap", "a")), s.configMap("a"))
	g.Eventually(func() []string { return s.writes.notes(reasonApplyPolicyFailed) }, "1m", "50ms").
		Should(ConsistOf(ContainSubstring("with uid gone")))
	b, err := s.binding(t.Context(), "a-configmap")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.UID).To(Equal(old.UID))
	g.Expect(b.Spec).To(Equal(old.Spec))

	// The garbage collector deletes it, the finalizer is removed, and then the new binding is created.
	g.Expect(client.IgnoreNotFound(s.client.Delete(t.Context(), b))).To(Succeed())
	g.Expect(client.IgnoreNotFound(s.client.Patch(t.Context(), b, client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":null}}`))))).To(Succeed())
	s.eventually(t, "a-configmap", claimedBy("web"))
}

func TestReservedNamespacesStayOnTheHub(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	s.clusterPolicy(t, policyv1alpha1.PropagationSpec{ResourceSelectors: []policyv1alpha1.ResourceSelector{
		{APIVersion: "v1", Kind: "ConfigMap", Name: s.namespace},
		{APIVersion: "work.karmada.io/v1alpha1", Kind: "Work"},
	}})
	reserved := s.configMap(s.namespace)
	reserved.Namespace = "kube-system"
	vain := s.policy(s.namespace, named("v1", "ConfigMap", s.namespace))
	vain.Namespace = reserved.Namespace
	s.create(t, reserved, s.configMap(s.namespace), vain)
	s.eventually(t, s.namespace+"-configmap", claimedBy(s.namespace))
	s.settle(t)
	// Templates in this namespace are not propagated, and the author of the policy is told.
	g.Expect(s.writes.notes(reasonStaysOnHub)).To(ConsistOf(And(ContainSubstring("namespace kube-system"), ContainSubstring("--skipped-propagating-namespaces"))))
	g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(reserved), reserved)).To(Succeed())
	g.Expect(claimed(reserved)).To(BeFalse())
	g.Expect(s.writes.notes(reasonKindNotPropagated)).To(ConsistOf(ContainSubstring("Work of work.karmada.io/v1alpha1")))
}

func TestManyTemplatesCostTwoWritesEach(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	const many = 50
	all := s.policy("all", named("apps/v1", "Deployment", ""), named("v1", "ConfigMap", ""))
	all.Spec.ResourceSelectors[1].LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"many": "yes"}}
	s.create(t, all)
	var wait sync.WaitGroup
	for i := range many {
		name := fmt.Sprintf("t-%d", i)
		cm := s.configMap(name)
		cm.Labels = map[string]string{"many": "yes"}
		for _, obj := range []client.Object{s.deployment(name, 1), cm} {
			wait.Go(func() {
				if err := s.client.Create(t.Context(), obj); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wait.Wait()
	g.Eventually(func(g Gomega) {
		var list workv1alpha2.ResourceBindingList
		g.Expect(s.client.List(t.Context(), &list, client.InNamespace(s.namespace))).To(Succeed())
		g.Expect(list.Items).To(HaveLen(2 * many))
	}, "1m", "50ms").Should(Succeed())
	s.settle(t)
	var templates, bindings int
	for _, write := range s.writes.requests() {
		switch {
		case strings.Contains(write, s.namespace+"/deployments/t-"), strings.Contains(write, s.namespace+"/configmaps/t-"):
			templates++
		case strings.Contains(write, s.namespace+"/resourcebindings"):
			bindings++
		}
	}
	g.Expect(templates).To(Equal(2 * many))
	g.Expect(bindings).To(Equal(2*many+1), "the writes include the canary's binding")
}

func TestTemplateBeingDeletedGetsNoBinding(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	template := s.configMap("a")
	template.Finalizers = []string{"example.com/hold"}
	s.create(t, template)
	g.Expect(s.client.Delete(t.Context(), template)).To(Succeed())
	s.create(t, s.policy("web", named("v1", "ConfigMap", "a")))
	s.settle(t)
	_, err := s.binding(t.Context(), "a-configmap")
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
	g.Expect(s.client.Patch(t.Context(), template, client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
}

func TestTemplateIsAppliedWithinMilliseconds(t *testing.T) {
	s := start(t)
	s.create(t, s.policy("all", named("v1", "ConfigMap", "")))
	s.create(t, s.configMap("first"))
	s.eventually(t, "first-configmap", claimedBy("all"))
	var total time.Duration
	const n = 20
	for i := range n {
		name := fmt.Sprintf("c-%d", i)
		began := time.Now()
		s.create(t, s.configMap(name))
		for {
			if _, err := s.binding(t.Context(), name+"-configmap"); err == nil {
				break
			}
		}
		total += time.Since(began)
	}
	t.Logf("%s from create to binding on average", total/n)
}

func TestBindingKeepsClaimWhenNamesakeChanges(t *testing.T) {
	s := start(t)
	g := NewWithT(t)
	role := func(name string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
			"metadata": map[string]any{"name": name, "namespace": s.namespace},
		}}
	}
	other := role("web.reader")
	s.create(t, s.policy("web", named("rbac.authorization.k8s.io/v1", "Role", "web:reader")), role("web:reader"))
	before := s.eventually(t, "web.reader-role", claimedBy("web"))
	s.create(t, other) // its binding would have the same name, but no policy selects it
	s.settle(t)
	after, err := s.binding(t.Context(), "web.reader-role")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(after.ResourceVersion).To(Equal(before.ResourceVersion))
}
