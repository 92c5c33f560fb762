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

// followed is a rollout that says which content the clusters of a binding get: that of the
// binding itself, or of a workload that needs its object.
type followed struct {
	// name is NAMESPACE/NAME of the binding whose rollout it is; empty if that is the binding itself.
	name string
	// binding is the one whose rollout it is; nil if it is gone.
	binding kube.Binding
	// rollout is nil if there is none yet: then nothing moves.
	rollout kube.Rollout
	plan    revision.Plan
	adopted revision.ID
	// targets are those of that binding, by cluster.
	targets map[string]workv1alpha2.TargetCluster
	// works are those of that binding, by namespace.
	works map[string]*workv1alpha1.Work
}

// readRollouts reads the rollouts that a binding follows, all from the cache. What has none costs
// no request, but for one look at what the cache may not show yet.
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
		return f, nil //nolint:nilerr // There is none yet.
	}
	f.rollout, f.plan, f.adopted = rollout, revision.NewPlan(rollout.RolloutStatus()), revision.Adopted(rollout.RolloutStatus().Revisions)
	return f, nil
}

// confirmUnstaged reads live whether a binding follows no rollout, if its Works say that it did:
// the cache of a hub that has just begun to work may be older than what the hub before it did. What
// is sent to all clusters at once does not come back.
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
				continue // a hub of before had it follow that one
			}
		}
		live, err := r.bindingNamed(ctx, r.hubReader, key)
		if err != nil {
			return err
		}
		behind := live != nil && bindings.IsStaged(live)
		if name != "" && behind { // it may be another one's business by now
			now, err := r.bindingNamed(ctx, r.hubReader, client.ObjectKeyFromObject(s.binding))
			if err != nil {
				return err
			}
			behind = now != nil && bindings.Requires(now, key)
		}
		if behind {
			return apierrors.NewConflict(workv1alpha2.GroupVersion.WithResource("bindings").GroupResource(), key.Name,
				fmt.Errorf("the cache is behind: changes are rolled out in waves, which it does not show at version %q", cached))
		}
	}
	return nil
}

// bindingNamed returns the binding of a name; nil if there is none.
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
		return nil, nil //nolint:nilnil // That there is none is an answer.
	case err != nil:
		return nil, fmt.Errorf("reading %s %q: %w", kind.Kind, key, err)
	}
	return b, nil
}

// candidate is the content that a rollout has of the object of a binding for one cluster. An error is about
// that cluster only if it is revision.ErrUnreadable.
func (r *reconciler) candidate(ctx context.Context, s *scope, f *followed, target workv1alpha2.TargetCluster) (staging.Candidate, error) {
	namespace := contract.ExecutionNamespace(r.prefix, target.Name)
	own := s.live[namespace]
	switch {
	case f.binding == nil && (own == nil || own.Annotations[contract.RevisionOfAnnotation] != f.name):
		return staging.Candidate{State: staging.Absent}, nil // the stage that attached it will tell
	case f.rollout == nil, f.name != "" && f.targets[target.Name].Name == "":
		return staging.Candidate{}, nil // or the workload is leaving that cluster, and what it needs with it
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
		// It was there before the rollout and is something else: it waits for its turn.
		return staging.Candidate{}, nil
	}
	return out, nil
}

// adopts says whether a Work from before a rollout is what the revision renders that was found
// then.
func (r *reconciler) adopts(ctx context.Context, s *scope, f *followed, work *workv1alpha1.Work, target workv1alpha2.TargetCluster) (bool, error) {
	if f.adopted.Zero() {
		return false, nil
	}
	kept, err := r.contents.get(ctx, f.rollout, f.adopted)
	if errors.Is(err, revision.ErrUnreadable) {
		return false, nil // then it waits for its turn
	}
	if err != nil {
		return false, err
	}
	theirs, is := f.targets[target.Name]
	return is && r.renders(ctx, f.binding, kept.Main, work, theirs, s.clusters[target.Name]), nil
}

// sentAt is the time of what is sent of a revision now: not before it was made, though the clock of the hub may have gone back since,
// or it would look as if the revision had changed nothing.
func (f *followed) sentAt(id revision.ID, now time.Time) time.Time {
	for _, made := range f.rollout.RolloutStatus().Revisions {
		if made.Number == id.Number && made.CreatedAt.After(now) {
			return made.CreatedAt.Time
		}
	}
	return now
}

// changed says whether the content that a cluster is to have differs there from the one that it has now, or from the stable one: what
// it has may be what failed there, and then it counts as sent anew. If that is not known, it does.
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
