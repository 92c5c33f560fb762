package rebalance_test

import (
	"testing"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	appsv1alpha1 "fairlead.dev/common/api/apps/v1alpha1"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/adjust/rebalance"
	"fairlead.dev/hub/flow/scheduler"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// world is a hub's API with this stage and the scheduler running.
type world struct {
	hub       client.Client
	namespace string

	events stagetest.Events
}

func start(t *testing.T) *world {
	t.Helper()
	hub := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	w := &world{hub: hub.Client(t), namespace: hub.Namespace(t)}
	stagetest.Start(t, hub.Config, func(mgr manager.Manager) error {
		if _, err := scheduler.Register(mgr, scheduler.Deps{Events: func(eventsink.Event) {}, Clock: clock.RealClock{}}); err != nil {
			return err
		}
		return rebalance.Register(mgr, rebalance.Deps{Clock: clock.RealClock{}, Events: w.events.Record})
	})
	return w
}

// told returns the events about a WorkloadRebalancer.
func (w *world) told(name string) []string {
	var out []string
	for _, e := range w.events.All() {
		if one, ok := e.Regarding.(*appsv1alpha1.WorkloadRebalancer); !ok || one.Name != name {
			continue
		}
		out = append(out, e.Type+" "+e.Reason+": "+e.Note)
	}
	return out
}

// join adds a cluster that serves Deployments.
func (w *world) join(t *testing.T, name string) {
	t.Helper()
	g := NewWithT(t)
	c := builder.MakeCluster(name).Obj()
	g.Expect(w.hub.Create(t.Context(), c)).To(Succeed())
	c.Status.APIEnablements = []clusterv1alpha1.APIEnablement{
		{GroupVersion: "apps/v1", Resources: []clusterv1alpha1.APIResource{{Name: "deployments", Kind: "Deployment"}}},
	}
	g.Expect(w.hub.Status().Update(t.Context(), c)).To(Succeed())
}

// place creates the binding of a Deployment that prefers one cluster, and waits until it is in the other, because the
// preferred one does not exist yet.
func (w *world) place(t *testing.T, name, preferred, other string) *workv1alpha2.ResourceBinding {
	t.Helper()
	g := NewWithT(t)
	term := func(name string) policyv1alpha1.ClusterAffinityTerm {
		return policyv1alpha1.ClusterAffinityTerm{
			AffinityName: name, ClusterAffinity: policyv1alpha1.ClusterAffinity{ClusterNames: []string{name}},
		}
	}
	b := &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: contract.BindingName("Deployment", name),
			Labels: map[string]string{contract.PropagationPolicyPermanentIDLabel: "id"},
		},
		Spec: workv1alpha2.ResourceBindingSpec{
			Resource: workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: w.namespace, Name: name},
			Replicas: 2,
			Placement: &policyv1alpha1.Placement{
				ClusterAffinities: []policyv1alpha1.ClusterAffinityTerm{term(preferred), term(other)},
			},
		},
	}
	g.Expect(w.hub.Create(t.Context(), b)).To(Succeed())
	g.Eventually(func() string { return w.where(t, b) }, stagetest.Timeout, stagetest.Poll).Should(Equal(other))
	return b
}

// where returns the only cluster of a binding.
func (w *world) where(t *testing.T, b *workv1alpha2.ResourceBinding) string {
	t.Helper()
	NewWithT(t).Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
	if len(b.Spec.Clusters) != 1 {
		return ""
	}
	return b.Spec.Clusters[0].Name
}

func (w *world) workload(name string) appsv1alpha1.ObjectReference {
	return appsv1alpha1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: w.namespace, Name: name}
}

func rebalancer(name string, workloads ...appsv1alpha1.ObjectReference) *appsv1alpha1.WorkloadRebalancer {
	return &appsv1alpha1.WorkloadRebalancer{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1alpha1.WorkloadRebalancerSpec{Workloads: workloads},
	}
}

// finished waits until a WorkloadRebalancer has finished, and returns the results of its workloads.
func (w *world) finished(t *testing.T, one *appsv1alpha1.WorkloadRebalancer) map[string]string {
	t.Helper()
	NewWithT(t).Eventually(func(g Gomega) {
		g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(one), one)).To(Succeed())
		g.Expect(one.Status.FinishTime).NotTo(BeNil())
		g.Expect(one.Status.ObservedGeneration).To(Equal(one.Generation))
	}, stagetest.Timeout, stagetest.Poll).Should(Succeed())
	out := map[string]string{}
	for _, o := range one.Status.ObservedWorkloads {
		out[o.Workload.Name] = string(o.Result) + string(o.Reason)
	}
	return out
}

