package attach_test

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/dependencies/attach"
)

func configMap() schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
}

func settings() *metav1.ObjectMeta {
	return &metav1.ObjectMeta{Namespace: "shop", Name: "settings", UID: "u", ResourceVersion: "7"}
}

func workload(name string, clusters ...string) *workv1alpha2.ResourceBinding {
	b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, Labels: map[string]string{contract.ResourceBindingPermanentIDLabel: "id-of-" + name},
	}}
	for _, c := range clusters {
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: c, Replicas: 3})
	}
	return b
}

func TestToNewBinding(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	web := workload("web-deployment", "b", "a")
	web.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{
		{FromCluster: "leaving", PurgeMode: policyv1alpha1.PurgeGracefully}, {FromCluster: "left", PurgeMode: policyv1alpha1.PurgeImmediately},
	}
	b := &workv1alpha2.ResourceBinding{}
	attach.To(b, configMap(), settings(), web, "new-id")
	g.Expect(b.Namespace + "/" + b.Name).To(Equal("shop/settings-configmap"))
	g.Expect(b.Finalizers).To(ConsistOf(contract.BindingFinalizer))
	g.Expect(b.OwnerReferences).To(HaveLen(1))
	g.Expect(b.OwnerReferences[0]).To(HaveField("UID", types.UID("u")))
	g.Expect(b.Labels).To(Equal(map[string]string{
		contract.ResourceBindingPermanentIDLabel:                              "new-id",
		contract.DependedByLabelPrefix + contract.Hash("shop/web-deployment"): "id-of-web-deployment",
	}))
	g.Expect(b.Spec.Resource.ResourceVersion).To(Equal("7"))
	g.Expect(b.Spec.Placement).To(BeNil(), "an attached binding has no placement")
	g.Expect(b.Spec.RequiredBy).To(Equal([]workv1alpha2.BindingSnapshot{{
		Namespace: "shop", Name: "web-deployment", Clusters: []workv1alpha2.TargetCluster{{Name: "a"}, {Name: "b"}, {Name: "leaving"}},
	}}), "sorted, without replicas, and with the cluster that keeps the old copy")

	once := b.DeepCopy()
	attach.To(b, configMap(), settings(), web, "another-id")
	g.Expect(b).To(BeComparableTo(once), "repeating it changes nothing")

	attach.To(b, configMap(), settings(), workload("api-deployment", "c"), "x")
	g.Expect(b.Spec.RequiredBy).To(HaveLen(2))
	g.Expect(b.Spec.RequiredBy[0].Name).To(Equal("api-deployment"))
	g.Expect(attach.OnlyFor(b, client.ObjectKeyFromObject(web))).To(BeFalse())
	attach.Detach(b, types.NamespacedName{Namespace: "shop", Name: "api-deployment"})
	g.Expect(b).To(BeComparableTo(once))
	g.Expect(attach.OnlyFor(b, client.ObjectKeyFromObject(web))).To(BeTrue(), "only web needs it")
}

func TestToBindingWithPolicy(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &workv1alpha2.ResourceBinding{Spec: workv1alpha2.ResourceBindingSpec{
		Placement:          &policyv1alpha1.Placement{},
		Resource:           workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings", UID: "u", ResourceVersion: "3"},
		ConflictResolution: policyv1alpha1.ConflictAbort,
		Clusters:           []workv1alpha2.TargetCluster{{Name: "own"}},
	}}
	before := b.DeepCopy()
	web := workload("web-deployment", "a")
	web.Spec.ConflictResolution = policyv1alpha1.ConflictOverwrite
	attach.To(b, configMap(), settings(), web, "id")
	g.Expect(attach.Options(b, []workv1alpha2.Binding{web})).To(BeEmpty())
	g.Expect(b.Spec.Resource).To(Equal(before.Spec.Resource), "the resource belongs to the detector")
	g.Expect(b.Spec.ConflictResolution).To(Equal(policyv1alpha1.ConflictAbort), "the option belongs to the policy")
	g.Expect(b.Spec.Clusters).To(Equal(before.Spec.Clusters))
	g.Expect(b.Spec.RequiredBy).To(HaveLen(1))
	g.Expect(attach.OnlyFor(b, client.ObjectKeyFromObject(web))).To(BeFalse(), "a selected binding stays")
	attach.PreserveWhereLeft(b, sets.New("a"), client.ObjectKeyFromObject(web), preserved(web))
	g.Expect(b.Spec.PreservedIn).To(BeEmpty(), "preservation belongs to the policy")
	attach.Detach(b, client.ObjectKeyFromObject(web))
	g.Expect(b.Spec.RequiredBy).To(BeNil())
}

