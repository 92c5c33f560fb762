package execution

import (
	"context"
	"sync"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// refusedRetry is how often a Work is looked at that rests while the hub refuses this agent. To look costs no request.
const refusedRetry = 15 * time.Second

// refusal is what the log was told of a hub that refuses this agent.
type refusal struct {
	mu   sync.Mutex
	told time.Time // since when it did; zero if nothing was told
}

// rests says whether nothing is applied now: the hub refuses this agent, in whose place another one may hold the member by what the hub has now.
// What the hub said since this agent started is as new as the refusal, which may pass; what the journal has may be of any age.
func (r *Reconciler) rests(ctx context.Context, from origin) bool {
	since, lasts := r.hubRefuses()
	if since.IsZero() || !lasts && from == hub {
		return false
	}
	r.tellRefused(ctx, since)
	return true
}

// tellRefused logs once that the hub refuses this agent.
func (r *Reconciler) tellRefused(ctx context.Context, since time.Time) {
	r.refusal.mu.Lock()
	defer r.refusal.mu.Unlock()
	if r.refusal.told.Equal(since) {
		return
	}
	r.refusal.told = since
	ctrl.LoggerFrom(ctx).Info("Leaving the objects in the member as they are, since the hub refuses this agent; "+
		"it goes on when the hub lets it in again, or another agent has this cluster: then stop this one", "since", since.UTC().Format(time.RFC3339))
}
