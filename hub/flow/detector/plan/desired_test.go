package plan

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/detector/claim"
)

func deployment() Desired {
	return Desired{
		Kind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		Demand: Demand{
			Meta: &metav1.ObjectMeta{
				Namespace: "shop", Name: "web", UID: "u1", ResourceVersion: "7", Generation: 2,
				Labels: map[string]string{"app": "web"},
			},
			Replicas:     3,
			Requirements: &workv1alpha2.ReplicaRequirements{PriorityClassName: "high"},
		},
	}
}

func TestUpdateRecordsWhenAnEditWasSeen(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &workv1alpha2.ResourceBinding{}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	seen := func() string { return b.Annotations[contract.TemplateSeenAnnotation] }
	look := func(strategy, version string, after time.Duration) {
		d := deployment()
		d.Strategy.Name, d.SeenAt = strategy, at.Add(after)
		d.Meta.SetResourceVersion(version)
		d.Meta.SetLabels(map[string]string{"version": version})
		update(b, d, claimOf(), spec())
	}
	look("", "7", 0)
	g.Expect(seen()).To(BeEmpty(), "without a strategy the time is not recorded")
	look("careful", "8", 0)
	g.Expect(seen()).To(Equal("2026-01-02T03:04:05.000006Z"))
	look("careful", "8", time.Second)
	g.Expect(seen()).To(Equal("2026-01-02T03:04:05.000006Z"), "the time does not change without an edit")
	look("careful", "9", time.Second)
	g.Expect(seen()).To(Equal("2026-01-02T03:04:06.000006Z"))
	look("", "9", time.Second)
	g.Expect(seen()).To(BeEmpty())
}

// update updates a binding for a template, a claim and a policy.
func update(b workv1alpha2.Binding, d Desired, c claim.Claim, p *policyv1alpha1.PropagationSpec) {
	d.Claim, d.Policy = c, p
	d.Update(b)
}

func spec() *policyv1alpha1.PropagationSpec {
	return &policyv1alpha1.PropagationSpec{
		PropagateDeps: true,
		SchedulerName: "default-scheduler",
		Placement: policyv1alpha1.Placement{
			ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"edge-1"}},
		},
		Failover:                    &policyv1alpha1.FailoverBehavior{},
		ConflictResolution:          policyv1alpha1.ConflictOverwrite,
		PreserveResourcesOnDeletion: new(true),
	}
}

func claimOf() claim.Claim { return claim.Claim{Namespace: "shop", Name: "p", ID: "id"} }

func TestUpdateOfANewBinding(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &workv1alpha2.ResourceBinding{}
	update(b, deployment(), claimOf(), spec())
	bindings.Identify(b, "random")

	g.Expect(b.Name).To(Equal("web-deployment"))
	g.Expect(b.Namespace).To(Equal("shop"))
	g.Expect(b.Finalizers).To(Equal([]string{contract.BindingFinalizer}))
	g.Expect(b.OwnerReferences).To(Equal([]metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "u1",
		Controller: new(true), BlockOwnerDeletion: new(true),
	}}))
	got, _ := claim.On(b)
	g.Expect(got).To(Equal(claimOf()))
	g.Expect(b.Labels).To(HaveKeyWithValue(contract.ResourceBindingPermanentIDLabel, "random"))
	g.Expect(b.Spec).To(BeComparableTo(workv1alpha2.ResourceBindingSpec{
		Resource: workv1alpha2.ObjectReference{
			APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web", UID: "u1", ResourceVersion: "7",
		},
		Replicas:                    3,
		ReplicaRequirements:         &workv1alpha2.ReplicaRequirements{PriorityClassName: "high", Namespace: "shop"},
		PropagateDeps:               true,
		SchedulerName:               "default-scheduler",
		Placement:                   &spec().Placement,
		Failover:                    &policyv1alpha1.FailoverBehavior{},
		ConflictResolution:          policyv1alpha1.ConflictOverwrite,
		PreserveResourcesOnDeletion: new(true),
	}))
	g.Expect(Current(b, deployment().Kind, deployment().Meta, "")).To(BeTrue())

	b.Spec.ReplicaRequirements.Namespace = "" // as earlier versions of the hub left it
	update(b, deployment(), claimOf(), spec())
	g.Expect(b.Spec.ReplicaRequirements.Namespace).To(Equal("shop"))
}

