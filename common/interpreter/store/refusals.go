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
	// refusedFor is how long an API must have refused a kind before that is logged: an API that is starting may
	// briefly refuse what it allows afterwards.
	refusedFor = 10 * time.Second
	// refusedAgain is the time after which another refusal is unrelated to the last one. A cache that is refused
	// retries within a minute.
	refusedAgain = 2 * time.Minute
)

// Refusals logs, once per kind until it can be read, that the API does not let a cache list and watch what Follow
// needs. It is safe for concurrent use.
type Refusals struct {
	log   logr.Logger
	clock clock.PassiveClock

	mu sync.Mutex
	// of are the refusals by resource.
	of map[string]*refusal
}

type refusal struct {
	first, last time.Time
	told        bool
}

// NewRefusals returns Refusals that have logged nothing.
func NewRefusals(log logr.Logger, c clock.PassiveClock) *Refusals {
	return &Refusals{log: log, clock: c, of: map[string]*refusal{}}
}

// WatchFailed is the watch error handler of that cache. Errors about other kinds, and other errors, are logged as by
// default.
func (r *Refusals) WatchFailed(ctx context.Context, from *toolscache.Reflector, err error) {
	resource, ok := refusedRules(err)
	switch {
	case !ok:
		toolscache.DefaultWatchErrorHandler(ctx, from, err)
	case !r.note(resource):
	case apierrors.IsNotFound(err):
		r.log.Info("The hub does not serve one of the kinds of interpreter rules; using the last known rules, or none of that kind. "+
			"Install the CustomResourceDefinition there, if it should be used; this process tries again by itself", "resource", resource, "reason", err.Error())
	default:
		r.log.Info("The hub does not let this process read interpreter rules; using the last known or the built-in rules. "+
			"Give it the rights to get, list and watch this resource; this process tries again by itself", "resource", resource, "reason", err.Error())
	}
}

// refusedRules returns the resource of interpreter rules that an API refused, if that is what an error says.
func refusedRules(err error) (resource string, ok bool) {
	var status apierrors.APIStatus
	if !IsRefused(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return "", false
	}
	details := status.Status().Details
	return details.Kind + "." + details.Group, details.Group == configv1alpha1.GroupVersion.Group
}

// note returns whether to log a refusal.
func (r *Refusals) note(resource string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, one := r.clock.Now(), r.of[resource]
	if one == nil {
		one = &refusal{first: now}
		r.of[resource] = one
	}
	if now.Sub(one.last) > refusedAgain { // it was read meanwhile, or the API was unavailable
		one.first, one.told = now, false
	}
	one.last = now
	if one.told || now.Sub(one.first) < refusedFor {
		return false
	}
	one.told = true
	return true
}
