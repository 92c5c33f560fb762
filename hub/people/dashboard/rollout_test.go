package dashboard_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/showcase"
)

const rolloutPage = "/rollouts/shop/web-deployment"

// rolloutsAreSeen views rollouts with the rights of several users.
func rolloutsAreSeen(t *testing.T, known func(*testing.T, string) *visitor, show *showcase.Showcase, admin string) {
	t.Helper()
	g := NewWithT(t)
	v := known(t, admin)
	_, text := v.get("/rollouts?phase=Halted")
	g.Expect(text).To(And(ContainSubstring("deployment/web r3 (stable r2) wave 1/2 north: 1/2 healthy, 1 failed, 1 set aside; halted"), ContainSubstring("s-warn")))
	_, text = v.get("/rollouts?phase=Completed")
	g.Expect(text).To(ContainSubstring("No rollout matches"))
	_, text = v.get(rolloutPage)
	g.Expect(text).To(And(
		ContainSubstring("Wave north may have no failure, and hamburg failed."), ContainSubstring("It was sent r3 and failed (Unhealthy)."),
		ContainSubstring(rolloutPage+"/retry"), ContainSubstring(rolloutPage+"/abort"), ContainSubstring(rolloutPage+"/undo?to=1"),
		ContainSubstring(rolloutPage+"/skip?cluster=hamburg"), Not(ContainSubstring(rolloutPage+"/approve")),
	))
	_, text = v.get(rolloutPage + "?from=2&to=3")
	g.Expect(text).To(And(MatchRegexp(`class="del">- .*image: shop/web:1\.1</span>`), MatchRegexp(`class="add">.* image: shop/web:2\.0</span>`)))
	_, text = v.get(rolloutPage + "?from=2&to=" + url.QueryEscape("<b>"))
	g.Expect(text).To(And(ContainSubstring("is not a revision"), Not(ContainSubstring("<b>"))))
	_, text = v.get("/applications/shop/web-deployment")
	g.Expect(text).To(ContainSubstring(`href="` + rolloutPage + `"`))

	shopper := known(t, show.Token(t, "shopper-of-rollouts", "lab", showcase.Reads()...))
	_, text = shopper.get("/rollouts")
	g.Expect(text).To(And(Not(ContainSubstring("web-deployment")), ContainSubstring("there may be others")))
	code, _ := shopper.get(rolloutPage)
	g.Expect(code).To(Equal(http.StatusForbidden))
	looker := known(t, show.Token(t, "looker-at-rollouts", "shop", rbacv1.PolicyRule{APIGroups: []string{"fairlead.dev"}, Resources: []string{"stagedrollouts"}, Verbs: []string{"get", "list"}}))
	_, text = looker.get(rolloutPage + "?from=2&to=3")
	g.Expect(text).To(And(ContainSubstring("You may not read what these revisions consist of"), Not(ContainSubstring(rolloutPage+"/"))), "what is not allowed is not offered")
	code, _ = looker.get(rolloutPage + "/pause")
	g.Expect(code).To(Equal(http.StatusForbidden))
}

// rolloutsAreSteered does what people do to a rollout, and checks the hub.
func rolloutsAreSteered(t *testing.T, known func(*testing.T, string) *visitor, show *showcase.Showcase, admin string) {
	t.Helper()
	g := NewWithT(t)
	v := known(t, admin)
	spec := func() *fairleadv1alpha1.StagedRolloutSpec {
		ro := &fairleadv1alpha1.StagedRollout{}
		g.Expect(show.Client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web-deployment"}, ro)).To(Succeed())
		for _, m := range ro.ManagedFields {
			if m.Manager == contract.FieldManagerDashboard {
				return &ro.Spec
			}
		}
		return &fairleadv1alpha1.StagedRolloutSpec{}
	}
	csrf := v.csrf()
	do := func(verb string, pairs ...string) {
		t.Helper()
		form := url.Values{"csrf": {csrf}}
		for i := 0; i+1 < len(pairs); i += 2 {
			form.Set(pairs[i], pairs[i+1])
		}
		answer, text := v.request(http.MethodPost, rolloutPage+"/"+verb, form)
		g.Expect(answer.StatusCode).To(Equal(http.StatusSeeOther), text)
	}
	do("pause")
	g.Expect(spec().Paused).To(BeTrue())
	do("resume")
	g.Expect(spec().Paused).To(BeFalse())
	do("retry", "seen", "3")
	g.Expect(spec().Retry).To(HaveLen(1))
	do("skip", "cluster", "hamburg", "seen", "3")
	g.Expect(spec().Skip).To(Equal([]fairleadv1alpha1.ClusterAtRevision{{Revision: 3, Cluster: "hamburg"}}))
	do("undo", "revision", "1", "now", "yes", "seen", "3")
	g.Expect(*spec().Target).To(Equal(fairleadv1alpha1.RolloutTarget{Revision: 1, Over: 3, Immediately: true}))
	do("abort", "seen", "3")
	g.Expect(*spec().Target).To(Equal(fairleadv1alpha1.RolloutTarget{Revision: 2, Over: 3, Immediately: true}))

	for path, why := range map[string]string{
		"/approve": "No wave waits for approval any more.", "/undo?to=9": "R9 is not kept", "/undo?to=x": "There is no revision with that number.",
		"/skip?cluster=oslo": "The application is not in a cluster of that name.",
	} {
		code, text := v.get(rolloutPage + path)
		g.Expect(code).To(And(BeNumerically(">=", 400), BeNumerically("<", 500)), path)
		g.Expect(text).To(ContainSubstring(why), path)
	}
	before := spec()
	for _, verb := range []string{"approve", "undo", "abort", "retry", "skip"} {
		for seen, why := range map[string]string{
			"2": "The newest revision is r3 now, not r2, which you looked at; check r3 first.",
			"":  "The form does not say which revision you looked at: load the page again.",
		} {
			answer, text := v.request(http.MethodPost, rolloutPage+"/"+verb,
				url.Values{"csrf": {csrf}, "wave": {"rest"}, "revision": {"1"}, "cluster": {"hamburg"}, "seen": {seen}})
			g.Expect(answer.StatusCode).To(Equal(http.StatusBadRequest), verb)
			g.Expect(text).To(ContainSubstring(why), verb)
		}
		_, text := v.get(rolloutPage + "/" + verb + "?cluster=hamburg")
		if verb != "approve" {
			g.Expect(text).To(MatchRegexp(`name="seen" value="3"`), verb)
		}
	}
	g.Expect(spec()).To(Equal(before), "what is refused changes nothing")

	ro := showcase.MakeRollout(t)
	ro.Status.Phase, ro.Status.Clusters = fairleadv1alpha1.RolloutWaiting, nil
	ro.Status.Conditions = []metav1.Condition{{
		Type: fairleadv1alpha1.RolloutConditionProgressing, Status: metav1.ConditionFalse, Reason: fairleadv1alpha1.ReasonRolloutNeedsApproval,
		Message: "Wave north is well and is to be approved.", LastTransitionTime: metav1.Now(),
	}}
	showcase.Put(t, show.Client, ro)
	g.Eventually(func() string { _, text := v.get(rolloutPage + "/approve"); return text }).WithTimeout(time.Minute).
		Should(And(ContainSubstring("Approve wave north of r3 of web?"), ContainSubstring(`name="seen" value="3"`)))
	do("approve", "wave", "north", "seen", "3")
	g.Expect(spec().Approvals).To(Equal([]fairleadv1alpha1.WaveApproval{{Revision: 3, Wave: "north"}}))
}
