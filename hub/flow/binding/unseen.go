package binding

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/edits"
	"fairlead.dev/hub/flow/binding/fanout"
)

// awaitDetector makes a binding wait until the detector has seen the template, given its fingerprint from a live read, or empty before one;
// and the templates of the workloads that need it and have no rollout according to the cache. Each may have been edited together with its
// strategy, and what is sent to all clusters at once cannot be undone. Content that a rollout determines is sent meanwhile.
func (r *reconciler) awaitDetector(s *scope, fingerprint string) {
	req := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s.binding)}
	await := func(of kube.Binding, fingerprint string) {
		if since, waits := r.seen.Await(req, of, fingerprint); waits {
			s.unseen = s.unseen.OrLonger(edits.Unseen{Template: of.BindingSpec().Resource, Since: since})
		}
	}
	await(s.binding, fingerprint)
	for _, leader := range s.unstaged {
		await(leader, "")
	}
}

// waits returns whether an edit may have to wait for the detector: existing Works keep their content, and none is created.
func (s *scope) waits() bool { return !s.unseen.IsZero() }

// keepUnreplaced drops moves from a plan while no Work is created. Otherwise an application that moves would be in no cluster until the
// detector sees its template, or forever if the namespace is being deleted. The old Works are deleted once every target has its Work.
// Deletions for other reasons remain: the cluster leaves, failover or a user evicted the application, or the namespace may not use the
// cluster.
func (r *reconciler) keepUnreplaced(ctx context.Context, s *scope, plan *fanout.Plan) error {
	lacks := func(target workv1alpha2.TargetCluster) bool {
		work := s.live[contract.ExecutionNamespace(r.prefix, target.Name)]
		return s.clusters[target.Name] != nil && (work == nil || !work.DeletionTimestamp.IsZero())
	}
	if !s.waits() && !s.terminating || !slices.ContainsFunc(s.targets, lacks) {
		return nil
	}
	var goes []fanout.Deletion
	for _, d := range plan.Delete {
		must := d.Intent != contract.DeletionMoved
		if !must {
			var err error
			if must, err = r.isRefused(ctx, d); err != nil {
				return err
			}
		}
		if must {
			goes = append(goes, d)
		}
	}
	plan.Delete = goes
	return nil
}

// tellUnseen reports an edit that has waited for too long, and returns when to check again; 0 means never.
func (r *reconciler) tellUnseen(s *scope, desired *rendering) time.Duration {
	if !s.waits() {
		return 0
	}
	if rest := s.unseen.TellIn(r.clock.Now()); rest > 0 {
		return rest
	}
	err := s.unseen.Err()
	if s.binding.BindingSpec().Resource != s.unseen.Template {
		err = fmt.Errorf("it is sent together with %s, which needs it, and %w", s.unseen.Named(), err)
	}
	desired.failures = append(desired.failures, failure{err: err})
	return 0
}
