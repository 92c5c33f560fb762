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

// Keeper keeps a line open.
type Keeper struct {
	Deps

	state     *State
	metrics   *metrics
	session   string
	renew     chan struct{}
	lingering []*held // lines that were replaced and have not ended
	said      string  // what the log said last of a line that could not be opened
}

// State says whether there is a line.
func (k *Keeper) State() *State { return k.state }

// Renew has another line opened, since what was said when this one was opened is no longer so. The line of before ends with what goes
// on there.
func (k *Keeper) Renew() {
	select {
	case k.renew <- struct{}{}:
	default:
	}
}

// Start keeps a line open until the context ends, which it tells the hub then.
func (k *Keeper) Start(ctx context.Context) error {
	var serving sync.WaitGroup
	defer serving.Wait()
	pace := newPace(k.Clock)
	var current *held
	for ctx.Err() == nil {
		back := k.OutageEnds() // of one that ends while this is tried as well
		next, err := k.open(ctx)
		if err != nil {
			refused, _ := errors.AsType[*refusal](err)
			k.failed(ctx, err, refused)
			if refused != nil && refused.after > 0 {
				back = k.OutageEnds() // the hub does answer, and said when it wants to be asked
			}
			current = k.rest(ctx, current, pace.after(refused), back)
			continue
		}
		k.said = ""
		lineCtx, cancel := context.WithTimeout(ctx, max(next.notAfter.Sub(k.Clock.Now()), 0))
		next.cancel = cancel
		ctrl.LoggerFrom(ctx).Info("Opened a line to the hub", "Cluster", k.Cluster, "replica", next.replica, "presence", next.isPresence)
		serving.Go(func() { k.serve(lineCtx, next) })
		if current != nil {
			k.replaced(current, &serving)
		}
		current = next
		opened := k.Clock.Now()
		ended := k.watch(ctx, current)
		if ctx.Err() != nil {
			break
		}
		lasted := k.Clock.Since(opened) >= lasting
		if lasted {
			pace.opened()
		}
		if !ended {
			if !lasted { // a hub that asks for line after line gets them ever more slowly
				current = k.rest(ctx, current, pace.after(nil), nil)
			}
			continue
		}
		current = nil
		ctrl.LoggerFrom(ctx).Info("The line to the hub ended; another is opened", "Cluster", k.Cluster, "reason", fmt.Sprint(next.err))
		k.rest(ctx, nil, pace.after(nil), k.OutageEnds())
	}
	return nil
}

// open asks the hub for a line.
func (k *Keeper) open(ctx context.Context) (*held, error) {
	select {
	case <-k.renew: // this is it
	default:
	}
	if k.Well != nil {
		if err := k.Well(); err != nil { // the hub would end the line again
			return nil, err
		}
	}
	serial, notAfter := k.Certificate()
	header := http.Header{}
	header.Set(contract.LineSessionHeader, k.session)
	header.Set(contract.LineNotAfterHeader, notAfter.UTC().Format(time.RFC3339))
	if k.Allowed != nil {
		header.Set(contract.LineOperatorsHeader, k.Allowed(ctx))
	}
	if k.Ping != nil {
		if ping := k.Ping(); ping > 0 {
			header.Set(contract.LinePingHeader, ping.String())
		}
	}
	conn, response, err := k.Open(ctx, contract.LineAttachPath(k.Cluster), header)
	switch {
	case err != nil:
		k.metrics.opens.WithLabelValues(resultFailed).Inc()
		return nil, err
	case conn == nil:
		defer response.Body.Close() //nolint:errcheck // it is in memory
		k.metrics.opens.WithLabelValues(resultRefused).Inc()
		return nil, refusalOf(response)
	}
	k.metrics.opens.WithLabelValues(resultOpened).Inc()
	return &held{terms: termsOf(response.Header), conn: conn, serial: serial, notAfter: notAfter, drain: make(chan struct{}), ended: make(chan struct{})}, nil
}

// watch waits until a line ended, which it says then, or until another is to be opened.
func (k *Keeper) watch(ctx context.Context, l *held) (ended bool) {
	age := time.Duration(float64(l.maxAge) * (1 - ageJitter))
	renewAt := k.Clock.Now().Add(wait.Jitter(age, ageJitter))
	for {
		timer := k.Clock.NewTimer(max(min(lookEvery, renewAt.Sub(k.Clock.Now())), time.Second))
		select {
		case <-l.ended:
			timer.Stop()
			return true
		case <-k.renew:
			timer.Stop()
			return false
		case <-timer.C():
		}
		if serial, _ := k.Certificate(); ctx.Err() == nil && (serial != l.serial || !k.Clock.Now().Before(renewAt)) {
			return false
		}
	}
}

// replaced has a line end with what goes on there.
func (k *Keeper) replaced(l *held, serving *sync.WaitGroup) {
	close(l.drain)
	k.lingering = append(slices.DeleteFunc(k.lingering, (*held).hasEnded), l)
	if len(k.lingering) > mostLingering {
		k.lingering[0].cancel()
	}
	serving.Go(func() {
		timer := k.Clock.NewTimer(lingers)
		defer timer.Stop()
		select {
		case <-l.ended:
		case <-timer.C():
			l.cancel()
		}
	})
}

// rest waits before another try, or until the hub is back. The pauses go on then where they were: a hub that is back and busy is not asked more
// often than before. It returns the line that is still up, nil if there is none; when that ends
// there is no more reason to wait.
func (k *Keeper) rest(ctx context.Context, current *held, pause time.Duration, back <-chan struct{}) *held {
	var ended <-chan struct{}
	if current != nil {
		ended = current.ended
	}
	timer := k.Clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-ended:
		return nil
	case <-back:
	case <-timer.C():
	}
	return current
}

// failed logs why there is no line: once, as long as that is the reason.
func (k *Keeper) failed(ctx context.Context, err error, refused *refusal) {
	if ctx.Err() != nil || k.said == err.Error() {
		return
	}
	k.said = err.Error()
	k.state.failed(k.said)
	log := ctrl.LoggerFrom(ctx)
	if refused != nil && refused.isLasting() && refused.status != http.StatusConflict {
		log.Info("There is no line to the hub; all but what operators do in this cluster works without", "Cluster", k.Cluster, "reason", k.said)
		return
	}
	log.Error(err, "Opening a line to the hub failed; it is tried until there is one", "Cluster", k.Cluster)
}
