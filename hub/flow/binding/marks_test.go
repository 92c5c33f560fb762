package binding

import (
	"context"
	"errors"
	"maps"
	"testing"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/binding/fanout"
)

// marked is a binding with two Works, which is reconciled again and again.
type marked struct {
	*reconciler

	binding *workv1alpha2.ResourceBinding
	works   map[string]*workv1alpha1.Work
	// suspect are Works of this binding and of others.
	suspect sets.Set[types.NamespacedName]
}

func makeMarked(program string) *marked {
	b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web", Labels: map[string]string{contract.ResourceBindingPermanentIDLabel: id},
		Annotations: map[string]string{contract.TemplateFingerprintAnnotation: "f"},
	}}
	b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "a"}, {Name: "b"}}
	works := map[string]*workv1alpha1.Work{}
	for _, name := range []string{"karmada-es-a", "karmada-es-b"} {
		w := version("5", "h")
		w.Namespace, w.Finalizers, w.Annotations[contract.RenderedFromAnnotation] = name, []string{contract.ExecutionFinalizer}, "another"
		works[name] = w
	}
	r := &reconciler{
		kind: kube.ResourceBindings(), prefix: "karmada-es-", program: program, interpreter: native.New(), paced: kube.NewPaced(clock.RealClock{}, markEvery),
	}
	return &marked{reconciler: r, binding: b, works: works}
}

// look determines what is unchanged without rendering.
func (m *marked) look(g Gomega) *scope {
	s := &scope{
		binding: m.binding, targets: m.binding.Spec.Clusters, live: m.works, suspect: m.suspect, unchanged: sets.Set[string]{},
		clusters: map[string]*clusterv1alpha1.Cluster{"a": {}, "b": {}},
	}
	g.Expect(m.findUnchanged(s)).To(Succeed())
	return s
}

// render acts as if everything that is not unchanged was rendered, with the result of the existing Works, changed by theirs.
func (m *marked) render(g Gomega, theirs map[string]string) *scope {
	s := m.look(g)
	digest, err := m.digest(s, s.fingerprint())
	g.Expect(err).NotTo(HaveOccurred())
	out := rendering{marks: map[string]string{}}
	for _, target := range s.targets {
		own := m.works["karmada-es-"+target.Name]
		if s.unchanged.Has(own.Namespace) {
			continue
		}
		w := own.DeepCopy()
		maps.Copy(own.Annotations, theirs)
		w.Annotations[contract.RenderedFromAnnotation] = digest.Of(w, target, s.clusters[target.Name])
		out.works, out.marks[w.Namespace] = append(out.works, w), digest.Of(own, target, s.clusters[target.Name])
	}
	m.rememberMarks(s, out, fanout.Decide(fanout.Input{ID: id, Desired: out.works, Live: []*workv1alpha1.Work{m.works["karmada-es-a"], m.works["karmada-es-b"]}}))
	return s
}

func TestMarksAvoidRenderingAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := makeMarked("v2")
	for _, w := range m.works {
		w.Labels = map[string]string{contract.ResourceBindingPermanentIDLabel: id}
	}
	g.Expect(m.look(g).unchanged).To(BeEmpty(), "Works of another program version are not unchanged")
	g.Expect(m.render(g, nil).outdated).To(HaveLen(2), "outdated marks are to be written")
	s := m.look(g)
	g.Expect(s.unchanged).To(HaveLen(2))
	g.Expect(s.outdated).To(HaveLen(2))

	m.suspect = sets.New(types.NamespacedName{Namespace: "karmada-es-a", Name: "of another"})
	g.Expect(m.look(g).unchanged).To(HaveLen(2), "a suspect Work of another binding does not matter")
	m.suspect = sets.New(types.NamespacedName{Namespace: "karmada-es-a", Name: "web"})
	g.Expect(m.look(g).unchanged).To(Equal(sets.New("karmada-es-b")))
	m.suspect = nil

	m.works["karmada-es-a"].Annotations[contract.RenderedFromAnnotation] = s.outdated[0].mark
	s = m.look(g)
	g.Expect(s.unchanged).To(HaveLen(2))
	g.Expect(s.outdated).To(HaveLen(1), "one Work still has an outdated mark")
	g.Expect(m.marks.works).To(HaveLen(1), "the mark that was written is forgotten")

	m.binding.Spec.Clusters = append(m.binding.Spec.Clusters, workv1alpha2.TargetCluster{Name: "c"})
	g.Expect(m.look(g).unchanged).To(HaveLen(2), "an additional cluster does not affect the others")
	m.binding.Spec.Clusters = m.binding.Spec.Clusters[:2]
	m.binding.Annotations[contract.TemplateFingerprintAnnotation] = "g"
	g.Expect(m.look(g).unchanged).To(BeEmpty(), "a changed template is rendered")
}

func TestForeignAnnotationCausesNoMarkWrites(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := makeMarked("v2")
	for _, w := range m.works {
		w.Labels = map[string]string{contract.ResourceBindingPermanentIDLabel: id}
	}
	g.Expect(m.render(g, map[string]string{"theirs": "1"}).outdated).To(BeEmpty())
	s := m.look(g)
	g.Expect(s.unchanged).To(HaveLen(2), "the mark is remembered")
	g.Expect(s.outdated).To(BeEmpty())
}

func TestMarksAreWrittenInTurn(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	m := makeMarked("v2")
	var answer error
	patched := 0
	hub := fake.NewClientBuilder().WithScheme(scheme)
	for _, w := range m.works {
		w.Labels, w.ResourceVersion = map[string]string{contract.ResourceBindingPermanentIDLabel: id}, ""
		hub = hub.WithObjects(w)
	}
	m.hubClient = hub.WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			patched++
			if answer != nil {
				return answer
			}
			return c.Patch(ctx, obj, patch, opts...)
		},
	}).Build()
	for _, w := range m.works {
		g.Expect(m.hubClient.Get(t.Context(), client.ObjectKeyFromObject(w), w)).To(Succeed())
	}
	req := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}}
	refresh := func(s *scope, isTurn bool) { m.refreshMarks(t.Context(), req, s, isTurn) }

	s := m.render(g, nil)
	refresh(s, false)
	g.Expect(patched).To(BeZero(), "the mark waits for its turn")
	answer = apierrors.NewConflict(works, "web", errors.New("the Work was modified"))
	refresh(s, true)
	g.Expect(patched).To(Equal(2))
	g.Expect(m.look(g).outdated).To(HaveLen(2), "a conflict is retried")
	answer = errors.New("refused")
	refresh(m.look(g), true)
	g.Expect(m.look(g).outdated).To(BeEmpty(), "another error is not retried")
	g.Expect(m.look(g).unchanged).To(HaveLen(2))

	answer = nil
	refresh(s, true)
	for _, w := range m.works {
		live := &workv1alpha1.Work{}
		g.Expect(m.hubClient.Get(t.Context(), client.ObjectKeyFromObject(w), live)).To(Succeed())
		w.Annotations[contract.RenderedFromAnnotation] = live.Annotations[contract.RenderedFromAnnotation]
		g.Expect(live.Annotations).To(Equal(w.Annotations), "only the mark is written")
		g.Expect(live.Generation).To(Equal(w.Generation))
	}
	g.Expect(m.look(g).unchanged).To(HaveLen(2))
	g.Expect(m.marks.works).To(BeEmpty())
}
