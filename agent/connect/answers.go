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
	// usualAge is after how long a line is renewed if the hub does not say; leastAge bounds what it says.
	usualAge = 24 * time.Hour
	leastAge = time.Minute
	// mostPing bounds how long a hub may have an agent wait before it finds out that the hub is gone.
	mostPing = 10 * time.Minute
	// pings is how many of the hub's pings may fail to come before the agent asks itself.
	pings = 2

	// firstPause is the first pause before another try, and mostPause the longest: both are chosen anew between nothing and twice that.
	firstPause = 100 * time.Millisecond
	mostPause  = 15 * time.Second
	// firstSeldom and mostSeldom are those after an answer that will not soon be another.
	firstSeldom = 5 * time.Second
	mostSeldom  = 10 * time.Minute
	// maxReason bounds what is told of an answer, in bytes.
	maxReason = 300
)

// terms are the conditions on which the hub opened a line, from the headers of its answer.
type terms struct {
	replica    string
	isPresence bool
	maxAge     time.Duration
	// ping is after how long without a word the agent is to ask whether the hub is there.
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

// refusal is an answer of a hub that opens no line.
type refusal struct {
	status  int
	after   time.Duration // for how long the hub does not want to be asked; 0 if it does not say
	message string
}

// refusalOf reads an answer whose body is bounded.
func refusalOf(response *http.Response) *refusal {
	out := &refusal{status: response.StatusCode}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
		out.after = min(time.Duration(min(seconds, int(mostSeldom/time.Second)))*time.Second, mostSeldom)
	}
	said := response.Status
	if text, err := io.ReadAll(response.Body); err == nil && len(text) > 0 {
		var status metav1.Status
		if json.Unmarshal(text, &status) == nil && status.Message != "" {
			text = []byte(status.Message)
		}
		said += ": " + strings.Join(strings.Fields(string(text)), " ")
	}
	said = prose.Cut(said, maxReason)
	switch response.StatusCode {
	case http.StatusNotFound, http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		out.message = fmt.Sprintf("the hub opens no lines for this agent (%s): it is older than the agent, or lines are turned off there", said)
	case http.StatusConflict:
		out.message = fmt.Sprintf("another agent has the line of this cluster (%s); find out which of them runs where it should not, and stop it", said)
	default:
		out.message = fmt.Sprintf("the hub did not open a line (%s)", said)
	}
	return out
}

// Error implements error.
func (r *refusal) Error() string { return r.message }

// isLasting says whether another try soon would get the same answer.
func (r *refusal) isLasting() bool {
	switch r.status {
	case http.StatusNotFound, http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusNotImplemented, http.StatusConflict:
		return true
	}
	return false
}

// pace says how long to wait before another try. It has full jitter, since all agents of a hub that was away come back to it.
type pace struct{ often, seldom *backoff.ExponentialBackOff }

func newPace(c clock.Clock) *pace {
	return &pace{
		often: backoff.NewExponentialBackOff(backoff.WithInitialInterval(firstPause), backoff.WithMaxInterval(mostPause),
			backoff.WithMultiplier(2), backoff.WithRandomizationFactor(1), backoff.WithMaxElapsedTime(0), backoff.WithClockProvider(c)),
		seldom: backoff.NewExponentialBackOff(backoff.WithInitialInterval(firstSeldom), backoff.WithMaxInterval(mostSeldom),
			backoff.WithMultiplier(2), backoff.WithMaxElapsedTime(0), backoff.WithClockProvider(c)),
	}
}

// reset begins anew.
func (p *pace) reset() {
	p.often.Reset()
	p.seldom.Reset()
}

// after is the pause after a try that failed.
func (p *pace) after(refused *refusal) time.Duration {
	if refused != nil && refused.isLasting() {
		return max(p.seldom.NextBackOff(), refused.after)
	}
	p.seldom.Reset() // a hub that was away may have come back as another
	pause := p.often.NextBackOff()
	if refused != nil {
		pause += refused.after
	}
	return pause
}
