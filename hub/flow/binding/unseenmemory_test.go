package binding

import (
	"testing"

	. "github.com/onsi/gomega"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
)

func TestWhichEditsWaitForTheDetector(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	template := builder.MakeDeployment("shop", "web").Obj()
	b := &workv1alpha2.ResourceBinding{}
	b.Namespace, b.Name, b.Annotations = "shop", "web-deployment", map[string]string{}
	b.Labels = map[string]string{contract.PropagationPolicyPermanentIDLabel: "p"}
	r := &reconciler{}
	edit := func() { template.SetGeneration(template.GetGeneration() + 1) }
	seen := func(rules string) {
		b.Annotations[contract.TemplateFingerprintAnnotation] = bindings.MadeOf(template, rules)
	}
	waits := func() bool { return r.isUnseen(&scope{binding: b, template: template}) }

	g.Expect(waits()).To(BeFalse(), "nobody says of what template it is")
	edit()
	seen("r1")
	g.Expect(waits()).To(BeFalse())
	edit()
	g.Expect(waits()).To(BeTrue())
	g.Expect(waits()).To(BeTrue(), "until the detector has seen another one")
	seen("r2")
	g.Expect(waits()).To(BeFalse())

	edit()
	g.Expect(waits()).To(BeTrue())
	seen("r2")
	edit()
	g.Expect(waits()).To(BeFalse(), "what is edited all the time would never get anywhere")
	g.Expect(waits()).To(BeTrue())

	b.Labels = nil
	g.Expect(waits()).To(BeTrue(), "no policy has it any more, and it stays as it is")
	b.Spec.RequiredBy = []workv1alpha2.BindingSnapshot{{Namespace: "shop", Name: "other"}}
	g.Expect(waits()).To(BeFalse(), "what needs it has the say")
	g.Expect(r.unseen.seen).To(BeEmpty())
}
