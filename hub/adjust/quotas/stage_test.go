package quotas_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/adjust/quotas"
	"fairlead.dev/hub/setup"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// world is a hub's API with a quota, on which only this stage runs.
type world struct {
	hub   client.Client
	quota *policyv1alpha1.FederatedResourceQuota

	events stagetest.Events
	// seen transforms a quota on its way into the stage's cache; nil leaves it as it is.
	seen toolscache.TransformFunc
	// end stops the hub before the end of the test.
	end func()
}

func start(t *testing.T) *world {
	t.Helper()
	hub := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	w := &world{hub: hub.Client(t), quota: &policyv1alpha1.FederatedResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: hub.Namespace(t), Name: "all"},
	}}
	w.end = w.run(t, hub.Config)
	return w
}

func (w *world) run(t *testing.T, cfg *rest.Config, change ...func(*manager.Options)) (end func()) {
	t.Helper()
	mgr := stagetest.Manager(t, cfg, append([]func(*manager.Options){func(o *manager.Options) {
		o.Cache, o.Client = setup.CacheOptions(nil), setup.ClientOptions()
		// The tests share an API server: if another test's stage wrote for this quota, this one would emit no event.
		o.Cache.ByObject[&policyv1alpha1.FederatedResourceQuota{}] = cache.ByObject{
			Namespaces: map[string]cache.Config{w.quota.Namespace: {}}, Transform: w.seen,
		}
	}}, change...)...)
	NewWithT(t).Expect(quotas.Register(t.Context(), mgr, quotas.Deps{
		ExecutionNamespacePrefix: contract.DefaultExecutionNamespacePrefix,
		Events:                   w.events.Record,
	})).To(Succeed())
	return stagetest.Run(t, mgr)
}

// told returns the notes of the events with a reason.
func (w *world) told(reason string) []string { return w.events.Notes(reason) }

// join creates a Cluster with its execution namespace.
func (w *world) join(t *testing.T, name string) {
	t.Helper()
	g := NewWithT(t)
	namespace := contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, name)
	g.Expect(w.hub.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
	g.Expect(w.hub.Create(t.Context(), builder.MakeCluster(name).Obj())).To(Succeed())
}

func list(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func part(name, cpu string) policyv1alpha1.StaticClusterAssignment {
	return policyv1alpha1.StaticClusterAssignment{ClusterName: name, Hard: list("cpu", cpu, "services", "4")}
}

// work returns the Work for a cluster; nil if there is none.
func (w *world) work(t *testing.T, name string) *workv1alpha1.Work {
	t.Helper()
	work := &workv1alpha1.Work{}
	err := w.hub.Get(t.Context(), client.ObjectKey{
		Namespace: contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, name),
		Name:      contract.WorkName("ResourceQuota", w.quota.Namespace, w.quota.Name),
	}, work)
	if apierrors.IsNotFound(err) {
		return nil
	}
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return work
}

// hard returns the CPU limit in the Work for a cluster; empty if the Work does not exist, or is being deleted.
func (w *world) hard(t *testing.T, name string) func() string {
	t.Helper()
	return func() string {
		work := w.work(t, name)
		if work == nil || !work.DeletionTimestamp.IsZero() || len(work.Spec.Workload.Manifests) == 0 {
			return ""
		}
		manifest := corev1.ResourceQuota{}
		if err := json.Unmarshal(work.Spec.Workload.Manifests[0].Raw, &manifest); err != nil {
			return err.Error()
		}
		return manifest.Spec.Hard.Cpu().String()
	}
}

// finish completes the deletion of a Work as the agent of a cluster would.
func (w *world) finish(t *testing.T, name string, uid types.UID) error {
	t.Helper()
	work := w.work(t, name)
	if work == nil || work.UID != uid {
		return nil
	}
	work.Finalizers = nil
	if err := w.hub.Update(t.Context(), work); err != nil {
		return err
	}
	return errors.New("it was there still")
}

func (w *world) change(t *testing.T, change func()) {
	t.Helper()
	stagetest.Change(t, w.hub, w.quota, change)
}

func TestPartsGoToClustersAndUseComesBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := start(t)
	w.end()
	w.join(t, "edge-1")
	w.run(t, cluster.Shared(t, cluster.Options{Profile: cluster.Hub}).Config) // which never sees the quota without the Cluster
	w.quota.Spec.Overall = list("cpu", "4", "services", "9")
	w.quota.Spec.StaticAssignments = []policyv1alpha1.StaticClusterAssignment{part("edge-1", "1"), part("edge-2", "2")}
	g.Expect(w.hub.Create(t.Context(), w.quota)).To(Succeed())
	g.Eventually(w.hard(t, "edge-1"), stagetest.Timeout, stagetest.Poll).Should(Equal("1"))
	g.Eventually(func() []string { return w.told("SyncWorkFailed") }, stagetest.Timeout, stagetest.Poll).Should(HaveExactElements(ContainSubstring("There is no Cluster edge-2")))
	w.join(t, "edge-2")
	g.Eventually(w.hard(t, "edge-2"), stagetest.Timeout, stagetest.Poll).Should(Equal("2"))

	// Somebody changes a Work, and deletes another one.
	work := w.work(t, "edge-2")
	work.Spec.Workload.Manifests = nil
	g.Expect(w.hub.Update(t.Context(), work)).To(Succeed())
	g.Eventually(w.hard(t, "edge-2"), stagetest.Timeout, stagetest.Poll).Should(Equal("2"))
	work = w.work(t, "edge-2")
	g.Expect(w.hub.Delete(t.Context(), work)).To(Succeed())
	g.Eventually(func() error { return w.finish(t, "edge-2", work.UID) }, stagetest.Timeout, stagetest.Poll).Should(Succeed())
	g.Eventually(w.hard(t, "edge-2"), stagetest.Timeout, stagetest.Poll).Should(Equal("2"))

	// The clusters report, and a workload is scheduled.
	w.report(t, "edge-1", list("cpu", "1", "services", "4"), list("cpu", "500m", "services", "3"))
	b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.quota.Namespace, Name: "web-deployment"}}
	b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: w.quota.Namespace, Name: "web"}
	b.Spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{ResourceRequest: list("cpu", "1500m")}
	b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "edge-1", Replicas: 1}, {Name: "edge-2", Replicas: 1}}
	g.Expect(w.hub.Create(t.Context(), b)).To(Succeed())
	used := func() map[string]string {
		g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(w.quota), w.quota)).To(Succeed())
		out := map[string]string{}
		for name, amount := range w.quota.Status.OverallUsed {
			out[string(name)] = amount.String()
		}
		return out
	}
	g.Eventually(used, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"cpu": "3", "services": "3"}))
	g.Expect(w.quota.Status.Overall.Cpu().String()).To(Equal("4"))
	g.Expect(w.quota.Status.AggregatedStatus).To(HaveLen(1), "edge-2 has not reported")
	g.Expect(w.quota.Status.AggregatedStatus[0].ClusterName).To(Equal("edge-1"))
	g.Expect(w.quota.Status.AggregatedStatus[0].Used.Cpu().String()).To(Equal("500m"))

	// One cluster fills its Work with unrelated resources; the other's report is shown all the same.
	liar := w.work(t, "edge-2")
	stagetest.ChangeStatus(t, w.hub, liar, func() { fill(liar, w.quota) })
	w.report(t, "edge-1", list("cpu", "1", "services", "4"), list("cpu", "600m", "services", "3"))
	g.Eventually(func(g Gomega) {
		g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(w.quota), w.quota)).To(Succeed())
		g.Expect(w.quota.Status.AggregatedStatus).To(HaveLen(2))
		g.Expect(w.quota.Status.AggregatedStatus[0].Used.Cpu().String()).To(Equal("600m"))
		g.Expect(w.quota.Status.AggregatedStatus[1].Used).To(BeEmpty())
	}, stagetest.Timeout, stagetest.Poll).Should(Succeed())

	// The quota is lowered below the usage; then the workload is deleted.
	w.change(t, func() {
		w.quota.Spec.Overall, w.quota.Spec.StaticAssignments = list("cpu", "2", "services", "9"), []policyv1alpha1.StaticClusterAssignment{part("edge-1", "2")}
	})
	g.Eventually(w.hard(t, "edge-1"), stagetest.Timeout, stagetest.Poll).Should(Equal("2"))
	g.Eventually(w.hard(t, "edge-2"), stagetest.Timeout, stagetest.Poll).Should(BeEmpty(), "it has no part any more")
	g.Eventually(func() []string { return w.told("QuotaExceeded") }, stagetest.Timeout, stagetest.Poll).Should(HaveExactElements(ContainSubstring("cpu (3 of 2)")))
	g.Expect(w.hub.Delete(t.Context(), b)).To(Succeed())
	g.Eventually(used, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"services": "3"}))

	// The quota is deleted, after its Works.
	g.Expect(w.quota.Finalizers).To(ContainElement(contract.QuotaFinalizer))
	g.Expect(w.hub.Delete(t.Context(), w.quota)).To(Succeed())
	g.Eventually(w.hard(t, "edge-1"), stagetest.Timeout, stagetest.Poll).Should(BeEmpty())
	g.Eventually(func() bool {
		return apierrors.IsNotFound(w.hub.Get(t.Context(), client.ObjectKeyFromObject(w.quota), &policyv1alpha1.FederatedResourceQuota{}))
	}, stagetest.Timeout, stagetest.Poll).Should(BeTrue())
	g.Expect(w.told("SyncWorkSucceed")).NotTo(BeEmpty())
}