func TestStage(t *testing.T) {
	t.Parallel()
	w := start(t)
	t.Run("workloads are placed from scratch once", w.placesFromScratchOnce)
	t.Run("a workload that nobody places is told", w.tellsWhatNobodyPlaces)
	t.Run("what is finished goes after its time", w.forgetsWhatIsFinished)
}

func (w *world) placesFromScratchOnce(t *testing.T) {
	g := NewWithT(t)
	w.join(t, "scratch-far")
	web := w.place(t, "web", "scratch-near", "scratch-far")
	api := w.place(t, "api", "scratch-near", "scratch-far")
	w.join(t, "scratch-near")
	w.place(t, "sees", "scratch-none", "scratch-near") // the scheduler has seen that cluster
	g.Consistently(func() string { return w.where(t, web) }, stagetest.Quiet, stagetest.Poll).Should(Equal("scratch-far"), "nobody asked yet")

	one := rebalancer("scratch", w.workload("web"))
	g.Expect(w.hub.Create(t.Context(), one)).To(Succeed())
	g.Expect(w.finished(t, one)).To(Equal(map[string]string{"web": "Successful"}))
	g.Eventually(func() string { return w.where(t, web) }, stagetest.Timeout, stagetest.Poll).Should(Equal("scratch-near"))
	g.Expect(w.where(t, api)).To(Equal("scratch-far"), "nobody asked for it")

	asked := web.Spec.RescheduleTriggeredAt
	one.Spec.Workloads = []appsv1alpha1.ObjectReference{w.workload("api")}
	g.Expect(w.hub.Update(t.Context(), one)).To(Succeed())
	g.Expect(w.finished(t, one)).To(Equal(map[string]string{"web": "Successful", "api": "Successful"}), "what was done stays")
	g.Eventually(func() string { return w.where(t, api) }, stagetest.Timeout, stagetest.Poll).Should(Equal("scratch-near"), "also of a workload that is named later")
	g.Expect(w.where(t, web)).To(Equal("scratch-near"))
	g.Expect(web.Spec.RescheduleTriggeredAt).To(Equal(asked), "once is enough")
	g.Expect(w.told(one.Name)).To(BeEmpty())
}

func (w *world) tellsWhatNobodyPlaces(t *testing.T) {
	g := NewWithT(t)
	role := appsv1alpha1.ObjectReference{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "reader"}
	one := rebalancer("lonely", w.workload("lonely"), role)
	g.Expect(w.hub.Create(t.Context(), one)).To(Succeed())
	g.Expect(w.finished(t, one)).To(Equal(map[string]string{
		"lonely": "FailedReferencedBindingNotFound", "reader": "FailedReferencedBindingNotFound",
	}))
	g.Eventually(func() []string { return w.told("lonely") }, stagetest.Timeout, stagetest.Poll).Should(ConsistOf(And(
		HavePrefix("Warning ReferencedBindingNotFound: "), ContainSubstring("Deployment "+w.namespace+"/lonely, ClusterRole reader"),
	)))
}

func (w *world) forgetsWhatIsFinished(t *testing.T) {
	g := NewWithT(t)
	gone := func(name string) func() bool {
		return func() bool {
			return apierrors.IsNotFound(w.hub.Get(t.Context(), client.ObjectKey{Name: name}, &appsv1alpha1.WorkloadRebalancer{}))
		}
	}
	atOnce, later, never := rebalancer("at-once", w.workload("x")), rebalancer("later", w.workload("x")), rebalancer("never", w.workload("x"))
	atOnce.Spec.TTLSecondsAfterFinished, later.Spec.TTLSecondsAfterFinished = new(int32(0)), new(int32(3600))
	for _, one := range []*appsv1alpha1.WorkloadRebalancer{atOnce, later, never} {
		g.Expect(w.hub.Create(t.Context(), one)).To(Succeed())
	}
	g.Eventually(gone("at-once"), stagetest.Timeout, stagetest.Poll).Should(BeTrue())
	w.finished(t, later)
	w.finished(t, never)
	g.Consistently(gone("later"), stagetest.Quiet, stagetest.Poll).Should(BeFalse())
	later.Spec.TTLSecondsAfterFinished = new(int32(1))
	g.Expect(w.hub.Update(t.Context(), later)).To(Succeed())
	g.Eventually(gone("later"), stagetest.Timeout, stagetest.Poll).Should(BeTrue())
	g.Expect(gone("never")()).To(BeFalse())
}

func TestRegisterSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	NewWithT(t).Expect(rebalance.Register(nil, rebalance.Deps{})).NotTo(Succeed())
}
