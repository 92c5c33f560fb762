package limit

import (
	"fmt"
	"sync"
)

// Limits are how much may be open at a time.
type Limits struct {
	// Line is of a line, and User is of a user on a line.
	Line, User int
	// Hub is of a replica of the hub, and UserHub is of a user there: who may into many clusters is not to keep out all others.
	Hub, UserHub int
}

// Streams are the limits of what stays open: upgrades, watches and logs that are followed.
func Streams() Limits { return Limits{Line: 100, User: 20, Hub: 1000, UserHub: 500} }

// Requests are the limits of what is answered at once. A kubectl that meets a cluster for the first time asks for some forty
// things at a time.
func Requests() Limits { return Limits{Line: 100, User: 64, Hub: 1000, UserHub: 500} }

// Uploads are the limits of what is sent to members: upgrades, and requests with a body, until they end. An agent has places for
// 30 of these on a line, of which the hub keeps two for its own requests.
func Uploads() Limits { return Limits{Line: 28, User: 20, Hub: 1000, UserHub: 500} }

// Counter counts what is open. It may be used from many goroutines.
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

// New returns a counter. What names in the plural what is counted, for people.
func New(what string, limits Limits) *Counter {
	return &Counter{limits: limits, what: what, users: map[string]int{}, lines: map[string]*line{}}
}

// ExceededError says which limit something would exceed.
type ExceededError struct{ Message string }

// Error implements error.
func (e *ExceededError) Error() string { return e.Message }

// Acquire counts one more of a user on the line of a cluster until release is called, or says which limit that would exceed.
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

// Open is how many are open.
func (c *Counter) Open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hub
}