// preserved returns a workload that stays in its clusters when it is deleted.
func preserved(b *workv1alpha2.ResourceBinding) *workv1alpha2.ResourceBinding {
	b.Spec.PreserveResourcesOnDeletion = new(true)
	return b
}

func TestToClusterScopedObject(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &workv1alpha2.ClusterResourceBinding{}
	attach.To(b, schema.GroupVersionKind{Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"}, &metav1.ObjectMeta{Name: "fast", UID: "u"}, workload("web-deployment", "a"), "id")
	g.Expect(b.Name).To(Equal("fast-storageclass"))
	g.Expect(b.Finalizers).To(ConsistOf(contract.ClusterBindingFinalizer))
	g.Expect(b.Labels).To(HaveKeyWithValue(contract.ClusterResourceBindingPermanentIDLabel, "id"))
}

func TestOptions(t *testing.T) {
	t.Parallel()
	in := func(namespace string, overwrite, preserve bool) workv1alpha2.Binding {
		b := workload("w")
		b.Namespace = namespace
		if overwrite {
			b.Spec.ConflictResolution = policyv1alpha1.ConflictOverwrite
		}
		b.Spec.PreserveResourcesOnDeletion = &preserve
		return b
	}
	wanting := func(overwrite, preserve bool) workv1alpha2.Binding { return in("shop", overwrite, preserve) }
	const (
		overwriting = "ConflictResolution conflicted (Overwrite vs Abort)"
		preserving  = "PreserveResourcesOnDeletion conflicted (true vs false)"
	)
	tests := map[string]struct {
		referrers           []workv1alpha2.Binding
		overwrite, preserve bool
		conflicts           []string
	}{
		"a workload without options":             {referrers: []workv1alpha2.Binding{wanting(false, false)}},
		"a workload with both options":           {referrers: []workv1alpha2.Binding{wanting(true, true)}, overwrite: true, preserve: true},
		"two that differ in conflict resolution": {referrers: []workv1alpha2.Binding{wanting(false, false), wanting(true, false)}, overwrite: true, conflicts: []string{overwriting}},
		"two that differ in preservation":        {referrers: []workv1alpha2.Binding{wanting(false, true), wanting(false, false)}, preserve: true, conflicts: []string{preserving}},
		"three that differ in both": {
			referrers: []workv1alpha2.Binding{wanting(true, true), wanting(false, false), wanting(true, false)}, overwrite: true, preserve: true,
			conflicts: []string{overwriting, preserving},
		},
		"a workload of another namespace": {referrers: []workv1alpha2.Binding{in("bank", true, true)}},
		"a preserved workload of another namespace beside one of the same": {
			referrers: []workv1alpha2.Binding{in("bank", false, true), wanting(false, false)},
		},
		"a preserved workload without a namespace": {referrers: []workv1alpha2.Binding{in("", false, true)}, preserve: true},
		"a workload of another namespace beside one of the same": {
			referrers: []workv1alpha2.Binding{in("bank", true, false), wanting(false, false)},
		},
		"a workload of another namespace agrees with one of the same": {
			referrers: []workv1alpha2.Binding{in("bank", true, false), wanting(true, false)}, overwrite: true,
		},
		"a workload without a namespace": {referrers: []workv1alpha2.Binding{in("", true, false)}, overwrite: true},
		"two that agree":                 {referrers: []workv1alpha2.Binding{wanting(true, true), wanting(true, true)}, overwrite: true, preserve: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}}
			g.Expect(attach.Options(b, tt.referrers)).To(Equal(tt.conflicts))
			g.Expect(b.Spec.ConflictResolution == policyv1alpha1.ConflictOverwrite).To(Equal(tt.overwrite))
			g.Expect(b.Spec.PreserveResourcesOnDeletion).To(HaveValue(Equal(tt.preserve)))
		})
	}
}

