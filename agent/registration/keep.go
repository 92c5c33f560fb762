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
	// learnEvery is how often the hub is asked whom to trust and at what other addresses it is, and
	// learnAgain how soon after it did not answer. A hub that exchanges its authority must name both for
	// longer, and a machine that is given up must serve for longer.
	learnEvery = time.Hour
	learnAgain = 10 * time.Minute
	// learnSoon is how soon after the hub was away, drawn out sixfold for the sake of a hub
	// that all its agents come back to: it may have been started with another authority.
	// An API that was just started does not say so yet; hence it is asked learnTimes, each
	// learnApart or up to twice that after the last answer.
	learnSoon  = 5 * time.Second
	learnApart = 30 * time.Second
	learnTimes = 3
	// between is how long a certificate is not renewed after it was: a clock that is far
	// off would have each new one look old.
	between = time.Hour
	// firstTry and lastTry bound the delays between tries of what did not succeed.
	firstTry = 5 * time.Second
	lastTry  = 10 * time.Minute
	// callEvery is how often an agent that the hub rejects looks whether it is called back.
	callEvery = 30 * time.Second
	// askEvery bounds how often the hub is asked what the agent is to it.
	askEvery = 10 * time.Second
)

// rotator looks after credentials.
type rotator struct {
	*Credentials

	tries *backoff.ExponentialBackOff
	// renewAt is when the certificate is to be renewed, learnAt when to ask whom to trust,
	// askAt when to ask what the agent is to the hub; zero is never.
	renewAt, learnAt, askAt time.Time
	// saveAt is when to keep the credentials in the member, where that failed.
	saveAt time.Time
	// earliest is before when the certificate is not renewed, since it just was.
	earliest time.Time
	// asked is when the hub was last asked what the agent is to it.
	asked time.Time
	// lastLogged is the last message in the log, which is not repeated.
	lastLogged string
	// isForbidden says that the hub gave the agent no rights when it was last asked what the agent is to it.
	isForbidden bool
	// learnMore is how often the hub is to be asked soon whom to trust, since it was lost.
	learnMore int
}

// Keep renews the certificate in time, follows the hub when it exchanges its authority, and
// comes back when the certificate ended while the agent was off and the hub calls it. It
// runs until the context ends, which is no error, or the hub says that it has retired this
// member: then the error is a RetiredError; or somebody has joined again in its place (`agent join --install`): then it is an ErrJoinedAgain.
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
		case <-timer.C():
		}
		timer.Stop()
	}
}

// plan says when to renew the certificate that there is, not before a certain time.
func (k *rotator) plan(earliest time.Time) {
	cert := k.now().cert
	k.renewAt = later(renewalAt(cert.NotBefore, cert.NotAfter, k.random()), earliest)
	if contract.JoinOf(cert.Subject.Organization) == "" {
		// It is of a version that knew no joins: with another one the hub knows it from a copy.
		k.renewAt = later(k.clock.Now().Add(time.Duration(k.random()*float64(between))), earliest)
	}
	k.earliest = earliest
	k.tries.Reset()
}

// planLearning says when to ask the hub again whom to trust.
func (k *rotator) planLearning(answered bool) {
	var pause time.Duration
	switch {
	case !answered && k.learnMore > 0:
		k.learnMore-- // a hub that is away fails other requests too, which begins this anew
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

// next returns how long there is nothing to do.
func (k *rotator) next() time.Duration {
	soonest := k.renewAt
	for _, at := range []time.Time{k.learnAt, k.askAt, k.saveAt} {
		if !at.IsZero() && at.Before(soonest) {
			soonest = at
		}
	}
	return max(soonest.Sub(k.clock.Now()), time.Millisecond)
}

// reconcile does what is due.
func (k *rotator) reconcile(ctx context.Context) error {
	if due(k.askAt, k.clock.Now()) {
		if err := k.askRound(ctx); err != nil {
			return err
		}
	}
	if due(k.learnAt, k.clock.Now()) {
		err := k.learnAuthorities(ctx)
		k.planLearning(err == nil)
		if err != nil {
			ctrl.LoggerFrom(ctx).V(1).Info("Could not ask the hub whom to trust", "reason", err.Error())
		} else if now := k.now(); now.issuer != "" && now.issuer != now.trusts[0] {
			// The hub has another authority sign by now, and will drop the one of before. All
			// agents learn that within hours, and need not come at once.
			soon := k.clock.Now().Add(time.Duration(k.random() * float64(between)))
			if soon = later(soon, k.earliest); soon.Before(k.renewAt) {
				k.renewAt = soon
			}
		}
	}
	switch {
	case expired(k.now().cert.NotAfter, k.clock.Now()):
		if err := k.tryRejoin(ctx, "its certificate ended at "+k.now().cert.NotAfter.UTC().Format(time.RFC3339)); err != nil {
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

// saveToSecret keeps what changed in the member, too. Its error is an ErrJoinedAgain.
func (k *rotator) saveToSecret(ctx context.Context) error {
	k.saveAt = time.Time{}
	if k.secretStore == nil {
		return nil
	}
	err := k.secretStore.Save(ctx, k.state.dir)
	switch {
	case err == nil:
		k.markPersisted()
	case errors.Is(err, ErrJoinedAgain):
		return err
	default:
		k.logOnce(ctx, err, "The credentials are on this disk only; it is tried until the member has them")
		k.saveAt = k.clock.Now().Add(wait.Jitter(callEvery, 0.5))
	}
	return nil
}

// renewRound renews, or says when to try again. Who is denied it has a certificate to come back with only if the hub calls it.
func (k *rotator) renewRound(ctx context.Context) error {
	err := k.renew(ctx)
	if err == nil {
		k.plan(k.clock.Now().Add(between))
		// Whom to trust is asked then, too: it costs little more.
		k.learnAt = k.clock.Now()
		return nil
	}
	k.renewAt = k.clock.Now().Add(k.tries.NextBackOff())
	k.logOnce(ctx, err, "Renewing the certificate failed; it is tried until it succeeds")
	if errors.Is(err, ErrDenied) {
		return k.tryRejoin(ctx, "")
	}
	return nil
}

// askRound asks the hub what the agent is to it, after it refused something.
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
	case is == forbidden && wasForbidden: // at first it may have just joined, or the hub have just been started
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

// tryRejoin looks whether the hub calls this agent, and joins again if it does. If it does not, that is logged with the reason why this agent
// needs it; without one, nothing is. The error is an ErrJoinedAgain.
func (k *rotator) tryRejoin(ctx context.Context, why string) error {
	serial := k.now().cert.SerialNumber
	err := k.rejoin(ctx)
	switch {
	case errors.Is(err, ErrJoinedAgain):
		return err
	case err == nil:
		k.lastLogged, k.isForbidden = "", false
	case why == "": // it may need none
	case errors.Is(err, errNoCall):
		k.logOnce(ctx, nil, "If another agent has this cluster by now, stop this one; if none has, the hub has to call this one back: run `hub token create --rejoin "+
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

// logOnce logs what lasts once.
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
