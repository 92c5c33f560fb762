package auth

import (
	"strings"
	"sync"
)

// partOfNamespace is the part of all places that the service accounts of one namespace may have: whoever may make one there may make
// as many as they like.
const partOfNamespace = 4

// OpenLimit count what people have open, so that nobody takes the places of all. They may be used from many goroutines.
type OpenLimit struct {
	// most is how many there are, ofOne how many of them one user may have, in however many sessions.
	most, ofOne int

	mu    sync.Mutex
	all   int
	taken map[string]int
}

// NewOpenLimit returns places of which none is taken.
func NewOpenLimit(most, ofOne int) *OpenLimit {
	return &OpenLimit{most: most, ofOne: ofOne, taken: map[string]int{}}
}

// Acquire takes a place for a user, and says whether there is one; leave is called once when it is free again.
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
	for of, most := range bounds {
		if p.taken[of] >= most {
			return nil, false
		}
	}
	p.all++
	for of := range bounds {
		p.taken[of]++
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.all--
		for of := range bounds {
			if p.taken[of]--; p.taken[of] == 0 {
				delete(p.taken, of)
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
