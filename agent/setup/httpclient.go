package setup

import (
	"errors"
	"net"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
)

// answerTimeout is how long one request may take. An API server ends its requests itself
// after a minute; what stands before it, or one that hangs, may not, and whoever waits for
// it does nothing else: all workers would end up waiting. Watches are not bounded.
const answerTimeout = 65 * time.Second

// dialAgain is how soon after nobody answered at the member's address a watch tries again,
// at most twice that.
const dialAgain = time.Second

// bounded returns a client on the same connections whose requests end after a while.
func bounded(c *http.Client, timeout time.Duration) *http.Client {
	out := *c
	out.Timeout = timeout
	return &out
}

// waiting returns a client on the same connections whose reads wait while nobody answers at
// the address, and are made again and again until somebody does. An informer that is refused
// waits for longer each time, up to a minute: for so long the agent would neither see nor mend
// what happens in a member whose API server was away for a while and has come back.
func waiting(c *http.Client, cl clock.Clock, every time.Duration) *http.Client {
	out := *c
	out.Transport = redialer{next: c.Transport, clock: cl, every: every}
	return &out
}

type redialer struct {
	next  http.RoundTripper
	clock clock.Clock
	every time.Duration
}

// RoundTrip implements http.RoundTripper.
func (r redialer) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet {
		return r.next.RoundTrip(request)
	}
	log := ctrl.Log.WithName("member").WithValues("host", request.URL.Host, "path", request.URL.Path)
	for tries := 0; ; tries++ {
		response, err := r.next.RoundTrip(request)
		if err == nil || !unanswered(err) {
			if err == nil && tries > 0 {
				log.Info("The member answers again", "tries", tries)
			}
			return response, err
		}
		if tries == 0 {
			log.Info("The member does not answer; a watch waits until it does", "reason", err.Error())
		}
		select {
		case <-request.Context().Done():
			return nil, request.Context().Err()
		case <-r.clock.After(wait.Jitter(r.every, 1)):
		}
	}
}

// unanswered says whether there is nobody at the address. That there is no such address is
// another matter.
func unanswered(err error) bool {
	if unknown := (*net.DNSError)(nil); errors.As(err, &unknown) && unknown.IsNotFound {
		return false
	}
	for op := (*net.OpError)(nil); errors.As(err, &op); err = op.Err { // that of a proxy has that of its address in it
		if op.Op == "dial" {
			return true
		}
	}
	return false
}
