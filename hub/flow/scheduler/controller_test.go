package scheduler_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/scheduler"
	"fairlead.dev/hub/setup"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

// settle is for how long a preferred cluster must have been available.
const settle = 2 * time.Second

func TestMain(m *testing.M) { cluster.Main(m) }

// world is a hub's API on which only the scheduler runs.
type world struct {
	hub       client.Client
	namespace string
	config    *rest.Config
	stop      func()
	scheduler *scheduler.Scheduler
	// deferred and deferFor are given to the scheduler.
	deferred *kube.DeferredStatus
	deferFor time.Duration

	events stagetest.Events
}

func start(t *testing.T) *world {
	t.Helper()
	hub := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	w := &world{hub: hub.Client(t), namespace: hub.Namespace(t), config: hub.Config}
	w.stop = w.run(t)
	return w
}

// run starts the scheduler and returns a function that stops it.
func (w *world) run(t *testing.T, also ...func(*manager.Options)) (stop func()) {
	t.Helper()
	g := NewWithT(t)
	mgr := stagetest.Manager(t, w.config, func(o *manager.Options) {
		o.Cache, o.Client = setup.CacheOptions(nil), setup.ClientOptions()
		for _, change := range also {
			change(o)
		}
	})
	g.Expect(kube.Index(t.Context(), mgr.GetCache())).To(Succeed())
	var err error
	w.scheduler, err = scheduler.Register(mgr, scheduler.Deps{
		Events: w.events.Record, Clock: clock.RealClock{}, Settle: settle, Deferred: w.deferred, DeferFor: w.deferFor,
	})
	g.Expect(err).NotTo(HaveOccurred())
	return stagetest.Run(t, mgr)
}

// told returns the notes of the events about a template.
func (w *world) told(template string) []string {
	var out []string
	for _, e := range w.events.All() {
		if ref, ok := e.Regarding.(*corev1.ObjectReference); ok && ref.Name == template {
			out = append(out, e.Type+" "+e.Reason+": "+e.Note)
		}
	}
	return out
}

// join adds a cluster of a site that serves Deployments and ClusterRoles, and reports what else is given. The scheduler never sees
// that it serves them without what else it reports.
func (w *world) join(t *testing.T, name, site string, reports ...func(*clusterv1alpha1.ClusterStatus)) *clusterv1alpha1.Cluster {
	t.Helper()
	g := NewWithT(t)
	c := builder.MakeCluster(name).Label("site", site).Obj()
	g.Expect(w.hub.Create(t.Context(), c)).To(Succeed())
	c.Status.APIEnablements = []clusterv1alpha1.APIEnablement{
		{GroupVersion: "apps/v1", Resources: []clusterv1alpha1.APIResource{{Name: "deployments", Kind: "Deployment"}}},
		{GroupVersion: "rbac.authorization.k8s.io/v1", Resources: []clusterv1alpha1.APIResource{{Name: "clusterroles", Kind: "ClusterRole"}}},
	}
	for _, report := range reports {
		report(&c.Status)
	}
	g.Expect(w.hub.Status().Update(t.Context(), c)).To(Succeed())
	return c
}

// sees waits until the scheduler has seen a cluster of a site, and with it those that joined before: the watch of bindings may be ahead
// of that of clusters.
func (w *world) sees(t *testing.T, name, site string) {
	t.Helper()
	g, b := NewWithT(t), w.binding("sees-"+name, site)
	g.Expect(w.hub.Create(t.Context(), b)).To(Succeed())
	g.Eventually(func() []string { return w.where(t, b) }, stagetest.Timeout, stagetest.Poll).Should(ContainElement(name))
	g.Expect(w.hub.Delete(t.Context(), b)).To(Succeed())
}

// binding returns a claimed binding of a Deployment for the clusters of a site.
func (w *world) binding(name, site string) *workv1alpha2.ResourceBinding {
	return &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: name + "-deployment",
			Labels: map[string]string{contract.PropagationPolicyPermanentIDLabel: "some-id"},
		},
		Spec: workv1alpha2.ResourceBindingSpec{
			Resource:  workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: w.namespace, Name: name},
			Replicas:  2,
			Placement: &policyv1alpha1.Placement{ClusterAffinity: bySite(site)},
		},
	}
}

