package detector

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/selector"
	"fairlead.dev/test/filled"
)

// TestEachNamedFindsTemplatesInAllNamespaces creates and deletes templates with and without a namespace, in random order. After each step
// the lookup by name must find the same templates as a scan of all.
func TestEachNamedFindsTemplatesInAllNamespaces(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(5, 31))
	store := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
	namespaces, names := []string{"", "shop", "other", "a"}, []string{"a", "b", "shop"}
	for range 2000 {
		template := kube.MetadataOf(deployments())
		template.Namespace, template.Name = namespaces[random.IntN(len(namespaces))], names[random.IntN(len(names))]
		if random.IntN(2) == 0 {
			g.Expect(store.Delete(template)).To(Succeed())
		} else {
			g.Expect(store.Update(template)).To(Succeed())
		}
		scanned := map[string][]any{}
		for _, obj := range store.List() {
			one, ok := obj.(*metav1.PartialObjectMetadata)
			g.Expect(ok).To(BeTrue())
			scanned[one.Name] = append(scanned[one.Name], obj)
		}
		for _, name := range names {
			g.Expect(ofName(store, name)).To(ConsistOf(scanned[name]...), name)
		}
	}
}

// noted is a queue that records the requests.
type noted struct {
	workqueue.TypedRateLimitingInterface[request]
	requests sets.Set[request]
}

func (n *noted) Add(req request)               { n.requests.Insert(req) }
func (*noted) AddAfter(request, time.Duration) {}

// TestSelectedTemplatesAreRequested checks that exactly those existing templates are requested that a scan of all finds, whatever
// the policy selects by.
func TestSelectedTemplatesAreRequested(t *testing.T) {
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(11, 2))
	size := filled.Fleet{Clusters: 1, Bindings: 60, Namespaces: 4}
	var templates []*metav1.PartialObjectMetadata
	var objects []client.Object
	for i := range size.Bindings {
		template := size.Template(i)
		template.Name = fmt.Sprint("app-", i/4) // one in each namespace
		template.Labels["tier"] = fmt.Sprint(i % 3)
		templates, objects = append(templates, template), append(objects, template)
	}
	r, _ := fullOf(t, objects...)
	pick := func(words ...string) string { return words[random.IntN(len(words))] }
	byName := 0
	for range 500 {
		s := policyv1alpha1.ResourceSelector{
			APIVersion: "apps/v1", Kind: "Deployment", Name: pick("", "app-0", "app-7", "none"), Namespace: pick("", size.NamespaceOf(0), size.NamespaceOf(3), "none"),
		}
		if random.IntN(2) == 0 {
			s.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": pick("0", "1", "none")}}
		}
		var policy policyv1alpha1.Policy = &policyv1alpha1.ClusterPropagationPolicy{Spec: policyv1alpha1.PropagationSpec{ResourceSelectors: []policyv1alpha1.ResourceSelector{s}}}
		if random.IntN(2) == 0 {
			near := &policyv1alpha1.PropagationPolicy{Spec: *policy.PropagationSpec()}
			near.Namespace = size.NamespaceOf(random.IntN(4))
			near.Spec.ResourceSelectors[0].Namespace = pick("", near.Namespace)
			policy, s = near, near.Spec.ResourceSelectors[0]
		}
		queue := &noted{requests: sets.Set[request]{}}
		r.queue.requests = queue
		g.Expect(r.askForSelected(policy)).To(Succeed())
		var want []request
		for _, template := range templates {
			in := policy.GetNamespace() == "" || policy.GetNamespace() == template.Namespace
			if in && selector.Resource([]policyv1alpha1.ResourceSelector{s}, targetOf(template)) != selector.NoMatch {
				want = append(want, requestFor(deployments(), template))
			}
		}
		for _, template := range templates {
			if req := requestFor(deployments(), template); !queue.requests.Has(req) {
				g.Expect(want).NotTo(ContainElement(req), "%v", s)
			} else {
				g.Expect(want).To(ContainElement(req), "%v", s)
			}
		}
		if s.Name != "" && s.Namespace == "" && policy.GetNamespace() == "" && len(want) > 1 {
			byName++
		}
	}
	g.Expect(byName).To(BeNumerically(">", 10), "cases with several templates of one name")
}
