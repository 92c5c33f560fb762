package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
)

const (
	// refusedFor is for how long an API must have refused a kind before that is logged: one that starts refuses for a moment what it gives afterwards.
	refusedFor = 10 * time.Second
	// refusedAgain is after how long another refusal has nothing to do with the last. A cache that is refused asks again after a minute at most.
	refusedAgain = 2 * time.Minute
)

// Refusals logs, for each kind once until it can be read, that the API does not let a cache list and watch what Follow follows. It is safe for use by many goroutines.
type Refusals struct {
	log   logr.Logger
	clock clock.PassiveClock

	mu sync.Mutex
	// of are the refusals of a resource.
	of map[string]*refusal
}

type refusal struct {
	first, last time.Time
	told        bool
}

// NewRefusals returns one that has logged nothing.
func NewRefusals(log logr.Logger, c clock.PassiveClock) *Refusals {
	return &Refusals{log: log, clock: c, of: map[string]*refusal{}}
}

// WatchFailed is the watch error handler of that cache. What is about other kinds, or no refusal, is logged as without it.
func (r *Refusals) WatchFailed(ctx context.Context, from *toolscache.Reflector, err error) {
	resource, ok := refusedRules(err)
	switch {
	case !ok:
		toolscache.DefaultWatchErrorHandler(ctx, from, err)
	case !r.note(resource):
	case apierrors.IsNotFound(err):
		r.log.Info("The hub does not have one of the kinds that say what kinds mean; going on without it, or with what it said last. "+
			"Install the CustomResourceDefinition there, if it is to be used; this is tried again by itself", "resource", resource, "reason", err.Error())
	default:
		r.log.Info("The hub does not let this process read what kinds mean; going on with what it said last, or with what is built in. "+
			"Give it the rights to get, list and watch this resource; this is tried again by itself", "resource", resource, "reason", err.Error())
	}
}

// refusedRules returns the resource of what kinds mean that an API refused, if an error is that.
func refusedRules(err error) (resource string, ok bool) {
	var status apierrors.APIStatus
	if !IsRefused(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return "", false
	}
	details := status.Status().Details
	return details.Kind + "." + details.Group, details.Group == configv1alpha1.GroupVersion.Group
}

// note says whether a refusal is to be logged.
func (r *Refusals) note(resource string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, one := r.clock.Now(), r.of[resource]
	if one == nil {
		one = &refusal{first: now}
		r.of[resource] = one
	}
	if now.Sub(one.last) > refusedAgain { // it was read in the meantime, or the API was away
		one.first, one.told = now, false
	}
	one.last = now
	if one.told || now.Sub(one.first) < refusedFor {
		return false
	}
	one.told = true
	return true
}
