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
	// freshFor is for how long the owner's rules are taken as read.
	freshFor = 10 * time.Second
	// lookEvery is how often they are read while they are in use: by then at the latest a change of them has ended what it
	// does not allow any more.
	lookEvery = 15 * time.Second
	// lookSeldom is how often they are read while nobody is there.
	lookSeldom = time.Minute
	// staleFor is for how long they hold if they cannot be read again, and tryAgain when that is tried.
	staleFor = time.Minute
	tryAgain = time.Second
)

// settings are the owner's rules, as they were read last.
type settings struct {
	read func(context.Context) (map[string]string, error)
	// lastWord reads what the owner said last (contract.LastWordAnnotation).
	lastWord func(context.Context) (string, error)
	clock    clock.PassiveClock

	mu    sync.Mutex
	rules rules.Rules
	at    time.Time // when they were read
	tried time.Time // when they were to be read
	err   error     // why they could not
}

// current returns the rules, none older than age. If they cannot be read, those of before hold for staleFor.
func (s *settings) current(ctx context.Context, age time.Duration) (rules.Rules, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if s.err != nil {
		age = min(age, tryAgain)
	}
	if s.tried.IsZero() || now.Sub(s.tried) >= age {
		s.tried = now
		// One who asks and goes away decides nothing for the others.
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
	case hasCode(err, http.StatusNotFound), hasCode(err, http.StatusForbidden): // rights of an agent of before, and nothing allowed
		s.rules = rules.Rules{}
		return nil
	case err != nil:
		return fmt.Errorf("reading what the owner allows: %w", err)
	}
	found, err := rules.Of(data)
	if err != nil {
		s.rules, s.at = rules.Rules{}, time.Time{} // they were changed, so those of before do not hold either
		return fmt.Errorf("reading what the owner allows: %w", err)
	}
	if !found.IsOff() {
		word, err := s.lastWord(ctx)
		switch {
		case hasCode(err, http.StatusNotFound), hasCode(err, http.StatusForbidden): // the agent runs as a process, which nothing installs
		case err != nil:
			return fmt.Errorf("reading what the owner said last: %w", err)
		default:
			if found = found.Confirmed(data, word); found.Overwritten && !s.rules.Overwritten {
				ctrl.LoggerFrom(ctx).Info("Letting no operators in, since what they may do was changed by something else than `agent operators`; the owner says it again there",
					"ConfigMap", contract.SystemNamespace+"/"+contract.ConnectName)
			}
		}
	}
	s.rules = found
	return nil
}
