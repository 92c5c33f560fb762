package setup

import (
	"net/http"
	"time"
)

// answerPatience is how long one request may take. An API server ends its requests itself
// after a minute; what stands before it, or one that hangs, may not, and whoever waits for
// it does nothing else: all workers would end up waiting. Watches are not bounded.
const answerPatience = 65 * time.Second

// bounded returns a client on the same connections whose requests end after a while.
func bounded(c *http.Client, patience time.Duration) *http.Client {
	out := *c
	out.Timeout = patience
	return &out
}
