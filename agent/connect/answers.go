package connect

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v4"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/line"
	"fairlead.dev/common/prose"
)

const (
	// usualAge is the age at which a line is renewed if the hub does not name one; leastAge is the minimum the hub
	// may name.
	usualAge = 24 * time.Hour
	leastAge = time.Minute
	// mostPing bounds the ping interval that a hub may ask for, so that the agent notices in time that the hub is
	// gone.
	mostPing = 10 * time.Minute
	// pings is how many of the hub's pings may be missed before the agent sends its own.
	pings = 2

	// firstPause and mostPause are the first and the longest backoff between attempts. With full jitter, each pause
	// is between nothing and twice that.
	firstPause = 100 * time.Millisecond
	mostPause  = 15 * time.Second
	// firstSeldom and mostSeldom are the same after a refusal that will not change soon.
	firstSeldom = 5 * time.Second
	mostSeldom  = 10 * time.Minute
	// maxReason bounds the part of an answer that is reported, in bytes.
	maxReason = 300
)

// terms are the conditions on which the hub opened a line, from the headers of its answer.
type terms struct {
	replica    string
	isPresence bool
	maxAge     time.Duration
	// ping is the silence after which the agent checks whether the hub is there.
	ping time.Duration
}

func termsOf(h http.Header) terms {
	out := terms{
		replica:    prose.Cut(h.Get(contract.LineReplicaHeader), maxReason),
		isPresence: h.Get(contract.LinePresenceHeader) == contract.LineIsPresence,
		maxAge:     usualAge,
		ping:       line.DefaultServerPing,
	}
	if age, err := time.ParseDuration(h.Get(contract.LineMaxAgeHeader)); err == nil {
		out.maxAge = max(age, leastAge)
	}
	if ping, err := time.ParseDuration(h.Get(contract.LinePingHeader)); err == nil && ping > 0 {
		out.ping = max(min(ping, mostPing)*pings, out.ping)
	}
	return out
}

// refusal is the answer of a hub that does not open a line.
type refusal struct {
	status  int
	after   time.Duration // Retry-After; 0 if the hub does not say
	message string
}

// refusalOf reads an answer whose body is bounded by the caller.
func refusalOf(response *http.Response) *refusal {
	out := &refusal{status: response.StatusCode}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
		out.after = min(time.Duration(min(seconds, int(mostSeldom/time.Second)))*time.Second, mostSeldom)
	}
	answer := response.Status
	if text, err := io.ReadAll(response.Body); err == nil && len(text) > 0 {
		var status metav1.Status
		if json.Unmarshal(text, &status) == nil && status.Message != "" {
			text = []byte(status.Message)
		}
		answer += ": " + strings.Join(strings.Fields(string(text)), " ")
	}
	answer = prose.Cut(answer, maxReason)
	switch response.StatusCode {
	case http.StatusNotFound, http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		out.message = fmt.Sprintf("the hub opens no lines for this agent (%s): it is older than the agent, or lines are turned off there", answer)
	case http.StatusConflict:
		out.message = fmt.Sprintf("another agent has the line of this cluster (%s); find out which of the two should not run, and stop it", answer)
	default:
		out.message = fmt.Sprintf("the hub did not open a line (%s)", answer)
	}
	return out
}

// Error implements error.
func (r *refusal) Error() string { return r.message }

// isLasting returns whether an early retry would get the same answer.
func (r *refusal) isLasting() bool {
	switch r.status {
	case http.StatusNotFound, http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusNotImplemented, http.StatusConflict:
		return true
	}
	return false
}

// pace computes the backoff between attempts, with full jitter, since all agents return at once to a hub that was
// away.
type pace struct{ often, seldom *backoff.ExponentialBackOff }

func newPace(c clock.Clock) *pace {
	return &pace{
		often: backoff.NewExponentialBackOff(backoff.WithInitialInterval(firstPause), backoff.WithMaxInterval(mostPause),
			backoff.WithMultiplier(2), backoff.WithRandomizationFactor(1), backoff.WithMaxElapsedTime(0), backoff.WithClockProvider(c)),
		seldom: backoff.NewExponentialBackOff(backoff.WithInitialInterval(firstSeldom), backoff.WithMaxInterval(mostSeldom),
			backoff.WithMultiplier(2), backoff.WithMaxElapsedTime(0), backoff.WithClockProvider(c)),
	}
}

func (p *pace) reset() {
	p.often.Reset()
	p.seldom.Reset()
}

// after returns the pause after a failed attempt.
func (p *pace) after(refused *refusal) time.Duration {
	if refused != nil && refused.isLasting() {
		return max(p.seldom.NextBackOff(), refused.after)
	}
	p.seldom.Reset() // the hub that answers next may be another version
	pause := p.often.NextBackOff()
	if refused != nil {
		pause += refused.after
	}
	return pause
}
