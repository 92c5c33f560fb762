package integration

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/test/builder"
)

func TestATemplateGoesOutAndItsStatusComesBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)

	template := builder.MakeDeployment(ns, "nginx").Obj()
	s.create(t, template,
		builder.MakePolicy(ns, "nginx").Select("apps/v1", "Deployment", "nginx").Clusters("edge-1", "edge-2").Obj(),
		builder.MakeOverride(ns, "nginx").Select("apps/v1", "Deployment", "nginx").Replace("edge-2", "/spec/replicas", 2).Obj())

	eventually(t, func(g Gomega) {
		g.Expect(integer(s.inMember(t, g, "edge-1", template), "spec", "replicas")).To(BeEquivalentTo(1))
		g.Expect(integer(s.inMember(t, g, "edge-2", template), "spec", "replicas")).To(BeEquivalentTo(2))
	})
	eventually(t, func(g Gomega) {
		live := s.onHub(t, g, template)
		g.Expect(integer(live, "status", "readyReplicas")).To(BeEquivalentTo(3))
		g.Expect(integer(live, "status", "updatedReplicas")).To(BeEquivalentTo(3))
		g.Expect(integer(live, "status", "availableReplicas")).To(BeEquivalentTo(3))
		g.Expect(integer(live, "status", "observedGeneration")).To(Equal(live.GetGeneration()))
		g.Expect(integer(live, "spec", "replicas")).To(BeEquivalentTo(1), "the template is its author's")
	})
	eventually(t, func(g Gomega) {
		binding := s.binding(t, g, template)
		g.Expect(meta.IsStatusConditionTrue(binding.Status.Conditions, workv1alpha2.BindingScheduled)).To(BeTrue())
		g.Expect(meta.IsStatusConditionTrue(binding.Status.Conditions, workv1alpha2.BindingFullyApplied)).To(BeTrue())
		g.Expect(binding.Status.AggregatedStatus).To(HaveLen(2))
		for _, item := range binding.Status.AggregatedStatus {
			g.Expect(item.Applied).To(BeTrue())
			g.Expect(item.Health).To(Equal(workv1alpha1.Healthy))
		}
	})

	s.update(t, template, func(obj *unstructured.Unstructured) {
		g.Expect(unstructured.SetNestedField(obj.Object, int64(3), "spec", "replicas")).To(Succeed())
	})
	eventually(t, func(g Gomega) {
		g.Expect(integer(s.inMember(t, g, "edge-1", template), "spec", "replicas")).To(BeEquivalentTo(3))
		g.Expect(integer(s.onHub(t, g, template), "status", "readyReplicas")).To(BeEquivalentTo(5))
	})
}

