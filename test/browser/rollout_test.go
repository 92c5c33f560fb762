package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/test/showcase"
)

// rollout handles a rollout as an operator does: it is halted, retried, waits for approval, and is undone. The test
// writes the status instead of the hub.
func rollout(t *testing.T, b *browser) {
	t.Helper()
	g := NewWithT(t)
	press := func(text string) {
		t.Helper()
		b.do("choosing "+text, chromedp.Click(`//main//a[contains(@class,"button") and normalize-space()="`+text+`"]`, chromedp.BySearch), chromedp.WaitVisible("#f-question"))
	}
	confirm := func() {
		t.Helper()
		b.do("confirming", chromedp.Click(`#f-question button[type="submit"]`), chromedp.WaitVisible(".said"))
	}
	spec := func() *fairleadv1alpha1.StagedRolloutSpec {
		ro := &fairleadv1alpha1.StagedRollout{}
		g.Expect(b.show.Client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web-deployment"}, ro)).To(Succeed())
		return &ro.Spec
	}

	b.visit("/rollouts")
	b.do("choosing the rollout that is halted", chromedp.Click(`//main//a[normalize-space()="web"]`, chromedp.BySearch), chromedp.WaitVisible("#f-rollout"))
	b.says("Wave north may have no failure, and hamburg failed.")
	b.is("being live", `document.getElementById("live").classList.contains("on")`)
	press("Retry")
	b.says("Clusters that failed get their full time again")
	confirm()
	b.says("The hub tries again in 1 cluster.")
	g.Expect(spec().Retry).To(HaveLen(1))

	b.do("marking the page", chromedp.Evaluate(`window.notLoadedAgain = true`, nil))
	ro := showcase.MakeRollout(t)
	ro.Status.Phase = fairleadv1alpha1.RolloutWaiting
	ro.Status.Waves[0].Healthy, ro.Status.Waves[0].Failed = 2, 0
	ro.Status.Clusters[0].Names, ro.Status.Clusters = []string{"bremen", "hamburg"}, append(ro.Status.Clusters[:1:1], ro.Status.Clusters[2])
	ro.Status.Conditions = []metav1.Condition{{
		Type: fairleadv1alpha1.RolloutConditionProgressing, Status: metav1.ConditionFalse, Reason: fairleadv1alpha1.ReasonRolloutNeedsApproval,
		Message: "Wave north is well and is to be approved.", LastTransitionTime: metav1.Now(),
	}}
	showcase.Put(t, b.show.Client, ro)
	b.says("Wave north is well and is to be approved.")
	b.is("not being loaded again", marked)
	b.shots("rollout-waiting")
	b.accessible("rollout-waiting")
	press("Approve")
	b.says("Approve wave north of r3 of web?")
	confirm()
	b.says("Wave north of r3 is approved.")
	g.Expect(spec().Approvals).To(Equal([]fairleadv1alpha1.WaveApproval{{Revision: 3, Wave: "north"}}))

	press("Undo")
	b.says("Go back to r2 of web?")
	b.do("asking for all at once", chromedp.Click(`input[name="now"]`))
	confirm()
	b.says("web goes back from r3 to the content of r2.")
	g.Expect(*spec().Target).To(Equal(fairleadv1alpha1.RolloutTarget{Revision: 2, Over: 3, Immediately: true}))

	b.do("comparing", chromedp.Click(`//button[normalize-space()="Compare"]`, chromedp.BySearch), chromedp.WaitVisible("pre.diff"))
	b.says("image: shop/web:2.0")
	b.clean()
}
