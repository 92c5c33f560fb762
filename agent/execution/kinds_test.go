package execution

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/agent/execution/plan"
)

// oneNamespace is a cache with the member's objects of one namespace.
type oneNamespace struct {
	cache.Cache

	listed listed
}

func (n oneNamespace) GetInformer(ctx context.Context, obj client.Object, _ ...cache.InformerGetOption) (cache.Informer, error) {
	i := toolscache.NewSharedIndexInformer(n.listed, obj, 0, toolscache.Indexers{})
	go i.RunWithContext(ctx)
	return i, nil
}

func (oneNamespace) RemoveInformer(context.Context, client.Object) error { return nil }

// listed are the objects of a list, which may be forbidden.
type listed struct {
	objects   []unstructured.Unstructured
	forbidden bool
}

func (l listed) List(metav1.ListOptions) (runtime.Object, error) {
	if l.forbidden {
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errSilent)
	}
	return &unstructured.UnstructuredList{Object: map[string]any{"metadata": map[string]any{"resourceVersion": "7"}}, Items: l.objects}, nil
}

func (listed) Watch(metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil }

// IsWatchListSemanticsUnSupported makes the reflector list before it watches.
func (listed) IsWatchListSemanticsUnSupported() bool { return true }

// TestANamespaceThatCannotBeListedHidesNoOther covers an agent confined to two namespaces that lost the right to list
// one.
func TestANamespaceThatCannotBeListedHidesNoOther(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	configMaps := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	settings := prototype(configMaps)
	settings.SetNamespace("shop")
	settings.SetName("settings")
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(configMaps, meta.RESTScopeNamespace)
	k := newKinds(nil, toolscache.ResourceEventHandlerFuncs{}, clock.RealClock{})
	k.mapper = mapper
	k.confined = map[string]cache.Cache{
		"lab":  oneNamespace{listed: listed{forbidden: true}},
		"shop": oneNamespace{listed: listed{objects: []unstructured.Unstructured{*settings.DeepCopy()}}},
	}
	work := types.NamespacedName{Namespace: ownWorks, Name: "settings"}
	g.Expect(k.Use(t.Context(), work, configMaps)).To(Succeed())

	g.Eventually(k.Filled).WithTimeout(time.Minute).Should(BeTrue())
	g.Expect(k.Filled()).To(BeFalse(), "it would be counted each second what nobody claims")
	seen, synced := k.Get(plan.ObjectOf(settings))
	g.Expect(seen).NotTo(BeNil())
	g.Expect(synced).To(BeTrue())
	for namespace, want := range map[string]bool{"shop": true, "lab": false, "elsewhere": false} {
		settings.SetNamespace(namespace)
		settings.SetName("another")
		seen, synced = k.Get(plan.ObjectOf(settings))
		g.Expect(seen).To(BeNil(), namespace)
		g.Expect(synced).To(Equal(want), namespace)
	}
	var each []string
	k.Each(func(obj *unstructured.Unstructured) { each = append(each, plan.ObjectOf(obj).String()) })
	g.Expect(each).To(ConsistOf("ConfigMap shop/settings"))
	_, where, version := k.Furthest()
	g.Expect([]string{where, version}).To(Equal([]string{"shop", "7"}))
}

// TestAnAbsentWorkIsForgottenOnceItsOwnNamespacesWereSeen checks that an absent Work is forgotten once nothing of it
// is left, which cannot be known where listing is forbidden.
func TestAnAbsentWorkIsForgottenOnceItsOwnNamespacesWereSeen(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	object := func(namespace string) client.Object {
		cm := inShop("settings", "", "")
		cm.Namespace = namespace
		return cm
	}
	inTheShop, inTheLab := workWith(t, "shop", object("shop")), workWith(t, "lab", object("lab"))
	kept := []Kept{{Work: inTheShop, Absent: true}, {Work: inTheLab, Absent: true}}
	forgotten := &forgetting{}
	hub := fakeClient(t, interceptor.Funcs{})
	k := newKinds(oneNamespace{}, nil, nil)
	gvk := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	k.known[gvk] = &kind{
		informers: map[string]*informer{"shop": informerOf(t, true), "lab": informerOf(t, false)},
		works:     map[types.NamespacedName]struct{}{},
	}
	r := &Reconciler{
		hubClient: hub, works: newWorks(hub, kept), kinds: k, unclaimed: newUnclaimed(), journal: forgotten, metrics: newMetrics(prometheus.NewRegistry()), namespace: ownWorks,
	}
	for _, one := range kept {
		name := client.ObjectKeyFromObject(one.Work)
		k.known[gvk].works[name] = struct{}{}
		k.byWork[name] = map[schema.GroupVersionKind]struct{}{gvk: {}}
		r.works.Watch(one.Work)
	}
	g.Expect(r.recountUnclaimed(t.Context())).To(Succeed())
	g.Expect(forgotten.works).To(ConsistOf("shop"))
	g.Expect(r.unclaimed.Due()).To(BeFalse(), "nothing has changed since")
}

// forgetting is a Journal that notes which Works are removed from it.
type forgetting struct {
	noJournal

	works []string
}

func (f *forgetting) Remove(work types.NamespacedName) { f.works = append(f.works, work.Name) }
