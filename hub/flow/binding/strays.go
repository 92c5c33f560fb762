package binding

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/binding/fanout"
)

// When a binding is deleted, the Works that the cache shows are deleted with it. A Work that was created just before, by a request whose
// response was lost or by a hub that was killed, is noticed when the binding is gone: a stray. Strays in the watch are read live, and
// deleted as they would have been with their binding, if this process saw the deletion of the binding. For any other Work without a
// binding, it is not known why the binding is missing, so the Work stays as it is.

// strayAgain is when a stray is reconciled again whose template is about to get a binding. The new binding triggers that as well.
const strayAgain = time.Minute

// strays are the Works that the watch showed without their binding, which was seen to be deleted, by the name of the binding. The zero
// value is ready; it is safe for concurrent use.
type strays struct {
	gone gone
	left left

	mu    sync.Mutex
	works map[types.NamespacedName]sets.Set[types.NamespacedName]
}

func (s *strays) add(binding, work types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.works == nil {
		s.works = map[types.NamespacedName]sets.Set[types.NamespacedName]{}
	}
	if s.works[binding] == nil {
		s.works[binding] = sets.Set[types.NamespacedName]{}
	}
	s.works[binding].Insert(work)
}

func (s *strays) of(binding types.NamespacedName) []types.NamespacedName {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.works[binding].UnsortedList()
}

func (s *strays) forget(binding, work types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.works[binding], work)
	if len(s.works[binding]) == 0 {
		delete(s.works, binding)
	}
}

// noteStray remembers a Work whose binding was seen to be deleted, and returns whether it is one. Any other Work without a binding, or with
// one of another permanent id, stays as it is.
func (r *reconciler) noteStray(ctx context.Context, w *workv1alpha1.Work) bool {
	key, named := r.bindingOf(w)
	_, executing := contract.ClusterOf(r.prefix, w.Namespace)
	if !named || !executing || w.Labels[bindings.IDLabel(key.Namespace)] == "" || goes(w) || r.hasBinding(ctx, w) {
		return false // this hub has not created a Work with missing or inconsistent marks
	}
	if r.strays.gone.find(bindings.IDOf(w)) == nil {
		if r.strays.left.add(fanout.Key(w)) {
			time.AfterFunc(logLeftAfter, func() { r.logLeft(ctx) })
		}
		return false
	}
	r.strays.add(key, fanout.Key(w))
	return true
}

// hasBinding returns whether the cache shows the binding that a Work names. A binding that is being deleted counts: its Works are handled
// when it is gone.
func (r *reconciler) hasBinding(ctx context.Context, w *workv1alpha1.Work) bool {
	key, _ := r.bindingOf(w)
	b := r.kind.New()
	// The cache has started, so the only other error costs one live read.
	return r.hubClient.Get(ctx, key, b, client.UnsafeDisableDeepCopy) == nil && bindings.IDOf(b) == bindings.IDOf(w)
}

// noteLeft remembers the Works that a deleted binding left behind, and returns whether there are any: the cache showed them after the last
// reconcile.
func (r *reconciler) noteLeft(ctx context.Context, b kube.Binding) bool {
	unseen := r.expectations.pending(bindings.IDOf(b))
	works, err := kube.WorksOf(ctx, r.hubClient, b)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Looking for the Works that a binding left behind")
		return false
	}
	left := false
	for _, w := range latestWorks(b, unseen, r.executing(works)) {
		if !goes(w) {
			r.strays.add(client.ObjectKeyFromObject(b), fanout.Key(w))
			left = true
		}
	}
	return left
}

// goes returns whether a Work is being deleted by intent.
func goes(w *workv1alpha1.Work) bool {
	return !w.DeletionTimestamp.IsZero() && contract.DeletionIntended(w.Annotations)
}

// cleanUpStrays deletes the strays of a binding that is gone, based on live reads, and returns when to reconcile again: zero if nothing is
// left to do. Without strays it makes no request.
func (r *reconciler) cleanUpStrays(ctx context.Context, key types.NamespacedName) (time.Duration, error) {
	works := r.strays.of(key)
	if len(works) == 0 {
		return 0, nil
	}
	live, err := r.bindingNow(ctx, key)
	if err != nil {
		return 0, err
	}
	var errs []error
	deleted, again := 0, time.Duration(0)
	for _, name := range works {
		w := &workv1alpha1.Work{}
		err := r.hubReader.Get(ctx, name, w)
		if client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("reading work %q: %w", name, err))
			continue
		}
		was := r.strays.gone.find(bindings.IDOf(w))
		if now, ok := r.bindingOf(w); err != nil || was == nil || !ok || now != key || w.Labels[bindings.IDLabel(key.Namespace)] == "" || goes(w) {
			r.strays.forget(key, name)
			continue
		}
		fate, err := r.fateOf(ctx, live, was, w)
		if err == nil && fate == strayGoes {
			err = r.deleteStray(ctx, was, w)
			deleted++
		}
		switch {
		case err != nil:
			errs = append(errs, err)
		case fate == strayWaits:
			again = strayAgain
		default:
			r.strays.forget(key, name)
		}
	}
	if deleted > 0 && len(errs) == 0 {
		ctrl.LoggerFrom(ctx).Info("Deleted the Works of a binding that is gone", "count", deleted)
	}
	return again, errors.Join(errs...)
}