func TestUpdateOfAClusterScopedTemplate(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	template := Desired{
		Kind:   schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
		Demand: Demand{Meta: &metav1.ObjectMeta{Name: "system:view", UID: "u1", ResourceVersion: "7"}},
	}
	b := &workv1alpha2.ClusterResourceBinding{}
	update(b, template, claim.Claim{Name: "c", ID: "id"}, spec())
	bindings.Identify(b, "random")
	g.Expect(b.Name).To(Equal("system.view-clusterrole"))
	g.Expect(b.Finalizers).To(Equal([]string{contract.ClusterBindingFinalizer}))
	g.Expect(b.Labels).To(HaveKeyWithValue(contract.ClusterResourceBindingPermanentIDLabel, "random"))
	g.Expect(b.Labels).To(HaveKeyWithValue(contract.ClusterPropagationPolicyPermanentIDLabel, "id"))
}

func TestUpdateTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &workv1alpha2.ResourceBinding{}
	update(b, deployment(), claimOf(), spec())
	bindings.Identify(b, "random")
	once := b.DeepCopy()
	update(b, deployment(), claimOf(), spec())
	bindings.Identify(b, "another")
	g.Expect(b).To(BeComparableTo(once))
}

func TestUpdateKeepsWhatOthersOwn(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := metav1.Now()
	b := &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      map[string]string{"other": "label", contract.ClusterPropagationPolicyPermanentIDLabel: "old"},
			Annotations: map[string]string{contract.AppliedPlacementAnnotation: "{}", contract.ClusterPropagationPolicyNameAnnotation: "old"},
			Finalizers:  []string{"other/finalizer"},
		},
		Spec: workv1alpha2.ResourceBindingSpec{
			Clusters:              []workv1alpha2.TargetCluster{{Name: "edge-1", Replicas: 3}},
			GracefulEvictionTasks: []workv1alpha2.GracefulEvictionTask{{FromCluster: "edge-2"}},
			RequiredBy:            []workv1alpha2.BindingSnapshot{{Name: "other"}},
			RescheduleTriggeredAt: &now,
			Suspension:            &workv1alpha2.Suspension{Scheduling: new(true)},
		},
	}
	before := b.DeepCopy()
	p := spec()
	p.Suspension = &policyv1alpha1.Suspension{Dispatching: new(true)}
	update(b, deployment(), claimOf(), p)

	g.Expect(b.Spec.Clusters).To(Equal(before.Spec.Clusters))
	g.Expect(b.Spec.GracefulEvictionTasks).To(Equal(before.Spec.GracefulEvictionTasks))
	g.Expect(b.Spec.RequiredBy).To(Equal(before.Spec.RequiredBy))
	g.Expect(b.Spec.RescheduleTriggeredAt).To(Equal(before.Spec.RescheduleTriggeredAt))
	g.Expect(b.Spec.Suspension.Scheduling).To(HaveValue(BeTrue()))
	g.Expect(b.Spec.Suspension.Dispatching).To(HaveValue(BeTrue()))
	g.Expect(b.Labels).To(HaveKeyWithValue("other", "label"))
	g.Expect(b.Labels).NotTo(HaveKey(contract.ClusterPropagationPolicyPermanentIDLabel))
	g.Expect(b.Annotations).To(HaveKeyWithValue(contract.AppliedPlacementAnnotation, "{}"))
	g.Expect(b.Annotations).NotTo(HaveKey(contract.ClusterPropagationPolicyNameAnnotation))
	g.Expect(b.Finalizers).To(Equal([]string{"other/finalizer", contract.BindingFinalizer}))

	// What the policy no longer sets is removed, and what others set is not.
	update(b, deployment(), claimOf(), spec())
	g.Expect(b.Spec.Suspension.Dispatching).To(BeNil())
	g.Expect(b.Spec.Suspension.Scheduling).To(HaveValue(BeTrue()))
	b.Spec.Suspension.Scheduling = nil
	update(b, deployment(), claimOf(), spec())
	g.Expect(b.Spec.Suspension).To(BeNil())
}

func TestUpdateSharesNothingWithThePolicy(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := spec()
	b := &workv1alpha2.ResourceBinding{}
	update(b, deployment(), claimOf(), p)
	b.Spec.Placement.ClusterAffinity.ClusterNames[0] = "changed"
	*b.Spec.PreserveResourcesOnDeletion = false
	g.Expect(p).To(Equal(spec()))
}

