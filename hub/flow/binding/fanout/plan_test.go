package fanout_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/binding/fanout"
	"fairlead.dev/test/builder"
)

const id = "id-1"

// work returns a rendered Work of the binding for a cluster.
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

func intended(w *workv1alpha1.Work) {
	w.Annotations[contract.DeletionIntentAnnotation] = contract.DeletionMoved
}

func outdated(w *workv1alpha1.Work) { w.Annotations[contract.ManifestHashAnnotation] = "former" }

func from(origin string) func(*workv1alpha1.Work) {
	return func(w *workv1alpha1.Work) { w.Annotations[contract.RenderedFromAnnotation] = origin }
}

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
	for _, d := range p.Delete {
		add("delete as "+d.Intent, d.Live)
	}
	for _, w := range p.Withdraw {
		add("withdraw", w)
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
		"nothing desired and nothing there": {want: []string{}},
		"Works are created by cluster": {
			in:   fanout.Input{Desired: list(work("b"), work("a"))},
			want: []string{"create a/web", "create b/web"},
		},
		"an up-to-date Work is not written": {
			in:   fanout.Input{Desired: list(work("a")), Live: list(work("a"))},
			want: []string{},
		},
		"labels and annotations of others stay": {
			in: fanout.Input{Desired: list(work("a")), Live: list(work("a", func(w *workv1alpha1.Work) {
				w.Labels["theirs"], w.Annotations["theirs"], w.Finalizers = "x", "x", append(w.Finalizers, "theirs/x")
			}))},
			want: []string{},
		},
		"another mark alone is not written": {
			in: fanout.Input{Desired: list(work("a", from("1"))), Live: list(work("a", from("2")))}, want: []string{},
		},
		"a Work with another hash is rewritten": {
			in:   fanout.Input{Desired: list(work("a"), work("b")), Live: list(work("a"), work("b", outdated))},
			want: []string{"update b/web"},
		},
		"a Work whose spec was changed is rewritten": {
			in: fanout.Input{
				Desired: list(work("a")), Live: list(work("a")),
				Suspect: sets.New(types.NamespacedName{Namespace: namespace("a"), Name: "web"}),
			},
			want: []string{"update a/web"},
		},
		"a Work without a label gets it": {
			in: fanout.Input{
				Desired: list(work("a", func(w *workv1alpha1.Work) { w.Labels["ours"] = "x" })), Live: list(work("a")),
			},
			want: []string{"label a/web"},
		},
		"a Work without its finalizer gets it": {
			in:   fanout.Input{Desired: list(work("a")), Live: list(work("a", func(w *workv1alpha1.Work) { w.Finalizers = nil }))},
			want: []string{"label a/web"},
		},
		"the annotation of a removed override is removed": {
			in: fanout.Input{Desired: list(work("a")), Live: list(work("a", func(w *workv1alpha1.Work) {
				w.Annotations[contract.AppliedOverridesAnnotation] = "[]"
			}))},
			want: []string{"label a/web"},
		},
		"a Work in a cluster that is not a target is deleted": {
			in:   fanout.Input{Desired: list(work("a")), Live: list(work("b"), work("a"))},
			want: []string{"delete as moved b/web"},
		},
		"a Work is deleted once": {
			in:   fanout.Input{Live: list(work("b", terminating, intended))},
			want: []string{},
		},
		"an unwanted Work that others deleted gets its intent": {
			in:   fanout.Input{Live: list(work("b", terminating))},
			want: []string{"delete as moved b/web"},
		},
		"the intent is withdrawn when the Work is wanted again": {
			in:   fanout.Input{Desired: list(work("b")), Live: list(work("b", terminating, intended))},
			want: []string{"withdraw b/web", "await b/web"},
		},
		"the intent of another binding's Work is not withdrawn": {
			in:   fanout.Input{Desired: list(work("b")), Live: list(work("b", terminating, intended, foreign))},
			want: []string{"await b/web"},
		},
		"an intent without a deletion is removed from a desired Work": {
			in:   fanout.Input{Desired: list(work("b")), Live: list(work("b", intended))},
			want: []string{"label b/web"},
		},
		"an intent without a deletion is removed from a kept Work": {
			in:   fanout.Input{Desired: list(work("a")), Live: list(work("a"), work("b", outdated, intended)), Keep: sets.New(namespace("b"))},
			want: []string{"withdraw b/web"},
		},
		"the intent of a leaving cluster stays on a kept Work": {
			in: fanout.Input{Live: list(work("b", func(w *workv1alpha1.Work) {
				w.Annotations[contract.DeletionIntentAnnotation] = contract.DeletionClusterLeft
			})), Keep: sets.New(namespace("b"))},
			want: []string{},
		},
		"the intent of another binding's kept Work stays": {
			in: fanout.Input{Live: list(work("b", intended, foreign)), Keep: sets.New(namespace("b"))}, want: []string{},
		},
		"a Work of a former name is deleted": {
			in:   fanout.Input{Desired: list(work("a")), Live: list(work("a", renamed))},
			want: []string{"create a/web", "delete as moved a/other"},
		},
		"a Work that could not be rendered stays as it is": {
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
		"a taken name is left to the server": {
			in:   fanout.Input{Desired: list(work("a"), work("b")), Live: list(work("a", foreign), work("b", unowned))},
			want: []string{"create a/web", "create b/web"},
		},
		"nothing is created while a Work is being purged": {
			in: fanout.Input{
				Desired: list(work("a"), work("b")), Live: list(work("a", outdated), work("z", terminating, intended)), Purge: sets.New(namespace("z")),
			},
			want: []string{"update a/web", "hold b/web"},
		},
		"the purge begins with a deletion": {
			in:   fanout.Input{Desired: list(work("b")), Live: list(work("z")), Purge: sets.New(namespace("z"))},
			want: []string{"delete as moved z/web", "hold b/web"},
		},
		"all Works are created after the purge": {
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
		"the whole spec and changed metadata": {
			spec: true,
			want: `{"metadata":{"resourceVersion":"7","managedFields":[{}],"labels":{"ours":"new"},"finalizers":["theirs/x","karmada.io/execution-controller"],
				"annotations":{"fairlead.dev/manifest-hash":"hash","policy.karmada.io/applied-cluster-overrides":null}},
				"spec":{"suspendDispatching":true,"workload":{"manifests":[{"kind":"ConfigMap"}]}}}`,
		},
		"only metadata": {
			want: `{"metadata":{"resourceVersion":"7","managedFields":[{}],"labels":{"ours":"new"},"finalizers":["theirs/x","karmada.io/execution-controller"],
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

// TestPatchGivesDesiredWork checks that a Work to which its patch was applied is the desired one.
func TestPatchGivesDesiredWork(t *testing.T) {
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

// merge applies the metadata of a merge patch.
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

func TestDeletionIntent(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	eviction := func(change func(*workv1alpha2.Eviction)) []workv1alpha2.Eviction {
		e := workv1alpha2.Eviction{From: "b", At: metav1.NewTime(at), Reason: workv1alpha2.EvictionTaintUntolerated}
		change(&e)
		return []workv1alpha2.Eviction{e}
	}
	plain := func(*workv1alpha2.Eviction) {}
	made := func(when time.Time) func(*workv1alpha1.Work) {
		return func(w *workv1alpha1.Work) { w.CreationTimestamp = metav1.NewTime(when) }
	}
	tests := map[string]struct {
		reasons   fanout.Reasons
		evictions []workv1alpha2.Eviction
		work      *workv1alpha1.Work
		want      string
	}{
		"the scheduler chose other clusters": {want: contract.DeletionMoved},
		"the binding is deleted":             {reasons: fanout.Reasons{Removed: true}, want: contract.DeletionRemoved},
		"the cluster leaves the fleet": {
			reasons: fanout.Reasons{Departed: sets.New(namespace("b"))}, evictions: eviction(plain), want: contract.DeletionClusterLeft,
		},
		"the application was evicted": {evictions: eviction(plain), want: contract.DeletionEvicted},
		"the application was evicted from its last cluster": {
			reasons: fanout.Reasons{Removed: true}, evictions: eviction(plain), want: contract.DeletionEvicted,
		},
		"the application came back after an eviction, and has no targets now": {
			reasons: fanout.Reasons{Removed: true}, evictions: eviction(plain), work: work("b", made(at.Add(time.Second))), want: contract.DeletionRemoved,
		},
		"the application was evicted from another cluster": {evictions: eviction(func(e *workv1alpha2.Eviction) { e.From = "a" }), want: contract.DeletionMoved},
		"the scheduler prefers another cluster": {
			evictions: eviction(func(e *workv1alpha2.Eviction) { e.Reason = workv1alpha2.EvictionPreferred }), want: contract.DeletionMoved,
		},
		"an eviction was taken back, and the application moved later": {
			evictions: eviction(func(e *workv1alpha2.Eviction) { e.How = workv1alpha2.EvictionReturned }), want: contract.DeletionMoved,
		},
		"the application came back after an eviction, and moved later": {
			evictions: eviction(plain), work: work("b", made(at.Add(time.Second))), want: contract.DeletionMoved,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			tt.reasons.Evict(tt.evictions, namespace)
			live := tt.work
			if live == nil {
				live = work("b", made(at.Add(-time.Hour)))
			}
			plan := fanout.Decide(fanout.Input{ID: id, Live: list(live), Reasons: tt.reasons})
			g.Expect(plan.Delete).To(HaveLen(1))
			g.Expect(plan.Delete[0].Intent).To(Equal(tt.want))
		})
	}
}
