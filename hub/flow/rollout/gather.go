package rollout

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/disruption"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/rollout/admit"
	"fairlead.dev/hub/flow/rollout/plan"
)

// scope is the state of one reconcile.
type scope struct {
	binding kube.Binding
	// rollout is a copy; its status is the one last written.
	rollout kube.Rollout
	// strategy is the strategy that the binding names now; nil if it does not exist.
	strategy *fairleadv1alpha1.RolloutStrategy
	// targets are the Clusters of the targets; of a deleted one only the name is set.
	targets []*clusterv1alpha1.Cluster
	// works are the Works of the binding, by cluster.
	works map[string]*workv1alpha1.Work
	// parts are the dependencies in the revisions by which clusters are judged.
	parts []part
	in    admit.Input
	// made says that this reconcile made a revision.
	made bool
	// again is when to reconcile again, because the silence of a cluster is believed only then, or an edit is unseen; 0 if never.
	again  time.Duration
	memory *memory
}

// key is the name of both the rollout and its binding.
func (s *scope) key() types.NamespacedName { return client.ObjectKeyFromObject(s.binding) }

// gather reads everything about a rollout, and creates it if it does not exist.
func (r *reconciler) gather(ctx context.Context, b kube.Binding) (*scope, error) {
	s := &scope{binding: b, memory: r.states.of(client.ObjectKeyFromObject(b))}
	var err error
	if s.rollout, err = r.ensure(ctx, b); err != nil {
		return nil, err
	}
	s.in = admit.Input{
		Now: r.clock.Now(), Generation: s.rollout.GetGeneration(), Spec: *s.rollout.RolloutSpec(), Status: *s.rollout.RolloutStatus(),
		Memory: s.memory.engine,
	}
	if err := r.readStrategy(ctx, s); err != nil {
		return nil, err
	}
	if err := r.readLive(ctx, s.memory, b); err != nil {
		return nil, err
	}
	if edit := s.memory.live.unseen; !edit.IsZero() {
		s.again = sooner(s.again, unseenAgain)
		if edit.TellIn(s.in.Now) == 0 {
			s.in.Unseen = fmt.Sprintf("The latest edit of the template is in no revision yet: %v.", edit.Err())
		}
	}
	if err := r.readFrozen(ctx, s); err != nil {
		return nil, err
	}
	if s.works, err = r.worksOf(ctx, b); err != nil {
		return nil, err
	}
	if err := r.readParts(ctx, s); err != nil {
		return nil, err
	}
	if err := r.readClusters(ctx, s); err != nil {
		return nil, err
	}
	if err := r.compare(ctx, s); err != nil {
		return nil, err
	}
	return s, r.adopt(ctx, s, nil)
}

// ensure returns the rollout of a binding as it was last written, and creates it if it does not exist.
func (r *reconciler) ensure(ctx context.Context, b kube.Binding) (kube.Rollout, error) {
	key := client.ObjectKeyFromObject(b)
	cached := r.rollouts.New()
	err := r.hubClient.Get(ctx, key, cached)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading %s %q: %w", r.rollouts.Kind, key.Name, err)
	}
	if rollout, found := r.written.Latest(key, cached, err == nil); found {
		if !rollout.GetDeletionTimestamp().IsZero() {
			return nil, r.conflict(key.Name, "it is being deleted")
		}
		return rollout, nil
	}
	rollout := r.rollouts.New()
	rollout.SetNamespace(key.Namespace)
	rollout.SetName(key.Name)
	rollout.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: workv1alpha2.GroupVersion.String(), Kind: r.kind.Kind, Name: key.Name, UID: b.GetUID(), Controller: new(true),
	}})
	if err := r.hubClient.Create(ctx, rollout, client.FieldOwner(contract.FieldManagerRollout)); err != nil {
		if apierrors.IsAlreadyExists(err) {
			return nil, r.conflict(key.Name, "the cache is behind")
		}
		return nil, fmt.Errorf("making %s %q: %w", r.rollouts.Kind, key.Name, err)
	}
	r.written.Put(key, rollout)
	return rollout, nil
}

// conflict returns a conflict error, so that the rollout is reconciled again soon.
func (r *reconciler) conflict(name, why string) error {
	return apierrors.NewConflict(fairleadv1alpha1.GroupVersion.WithResource(r.rollouts.Resource).GroupResource(), name, errors.New(why))
}

