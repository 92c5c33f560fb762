package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/rollout/admit"
	"fairlead.dev/hub/flow/rollout/catchup"
	"fairlead.dev/hub/flow/rollout/plan"
)

// decide decides, and if that calls for a new revision, makes it and decides again, so that one write of the status covers both.
func (r *reconciler) decide(ctx context.Context, s *scope) (admit.Decision, error) {
	if err := r.slots.load(func() (map[slotKey]slotsOf, error) { return r.taken(ctx) }); err != nil {
		return admit.Decision{}, err
	}
	d := r.decideOnce(s)
	if d.Cut == nil {
		return d, nil
	}
	made, frozen, content, err := r.cut(ctx, s, *d.Cut)
	switch {
	case errors.Is(err, revision.ErrTooLarge):
		s.memory.tooLarge = s.memory.live.hash
		return r.without(s, d, tooLarge()), nil
	case errors.Is(err, revision.ErrUnreadable):
		return r.without(s, d, notKept(d.Cut.ContentOf)), nil
	case err != nil:
		return admit.Decision{}, err
	}
	ctrl.LoggerFrom(ctx).Info("Made a revision", "revision", made.Number, "cause", made.Cause)
	s.made = true
	s.in.Status = admit.Begin(s.in.Status, made, frozen.Strategy)
	s.in.Frozen, s.in.Memory, s.in.Hold = frozen, d.Memory, nil
	s.remember(frozen, revision.ID{Number: made.Number, Hash: made.Hash})
	s.memory.needs[made.Hash] = refsOf(content)
	if err := r.readParts(ctx, s); err != nil {
		return admit.Decision{}, err
	}
	for i := range s.in.Clusters { // Unchanged depends on the creation time of the new revision
		c := &s.in.Clusters[i]
		c.Work = s.workIn(c.Cluster.Name)
	}
	if err := r.adopt(ctx, s, &content); err != nil {
		return admit.Decision{}, err
	}
	if s.in.Live != nil && made.ContentOf == 0 {
		s.in.Live.Edited = false
	}
	out := r.decideOnce(s)
	if out.Cut != nil {
		return admit.Decision{}, fmt.Errorf("revision %d was made just now, and the next one is due already", made.Number)
	}
	out.Urgent = true
	return out, nil
}

// without decides again as if the revision that cannot be made were not requested.
func (r *reconciler) without(s *scope, before admit.Decision, why *admit.Reason) admit.Decision {
	s.in.Live, s.in.Spec.Target, s.in.Hold, s.in.Memory = nil, nil, why, before.Memory
	out := r.decideOnce(s)
	if out.Cut != nil { // it still needs a revision that cannot be made, so everything stays as it is
		out.Cut, out.Status = nil, s.in.Status
	}
	return out
}

func tooLarge() *admit.Reason {
	return &admit.Reason{Reason: fairleadv1alpha1.ReasonRolloutTooLarge, Message: "The template with its overrides and dependencies is too large to be kept as a revision " +
		"(1 MiB compressed), so it is sent to no cluster. Make it smaller, move parts of it to templates with their own strategy, or opt out of the strategy."}
}

func notKept(number int64) *admit.Reason {
	return &admit.Reason{Reason: fairleadv1alpha1.ReasonRolloutRevisionAbsent, Message: fmt.Sprintf(
		"The content of revision %d is no longer kept, so the rollout cannot go back to it. Choose another revision: hub rollout history.", number)}
}

// decideOnce decides with the catch-up slots that the rollout may have.
func (r *reconciler) decideOnce(s *scope) admit.Decision {
	var d admit.Decision
	var strategy fairleadv1alpha1.RolloutStrategySpec
	switch {
	case s.strategy != nil && s.strategy.Name == s.in.Status.Strategy:
		strategy = s.strategy.Spec // all rollouts of the strategy share its current limit, whatever they were frozen with
	case s.in.Frozen != nil:
		strategy = s.in.Frozen.Strategy
	}
	most := int(*plan.Defaulted(strategy).CatchUp.MaxClusters)
	r.slots.decide(r.slotKey(s.key()), s.taken(&s.in.Status), most, func(mine sets.Set[string]) slotsOf {
		s.in.Slots = mine
		d = admit.Decide(s.in)
		if d.Cut != nil {
			return s.taken(&s.in.Status)
		}
		return s.taken(&d.Status)
	})
	return d
}

func (r *reconciler) slotKey(name types.NamespacedName) slotKey {
	return slotKey{kind: r.rollouts.Kind, name: name}
}

// taken returns the slots that a status occupies or waits for; clusters that returned first are served first.
func (s *scope) taken(status *fairleadv1alpha1.StagedRolloutStatus) slotsOf {
	return takenBy(status, func(name string) catchup.Waiting {
		if i, known := slices.BinarySearchFunc(s.in.Clusters, name, byName); known {
			return catchup.Waiting{Cluster: name, Since: s.in.Clusters[i].HeardSince}
		}
		return catchup.Waiting{Cluster: name, Since: s.in.Now}
	})
}

// byName compares a cluster of a decision with a name, for binary search.
func byName(c admit.Cluster, name string) int { return strings.Compare(c.Cluster.Name, name) }

// taken returns the slots of all rollouts, which a hub reads once after its start.
func (r *reconciler) taken(ctx context.Context) (map[slotKey]slotsOf, error) {
	clusters, err := kube.Clusters(ctx, r.hubClient)
	if err != nil {
		return nil, err
	}
	named := make(map[string]*clusterv1alpha1.Cluster, len(clusters))
	for _, c := range clusters {
		named[c.Name] = c
	}
	since := func(name string) catchup.Waiting {
		if c := named[name]; c != nil {
			return catchup.Waiting{Cluster: name, Since: r.heardSince(c)}
		}
		return catchup.Waiting{Cluster: name, Since: r.clock.Now()}
	}
	out := map[slotKey]slotsOf{}
	for _, kind := range []kube.RolloutKind{kube.StagedRollouts(), kube.ClusterStagedRollouts()} {
		found, err := kind.List(ctx, r.hubClient)
		if err != nil {
			return nil, err
		}
		for _, rollout := range found {
			out[slotKey{kind: kind.Kind, name: client.ObjectKeyFromObject(rollout)}] = takenBy(rollout.RolloutStatus(), since)
		}
	}
	return out, nil
}
