package binding_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/override"
	"fairlead.dev/hub/flow/binding"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/stagetest"
)

func rulesThatDoNotAnswer(t *testing.T, s *stage) {
	t.Helper()
	g := NewWithT(t)
	w := s.world(t, "one")
	template := builder.MakeDeployment(w.namespace, "flaky").Replicas(2).Obj()
	w.create(t, template, "one")
	g.Eventually(func() []string { return w.works(t, "flaky") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"one"}))
	g.Expect(w.told("flaky")).To(ContainElement(ContainSubstring("setting the replicas to 2: connection refused")))
}

func aBindingMadeByHand(t *testing.T, s *stage) {
	t.Helper()
	g := NewWithT(t)
	w := s.world(t, "one")
	template := builder.MakeConfigMap(w.namespace, "hand").Obj()
	g.Expect(w.hub.Create(t.Context(), template)).To(Succeed())
	b := &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "hand-made"},
		Spec: workv1alpha2.ResourceBindingSpec{
			Resource: workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: w.namespace, Name: "hand"},
			Clusters: w.shares("one"),
		},
	}
	g.Expect(w.hub.Create(t.Context(), b)).To(Succeed())
	g.Eventually(func() []string { return w.works(t, "hand") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"one"}))
	g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
	g.Expect(b.Labels).To(HaveKeyWithValue(contract.ResourceBindingPermanentIDLabel, string(b.UID)))
	g.Expect(w.hub.Delete(t.Context(), b)).To(Succeed())
	g.Eventually(func() error { return w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b) }, stagetest.Timeout, stagetest.Poll).Should(Satisfy(apierrors.IsNotFound), "the binding's finalizer is removed")
	g.Expect(w.work(t, "one", template).DeletionTimestamp).NotTo(BeNil(), "its Work is deleted")
}

