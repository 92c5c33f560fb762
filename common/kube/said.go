package kube

import "sync"

// Said remembers the last warning of each reason about each thing, so that people hear it
// once and not with every try. The zero value is ready; it is safe for use by many
// goroutines.
type Said[K comparable] struct {
	mu   sync.Mutex
	last map[K]map[string]string
}

// First says whether this is news, and remembers it.
func (s *Said[K]) First(about K, reason, what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last[about][reason] == what {
		return false
	}
	if s.last == nil {
		s.last = map[K]map[string]string{}
	}
	if s.last[about] == nil {
		s.last[about] = map[string]string{}
	}
	s.last[about][reason] = what
	return true
}

// Mended drops what was said for a reason, so that it is news when it is so again.
func (s *Said[K]) Mended(about K, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.last[about], reason); len(s.last[about]) == 0 {
		delete(s.last, about)
	}
}

// Forget drops all about a thing: it is mended, or gone.
func (s *Said[K]) Forget(about K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.last, about)
}
