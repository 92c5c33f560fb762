package access

import (
	"context"
	"errors"
	"slices"
	"sync"

	"fairlead.dev/agent/access/rules"
)

const (
	// maxRequests is how many requests of operators are under way at once, watches and logs that are followed included.
	maxRequests = 100
	// maxUpgrades is how many of them may be streams of another protocol, each of which may hold 128 KiB.
	maxUpgrades = 30
)

// errTakenBack ends what the owner does not allow any more.
var errTakenBack = errors.New("the owner does not allow it any more")

// errUnknown ends what nobody can say of whether the owner still allows it.
var errUnknown = errors.New("it cannot be read what the owner allows")

// stream is a request under way.
type stream struct {
	operator rules.Operator
	as       rules.Operator
	request  rules.Request
	cancel   context.CancelCauseFunc
}

// streams are the requests under way.
type streams struct {
	mu       sync.Mutex
	open     map[*stream]bool
	upgrades int
}

// add takes a request in; if it names a limit, there is no room.
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

// any says whether some request is under way.
func (s *streams) any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open) > 0
}

// cut ends the requests under way that rules do not allow.
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

// cutAll ends all requests under way.
func (s *streams) cutAll(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for one := range s.open {
		one.cancel(why)
	}
}