// bindingNow reads a binding live; nil if it does not exist. That the API does not serve the kind at the moment does not count as missing.
func (r *reconciler) bindingNow(ctx context.Context, key types.NamespacedName) (kube.Binding, error) {
	b := r.kind.New()
	err := r.hubReader.Get(ctx, key, b)
	switch {
	case err == nil:
		return b, nil
	case apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return nil, nil //nolint:nilnil // nil is a result: it does not exist
	default:
		return nil, fmt.Errorf("reading %s %q before Works that name it are deleted: %w", r.kind.Kind, key, err)
	}
}

// fate is what to do with a stray.
type fate int

const (
	// strayStays : the existing binding owns it or takes it over.
	strayStays fate = iota
	// strayWaits : it is not known yet.
	strayWaits
	// strayGoes : its binding is gone, so it is deleted.
	strayGoes
)

// fateOf decides about a stray, read live, whose binding was seen to be deleted. Live is the binding that has this name now, if any. The
// stray is deleted if no binding has the name and none is about to, or if that binding has other clusters. If it has the stray's cluster,
// it takes the Work over. A binding that is not younger than the Work may be the same one, without its permanent id.
func (r *reconciler) fateOf(ctx context.Context, live kube.Binding, was *departed, w *workv1alpha1.Work) (fate, error) {
	if live == nil {
		awaits, err := r.awaitsBinding(ctx, was, w)
		if awaits || err != nil {
			return strayWaits, err // a binding will be created, which takes it over
		}
		return strayGoes, nil
	}
	if !live.GetDeletionTimestamp().IsZero() {
		return strayWaits, nil // the end of its deletion triggers a reconcile
	}
	if id := bindings.IDOf(live); id == "" || id == bindings.IDOf(w) || !live.GetCreationTimestamp().After(w.CreationTimestamp.Time) {
		return strayStays, nil
	}
	spec := live.BindingSpec()
	targets := bindings.Targets(spec)
	if len(targets) == 0 && spec.Placement != nil {
		return strayWaits, nil // its clusters are not decided yet
	}
	name, _ := contract.ClusterOf(r.prefix, w.Namespace)
	if slices.ContainsFunc(targets, func(t workv1alpha2.TargetCluster) bool { return t.Name == name }) ||
		slices.ContainsFunc(spec.GracefulEvictionTasks, func(t workv1alpha2.GracefulEvictionTask) bool { return t.FromCluster == name }) {
		return strayStays, nil
	}
	return strayGoes, nil
}

// awaitsBinding returns whether the template of a Work, read whole, exists and will get another binding: a policy has claimed it, or a
// workload that needed it still does. It also returns true if the API does not serve the kind at the moment.
func (r *reconciler) awaitsBinding(ctx context.Context, was *departed, w *workv1alpha1.Work) (bool, error) {
	if len(w.Spec.Workload.Manifests) == 0 {
		return false, nil
	}
	of := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(w.Spec.Workload.Manifests[0].Raw, of); err != nil {
		return false, nil //nolint:nilerr // no such object can have been applied
	}
	template := kube.MetadataOf(of.GroupVersionKind())
	err := r.hubReader.Get(ctx, client.ObjectKeyFromObject(of), template)
	switch {
	case meta.IsNoMatchError(err), apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return true, nil
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("reading the template of work %q: %w", fanout.Key(w), err)
	case !template.DeletionTimestamp.IsZero():
		return false, nil
	}
	if bindings.HasPolicy(template) {
		return true, nil
	}
	return r.isNeeded(ctx, was)
}

// isNeeded reads live whether a workload that needed the template of a deleted binding still does.
func (r *reconciler) isNeeded(ctx context.Context, was *departed) (bool, error) {
	for _, key := range was.requirers {
		b := kube.BindingsIn(key.Namespace).New()
		err := r.hubReader.Get(ctx, key, b)
		switch {
		case apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		case err != nil:
			return false, fmt.Errorf("reading binding %q, which needed what is to be deleted: %w", key, err)
		case b.GetDeletionTimestamp().IsZero() && bindings.Needs(b, &was.resource):
			return true, nil
		}
	}
	return was.byMany, nil
}

// takesOver returns whether a live Work was left by a former binding of the same name, in a cluster of the present one, which is read live.
// Its object stays, and becomes the desired one.
func (r *reconciler) takesOver(ctx context.Context, id string, live, desired *workv1alpha1.Work) (bool, error) {
	key, ok := bindings.KeyOf(desired)
	if former, named := bindings.KeyOf(live); !ok || !named || former != key {
		return false, nil
	}
	before, after := contentOf(live), contentOf(desired)
	if !after.canFollow(before) {
		return false, nil
	}
	now, err := r.bindingNow(ctx, key)
	if err != nil {
		return false, err
	}
	if now == nil || bindings.IDOf(now) != id || !now.GetDeletionTimestamp().IsZero() {
		return false, kube.CacheBehind(workv1alpha2.GroupVersion.WithResource("bindings").GroupResource(), key.Name)
	}
	return true, nil
}
