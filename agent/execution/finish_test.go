package execution_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/test/cluster"
)

// deployment returns a manifest. The hub's API knows Deployments and runs none.
func (w *world) deployment(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": name, "namespace": w.member},
		"spec": map[string]any{
			"replicas": int64(3),
			"selector": map[string]any{"matchLabels": map[string]any{"app": name}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": name}, "creationTimestamp": nil},
				"spec":     map[string]any{"containers": []any{map[string]any{"name": "c", "image": "nginx"}}},
			},
		},
	}}
}

func (w *world) isGone(t *testing.T, work *workv1alpha1.Work) {
	t.Helper()
	NewWithT(t).Eventually(func() bool {
		return apierrors.IsNotFound(w.client.Get(context.Background(), client.ObjectKeyFromObject(work), &workv1alpha1.Work{}))
	}).WithTimeout(waitTimeout).Should(BeTrue(), "the Work is still there")
}

func TestADeletedWorkTakesItsObjectsWithIt(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	work := w.work(t, "settings", w.configMap("settings", map[string]string{"a": "1"}))
	w.isApplied(t, work)
	cm := w.get(g, "settings")
	w.end(t, work, contract.DeletionRemoved)
	w.isGone(t, work)
	g.Expect(apierrors.IsNotFound(w.client.Get(t.Context(), client.ObjectKeyFromObject(cm), cm))).To(BeTrue())
}

// brokenJournal keeps an older version of each Work as long as it is broken.
type brokenJournal struct {
	removals

	mended atomic.Bool
	// refused counts the Works being deleted that could not be recorded.
	refused atomic.Int32
}

func (j *brokenJournal) Put(work *workv1alpha1.Work) bool {
	if !j.mended.Load() && work.DeletionTimestamp != nil {
		j.refused.Add(1)
	}
	return j.mended.Load()
}

func (j *brokenJournal) Absent(work *workv1alpha1.Work) bool { return j.Put(work) }

// TestADeletionWaitsForTheJournal checks that nothing is deleted before the journal has recorded the deletion: an
// agent restarted without its hub would recreate the object from the journal.
func TestADeletionWaitsForTheJournal(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c, kept := cluster.Shared(t, cluster.Options{Profile: cluster.Hub}), &brokenJournal{}
	w := unstarted(t)
	w.journal = kept
	w.start(t, c.Config, native.New())
	work := w.work(t, "settings", w.configMap("settings", nil))
	w.isApplied(t, work)
	w.end(t, work, contract.DeletionRemoved)
	g.Eventually(kept.refused.Load).WithTimeout(waitTimeout).Should(BeNumerically(">=", 3))
	g.Expect(w.requests.about("DELETE")).To(BeEmpty())
	g.Expect(w.get(g, "settings").DeletionTimestamp).To(BeNil())
	kept.mended.Store(true)
	w.isGone(t, work)
	g.Expect(w.requests.about("DELETE")).To(HaveLen(1))
}

// TestLettingGoOfAWorkWaitsForTheJournal checks the same of a Work that somebody deletes: while the hub has it, the
// journal must keep that its objects are only to be observed.
func TestLettingGoOfAWorkWaitsForTheJournal(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c, kept := cluster.Shared(t, cluster.Options{Profile: cluster.Hub}), &brokenJournal{}
	w := unstarted(t)
	w.journal = kept
	w.start(t, c.Config, native.New())
	work := w.work(t, "settings", w.configMap("settings", nil))
	w.isApplied(t, work)
	g.Expect(w.client.Delete(t.Context(), work)).To(Succeed())
	g.Eventually(kept.refused.Load).WithTimeout(waitTimeout).Should(BeNumerically(">=", 6)) // twice for each look
	g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(work), work)).To(Succeed())
	g.Expect(work.Finalizers).To(ContainElement(contract.ExecutionFinalizer))
	kept.mended.Store(true)
	w.isGone(t, work)
	g.Expect(w.get(g, "settings").DeletionTimestamp).To(BeNil())
}

func TestADeletedWorkSparesAnObjectThatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	g.Expect(w.client.Create(t.Context(), w.configMap("settings", map[string]string{"a": "theirs"}))).To(Succeed())
	work := w.work(t, "settings", w.configMap("settings", map[string]string{"a": "ours"}))
	w.isNotApplied(t, work)
	w.end(t, work, contract.DeletionRemoved)
	w.isGone(t, work)
	g.Expect(w.get(g, "settings").Data).To(Equal(map[string]string{"a": "theirs"}))
}

