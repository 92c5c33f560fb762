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
	// Store has the rules and follows the hub's.
	Store *store.Store
	// Hub reads them from the hub, uncached.
	Hub client.Reader
	// NoWebhooks says not to ask the hub for webhook configurations.
	NoWebhooks bool
	// Kept says that the store started with the rules last read from the hub, and Refused that there were none
	// because the hub did not let the agent read them: then the first refusal after a start is believed. Otherwise
	// the hub gets time to change its answer, since a hub that is starting refuses as well.
	Kept, Refused bool
	// Heard blocks until the hub's Works were read; it returns false if the context ends first.
	Heard func(ctx context.Context) bool
	// Clock is replaced in tests.
	Clock clock.Clock
}

// Rules knows whether the hub's rules have been read. It is safe for concurrent use.
type Rules struct {
	Deps

	mu sync.Mutex
	// late says that the hub's time to serve its rules is over.
	late        bool
	subscribers []func()
}

// New returns Rules that have not been read.
func New(deps Deps) *Rules { return &Rules{Deps: deps} }

// Load asks the hub once, before the stages start.
func (r *Rules) Load(ctx context.Context) {
	err := r.Store.Load(ctx, r.Hub)
	if r.Refused && store.IsRefused(err) { // as it did before
		err = r.Store.LoadAllowed(ctx, r.Hub)
	}
	switch log := ctrl.LoggerFrom(ctx); {
	case err == nil, errors.Is(ctx.Err(), context.Canceled):
	case r.Kept:
		log.Error(err, "The interpreter rules were not read from the hub; the last known rules are used until they are")
	default:
		log.Error(err, "The interpreter rules were not read from the hub; objects in the member are left as they are until they are")
	}
}

// Awaits returns why a Work has to wait before it changes the member, empty if it need not, and whether the wait has
// lasted long enough to report it. journaled says that the Work comes from the journal, since the hub was not
// reached.
func (r *Rules) Awaits(journaled bool) (why string, lasts bool) {
	return awaited(journaled, r.Kept, r.isRead(), r.isLate())
}

// Known returns whether health can be judged: by the hub's rules, present or earlier, or, if its time is over, by the
// built-in ones.
func (r *Rules) Known() bool { return r.Kept || r.isRead() || r.isLate() }

// Subscribe calls f whenever Works may have less to wait for.
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

// isRead returns whether the hub's rules were read since the start.
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

// Start waits until the hub's rules were read, or its time is over. It returns when the context ends.
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

// ask checks whether the hub, whose Works have been read, refuses to serve its rules. It returns when the context
// ends or nothing more can be learned.
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
			log.Info("The interpreter rules have not been read from the hub for a long time", "kept", r.Kept, "refused", !refused.IsZero())
		}
		switch {
		case !r.isLate():
		case r.Kept: // the rules of the last read stay in use
			return
		case !refused.IsZero() && now.Sub(refused) >= patience && r.Store.LoadAllowed(ctx, r.Hub) == nil:
			log.Info("The hub does not let this agent read all interpreter rules; using the built-in rules and those that it may read. "+
				"Give it the rights to get, list and watch resourceinterpretercustomizations and resourceinterpreterwebhookconfigurations of config.karmada.io",
				"reason", err.Error())
			return
		}
	}
}

// lapse records that the hub's time to serve its rules is over.
func (r *Rules) lapse() {
	r.mu.Lock()
	r.late = true
	r.mu.Unlock()
	r.tell()
}

// probe lists one object of each kind.
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
