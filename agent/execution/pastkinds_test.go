package execution

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/common/kube/eventsink"
)

func TestWhichKindsAreKept(t *testing.T) {
	t.Parallel()
	kind := func(n int) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: fmt.Sprint("Kind", n)}
	}
	full := make([]schema.GroupVersionKind, 0, maxPastKinds)
	for n := range maxPastKinds {
		full = append(full, kind(n))
	}
	inV2 := kind(1)
	inV2.Version = "v2"
	for name, tc := range map[string]struct {
		all  []schema.GroupVersionKind
		add  schema.GroupVersionKind
		used []schema.GroupKind
		want []schema.GroupVersionKind
	}{
		"the first":                    {add: kind(1), want: []schema.GroupVersionKind{kind(1)}},
		"another":                      {all: full[:1], add: kind(1), want: full[:2]},
		"one that is among them":       {all: full[:3], add: kind(1)},
		"in another version":           {all: full[:3], add: inV2},
		"more than are kept":           {all: full, add: kind(maxPastKinds), want: append(slices.Clone(full[1:]), kind(maxPastKinds))},
		"of which Works have some":     {all: full, add: kind(maxPastKinds), used: []schema.GroupKind{kind(0).GroupKind()}, want: append(append([]schema.GroupVersionKind{kind(0)}, full[2:]...), kind(maxPastKinds))},
		"more than Works should have":  {all: full, add: kind(maxPastKinds), used: groupKinds(full), want: append(slices.Clone(full[1:]), kind(maxPastKinds))},
		"with the new one among those": {all: full, add: kind(maxPastKinds), used: []schema.GroupKind{kind(maxPastKinds).GroupKind()}, want: append(slices.Clone(full[1:]), kind(maxPastKinds))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			before := slices.Clone(tc.all)
			got, isNew := withKind(tc.all, tc.add, func(kind schema.GroupKind) bool { return slices.Contains(tc.used, kind) })
			g.Expect(isNew).To(Equal(tc.want != nil))
			if isNew {
				g.Expect(got).To(Equal(tc.want))
			}
			g.Expect(tc.all).To(Equal(before))
		})
	}
}

func groupKinds(kinds []schema.GroupVersionKind) []schema.GroupKind {
	out := make([]schema.GroupKind, 0, len(kinds))
	for _, k := range kinds {
		out = append(out, k.GroupKind())
	}
	return out
}

// allNamespaces is a cache with the member's objects of all namespaces, which records the kinds whose informer was
// removed.
type allNamespaces struct {
	oneNamespace

	mu    sync.Mutex
	ended []string
}

func (a *allNamespaces) RemoveInformer(_ context.Context, obj client.Object) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = append(a.ended, obj.GetObjectKind().GroupVersionKind().Kind)
	return nil
}

func (a *allNamespaces) all() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.ended)
}

// TestAPastKindIsWatchedUntilNothingOfItIsLeft starts an agent without a Work for a kind that it once applied.
func TestAPastKindIsWatchedUntilNothingOfItIsLeft(t *testing.T) {
	t.Parallel()
	configMaps := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	for name, marked := range map[string]bool{"something is": true, "nothing is": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			cm := inShop("settings", ownWorks, "settings")
			obj := prototype(configMaps)
			obj.SetNamespace(cm.Namespace)
			obj.SetName(cm.Name)
			obj.SetUID("of-the-backup")
			if marked {
				obj.SetLabels(cm.Labels)
				obj.SetAnnotations(cm.Annotations)
			}
			from := &allNamespaces{oneNamespace: oneNamespace{listed: listed{objects: []unstructured.Unstructured{*obj}}}}
			hub := fakeClient(t, interceptor.Funcs{})
			k := newKinds(from, toolscache.ResourceEventHandlerFuncs{}, clock.RealClock{})
			k.past = newPastKinds([]schema.GroupVersionKind{configMaps}, nil)
			r := &Reconciler{
				hubClient: hub, memberClient: hub, works: newWorks(hub, nil), kinds: k, memory: newMemory(), unclaimed: newUnclaimed(),
				journal: noJournal{}, metrics: newMetrics(prometheus.NewRegistry()), namespace: ownWorks, clock: clock.RealClock{},
				events: func(eventsink.Event) {},
			}
			r.lookAtPastKinds(t.Context())
			g.Eventually(k.Filled).WithTimeout(time.Minute).Should(BeTrue())
			for range 2 { // a new finding counts only when it is seen a second time
				g.Expect(r.recountUnclaimed(t.Context())).To(Succeed())
			}
			if marked {
				g.Expect(r.Unclaimed()).To(Equal(1))
				g.Expect(from.all()).To(BeEmpty())
			} else {
				g.Expect(r.Unclaimed()).To(BeZero())
				g.Expect(from.all()).To(Equal([]string{"ConfigMap"}))
			}
			kind, _, version := k.Furthest()
			g.Expect(kind).To(Equal(configMaps))
			g.Expect(version).To(Equal("7"), "a restore is known by it")
			g.Expect(k.Works(configMaps)).To(BeEmpty())
			r.lookAtPastKinds(t.Context())
			g.Expect(k.uses(configMaps.GroupKind())).To(Equal(marked), "it is looked at once")
		})
	}
}

// TestObjectsThatAWorkLeftAreLookedAtBeforeTheWatchEnds has a Work drop its last object of a kind.
func TestObjectsThatAWorkLeftAreLookedAtBeforeTheWatchEnds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	from := &allNamespaces{}
	k := newKinds(from, toolscache.ResourceEventHandlerFuncs{}, clock.RealClock{})
	work := types.NamespacedName{Namespace: ownWorks, Name: "settings"}
	configMaps, secrets := corev1.SchemeGroupVersion.WithKind("ConfigMap"), corev1.SchemeGroupVersion.WithKind("Secret")
	for _, kind := range []schema.GroupVersionKind{configMaps, secrets} {
		g.Expect(k.Use(t.Context(), work, kind)).To(Succeed())
	}
	g.Eventually(k.Filled).WithTimeout(time.Minute).Should(BeTrue())
	for k.Filled() { // both
	}
	g.Expect(k.Keep(t.Context(), work, map[schema.GroupVersionKind]struct{}{configMaps: {}})).To(Succeed())
	g.Expect(k.Filled()).To(BeTrue(), "it is counted what is left")
	g.Expect(k.Of(pastWork())).To(Equal([]schema.GroupVersionKind{secrets}))
	g.Expect(k.Keep(t.Context(), work, map[schema.GroupVersionKind]struct{}{})).To(Succeed(), "it was edited to have nothing")
	g.Expect(k.Of(pastWork())).To(ConsistOf(configMaps, secrets))
	g.Expect(from.all()).To(BeEmpty())
	g.Expect(k.Keep(t.Context(), pastWork(), nil)).To(Succeed())
	g.Expect(from.all()).To(ConsistOf("ConfigMap", "Secret"))

	ended := types.NamespacedName{Namespace: ownWorks, Name: "ended"}
	g.Expect(k.Use(t.Context(), ended, configMaps)).To(Succeed())
	g.Expect(k.Keep(t.Context(), ended, nil)).To(Succeed(), "the Work has ended")
	g.Expect(k.Of(pastWork())).To(BeEmpty())
}
