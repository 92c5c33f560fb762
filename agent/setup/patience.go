package setup

import (
	"errors"
	"net"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
)

// answerPatience is how long one request may take. An API server ends its requests itself
// after a minute; what stands before it, or one that hangs, may not, and whoever waits for
// it does nothing else: all workers would end up waiting. Watches are not bounded.
const answerPatience = 65 * time.Second

// dialAgain is how soon after nobody answered at the member's address a watch tries again,
// at most twice that.
const dialAgain = time.Second

// bounded returns a client on the same connections whose requests end after a while.
func bounded(c *http.Client, patience time.Duration) *http.Client {
	out := *c
	out.Timeout = patience
	return &out
}

// waiting returns a client on the same connections whose reads wait while nobody answers at
// the address, and are made as soon as somebody does. An informer that is refused waits for
// longer each time, up to a minute: for so long the agent would neither see nor mend what
// happens in a member whose API server was away for a while and has come back.
func waiting(c *http.Client, cl clock.Clock, every time.Duration) *http.Client {
	out := *c
	out.Transport = patient{next: c.Transport, clock: cl, every: every}
	return &out
}

type patient struct {
	next  http.RoundTripper
	clock clock.Clock
	every time.Duration
}

// RoundTrip implements http.RoundTripper.
func (p patient) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet {
		return p.next.RoundTrip(request)
	}
	for {
		response, err := p.next.RoundTrip(request)
		var dialing *net.OpError
		if err == nil || !errors.As(err, &dialing) || dialing.Op != "dial" {
			return response, err
		}
		select {
		case <-request.Context().Done():
			return nil, request.Context().Err()
		case <-p.clock.After(wait.Jitter(p.every, 1)):
		}
	}
}
