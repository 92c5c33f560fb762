package access

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/agent/access/rules"
	"fairlead.dev/common/contract"
)

const (
	// freshFor is how long the owner's rules are cached.
	freshFor = 10 * time.Second
	// lookEvery is how often the rules are read while operators use the member: the longest that a request goes on
	// after the owner revoked the permission for it.
	lookEvery = 15 * time.Second
	// lookSeldom is how often the rules are read while nobody uses the member.
	lookSeldom = time.Minute
	// staleFor is how long the rules hold while they cannot be read again, and tryAgain the interval of retries.
	staleFor = time.Minute
	tryAgain = time.Second
)

// settings caches the owner's rules.
type settings struct {
	read func(context.Context) (map[string]string, error)
	// lastWord reads the owner's last word (contract.LastWordAnnotation).
	lastWord func(context.Context) (string, error)
	clock    clock.PassiveClock

	mu    sync.Mutex
	rules rules.Rules
	at    time.Time // when the rules were last read
	tried time.Time // when the last attempt to read them was made
	err   error     // why that attempt failed
}

// current returns the rules, read no longer than age ago. If they cannot be read, the cached ones hold for staleFor.
func (s *settings) current(ctx context.Context, age time.Duration) (rules.Rules, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if s.err != nil {
		age = min(age, tryAgain)
	}
	if s.tried.IsZero() || now.Sub(s.tried) >= age {
		s.tried = now
		// A caller that goes away must not fail the read for the others.
		if s.err = s.look(context.WithoutCancel(ctx)); s.err == nil {
			s.at = now
		}
	}
	if s.err != nil && (s.at.IsZero() || now.Sub(s.at) > staleFor) {
		return rules.Rules{}, s.err
	}
	return s.rules, nil
}

// look reads the rules.
func (s *settings) look(ctx context.Context) error {
	data, err := s.read(ctx)
	switch {
	case hasCode(err, http.StatusNotFound), hasCode(err, http.StatusForbidden): // rights from before operators: none are allowed
		s.rules = rules.Rules{}
		return nil
	case err != nil:
		return fmt.Errorf("reading what the owner allows: %w", err)
	}
	found, err := rules.Of(data)
	if err != nil {
		s.rules, s.at = rules.Rules{}, time.Time{} // the rules were changed, so the cached ones do not hold either
		return fmt.Errorf("reading what the owner allows: %w", err)
	}
	if !found.IsOff() {
		word, err := s.lastWord(ctx)
		switch {
		case hasCode(err, http.StatusNotFound), hasCode(err, http.StatusForbidden): // the agent is not installed in the member
		case err != nil:
			return fmt.Errorf("reading what the owner said last: %w", err)
		default:
			if found = found.Confirmed(data, word); found.Overwritten && !s.rules.Overwritten {
				ctrl.LoggerFrom(ctx).Info("Letting no operators in, because their settings were changed by something other than `agent operators`; the owner must run it again",
					"ConfigMap", contract.SystemNamespace+"/"+contract.ConnectName)
			}
		}
	}
	s.rules = found
	return nil
}
