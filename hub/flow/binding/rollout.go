package binding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/binding/staging"
)

// followed is a rollout that determines the content that the clusters of a binding get: that of the binding itself, or of a workload that
// needs its object.
type followed struct {
	// name is NAMESPACE/NAME of the binding whose rollout it is; empty if that is the binding itself.
	name string
	// binding is the binding whose rollout it is; nil if that is gone.
	binding kube.Binding
	// rollout is nil if it does not exist yet; then nothing moves.
	rollout kube.Rollout
	plan    revision.Plan
	adopted revision.ID
	// targets are the targets of that binding, by cluster.
	targets map[string]workv1alpha2.TargetCluster
	// works are the Works of that binding, by namespace.
	works map[string]*workv1alpha1.Work
}

// readRollouts reads the rollouts that a binding follows, all from the cache. A binding without one costs no request, except for the check
// by confirmUnstaged.
func (r *reconciler) readRollouts(ctx context.Context, s *scope) error {
	if bindings.IsStaged(s.binding) {
		f, err := r.follow(ctx, s.binding, "")
		if err != nil {
			return err
		}
		f.works = s.live
		s.rollouts = []*followed{f}
		return nil
	}
	for _, key := range staging.Leaders(s.binding) {
		other, err := r.bindingNamed(ctx, r.hubClient, key)
		switch {
		case err != nil:
			return err
		case other == nil:
			s.rollouts = append(s.rollouts, &followed{name: key.String()})
			continue
		case !bindings.IsStaged(other):
			s.unstaged = append(s.unstaged, other)
			continue
		}
		f, err := r.follow(ctx, other, key.String())
		if err != nil {
			return err
		}
		works, err := kube.WorksOf(ctx, r.hubClient, other)
		if err != nil {
			return err
		}
		f.works = byNamespace(works)
		s.rollouts = append(s.rollouts, f)
	}
	return r.confirmUnstaged(ctx, s)
}

// follow reads the rollout of a binding.
func (r *reconciler) follow(ctx context.Context, b kube.Binding, name string) (*followed, error) {
	f := &followed{name: name, binding: b, targets: map[string]workv1alpha2.TargetCluster{}}
	for _, target := range bindings.Targets(b.BindingSpec()) {
		f.targets[target.Name] = target
	}
	kind := kube.RolloutsIn(b.GetNamespace())
	rollout := kind.New()
	err := r.hubClient.Get(ctx, client.ObjectKeyFromObject(b), rollout, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading %s %q: %w", kind.Kind, b.GetName(), err)
	}
	if owner := metav1.GetControllerOf(rollout); err != nil || owner != nil && owner.UID != b.GetUID() {
		return f, nil //nolint:nilerr // it does not exist yet
	}
	f.rollout, f.plan, f.adopted = rollout, revision.NewPlan(rollout.RolloutStatus()), revision.Adopted(rollout.RolloutStatus().Revisions)
	return f, nil
}

// confirmUnstaged reads live whether a binding follows no rollout, if its Works have a revision. When a hub has just become active, its
// cache may be older than what the previous active hub did, and what is sent to all clusters at once cannot be undone.
func (r *reconciler) confirmUnstaged(ctx context.Context, s *scope) error {
	had := map[string]bool{}
	for _, w := range s.works {
		if w.Annotations[contract.RevisionAnnotation] != "" {
			had[w.Annotations[contract.RevisionOfAnnotation]] = true
		}
	}
	for _, f := range s.rollouts {
		delete(had, f.name)
	}
	for name := range had {
		key, cached := client.ObjectKeyFromObject(s.binding), s.binding.GetResourceVersion()
		if name != "" {
			key, cached = splitName(name), ""
			if !revision.Leads(key.Namespace, s.binding.GetNamespace()) {
				continue // an earlier version of the hub made it follow that rollout
			}
		}
		live, err := r.bindingNamed(ctx, r.hubReader, key)
		if err != nil {
			return err
		}
		behind := live != nil && bindings.IsStaged(live)
		if name != "" && behind { // it may not need the object any more
			now, err := r.bindingNamed(ctx, r.hubReader, client.ObjectKeyFromObject(s.binding))
			if err != nil {
				return err
			}
			behind = now != nil && bindings.Requires(now, key)
		}
		if behind {
			return apierrors.NewConflict(workv1alpha2.GroupVersion.WithResource("bindings").GroupResource(), key.Name,
				fmt.Errorf("the cache is behind: at version %q it does not show yet that changes are rolled out in waves", cached))
		}
	}
	return nil
}

