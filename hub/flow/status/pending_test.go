package status

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"
)

func TestATemplateIsPendingUntilThisProcessSawToIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	o, key := newPendingTemplates(), types.NamespacedName{Namespace: "shop", Name: "web-deployment"}
	g.Expect(o.has(key)).To(BeTrue(), "the process before us may have written the binding only")
	o.settle(key)
	g.Expect(o.has(key)).To(BeFalse())

	g.Expect(o.failed(key, "refused")).To(BeTrue())
	g.Expect(o.has(key)).To(BeTrue())
	g.Expect(o.failed(key, "refused")).To(BeFalse(), "it is told once")
	g.Expect(o.failed(key, "too large")).To(BeTrue())
	o.settle(key)
	g.Expect(o.has(key)).To(BeFalse())

	o.forget(key)
	g.Expect(o.why).To(BeEmpty())
	g.Expect(o.settled).To(BeEmpty(), "nothing is kept of a binding that is gone")
}
