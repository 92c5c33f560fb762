package execution_test

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// patch changes an object of the member as somebody there.
func (w *world) patch(t *testing.T, obj client.Object, somebody string, patch any) {
	t.Helper()
	g := NewWithT(t)
	text, err := json.Marshal(patch)
	g.Expect(err).NotTo(HaveOccurred())
	kind := types.MergePatchType
	if u, ok := obj.(*unstructured.Unstructured); ok && u.GetKind() == "Deployment" {
		kind = types.StrategicMergePatchType
	}
	g.Expect(w.client.Patch(t.Context(), obj, client.RawPatch(kind, text), client.FieldOwner(somebody))).To(Succeed())
}

// isCalm waits until all that was noticed has been dealt with, and returns how many
// requests were made about a text by then.
func (w *world) calm(t *testing.T, work *workv1alpha1.Work, about string) int {
	t.Helper()
	reported := func() int {
		w.reports.mu.Lock()
		defer w.reports.mu.Unlock()
		return w.reports.count[client.ObjectKeyFromObject(work)]
	}
	before := reported()
	w.change(t, work, func(work *workv1alpha1.Work) {
		work.Spec.PreserveResourcesOnDeletion = new(work.Spec.PreserveResourcesOnDeletion == nil || !*work.Spec.PreserveResourcesOnDeletion)
	})
	NewWithT(t).Eventually(reported).WithTimeout(waitTimeout).Should(BeNumerically(">", before))
	w.isApplied(t, work)
	return len(w.requests.about(about))
}

func TestDriftIsToldWithWhatWasChangedAndByWhom(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	work := w.work(t, "web", w.deployment("web"))
	w.isApplied(t, work)
	w.patch(t, w.readDeployment(t, "web"), "kubectl-edit", map[string]any{"spec": map[string]any{
		"replicas": 7, "paused": true, // the second is nothing of ours
		"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "theirs"}}}},
	}})
	g.Eventually(func() []workv1alpha1.Drift { return w.reports.drifted(work) }).WithTimeout(waitTimeout).Should(HaveLen(1))
	drift := w.reports.drifted(work)[0]
	g.Expect(drift.Identifier).To(Equal(workv1alpha1.ResourceIdentifier{
		Group: "apps", Version: "v1", Kind: "Deployment", Namespace: w.member, Name: "web",
	}))
	g.Expect(drift.Fields).To(Equal([]string{".spec.replicas", `.spec.template.spec.containers[name="c"].image`}))
	g.Expect(drift.ChangedBy).To(Equal([]string{"kubectl-edit"}))
	g.Expect(drift.Time.Time).To(BeTemporally("~", time.Now(), time.Minute))
	live := w.readDeployment(t, "web")
	replicas, _, _ := unstructured.NestedInt64(live.Object, "spec", "replicas")
	paused, _, _ := unstructured.NestedBool(live.Object, "spec", "paused")
	g.Expect(replicas).To(Equal(int64(3)))
	g.Expect(paused).To(BeTrue(), "what we do not set is theirs")

	// A removal leaves no entry in managedFields, so only the object itself shows it.
	w.patch(t, live, "kubectl-label", map[string]any{"metadata": map[string]any{"annotations": map[string]any{contract.WorkNameAnnotation: nil}}})
	g.Eventually(func() []workv1alpha1.Drift { return w.reports.drifted(work) }).WithTimeout(waitTimeout).Should(HaveLen(2))
	g.Expect(w.reports.drifted(work)[1].Fields).To(Equal([]string{".metadata.annotations.work.karmada.io/name"}))

	// The managed label, too: without it the cache no longer selects the object.
	w.patch(t, w.readDeployment(t, "web"), "kubectl-label", map[string]any{"metadata": map[string]any{"labels": map[string]any{contract.ManagedLabel: nil}}})
	g.Eventually(func() []workv1alpha1.Drift { return w.reports.drifted(work) }).WithTimeout(waitTimeout).Should(HaveLen(3))
	g.Expect(w.reports.drifted(work)[2].Fields).To(Equal([]string{".metadata.labels.karmada.io/managed"}))

	g.Expect(w.client.Delete(t.Context(), w.readDeployment(t, "web"), client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
	g.Eventually(func() []workv1alpha1.Drift { return w.reports.drifted(work) }).WithTimeout(waitTimeout).Should(HaveLen(4))
	g.Expect(w.reports.drifted(work)[3]).To(And(HaveField("Deleted", true), HaveField("Fields", BeEmpty())))
}

// TestTheBusinessOfTheMemberIsNoDriftAndAsksNothing checks that changes of fields that belong to the member are not
// drift, and cause no requests.
func TestTheBusinessOfTheMemberIsNoDriftAndAsksNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.watches(t, w.deployment("watched"))
	template := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kubectl.kubernetes.io/restartedAt": "2026-01-01T12:00:00Z"}}}
	sidecar := map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "sidecar", "image": "proxy"}}}}
	for name, theirs := range map[string]map[string]any{
		"restart": {"spec": map[string]any{"template": template}},
		"sidecar": {"spec": map[string]any{"template": sidecar}},
		"pause":   {"spec": map[string]any{"paused": true}},
		"labels":  {"metadata": map[string]any{"labels": map[string]any{"theirs": "yes"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			work := w.work(t, name, w.deployment(name))
			w.isApplied(t, work)
			before := w.calm(t, work, "/deployments/"+name)
			w.patch(t, w.readDeployment(t, name), "somebody", theirs)
			changed := w.readDeployment(t, name).GetResourceVersion()
			g.Expect(w.calm(t, work, "/deployments/"+name)).To(Equal(before))
			g.Consistently(func() []string { return w.requests.about("/deployments/" + name) }).WithTimeout(300 * time.Millisecond).Should(HaveLen(before))
			g.Expect(w.reports.drifted(work)).To(BeEmpty())
			g.Expect(w.readDeployment(t, name).GetResourceVersion()).To(Equal(changed), "it is as they left it")
		})
	}
}

