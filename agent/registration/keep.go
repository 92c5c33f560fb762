package registration

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v4"

	"k8s.io/apimachinery/pkg/util/wait"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/common/contract"
)

const (
	// learnEvery is the interval at which the agent asks the hub for its authorities and addresses, and learnAgain
	// the delay after a failure. A hub that exchanges its authority must announce both for longer, and an address
	// that is given up must keep working for longer.
	learnEvery = time.Hour
	learnAgain = 10 * time.Minute
	// learnSoon is the delay of that request after an outage, since the hub may have restarted with another
	// authority; a jitter of six times that spares a hub to which all its agents return. A freshly started API may
	// not know the new authority yet, so the agent asks learnTimes, each learnApart to twice that after the last
	// answer.
	learnSoon  = 5 * time.Second
	learnApart = 30 * time.Second
	learnTimes = 3
	// between is the minimum time between two renewals: if the clock is far off, every new certificate would look
	// old.
	between = time.Hour
	// firstTry and lastTry are the shortest and the longest backoff of retries.
	firstTry = 5 * time.Second
	lastTry  = 10 * time.Minute
	// callEvery is the interval at which an agent that the hub rejects looks for a rejoin token.
	callEvery = 30 * time.Second
	// askEvery is the minimum interval at which the agent asks for its membership.
	askEvery = 10 * time.Second
)

// rotator keeps credentials valid: it renews the certificate, follows the hub's authorities, and rejoins.
type rotator struct {
	*Credentials

	tries *backoff.ExponentialBackOff
	// renewAt is when to renew the certificate, learnAt when to ask for the hub's authorities, and askAt when to ask
	// for the membership; zero means never.
	renewAt, learnAt, askAt time.Time
	// saveAt is when to retry saving the credentials in the member; zero if they are saved.
	saveAt time.Time
	// earliest is the earliest time of the next renewal.
	earliest time.Time
	// asked is when the agent last asked for its membership.
	asked time.Time
	// lastLogged is the last logged message; it is not repeated.
	lastLogged string
	// isForbidden says that the agent had no rights on the hub when it last asked for its membership.
	isForbidden bool
	// learnMore is how many more times to ask soon for the hub's authorities, after an outage.
	learnMore int
}

// Keep renews the certificate in time, follows the hub when it exchanges its authority, and rejoins with a token of
// the hub if the certificate has expired. It runs until the context ends, which is no error. It returns a
// RetiredError if the hub has forgotten this member, and an ErrJoinedAgain if somebody has joined again in its place
// (`agent join --install`).
func (c *Credentials) Keep(ctx context.Context) error {
	k := &rotator{Credentials: c, tries: backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(firstTry), backoff.WithMaxInterval(lastTry),
		backoff.WithMaxElapsedTime(0), backoff.WithClockProvider(c.clock))}
	k.plan(time.Time{})
	k.learnAt = c.clock.Now().Add(wait.Jitter(firstTry, 1))
	for {
		if err := k.reconcile(ctx); ctx.Err() != nil || errors.Is(err, ErrRetired) || errors.Is(err, ErrJoinedAgain) {
			return err
		}
		k.keepRefusal(ctx)
		if err := k.saveToSecret(ctx); err != nil {
			return err
		}
		timer := c.clock.NewTimer(k.next())
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-c.refused:
			if k.askAt.IsZero() {
				k.askAt = later(k.clock.Now(), k.asked.Add(askEvery))
			}
		case <-c.interrupted:
			if k.learnMore == 0 {
				k.learnAt = c.clock.Now().Add(wait.Jitter(learnSoon, 5))
			}
			k.learnMore = learnTimes
		case <-c.restored:
			k.recheckSecret()
		case <-timer.C():
		}
		timer.Stop()
	}
}

// plan sets the time of the next renewal, not before earliest.
func (k *rotator) plan(earliest time.Time) {
	cert := k.now().cert
	k.renewAt = later(renewalAt(cert.NotBefore, cert.NotAfter, k.random()), earliest)
	if contract.JoinOf(cert.Subject.Organization) == "" {
		// It is from a version without join IDs. Renewed with one, it can be told from a copy.
		k.renewAt = later(k.clock.Now().Add(time.Duration(k.random()*float64(between))), earliest)
	}
	k.earliest = earliest
	k.tries.Reset()
}

// planLearning sets the time of the next request for the hub's authorities.
func (k *rotator) planLearning(answered bool) {
	var pause time.Duration
	switch {
	case !answered && k.learnMore > 0:
		k.learnMore-- // while the hub is away, other requests fail too and reset learnMore
		pause = wait.Jitter(learnSoon, 5)
	case !answered:
		pause = wait.Jitter(learnAgain, 1)
	case k.learnMore > 1:
		k.learnMore--
		pause = wait.Jitter(learnApart, 1)
	default:
		k.learnMore = 0
		pause = wait.Jitter(learnEvery, 0.5)
	}
	k.learnAt = k.clock.Now().Add(pause)
}