func TestTenantDoesNotOverwriteClusterScopedObjects(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	tenant, everywhere := workload("certificate"), &workv1alpha2.ClusterResourceBinding{}
	tenant.Spec.ConflictResolution, everywhere.Spec.ConflictResolution = policyv1alpha1.ConflictOverwrite, policyv1alpha1.ConflictOverwrite
	issuer := &workv1alpha2.ClusterResourceBinding{}
	g.Expect(attach.Options(issuer, []workv1alpha2.Binding{tenant})).To(BeEmpty())
	g.Expect(issuer.Spec.ConflictResolution).To(Equal(policyv1alpha1.ConflictAbort))
	g.Expect(attach.Options(issuer, []workv1alpha2.Binding{tenant, everywhere})).To(BeEmpty())
	g.Expect(issuer.Spec.ConflictResolution).To(Equal(policyv1alpha1.ConflictOverwrite))
}

func TestWants(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var w attach.Wants
	web, api := types.NamespacedName{Namespace: "shop", Name: "web"}, types.NamespacedName{Namespace: "shop", Name: "api"}
	byName := configv1alpha1.DependentObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	byLabel := configv1alpha1.DependentObjectReference{
		APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
	}
	g.Expect(w.By(configMap(), settings())).To(BeEmpty())
	g.Expect(w.Set(web, []configv1alpha1.DependentObjectReference{byName, byLabel})).To(Succeed())
	g.Expect(w.Set(api, []configv1alpha1.DependentObjectReference{byName})).To(Succeed())
	g.Expect(w.By(configMap(), settings())).To(Equal([]types.NamespacedName{api, web}))
	labelled := settings()
	labelled.Name, labelled.Labels = "other", map[string]string{"app": "web"}
	g.Expect(w.By(configMap(), labelled)).To(Equal([]types.NamespacedName{web}))
	labelled.Namespace = "elsewhere"
	g.Expect(w.By(configMap(), labelled)).To(BeEmpty())
	g.Expect(w.By(schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, settings())).To(BeEmpty())
	g.Expect(w.Kinds()).To(ConsistOf(configMap()))
	g.Expect(w.Of(schema.GroupKind{Kind: "ConfigMap"})).To(ConsistOf(web, api), "bindings that need the kind in any version")
	g.Expect(w.At(configMap(), "shop", "settings")).NotTo(BeEmpty())
	g.Expect(w.At(configMap(), "shop", "other")).NotTo(BeEmpty(), "a reference by labels may mean any name")
	g.Expect(w.At(configMap(), "bank", "settings")).To(BeEmpty())
	g.Expect(w.At(schema.GroupVersionKind{Version: "v1beta1", Kind: "ConfigMap"}, "shop", "settings")).To(BeEmpty(), "nothing needs this version")

	bad := byLabel
	bad.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	g.Expect(w.Set(web, []configv1alpha1.DependentObjectReference{bad})).NotTo(Succeed())
	g.Expect(w.Set(web, nil)).To(Succeed())
	g.Expect(w.By(configMap(), settings())).To(Equal([]types.NamespacedName{api}))
	g.Expect(w.Set(api, nil)).To(Succeed())
	g.Expect(w.Kinds()).To(BeEmpty())
}
