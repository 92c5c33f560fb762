package setup_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

func TestAConfigMapCostsOneWriteOfStatus(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t, "one-write")
	work := w.work(t, "settings", w.configMap("settings"))
	g.Eventually(func(g Gomega) {
		status := w.read(g, work).Status
		g.Expect(meta.IsStatusConditionTrue(status.Conditions, workv1alpha1.WorkApplied)).To(BeTrue())
		g.Expect(meta.IsStatusConditionTrue(status.Conditions, workv1alpha1.WorkDispatching)).To(BeTrue())
		g.Expect(status.ManifestStatuses).To(Equal([]workv1alpha1.ManifestStatus{{
			Identifier: workv1alpha1.ResourceIdentifier{Version: "v1", Kind: "ConfigMap", Namespace: w.member, Name: "settings"},
			Health:     workv1alpha1.Healthy,
		}}))
	}).WithTimeout(waitTimeout).Should(Succeed())
	g.Consistently(func() []string { return w.writes.about("/" + w.works + "/") }).WithTimeout(time.Second).Should(HaveLen(1))

	// A change costs one more: the report of the new generation.
	fresh := w.read(g, work)
	before := fresh.DeepCopy()
	fresh.Spec.Workload.Manifests[0].Raw = []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"` + w.member + `"},"data":{"a":"2"}}`)
	g.Expect(w.client.Patch(t.Context(), fresh, client.MergeFrom(before))).To(Succeed())
	g.Eventually(func(g Gomega) {
		applied := meta.FindStatusCondition(w.read(g, work).Status.Conditions, workv1alpha1.WorkApplied)
		g.Expect(applied.ObservedGeneration).To(Equal(fresh.Generation))
	}).WithTimeout(waitTimeout).Should(Succeed())
	g.Consistently(func() []string { return w.writes.about("/" + w.works + "/") }).WithTimeout(time.Second).Should(HaveLen(2))
}

func TestStatusOfTheMemberReachesTheWork(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t, "reflects")
	work := w.work(t, "web", w.deployment("web"), w.configMap("settings"))
	g.Eventually(func(g Gomega) {
		statuses := w.read(g, work).Status.ManifestStatuses
		g.Expect(statuses).To(HaveLen(2))
		g.Expect(statuses[0].Identifier).To(Equal(workv1alpha1.ResourceIdentifier{
			Group: "apps", Version: "v1", Kind: "Deployment", Namespace: w.member, Name: "web",
		}))
		g.Expect(statuses[0].Health).To(Equal(workv1alpha1.Unhealthy))
		g.Expect(statuses[1].Identifier.Ordinal).To(Equal(1))
		g.Expect(statuses[1].Health).To(Equal(workv1alpha1.Healthy))
	}).WithTimeout(waitTimeout).Should(Succeed())

	// A rollout: many changes at once are few writes.
	before := len(w.writes.about("/works/web/status"))
	for ready := range 3 {
		g.Expect(w.setStatus(t, "web", map[string]any{
			"observedGeneration": int64(1), "replicas": int64(2), "updatedReplicas": int64(2),
			"readyReplicas": int64(ready), "availableReplicas": int64(ready),
		})).To(Succeed())
	}
	g.Eventually(func(g Gomega) {
		status := w.read(g, work).Status.ManifestStatuses[0]
		g.Expect(status.Health).To(Equal(workv1alpha1.Healthy))
		g.Expect(status.Status.Raw).To(MatchJSON(
			`{"availableReplicas":2,"generation":1,"observedGeneration":1,"readyReplicas":2,"replicas":2,"resourceTemplateGeneration":1,"updatedReplicas":2}`))
	}).WithTimeout(waitTimeout).Should(Succeed())
	g.Expect(len(w.writes.about("/works/web/status")) - before).To(BeNumerically("<=", 3))
}

func TestAStatusThatSomebodyElseWroteIsPutRight(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t, "restored")
	work := w.work(t, "settings", w.configMap("settings"))
	applied := func(g Gomega) {
		status := w.read(g, work).Status
		g.Expect(meta.IsStatusConditionTrue(status.Conditions, workv1alpha1.WorkApplied)).To(BeTrue())
		g.Expect(status.ManifestStatuses).To(HaveLen(1))
	}
	g.Eventually(applied).WithTimeout(waitTimeout).Should(Succeed())
	fresh := w.read(g, work)
	before := fresh.DeepCopy()
	fresh.Status = workv1alpha1.WorkStatus{}
	g.Expect(w.client.Status().Patch(t.Context(), fresh, client.MergeFrom(before))).To(Succeed())
	g.Eventually(applied).WithTimeout(waitTimeout).Should(Succeed())
}

func TestARefusalIsToldOnceWithTheReason(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t, "refuses")
	bad := w.deployment("web")
	g.Expect(unstructured.SetNestedField(bad.Object, "not a number", "spec", "replicas")).To(Succeed())
	work := w.work(t, "web", bad)
	g.Eventually(func(g Gomega) {
		c := meta.FindStatusCondition(w.read(g, work).Status.Conditions, workv1alpha1.WorkApplied)
		g.Expect(c).NotTo(BeNil())
		g.Expect(c.Status).To(Equal(metav1.ConditionFalse))
		g.Expect(c.Reason).To(Equal(workv1alpha1.ReasonAppliedFailed))
		g.Expect(c.Message).To(ContainSubstring("Deployment " + w.member + "/web: the member refuses it: "))
	}).WithTimeout(waitTimeout).Should(Succeed())
	failures := func(g Gomega) []eventsv1.Event {
		list := &eventsv1.EventList{}
		g.Expect(w.client.List(t.Context(), list, client.InNamespace(w.works))).To(Succeed())
		return slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool { return e.Reason != "SyncFailed" })
	}
	g.Eventually(failures).WithTimeout(waitTimeout).Should(ConsistOf(And(
		HaveField("Type", corev1.EventTypeWarning),
		HaveField("Regarding.Name", "web"),
		HaveField("Note", ContainSubstring("Failed to sync work("+w.works+"/web) to cluster(refuses), err: ")))))

	// The agent retries, without writing anything.
	g.Consistently(func() []string { return w.writes.about("/works/web/status") }).WithTimeout(3 * time.Second).Should(HaveLen(1))
	g.Expect(failures(g)).To(HaveLen(1))

	// Once the manifest is fixed, the Work is applied.
	fresh := w.read(g, work)
	before := fresh.DeepCopy()
	raw, err := w.deployment("web").MarshalJSON()
	g.Expect(err).NotTo(HaveOccurred())
	fresh.Spec.Workload.Manifests[0].Raw = raw
	g.Expect(w.client.Patch(t.Context(), fresh, client.MergeFrom(before))).To(Succeed())
	g.Eventually(func(g Gomega) {
		g.Expect(meta.IsStatusConditionTrue(w.read(g, work).Status.Conditions, workv1alpha1.WorkApplied)).To(BeTrue())
	}).WithTimeout(waitTimeout).Should(Succeed())
}

func TestManyWorksCostOneWriteEach(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t, "many")
	const n = 50
	for i := range n {
		name := "settings-" + strconv.Itoa(i)
		w.work(t, name, w.configMap(name))
	}
	g.Eventually(func() []string { return w.writes.about("/works/") }).WithTimeout(waitTimeout).Should(HaveLen(n))
	g.Consistently(func() []string { return w.writes.about("/works/") }).WithTimeout(time.Second).Should(HaveLen(n))
}

// clusterWrites is how many writes the Cluster's own status took.
func clusterWrites(w *world) int { return len(w.writes.about("/clusters/" + w.name + "/status")) }

// setStatus plays the controller of Deployments.
func (w *world) setStatus(t *testing.T, name string, status map[string]any) error {
	t.Helper()
	live := &unstructured.Unstructured{}
	live.SetAPIVersion("apps/v1")
	live.SetKind("Deployment")
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: w.member, Name: name}, live); err != nil {
		return err
	}
	before := live.DeepCopy()
	live.Object["status"] = status
	return w.client.Status().Patch(t.Context(), live, client.MergeFrom(before))
}
