package detector

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/hub/flow/detector/plan"
)

// shows makes the cache of a hub show objects in an old state, whatever changed since.
func shows[O client.Object](kind O, as func(O)) func(*cache.Options) {
	return func(o *cache.Options) {
		if o.ByObject == nil {
			o.ByObject = map[client.Object]cache.ByObject{}
		}
		o.ByObject[kind] = cache.ByObject{Transform: func(in any) (any, error) {
			if obj, ok := in.(O); ok {
				as(obj)
			}
			return in, nil
		}}
	}
}

// TestStaleCacheRemovesNothingFromBinding starts a hub with a cache that is older than what the previous hub wrote on a binding.
func TestStaleCacheRemovesNothingFromBinding(t *testing.T) {
	t.Parallel()
	const label = "kubernetes.io/metadata.name"
	for name, behind := range map[string]func(s *stage) func(*cache.Options){
		"its Namespace": func(s *stage) func(*cache.Options) {
			return shows(&corev1.Namespace{}, func(ns *corev1.Namespace) {
				if ns.Name == s.namespace {
					delete(ns.Labels, label)
				}
			})
		},
		"the strategies": func(s *stage) func(*cache.Options) {
			return shows(&fairleadv1alpha1.RolloutStrategy{}, func(o *fairleadv1alpha1.RolloutStrategy) {
				if o.Name == s.namespace {
					o.Spec.NamespaceSelector = nil
				}
			})
		},
		"its policy": func(s *stage) func(*cache.Options) {
			return shows(&policyv1alpha1.PropagationPolicy{}, func(p *policyv1alpha1.PropagationPolicy) {
				if p.Namespace == s.namespace {
					p.Spec.PropagateDeps = false
				}
			})
		},
		"its policy, which preserves resources on deletion": func(s *stage) func(*cache.Options) {
			return shows(&policyv1alpha1.PropagationPolicy{}, func(p *policyv1alpha1.PropagationPolicy) {
				if p.Namespace == s.namespace {
					p.Spec.PreserveResourcesOnDeletion = nil
				}
			})
		},
		"its policy, by which nothing is dispatched": func(s *stage) func(*cache.Options) {
			return shows(&policyv1alpha1.PropagationPolicy{}, func(p *policyv1alpha1.PropagationPolicy) {
				if p.Namespace == s.namespace {
					p.Spec.Suspension = nil
				}
			})
		},
		"its policy, by which nothing is overwritten": func(s *stage) func(*cache.Options) {
			return shows(&policyv1alpha1.PropagationPolicy{}, func(p *policyv1alpha1.PropagationPolicy) {
				if p.Namespace == s.namespace {
					p.Spec.ConflictResolution = policyv1alpha1.ConflictOverwrite
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			s := start(t)
			forced := &fairleadv1alpha1.RolloutStrategy{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}, Spec: fairleadv1alpha1.RolloutStrategySpec{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{label: s.namespace}},
			}}
			g.Expect(s.client.Create(t.Context(), forced)).To(Succeed())
			t.Cleanup(func() { _ = s.client.Delete(context.WithoutCancel(t.Context()), forced) })
			p := s.policy("p", named("apps/v1", "Deployment", "web"))
			p.Spec.PropagateDeps, p.Spec.PreserveResourcesOnDeletion = true, new(true)
			p.Spec.Suspension = &policyv1alpha1.Suspension{Dispatching: new(true)}
			s.create(t, p, s.deployment("web", 2))
			has := func(g Gomega, b *workv1alpha2.ResourceBinding) {
				g.Expect(plan.StrategyOn(b)).To(Equal(plan.Strategy{Name: s.namespace, Forced: true}))
				g.Expect(b.Spec.PropagateDeps).To(BeTrue())
				g.Expect(b.Spec.PreserveResourcesOnDeletion).To(HaveValue(BeTrue()))
				g.Expect(bindings.Suspended(b.Spec.Suspension, "any")).To(BeTrue())
				g.Expect(b.Spec.ConflictResolution).NotTo(Equal(policyv1alpha1.ConflictOverwrite))
			}
			before := s.eventually(t, "web-deployment", has)
			s.stop()

			live := func() int {
				return s.writes.read(func(path string) bool { return strings.HasSuffix(path, "/"+s.namespace+"/propagationpolicies/p") })
			}
			was := live()
			s.run(t, g, s.config, behind(s))
			g.Eventually(live, "1m", "50ms").Should(BeNumerically(">", was+1), "the reconcile is retried")
			after, err := s.binding(t.Context(), "web-deployment")
			g.Expect(err).NotTo(HaveOccurred())
			has(g, after)
			g.Expect(after.ResourceVersion).To(Equal(before.ResourceVersion))
		})
	}
}