func TestTheAuthorIsToldWhereTheTemplateMoves(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)
	template := builder.MakeConfigMap(ns, "settings", "colour", "blue").Obj()
	policy := builder.MakePolicy(ns, "settings").Select("v1", "ConfigMap", "settings").Clusters("edge-1").Obj()
	s.create(t, template, policy)
	eventually(t, func(g Gomega) { s.inMember(t, g, "edge-1", template) })

	move := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"placement":{"clusterAffinity":{"clusterNames":["edge-2"]}}}}`))
	g.Expect(s.hub.Client(t).Patch(t.Context(), policy, move)).To(Succeed())
	eventually(t, func(g Gomega) {
		s.inMember(t, g, "edge-2", template)
		g.Expect(s.eventReasons(t, g, ns, "settings")).To(Equal([]string{"ScheduleBindingSucceed"}), "what everybody expects is no event")
	})
}

func TestWhatOneMemberRefusesIsSaidAndHeals(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)

	template := builder.MakeService(ns, "web").Obj()
	override := builder.MakeOverride(ns, "web").Select("v1", "Service", "web").Replace("edge-2", "/spec/ports/0/port", 70000).Obj()
	s.create(t, override, template, builder.MakePolicy(ns, "web").Select("v1", "Service", "web").Clusters("edge-1", "edge-2").Obj())

	eventually(t, func(g Gomega) {
		s.inMember(t, g, "edge-1", template)
		work := s.work(t, g, "edge-2", template)
		applied := meta.FindStatusCondition(work.Status.Conditions, workv1alpha1.WorkApplied)
		g.Expect(applied).NotTo(BeNil())
		g.Expect(applied.Status).To(BeEquivalentTo("False"))
		g.Expect(applied.Message).To(ContainSubstring("70000"), "the member's reason")

		binding := s.binding(t, g, template)
		g.Expect(meta.IsStatusConditionFalse(binding.Status.Conditions, workv1alpha2.BindingFullyApplied)).To(BeTrue())
		items := byCluster(binding)
		g.Expect(items["edge-1"].Applied).To(BeTrue(), "the other cluster is served")
		g.Expect(items["edge-2"].Applied).To(BeFalse())
		g.Expect(items["edge-2"].AppliedMessage).To(ContainSubstring("70000"))
	})
	eventually(t, func(g Gomega) {
		g.Expect(s.warnings(t, g, ns, template)).To(ContainElement(ContainSubstring("70000")))
	})

	g.Expect(s.hub.Client(t).Delete(t.Context(), override)).To(Succeed())
	eventually(t, func(g Gomega) {
		s.inMember(t, g, "edge-2", template)
		binding := s.binding(t, g, template)
		g.Expect(meta.IsStatusConditionTrue(binding.Status.Conditions, workv1alpha2.BindingFullyApplied)).To(BeTrue())
		g.Expect(byCluster(binding)["edge-2"].AppliedMessage).To(BeEmpty())
	})
}

func TestDriftIsPutBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)
	template := builder.MakeConfigMap(ns, "settings", "colour", "blue").Obj()
	s.create(t, template, builder.MakePolicy(ns, "settings").Select("v1", "ConfigMap", "settings").Clusters("edge-1").Obj())
	var live *unstructured.Unstructured
	eventually(t, func(g Gomega) { live = s.inMember(t, g, "edge-1", template) })

	member := s.member("edge-1").Client(t)
	changed := live.DeepCopy()
	g.Expect(unstructured.SetNestedField(changed.Object, "red", "data", "colour")).To(Succeed())
	g.Expect(unstructured.SetNestedField(changed.Object, "theirs", "data", "local")).To(Succeed())
	g.Expect(member.Patch(t.Context(), changed, client.MergeFrom(live))).To(Succeed())
	eventually(t, func(g Gomega) {
		data, _, _ := unstructured.NestedStringMap(s.inMember(t, g, "edge-1", template).Object, "data")
		g.Expect(data).To(Equal(map[string]string{"colour": "blue", "local": "theirs"}), "what the template does not set is the member's")
	})

	g.Expect(member.Delete(t.Context(), changed)).To(Succeed())
	eventually(t, func(g Gomega) {
		g.Expect(s.inMember(t, g, "edge-1", template).GetUID()).NotTo(Equal(live.GetUID()), "a deleted object is made again")
	})
}

func TestWhatAWorkloadNeedsGoesWithIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)
	settings := builder.MakeConfigMap(ns, "settings", "colour", "blue").Obj()
	template := builder.MakeDeployment(ns, "web").Replicas(1).
		Set(mounting("settings"), "spec", "template", "spec", "volumes").Obj()
	policy := builder.MakePolicy(ns, "web").Select("apps/v1", "Deployment", "web").Clusters("edge-1").WithDependencies().Obj()
	s.create(t, settings, template, policy)
	eventually(t, func(g Gomega) {
		s.inMember(t, g, "edge-1", settings)
		g.Expect(s.get(t, s.member("edge-2"), settings)).To(Satisfy(apierrors.IsNotFound))
	})

	s.update(t, settings, func(u *unstructured.Unstructured) { u.Object["data"] = map[string]any{"colour": "red"} })
	eventually(t, func(g Gomega) {
		data, _, _ := unstructured.NestedStringMap(s.inMember(t, g, "edge-1", settings).Object, "data")
		g.Expect(data).To(HaveKeyWithValue("colour", "red"))
	})

	moved := policy.DeepCopy()
	moved.Spec.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"edge-2"}}
	g.Expect(s.hub.Client(t).Patch(t.Context(), moved, client.MergeFrom(policy))).To(Succeed())
	eventually(t, func(g Gomega) {
		s.inMember(t, g, "edge-2", template)
		s.inMember(t, g, "edge-2", settings)
		g.Expect(s.get(t, s.member("edge-1"), settings)).To(Satisfy(apierrors.IsNotFound))
	})

	g.Expect(s.hub.Client(t).Delete(t.Context(), template)).To(Succeed())
	eventually(t, func(g Gomega) {
		g.Expect(s.get(t, s.member("edge-2"), template)).To(Satisfy(apierrors.IsNotFound))
		g.Expect(s.get(t, s.member("edge-2"), settings)).To(Satisfy(apierrors.IsNotFound))
	})
}

func TestAnObjectThatIsNotOursIsLeftAlone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)
	theirs := builder.MakeConfigMap(ns, "settings", "colour", "red").Obj()
	// Nor is their namespace.
	g.Expect(s.member("edge-1").Client(t).Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})).To(Succeed())
	g.Expect(s.member("edge-1").Client(t).Create(t.Context(), theirs.DeepCopy())).To(Succeed())
	template := builder.MakeConfigMap(ns, "settings", "colour", "blue").Obj()
	policy := builder.MakePolicy(ns, "settings").Select("v1", "ConfigMap", "settings").Clusters("edge-1").Obj()
	s.create(t, template, policy)
	eventually(t, func(g Gomega) {
		item := byCluster(s.binding(t, g, template))["edge-1"]
		g.Expect(item.Applied).To(BeFalse())
		g.Expect(item.AppliedMessage).NotTo(BeEmpty())
	})
	data, _, _ := unstructured.NestedStringMap(s.inMember(t, g, "edge-1", template).Object, "data")
	g.Expect(data).To(HaveKeyWithValue("colour", "red"))

	// With conflict resolution in the policy it is taken over.
	taking := policy.DeepCopy()
	taking.Spec.ConflictResolution = policyv1alpha1.ConflictOverwrite
	g.Expect(s.hub.Client(t).Patch(t.Context(), taking, client.MergeFrom(policy))).To(Succeed())
	eventually(t, func(g Gomega) {
		data, _, _ := unstructured.NestedStringMap(s.inMember(t, g, "edge-1", template).Object, "data")
		g.Expect(data).To(HaveKeyWithValue("colour", "blue"))
	})
}

func TestWhatIsDoneIsNotWrittenAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)
	template := builder.MakeDeployment(ns, "web").Obj()
	s.create(t, template, builder.MakePolicy(ns, "web").Select("apps/v1", "Deployment", "web").Clusters("edge-1", "edge-2").Obj())
	versions := func(g Gomega) []string {
		return []string{
			s.onHub(t, g, template).GetResourceVersion(),
			s.binding(t, g, template).ResourceVersion,
			s.work(t, g, "edge-1", template).ResourceVersion,
			s.work(t, g, "edge-2", template).ResourceVersion,
			s.inMember(t, g, "edge-1", template).GetResourceVersion(),
		}
	}
	eventually(t, func(g Gomega) {
		g.Expect(integer(s.onHub(t, g, template), "status", "readyReplicas")).To(BeEquivalentTo(2))
		binding := s.binding(t, g, template)
		g.Expect(binding.Status.AggregatedStatus).To(HaveLen(2))
		for _, item := range binding.Status.AggregatedStatus {
			g.Expect(item.Health).To(Equal(workv1alpha1.Healthy))
		}
		g.Expect(meta.IsStatusConditionTrue(binding.Status.Conditions, workv1alpha2.BindingFullyApplied)).To(BeTrue())
	})
	// The last status writes may still be in flight.
	var before []string
	g.Eventually(func(g Gomega) {
		now := versions(g)
		last := before
		before = now
		g.Expect(now).To(Equal(last))
	}).WithTimeout(waitTimeout).WithPolling(quiet).Should(Succeed())
	g.Consistently(func(g Gomega) { g.Expect(versions(g)).To(Equal(before)) }).WithTimeout(quiet).WithPolling(poll).Should(Succeed())
}

func TestATemplateThatNoClusterFitsSaysSo(t *testing.T) {
	t.Parallel()
	s := shared(t)
	ns := s.namespace(t)
	template := builder.MakeConfigMap(ns, "settings", "colour", "blue").Obj()
	s.create(t, template, builder.MakePolicy(ns, "settings").Select("v1", "ConfigMap", "settings").ClusterLabel("tier", "nowhere").Obj())
	eventually(t, func(g Gomega) {
		scheduled := meta.FindStatusCondition(s.binding(t, g, template).Status.Conditions, workv1alpha2.BindingScheduled)
		g.Expect(scheduled).NotTo(BeNil())
		g.Expect(scheduled.Status).To(BeEquivalentTo("False"))
		g.Expect(scheduled.Reason).To(Equal(workv1alpha2.ReasonNoClusterFit))
		g.Expect(scheduled.Message).NotTo(BeEmpty())
	})
	eventually(t, func(g Gomega) { g.Expect(s.warnings(t, g, ns, template)).NotTo(BeEmpty()) })
}

// image returns the image of the first container.
func image(g Gomega, obj *unstructured.Unstructured) string {
	containers, _, err := unstructured.NestedSlice(obj.Object, "spec", "template", "spec", "containers")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(containers).NotTo(BeEmpty())
	container, ok := containers[0].(map[string]any)
	g.Expect(ok).To(BeTrue())
	name, ok := container["image"].(string)
	g.Expect(ok).To(BeTrue())
	return name
}

// integer returns the number at a path, or 0.
func integer(obj *unstructured.Unstructured, path ...string) int64 {
	n, _, err := unstructured.NestedInt64(obj.Object, path...)
	if err != nil {
		panic(err) // a mistake in the test
	}
	return n
}

func byCluster(binding *workv1alpha2.ResourceBinding) map[string]workv1alpha2.AggregatedStatusItem {
	items := map[string]workv1alpha2.AggregatedStatusItem{}
	for _, item := range binding.Status.AggregatedStatus {
		items[item.ClusterName] = item
	}
	return items
}