// next returns the time until the next action is due.
func (k *rotator) next() time.Duration {
	soonest := k.renewAt
	for _, at := range []time.Time{k.learnAt, k.askAt, k.saveAt} {
		if !at.IsZero() && at.Before(soonest) {
			soonest = at
		}
	}
	return max(soonest.Sub(k.clock.Now()), time.Millisecond)
}

// reconcile performs the actions that are due.
func (k *rotator) reconcile(ctx context.Context) error {
	if due(k.askAt, k.clock.Now()) {
		if err := k.askRound(ctx); err != nil {
			return err
		}
	}
	if due(k.learnAt, k.clock.Now()) {
		k.recheckSecret() // regularly, at the same interval
		err := k.learnAuthorities(ctx)
		k.planLearning(err == nil)
		if err != nil {
			ctrl.LoggerFrom(ctx).V(1).Info("Could not ask the hub for its certificate authorities", "reason", err.Error())
		} else if now := k.now(); now.issuer != "" && now.issuer != now.trusts[0] {
			// The hub now signs with another authority, and will drop the old one. All agents learn that within
			// hours; jitter spreads their renewals.
			soon := k.clock.Now().Add(time.Duration(k.random() * float64(between)))
			if soon = later(soon, k.earliest); soon.Before(k.renewAt) {
				k.renewAt = soon
			}
		}
	}
	switch {
	case expired(k.now().cert.NotAfter, k.clock.Now()):
		if err := k.tryRejoin(ctx, "its certificate expired at "+k.now().cert.NotAfter.UTC().Format(time.RFC3339)); err != nil {
			return err
		}
		if expired(k.now().cert.NotAfter, k.clock.Now()) {
			k.renewAt = k.clock.Now().Add(wait.Jitter(callEvery, 0.5))
		}
	case due(k.renewAt, k.clock.Now()):
		return k.renewRound(ctx)
	}
	return nil
}

// renewRound renews the certificate, or sets the time of the next attempt. If the hub denies the renewal, only a
// rejoin token helps.
func (k *rotator) renewRound(ctx context.Context) error {
	err := k.renew(ctx)
	if err == nil {
		k.plan(k.clock.Now().Add(between))
		// The agent asks for the authorities at the same time, which costs little more.
		k.learnAt = k.clock.Now()
		return nil
	}
	k.renewAt = k.clock.Now().Add(k.tries.NextBackOff())
	k.logOnce(ctx, err, "Renewing the certificate failed; the agent tries again")
	if errors.Is(err, ErrDenied) {
		return k.tryRejoin(ctx, "")
	}
	return nil
}

// askRound asks for the agent's membership after the hub refused a request.
func (k *rotator) askRound(ctx context.Context) error {
	k.asked, k.askAt = k.clock.Now(), time.Time{}
	is, retired, err := k.ask(ctx)
	if err != nil {
		return nil //nolint:nilerr // Nobody answered. It will refuse again.
	}
	why := ""
	switch wasForbidden := k.isForbidden; {
	case is == gone:
		return retired
	case is == rejected:
		why = "the hub does not accept its certificate"
	case is == forbidden && wasForbidden: // not the first time, when it may have just joined, or the hub just started
		why = "the hub gives it no rights"
	}
	if k.isForbidden = is == forbidden; is == known {
		return nil
	}
	k.askAt = k.clock.Now().Add(wait.Jitter(callEvery, 0.5))
	err = k.tryRejoin(ctx, why)
	if err == nil && !k.shownAt.Before(k.asked) {
		k.refusals.confirm(k.shownAt)
	}
	return err
}

// tryRejoin looks for a rejoin token and joins again if there is one. If there is none and why is not empty, it logs
// why the agent needs one. Its error is an ErrJoinedAgain.
func (k *rotator) tryRejoin(ctx context.Context, why string) error {
	serial := k.now().cert.SerialNumber
	err := k.rejoin(ctx)
	switch {
	case errors.Is(err, ErrJoinedAgain):
		return err
	case err == nil:
		k.lastLogged, k.isForbidden = "", false
	case why == "": // it may not need a token
	case errors.Is(err, errNoCall):
		k.logOnce(ctx, nil, "If another agent has this cluster by now, stop this one; if not, call this one back from the hub: run `hub token create --rejoin "+
			k.who.Cluster+"` there", "reason", why)
	default:
		k.logOnce(ctx, err, "This agent cannot come back to the hub; if another agent has this cluster by now, stop this one, else run `agent join` again with what `hub token create --rejoin "+k.who.Cluster+"` prints there", "reason", why)
	}
	if k.now().cert.SerialNumber.Cmp(serial) != 0 {
		k.askAt = time.Time{}
		k.plan(k.clock.Now().Add(between))
	}
	return nil
}

// logOnce logs a message unless it repeats the last one.
func (k *rotator) logOnce(ctx context.Context, err error, message string, values ...any) {
	whole := message
	if err != nil {
		whole += err.Error()
	}
	if ctx.Err() != nil || k.lastLogged == whole {
		return
	}
	k.lastLogged = whole
	values = append(values, "Cluster", k.who.Cluster)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, message, values...)
		return
	}
	ctrl.LoggerFrom(ctx).Info(message, values...)
}

func due(at, now time.Time) bool { return !at.IsZero() && !now.Before(at) }

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
