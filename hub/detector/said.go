package detector

import "sync"

// said remembers the last warning of each reason about each thing, so that people
// hear it once and not with every try.
type said struct {
	mu   sync.Mutex
	last map[request]map[string]string
}

func newSaid() *said { return &said{last: map[request]map[string]string{}} }

// first says whether this is news, and remembers it.
func (s *said) first(req request, reason, what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last[req][reason] == what {
		return false
	}
	if s.last[req] == nil {
		s.last[req] = map[string]string{}
	}
	s.last[req][reason] = what
	return true
}

// forget drops all about a thing: it is mended, or gone.
func (s *said) forget(req request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.last, req)
}
