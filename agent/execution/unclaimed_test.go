package execution_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/execution"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/test/cluster"
)

// vanish removes a Work behind the agent's back, as a hub restored from an older backup does.
func (w *world) vanish(t *testing.T, work *workv1alpha1.Work) {
	t.Helper()
	w.change(t, work, func(work *workv1alpha1.Work) { work.Finalizers = []string{"test.example.com/hold"} })
	w.change(t, work, func(work *workv1alpha1.Work) { work.Finalizers = nil })
	NewWithT(t).Expect(w.client.Delete(t.Context(), work)).To(Succeed())
	w.isGone(t, work)
}

func TestTheObjectsOfAnAbsentWorkStayAreReportedAndAreClaimedAgain(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	work := w.work(t, "settings", w.configMap("one", map[string]string{"a": "1"}), w.configMap("two", nil))
	w.isApplied(t, work)
	first := w.get(g, "one")
	g.Expect(w.executor.Unclaimed()).To(BeZero())

	// The finalizer is removed first; the agent does not add it to a Work that does not change.
	fresh := &workv1alpha1.Work{}
	g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(work), fresh)).To(Succeed())
	w.vanish(t, fresh)
	g.Eventually(w.executor.Unclaimed).WithTimeout(waitTimeout).Should(Equal(2))
	g.Eventually(w.events.all).WithTimeout(waitTimeout).Should(ConsistOf(And(
		HavePrefix("Unclaimed: 2 objects in the member name this Work"),
		ContainSubstring("ConfigMap "+w.member+"/one, ConfigMap "+w.member+"/two"))))
	g.Expect(w.requests.about("DELETE")).To(BeEmpty())

	// Somebody deletes one of them in the member.
	g.Expect(w.client.Delete(t.Context(), w.get(g, "two"))).To(Succeed())
	g.Eventually(w.executor.Unclaimed).WithTimeout(waitTimeout).Should(Equal(1))

	again := w.work(t, "settings", w.configMap("one", map[string]string{"a": "2"}))
	w.isApplied(t, again)
	g.Eventually(w.executor.Unclaimed).WithTimeout(waitTimeout).Should(BeZero())
	// The former Work of this name was reported as applied as well, so wait for the content.
	g.Eventually(func(g Gomega) { g.Expect(w.get(g, "one").Data).To(HaveKeyWithValue("a", "2")) }).Should(Succeed())
	g.Expect(w.get(g, "one").UID).To(Equal(first.UID))
}

func TestADroppedObjectIsUnclaimed(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	work := w.work(t, "settings", w.configMap("one", nil), w.configMap("two", nil))
	w.isApplied(t, work)
	w.change(t, work, func(work *workv1alpha1.Work) { work.Spec.Workload.Manifests = raw(t, w.configMap("one", nil)) })
	g.Eventually(w.executor.Unclaimed).WithTimeout(waitTimeout).Should(Equal(1))
	g.Eventually(w.events.all).WithTimeout(waitTimeout).Should(ConsistOf(ContainSubstring("ConfigMap " + w.member + "/two")))
	g.Expect(w.get(g, "two").DeletionTimestamp).To(BeNil())
}

func TestAWorkThatEndsLeavesNothingUnclaimed(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	// Another Work keeps the kind in use.
	w.isApplied(t, w.work(t, "other", w.configMap("other", nil)))
	// On a machine so busy that the agent gets the hub's events seconds before the member's, it may count, and
	// report, objects that are already gone, but not every time.
	g.Eventually(func() []string {
		told := len(w.events.all())
		for _, preserve := range []bool{false, true} {
			work := w.work(t, "settings", w.configMap("settings", nil))
			w.change(t, work, func(work *workv1alpha1.Work) { work.Spec.PreserveResourcesOnDeletion = &preserve })
			w.isApplied(t, work)
			w.end(t, work, contract.DeletionRemoved)
			w.isGone(t, work)
		}
		w.claimsAll(t)
		settings := w.get(g, "settings")
		g.Expect(settings.Labels).NotTo(HaveKey(contract.ManagedLabel))
		g.Expect(w.client.Delete(t.Context(), settings)).To(Succeed())
		return w.events.all()[told:]
	}).WithTimeout(waitTimeout).Should(BeEmpty())
	g.Expect(w.get(g, "other").ObjectMeta).To(HaveField("DeletionTimestamp", (*metav1.Time)(nil)))
}

// claimsAll waits until nothing has been unclaimed for three seconds, in which the agent counts more than once.
func (w *world) claimsAll(t *testing.T) {
	t.Helper()
	since := time.Now()
	NewWithT(t).Eventually(func() time.Duration {
		if w.executor.Unclaimed() > 0 {
			since = time.Now()
		}
		return time.Since(since)
	}).WithTimeout(waitTimeout).Should(BeNumerically(">=", 3*time.Second))
}

