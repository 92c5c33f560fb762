package execution_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/test/cluster"
)

// hangingWebhook is an admission webhook of the member that does not answer until it is released.
type hangingWebhook struct {
	answers chan struct{}

	mu    sync.Mutex
	asked int
	// waiting are the numbers of the questions that wait for an answer.
	waiting map[int]bool
}

// ServeHTTP implements http.Handler.
func (h *hangingWebhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // net/http notices a closed connection only once the body is read
	h.mu.Lock()
	h.asked++
	number := h.asked
	h.waiting[number] = true
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.waiting, number)
	}()
	select {
	case <-r.Context().Done():
		return
	case <-h.answers:
	}
	review := admissionv1.AdmissionReview{}
	if err := json.Unmarshal(body, &review); err != nil {
		panic(err)
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	review.Request = nil
	if err := json.NewEncoder(w).Encode(review); err != nil && r.Context().Err() == nil { // the caller may be gone
		panic(err)
	}
}

func (h *hangingWebhook) questions() (asked int, waiting map[int]bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	waiting = map[int]bool{}
	for number := range h.waiting {
		waiting[number] = true
	}
	return h.asked, waiting
}

// hangs makes the member call a webhook that does not answer for the ConfigMaps of a namespace.
func (w *world) hangs(t *testing.T, namespace string) (*hangingWebhook, *unstructured.Unstructured) {
	t.Helper()
	g := NewWithT(t)
	h := &hangingWebhook{answers: make(chan struct{}), waiting: map[int]bool{}}
	server := httptest.NewTLSServer(h)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "hangs-" + namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "hangs.example.com", AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: new(int32(1)),
			SideEffects: new(admissionregistrationv1.SideEffectClassNone), FailurePolicy: new(admissionregistrationv1.Fail),
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL: &server.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		}},
	})
	g.Expect(err).NotTo(HaveOccurred())
	configuration := &unstructured.Unstructured{Object: fields}
	configuration.SetGroupVersionKind(admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration"))
	g.Expect(w.client.Create(t.Context(), configuration)).To(Succeed())
	t.Cleanup(func() {
		g.Expect(client.IgnoreNotFound(w.client.Delete(context.Background(), configuration))).To(Succeed())
	})
	return h, configuration
}

// TestAWebhookThatHangsDelaysOnlyWhatItIsAskedAbout checks that a hanging webhook occupies a few workers only, and
// others' Works have the rest.
func TestAWebhookThatHangsDelaysOnlyWhatItIsAskedAbout(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	h, configuration := w.hangs(t, w.member)
	var works []*workv1alpha1.Work
	for i := range 24 {
		name := fmt.Sprintf("settings-%d", i)
		works = append(works, w.work(t, name, w.configMap(name, nil)))
	}
	g.Eventually(func() int { asked, _ := h.questions(); return asked }).WithTimeout(waitTimeout).Should(BeNumerically(">=", 16), "it is known to hang")
	g.Eventually(func() string { return w.reports.applied(works[0]).Message }).WithTimeout(waitTimeout).ShouldNot(BeEmpty())

	// From here on requests block until the webhook answers, and so do the workers that made them.
	patient := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"replace","path":"/webhooks/0/timeoutSeconds","value":30}]`))
	g.Expect(w.client.Patch(t.Context(), configuration, patient)).To(Succeed())
	var held map[int]bool
	waits := func() int {
		_, held = h.questions()
		return len(held)
	}
	g.Eventually(waits).WithTimeout(waitTimeout).Should(Equal(2))
	g.Consistently(waits).WithTimeout(4*time.Second).Should(BeNumerically("<=", 2), "no more workers wait for it")

	elsewhere := cluster.Shared(t, cluster.Options{Profile: cluster.Hub}).Namespace(t)
	other := &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: elsewhere, Name: "other"}}
	w.isApplied(t, w.work(t, "other", other))
	near := w.configMap("near", nil)
	near.Namespace = elsewhere
	w.isApplied(t, w.work(t, "near", near))
	_, still := h.questions()
	g.Expect(still).To(Equal(held), "no worker came free meanwhile")

	// When it answers all are applied.
	close(h.answers)
	for _, work := range works {
		g.Eventually(func() metav1.ConditionStatus { return w.reports.applied(work).Status }).WithTimeout(3 * waitTimeout).Should(Equal(metav1.ConditionTrue))
	}
}

// What waits for the member is tried again after what somebody changed.
func TestRetriesComeLast(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	manifest := w.configMap("settings", nil)
	manifest.Namespace = "not-in-" + w.member
	work := w.work(t, "waits", manifest)
	g.Expect(w.isNotApplied(t, work)).To(ContainSubstring("does not exist"))
	result, err := w.executor.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(work)})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(BeNumerically(">", time.Duration(0)))
	g.Expect(result.Priority).To(HaveValue(Equal(handler.LowPriority)))
}