// bindingNamed returns the binding of a name; nil if it does not exist.
func (r *reconciler) bindingNamed(ctx context.Context, from client.Reader, key client.ObjectKey) (kube.Binding, error) {
	kind := kube.BindingsIn(key.Namespace)
	b := kind.New()
	var opts []client.GetOption
	if from == r.hubClient {
		opts = append(opts, client.UnsafeDisableDeepCopy)
	}
	err := from.Get(ctx, key, b, opts...)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // nil is a result: it does not exist
	case err != nil:
		return nil, fmt.Errorf("reading %s %q: %w", kind.Kind, key, err)
	}
	return b, nil
}

// candidate returns the content that a rollout has of a binding's object for one cluster. An error is only about that cluster if it is
// revision.ErrUnreadable.
func (r *reconciler) candidate(ctx context.Context, s *scope, f *followed, target workv1alpha2.TargetCluster) (staging.Candidate, error) {
	namespace := contract.ExecutionNamespace(r.prefix, target.Name)
	own := s.live[namespace]
	switch {
	case f.binding == nil && (own == nil || own.Annotations[contract.RevisionOfAnnotation] != f.name):
		return staging.Candidate{State: staging.Absent}, nil // the dependencies stage will detach it
	case f.rollout == nil, f.name != "" && f.targets[target.Name].Name == "":
		return staging.Candidate{}, nil // or the workload is leaving that cluster with its dependencies
	}
	work := f.works[namespace]
	sent, had := staging.RevisionOf(work, ""), staging.RevisionOf(own, f.name)
	have := sent
	if had.Number > have.Number {
		have = had
	}
	if have.Zero() && work != nil {
		adopts, err := r.adopts(ctx, s, f, work, target)
		if err != nil {
			return staging.Candidate{}, err
		}
		if adopts {
			have = f.adopted
		}
	}
	want := f.plan.Wanted(target.Name, have)
	if want.Zero() {
		return staging.Candidate{}, nil
	}
	kept, err := r.contents.get(ctx, f.rollout, want)
	if err != nil {
		return staging.Candidate{}, fmt.Errorf("revision %d: %w", want.Number, err)
	}
	part, ok := kept.Part(s.ref())
	if !ok {
		return staging.Candidate{State: staging.Absent}, nil
	}
	out := staging.Candidate{State: staging.Present, Rollout: f.name, ID: want, MadeAt: kept.MadeAt.Time, Part: part}
	if own != nil && had.Zero() && want != f.plan.Sent(target.Name) && sent.Number < want.Number &&
		!r.renders(ctx, s.binding, part, own, target, s.clusters[target.Name]) {
		// It existed before the rollout and has another content, so it waits for its wave.
		return staging.Candidate{}, nil
	}
	return out, nil
}

// adopts returns whether a Work from before a rollout is what the adopted revision renders to.
func (r *reconciler) adopts(ctx context.Context, s *scope, f *followed, work *workv1alpha1.Work, target workv1alpha2.TargetCluster) (bool, error) {
	if f.adopted.Zero() {
		return false, nil
	}
	kept, err := r.contents.get(ctx, f.rollout, f.adopted)
	if errors.Is(err, revision.ErrUnreadable) {
		return false, nil // then it waits for its wave
	}
	if err != nil {
		return false, err
	}
	theirs, is := f.targets[target.Name]
	return is && r.renders(ctx, f.binding, kept.Main, work, theirs, s.clusters[target.Name]), nil
}

// sentAt returns the time of what is sent of a revision now. It is never before the creation of the revision, even if the hub's clock went
// back, or the revision would seem to have changed nothing.
func (f *followed) sentAt(id revision.ID, now time.Time) time.Time {
	for _, made := range f.rollout.RolloutStatus().Revisions {
		if made.Number == id.Number && made.CreatedAt.After(now) {
			return made.CreatedAt.Time
		}
	}
	return now
}

// changed returns whether the desired content of a cluster differs from its present one, or from the stable one. Both count, because the
// present one may be what failed there. If one of them is not known, it returns true.
func (r *reconciler) changed(ctx context.Context, s *scope, f *followed, own *workv1alpha1.Work, want revision.ID, target workv1alpha2.TargetCluster) (bool, error) {
	have := staging.RevisionOf(own, f.name)
	if have.Zero() && f.name == "" {
		if adopts, err := r.adopts(ctx, s, f, own, target); err != nil {
			return false, err
		} else if adopts {
			have = f.adopted
		}
	}
	proven := f.plan.Stable()
	if proven.Zero() {
		proven = f.adopted
	}
	if have.Zero() || proven.Zero() {
		return true, nil
	}
	after, err := r.contents.get(ctx, f.rollout, want)
	if err != nil {
		return false, err
	}
	for _, from := range slices.Compact([]revision.ID{have, proven}) {
		before, err := r.contents.get(ctx, f.rollout, from)
		if errors.Is(err, revision.ErrUnreadable) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if revision.Changed(before.Content, after.Content, s.clusters[target.Name]) {
			return true, nil
		}
	}
	return false, nil
}
