package browser

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1alpha1 "fairlead.dev/common/api/apps/v1alpha1"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/showcase"
)

// marked marks the page, so that a reload can be detected.
const marked = `window.notLoadedAgain === true`

// live changes an object on the hub for each page and waits until the page shows it, without being reloaded.
func live(t *testing.T, b *browser) {
	t.Helper()
	show := b.show
	for _, c := range []struct {
		path, expect string
		change       func()
	}{
		{"/", `document.getElementById("f-trouble").innerText.includes("bremen")`, func() {
			put(t, show, showcase.MakeCluster("bremen", "Unknown", "north", 12))
		}},
		{"/", `document.getElementById("f-changes").innerText.includes("Ready →")`, func() {}},
		{"/clusters?state=Silent", `!document.querySelector("table").innerText.includes("bremen")`, func() {
			put(t, show, showcase.MakeCluster("bremen", "True", "north", 13))
		}},
		{"/clusters/hamburg", `document.getElementById("f-facts").innerText.includes("NotReady")`, func() {
			put(t, show, showcase.MakeCluster("hamburg", "False", "north", 41))
		}},
		{"/applications", `!!document.querySelector('[aria-label="cart in lyon: Unhealthy"]')`, func() {
			showcase.Put(t, show.Client, showcase.MakeBinding("shop", "cart", "pay", showcase.Where{Cluster: "bremen", How: "Healthy"}, showcase.Where{Cluster: "lyon", How: "Unhealthy"}))
		}},
		{"/applications/shop/cart-deployment", `document.getElementById("f-places").innerText.includes("rotterdam")`, func() {
			showcase.Put(t, show.Client, showcase.MakeBinding("shop", "cart", "pay", showcase.Where{Cluster: "bremen", How: "Healthy"}, showcase.Where{Cluster: "rotterdam", How: "Healthy"}))
		}},
		{"/policies", `document.getElementById("f-policies").innerText.includes("brand-new")`, func() {
			if err := show.Client.Create(t.Context(), builder.MakePolicy("lab", "brand-new").Select("apps/v1", "Deployment", "x").Obj()); err != nil {
				t.Fatal(err)
			}
		}},
		{"/policies/lab/forgotten", `document.getElementById("f-matched").innerText.includes("late")`, func() {
			showcase.Put(t, show.Client, showcase.MakeBinding("lab", "late", "forgotten", showcase.Where{Cluster: "lyon", How: "Healthy"}))
		}},
	} {
		b.visit(c.path)
		b.is("being live", `document.getElementById("live").classList.contains("on")`)
		b.do("marking the page", chromedp.Evaluate(`window.notLoadedAgain = true`, nil))
		c.change()
		b.is("showing what changed on "+c.path, c.expect)
		b.is("not being loaded again", marked)
	}
	b.keys()
	b.clean()
}

// put updates a Cluster and its status.
func put(t *testing.T, show *showcase.Showcase, c *clusterv1alpha1.Cluster) {
	t.Helper()
	showcase.Put(t, show.Client, c)
}

// actions performs each action, confirms it, and checks the hub.
func actions(t *testing.T, b *browser) {
	t.Helper()
	g := NewWithT(t)
	hub := b.show.Client
	press := func(text string) {
		t.Helper()
		b.do("choosing "+text, chromedp.Click(`//a[contains(@class,"button") and normalize-space()="`+text+`"]`, chromedp.BySearch), chromedp.WaitVisible("#f-question"))
		b.do("confirming "+text, chromedp.Click(`#f-question button[type="submit"]`), chromedp.WaitVisible(".said"))
	}
	taints := func() []corev1.Taint {
		c := &clusterv1alpha1.Cluster{}
		g.Expect(hub.Get(t.Context(), client.ObjectKey{Name: "lyon"}, c)).To(Succeed())
		return c.Spec.Taints
	}
	b.visit("/clusters/lyon")
	press("Cordon")
	b.says("Cluster lyon is cordoned")
	g.Expect(taints()).To(HaveLen(1))
	b.says("Cordoned")
	press("Uncordon")
	b.says("is not cordoned any more")
	g.Expect(taints()).To(BeEmpty())

	suspended := func() bool {
		p := &policyv1alpha1.PropagationPolicy{}
		g.Expect(hub.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "pay"}, p)).To(Succeed())
		return p.Spec.Suspension != nil && *p.Spec.Suspension.Dispatching
	}
	b.visit("/policies/shop/pay")
	press("Suspend")
	b.says("Delivery is suspended")
	g.Expect(suspended()).To(BeTrue())
	press("Resume")
	b.says("is resumed")
	g.Expect(suspended()).To(BeFalse())

	b.visit("/applications/shop/web-deployment")
	press("Rebalance")
	b.says("Created WorkloadRebalancer")
	var asked appsv1alpha1.WorkloadRebalancerList
	g.Expect(hub.List(t.Context(), &asked)).To(Succeed())
	g.Expect(asked.Items).To(HaveLen(1))
	g.Expect(asked.Items[0].Spec.Workloads).To(ConsistOf(appsv1alpha1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}))
	b.clean()
}

// joining creates a join command and follows the join.
func joining(t *testing.T, b *browser) {
	t.Helper()
	b.visit("/join")
	b.do("making a command", chromedp.SetValue("#cluster", "oslo"), chromedp.SetValue("#labels", "tier=gold"), chromedp.Submit("#cluster"), chromedp.WaitVisible("#command"))
	b.says("--cluster-name oslo")
	b.says("Run the command where")
	b.shots("handshake")
	b.accessible("handshake")
	b.do("marking the page", chromedp.Evaluate(`window.notLoadedAgain = true`, nil))
	c := showcase.MakeCluster("oslo", "True", "north", 5)
	c.Status.Conditions[0].LastTransitionTime = metav1.NewTime(time.Now())
	showcase.Put(t, b.show.Client, c)
	b.says("It has joined")
	b.is("not being loaded again", marked)
	b.shots("joined")
	b.clean()
}
