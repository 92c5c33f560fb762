package status

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

// TestAMarkThatWasNotWrittenIsWrittenLater has the agent write a Work just before the hub sets StatusLeftOut on it, so that the hub's write
// conflicts.
func TestAMarkThatWasNotWrittenIsWrittenLater(t *testing.T) {
	g := NewWithT(t)
	c := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	s := &stage{client: c.Client(t), namespace: c.Namespace(t), seen: &recorder{}, interpreter: &exceeding{Interpreter: native.New()}}
	s.prefix = s.namespace + "-es-"
	s.open(t, "edge-1", "edge-2", "edge-3")
	var refused atomic.Bool
	s.run(t, stagetest.Intercept(c.Config, func(req *http.Request) (*http.Response, error) {
		if req.Method != http.MethodPatch || !strings.Contains(req.URL.Path, s.prefix+"edge-2/works/") || !refused.CompareAndSwap(false, true) {
			return nil, nil
		}
		return &http.Response{
			StatusCode: http.StatusConflict, Header: http.Header{"Content-Type": {"application/json"}}, Request: req,
			Body: io.NopCloser(strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409,"message":"written meanwhile"}`)),
		}, nil
	}), "v1")
	b := s.binding(t, s.deployment(t), "edge-1", "edge-2")
	honest, liar := s.work(t, b, "edge-1"), s.work(t, b, "edge-2")
	s.report(t, honest, b, "", one)
	s.report(t, liar, b, "", strings.Replace(one, "{", `{"lie":1,`, 1))
	g.Eventually(func(g Gomega) {
		g.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(liar), liar)).To(Succeed())
		g.Expect(meta.IsStatusConditionTrue(liar.Status.Conditions, workv1alpha1.WorkStatusLeftOut)).To(BeTrue())
	}, "1m", "50ms").Should(Succeed())
	g.Expect(refused.Load()).To(BeTrue())
}
