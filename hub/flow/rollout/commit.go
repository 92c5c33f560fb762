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

// statusInterval is how often the status of a rollout is written at the most, unless a person, a gate
// or a failure is behind it.
const statusInterval = time.Second

// outcome is what came of a decision.
type outcome struct {
	// written says that the status was written.
	written bool
	// again is after how long what was not written is to be; 0 if there is nothing.
	again time.Duration
	// status is what stands there now.
	status *fairleadv1alpha1.StagedRolloutStatus
}

// commit writes the status that was decided, if it is another one and it is time. What is not written
// has no effect, and is decided anew.
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
		out.again = statusInterval // there may be a place for who waits, by now or since others have caught up, and nothing else tells
	}
	s.memory.wroteAt = s.in.Now
	s.memory.forget = append(s.memory.forget, d.Forget...)
	out.written, out.status = true, s.rollout.RolloutStatus()
	r.metrics.written(r.rollouts.Kind, s.key(), before, out.status, d.OldestSetAside, s.in.Now)
	return out, nil
}

// followAnew has soaks begin anew after a write that failed and of which nobody says why: what the caches show may be old. If nobody
// answered, that is so for every rollout. An answer without a reason is about this rollout only: so is refused what is too large to be
// stored, time and again, and a person can make it so large. Others go on.
func (r *reconciler) followAnew(s *scope, err error) {
	var answer apierrors.APIStatus
	switch {
	case !errors.As(err, &answer):
		r.watch.Restart(r.clock.Now())
	case answer.Status().Reason == metav1.StatusReasonUnknown:
		s.memory.began = r.clock.Now()
	}
}
