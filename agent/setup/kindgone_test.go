package setup_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/setup"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// asked counts the lists and watches of one resource.
type asked struct {
	resource string

	mu    sync.Mutex
	count int
}

func (a *asked) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if strings.HasSuffix(request.URL.Path, "/"+a.resource) && request.Method == http.MethodGet {
			a.mu.Lock()
			a.count++
			a.mu.Unlock()
		}
		return next.RoundTrip(request)
	})
}

func (a *asked) times() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.count
}

// gauges is the definition of a kind that only this test has.
func gauges() *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gauges.gone.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "gone.example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "gauges", Singular: "gauge", Kind: "Gauge", ListKind: "GaugeList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
			}},
		},
	}
}

// TestTheWatchOfAKindEndsWithItsDefinitionAndBeginsAgain checks that the agent reports a kind whose
// CustomResourceDefinition is deleted, stops its informer, and starts it again when the kind is back.
func TestTheWatchOfAKindEndsWithItsDefinitionAndBeginsAgain(t *testing.T) {
	t.Parallel()
	g, w, lists := NewWithT(t), newJoined(t, "kind-gone"), &asked{resource: "gauges"}
	member := rest.CopyConfig(w.config)
	member.Wrap(lists.wrap)
	g.Expect(w.client.Create(t.Context(), gauges())).To(Succeed())
	w.run(t, func(o *setup.Options) { o.Member = member })
	w.place(t)
	gauge := func() *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "gone.example.com/v1", "kind": "Gauge", "metadata": map[string]any{"name": "pressure", "namespace": w.member},
		}}
	}
	work := w.work(t, "gauge", gauge())
	w.isWell(t, work)

	g.Expect(w.client.Delete(t.Context(), gauges())).To(Succeed())
	g.Eventually(func(g Gomega) {
		_, applied, notWatched := w.fares(g, work)
		g.Expect(applied.Status).To(Equal(metav1.ConditionFalse))
		g.Expect(applied.Message).To(And(ContainSubstring("the kind Gauge of gone.example.com/v1"), ContainSubstring("install its CustomResourceDefinition there")))
		g.Expect(notWatched.Reason).To(Equal(workv1alpha1.ReasonKindNotServed))
		g.Expect(notWatched.Message).To(ContainSubstring("install its CustomResourceDefinition there"))
	}).WithTimeout(waitTimeout).Should(Succeed())
	before := lists.times()
	g.Consistently(lists.times).WithTimeout(20*time.Second).WithPolling(time.Second).Should(Equal(before), "an informer that is refused asks for ever")

	g.Expect(w.client.Create(t.Context(), gauges())).To(Succeed())
	w.isWell(t, work)
	g.Expect(lists.times()).To(BeNumerically(">", before))
	g.Expect(w.client.Delete(t.Context(), gauge())).To(Succeed())
	g.Eventually(func() error { return w.client.Get(t.Context(), client.ObjectKeyFromObject(gauge()), gauge()) }).WithTimeout(waitTimeout).Should(Succeed())
}
