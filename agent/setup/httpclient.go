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

// answerTimeout bounds one request. An API server ends requests itself after a minute, but a proxy, or a server that
// hangs, may not, and without a bound all workers would end up waiting. Watches are not bounded.
const answerTimeout = 65 * time.Second

// dialAgain is the minimum delay before a watch retries when nothing listens at the member's address; the maximum is
// twice that.
const dialAgain = time.Second

// bounded returns a client on the same connections whose requests time out.
func bounded(c *http.Client, timeout time.Duration) *http.Client {
	out := *c
	out.Timeout = timeout
	return &out
}

// waiting returns a client on the same connections whose reads are retried while nothing listens at the address. An
// informer that is refused a connection backs off up to a minute: for so long the agent would neither see nor correct
// anything in a member whose API server was away for a while and has come back.
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

// unanswered returns whether nothing listens at the address. A host name that does not exist is another matter.
func unanswered(err error) bool {
	if unknown := (*net.DNSError)(nil); errors.As(err, &unknown) && unknown.IsNotFound {
		return false
	}
	for op := (*net.OpError)(nil); errors.As(err, &op); err = op.Err { // the error of a proxy wraps that of its address
		if op.Op == "dial" {
			return true
		}
	}
	return false
}