// TestAClusterThatIsDeletedKeepsItsPart deletes a Cluster while its agent still works. The ResourceQuota stays in the
// member, so its Work is left to the cluster stage, which waits until the agent is locked out.
func TestAClusterThatIsDeletedKeepsItsPart(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := start(t)
	w.join(t, "leaves")
	w.quota.Spec.Overall = list("cpu", "4")
	w.quota.Spec.StaticAssignments = []policyv1alpha1.StaticClusterAssignment{part("leaves", "1")}
	g.Expect(w.hub.Create(t.Context(), w.quota)).To(Succeed())
	g.Eventually(w.hard(t, "leaves"), stagetest.Timeout, stagetest.Poll).Should(Equal("1"))

	leaving := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "leaves"}}
	stagetest.Change(t, w.hub, leaving, func() { leaving.Spec.ID, leaving.Finalizers = "member-leaves", []string{contract.ClusterFinalizer} })
	g.Expect(w.hub.Delete(t.Context(), leaving)).To(Succeed())
	w.change(t, func() { w.quota.Spec.Overall = list("cpu", "5") })
	g.Eventually(func(g Gomega) {
		g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(w.quota), w.quota)).To(Succeed())
		g.Expect(w.quota.Status.Overall.Cpu().String()).To(Equal("5"), "the stage has looked at it")
	}, stagetest.Timeout, stagetest.Poll).Should(Succeed())
	g.Consistently(func(g Gomega) {
		work := w.work(t, "leaves")
		g.Expect(work).NotTo(BeNil())
		g.Expect(work.DeletionTimestamp).To(BeNil())
		g.Expect(contract.DeletionIntended(work.Annotations)).To(BeFalse())
	}, time.Second, stagetest.Poll).Should(Succeed())
	stagetest.Change(t, w.hub, leaving, func() { leaving.Finalizers = nil })
}

// report writes the status of a Work as the agent of a cluster would.
func (w *world) report(t *testing.T, name string, hard, used corev1.ResourceList) {
	t.Helper()
	g := NewWithT(t)
	raw, err := json.Marshal(corev1.ResourceQuotaStatus{Hard: hard, Used: used})
	g.Expect(err).NotTo(HaveOccurred())
	work := w.work(t, name)
	stagetest.ChangeStatus(t, w.hub, work, func() {
		meta.SetStatusCondition(&work.Status.Conditions, metav1.Condition{Type: workv1alpha1.WorkApplied, Status: metav1.ConditionTrue, Reason: "AppliedSuccessful"})
		work.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{{
			Identifier: workv1alpha1.ResourceIdentifier{Version: "v1", Kind: "ResourceQuota", Namespace: w.quota.Namespace, Name: w.quota.Name},
			Status:     &runtime.RawExtension{Raw: raw},
		}}
	})
}

// fill makes the agent of a cluster report as many and as large ResourceQuotas as fit in its Work. Each amount takes
// more room in the aggregated status, and a request with all of them would exceed etcd's limit.
func fill(work *workv1alpha1.Work, q *policyv1alpha1.FederatedResourceQuota) {
	var used strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&used, `,"%x":0`, i)
	}
	raw := []byte(`{"used":{` + used.String()[1:] + `}}`)
	meta.SetStatusCondition(&work.Status.Conditions, metav1.Condition{Type: workv1alpha1.WorkApplied, Status: metav1.ConditionTrue, Reason: "AppliedSuccessful"})
	for i := range 17 {
		work.Status.ManifestStatuses = append(work.Status.ManifestStatuses, workv1alpha1.ManifestStatus{
			Identifier: workv1alpha1.ResourceIdentifier{Version: "v1", Kind: "ResourceQuota", Namespace: q.Namespace, Name: []string{q.Name, "other"}[i%2]},
			Status:     &runtime.RawExtension{Raw: raw},
		})
	}
}

func TestAPartComesOnceItsClusterHasAnExecutionNamespace(t *testing.T) {
	t.Parallel()
	w := start(t)
	g := NewWithT(t)
	late := w.quota.Namespace + "-late"
	g.Expect(w.hub.Create(t.Context(), builder.MakeCluster(late).Obj())).To(Succeed())
	w.quota.Spec.Overall = list("cpu", "4")
	w.quota.Spec.StaticAssignments = []policyv1alpha1.StaticClusterAssignment{part(late, "1")}
	g.Expect(w.hub.Create(t.Context(), w.quota)).To(Succeed())
	g.Eventually(func() corev1.ResourceList {
		g.Expect(w.hub.Get(t.Context(), client.ObjectKeyFromObject(w.quota), w.quota)).To(Succeed())
		return w.quota.Status.Overall
	}, stagetest.Timeout, stagetest.Poll).ShouldNot(BeEmpty(), "what is written once the parts were tried")
	namespace := contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, late)
	g.Expect(w.hub.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
	g.Eventually(w.hard(t, late), stagetest.Timeout, stagetest.Poll).Should(Equal("1"))
}

func TestRegisterSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	NewWithT(t).Expect(quotas.Register(t.Context(), nil, quotas.Deps{})).NotTo(Succeed())
}
