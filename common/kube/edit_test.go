package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/kube/fairqueue"
)

// binding returns a binding like one from a cache.
func binding() *workv1alpha2.ResourceBinding {
	return &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "nginx-deployment", Namespace: "shop"},
		Spec:       workv1alpha2.ResourceBindingSpec{Replicas: 1},
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change     func(*workv1alpha2.ResourceBinding)
		wantSpec   string
		wantStatus string
	}{
		"nothing changed, nothing is written": {
			change: func(*workv1alpha2.ResourceBinding) {},
		},
		"an empty list and none are the same": {
			change: func(b *workv1alpha2.ResourceBinding) { b.Spec.Clusters = []workv1alpha2.TargetCluster{} },
		},
		"the status alone does not touch the object": {
			change:     func(b *workv1alpha2.ResourceBinding) { b.Status.SchedulerObservedGeneration = 2 },
			wantStatus: `{"schedulerObservedGeneration":2}`,
		},
		"the object and its status are told apart": {
			change: func(b *workv1alpha2.ResourceBinding) {
				b.Spec.Replicas = 2
				b.Labels = map[string]string{"a": "b"}
				b.Status.SchedulerObservedGeneration = 2
			},
			wantSpec:   `{"metadata":{"labels":{"a":"b"}},"spec":{"replicas":2}}`,
			wantStatus: `{"schedulerObservedGeneration":2}`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			obj := binding()
			edit, err := Begin(obj)
			g.Expect(err).NotTo(HaveOccurred())
			tc.change(obj)
			spec, status, err := edit.diff()
			g.Expect(err).NotTo(HaveOccurred())
			if tc.wantSpec == "" {
				g.Expect(spec).To(BeNil())
			} else {
				raw, err := json.Marshal(spec)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(raw).To(MatchJSON(tc.wantSpec))
			}
			if tc.wantStatus == "" {
				g.Expect(status).To(BeNil())
			} else {
				g.Expect(status).To(MatchJSON(tc.wantStatus))
			}
		})
	}
}

// unreadable is a binding that cannot be encoded.
type unreadable struct{ *workv1alpha2.ResourceBinding }

func (unreadable) MarshalJSON() ([]byte, error) { return nil, errors.New("encoded") }

func (u unreadable) DeepCopyObject() runtime.Object { return unreadable{u.DeepCopy()} }

func TestWhatDidNotChangeIsNotEncoded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	obj := unreadable{binding()}
	edit, err := Begin(obj)
	g.Expect(err).NotTo(HaveOccurred())
	wrote, err := edit.Commit(t.Context(), nil, "test")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(wrote).To(BeFalse())
	obj.Spec.Replicas++
	_, err = edit.Commit(t.Context(), nil, "test")
	g.Expect(err).To(MatchError(ContainSubstring("encoded")), "what changed is")
}

