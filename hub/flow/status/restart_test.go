package status

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

// TestAHubThatStartsReadsNoTemplateWhoseStatusIsWritten restarts the stage repeatedly, each time after a change of another input of the
// template's status, or of none.
func TestAHubThatStartsReadsNoTemplateWhoseStatusIsWritten(t *testing.T) {
	g := NewWithT(t)
	c := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	s := &stage{client: c.Client(t), namespace: c.Namespace(t), seen: &recorder{}}
	s.prefix = s.namespace + "-es-"
	s.open(t, "edge-1")
	stop := s.run(t, c.Config, "v1")

	template := s.deployment(t)
	path := "/apis/apps/v1/namespaces/" + s.namespace + "/deployments/" + template.GetName()
	fingerprint := func(obj metav1.Object) client.Patch {
		return client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+contract.TemplateFingerprintAnnotation+`":"`+bindings.MadeOf(obj, "")+`"}}}`))
	}
	b := s.binding(t, template, "edge-1")
	g.Expect(s.client.Patch(t.Context(), b, fingerprint(template))).To(Succeed())
	s.report(t, s.work(t, b, "edge-1"), b, "", one)
	s.eventually(t, b, func(g Gomega, status *workv1alpha2.ResourceBindingStatus) {
		fullyApplied(metav1.ConditionTrue)(g, status)
		g.Expect(status.TemplateStatusOf).NotTo(BeEmpty())
	})

	// started restarts the stage, with changes while it does not run, and returns how often the template is read until its binding is
	// reconciled and nothing else is.
	started := func(program string, changes ...func()) int {
		stop()
		for _, change := range changes {
			change()
		}
		before := s.seen.read(path)
		stop = s.run(t, c.Config, program)
		g.Eventually(func() int { return s.reconciles.Succeeded("status", client.ObjectKeyFromObject(b)) }, stagetest.Timeout, stagetest.Poll).ShouldNot(BeZero())
		s.reconciles.AwaitQuiet(t)
		return s.seen.read(path) - before
	}
	pause := func(paused string) {
		g.Expect(s.client.Patch(t.Context(), template, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"paused":`+paused+`}}`)))).To(Succeed())
		g.Expect(s.client.Patch(t.Context(), b, fingerprint(template))).To(Succeed())
	}
	g.Expect(started("v1")).To(Equal(0), "nothing changed")
	before := b.Status.TemplateStatusOf
	g.Expect(started("v2")).To(Equal(1), "another program may add up otherwise")
	s.eventually(t, b, func(g Gomega, status *workv1alpha2.ResourceBindingStatus) {
		g.Expect(status.TemplateStatusOf).NotTo(Or(BeEmpty(), Equal(before)), "it does not, and the binding says so in time")
	})
	g.Expect(started("v2")).To(Equal(0), "so nothing is read when it starts again")
	g.Expect(started("")).To(Equal(1), "it is not known which program it is")
	g.Expect(started("v1", func() { pause("true") })).To(Equal(1), "the template is another one")
	g.Expect(started("v1", func() {
		pause("false")
		b.Status.TemplateStatusOf = ""
		g.Expect(s.client.Status().Update(t.Context(), b)).To(Succeed())
	})).To(Equal(1), "the hub could not write the template, and says so in the status of the binding")
}

// TestAStatusThatIsNotThatOfAllItemsIsMadeAgain checks that a template counts as written only if it was written from all items.
func TestAStatusThatIsNotThatOfAllItemsIsMadeAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := &Reconciler{program: "v1"}
	ref := workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", UID: "u"}
	made := r.madeOf(ref, "fingerprint", "")
	b := &workv1alpha2.ResourceBinding{}
	b.Annotations = map[string]string{contract.TemplateFingerprintAnnotation: "fingerprint"}
	b.Spec.Resource = ref
	g.Expect(r.isWritten(b, "")).To(BeFalse(), "nothing is said of it")
	b.Status.TemplateStatusOf = made
	g.Expect(r.isWritten(b, "")).To(BeTrue())
	b.Spec.Resource.UID = "v"
	g.Expect(r.isWritten(b, "")).To(BeFalse(), "it is another template")
	b.Spec.Resource.UID, b.Annotations = "u", nil
	g.Expect(r.isWritten(b, "")).To(BeFalse(), "the detector has not seen to it")
}
