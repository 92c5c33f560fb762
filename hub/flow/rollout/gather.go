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

// scope is what decides on one rollout.
type scope struct {
	binding kube.Binding
	// rollout is a copy; its status is what was last written.
	rollout kube.Rollout
	// strategy is the strategy that the binding names now; nil if there is none of that name.
	strategy *fairleadv1alpha1.RolloutStrategy
	// targets are the Clusters of the targets; of one that is no more only the name is set.
	targets []*clusterv1alpha1.Cluster
	// works are the Works of the binding, by cluster.
	works map[string]*workv1alpha1.Work
	// parts are what it needs by the revisions by which clusters are judged.
	parts []part
	in    admit.Input
	// made says that a revision was made just now.
	made bool
	// again is when the silence of a cluster is believed, if it is not yet; 0 is that there is none such.
	again  time.Duration
	memory *memory
}

// key names the rollout and its binding.
func (s *scope) key() types.NamespacedName { return client.ObjectKeyFromObject(s.binding) }

// gather reads all that is known of a rollout, and makes it if there is none yet.
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

// ensure returns the rollout of a binding, as it was last written.
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

// conflict has a rollout looked at again in a moment.
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
			"There is no RolloutStrategy %q, so that no change is sent to any cluster. Make it, or name another one in the annotation %s of the policy or the template; to go back works without it: hub rollout undo.",
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

// readClusters puts together what is known of each cluster that has to do with the rollout.
func (r *reconciler) readClusters(ctx context.Context, s *scope) error {
	s.in.Began = r.watch.Began(s.in.Now)
	if began := s.memory.began; began.After(s.in.Began) && !began.After(s.in.Now) { // no clock was ahead that was put back since
		s.in.Began = began
	}
	s.in.Heard = s.in.Began.Add(disruption.StartGrace(r.silence) + disruption.Wait) // the stage that tells who is silent takes its time, too
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
			left(name) // What it was sent may be what cut it off, though its Work is about to go.
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
		early := disruption.ActFrom(cluster, r.silence, s.in.Began).Sub(s.in.Now)
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

// heardSince says since when a cluster is heard from; zero if nothing is said of that.
func (r *reconciler) heardSince(c *clusterv1alpha1.Cluster) time.Time {
	if !disruption.SilentSince(c).IsZero() {
		return time.Time{}
	}
	return r.watch.HeardSince(c)
}

// compare says whether the live content is an edit. Without a strategy no revision is made of it.
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
