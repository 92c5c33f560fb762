package scheduler

import (
	"context"
	"fmt"

	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/scheduler/decide"
	"fairlead.dev/hub/flow/scheduler/hints"
)

// Scheduler is a scheduler that was registered.
type Scheduler struct {
	// namespaced places ResourceBindings, wide ClusterResourceBindings.
	namespaced, wide *reconciler
}

// CouldPlaceWithout says whether a binding would be placed in other clusters if it could not be
// in some. Other stages may call it once the manager has started.
func (s *Scheduler) CouldPlaceWithout(ctx context.Context, b kube.Binding, without []string) (bool, error) {
	return s.ask(ctx, b, func(in decide.Input) bool { return decide.CouldPlaceWithout(in, without) })
}

// WouldReturn says whether a binding would be placed again in a cluster that it is leaving.
// Other stages may call it once the manager has started.
func (s *Scheduler) WouldReturn(ctx context.Context, b kube.Binding, to string) (bool, error) {
	if !hints.Responsible(b) {
		return false, nil // nobody takes it back: the copy there would wait for ever
	}
	return s.ask(ctx, b, func(in decide.Input) bool { return decide.WouldReturn(in, to) })
}

// ask answers a question about the decision that would be made now. Nothing is for what has no
// placement.
func (s *Scheduler) ask(ctx context.Context, b kube.Binding, question func(decide.Input) bool) (bool, error) {
	if b.BindingSpec().Placement == nil {
		return false, nil
	}
	r := s.namespaced
	if b.GetNamespace() == "" {
		r = s.wide
	}
	in, err := r.gatherFresh(ctx, b)
	if err != nil {
		return false, fmt.Errorf("gathering what decides on %q: %w", b.GetName(), err)
	}
	return question(in), nil
}

// gatherFresh gathers what a decision made now would depend on. The clusters are those of the
// cache: others may ask before our own handlers heard of any.
func (r *reconciler) gatherFresh(ctx context.Context, b kube.Binding) (decide.Input, error) {
	r.deciding.Lock()
	in, err := r.gather(ctx, b, r.clock.Now())
	r.deciding.Unlock()
	if err != nil {
		return in, err
	}
	in.Clusters, err = kube.Clusters(ctx, r.hubClient)
	return in, err
}
