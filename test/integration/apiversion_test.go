package integration

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
)

// databases returns the CustomResourceDefinition of Databases in a group, which are stored in v1 and also served in
// v1beta1.
func databases(group string) *apiextensionsv1.CustomResourceDefinition {
	out := builder.MakeDefinition(group, "v1", "Database")
	beta := *out.Spec.Versions[0].DeepCopy()
	beta.Name, beta.Storage = "v1beta1", false
	out.Spec.Versions = append(out.Spec.Versions, beta)
	return out
}

// dropVersion makes a cluster stop serving v1beta1 of Databases, as the upgrade of an operator would.
func dropVersion(t *testing.T, c *cluster.Cluster, group string) {
	t.Helper()
	g := NewWithT(t)
	live := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(c.Client(t).Get(t.Context(), client.ObjectKey{Name: "databases." + group}, live)).To(Succeed())
	before := live.DeepCopy()
	live.Spec.Versions[1].Served = false
	g.Expect(c.Client(t).Patch(t.Context(), live, client.MergeFrom(before))).To(Succeed())
}

// serves returns how many versions of a group the hub knows a cluster to serve.
func (s *system) serves(t *testing.T, g Gomega, member, group string) int {
	t.Helper()
	live := &clusterv1alpha1.Cluster{}
	g.Expect(s.hub.Client(t).Get(t.Context(), client.ObjectKey{Name: member}, live)).To(Succeed())
	g.Expect(meta.IsStatusConditionTrue(live.Status.Conditions, clusterv1alpha1.ClusterCompleteAPIEnablements)).To(BeTrue())
	n := 0
	for _, served := range live.Status.APIEnablements {
		if served.GroupVersion == group+"/v1" || served.GroupVersion == group+"/v1beta1" {
			n++
		}
	}
	return n
}

// sized adds a label to an object.
func sized(size string) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) {
		obj.SetLabels(labels.Merge(obj.GetLabels(), labels.Set{"size": size}))
	}
}

// TestAnApplicationStaysWhereItsVersionIsServedNoMore upgrades an operator in a member, which drops the version that
// the template uses. The objects still exist in another version: they stay, and the Work reports the error. The same
// holds when all members do that, and the hub.
func TestAnApplicationStaysWhereItsVersionIsServedNoMore(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)
	group, members := ns+".example.com", []string{"edge-1", "edge-2"}
	for _, c := range append(s.members, s.hub) {
		g.Expect(c.Client(t).Create(t.Context(), databases(group))).To(Succeed())
	}
	template := builder.MakeTemplate(group+"/v1beta1", "Database", ns, "orders").Obj()
	eventually(t, func(g Gomega) {
		g.Expect(client.IgnoreAlreadyExists(s.hub.Client(t).Create(t.Context(), template.DeepCopy()))).To(Succeed())
		for _, member := range members {
			g.Expect(s.serves(t, g, member, group)).To(Equal(2))
		}
	})
	policy := builder.MakePolicy(ns, "databases").Select(group+"/v1beta1", "Database", "orders").Obj()
	s.create(t, policy)
	after := &unstructured.Unstructured{}
	after.SetAPIVersion(group + "/v1")
	after.SetKind("Database")
	after.SetNamespace(ns)
	after.SetName("orders")
	uids := map[string]types.UID{}
	eventually(t, func(g Gomega) {
		for _, member := range members {
			uids[member] = s.inMember(t, g, member, after).GetUID()
			g.Expect(meta.IsStatusConditionTrue(s.work(t, g, member, template).Status.Conditions, workv1alpha1.WorkApplied)).To(BeTrue())
		}
	})
	// stays waits until the hub has decided with the members' current reports, and checks that no object has changed.
	stays := func(upgraded ...string) {
		t.Helper()
		eventually(t, func(g Gomega) {
			for _, member := range upgraded {
				g.Expect(s.serves(t, g, member, group)).To(Equal(1))
			}
		})
		again := metav1.Now().Rfc3339Copy()
		ask := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"rescheduleTriggeredAt":"`+again.UTC().Format(time.RFC3339)+`"}}`))
		g.Expect(s.hub.Client(t).Patch(t.Context(), s.binding(t, g, template), ask)).To(Succeed())
		eventually(t, func(g Gomega) {
			binding := s.binding(t, g, template)
			g.Expect(binding.Status.LastScheduledTime).NotTo(BeNil())
			g.Expect(binding.Status.LastScheduledTime.Before(&again)).To(BeFalse())
			g.Expect(binding.Status.SchedulerObservedGeneration).To(Equal(binding.Generation))
			g.Expect(binding.Spec.Clusters).To(ConsistOf(HaveField("Name", "edge-1"), HaveField("Name", "edge-2")))
			g.Expect(binding.Spec.GracefulEvictionTasks).To(BeEmpty())
			for _, member := range members {
				live := s.inMember(t, g, member, after)
				g.Expect(live.GetUID()).To(Equal(uids[member]))
				g.Expect(live.GetDeletionTimestamp()).To(BeNil())
				g.Expect(s.work(t, g, member, template).DeletionTimestamp).To(BeNil())
			}
		})
	}

	dropVersion(t, s.member("edge-1"), group)
	stays("edge-1")
	s.update(t, template, sized("large"))
	eventually(t, func(g Gomega) {
		applied := meta.FindStatusCondition(s.work(t, g, "edge-1", template).Status.Conditions, workv1alpha1.WorkApplied)
		g.Expect(applied.Status).To(Equal(metav1.ConditionFalse))
		g.Expect(applied.Message).To(ContainSubstring("does not know the kind Database of " + group + "/v1beta1"))
		g.Expect(meta.IsStatusConditionTrue(s.work(t, g, "edge-2", template).Status.Conditions, workv1alpha1.WorkApplied)).To(BeTrue())
	})

	dropVersion(t, s.member("edge-2"), group)
	stays("edge-1", "edge-2")

	dropVersion(t, s.hub, group)
	eventually(t, func(g Gomega) {
		g.Expect(s.get(t, s.hub, template)).NotTo(Succeed())
		g.Expect(s.get(t, s.hub, after)).To(Succeed())
	})
	stays("edge-1", "edge-2")

	// When the policy selects the template in the served version, the same objects are updated.
	selected := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"resourceSelectors":[{"apiVersion":"`+group+`/v1","kind":"Database","name":"orders"}]}}`))
	g.Expect(s.hub.Client(t).Patch(t.Context(), policy, selected)).To(Succeed())
	s.update(t, after, sized("small"))
	eventually(t, func(g Gomega) {
		for _, member := range members {
			live := s.inMember(t, g, member, after)
			g.Expect(live.GetLabels()).To(HaveKeyWithValue("size", "small"))
			g.Expect(live.GetUID()).To(Equal(uids[member]))
			g.Expect(meta.IsStatusConditionTrue(s.work(t, g, member, template).Status.Conditions, workv1alpha1.WorkApplied)).To(BeTrue())
		}
	})
}