func TestStage(t *testing.T) {
	s := start(t)
	for name, test := range map[string]func(*testing.T, *stage){
		"every target gets a Work":                                       everyTargetGetsAWork,
		"changes of a Work by others are corrected":                      changesByOthersAreCorrected,
		"override policies are applied":                                  overridePolicies,
		"a cluster that cannot be served does not affect others":         oneClusterThatCannotBeServed,
		"the name of a Work is taken":                                    theNameOfAWorkIsTaken,
		"the Work of a quota part is not touched":                        aPartOfAQuota,
		"cluster-scoped templates are rendered":                          clusterScopedTemplates,
		"missing objects delete nothing":                                 missingObjectsDeleteNothing,
		"a binding does not render objects of other namespaces":          otherNamespacesObjects,
		"a copied binding does not delete the original's Works":          aCopiedBinding,
		"no Work is created in a cluster that the namespace may not use": forbiddenClusters,
		"rules that do not answer are retried":                           rulesThatDoNotAnswer,
		"a binding that was created by hand is rendered":                 aBindingMadeByHand,
		"a Work says why it is deleted":                                  deletionIntents,
		"preserved objects stay in the members":                          preservedObjectsStay,
		"objects stay if the live policy preserves them":                 livePolicyPreserves,
		"dependencies stay if the workload's live policy preserves them": livePolicyPreservesDependencies,
		"objects preserved in some clusters stay there":                  preservedInSomeClusters,
		"Works that others deleted are created again":                    deletedWorksAreCreatedAgain,
		"Works are created again in a new execution namespace":           newExecutionNamespace,
		"a quota that bounds fewer resources is followed":                quotaThatBoundsLess,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

func everyTargetGetsAWork(t *testing.T, s *stage) {
	t.Helper()
	g, w := NewWithT(t), s.world(t, "a", "b", "c")
	template := builder.MakeDeployment(w.namespace, "web").Replicas(2).Obj()
	b := w.create(t, template, "a", "b", "c")
	g.Eventually(func() []string { return w.works(t, "web-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a", "b", "c"}))
	work := w.work(t, "a", template)
	g.Expect(work.Finalizers).To(ConsistOf(contract.ExecutionFinalizer))
	g.Expect(bindings.IDOf(work)).To(Equal(bindings.IDOf(b)))
	g.Expect(work.Annotations).To(HaveKey(contract.ManifestHashAnnotation))
	g.Expect(manifest(t, work, "spec", "replicas")).To(BeEquivalentTo(2))

	note := "Normal SyncWorkSucceed: Sync work of ResourceBinding(" + w.namespace + "/web-deployment) successful."
	g.Eventually(func() []string { return w.told("web") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{note}))
	g.Consistently(func() []string { return w.told("web") }, stagetest.Quiet, stagetest.Poll).Should(HaveLen(1))
	g.Expect(w.wrote()).To(Equal([]string{"POST", "POST", "POST"}), "each Work is written once")

	// A change of the binding that does not change a Work causes no write.
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Resource.ResourceVersion += "0" })
	g.Consistently(func() []string { return w.wrote() }, stagetest.Quiet, stagetest.Poll).Should(BeEmpty())

	// A change of the template costs one write per Work.
	change(t, w, template, func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"tier": "front"}) })
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Resource.ResourceVersion = template.GetResourceVersion() })
	g.Eventually(func() any { return manifest(t, w.work(t, "c", template), "metadata", "labels", "tier") }, stagetest.Timeout, stagetest.Poll).Should(Equal("front"))
	g.Eventually(func() []string { return w.told("web") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{note, note}))
	g.Expect(w.wrote()).To(Equal([]string{"PATCH", "PATCH", "PATCH"}))

	// The Work of a removed target is deleted.
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Clusters = b.Spec.Clusters[:2] })
	g.Eventually(func() []string { return w.works(t, "web-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a", "b", "c going"}))
	g.Expect(w.wrote()).To(Equal([]string{"DELETE", "PATCH"}), "the intent is written before the deletion")
	g.Expect(w.intent(t, "c", template)).To(Equal(contract.DeletionMoved))

	// If the target returns while its Work is being deleted, the new Work waits, and the agent may keep the objects.
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: w.member("c"), Replicas: 2})
	})
	g.Eventually(func() string { return w.intent(t, "c", template) }, stagetest.Timeout, stagetest.Poll).Should(BeEmpty())
	g.Consistently(func() []string { return w.works(t, "web-") }, stagetest.Quiet, stagetest.Poll).Should(Equal([]string{"a", "b", "c going"}))
	g.Expect(w.wrote()).To(Equal([]string{"PATCH"}))
	w.release(t, w.work(t, "c", template))
	g.Eventually(func() []string { return w.works(t, "web-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a", "b", "c"}))

	// The binding is deleted at once; the Works stay for their agents.
	g.Expect(w.hub.Delete(t.Context(), b)).To(Succeed())
	g.Eventually(func() bool {
		return apierrors.IsNotFound(w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b))
	}, stagetest.Timeout, stagetest.Poll).Should(BeTrue())
	g.Expect(w.works(t, "web-")).To(Equal([]string{"a going", "b going", "c going"}))
	g.Expect(w.intent(t, "a", template)).To(Equal(contract.DeletionRemoved))

	// A binding that is created again waits until the Works of the former one are gone.
	g.Expect(w.hub.Delete(t.Context(), template)).To(Succeed())
	template = builder.MakeDeployment(w.namespace, "web").Replicas(1).Obj()
	w.create(t, template, "a")
	w.release(t, w.work(t, "a", template))
	g.Eventually(func() []string { return w.works(t, "web-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a", "b going", "c going"}))
	g.Expect(manifest(t, w.work(t, "a", template), "spec", "replicas")).To(BeEquivalentTo(1))
	g.Expect(strings.Join(w.told("web"), "\n")).NotTo(ContainSubstring("Warning"))
}