// TestSomebodyWhoTakesOurLabelOffForEverIsNotFoughtWithRequests checks the backoff against somebody who removes the
// managed label again and again.
func TestSomebodyWhoTakesOurLabelOffForEverIsNotFoughtWithRequests(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	work := w.work(t, "settings", w.configMap("settings", nil))
	w.isApplied(t, work)
	g.Consistently(func(g Gomega) {
		w.patch(t, w.get(g, "settings"), "somebody", map[string]any{"metadata": map[string]any{"labels": map[string]any{contract.ManagedLabel: nil}}})
	}).WithTimeout(2 * time.Second).WithPolling(5 * time.Millisecond).Should(Succeed())
	g.Expect(len(w.requests.about("PATCH /api/v1/namespaces/" + w.member + "/configmaps/settings"))).To(BeNumerically("<", 15))
}

func TestRetainedReplicasOfAnAutoscalerAreNoDrift(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	manifest := w.deployment("web")
	manifest.SetLabels(map[string]string{contract.RetainReplicasLabel: contract.LabelTrue})
	work := w.work(t, "web", manifest)
	w.isApplied(t, work)
	for replicas := int64(4); replicas < 8; replicas++ {
		scale := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "autoscaling/v1", "kind": "Scale",
			"metadata": map[string]any{"name": "web", "namespace": w.member},
			"spec":     map[string]any{"replicas": replicas},
		}}
		g.Expect(w.client.SubResource("scale").Update(t.Context(), w.readDeployment(t, "web"), client.WithSubResourceBody(scale))).To(Succeed())
	}
	w.calm(t, work, "/deployments/web")
	g.Consistently(func(g Gomega) {
		got, _, _ := unstructured.NestedInt64(w.readDeployment(t, "web").Object, "spec", "replicas")
		g.Expect(got).To(Equal(int64(7)))
	}).WithTimeout(300 * time.Millisecond).Should(Succeed())
	g.Expect(w.reports.drifted(work)).To(BeEmpty())
}

// TestAStatusThatCountsAsContentIsNotAppliedOverAndOver covers custom kinds without a status subresource, as
// Workflows and Applications of Argo: every change of their status changes the generation.
func TestAStatusThatCountsAsContentIsNotAppliedOverAndOver(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	definition := gadgets()
	definition.SetName("flows.status.example.com")
	g.Expect(unstructured.SetNestedField(definition.Object, "status.example.com", "spec", "group")).To(Succeed())
	g.Expect(unstructured.SetNestedStringMap(definition.Object,
		map[string]string{"plural": "flows", "singular": "flow", "kind": "Flow", "listKind": "FlowList"}, "spec", "names")).To(Succeed())
	w.isApplied(t, w.work(t, "definition", definition))
	flow := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "status.example.com/v1", "kind": "Flow",
		"metadata": map[string]any{"name": "flow", "namespace": w.member},
		"spec":     map[string]any{"steps": []any{map[string]any{"name": "a"}}},
	}}
	other := flow.DeepCopy()
	other.SetName("other")
	w.watches(t, other) // before the agent watches Flows, it reads each by a request, and these are counted
	work := w.work(t, "flow", flow)
	w.isApplied(t, work)
	before := w.calm(t, work, "/flows/flow")
	const n = 30
	for i := range n {
		w.patch(t, flow.DeepCopy(), "controller", map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"phase": "p" + strconv.Itoa(i)}},
			"status":   map[string]any{"step": i},
		})
	}
	live := flow.DeepCopy()
	g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(flow), live)).To(Succeed())
	g.Expect(live.GetGeneration()).To(BeNumerically(">", n), "the status counts")
	g.Expect(w.calm(t, work, "/flows/flow")).To(Equal(before), "no request was made about it")
	g.Expect(w.reports.drifted(work)).To(BeEmpty())

	// Changes of our own fields are still reverted.
	w.patch(t, flow.DeepCopy(), "somebody", map[string]any{"spec": map[string]any{"steps": []any{}}})
	g.Eventually(func() []workv1alpha1.Drift { return w.reports.drifted(work) }).WithTimeout(waitTimeout).
		Should(ConsistOf(HaveField("Fields", Equal([]string{".spec.steps"}))))
}
