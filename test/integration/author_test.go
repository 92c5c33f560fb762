package integration

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
)

// TestWhatMayBeMadeAnewIsMadeAnew overrides an immutable field, first without and then with the annotation that lets
// the agent recreate the object.
func TestWhatMayBeMadeAnewIsMadeAnew(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)
	template := builder.MakeConfigMap(ns, "fixed", "colour", "blue").Set(true, "immutable").Obj()
	s.create(t, template, builder.MakePolicy(ns, "all").Select("v1", "ConfigMap", "fixed").Clusters("edge-1").Obj())
	eventually(t, func(g Gomega) { s.inMember(t, g, "edge-1", template) })
	before := s.inMember(t, g, "edge-1", template)

	s.create(t, builder.MakeOverride(ns, "green").Select("v1", "ConfigMap", "fixed").Replace("edge-1", "/data/colour", "green").Obj())
	eventually(t, func(g Gomega) {
		applied := meta.FindStatusCondition(s.work(t, g, "edge-1", template).Status.Conditions, workv1alpha1.WorkApplied)
		g.Expect(applied).NotTo(BeNil())
		g.Expect(applied.Status).To(Equal(metav1.ConditionFalse))
		g.Expect(applied.Message).To(ContainSubstring(contract.RecreateAnnotation), "it says what would help")
	})
	g.Expect(s.inMember(t, g, "edge-1", template).GetUID()).To(Equal(before.GetUID()))

	s.update(t, template, func(obj *unstructured.Unstructured) {
		obj.SetAnnotations(map[string]string{contract.RecreateAnnotation: "true"})
	})
	eventually(t, func(g Gomega) {
		live := s.inMember(t, g, "edge-1", template)
		g.Expect(live.GetUID()).NotTo(Equal(before.GetUID()))
		colour, _, _ := unstructured.NestedString(live.Object, "data", "colour")
		g.Expect(colour).To(Equal("green"))
	})
}

// TestDependentsStayIfTheAuthorSaysSo deletes a template whose objects orphan their dependents.
func TestDependentsStayIfTheAuthorSaysSo(t *testing.T) {
	t.Parallel()
	s := shared(t)
	ns := s.namespace(t)
	template := builder.MakeDeployment(ns, "web").Replicas(1).Annotation(contract.DeletionPropagationAnnotation, string(metav1.DeletePropagationOrphan)).Obj()
	s.create(t, template, builder.MakePolicy(ns, "all").Select("apps/v1", "Deployment", "web").Clusters("edge-1").Obj())
	member := s.member("edge-1").Client(t)
	sets := func(g Gomega) []unstructured.Unstructured {
		var list unstructured.UnstructuredList
		list.SetAPIVersion("apps/v1")
		list.SetKind("ReplicaSetList")
		g.Expect(member.List(t.Context(), &list, client.InNamespace(ns))).To(Succeed())
		return list.Items
	}
	eventually(t, func(g Gomega) { g.Expect(sets(g)).To(HaveLen(1)) })

	NewWithT(t).Expect(s.hub.Client(t).Delete(t.Context(), template.DeepCopy())).To(Succeed())
	eventually(t, func(g Gomega) {
		g.Expect(s.get(t, s.member("edge-1"), template)).To(Satisfy(apierrors.IsNotFound))
		g.Expect(sets(g)).To(HaveLen(1))
		g.Expect(sets(g)[0].GetOwnerReferences()).To(BeEmpty())
		g.Expect(sets(g)[0].GetDeletionTimestamp()).To(BeNil())
	})
}

