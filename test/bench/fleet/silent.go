package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
)

// offline rolls out an edit while some clusters are silent.
func (r *rolling) offline(ctx context.Context, tell put) error {
	if err := r.silence(ctx, r.clusters*r.options.silent/100); err != nil {
		return err
	}
	if _, err := r.awaitQuiet(ctx); err != nil {
		return err
	}
	before, err := r.now(ctx)
	if err != nil {
		return err
	}
	number, err := r.edit(ctx)
	if err != nil {
		return err
	}
	if err := r.everywhere(ctx, number); err != nil {
		return err
	}
	took := time.Since(before.at)
	after, err := r.now(ctx)
	if err != nil {
		return err
	}
	u, n := since(before, after), float64(r.clusters-len(r.silent))
	most := 0
	of := map[string]int{}
	for _, w := range r.writesSince(before.at) {
		of[w.cluster]++
		most = max(most, of[w.cluster])
	}
	if len(of) != r.clusters-len(r.silent) {
		return fmt.Errorf("%d clusters were written to, and %d are heard from", len(of), r.clusters-len(r.silent))
	}
	statuses := r.statusesSince(before.at)
	r.out.account("while some are silent: ", "cluster", u, n)
	tell("Work writes for each, as the API server counts them", (u.server.Requests["PATCH works"]-float64(u.agents.Requests["PATCH works"]))/n, "")
	tell("status writes in the busiest ten seconds, for each of them", busiest(statuses, 10*time.Second), "")
	waves := fmt.Sprintf("%d clusters, %d silent: ", r.clusters, len(r.silent))
	r.bars.Most(waves+"until it has passed, without the soaking", (took - r.soaks).Seconds(), 60, "s")
	r.bars.Most(waves+"most Work writes of a cluster", float64(most), 1, "")
	r.bars.Most(waves+"status writes of the rollout a second", float64(len(statuses))/took.Seconds(), 1, "")
	return nil
}

// silence silences more clusters, and returns when the hub knows. The canary is not among them: without one a rollout
// waits for ever, by design.
func (r *rolling) silence(ctx context.Context, more int) error {
	var names []string
	for i := 0; len(names) < more; i++ {
		if name := clusterName(i); name != r.canary && !slices.Contains(r.silent, name) {
			names = append(names, name)
		}
	}
	r.agents.Silence(names...)
	r.silent = append(r.silent, names...)
	return r.awaitReady(ctx, names, metav1.ConditionUnknown)
}

// busiest returns the maximum rate of writes per second in any period of a length.
func busiest(statuses []statusWrite, length time.Duration) float64 {
	most, from := 0, 0
	for to := range statuses {
		for statuses[to].at.Sub(statuses[from].at) > length {
			from++
		}
		most = max(most, to-from+1)
	}
	return float64(most) / length.Seconds()
}

// hold pauses a rollout in the middle of its last wave, observes it for a while, and resumes it. More clusters are
// silent by then.
func (r *rolling) hold(ctx context.Context, tell put) error {
	if err := r.silence(ctx, r.clusters*(r.options.silent/2)/100); err != nil {
		return err
	}
	number, err := r.edit(ctx)
	if err != nil {
		return err
	}
	some := (r.clusters - len(r.silent)) / 3
	if err := r.await(ctx, "a third of the clusters has it", func() bool { return r.have(r.hashOf(number)) > some }); err != nil {
		return err
	}
	began := time.Now()
	if _, err := r.steer().Pause(ctx, true); err != nil {
		return err
	}
	if err := pause(ctx, holds); err != nil {
		return err
	}
	var last time.Duration
	if writes := r.writesSince(began); len(writes) > 0 {
		last = writes[len(writes)-1].at.Sub(began)
	}
	r.mu.Lock()
	phase, has := r.status.Phase, r.have(r.hashOf(number))
	r.mu.Unlock()
	if phase != fairleadv1alpha1.RolloutPaused || has >= r.clusters-len(r.silent) {
		return errors.New("it was not paused in the middle of a wave: there are too few clusters for that")
	}
	tell("clusters that had it when it was paused", float64(has), "")
	r.bars.Most("pause to the last Work that is written", last.Seconds(), 1, "s")
	if _, err := r.steer().Pause(ctx, false); err != nil {
		return err
	}
	return r.everywhere(ctx, number)
}

// comeBack lets all silent clusters return.
func (r *rolling) comeBack(ctx context.Context, tell put) error {
	if _, err := r.awaitQuiet(ctx); err != nil {
		return err
	}
	began, back := time.Now(), len(r.silent)
	r.lookAtMost()
	if err := r.agents.Return(r.silent...); err != nil {
		return err
	}
	r.silent = nil
	if err := r.everywhere(ctx, r.revision()); err != nil {
		return err
	}
	took, most := time.Since(began), 0
	for _, w := range r.statusesSince(began) {
		most = max(most, w.catchingUp)
	}
	tell(fmt.Sprintf("%d that return: until all have caught up", back), took.Seconds(), "s")
	r.bars.Most(fmt.Sprintf("%d that return: most that catch up at a time, by the status", back), float64(most), catchingUp, "")
	r.bars.Most(fmt.Sprintf("%d that return: most Works at a time that are not reported", back), float64(r.mostUnreported()), catchingUp, "")
	return nil
}
