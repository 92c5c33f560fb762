package execution

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/agent/execution/plan"
)

func TestInWhichNamespacesSomethingOfTheHubIs(t *testing.T) {
	t.Parallel()
	shown := func(g *WithT, obj client.Object) *unstructured.Unstructured {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		g.Expect(err).NotTo(HaveOccurred())
		return &unstructured.Unstructured{Object: content}
	}
	in := func(namespace, worksOf, work string) *corev1.ConfigMap {
		cm := inShop("settings", worksOf, work)
		cm.Namespace = namespace
		return cm
	}
	for name, tc := range map[string]struct {
		objects  []client.Object
		recorded string // namespace of an object that was applied and that no informer shows
		confined []string
		filling  bool
		unseen   bool // a Work was not looked at
		want     sets.Set[string]
	}{
		"nothing":                              {want: sets.New[string]()},
		"objects of Works, a Namespace itself": {objects: []client.Object{in("till", ownWorks, "till"), namespaceOf()}, want: sets.New("till", "shop")},
		"those of another hub, and no Work's":  {objects: []client.Object{in("till", "other", "till"), in("lab", "", "")}, want: sets.New[string]()},
		"what cannot be watched":               {recorded: "lab", want: sets.New("lab")},
		"outside of where the agent is confined": {
			objects: []client.Object{in("till", ownWorks, "till"), namespaceOf()}, recorded: "lab", confined: []string{"till"}, want: sets.New("till"),
		},
		"before all was seen":             {objects: []client.Object{in("till", ownWorks, "till")}, filling: true},
		"before all Works were looked at": {objects: []client.Object{in("till", ownWorks, "till")}, unseen: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			work := workWith(t, "till", in("till", "", ""))
			hub := fakeClient(t, interceptor.Funcs{}, work)
			k := newKinds(nil, nil, nil)
			var objects []*unstructured.Unstructured
			for _, obj := range tc.objects {
				objects = append(objects, shown(g, obj))
			}
			k.known[corev1.SchemeGroupVersion.WithKind("ConfigMap")] = &kind{informers: map[string]*informer{"": informerOf(t, !tc.filling, objects...)}}
			r := &Reconciler{hubClient: hub, works: newWorks(hub, nil), kinds: k, memory: newMemory(), namespace: ownWorks, namespaces: tc.confined}
			r.works.hubSynced = true
			r.memory.Begin(client.ObjectKeyFromObject(work), 1, nil)
			if !tc.unseen { // to the end: before that nothing of its kinds may be watched
				r.memory.NoteLooked(client.ObjectKeyFromObject(work))
			}
			if tc.recorded != "" {
				object := plan.ObjectOf(shown(g, in(tc.recorded, "", "")))
				r.memory.Begin(client.ObjectKeyFromObject(work), 1, []plan.Object{object})
				g.Expect(r.memory.Put(object, plan.Record{UID: "u", ResourceVersion: "1"})).To(BeTrue())
			}
			got, err := r.Namespaces(t.Context())
			if tc.want == nil {
				g.Expect(err).To(MatchError(errNotLooked))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(tc.want))
		})
	}
}
