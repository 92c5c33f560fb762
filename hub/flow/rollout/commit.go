package rollout

import (
	"context"
	"errors"
	"slices"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/rollout/admit"
)

// statusInterval is the least time between two writes of a rollout's status, unless a person, a gate or a failure caused the second.
const statusInterval = time.Second

// outcome is the result of committing a decision.
type outcome struct {
	// written says that the status was written.
	written bool
	// again is after how long to reconcile again; 0 if that is not needed.
	again time.Duration
	// status is the rollout's status now.
	status *fairleadv1alpha1.StagedRolloutStatus
}

// commit writes the decided status, if it changed and statusInterval has passed. A decision that is not written has no effect, and is made
// anew.
func (r *reconciler) commit(ctx context.Context, s *scope, d *admit.Decision) (outcome, error) {
	before := s.rollout.RolloutStatus().DeepCopy()
	key, out := r.slotKey(s.key()), outcome{status: before}
	was := s.taken(before)
	if apiequality.Semantic.DeepEqual(*before, d.Status) {
		r.slots.settle(key, was, was)
		return out, nil
	}
	if wait := s.memory.wroteAt.Add(statusInterval).Sub(s.in.Now); wait > 0 && !d.Urgent {
		r.slots.settle(key, was, was)
		out.again = wait
		return out, nil
	}
	edit, err := kube.Begin(s.rollout)
	if err == nil {
		*s.rollout.RolloutStatus() = *d.Status.DeepCopy()
		_, err = edit.Commit(ctx, r.hubClient, contract.FieldManagerRollout)
	}
	if err != nil {
		r.followAnew(s, err)
		r.slots.settle(key, was, was)
		return out, err
	}
	r.written.Put(s.key(), s.rollout)
	r.states.wrote(s.key(), s.rollout.RolloutStatus())
	is := s.taken(s.rollout.RolloutStatus())
	r.slots.settle(key, was, is)
	if len(is.queue) > 0 && (!slices.Equal(was.queue, is.queue) || !is.busy.IsSuperset(was.busy)) {
		out.again = statusInterval // a slot may be free for the waiting clusters by then, and no event would tell
	}
	s.memory.wroteAt = s.in.Now
	s.memory.forget = append(s.memory.forget, d.Forget...)
	out.written, out.status = true, s.rollout.RolloutStatus()
	r.metrics.written(r.rollouts.Kind, s.key(), before, out.status, d.OldestSetAside, s.in.Now)
	return out, nil
}

// followAnew restarts soaks after a write that failed for an unknown reason, since the caches may be outdated. If there was no answer at
// all, it restarts those of every rollout. An answer without a reason concerns only this rollout: an object that is too large to be stored
// is rejected so again and again, and a person can make it so large. That must not stop other rollouts.
func (r *reconciler) followAnew(s *scope, err error) {
	var answer apierrors.APIStatus
	switch {
	case !errors.As(err, &answer):
		r.watch.Restart(r.clock.Now())
	case answer.Status().Reason == metav1.StatusReasonUnknown:
		s.memory.began = r.clock.Now()
	}
}
