package execution

import (
	"context"
	"sync"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// refusedRetry is how often a Work is checked that rests while the hub refuses this agent. A check costs no request.
const refusedRetry = 15 * time.Second

// refusal is the last log message about a hub that refuses this agent.
type refusal struct {
	mu   sync.Mutex
	told time.Time // since when the hub refused, as logged; zero if nothing was logged
}

// rests returns whether nothing is applied now: the hub refuses this agent, and another agent may by now apply newer
// Works of the hub. Works that the hub sent since this agent started are as recent as the refusal, which may be
// brief; Works of the journal may be of any age.
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
	ctrl.LoggerFrom(ctx).Info("Leaving the objects in the member as they are, because the hub refuses this agent; "+
		"it goes on when the hub lets it in again. If another agent has this cluster, stop this one", "since", since.UTC().Format(time.RFC3339))
}