func changesByOthersAreCorrected(t *testing.T, s *stage) {
	t.Helper()
	g, w := NewWithT(t), s.world(t, "a")
	template := builder.MakeConfigMap(w.namespace, "settings", "color", "blue").Obj()
	w.create(t, template, "a")
	g.Eventually(func() []string { return w.works(t, "settings-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a"}))

	// The change of its spec does not change the hash.
	change(t, w, w.work(t, "a", template), func(work *workv1alpha1.Work) {
		work.Spec.Workload.Manifests[0] = workv1alpha1.Manifest{RawExtension: runtime.RawExtension{
			Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"x"},"data":{"color":"red"}}`),
		}}
	})
	g.Eventually(func() any { return manifest(t, w.work(t, "a", template), "data", "color") }, stagetest.Timeout, stagetest.Poll).Should(Equal("blue"))

	// A label is removed.
	change(t, w, w.work(t, "a", template), func(work *workv1alpha1.Work) { delete(work.Labels, contract.WorkPermanentIDLabel) })
	g.Eventually(func() map[string]string { return w.work(t, "a", template).Labels }, stagetest.Timeout, stagetest.Poll).Should(HaveKey(contract.WorkPermanentIDLabel))

	// It is deleted.
	work := w.work(t, "a", template)
	g.Expect(w.hub.Delete(t.Context(), work)).To(Succeed())
	w.release(t, work)
	g.Eventually(func(g Gomega) {
		again := &workv1alpha1.Work{}
		g.Expect(w.hub.Get(t.Context(), w.workKey("a", template), again)).To(Succeed())
		g.Expect(again.UID).NotTo(Equal(work.UID))
	}, stagetest.Timeout, stagetest.Poll).Should(Succeed())

	// The status belongs to the agent.
	w.wrote()
	work = w.work(t, "a", template)
	work.Status.Conditions = []metav1.Condition{{
		Type: workv1alpha1.WorkApplied, Status: metav1.ConditionTrue, Reason: workv1alpha1.ReasonAppliedSuccessful, LastTransitionTime: metav1.Now(),
	}}
	g.Expect(w.hub.Status().Update(t.Context(), work)).To(Succeed())
	g.Consistently(func() []string { return w.wrote() }, stagetest.Quiet, stagetest.Poll).Should(BeEmpty())
}

func overridePolicies(t *testing.T, s *stage) {
	t.Helper()
	g, w := NewWithT(t), s.world(t, "a", "b")
	template := builder.MakeDeployment(w.namespace, "web").Replicas(1).Obj()
	b := w.create(t, template, "a", "b")
	rendered := func() *metav1.Condition {
		g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
		return meta.FindStatusCondition(b.BindingStatus().Conditions, workv1alpha2.BindingRendered)
	}
	replicas := func(member string) func() any {
		return func() any { return manifest(t, w.work(t, member, template), "spec", "replicas") }
	}
	g.Eventually(func() []string { return w.works(t, "web-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a", "b"}))

	policy := builder.MakeOverride(w.namespace, "more").Select("apps/v1", "Deployment", "web").Replace(w.member("b"), "/spec/replicas", 2).Obj()
	g.Expect(w.hub.Create(t.Context(), policy)).To(Succeed())
	g.Eventually(replicas("b"), stagetest.Timeout, stagetest.Poll).Should(BeEquivalentTo(2))
	g.Expect(replicas("a")()).To(BeEquivalentTo(1))
	g.Expect(w.work(t, "b", template).Annotations).To(HaveKey(contract.AppliedOverridesAnnotation))

	// If an override policy cannot be applied, the Work of that cluster stays as it is, and one event says why.
	change(t, w, policy, func(p *policyv1alpha1.OverridePolicy) {
		p.Spec.OverrideRules[0].Overriders.Plaintext[0].Path = "/spec/no/such/field"
	})
	g.Eventually(func() string { return strings.Join(w.told("web"), "\n") }, stagetest.Timeout, stagetest.Poll).Should(And(
		ContainSubstring("Warning ApplyOverridePolicyFailed"), ContainSubstring(w.namespace+"/more"), ContainSubstring(w.member("b")), ContainSubstring("/spec/no/such/field")))
	g.Consistently(func() int { return strings.Count(strings.Join(w.told("web"), "\n"), "Warning") }, stagetest.Quiet, stagetest.Poll).Should(Equal(1))
	g.Expect(replicas("b")()).To(BeEquivalentTo(2))
	g.Eventually(rendered, stagetest.Timeout, stagetest.Poll).Should(And(HaveField("Status", metav1.ConditionFalse),
		HaveField("Reason", workv1alpha2.ReasonOverrideFailed), HaveField("Message", ContainSubstring("/spec/no/such/field"))))

	g.Expect(w.hub.Delete(t.Context(), policy)).To(Succeed())
	g.Eventually(replicas("b"), stagetest.Timeout, stagetest.Poll).Should(BeEquivalentTo(1))
	g.Eventually(rendered, stagetest.Timeout, stagetest.Poll).Should(BeNil())
	g.Expect(w.work(t, "b", template).Annotations).NotTo(HaveKey(contract.AppliedOverridesAnnotation))

	// An override policy that selects clusters by labels follows changes of the labels.
	byLabel := builder.MakeOverride("", w.namespace).Replace("x", "/spec/replicas", 5).Select("apps/v1", "Deployment", "web").ClusterObj()
	byLabel.Spec.OverrideRules[0].TargetCluster = &policyv1alpha1.ClusterAffinity{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"size": w.namespace}},
	}
	g.Expect(w.hub.Create(t.Context(), byLabel)).To(Succeed())
	change(t, w, builder.MakeCluster(w.member("a")).Obj(), func(c *clusterv1alpha1.Cluster) { c.SetLabels(map[string]string{"size": w.namespace}) })
	g.Eventually(replicas("a"), stagetest.Timeout, stagetest.Poll).Should(BeEquivalentTo(5))
	g.Expect(replicas("b")()).To(BeEquivalentTo(1))

	// An overrider without effect does not count as applied.
	idle := builder.MakeOverride(w.namespace, "idle").Select("apps/v1", "Deployment", "web").Replace(w.member("b"), "/spec/replicas", 1).Obj()
	idle.Spec.OverrideRules[0].Overriders = policyv1alpha1.Overriders{LabelsOverrider: []policyv1alpha1.LabelAnnotationOverrider{
		{Operator: policyv1alpha1.OverrideRemove, Value: map[string]string{"none": ""}},
	}}
	g.Expect(w.hub.Create(t.Context(), idle)).To(Succeed())
	g.Eventually(func() []string { return override.WithoutEffect(w.work(t, "b", template).Annotations) }, stagetest.Timeout, stagetest.Poll).Should(
		Equal([]string{"OverridePolicy idle, labelsOverrider[0]: the object has none of these labels to remove"}))
	g.Expect(override.Names(w.work(t, "b", template).Annotations)).To(BeEmpty())

	// If its policy names only the template, that is a mistake, and reported once. A policy that names several objects is meant for those
	// that have the labels.
	vain := And(HavePrefix("Warning OverriderWithoutEffect: "), ContainSubstring("changes nothing for cluster %q: OverridePolicy idle", w.member("b")))
	g.Eventually(func() []string { return w.told("web") }, stagetest.Timeout, stagetest.Poll).Should(ContainElement(vain))
	all := idle.DeepCopy()
	all.ObjectMeta = metav1.ObjectMeta{Namespace: w.namespace, Name: "all"}
	all.Spec.ResourceSelectors[0].Name = ""
	g.Expect(w.hub.Create(t.Context(), all)).To(Succeed())
	g.Eventually(func() []string { return override.WithoutEffect(w.work(t, "b", template).Annotations) }, stagetest.Timeout, stagetest.Poll).Should(HaveLen(2))
	g.Consistently(func() string { return strings.Join(w.told("web"), "\n") }, stagetest.Quiet, stagetest.Poll).Should(
		And(Not(ContainSubstring("OverridePolicy all")), WithTransform(func(told string) int { return strings.Count(told, "OverriderWithoutEffect") }, Equal(1))))
}

func oneClusterThatCannotBeServed(t *testing.T, s *stage) {
	t.Helper()
	g, w := NewWithT(t), s.world(t, "b", "c")
	// The first cluster by name has no execution namespace yet.
	g.Expect(w.hub.Create(t.Context(), builder.MakeCluster(w.member("a")).Obj())).To(Succeed())
	template := builder.MakeConfigMap(w.namespace, "settings").Obj()
	w.create(t, template, "a", "b", "c")
	g.Eventually(func() []string { return w.works(t, "settings-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"b", "c"}))
	g.Eventually(func() []string { return w.told("settings") }, stagetest.Timeout, stagetest.Poll).Should(ConsistOf(And(
		ContainSubstring("Warning SyncWorkFailed"), ContainSubstring(w.member("a")), ContainSubstring("does not exist yet"))))
	w.openNamespace(t, "a")
	g.Eventually(func() []string { return w.works(t, "settings-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a", "b", "c"}))
	g.Eventually(func() []string { return w.told("settings") }, stagetest.Timeout, stagetest.Poll).Should(HaveLen(2))
}

func theNameOfAWorkIsTaken(t *testing.T, s *stage) {
	t.Helper()
	g, w := NewWithT(t), s.world(t, "a", "b")
	template := builder.MakeConfigMap(w.namespace, "settings").Obj()
	// One Work belongs to another binding, one has no owner.
	key := w.workKey("a", builder.MakeConfigMap(w.namespace, "settings").Obj())
	taken := builder.MakeWork(w.member("a"), key.Name).Label(contract.ResourceBindingPermanentIDLabel, "another").Obj()
	taken.Annotations = map[string]string{contract.ClusterResourceBindingNameAnnotation: "another-thing"}
	g.Expect(w.hub.Create(t.Context(), taken)).To(Succeed())
	orphan := builder.MakeWork(w.member("b"), key.Name).Label("theirs", "x").Obj()
	g.Expect(w.hub.Create(t.Context(), orphan)).To(Succeed())

	b := w.create(t, template, "a", "b")
	g.Eventually(func() string { return bindings.IDOf(w.work(t, "b", template)) }, stagetest.Timeout, stagetest.Poll).Should(Equal(bindings.IDOf(b)))
	g.Expect(w.work(t, "b", template).Labels).To(HaveKeyWithValue("theirs", "x"))
	g.Expect(manifest(t, w.work(t, "b", template), "kind")).To(Equal("ConfigMap"))
	g.Eventually(func() []string { return w.told("settings") }, stagetest.Timeout, stagetest.Poll).Should(ConsistOf(And(
		ContainSubstring("Warning SyncWorkFailed"), ContainSubstring("ClusterResourceBinding another-thing"))))
	g.Expect(bindings.IDOf(w.work(t, "a", template))).To(Equal("another"), "the Work of another owner is not touched")
}

func aPartOfAQuota(t *testing.T, s *stage) {
	t.Helper()
	g, w := NewWithT(t), s.world(t, "a")
	template := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ResourceQuota", "metadata": map[string]any{"namespace": w.namespace, "name": "all"},
	}}
	part := builder.MakeWork(w.member("a"), w.workKey("a", template).Name).Label(contract.FederatedResourceQuotaNamespaceLabel, w.namespace).
		Label(contract.FederatedResourceQuotaNameLabel, "all").Obj()
	g.Expect(w.hub.Create(t.Context(), part)).To(Succeed())

	b := w.create(t, template, "a")
	g.Eventually(func(g Gomega) {
		g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
		g.Expect(b.Status.Conditions).To(ContainElement(And(HaveField("Type", workv1alpha2.BindingRendered),
			HaveField("Message", ContainSubstring("FederatedResourceQuota "+w.namespace+"/all")))))
	}, stagetest.Timeout, stagetest.Poll).Should(Succeed())
	g.Expect(w.work(t, "a", template)).To(BeComparableTo(part), "the Work of another owner is not touched")

	g.Expect(w.hub.Delete(t.Context(), part)).To(Succeed())
	w.release(t, part)
	g.Eventually(func() []string { return w.works(t, "all-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a"}), "the Work is created once the name is free")
	g.Expect(bindings.IDOf(w.work(t, "a", template))).To(Equal(bindings.IDOf(b)))
}

func clusterScopedTemplates(t *testing.T, s *stage) {
	t.Helper()
	g, w := NewWithT(t), s.world(t, "a")
	template := builder.MakeClusterRole("reader-" + w.namespace).Obj()
	g.Expect(w.hub.Create(t.Context(), template)).To(Succeed())
	b := &workv1alpha2.ClusterResourceBinding{
		ObjectMeta: metav1.ObjectMeta{
			Name:       contract.BindingName("ClusterRole", template.GetName()),
			Labels:     map[string]string{contract.ClusterResourceBindingPermanentIDLabel: "id-" + w.namespace},
			Finalizers: []string{contract.ClusterBindingFinalizer},
		},
		Spec: workv1alpha2.ResourceBindingSpec{
			Resource: workv1alpha2.ObjectReference{APIVersion: template.GetAPIVersion(), Kind: "ClusterRole", Name: template.GetName()},
			Clusters: w.shares("a"),
		},
	}
	g.Expect(w.hub.Create(t.Context(), b)).To(Succeed())
	g.Eventually(func() []string { return w.works(t, "reader-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a"}))
	g.Eventually(func() []string { return w.told(template.GetName()) }, stagetest.Timeout, stagetest.Poll).Should(
		Equal([]string{"Normal SyncWorkSucceed: Sync work of ClusterResourceBinding(" + b.Name + ") successful."}))
	g.Expect(w.hub.Delete(t.Context(), b)).To(Succeed())
	g.Eventually(func() []string { return w.works(t, "reader-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a going"}))
}

func otherNamespacesObjects(t *testing.T, s *stage) {
	t.Helper()
	g, w := NewWithT(t), s.world(t, "a")
	theirs := builder.MakeConfigMap(s.cluster.Namespace(t), "theirs").Obj()
	g.Expect(w.hub.Create(t.Context(), theirs)).To(Succeed())
	g.Expect(w.hub.Create(t.Context(), &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: "theirs-configmap",
			Labels: map[string]string{contract.ResourceBindingPermanentIDLabel: "id-" + w.namespace},
		},
		Spec: workv1alpha2.ResourceBindingSpec{
			Resource: workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: theirs.GetNamespace(), Name: "theirs"},
			Clusters: w.shares("a"),
		},
	})).To(Succeed())
	w.create(t, builder.MakeConfigMap(w.namespace, "ours").Obj(), "a")
	g.Eventually(func() []string { return w.works(t, "ours-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a"}))
	g.Consistently(func() []string { return w.works(t, "theirs-") }, "300ms", stagetest.Poll).Should(BeEmpty())
}

func aCopiedBinding(t *testing.T, s *stage) {
	t.Helper()
	g, w := NewWithT(t), s.world(t, "a")
	first := w.create(t, builder.MakeConfigMap(w.namespace, "first").Obj(), "a")
	template := builder.MakeConfigMap(w.namespace, "second").Obj()
	g.Expect(w.hub.Create(t.Context(), template)).To(Succeed())
	second := &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: "second-configmap", Labels: first.Labels, Finalizers: first.Finalizers,
		},
		Spec: *first.Spec.DeepCopy(),
	}
	second.Spec.Resource.Name, second.Spec.Resource.UID = "second", template.GetUID()
	g.Expect(w.hub.Create(t.Context(), second)).To(Succeed())
	g.Eventually(func() []string { return w.works(t, "") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a", "a"}))
	g.Consistently(func() []string { return w.works(t, "") }, "300ms", stagetest.Poll).Should(Equal([]string{"a", "a"}))
	g.Expect(w.hub.Delete(t.Context(), second)).To(Succeed())
	g.Eventually(func() []string { return w.works(t, "second-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a going"}))
	g.Consistently(func() []string { return w.works(t, "first-") }, "300ms", stagetest.Poll).Should(Equal([]string{"a"}))
}

func missingObjectsDeleteNothing(t *testing.T, s *stage) {
	t.Helper()
	g, w := NewWithT(t), s.world(t, "a", "b")
	template := builder.MakeConfigMap(w.namespace, "settings").Obj()
	b := w.create(t, template, "a", "b")
	g.Eventually(func() []string { return w.works(t, "settings-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a", "b"}))
	g.Expect(w.hub.Delete(t.Context(), builder.MakeCluster(w.member("a")).Obj())).To(Succeed())
	g.Expect(w.hub.Delete(t.Context(), template)).To(Succeed())
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Resource.ResourceVersion = "1" })
	g.Consistently(func() []string { return w.works(t, "settings-") }, stagetest.Quiet, stagetest.Poll).Should(Equal([]string{"a", "b"}))
}

func TestRegisterNamesMissingDeps(t *testing.T) {
	t.Parallel()
	NewWithT(t).Expect(binding.Register(nil, binding.Deps{})).NotTo(Succeed())
}
