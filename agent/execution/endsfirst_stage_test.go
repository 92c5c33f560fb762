package execution_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

// forbidden is the answer of an API server to a client without the right.
func forbidden(req *http.Request) (*http.Response, error) {
	body, err := json.Marshal(apierrors.NewForbidden(corev1.Resource("configmaps"), "", nil).Status())
	return &http.Response{
		Status: "403 Forbidden", StatusCode: http.StatusForbidden, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)),
	}, err
}

// What the member does not let the agent delete does not go with its Namespace either, which the agent deletes with other rights. Both of
// their Works end, and that of the Namespace first.
func TestAnUndeletableObjectKeepsItsNamespace(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), unstarted(t)
	namespace := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: w.member + "-bound"}}
	settings, other := w.configMap("settings", nil), w.configMap("other", nil)
	settings.Namespace, other.Namespace = namespace.Name, namespace.Name
	var may atomic.Bool
	c := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	w.startBetween(t, c.Config, stagetest.Intercept(c.Config, func(req *http.Request) (*http.Response, error) {
		if req.Method == http.MethodDelete && strings.HasSuffix(req.URL.Path, "/configmaps/settings") && !may.Load() {
			return forbidden(req)
		}
		return nil, nil
	}), native.New())
	around, inside := w.work(t, "around", namespace, other), w.work(t, "inside", settings)
	for _, work := range []*workv1alpha1.Work{around, inside} {
		w.isApplied(t, work)
	}
	first := w.uid(t, namespace)
	for _, work := range []*workv1alpha1.Work{around, inside} {
		w.end(t, work, contract.DeletionRemoved)
	}
	g.Eventually(w.events.all).WithTimeout(waitTimeout).Should(ContainElement(HavePrefix("DeletionFailed: ConfigMap " + namespace.Name + "/settings")))
	g.Eventually(w.events.all).WithTimeout(waitTimeout).Should(ContainElement(And(
		HavePrefix("ContentsWanted: Namespace "+namespace.Name), ContainSubstring("ConfigMap "+namespace.Name+"/settings of Work inside"))))
	g.Consistently(func(g Gomega) {
		live := namespace.DeepCopy()
		g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(namespace), live)).To(Succeed())
		g.Expect(live.DeletionTimestamp).To(BeNil())
		g.Expect(w.uid(t, settings)).NotTo(BeEmpty())
	}).WithTimeout(500 * time.Millisecond).Should(Succeed())
	g.Expect(w.uid(t, namespace)).To(Equal(first))

	may.Store(true)
	w.isGone(t, inside)
	w.isGone(t, around)
	g.Expect(w.uid(t, settings)).To(BeEmpty())
}