// readStrategy reads the strategy that the binding names.
func (r *reconciler) readStrategy(ctx context.Context, s *scope) error {
	name := bindings.StrategyOf(s.binding)
	strategy := &fairleadv1alpha1.RolloutStrategy{}
	err := r.hubClient.Get(ctx, client.ObjectKey{Name: name}, strategy, client.UnsafeDisableDeepCopy)
	switch {
	case apierrors.IsNotFound(err):
		s.in.Hold = &admit.Reason{Reason: fairleadv1alpha1.ReasonRolloutStrategyAbsent, Message: fmt.Sprintf(
			"There is no RolloutStrategy %q, so no change is sent to any cluster. Create it, or name another one in the annotation %s of the policy or the template. Going back works without it: hub rollout undo.",
			name, contract.RolloutStrategyAnnotation)}
		return nil
	case err != nil:
		return fmt.Errorf("reading RolloutStrategy %q: %w", name, err)
	}
	s.strategy = strategy
	return nil
}

// worksOf reads the Works of a binding, by cluster.
func (r *reconciler) worksOf(ctx context.Context, b kube.Binding) (map[string]*workv1alpha1.Work, error) {
	works, err := kube.WorksOf(ctx, r.hubClient, b)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*workv1alpha1.Work, len(works))
	for _, work := range works {
		if cluster, ok := contract.ClusterOf(r.prefix, work.Namespace); ok && work.DeletionTimestamp.IsZero() {
			out[cluster] = work
		}
	}
	return out, nil
}

// readClusters collects the state of each cluster that is a target, has a Work, or is in the status.
func (r *reconciler) readClusters(ctx context.Context, s *scope) error {
	s.in.Began = r.watch.Began(s.in.Now)
	if began := s.memory.began; began.After(s.in.Began) && !began.After(s.in.Now) { // unless the clock was ahead then
		s.in.Began = began
	}
	heardBy := r.reconnects.HeardBy(s.in.Began, s.in.Now, r.silence)
	s.in.Heard = disruption.KnownFrom(s.in.Began, heardBy, r.silence, 0)
	names := map[string]bool{}
	for _, target := range bindings.Targets(s.binding.BindingSpec()) {
		names[target.Name] = true
	}
	left := func(name string) {
		if !names[name] {
			names[name] = false
		}
	}
	for name := range s.works {
		left(name)
	}
	for _, group := range s.in.Status.Clusters {
		for _, name := range group.Names {
			left(name) // The revision that it was sent may be why it is silent, even if its Work is being deleted.
		}
	}
	byName, err := kube.ClustersNamed(ctx, r.hubClient, maps.Keys(names))
	if err != nil {
		return err
	}
	disrupted, err := r.verdicts.Now(ctx, s.in.Now)
	if err != nil {
		return err
	}
	s.in.HubSuspect = disrupted.Silent.Len() > 0
	for _, name := range slices.Sorted(maps.Keys(names)) {
		cluster := byName[name]
		gone := cluster == nil
		if gone {
			cluster = &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		}
		early := disruption.ActFrom(cluster, r.silence, s.in.Began, heardBy).Sub(s.in.Now)
		if early > 0 {
			s.again = sooner(s.again, early)
		}
		if names[name] {
			s.targets = append(s.targets, cluster)
		}
		s.in.Clusters = append(s.in.Clusters, admit.Cluster{
			Cluster: cluster, Gone: gone, Target: names[name], SilentSince: disruption.SilentSince(cluster), HeardSince: r.heardSince(cluster),
			Unconfirmed: disrupted.Suspended(name) || early > 0, Early: early > 0, Suspended: bindings.Suspended(s.binding.BindingSpec().Suspension, name),
			Work: s.workIn(name),
		})
	}
	return nil
}

// heardSince returns since when a cluster is heard from; zero if it is silent or that is unknown.
func (r *reconciler) heardSince(c *clusterv1alpha1.Cluster) time.Time {
	if !disruption.SilentSince(c).IsZero() {
		return time.Time{}
	}
	return r.watch.HeardSince(c)
}

// compare sets in.Live, which says whether the live content is an edit. It does not without a strategy, so that no revision is made.
func (r *reconciler) compare(ctx context.Context, s *scope) error {
	m := s.memory
	if s.strategy == nil || !m.live.there {
		return nil
	}
	if m.tooLarge != "" && m.tooLarge == m.live.hash {
		s.in.Hold = tooLarge()
		return nil
	}
	out := &admit.Live{Hash: m.live.hash, Edited: true, Since: m.live.since, Settle: plan.Defaulted(s.strategy.Spec).Settle.Duration}
	if edit := revision.NewestEdit(s.in.Status.Revisions); !edit.Zero() {
		same, err := r.isSame(ctx, s, edit)
		if err != nil {
			return err
		}
		out.Edited = !same
	}
	s.in.Live = out
	return nil
}
