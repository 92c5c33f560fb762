package limit

import (
	"fmt"
	"sync"
)

// Limits are the numbers of requests that may be open at a time.
type Limits struct {
	// Line is the limit for a line, and User that for one user on a line.
	Line, User int
	// Hub is the limit for a replica of the hub, and UserHub that for one user there, so that a user with rights in
	// many clusters cannot keep out the others.
	Hub, UserHub int
}

// Streams limits requests that stay open: upgrades, watches and followed logs.
func Streams() Limits { return Limits{Line: 100, User: 20, Hub: 1000, UserHub: 500} }

// Requests limits requests that are answered at once. When kubectl first contacts a cluster, it sends about forty at
// once.
func Requests() Limits { return Limits{Line: 100, User: 64, Hub: 1000, UserHub: 500} }

// Uploads limits requests that send data to members, until they end: upgrades, and requests with a body. An agent accepts 30 of these on a
// line, of which the hub keeps two for its own requests.
func Uploads() Limits { return Limits{Line: 28, User: 20, Hub: 1000, UserHub: 500} }

// Counter counts open requests. It is safe for concurrent use.
type Counter struct {
	limits Limits
	what   string

	mu    sync.Mutex
	hub   int
	users map[string]int
	lines map[string]*line
}

type line struct {
	open  int
	users map[string]int
}

// New returns a counter. What is the plural noun for the requests in error messages.
func New(what string, limits Limits) *Counter {
	return &Counter{limits: limits, what: what, users: map[string]int{}, lines: map[string]*line{}}
}

// ExceededError names the limit that a request would exceed.
type ExceededError struct{ Message string }

// Error implements error.
func (e *ExceededError) Error() string { return e.Message }

// Acquire counts one more request of a user on the line of a cluster until release is called, or returns an ExceededError.
func (c *Counter) Acquire(cluster, user string) (release func(), exceeded *ExceededError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lines[cluster]
	if l == nil {
		l = &line{users: map[string]int{}}
	}
	switch {
	case l.users[user] >= c.limits.User:
		return nil, &ExceededError{fmt.Sprintf("%s has %d %s open to %s, and a user may have %d: end one, or wait", user, l.users[user], c.what, cluster, c.limits.User)}
	case l.open >= c.limits.Line:
		return nil, &ExceededError{fmt.Sprintf("%d %s are open to %s, and a line takes %d: wait until one ends", l.open, c.what, cluster, c.limits.Line)}
	case c.users[user] >= c.limits.UserHub:
		return nil, &ExceededError{fmt.Sprintf("%s has %d %s open to all clusters, and a user may have %d: end one, or wait", user, c.users[user], c.what, c.limits.UserHub)}
	case c.hub >= c.limits.Hub:
		return nil, &ExceededError{fmt.Sprintf("%d %s are open to all clusters, and this hub takes %d: wait until one ends", c.hub, c.what, c.limits.Hub)}
	}
	c.hub++
	c.users[user]++
	l.open++
	l.users[user]++
	c.lines[cluster] = l
	return sync.OnceFunc(func() { c.release(cluster, user) }), nil
}

func (c *Counter) release(cluster, user string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lines[cluster]
	c.hub--
	if c.users[user]--; c.users[user] == 0 {
		delete(c.users, user)
	}
	l.open--
	if l.users[user]--; l.users[user] == 0 {
		delete(l.users, user)
	}
	if l.open == 0 {
		delete(c.lines, cluster)
	}
}

// Open returns the number of open requests.
func (c *Counter) Open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hub
}