// removals is a Journal that records for which Works it was told that nothing is left.
type removals struct {
	mu    sync.Mutex
	works []string
}

func (*removals) Put(*workv1alpha1.Work) bool    { return true }
func (*removals) Absent(*workv1alpha1.Work) bool { return true }

func (*removals) PutKinds([]schema.GroupVersionKind)          {}
func (*removals) PutDeletions([]metav1.PartialObjectMetadata) {}

func (r *removals) Remove(work types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.works = append(r.works, work.Name)
}

func (r *removals) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.works)
}

// TestAnAbsentWorkIsRememberedThoughTheMemberDoesNotAnswerAtFirst starts an agent on a hub that was restored from a
// backup, while discovery of the member fails at first: that is no reason to forget the objects in it.
func TestAnAbsentWorkIsRememberedThoughTheMemberDoesNotAnswerAtFirst(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	forgotten := &removals{}
	w := unstarted(t)
	w.journal = forgotten
	g.Expect(w.client.Create(t.Context(), w.marked("settings"))).To(Succeed())
	for _, name := range []string{"settings", "gone"} { // of the other one nothing is left
		work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: w.works, Name: name}}
		work.Spec.Workload.Manifests = raw(t, w.configMap(name, nil))
		w.kept = append(w.kept, execution.Kept{Work: work})
	}
	config := rest.CopyConfig(c.Config)
	var tries atomic.Int32
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			if strings.Count(req.URL.Path, "/") <= 2 && tries.Add(1) <= 6 { // /api, /api/v1, /apis
				return nil, errors.New("nobody answers")
			}
			return next.RoundTrip(req)
		})
	})
	w.startBetween(t, c.Config, config, native.New())
	g.Eventually(w.executor.Unclaimed).WithTimeout(waitTimeout).Should(Equal(1))
	g.Eventually(forgotten.all).WithTimeout(waitTimeout).Should(ContainElement("gone"))
	g.Consistently(forgotten.all).WithTimeout(1500 * time.Millisecond).Should(ConsistOf("gone"))
}

// TestTheObjectsOfAnAbsentWorkAreLeftAloneWithoutTheHub starts an agent without its hub: the objects of a Work that
// was absent at the last contact must not be reverted now either.
func TestTheObjectsOfAnAbsentWorkAreLeftAloneWithoutTheHub(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	w := unstarted(t)
	g.Expect(w.client.Create(t.Context(), w.marked("left"))).To(Succeed())
	for name, absent := range map[string]bool{"left": true, "kept": false} {
		work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: w.works, Name: name}}
		work.Spec.Workload.Manifests = raw(t, w.configMap(name, map[string]string{"a": "2"}))
		w.kept = append(w.kept, execution.Kept{Work: work, Absent: absent})
	}
	away := rest.CopyConfig(c.Config)
	away.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			if strings.HasSuffix(req.URL.Path, "/works") {
				return nil, errors.New("nobody answers")
			}
			return next.RoundTrip(req)
		})
	})
	w.startBetween(t, away, c.Config, native.New())
	var first types.UID
	for range 2 { // made, and made again
		g.Eventually(func(g Gomega) { g.Expect(w.get(g, "kept").UID).NotTo(Equal(first)) }).WithTimeout(waitTimeout).Should(Succeed())
		first = w.get(g, "kept").UID
		g.Expect(w.client.Delete(t.Context(), w.get(g, "kept"))).To(Succeed())
	}
	g.Expect(w.requests.about("/configmaps/left")).To(BeEmpty())
	g.Expect(w.get(g, "left").Data).To(Equal(map[string]string{"a": "1"}))
}

// An object is seen once by each version of its kind that is watched, and is one object of one Work.
func TestAnObjectWatchedInTwoVersionsIsClaimed(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	autoscaler := func(version string) map[string]any {
		return map[string]any{
			"apiVersion": "autoscaling/" + version, "kind": "HorizontalPodAutoscaler",
			"metadata": map[string]any{"name": version, "namespace": w.member},
			"spec":     map[string]any{"maxReplicas": 3, "scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": version}},
		}
	}
	first, second := w.work(t, "first", autoscaler("v1")), w.work(t, "second", autoscaler("v2"))
	w.isApplied(t, first)
	w.isApplied(t, second)
	g.Consistently(w.executor.Unclaimed).WithTimeout(3 * time.Second).Should(BeZero())
	g.Expect(w.events.all()).To(BeEmpty())

	g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(first), first)).To(Succeed())
	w.vanish(t, first)
	g.Eventually(w.executor.Unclaimed).WithTimeout(waitTimeout).Should(Equal(1))
	g.Consistently(w.executor.Unclaimed).WithTimeout(3*time.Second).Should(Equal(1), "it is one object")
}