func bySite(site string) *policyv1alpha1.ClusterAffinity {
	return &policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"site": site}}}
}

// read reads a binding anew.
func read[B client.Object](t *testing.T, w *world, b B) B {
	t.Helper()
	NewWithT(t).Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
	return b
}

// change changes an object, and retries on conflicts.
func change[B client.Object](t *testing.T, w *world, b B, mutate func(B)) {
	t.Helper()
	stagetest.Change(t, w.hub, b, func() { mutate(b) })
}

// summary returns in one line what the scheduler decided on a binding, and whether that is about its current generation.
func summary(b workv1alpha2.Binding) string {
	parts := make([]string, 0, len(b.BindingSpec().Clusters)+2)
	for _, c := range b.BindingSpec().Clusters {
		parts = append(parts, c.Name)
	}
	c := meta.FindStatusCondition(b.BindingStatus().Conditions, workv1alpha2.BindingScheduled)
	if c == nil {
		return strings.Join(append(parts, "untouched"), " ")
	}
	parts = append(parts, c.Reason)
	if c.ObservedGeneration != b.GetGeneration() {
		parts = append(parts, "outdated")
	}
	return strings.Join(parts, " ")
}

func TestScheduler(t *testing.T) {
	w := start(t)

	t.Run("a binding goes to the clusters that fit, and is left alone then", func(t *testing.T) {
		g := NewWithT(t)
		w.join(t, "shop-1", "shop")
		w.join(t, "shop-2", "shop")
		w.join(t, "ship-1", "ship")
		w.sees(t, "ship-1", "ship")
		b := w.binding("web", "shop")
		g.Expect(w.hub.Create(t.Context(), b)).To(Succeed())
		g.Eventually(func() string { return summary(read(t, w, b)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("shop-1 shop-2 Success"))
		g.Expect(b.Spec.Clusters[0].Replicas).To(BeEquivalentTo(2))
		g.Expect(b.Annotations[contract.AppliedPlacementAnnotation]).To(MatchJSON(`{"clusterAffinity":{"labelSelector":{"matchLabels":{"site":"shop"}}}}`))
		g.Expect(b.Status.SchedulerObservedGeneration).To(Equal(b.Generation), "of the binding as it is after the decision")
		g.Expect(b.Status.LastScheduledTime).NotTo(BeNil())
		g.Expect(b.ManagedFields).To(BeEmpty(), "nobody else writes it")
		g.Eventually(func() []string { return w.told("web") }, stagetest.Timeout, stagetest.Poll).Should(ConsistOf("Normal ScheduleBindingSucceed: Binding has been scheduled successfully. Result: {shop-1:2, shop-2:2}"))

		before := b.ResourceVersion
		shop := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "shop-1"}}
		change(t, w, shop, func(c *clusterv1alpha1.Cluster) { c.Spec.Region = "north" })
		g.Consistently(func() string { return read(t, w, b).ResourceVersion }, stagetest.Quiet, stagetest.Poll).Should(Equal(before))
	})

	t.Run("a cluster that joins is added, one that changes is dropped", func(t *testing.T) {
		g := NewWithT(t)
		b := w.binding("web", "shop")
		c := w.join(t, "shop-3", "shop")
		g.Eventually(func() string { return summary(read(t, w, b)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("shop-1 shop-2 shop-3 Success"))
		g.Expect(b.Status.SchedulerObservedGeneration).To(Equal(b.Generation))
		change(t, w, c, func(c *clusterv1alpha1.Cluster) { c.Labels["site"] = "museum" })
		g.Eventually(func() string { return summary(read(t, w, b)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("shop-1 shop-2 Success"))
		g.Eventually(func() []string { return w.told("web") }, stagetest.Timeout, stagetest.Poll).Should(HaveLen(3))
	})

	t.Run("a custom kind goes where its definition goes, though no cluster serves it yet", func(t *testing.T) {
		g := NewWithT(t)
		definition := &workv1alpha2.ClusterResourceBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "federatedresourcequotas.policy.karmada.io-customresourcedefinition"},
			Spec: workv1alpha2.ResourceBindingSpec{
				Resource: workv1alpha2.ObjectReference{
					APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Name: "federatedresourcequotas.policy.karmada.io",
				},
				Clusters: []workv1alpha2.TargetCluster{{Name: "shop-1"}},
			},
		}
		b := w.binding("quota", "shop")
		b.Spec.Resource.APIVersion, b.Spec.Resource.Kind = "policy.karmada.io/v1alpha1", "FederatedResourceQuota"
		g.Expect(w.hub.Create(t.Context(), b)).To(Succeed())
		where := func() string { return summary(read(t, w, b)) }
		g.Eventually(where, stagetest.Timeout, stagetest.Poll).Should(Equal("NoClusterFit"), "nobody propagates its definition")
		g.Expect(w.hub.Create(t.Context(), definition)).To(Succeed())
		g.Eventually(where, stagetest.Timeout, stagetest.Poll).Should(Equal("shop-1 Success"))
		// It moves: the application stays, also while its cluster has not told that it serves the kind.
		before := read(t, w, b).ResourceVersion
		change(t, w, definition, func(d *workv1alpha2.ClusterResourceBinding) {
			d.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "shop-2"}}
		})
		g.Consistently(func() string { return read(t, w, b).ResourceVersion }, stagetest.Quiet, stagetest.Poll).Should(Equal(before))
	})

	t.Run("a custom kind that waits goes where a cluster serves it, and follows those that do", func(t *testing.T) {
		g := NewWithT(t)
		b := w.binding("till", "ship")
		b.Spec.Resource.APIVersion, b.Spec.Resource.Kind = "policy.karmada.io/v1alpha1", "OverridePolicy"
		g.Expect(w.hub.Create(t.Context(), b)).To(Succeed())
		where := func() string { return summary(read(t, w, b)) }
		g.Eventually(where, stagetest.Timeout, stagetest.Poll).Should(Equal("NoClusterFit"))
		serve := func(name string, kinds ...string) {
			c := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
			stagetest.ChangeStatus(t, w.hub, c, func() {
				c.Status.APIEnablements = slices.DeleteFunc(c.Status.APIEnablements, func(e clusterv1alpha1.APIEnablement) bool {
					return e.GroupVersion == "policy.karmada.io/v1alpha1"
				})
				served := clusterv1alpha1.APIEnablement{GroupVersion: "policy.karmada.io/v1alpha1"}
				for _, kind := range kinds {
					served.Resources = append(served.Resources, clusterv1alpha1.APIResource{Name: strings.ToLower(kind), Kind: kind})
				}
				c.Status.APIEnablements = append(c.Status.APIEnablements, served)
				meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
					Type: clusterv1alpha1.ClusterCompleteAPIEnablements, Status: metav1.ConditionTrue, Reason: "Complete",
				})
			})
		}
		serve("ship-1", "OverridePolicy")
		g.Eventually(where, stagetest.Timeout, stagetest.Poll).Should(Equal("ship-1 Success"))
		change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Placement.ClusterAffinity = nil })
		g.Eventually(func() int64 { return read(t, w, b).Status.SchedulerObservedGeneration }, stagetest.Timeout, stagetest.Poll).Should(Equal(b.Generation))
		serve("shop-1", "OverridePolicy")
		g.Eventually(where, stagetest.Timeout, stagetest.Poll).Should(Equal("ship-1 shop-1 Success"))
		serve("ship-1")
		g.Eventually(where, stagetest.Timeout, stagetest.Poll).Should(Equal("shop-1 Success"))
		g.Expect(w.hub.Delete(t.Context(), b)).To(Succeed())
	})

	t.Run("a change of the replicas is followed", func(t *testing.T) {
		g := NewWithT(t)
		b := w.binding("web", "shop")
		change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Replicas = 5 })
		g.Eventually(func() int32 { return read(t, w, b).Spec.Clusters[0].Replicas }, stagetest.Timeout, stagetest.Poll).Should(BeEquivalentTo(5))
	})

	t.Run("when no cluster fits the targets are cleared, and it is said once", func(t *testing.T) {
		g := NewWithT(t)
		b := w.binding("web", "shop")
		change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Placement.ClusterAffinity = bySite("moon") })
		g.Eventually(func() string { return summary(read(t, w, b)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("NoClusterFit"))
		c := meta.FindStatusCondition(b.Status.Conditions, workv1alpha2.BindingScheduled)
		g.Expect(c.Message).To(Equal("0/4 clusters are available: 4 cluster(s) did not match the placement cluster affinity constraint."))
		change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Resource.ResourceVersion = "77" })
		g.Eventually(func() string { return summary(read(t, w, b)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("NoClusterFit"))
		g.Eventually(func() []string { return w.told("web") }, stagetest.Timeout, stagetest.Poll).Should(ContainElement("Warning ScheduleBindingFailed: " + c.Message))
		g.Expect(strings.Count(strings.Join(w.told("web"), "\n"), "ScheduleBindingFailed")).To(Equal(1))
	})

	t.Run("what cannot be spread waits, and what runs is left alone", func(t *testing.T) {
		g := NewWithT(t)
		b := w.binding("db", "shop")
		g.Expect(w.hub.Create(t.Context(), b)).To(Succeed())
		g.Eventually(func() string { return summary(read(t, w, b)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("shop-1 shop-2 Success"))
		change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
			b.Spec.Placement.SpreadConstraints = []policyv1alpha1.SpreadConstraint{{SpreadByField: policyv1alpha1.SpreadByRegion, MinGroups: 2}}
		})
		g.Eventually(func() string { return summary(read(t, w, b)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("shop-1 shop-2 Unschedulable"))
		g.Eventually(func() []string { return w.told("db") }, stagetest.Timeout, stagetest.Poll).Should(ContainElement(ContainSubstring("region")))
		change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Placement.SpreadConstraints = nil })
		g.Eventually(func() string { return summary(read(t, w, b)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("shop-1 shop-2 Success"))
	})

	t.Run("who is to be apart waits until the other has left", func(t *testing.T) {
		g := NewWithT(t)
		w.join(t, "island-1", "island")
		apart := func(name string) *workv1alpha2.ResourceBinding {
			b := w.binding(name, "island")
			b.Spec.WorkloadAffinityGroups = &workv1alpha2.WorkloadAffinityGroups{AntiAffinityGroup: "app=ferry"}
			return b
		}
		first, second := apart("first"), apart("second")
		g.Expect(w.hub.Create(t.Context(), first)).To(Succeed())
		g.Eventually(func() string { return summary(read(t, w, first)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("island-1 Success"))
		g.Expect(w.hub.Create(t.Context(), second)).To(Succeed())
		g.Eventually(func() string { return summary(read(t, w, second)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("NoClusterFit"))
		g.Expect(w.hub.Delete(t.Context(), first)).To(Succeed())
		g.Eventually(func() string { return summary(read(t, w, second)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("island-1 Success"))

		third := apart("third")
		g.Expect(w.hub.Create(t.Context(), third)).To(Succeed())
		g.Eventually(func() string { return summary(read(t, w, third)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("NoClusterFit"))
		change(t, w, second, func(b *workv1alpha2.ResourceBinding) { b.Spec.WorkloadAffinityGroups = nil })
		g.Eventually(func() string { return summary(read(t, w, third)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("island-1 Success"), "the other is of no group any more")
	})

	t.Run("others are told whether there is a place elsewhere", func(t *testing.T) {
		g := NewWithT(t)
		w.join(t, "reef-1", "reef")
		w.join(t, "reef-2", "reef")
		second, both := w.binding("on-second", "reef"), w.binding("on-both", "reef")
		for _, b := range []*workv1alpha2.ResourceBinding{second, both} {
			b.Spec.WorkloadAffinityGroups = &workv1alpha2.WorkloadAffinityGroups{AntiAffinityGroup: "app=reef"}
		}
		second.Spec.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"reef-2"}}
		g.Expect(w.hub.Create(t.Context(), second)).To(Succeed())
		g.Eventually(func() string { return summary(read(t, w, second)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("reef-2 Success"))
		g.Expect(w.hub.Create(t.Context(), both)).To(Succeed())
		g.Eventually(func() string { return summary(read(t, w, both)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("reef-1 Success"))

		g.Expect(w.scheduler.CouldPlaceWithout(t.Context(), both, []string{"reef-1"})).To(BeFalse(), "it is to be apart from what is there")
		alone := both.DeepCopy()
		alone.Spec.WorkloadAffinityGroups = nil
		g.Expect(w.scheduler.CouldPlaceWithout(t.Context(), alone, []string{"reef-1"})).To(BeTrue())
		g.Expect(w.scheduler.CouldPlaceWithout(t.Context(), alone, []string{"reef-1", "reef-2"})).To(BeFalse())
		alone.Spec.Placement = nil
		g.Expect(w.scheduler.CouldPlaceWithout(t.Context(), alone, nil)).To(BeFalse(), "it follows others")
	})

	t.Run("replicas are divided by weight", func(t *testing.T) {
		g := NewWithT(t)
		b := w.binding("divided", "shop")
		b.Spec.Replicas = 9
		b.Spec.Placement.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{
			ReplicaSchedulingType: policyv1alpha1.Divided, ReplicaDivisionPreference: policyv1alpha1.Weighted,
			WeightPreference: &policyv1alpha1.ClusterPreferences{StaticWeightList: []policyv1alpha1.StaticClusterWeight{
				{TargetCluster: policyv1alpha1.ClusterAffinity{ClusterNames: []string{"shop-1"}}, Weight: 1},
				{TargetCluster: policyv1alpha1.ClusterAffinity{ClusterNames: []string{"shop-2"}}, Weight: 2},
			}},
		}
		g.Expect(w.hub.Create(t.Context(), b)).To(Succeed())
		g.Eventually(func() []workv1alpha2.TargetCluster { return read(t, w, b).Spec.Clusters }, stagetest.Timeout, stagetest.Poll).Should(
			Equal([]workv1alpha2.TargetCluster{{Name: "shop-1", Replicas: 3}, {Name: "shop-2", Replicas: 6}}))
	})

	t.Run("the next group is used when one is lost, and a request goes back", func(t *testing.T) {
		g := NewWithT(t)
		b := w.binding("groups", "")
		b.Spec.Placement = &policyv1alpha1.Placement{ClusterAffinities: []policyv1alpha1.ClusterAffinityTerm{
			{AffinityName: "far", ClusterAffinity: *bySite("station")}, {AffinityName: "near", ClusterAffinity: *bySite("ship")},
		}}
		g.Expect(w.hub.Create(t.Context(), b)).To(Succeed())
		g.Eventually(func() string { return summary(read(t, w, b)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("ship-1 Success"))
		g.Expect(b.Status.SchedulerObservedAffinityName).To(Equal("near"))
		w.join(t, "station-1", "station")
		w.sees(t, "station-1", "station")
		g.Consistently(func() string { return summary(read(t, w, b)) }, stagetest.Quiet, stagetest.Poll).Should(Equal("ship-1 Success"))
		change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
			b.Spec.RescheduleTriggeredAt = new(metav1.NewTime(b.Status.LastScheduledTime.Add(time.Second)))
		})
		g.Eventually(func() string { return summary(read(t, w, b)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("station-1 Success"))
		g.Expect(b.Status.SchedulerObservedAffinityName).To(Equal("far"))
	})

	t.Run("a quota bounds what all bindings of the namespace use", func(t *testing.T) {
		g := NewWithT(t)
		frq := &policyv1alpha1.FederatedResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "shop"}}
		frq.Spec.Overall = corev1.ResourceList{"example.com/seats": resource.MustParse("10")}
		g.Expect(w.hub.Create(t.Context(), frq)).To(Succeed())
		taking := func(name string, seats string) *workv1alpha2.ResourceBinding {
			b := w.binding(name, "shop") // two replicas in each of two clusters
			b.Spec.Replicas = 2
			b.Spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{ResourceRequest: corev1.ResourceList{"example.com/seats": resource.MustParse(seats)}}
			g.Expect(w.hub.Create(t.Context(), b)).To(Succeed())
			return b
		}
		first := taking("seats-1", "1500m")
		g.Eventually(func() string { return summary(read(t, w, first)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("shop-1 shop-2 Success"))
		g.Eventually(func() map[string]string {
			change(t, w, first, func(b *workv1alpha2.ResourceBinding) { b.Spec.Resource.ResourceVersion += "0" })
			return first.Annotations
		}, stagetest.Timeout, stagetest.Poll).Should(HaveKey(contract.AdmittedRequestsAnnotation), "once the scheduler has seen the quota")
		second := taking("seats-2", "1500m")
		g.Eventually(func() string { return summary(read(t, w, second)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("QuotaExceeded"))
		g.Expect(meta.FindStatusCondition(second.Status.Conditions, workv1alpha2.BindingScheduled).Message).To(Equal(
			"FederatedResourceQuota(" + w.namespace + "/shop) exceeded for resource example.com/seats: requested sum 12, limit 10."))
		g.Eventually(func() []string { return w.told("seats-2") }, stagetest.Timeout, stagetest.Poll).Should(HaveExactElements(HavePrefix("Warning ScheduleBindingFailed: FederatedResourceQuota(")))
		change(t, w, frq, func(q *policyv1alpha1.FederatedResourceQuota) {
			q.Spec.Overall["example.com/seats"] = resource.MustParse("12")
		})
		g.Eventually(func() string { return summary(read(t, w, second)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("shop-1 shop-2 Success"))
		change(t, w, second, func(b *workv1alpha2.ResourceBinding) { b.Spec.Replicas = 3 })
		g.Eventually(func() string { return summary(read(t, w, second)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("shop-1 shop-2 QuotaExceeded"), "what runs stays")
		g.Expect(w.hub.Delete(t.Context(), frq)).To(Succeed())
		g.Eventually(func() string { return summary(read(t, w, second)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("shop-1 shop-2 Success"))
	})

	t.Run("bindings of others are left alone", func(t *testing.T) {
		g := NewWithT(t)
		foreign, suspended, follower := w.binding("foreign", "shop"), w.binding("suspended", "shop"), w.binding("follower", "shop")
		foreign.Spec.SchedulerName = "another"
		suspended.Spec.Suspension = &workv1alpha2.Suspension{Scheduling: new(true)}
		follower.Labels = nil
		for _, b := range []*workv1alpha2.ResourceBinding{foreign, suspended, follower} {
			g.Expect(w.hub.Create(t.Context(), b)).To(Succeed())
		}
		g.Consistently(func(g Gomega) {
			for _, b := range []*workv1alpha2.ResourceBinding{foreign, suspended, follower} {
				g.Expect(summary(read(t, w, b))).To(Equal("untouched"))
			}
		}, stagetest.Quiet, stagetest.Poll).Should(Succeed())
		change(t, w, suspended, func(b *workv1alpha2.ResourceBinding) { b.Spec.Suspension = nil })
		change(t, w, follower, func(b *workv1alpha2.ResourceBinding) {
			b.Labels = map[string]string{contract.ClusterPropagationPolicyPermanentIDLabel: "id"}
		})
		g.Eventually(func(g Gomega) {
			g.Expect(summary(read(t, w, suspended))).To(Equal("shop-1 shop-2 Success"))
			g.Expect(summary(read(t, w, follower))).To(Equal("shop-1 shop-2 Success"))
		}, stagetest.Timeout, stagetest.Poll).Should(Succeed())
	})

	t.Run("cluster-scoped templates are placed in the same way", func(t *testing.T) {
		g := NewWithT(t)
		b := &workv1alpha2.ClusterResourceBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "reader-clusterrole", Labels: map[string]string{contract.ClusterPropagationPolicyPermanentIDLabel: "id"}},
			Spec: workv1alpha2.ResourceBindingSpec{
				Resource:  workv1alpha2.ObjectReference{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "reader"},
				Placement: &policyv1alpha1.Placement{ClusterAffinity: bySite("shop")},
			},
		}
		g.Expect(w.hub.Create(t.Context(), b)).To(Succeed())
		g.Eventually(func() string { return summary(read(t, w, b)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("shop-1 shop-2 Success"))
		g.Eventually(func() []string { return w.told("reader") }, stagetest.Timeout, stagetest.Poll).Should(
			ConsistOf("Normal ScheduleBindingSucceed: Binding has been scheduled successfully. Result {shop-1:0, shop-2:0}"))
	})
}

func TestRegisterSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := scheduler.Register(nil, scheduler.Deps{})
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("needs a sink for events and a clock")))
}
