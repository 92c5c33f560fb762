package execution

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/agent/execution/plan"
)

// TestAKindThatIsServedElsewhereIsNoticed checks that a kind counts as moved only if none of the resources listed by
// discovery matches the clients' mapping.
func TestAKindThatIsServedElsewhereIsNoticed(t *testing.T) {
	t.Parallel()
	in := func(name string, namespaced bool) metav1.APIResource {
		return metav1.APIResource{Name: name, Kind: "ConfigMap", Namespaced: namespaced}
	}
	object := plan.ObjectOf(prototype(corev1.SchemeGroupVersion.WithKind("ConfigMap")))
	unknown := plan.Object{GroupVersionKind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}}
	for name, tc := range map[string]struct {
		object plan.Object
		listed []metav1.APIResource
		why    string
	}{
		"where it was":                          {object: object, listed: []metav1.APIResource{in("configmaps", true)}},
		"under another plural":                  {object: object, listed: []metav1.APIResource{in("maps", true)}, why: "(as maps, namespaced)"},
		"with another scope":                    {object: object, listed: []metav1.APIResource{in("configmaps", false)}, why: "(as configmaps, cluster-scoped, and was namespaced)"},
		"in several places, of which one is it": {object: object, listed: []metav1.APIResource{in("processedmaps", true), in("configmaps", true)}},
		"of which the clients know nothing":     {object: unknown, listed: []metav1.APIResource{in("widgets", true)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := &Reconciler{memberClient: fakeClient(t, interceptor.Funcs{}), kindChanged: make(chan *KindChangedError, 1), clock: clock.RealClock{}}
			for range 2 { // nobody waits for the first to be heard
				err := r.remapped(tc.object, tc.listed)
				if tc.why == "" {
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(r.kindChanged).To(BeEmpty())
					continue
				}
				g.Expect(err).To(MatchError(ContainSubstring(tc.why)))
				result, _ := classify(tc.object, fmt.Errorf("deleting: %w", err))
				g.Expect(result).To(Equal(plan.Waiting))
			}
			if tc.why != "" {
				g.Expect(r.awaitKindChange(t.Context())).To(MatchError(ContainSubstring(tc.why)))
			}
		})
	}
}

// TestTheStageEndsForAKindNoEarlierThanItMay checks that a CustomResourceDefinition that keeps changing does not make
// the agent restart all the time.
func TestTheStageEndsForAKindNoEarlierThanItMay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		start := time.Now()
		r := &Reconciler{kindChanged: make(chan *KindChangedError, 1), clock: clock.RealClock{}, anewFrom: start.Add(time.Hour)}
		r.kindChanged <- &KindChangedError{}
		g.Expect(r.awaitKindChange(t.Context())).NotTo(Succeed())
		g.Expect(time.Since(start)).To(Equal(time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		g.Expect(r.awaitKindChange(ctx)).To(Succeed())
	})
}
