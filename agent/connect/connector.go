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
	// lookEvery is how often it is looked whether the certificate is another one.
	lookEvery = time.Minute
	// lingers is for how long a line that was replaced may go on with its requests.
	lingers = 8 * time.Hour
	// mostLingering is how many of these there may be; one more ends the oldest.
	mostLingering = 8
	// lasting is how long a line holds before the pauses between tries begin anew.
	lasting = 10 * time.Second
	// ageJitter is by which part of its age the renewals of lines that were opened together differ.
	ageJitter = 0.1
)

// Connector keeps a line open.
type Connector struct {
	Deps

	state     *State
	metrics   *metrics
	session   string
	renew     chan struct{}
	lingering []*held // lines that were replaced and have not ended
	said      string  // what the log said last of a line that could not be opened
}

// State says whether there is a line.
func (c *Connector) State() *State { return c.state }

// Renew has another line opened, since what was said when this one was opened is no longer so. The line of before ends with what goes
// on there.
func (c *Connector) Renew() {
	select {
	case c.renew <- struct{}{}:
	default:
	}
}

// Start keeps a line open until the context ends, which it tells the hub then.
func (c *Connector) Start(ctx context.Context) error {
	var serving sync.WaitGroup
	defer serving.Wait()
	pace := newPace(c.Clock)
	var current *held
	for ctx.Err() == nil {
		back := c.OutageEnds() // of one that ends while this is tried as well
		next, err := c.open(ctx)
		if err != nil {
			refused, _ := errors.AsType[*refusal](err)
			c.failed(ctx, err, refused)
			if refused != nil && refused.after > 0 {
				if hasClosed(back) {
					pace.reset() // below the hub would be asked at once, and it said when it wants to be asked
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
			if !lasted { // a hub that asks for line after line gets them ever more slowly
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
	case <-c.renew: // this is it
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

// watch waits until a line ended, which it says then, or until another is to be opened.
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

// replaced has a line end with what goes on there.
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

// rest waits before another try, or until the hub is back, after which pauses begin anew: what they grew to while it was away says nothing of a
// hub that is there and takes no line at the moment. It returns the line that is still up, nil if there is none; when that ends there is no
// more reason to wait.
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

// failed logs why there is no line: once, as long as that is the reason.
func (c *Connector) failed(ctx context.Context, err error, refused *refusal) {
	if ctx.Err() != nil || c.said == err.Error() {
		return
	}
	c.said = err.Error()
	c.state.failed(c.said)
	log := ctrl.LoggerFrom(ctx)
	if refused != nil && refused.isLasting() && refused.status != http.StatusConflict {
		log.Info("There is no line to the hub; all but what operators do in this cluster works without", "Cluster", c.Cluster, "reason", c.said)
		return
	}
	log.Error(err, "Opening a line to the hub failed; it is tried until there is one", "Cluster", c.Cluster)
}