// TestNothingIsDeliveredWhileAPolicySaysSo edits templates whose policy suspends dispatching to one of two clusters.
// The dependencies of the copy there are suspended as well.
func TestNothingIsDeliveredWhileAPolicySaysSo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)
	template := builder.MakeConfigMap(ns, "settings", "colour", "blue").Obj()
	policy := builder.MakePolicy(ns, "all").Select("v1", "ConfigMap", "settings").Select("apps/v1", "Deployment", "web").
		Clusters("edge-1", "edge-2").WithDependencies().Obj()
	one, two := builder.MakeConfigMap(ns, "one").Obj(), builder.MakeConfigMap(ns, "two").Obj()
	web := builder.MakeDeployment(ns, "web").Replicas(1).Set(mounting("one"), "spec", "template", "spec", "volumes").Obj()
	s.create(t, template, one, two, web, policy)
	colour := func(g Gomega, member string) string {
		out, _, _ := unstructured.NestedString(s.inMember(t, g, member, template).Object, "data", "colour")
		return out
	}
	suspend := func(clusters ...string) {
		edited := policy.DeepCopy()
		edited.Spec.Suspension = nil
		if len(clusters) > 0 {
			edited.Spec.Suspension = &policyv1alpha1.Suspension{DispatchingOnClusters: &policyv1alpha1.SuspendClusters{ClusterNames: clusters}}
		}
		g.Expect(s.hub.Client(t).Patch(t.Context(), edited, client.MergeFrom(policy))).To(Succeed())
		policy = edited
	}
	mounts := func(g Gomega, member, configMap string) {
		volumes, _, _ := unstructured.NestedSlice(s.inMember(t, g, member, web).Object, "spec", "template", "spec", "volumes")
		g.Expect(volumes).To(ContainElement(HaveKeyWithValue("configMap", HaveKeyWithValue("name", configMap))))
	}
	eventually(t, func(g Gomega) {
		for _, member := range []string{"edge-1", "edge-2"} {
			g.Expect(colour(g, member)).To(Equal("blue"))
			mounts(g, member, "one")
			s.inMember(t, g, member, one)
		}
	})

	suspend("edge-2")
	eventually(t, func(g Gomega) {
		g.Expect(s.work(t, g, "edge-2", web).Spec.SuspendDispatching).To(HaveValue(BeTrue()))
		g.Expect(s.work(t, g, "edge-2", template).Spec.SuspendDispatching).To(HaveValue(BeTrue()))
		dispatching := meta.FindStatusCondition(s.work(t, g, "edge-2", template).Status.Conditions, workv1alpha1.WorkDispatching)
		g.Expect(dispatching).NotTo(BeNil())
		g.Expect(dispatching.Status).To(Equal(metav1.ConditionFalse))
	})
	s.update(t, template, func(obj *unstructured.Unstructured) {
		g.Expect(unstructured.SetNestedField(obj.Object, "green", "data", "colour")).To(Succeed())
	})
	s.update(t, web, func(obj *unstructured.Unstructured) {
		g.Expect(unstructured.SetNestedSlice(obj.Object, mounting("two"), "spec", "template", "spec", "volumes")).To(Succeed())
	})
	eventually(t, func(g Gomega) {
		g.Expect(colour(g, "edge-1")).To(Equal("green"))
		mounts(g, "edge-1", "two")
		s.inMember(t, g, "edge-1", two)
	})
	g.Consistently(func(g Gomega) {
		g.Expect(colour(g, "edge-2")).To(Equal("blue"))
		mounts(g, "edge-2", "one")
		g.Expect(s.inMember(t, g, "edge-2", one).GetDeletionTimestamp()).To(BeNil(), "the copy that is held mounts it")
	}).WithTimeout(quiet).WithPolling(poll).Should(Succeed())

	suspend()
	eventually(t, func(g Gomega) {
		g.Expect(colour(g, "edge-2")).To(Equal("green"))
		mounts(g, "edge-2", "two")
		for _, member := range []string{"edge-1", "edge-2"} {
			g.Expect(s.get(t, s.member(member), one)).To(Satisfy(apierrors.IsNotFound), "nothing mounts it any more")
		}
	})
}

