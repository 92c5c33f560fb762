package binding

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/binding/fanout"
	"fairlead.dev/hub/flow/binding/staging"
)

// sendAhead writes the Works whose content a rollout changes before the whole binding is rendered, and returns those that it wrote. So a
// canary does not wait until a thousand unchanged Works are rendered. Whatever it does not write, for any reason, is left to the rendering
// of the whole binding, which reports it. A wave of few clusters needs no slot, however many clusters the binding has.
func (r *reconciler) sendAhead(ctx context.Context, req reconcile.Request, id string, s *scope) ([]*workv1alpha1.Work, error) {
	due := r.due(s)
	if len(due) == 0 || len(due) == len(s.targets) {
		return nil, nil
	}
	if err := r.takeSlot(req, len(due)); err != nil {
		return nil, err
	}
	desired, err := r.render(ctx, s, due)
	if err != nil {
		return nil, err
	}
	plan := fanout.Decide(fanout.Input{ID: id, Desired: desired.works, Live: s.works, Suspect: s.suspect})
	done := r.execute(ctx, id, fanout.Plan{Update: plan.Update}, desired.manifests)
	if len(done.written) == 0 {
		return nil, nil
	}
	return done.written, r.readWorks(ctx, id, s)
}

// due returns the targets for which a rollout names a revision that their Work does not have.
func (r *reconciler) due(s *scope) []workv1alpha2.TargetCluster {
	if s.template == nil || s.purge.Len() > 0 {
		return nil
	}
	var out []workv1alpha2.TargetCluster
	for _, target := range s.targets {
		if own := s.live[contract.ExecutionNamespace(r.prefix, target.Name)]; own != nil && s.sends(own, target.Name) {
			out = append(out, target)
		}
	}
	return out
}

// sends returns whether a rollout has another content for a cluster than its Work.
func (s *scope) sends(own *workv1alpha1.Work, cluster string) bool {
	for _, f := range s.rollouts {
		sent := f.plan.Sent(cluster)
		if !sent.Zero() && sent != f.adopted && sent.Hash != staging.RevisionOf(own, f.name).Hash {
			return true
		}
	}
	return false
}
