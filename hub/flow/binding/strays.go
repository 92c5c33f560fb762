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

// A binding that is deleted takes along the Works that the cache shows. One that was made a moment before, by a request whose answer was
// lost or by a hub that was killed, comes to light when the binding is gone: a stray. What the watch shows as one is looked at live, and goes
// as it would have gone with its binding, if this process saw that go. Of any other Work without its binding it is not known why that is not
// there, so it is left as it is.

// strayAgain is when a stray is looked at again whose template is to get a binding. The binding itself wakes it as well.
const strayAgain = time.Minute

// strays are the Works that the watch showed without their binding, which was seen to go, by the name of that. The zero value is ready; it is
// safe for use by many goroutines.
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

// noteStray remembers a Work whose binding was seen to go, and says whether it is one. One that has none otherwise, or one of another permanent
// id, is left as it is.
func (r *reconciler) noteStray(ctx context.Context, w *workv1alpha1.Work) bool {
	key, named := r.bindingOf(w)
	_, executing := contract.ClusterOf(r.prefix, w.Namespace)
	if !named || !executing || w.Labels[bindings.IDLabel(key.Namespace)] == "" || goes(w) || r.hasBinding(ctx, w) {
		return false // what says nothing of itself, or something that does not fit, nobody here has made
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

// hasBinding says whether the cache shows the binding that a Work names. One on its way out is there: its Works are looked at when it is gone.
func (r *reconciler) hasBinding(ctx context.Context, w *workv1alpha1.Work) bool {
	key, _ := r.bindingOf(w)
	b := r.kind.New()
	// The cache answers once it has started, and an error of another kind costs one live look.
	return r.hubClient.Get(ctx, key, b, client.UnsafeDisableDeepCopy) == nil && bindings.IDOf(b) == bindings.IDOf(w)
}

// noteLeft remembers the Works that a binding left behind which is gone, and says whether there are any: the cache showed them after it was
// looked at for the last time.
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

// goes says whether a Work is being deleted by intent.
func goes(w *workv1alpha1.Work) bool {
	return !w.DeletionTimestamp.IsZero() && contract.DeletionIntended(w.Annotations)
}

// cleanUpStrays deletes the strays of a binding that is gone, by what is read live, and returns when to look again: zero if
// nothing is left to be done. Without strays it makes no request.
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

// bindingNow reads a binding live; nil if there is none. An API that does not serve the kind at the moment has not said so.
func (r *reconciler) bindingNow(ctx context.Context, key types.NamespacedName) (kube.Binding, error) {
	b := r.kind.New()
	err := r.hubReader.Get(ctx, key, b)
	switch {
	case err == nil:
		return b, nil
	case apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		return nil, nil //nolint:nilnil // That there is none is an answer.
	default:
		return nil, fmt.Errorf("reading %s %q before Works that name it are deleted: %w", r.kind.Kind, key, err)
	}
}

// fate is what becomes of a stray.
type fate int

const (
	// strayStays : it is the business of the binding that is there, which has it or takes it over.
	strayStays fate = iota
	// strayWaits : that is not known yet.
	strayWaits
	// strayGoes : its binding is gone.
	strayGoes
)

// fateOf decides about a stray, read live, whose binding was seen to go, given the binding that has the name of that; nil if there is none. It
// goes if nothing has that name and nothing is about to, or if another binding has it that is to be elsewhere. Where that one is to be, it takes
// the Work over. One that is not younger than the Work may be no other one, but one that has lost its permanent id.
func (r *reconciler) fateOf(ctx context.Context, live kube.Binding, was *departed, w *workv1alpha1.Work) (fate, error) {
	if live == nil {
		awaits, err := r.awaitsBinding(ctx, was, w)
		if awaits || err != nil {
			return strayWaits, err // a binding is made, which takes it over
		}
		return strayGoes, nil
	}
	if !live.GetDeletionTimestamp().IsZero() {
		return strayWaits, nil // that it is gone wakes us
	}
	if id := bindings.IDOf(live); id == "" || id == bindings.IDOf(w) || !live.GetCreationTimestamp().After(w.CreationTimestamp.Time) {
		return strayStays, nil
	}
	spec := live.BindingSpec()
	targets := bindings.Targets(spec)
	if len(targets) == 0 && spec.Placement != nil {
		return strayWaits, nil // where it is to be is not decided yet
	}
	name, _ := contract.ClusterOf(r.prefix, w.Namespace)
	if slices.ContainsFunc(targets, func(t workv1alpha2.TargetCluster) bool { return t.Name == name }) ||
		slices.ContainsFunc(spec.GracefulEvictionTasks, func(t workv1alpha2.GracefulEvictionTask) bool { return t.FromCluster == name }) {
		return strayStays, nil
	}
	return strayGoes, nil
}

// awaitsBinding says whether the template of a Work, read whole, is there and gets another binding: a policy has claimed it, or what needed it
// by the binding that went needs it still. That is so as well if the API does not serve its kind at the moment, which says nothing of it.
func (r *reconciler) awaitsBinding(ctx context.Context, was *departed, w *workv1alpha1.Work) (bool, error) {
	if len(w.Spec.Workload.Manifests) == 0 {
		return false, nil
	}
	of := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(w.Spec.Workload.Manifests[0].Raw, of); err != nil {
		return false, nil //nolint:nilerr // Nobody can have applied it.
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

// isNeeded says whether what needed the template of a binding that went needs it still, by what is read live.
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

// takesOver says whether a live Work is one that a former binding of the same name left where the present one, read live, is to be. Its object
// stays, and becomes what is desired.
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