// BenchmarkEditWithoutChange measures a stage's reconcile of a binding that needs no change.
func BenchmarkEditWithoutChange(b *testing.B) {
	obj := binding()
	for i := range 50 {
		obj.Spec.Clusters = append(obj.Spec.Clusters, workv1alpha2.TargetCluster{Name: fmt.Sprint("edge-", i), Replicas: 2})
		obj.Status.AggregatedStatus = append(obj.Status.AggregatedStatus, workv1alpha2.AggregatedStatusItem{
			ClusterName: fmt.Sprint("edge-", i), Applied: true, Status: &runtime.RawExtension{Raw: []byte(`{"replicas":2,"readyReplicas":2}`)},
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		edit, err := Begin(obj)
		if err != nil {
			b.Fatal(err)
		}
		if wrote, err := edit.Commit(b.Context(), nil, "test"); wrote || err != nil {
			b.Fatal(wrote, err)
		}
	}
}

func TestCommitWritesObjectAndStatusAndRefusesAStaleOne(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme, err := NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(binding()).
		WithStatusSubresource(&workv1alpha2.ResourceBinding{}).Build()

	read := func() *workv1alpha2.ResourceBinding {
		got := &workv1alpha2.ResourceBinding{}
		g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(binding()), got)).To(Succeed())
		return got
	}
	mine, theirs := read(), read()
	edit, err := Begin(mine)
	g.Expect(err).NotTo(HaveOccurred())
	stale, err := Begin(theirs)
	g.Expect(err).NotTo(HaveOccurred())

	mine.Spec.Replicas = 3
	mine.Status.SchedulerObservedGeneration = 7
	wrote, err := edit.Commit(t.Context(), c, "test")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(wrote).To(BeTrue())
	g.Expect(read().Spec.Replicas).To(Equal(int32(3)))
	g.Expect(read().Status.SchedulerObservedGeneration).To(Equal(int64(7)))

	theirs.Spec.Replicas = 5
	_, err = stale.Commit(t.Context(), c, "test")
	g.Expect(apierrors.IsConflict(err)).To(BeTrue())
	g.Expect(read().Spec.Replicas).To(Equal(int32(3)))

	gone, err := Begin(mine)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.Delete(t.Context(), read())).To(Succeed())
	mine.Spec.Replicas = 4
	_, err = gone.Commit(t.Context(), c, "test")
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "callers see what the server said: %v", err)
	result, err := QuietConflicts(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, err
	})).Reconcile(t.Context(), reconcile.Request{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(BeNumerically(">", 0), "the second try finds nothing to do")
}

// TestAHalfWrittenEditSaysSo checks that the caller learns that half of the edit was written: the next try no longer
// finds that half to be a change.
func TestAHalfWrittenEditSaysSo(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	statusFirst, objectFirst := (*Edit).CommitStatusFirst, (*Edit).Commit
	for name, tc := range map[string]struct {
		commit         func(*Edit, context.Context, client.Client, string) (bool, error)
		object, status error
		specToo        bool
		wrote          bool
	}{
		"the object is written, and its status is not":       {commit: objectFirst, status: refused, specToo: true, wrote: true},
		"the object is refused":                              {commit: objectFirst, object: refused, specToo: true},
		"the status alone is refused":                        {commit: objectFirst, status: refused},
		"the status is written first, and the object is not": {commit: statusFirst, object: refused, specToo: true, wrote: true},
		"the status is refused first":                        {commit: statusFirst, status: refused, specToo: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			scheme, err := NewScheme()
			g.Expect(err).NotTo(HaveOccurred())
			b := binding()
			c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(b).WithStatusSubresource(b).Build(), interceptor.Funcs{
				Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
					if tc.object != nil {
						return tc.object
					}
					return c.Patch(ctx, obj, patch, opts...)
				},
				SubResourcePatch: func(ctx context.Context, c client.Client, name string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
					if tc.status != nil {
						return tc.status
					}
					return c.SubResource(name).Patch(ctx, obj, patch, opts...)
				},
			})
			g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(b), b)).To(Succeed())
			edit, err := Begin(b)
			g.Expect(err).NotTo(HaveOccurred())
			b.Status.SchedulerObservedGeneration = 7
			if tc.specToo {
				b.Spec.Replicas = 3
			}
			wrote, err := tc.commit(edit, t.Context(), c, "test")
			g.Expect(err).To(MatchError(refused))
			g.Expect(wrote).To(Equal(tc.wrote))
		})
	}
}

func TestQuietConflictsTurnsAConflictIntoASecondTry(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "works"}, "w", errors.New("behind"))
	var comes error
	r := QuietConflicts(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, comes }))
	run := func(err error) (ctrl.Result, error) {
		comes = err
		return r.Reconcile(t.Context(), reconcile.Request{})
	}
	last := time.Duration(0)
	for range 20 {
		result, err := run(conflict)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(result.RequeueAfter).To(And(BeNumerically(">", 0), BeNumerically(">=", last), BeNumerically("<=", lastConflictRetry)))
		last = result.RequeueAfter
		result, err = run(fmt.Errorf("taking a slot: %w", fairqueue.ErrWaits))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(result.IsZero()).To(BeTrue(), "the queue has it; and that is no end of the conflicts")
	}
	g.Expect(last).To(Equal(lastConflictRetry), "who stays behind asks ever more slowly")

	broken := errors.New("broken")
	_, err := run(broken)
	g.Expect(err).To(MatchError(broken))
	result, err := run(conflict)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(Equal(conflictRetry), "the next conflict is a new one")
}

func TestAnUntrackedEditEndsTheRecordOfWhoSetWhat(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*workv1alpha2.ResourceBinding)
		want   string
	}{
		"with the patch of the object": {
			change: func(b *workv1alpha2.ResourceBinding) { b.Spec.Replicas = 2 },
			want:   `{"metadata":{"resourceVersion":"","managedFields":[{}]},"spec":{"replicas":2}}`,
		},
		"and not with that of the status, which cannot": {
			change: func(b *workv1alpha2.ResourceBinding) { b.Status.SchedulerObservedGeneration = 2 },
			want:   `{"metadata":{"resourceVersion":""},"status":{"schedulerObservedGeneration":2}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var sent []string
			note := func(obj client.Object, patch client.Patch) error {
				data, err := patch.Data(obj)
				sent = append(sent, string(data))
				return err
			}
			c := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
				Patch: func(_ context.Context, _ client.WithWatch, obj client.Object, patch client.Patch, _ ...client.PatchOption) error {
					return note(obj, patch)
				},
				SubResourcePatch: func(_ context.Context, _ client.Client, _ string, obj client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
					return note(obj, patch)
				},
			})
			b := binding()
			edit, err := Begin(b)
			g.Expect(err).NotTo(HaveOccurred())
			edit.Untracked()
			tc.change(b)
			g.Expect(edit.Commit(t.Context(), c, "test")).To(BeTrue())
			g.Expect(sent).To(HaveLen(1))
			g.Expect(sent[0]).To(MatchJSON(tc.want))
		})
	}
}
