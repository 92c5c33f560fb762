package fanout_test

import (
	"encoding/json"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/binding/fanout"
	"fairlead.dev/test/builder"
)

const id = "id-1"

// work returns a Work of the binding as rendered for a cluster.
func work(cluster string, changes ...func(*workv1alpha1.Work)) *workv1alpha1.Work {
	w := builder.MakeWork(cluster, "web").Label(contract.ResourceBindingPermanentIDLabel, id).Obj()
	w.Finalizers = []string{contract.ExecutionFinalizer}
	w.Annotations = map[string]string{
		contract.ManifestHashAnnotation:             "hash",
		contract.ResourceBindingNamespaceAnnotation: "shop",
		contract.ResourceBindingNameAnnotation:      "web-deployment",
	}
	w.ResourceVersion = "7"
	for _, change := range changes {
		change(w)
	}
	return w
}

func terminating(w *workv1alpha1.Work) { w.DeletionTimestamp = &metav1.Time{Time: metav1.Now().Time} }

func outdated(w *workv1alpha1.Work) { w.Annotations[contract.ManifestHashAnnotation] = "former" }

func foreign(w *workv1alpha1.Work) { w.Labels[contract.ResourceBindingPermanentIDLabel] = "id-2" }

func unowned(w *workv1alpha1.Work) { delete(w.Labels, contract.ResourceBindingPermanentIDLabel) }

func list(works ...*workv1alpha1.Work) []*workv1alpha1.Work { return works }

func namespace(cluster string) string {
	return contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, cluster)
}

// told returns a plan in words, in its own order.
func told(p fanout.Plan) []string {
	out := []string{}
	add := func(verb string, w *workv1alpha1.Work) {
		out = append(out, verb+" "+w.Namespace[len(contract.DefaultExecutionNamespacePrefix):]+"/"+w.Name)
	}
	for _, w := range p.Create {
		add("create", w)
	}
	for _, u := range p.Update {
		verb := "label"
		if u.Spec {
			verb = "update"
		}
		add(verb, u.Desired)
	}
	for _, w := range p.Delete {
		add("delete", w)
	}
	for _, w := range p.Waiting {
		add("await", w)
	}
	for _, w := range p.Held {
		add("hold", w)
	}
	return out
}

func TestDecide(t *testing.T) {
	t.Parallel()
	renamed := func(w *workv1alpha1.Work) { w.Name = "other" }
	tests := map[string]struct {
		in   fanout.Input
		want []string
	}{
		"nothing is to be, and nothing is": {want: []string{}},
		"Works are created by cluster": {
			in:   fanout.Input{Desired: list(work("b"), work("a"))},
			want: []string{"create a/web", "create b/web"},
		},
		"what is as it should be is left alone": {
			in:   fanout.Input{Desired: list(work("a")), Live: list(work("a"))},
			want: []string{},
		},
		"what others put on a Work is left alone": {
			in: fanout.Input{Desired: list(work("a")), Live: list(work("a", func(w *workv1alpha1.Work) {
				w.Labels["theirs"], w.Annotations["theirs"], w.Finalizers = "x", "x", append(w.Finalizers, "theirs/x")
			}))},
			want: []string{},
		},
		"a Work of another hash is rewritten": {
			in:   fanout.Input{Desired: list(work("a"), work("b")), Live: list(work("a"), work("b", outdated))},
			want: []string{"update b/web"},
		},
		"a Work whose spec somebody changed is rewritten": {
			in: fanout.Input{
				Desired: list(work("a")), Live: list(work("a")),
				Suspect: sets.New(types.NamespacedName{Namespace: namespace("a"), Name: "web"}),
			},
			want: []string{"update a/web"},
		},
		"a Work that lost a label gets it back": {
			in: fanout.Input{
				Desired: list(work("a", func(w *workv1alpha1.Work) { w.Labels["ours"] = "x" })), Live: list(work("a")),
			},
			want: []string{"label a/web"},
		},
		"a Work that lost its finalizer gets it back": {
			in:   fanout.Input{Desired: list(work("a")), Live: list(work("a", func(w *workv1alpha1.Work) { w.Finalizers = nil }))},
			want: []string{"label a/web"},
		},
		"an override that applies no more is no more told of": {
			in: fanout.Input{Desired: list(work("a")), Live: list(work("a", func(w *workv1alpha1.Work) {
				w.Annotations[contract.AppliedOverridesAnnotation] = "[]"
			}))},
			want: []string{"label a/web"},
		},
		"a Work in a cluster that is no target is deleted": {
			in:   fanout.Input{Desired: list(work("a")), Live: list(work("b"), work("a"))},
			want: []string{"delete b/web"},
		},
		"it is deleted once": {
			in:   fanout.Input{Live: list(work("b", terminating))},
			want: []string{},
		},
		"a Work of a former name is deleted": {
			in:   fanout.Input{Desired: list(work("a")), Live: list(work("a", renamed))},
			want: []string{"create a/web", "delete a/other"},
		},
		"what could not be rendered stays as it is": {
			in:   fanout.Input{Desired: list(work("a")), Live: list(work("a"), work("b", outdated)), Keep: sets.New(namespace("b"))},
			want: []string{},
		},
		"a Work that is being deleted is waited for": {
			in:   fanout.Input{Desired: list(work("a"), work("b")), Live: list(work("a", terminating, outdated))},
			want: []string{"create b/web", "await a/web"},
		},
		"a Work of another binding is neither changed nor deleted": {
			in:   fanout.Input{Desired: list(work("a")), Live: list(work("b", foreign))},
			want: []string{"create a/web"},
		},
		"whose a name is, is for the server to say": {
			in:   fanout.Input{Desired: list(work("a"), work("b")), Live: list(work("a", foreign), work("b", unowned))},
			want: []string{"create a/web", "create b/web"},
		},
		"nothing is created before what is purged is gone": {
			in: fanout.Input{
				Desired: list(work("a"), work("b")), Live: list(work("a", outdated), work("z", terminating)), Purge: sets.New(namespace("z")),
			},
			want: []string{"update a/web", "hold b/web"},
		},
		"the purge begins with a deletion": {
			in:   fanout.Input{Desired: list(work("b")), Live: list(work("z")), Purge: sets.New(namespace("z"))},
			want: []string{"delete z/web", "hold b/web"},
		},
		"after the purge all is created": {
			in:   fanout.Input{Desired: list(work("b")), Purge: sets.New(namespace("z"))},
			want: []string{"create b/web"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.in.ID = id
			NewWithT(t).Expect(told(fanout.Decide(tt.in))).To(Equal(tt.want))
		})
	}
}

