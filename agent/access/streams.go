package access

import (
	"context"
	"errors"
	"slices"
	"sync"

	"fairlead.dev/agent/access/rules"
)

const (
	// maxRequests bounds the concurrent requests of operators, including watches and followed logs.
	maxRequests = 100
	// maxUpgrades bounds those among them that were upgraded, each of which may buffer 128 KiB.
	maxUpgrades = 30
)

// errTakenBack ends a request that the owner no longer allows.
var errTakenBack = errors.New("the owner does not allow it any more")

// errUnknown ends a request when the owner's rules cannot be read.
var errUnknown = errors.New("the settings of the owner cannot be read")

// stream is a running request.
type stream struct {
	operator rules.Operator
	as       rules.Operator
	request  rules.Request
	cancel   context.CancelCauseFunc
}

// streams are the running requests.
type streams struct {
	mu       sync.Mutex
	open     map[*stream]bool
	upgrades int
}

// add registers a request. If there is no room for it, it returns the limit that was reached.
func (s *streams) add(one *stream) (limit string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.open) >= maxRequests:
		return "100 requests of operators at once"
	case one.request.Upgrade && s.upgrades >= maxUpgrades:
		return "30 streams of exec, attach and port-forward at once"
	}
	if s.open == nil {
		s.open = map[*stream]bool{}
	}
	s.open[one] = true
	if one.request.Upgrade {
		s.upgrades++
	}
	return ""
}

func (s *streams) remove(one *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[one] && one.request.Upgrade {
		s.upgrades--
	}
	delete(s.open, one)
}

// any returns whether a request is running.
func (s *streams) any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open) > 0
}

// cut ends the running requests that the rules do not allow.
func (s *streams) cut(cluster string, now rules.Rules) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for one := range s.open {
		d := rules.Decide(rules.Input{Cluster: cluster, Rules: now, Operator: one.operator, Request: one.request})
		if !d.Allowed || d.As.User != one.as.User || !slices.Equal(d.As.Groups, one.as.Groups) {
			one.cancel(errTakenBack)
		}
	}
}

// cutAll ends all running requests.
func (s *streams) cutAll(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for one := range s.open {
		one.cancel(why)
	}
}
