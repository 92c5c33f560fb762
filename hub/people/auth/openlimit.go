package auth

import (
	"strings"
	"sync"
)

// partOfNamespace is the share of all open streams that the service accounts of one namespace may have: whoever can create one there can create many.
const partOfNamespace = 4

// OpenLimit limits how many streams are open, and how many of them one user may have. It is safe for use by many goroutines.
type OpenLimit struct {
	// most is the limit for all, and ofOne that for one user in all sessions.
	most, ofOne int

	mu    sync.Mutex
	all   int
	taken map[string]int
}

// NewOpenLimit returns a limit under which nothing is open.
func NewOpenLimit(most, ofOne int) *OpenLimit {
	return &OpenLimit{most: most, ofOne: ofOne, taken: map[string]int{}}
}

// Acquire counts one more open stream of a user until leave is called once; false if the limit is reached.
func (p *OpenLimit) Acquire(u *User) (leave func(), ok bool) {
	bounds := map[string]int{"user/" + u.Name: p.ofOne}
	if namespace := u.namespace(); namespace != "" {
		bounds["namespace/"+namespace] = p.most / partOfNamespace
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all >= p.most {
		return nil, false
	}
	for whose, most := range bounds {
		if p.taken[whose] >= most {
			return nil, false
		}
	}
	p.all++
	for whose := range bounds {
		p.taken[whose]++
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.all--
		for whose := range bounds {
			if p.taken[whose]--; p.taken[whose] == 0 {
				delete(p.taken, whose)
			}
		}
	}, true
}

// namespace returns the namespace of a service account; empty for other users.
func (u *User) namespace() string {
	account, is := strings.CutPrefix(u.Name, "system:serviceaccount:")
	if !is {
		return ""
	}
	namespace, _, _ := strings.Cut(account, ":")
	return namespace
}