// TestAutoscalersInMembersHaveTheSay scales a divided Deployment in its members, as their autoscalers do.
func TestAutoscalersInMembersHaveTheSay(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)
	template := builder.MakeDeployment(ns, "web").Replicas(2).Obj()
	autoscaler := builder.MakeTemplate("autoscaling/v2", "HorizontalPodAutoscaler", ns, "web").
		Set(int64(9), "spec", "maxReplicas").
		Set(map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "spec", "scaleTargetRef").Obj()
	s.create(t, template, autoscaler,
		builder.MakePolicy(ns, "web").Select("apps/v1", "Deployment", "web").Clusters("edge-1", "edge-2").Weight("edge-1", 1).Weight("edge-2", 1).Obj(),
		builder.MakePolicy(ns, "autoscaler").Select("autoscaling/v2", "HorizontalPodAutoscaler", "web").Clusters("edge-1", "edge-2").Obj())
	replicas := func(g Gomega, where *unstructured.Unstructured) int64 {
		n, _, err := unstructured.NestedInt64(where.Object, "spec", "replicas")
		g.Expect(err).NotTo(HaveOccurred())
		return n
	}
	eventually(t, func(g Gomega) {
		for _, member := range []string{"edge-1", "edge-2"} {
			g.Expect(replicas(g, s.inMember(t, g, member, template))).To(Equal(int64(1)))
			g.Expect(s.inMember(t, g, member, template).GetLabels()).To(HaveKeyWithValue(contract.RetainReplicasLabel, contract.LabelTrue))
			s.inMember(t, g, member, autoscaler)
		}
	})

	g.Expect(s.member("edge-1").Client(t).SubResource("scale").Patch(t.Context(), template.DeepCopy(),
		client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":3}}`)))).To(Succeed())
	all := func(g Gomega) {
		g.Expect(replicas(g, s.onHub(t, g, template))).To(Equal(int64(4)), "the hub counts what there is")
		g.Expect(replicas(g, s.inMember(t, g, "edge-1", template))).To(Equal(int64(3)), "nobody puts it back")
		g.Expect(replicas(g, s.inMember(t, g, "edge-2", template))).To(Equal(int64(1)))
	}
	eventually(t, all)
	g.Consistently(all).WithTimeout(quiet).WithPolling(poll).Should(Succeed())
}

// TestMembersKeepToTheirPartOfAQuota assigns part of a quota to a member, whose API server then enforces it, and
// removes it.
func TestMembersKeepToTheirPartOfAQuota(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)
	s.create(t, builder.MakePolicy(ns, "all").Select("v1", "ConfigMap", "first").Clusters("edge-1").Obj(), builder.MakeConfigMap(ns, "first").Obj())
	first := builder.MakeConfigMap(ns, "first").Obj()
	eventually(t, func(g Gomega) { s.inMember(t, g, "edge-1", first) })

	limit := &policyv1alpha1.FederatedResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "parts"}}
	limit.Spec.Overall = corev1.ResourceList{"count/secrets": resource.MustParse("1")}
	limit.Spec.StaticAssignments = []policyv1alpha1.StaticClusterAssignment{{ClusterName: "edge-1", Hard: corev1.ResourceList{"count/secrets": resource.MustParse("1")}}}
	s.create(t, limit)
	member := s.member("edge-1").Client(t)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "parts"}}
	eventually(t, func(g Gomega) {
		g.Expect(member.Get(t.Context(), client.ObjectKeyFromObject(quota), quota)).To(Succeed())
		g.Expect(quota.Status.Hard).NotTo(BeEmpty(), "the member counts")
	})
	secret := func(name string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	}
	// Admission uses a cache that lags behind.
	eventually(t, func(g Gomega) {
		g.Expect(client.IgnoreNotFound(member.Delete(t.Context(), secret("one")))).To(Succeed())
		g.Expect(member.Create(t.Context(), secret("one"))).To(Succeed())
		g.Expect(member.Get(t.Context(), client.ObjectKeyFromObject(quota), quota)).To(Succeed())
		used := quota.Status.Used["count/secrets"]
		g.Expect(used.Value()).To(Equal(int64(1)))
	})
	g.Expect(member.Create(t.Context(), secret("two"))).To(MatchError(apierrors.IsForbidden, "IsForbidden"))
	eventually(t, func(g Gomega) {
		g.Expect(s.hub.Client(t).Get(t.Context(), client.ObjectKeyFromObject(limit), limit)).To(Succeed())
		g.Expect(limit.Status.AggregatedStatus).To(HaveLen(1))
		used := limit.Status.AggregatedStatus[0].Used["count/secrets"]
		g.Expect(used.Value()).To(Equal(int64(1)))
	})

	g.Expect(s.hub.Client(t).Delete(t.Context(), limit)).To(Succeed())
	eventually(t, func(g Gomega) {
		g.Expect(member.Get(t.Context(), client.ObjectKeyFromObject(quota), quota)).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
		g.Expect(s.hub.Client(t).Get(t.Context(), client.ObjectKeyFromObject(limit), limit)).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
	})
	eventually(t, func(g Gomega) { g.Expect(member.Create(t.Context(), secret("two"))).To(Succeed()) })
}
