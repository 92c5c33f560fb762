package rules

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/interpreter/store"
)

// Deps are the dependencies of the package.
type Deps struct {
	// Store has the rules, and follows them.
	Store *store.Store
	// Hub reads them at the hub, uncached.
	Hub client.Reader
	// NoWebhooks says that the hub is not asked for webhooks.
	NoWebhooks bool
	// Kept says that the store began with what the hub said last, and Refused that this was nothing, since the hub did not let the agent read it:
	// then the first refusal of a start is believed. Where there is something to lose a hub has its time, since one that just starts refuses, too.
	Kept, Refused bool
	// Heard waits until the hub's Works were heard; it says false if the context ended before.
	Heard func(ctx context.Context) bool
	// Clock tells the time.
	Clock clock.Clock
}

// Rules knows whether the rules are known. It is safe for use by many goroutines.
type Rules struct {
	Deps

	mu sync.Mutex
	// late says that the hub has had its time to say what kinds mean.
	late        bool
	subscribers []func()
}

// New returns what does not know yet.
func New(deps Deps) *Rules { return &Rules{Deps: deps} }

// Load asks the hub once, before anything begins.
func (r *Rules) Load(ctx context.Context) {
	err := r.Store.Load(ctx, r.Hub)
	if r.Refused && store.IsRefused(err) { // as it has before
		err = r.Store.LoadAllowed(ctx, r.Hub)
	}
	switch log := ctrl.LoggerFrom(ctx); {
	case err == nil, errors.Is(ctx.Err(), context.Canceled):
	case r.Kept:
		log.Error(err, "What kinds mean was not read from the hub; it is what the hub said last until it is")
	default:
		log.Error(err, "What kinds mean was not read from the hub; what the member has already is left as it is until it is")
	}
}

// Awaits says why a Work waits before it changes what the member has, and whether that has lasted for so long that people are to be told; empty if
// it does not. Journaled says that the Work is as the journal has it, since the hub was not heard.
func (r *Rules) Awaits(journaled bool) (why string, lasts bool) {
	return awaited(journaled, r.Kept, r.isRead(), r.isLate())
}

// Known says whether objects can be judged: by what the hub said, now or before, or, if it has had its time, by what is built in.
func (r *Rules) Known() bool { return r.Kept || r.isRead() || r.isLate() }

// Subscribe has f called whenever less may be awaited than before.
func (r *Rules) Subscribe(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.subscribers = append(r.subscribers, f)
}

func (r *Rules) tell() {
	r.mu.Lock()
	subscribers := r.subscribers
	r.mu.Unlock()
	for _, f := range subscribers {
		f()
	}
}

// isRead says whether the hub said what kinds mean.
func (r *Rules) isRead() bool {
	select {
	case <-r.Store.Loaded():
		return true
	default:
		return false
	}
}

func (r *Rules) isLate() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.late
}

// Start waits until the hub said what kinds mean, or has had its time. It returns when the context ends.
func (r *Rules) Start(ctx context.Context) error {
	if r.isRead() {
		return nil
	}
	asking, stop := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if r.Heard(asking) {
			r.ask(asking)
		}
	})
	select {
	case <-r.Store.Loaded():
		r.tell()
	case <-ctx.Done():
	}
	stop()
	waiting.Wait()
	return nil
}

// ask asks the hub, which has said which Works there are, whether it refuses to say what kinds mean, until the context ends or all is known that
// there is to know.
func (r *Rules) ask(ctx context.Context) {
	log := ctrl.LoggerFrom(ctx)
	began, refused, pause := r.Clock.Now(), time.Time{}, askEvery
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.Clock.After(wait.Jitter(pause, 0.2)):
		}
		err := r.probe(ctx)
		now := r.Clock.Now()
		switch {
		case ctx.Err() != nil:
			return
		case !store.IsRefused(err):
			refused = time.Time{}
		case refused.IsZero():
			refused = now
		}
		if !r.isLate() && now.Sub(began) >= patience {
			pause = patience
			r.lapse()
			log.Info("The hub has not said for long what kinds mean", "kept", r.Kept, "refused", !refused.IsZero())
		}
		switch {
		case !r.isLate():
		case r.Kept: // what it said last is as good as it gets
			return
		case !refused.IsZero() && now.Sub(refused) >= patience && r.Store.LoadAllowed(ctx, r.Hub) == nil:
			log.Info("The hub does not let this agent read what kinds mean; going on with what is built in and what it may read. "+
				"Give it the rights to get, list and watch resourceinterpretercustomizations and resourceinterpreterwebhookconfigurations of config.karmada.io",
				"reason", err.Error())
			return
		}
	}
}

// lapse notes that the hub has had its time.
func (r *Rules) lapse() {
	r.mu.Lock()
	r.late = true
	r.mu.Unlock()
	r.tell()
}

// probe asks for one object of each kind.
func (r *Rules) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if err := r.Hub.List(ctx, &configv1alpha1.ResourceInterpreterCustomizationList{}, client.Limit(1)); err != nil || r.NoWebhooks {
		return err //nolint:wrapcheck // Only what it is counts.
	}
	if err := r.Hub.List(ctx, &configv1alpha1.ResourceInterpreterWebhookConfigurationList{}, client.Limit(1)); err != nil {
		return fmt.Errorf("listing ResourceInterpreterWebhookConfigurations: %w", err)
	}
	return nil
}