func TestPatch(t *testing.T) {
	t.Parallel()
	yes := true
	desired := work("a", func(w *workv1alpha1.Work) {
		w.Labels["ours"] = "new"
		w.Spec = workv1alpha1.WorkSpec{SuspendDispatching: &yes, Workload: workv1alpha1.WorkloadTemplate{
			Manifests: []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(`{"kind":"ConfigMap"}`)}}},
		}}
	})
	live := work("a", outdated, func(w *workv1alpha1.Work) {
		w.Labels["ours"], w.Labels["theirs"] = "old", "x"
		w.Annotations[contract.AppliedClusterOverridesAnnotation] = "[]"
		w.Finalizers = []string{"theirs/x"}
	})
	tests := map[string]struct {
		spec bool
		want string
	}{
		"the whole spec, and of the metadata what changes": {
			spec: true,
			want: `{"metadata":{"resourceVersion":"7","labels":{"ours":"new"},"finalizers":["theirs/x","karmada.io/execution-controller"],
				"annotations":{"fairlead.dev/manifest-hash":"hash","policy.karmada.io/applied-cluster-overrides":null}},
				"spec":{"suspendDispatching":true,"workload":{"manifests":[{"kind":"ConfigMap"}]}}}`,
		},
		"no spec where only metadata changes": {
			want: `{"metadata":{"resourceVersion":"7","labels":{"ours":"new"},"finalizers":["theirs/x","karmada.io/execution-controller"],
				"annotations":{"fairlead.dev/manifest-hash":"hash","policy.karmada.io/applied-cluster-overrides":null}}}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got, err := fanout.Update{Live: live, Desired: desired, Spec: tt.spec}.Patch()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(MatchJSON(tt.want))
		})
	}
}

// TestAPatchLeavesNothingToDo holds that a Work to which its patch was applied is as
// it should be.
func TestAPatchLeavesNothingToDo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for i := range 32 {
		live := work("a", func(w *workv1alpha1.Work) {
			if i&1 > 0 {
				outdated(w)
			}
			if i&2 > 0 {
				w.Labels["x"] = "theirs"
			}
			if i&4 > 0 {
				w.Annotations[contract.AppliedOverridesAnnotation] = "[]"
			}
			if i&8 > 0 {
				w.Finalizers = nil
			}
		})
		desired := work("a", func(w *workv1alpha1.Work) {
			if i&16 > 0 {
				w.Labels["x"] = "ours"
			}
		})
		for _, u := range fanout.Decide(fanout.Input{ID: id, Desired: list(desired), Live: list(live)}).Update {
			patch, err := u.Patch()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(merge(live, patch)).To(Succeed())
		}
		g.Expect(told(fanout.Decide(fanout.Input{ID: id, Desired: list(desired), Live: list(live)}))).To(BeEmpty(), fmt.Sprint("case ", i))
	}
}

// merge applies what a merge patch says of metadata.
func merge(w *workv1alpha1.Work, patch []byte) error {
	var p struct {
		Metadata struct {
			Labels, Annotations map[string]*string
			Finalizers          []string
		}
	}
	if err := json.Unmarshal(patch, &p); err != nil {
		return err
	}
	apply := func(to map[string]string, from map[string]*string) {
		for key, value := range from {
			if value == nil {
				delete(to, key)
			} else {
				to[key] = *value
			}
		}
	}
	apply(w.Labels, p.Metadata.Labels)
	apply(w.Annotations, p.Metadata.Annotations)
	if p.Metadata.Finalizers != nil {
		w.Finalizers = p.Metadata.Finalizers
	}
	return nil
}

func TestOwnerName(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(fanout.OwnerName(work("a"))).To(Equal("ResourceBinding shop/web-deployment"))
	g.Expect(fanout.OwnerName(work("a", func(w *workv1alpha1.Work) {
		w.Annotations = map[string]string{contract.ClusterResourceBindingNameAnnotation: "reader-clusterrole"}
	}))).To(Equal("ClusterResourceBinding reader-clusterrole"))
	g.Expect(fanout.OwnerName(work("a", func(w *workv1alpha1.Work) { w.Annotations = nil }))).To(ContainSubstring(id))
}
