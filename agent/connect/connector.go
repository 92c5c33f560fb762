package connect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/common/contract"
)

const (
	// lookEvery is how often the certificate is checked for a renewal.
	lookEvery = time.Minute
	// lingers is how long a replaced line may finish its requests.
	lingers = 8 * time.Hour
	// mostLingering is how many replaced lines may linger; one more ends the oldest.
	mostLingering = 8
	// lasting is how long a line must stay open before the backoff is reset.
	lasting = 10 * time.Second
	// ageJitter spreads the renewals of lines that were opened at the same time, as a fraction of their age.
	ageJitter = 0.1
)

// Connector keeps a line open.
type Connector struct {
	Deps

	state     *State
	metrics   *metrics
	session   string
	renew     chan struct{}
	lingering []*held // replaced lines that have not ended
	said      string  // the last logged reason why no line could be opened
}

// State returns the state of the line.
func (c *Connector) State() *State { return c.state }

// Renew opens another line, because something the agent said when it opened the present one has changed. The old line
// finishes its requests and ends.
func (c *Connector) Renew() {
	select {
	case c.renew <- struct{}{}:
	default:
	}
}

// Start keeps a line open until the context ends; it then closes the line with a goodbye to the hub.
func (c *Connector) Start(ctx context.Context) error {
	var serving sync.WaitGroup
	defer serving.Wait()
	pace := newPace(c.Clock)
	var current *held
	for ctx.Err() == nil {
		back := c.OutageEnds() // taken before the attempt, to catch an outage that ends during it
		next, err := c.open(ctx)
		if err != nil {
			refused, _ := errors.AsType[*refusal](err)
			c.failed(ctx, err, refused)
			if refused != nil && refused.after > 0 {
				if hasClosed(back) {
					pace.reset() // without this, the hub would be asked again at once, although it said when it wants to be asked
				}
				back = c.OutageEnds()
			}
			current = c.rest(ctx, current, pace, refused, back)
			continue
		}
		c.said = ""
		lineCtx, cancel := context.WithTimeout(ctx, max(next.notAfter.Sub(c.Clock.Now()), 0))
		next.cancel = cancel
		ctrl.LoggerFrom(ctx).Info("Opened a line to the hub", "Cluster", c.Cluster, "replica", next.replica, "presence", next.isPresence)
		serving.Go(func() { c.serve(lineCtx, next) })
		if current != nil {
			c.replaced(current, &serving)
		}
		current = next
		opened := c.Clock.Now()
		ended := c.watch(ctx, current)
		if ctx.Err() != nil {
			break
		}
		lasted := c.Clock.Since(opened) >= lasting
		if lasted {
			pace.reset()
		}
		if !ended {
			if !lasted { // back off from a hub that asks for line after line
				current = c.rest(ctx, current, pace, nil, nil)
			}
			continue
		}
		current = nil
		ctrl.LoggerFrom(ctx).Info("The line to the hub ended; another is opened", "Cluster", c.Cluster, "reason", fmt.Sprint(next.err))
		c.rest(ctx, nil, pace, nil, c.OutageEnds())
	}
	return nil
}

// open asks the hub for a line.
func (c *Connector) open(ctx context.Context) (*held, error) {
	select {
	case <-c.renew: // this attempt serves the request to renew
	default:
	}
	if c.Well != nil {
		if err := c.Well(); err != nil { // the hub would end the line again
			return nil, err
		}
	}
	serial, notAfter := c.Certificate()
	header := http.Header{}
	header.Set(contract.LineSessionHeader, c.session)
	header.Set(contract.LineNotAfterHeader, notAfter.UTC().Format(time.RFC3339))
	if c.Allowed != nil {
		header.Set(contract.LineOperatorsHeader, c.Allowed(ctx))
	}
	if c.Ping != nil {
		if ping := c.Ping(); ping > 0 {
			header.Set(contract.LinePingHeader, ping.String())
		}
	}
	conn, response, err := c.Open(ctx, contract.LineAttachPath(c.Cluster), header)
	switch {
	case err != nil:
		c.metrics.opens.WithLabelValues(resultFailed).Inc()
		return nil, err
	case conn == nil:
		defer response.Body.Close() //nolint:errcheck // it is in memory
		c.metrics.opens.WithLabelValues(resultRefused).Inc()
		return nil, refusalOf(response)
	}
	c.metrics.opens.WithLabelValues(resultOpened).Inc()
	return &held{terms: termsOf(response.Header), conn: conn, serial: serial, notAfter: notAfter, drain: make(chan struct{}), ended: make(chan struct{})}, nil
}

// watch waits until the line has ended, and then returns true, or until another one has to be opened.
func (c *Connector) watch(ctx context.Context, l *held) (ended bool) {
	age := time.Duration(float64(l.maxAge) * (1 - ageJitter))
	renewAt := c.Clock.Now().Add(wait.Jitter(age, ageJitter))
	for {
		timer := c.Clock.NewTimer(max(min(lookEvery, renewAt.Sub(c.Clock.Now())), time.Second))
		select {
		case <-l.ended:
			timer.Stop()
			return true
		case <-c.renew:
			timer.Stop()
			return false
		case <-timer.C():
		}
		if serial, _ := c.Certificate(); ctx.Err() == nil && (serial != l.serial || !c.Clock.Now().Before(renewAt)) {
			return false
		}
	}
}

// replaced drains a line: it takes no new requests and ends with its present ones.
func (c *Connector) replaced(l *held, serving *sync.WaitGroup) {
	close(l.drain)
	c.lingering = append(slices.DeleteFunc(c.lingering, (*held).hasEnded), l)
	if len(c.lingering) > mostLingering {
		c.lingering[0].cancel()
	}
	serving.Go(func() {
		timer := c.Clock.NewTimer(lingers)
		defer timer.Stop()
		select {
		case <-l.ended:
		case <-timer.C():
			l.cancel()
		}
	})
}

// rest waits before the next attempt. It returns early when the hub is back after an outage, and then resets the
// backoff, which grew while the hub was away; and when the line that is still up ends. It returns the line that is
// still up, or nil.
func (c *Connector) rest(ctx context.Context, current *held, pace *pace, refused *refusal, back <-chan struct{}) *held {
	var ended <-chan struct{}
	if current != nil {
		ended = current.ended
	}
	timer := c.Clock.NewTimer(pace.after(refused))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-ended:
		return nil
	case <-back:
		pace.reset()
	case <-timer.C():
	}
	return current
}

func hasClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// failed logs why there is no line, once per reason.
func (c *Connector) failed(ctx context.Context, err error, refused *refusal) {
	if ctx.Err() != nil || c.said == err.Error() {
		return
	}
	c.said = err.Error()
	c.state.failed(c.said)
	log := ctrl.LoggerFrom(ctx)
	if refused != nil && refused.isLasting() && refused.status != http.StatusConflict {
		log.Info("There is no line to the hub; only operators need it, everything else works without", "Cluster", c.Cluster, "reason", c.said)
		return
	}
	log.Error(err, "Opening a line to the hub failed; the agent tries again", "Cluster", c.Cluster)
}