func TestUpdateIgnoresDemandOfCurrentBinding(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &workv1alpha2.ResourceBinding{}
	update(b, deployment(), claimOf(), spec())

	statusOnly := Desired{Kind: deployment().Kind, Demand: Demand{Meta: deployment().Meta}}
	statusOnly.Meta.SetResourceVersion("8")
	update(b, statusOnly, claimOf(), spec())
	g.Expect(b.Spec.Resource.ResourceVersion).To(Equal("7"))
	g.Expect(b.Spec.Replicas).To(Equal(int32(3)))

	scaled := deployment()
	scaled.Meta.SetGeneration(3)
	scaled.Meta.SetResourceVersion("9")
	scaled.Replicas = 0
	scaled.Requirements = nil
	update(b, scaled, claimOf(), spec())
	g.Expect(b.Spec.Resource.ResourceVersion).To(Equal("9"))
	g.Expect(b.Spec.Replicas).To(BeZero())
	g.Expect(b.Spec.ReplicaRequirements).To(BeNil())
}

func TestOwned(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	mine := &metav1.ObjectMeta{UID: "u1"}
	owners := func(uid types.UID, controller bool) *metav1.ObjectMeta {
		return &metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: "u0"}, {UID: uid, Controller: &controller}}}
	}
	g.Expect(Owned(&metav1.ObjectMeta{}, mine)).To(BeTrue(), "a binding without an owner is adopted")
	g.Expect(Owned(owners("u1", true), mine)).To(BeTrue())
	g.Expect(Owned(owners("u2", true), mine)).To(BeFalse())
	g.Expect(Owned(owners("u2", false), mine)).To(BeTrue())
}

func TestIgnored(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(Ignored(&policyv1alpha1.PropagationSpec{
		Preemption: policyv1alpha1.PreemptAlways, ActivationPreference: policyv1alpha1.LazyActivation,
	})).To(BeEmpty())
	g.Expect(Ignored(&policyv1alpha1.PropagationSpec{
		Association: true,
		Failover:    &policyv1alpha1.FailoverBehavior{},
	})).To(Equal([]string{"association"}))
}

func TestGroupsAndPriority(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &workv1alpha2.ResourceBinding{}
	p := spec()
	p.Placement.WorkloadAffinity = &policyv1alpha1.WorkloadAffinity{
		Affinity:     &policyv1alpha1.WorkloadAffinityTerm{GroupByLabelKey: "app"},
		AntiAffinity: &policyv1alpha1.WorkloadAntiAffinityTerm{GroupByLabelKey: "missing"},
	}
	template := deployment()
	template.Priority = new(int32(7))
	template.ReturnToPreferred = "true"
	update(b, template, claimOf(), p)
	g.Expect(b.Spec.WorkloadAffinityGroups).To(Equal(&workv1alpha2.WorkloadAffinityGroups{AffinityGroup: "app=web"}))
	g.Expect(b.Spec.SchedulePriority).To(Equal(&workv1alpha2.SchedulePriority{Priority: 7}))

	g.Expect(b.Annotations).To(HaveKeyWithValue(contract.ReturnToPreferredAnnotation, "true"))

	p.Placement.WorkloadAffinity.Affinity = nil
	update(b, deployment(), claimOf(), p)
	g.Expect(b.Spec.WorkloadAffinityGroups).To(BeNil(), "the template has no affinity label")
	g.Expect(b.Spec.SchedulePriority).To(BeNil())
	g.Expect(b.Annotations).NotTo(HaveKey(contract.ReturnToPreferredAnnotation))
}

func TestImportedServicePropagatesDependencies(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := &policyv1alpha1.PropagationSpec{ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "multicluster.x-k8s.io/v1alpha1", Kind: "ServiceImport"}}}
	b := &workv1alpha2.ResourceBinding{}
	update(b, deployment(), claimOf(), p)
	g.Expect(b.Spec.PropagateDeps).To(BeTrue())
	p.ResourceSelectors[0].APIVersion = "example.com/v1"
	update(b, deployment(), claimOf(), p)
	g.Expect(b.Spec.PropagateDeps).To(BeFalse())
}