// TestTheEndOfAWorkLetsGoOfWhatIsRefused covers a manifest that an earlier version of the agent applied and this one
// refuses: the object stays, without our marks.
func TestTheEndOfAWorkLetsGoOfWhatIsRefused(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	g.Expect(w.client.Create(t.Context(), w.marked("settings"))).To(Succeed())
	work := w.work(t, "settings", w.configMap("settings", nil), w.configMap("absent", nil))
	w.change(t, work, func(work *workv1alpha1.Work) {
		work.Annotations = map[string]string{contract.ResourceBindingNamespaceAnnotation: "elsewhere", contract.ResourceBindingNameAnnotation: "x"}
	})
	w.end(t, work, contract.DeletionRemoved)
	w.isGone(t, work)
	live := w.get(g, "settings")
	g.Expect(live.DeletionTimestamp).To(BeNil())
	g.Expect(live.Data).To(Equal(map[string]string{"a": "1"}))
	g.Expect(live.Labels).NotTo(HaveKey(contract.ManagedLabel))
	g.Expect(live.Annotations).NotTo(HaveKey(contract.WorkNameAnnotation))
}

func TestAnObjectThatIsToStayLosesOurMarksOnly(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	manifest := w.configMap("settings", map[string]string{"a": "1"})
	manifest.Labels = map[string]string{
		"app": "web", contract.WorkPermanentIDLabel: "w", contract.ClusterResourceBindingPermanentIDLabel: "b",
	}
	manifest.Annotations = map[string]string{
		"note": "kept", contract.ConflictResolutionAnnotation: "abort", contract.ClusterResourceBindingNameAnnotation: "b",
		contract.ManagedLabelsAnnotation: "app", contract.TemplateUIDAnnotation: "u",
	}
	work := w.work(t, "settings", manifest, w.configMap("absent", nil))
	w.change(t, work, func(work *workv1alpha1.Work) { work.Spec.PreserveResourcesOnDeletion = new(true) })
	w.isApplied(t, work)
	w.end(t, work, contract.DeletionRemoved)
	w.isGone(t, work)
	cm := w.get(g, "settings")
	g.Expect(cm.Labels).To(Equal(map[string]string{"app": "web"}))
	g.Expect(cm.Annotations).To(Equal(map[string]string{"note": "kept"}))
	g.Expect(cm.Data).To(Equal(map[string]string{"a": "1"}))
}

func TestPreservingAnObjectThatIsMissingIsFine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	manifest := w.configMap("settings", nil)
	manifest.Namespace = w.member + "-never"
	work := w.work(t, "settings", manifest, map[string]any{
		"apiVersion": "shop.example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "one", "namespace": w.member},
	})
	w.change(t, work, func(work *workv1alpha1.Work) { work.Spec.PreserveResourcesOnDeletion = new(true) })
	w.end(t, work, contract.DeletionRemoved)
	w.isGone(t, work)
}

func TestAWorkThatIsMerelyAbsentDeletesNothing(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	work := w.work(t, "settings", w.configMap("settings", map[string]string{"a": "1"}))
	w.isApplied(t, work)
	// After a restore of the hub a Work may be gone without our finalizer having been removed by us.
	w.change(t, work, func(work *workv1alpha1.Work) { work.Finalizers = []string{"test.example.com/hold"} })
	g.Expect(w.client.Delete(t.Context(), work)).To(Succeed())
	w.change(t, work, func(work *workv1alpha1.Work) { work.Finalizers = nil })
	w.isGone(t, work)
	other := w.work(t, "other", w.configMap("other", nil))
	w.isApplied(t, other)
	g.Consistently(func(g Gomega) { g.Expect(w.get(g, "settings").DeletionTimestamp).To(BeNil()) }).
		WithTimeout(300 * time.Millisecond).Should(Succeed())
	g.Expect(w.requests.about("DELETE")).To(BeEmpty())
}

func TestAWorkWithoutTheFinalizerGetsIt(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: w.works, Name: "settings"}}
	work.Spec.Workload.Manifests = raw(t, w.configMap("settings", nil))
	g.Expect(w.client.Create(t.Context(), work)).To(Succeed())
	w.isApplied(t, work)
	g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(work), work)).To(Succeed())
	g.Expect(work.Finalizers).To(ContainElement(contract.ExecutionFinalizer))
}

func TestARestartedAgentChangesNothingInTheMember(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := newWorld(t)
	work := w.work(t, "settings", w.configMap("settings", map[string]string{"a": "1"}))
	w.isApplied(t, work)
	before := w.get(g, "settings")

	again := &world{client: w.client, works: w.works, member: w.member, requests: &requests{}, reports: newReports(), events: &events{}}
	again.start(t, cluster.Shared(t, cluster.Options{Profile: cluster.Hub}).Config, native.New())
	again.isApplied(t, work)
	g.Expect(w.get(g, "settings").ResourceVersion).To(Equal(before.ResourceVersion))
	g.Expect(again.requests.about("PATCH /api/v1/namespaces/"+w.member+"/configmaps/settings")).To(HaveLen(1), "applied once, to the same effect")
	g.Expect(len(again.requests.about("/configmaps/settings"))).To(BeNumerically("<=", 2), "read at most once, where the informer is slow")
}

// readDeployment reads a Deployment of the member.
func (w *world) readDeployment(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	out := &unstructured.Unstructured{}
	out.SetAPIVersion("apps/v1")
	out.SetKind("Deployment")
	NewWithT(t).Expect(w.client.Get(t.Context(), client.ObjectKey{Namespace: w.member, Name: name}, out)).To(Succeed())
	return out
}
