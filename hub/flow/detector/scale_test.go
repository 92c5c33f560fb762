package detector

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/detector/claim"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

// TestTemplateIsComparedWithFewPolicies checks that a template is not compared with every policy: policies that select by another label
// are not read.
func TestTemplateIsComparedWithFewPolicies(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	var policies []client.Object
	for i := range 100 {
		policies = append(policies, builder.MakePolicy("shop", fmt.Sprintf("label-%d", i)).SelectLabel("apps/v1", "Deployment", "app", fmt.Sprint(i)).Obj())
	}
	both := builder.MakePolicy("shop", "both").SelectLabel("apps/v1", "Deployment", "app", "7").Obj()
	both.Spec.ResourceSelectors[0].LabelSelector.MatchLabels["tier"] = "front"
	expression := builder.MakePolicy("shop", "expression").SelectLabel("apps/v1", "Deployment", "app", "7").Obj()
	expression.Spec.ResourceSelectors[0].LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}}
	policies = append(policies, both, expression, builder.MakePolicy("shop", "all").Select("apps/v1", "Deployment", "").Obj(),
		builder.MakePolicy("shop", "named").Select("apps/v1", "Deployment", "web").Obj(), builder.MakePolicy("shop", "other").Select("apps/v1", "Deployment", "api").Obj())
	b := fake.NewClientBuilder().WithScheme(scheme).WithObjects(policies...)
	g.Expect(addIndexes(t.Context(), fakeIndexer(func(obj client.Object, field string, value client.IndexerFunc) { b.WithIndex(obj, field, value) }))).To(Succeed())
	r := &Reconciler{hubClient: b.Build()}
	names := func(labels map[string]string) []string {
		found, err := r.candidates(t.Context(), selector.Target{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web", Labels: labels}, false)
		g.Expect(err).NotTo(HaveOccurred())
		var out []string
		for _, p := range found {
			out = append(out, p.GetName())
		}
		return out
	}
	g.Expect(names(nil)).To(ConsistOf("all", "expression", "named"))
	g.Expect(names(map[string]string{"app": "7", "tier": "front"})).To(ConsistOf("all", "expression", "named", "label-7", "both"))
	g.Expect(names(map[string]string{"app": "none"})).To(ConsistOf("all", "expression", "named"))
}

type fakeIndexer func(client.Object, string, client.IndexerFunc)

func (f fakeIndexer) IndexField(_ context.Context, obj client.Object, field string, value client.IndexerFunc) error {
	f(obj, field, value)
	return nil
}

// asked is a queue that records the requested templates of a namespace.
type asked struct {
	workqueue.TypedRateLimitingInterface[request]

	namespace string
	mu        sync.Mutex
	templates int
	// later counts the requests with a delay.
	later int
}

func (a *asked) Add(req request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if req.Namespace == a.namespace && req.Name != "" && !isPolicy(req.Kind) {
		a.templates++
	}
}

func (a *asked) AddAfter(req request, _ time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if req.Namespace == a.namespace && req.Name != "" {
		a.later++
	}
}

func (a *asked) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.templates
}

// TestStartRequestsEachTemplateOnce checks that a starting stage requests every template once, and not once for each policy that might
// select it.
func TestStartRequestsEachTemplateOnce(t *testing.T) {
	g := NewWithT(t)
	api := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	s := &stage{client: api.Client(t), namespace: api.Namespace(t)}
	const templates, policies = 5, 4
	for i := range templates {
		s.create(t, s.deployment(fmt.Sprintf("app-%d", i), 1))
	}
	all := make([]*policyv1alpha1.PropagationPolicy, policies)
	for i := range all {
		all[i] = s.policy(fmt.Sprintf("all-%d", i), policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment"})
		all[i].Labels = map[string]string{claim.IDLabel(all[i]): fmt.Sprintf("id-%d", i)}
		all[i].Finalizers = []string{finalizerOf(all[i])}
		s.create(t, all[i])
	}
	mgr := stagetest.Manager(t, api.Config)
	g.Expect(addIndexes(t.Context(), mgr.GetFieldIndexer())).To(Succeed())
	r, err := newReconciler(mgr, Deps{Interpreter: native.New(), Informers: watchset.NewMetadataInformers(mgr.GetCache()), Events: func(eventsink.Event) {}, Clock: clock.RealClock{}})
	g.Expect(err).NotTo(HaveOccurred())
	queue := &asked{namespace: s.namespace}
	r.queue.requests = queue
	stagetest.Run(t, mgr)
	g.Expect(mgr.GetCache().WaitForCacheSync(t.Context())).To(BeTrue())
	for _, p := range all {
		r.initial.add(policyRequest(p))
	}
	look := func() {
		for _, p := range all {
			g.Eventually(func() error {
				_, err := r.Reconcile(t.Context(), policyRequest(p))
				return err
			}, "1m", "50ms").Should(Succeed())
		}
	}
	look()
	g.Eventually(queue.count, "1m", "50ms").Should(Equal(templates), "the first list of the kind requests each template once")
	look()
	g.Eventually(queue.count, "1m", "50ms").Should(Equal(templates+policies*templates), "a changed policy requests the templates that it selects")
	r.initial.add(policyRequest(all[0]))
	g.Expect(r.initial.take(policyRequest(all[0]))).To(BeTrue())
	g.Expect(r.initial.take(policyRequest(all[0]))).To(BeFalse(), "a reconciled policy is not initial any more")
}
