package auth

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/hub/people/issuer"
)

// asked is an API that answers who a user is.
type asked struct {
	client.Client
	answer func(context.Context) error
	times  atomic.Int32
}

func (a *asked) Create(ctx context.Context, _ client.Object, _ ...client.CreateOption) error {
	defer a.times.Add(1)
	return a.answer(ctx)
}

// opened is a session with an open page that sends no requests.
type opened struct {
	*SignIn
	one   *Session
	api   *asked
	clock *clocktesting.FakeClock
}

func openSession(clock *clocktesting.FakeClock, answer func(context.Context) error, token *idToken) *opened {
	api := &asked{answer: answer}
	u := NewUser("anna", api, clock)
	u.idToken = token
	s := NewSignIn(nil, clock, Options{})
	return &opened{s, s.Sessions.Get(s.Sessions.Open(u)), api, clock}
}

// aliveAfter advances the clock, and returns whether the session is alive once the API has been asked this many times
// in total.
func (o *opened) aliveAfter(t *testing.T, span time.Duration, times int32) bool {
	t.Helper()
	o.clock.Step(span)
	NewWithT(t).Eventually(func() bool {
		o.Alive(t.Context(), o.one)
		o.one.User.credential.mu.Lock()
		defer o.one.User.credential.mu.Unlock()
		return o.api.times.Load() >= times && !o.one.User.credential.asking
	}, time.Minute, time.Millisecond).Should(BeTrue())
	NewWithT(t).Expect(o.api.times.Load()).To(Equal(times))
	return o.Alive(t.Context(), o.one)
}

func TestOpenStreamsEndWithTheSignInAtTheIssuer(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	token, f := newRenewed()
	o := openSession(f.clock, func(ctx context.Context) error { // as a bearer token does
		_, err := token.current(ctx)
		return err
	}, token)
	g.Expect(o.aliveAfter(t, 0, 1)).To(BeTrue())
	g.Expect(o.aliveAfter(t, time.Hour-renewBefore, 2)).To(BeTrue(), "the issuer renewed it")
	f.err = issuer.RefusedError{}
	g.Expect(o.aliveAfter(t, time.Hour-renewBefore, 3)).To(BeFalse(), "the issuer vouches for her no more")
}

func TestOpenStreamsEndWithTheCredential(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	no, away := apierrors.NewUnauthorized("it was withdrawn"), errors.New("the API is away")
	var answer atomic.Pointer[error]
	answer.Store(new(error))
	is := func(err error) { answer.Store(&err) }
	o := openSession(clocktesting.NewFakeClock(time.Unix(1000, 0)), func(context.Context) error { return *answer.Load() }, nil)
	times := int32(0)
	alive := func(span time.Duration) bool { times++; return o.aliveAfter(t, span, times) }
	g.Expect(alive(0)).To(BeTrue())
	g.Expect(o.aliveAfter(t, askEvery-time.Second, times)).To(BeTrue(), "it is not asked all the time")
	is(no)
	g.Expect(alive(time.Second)).To(BeTrue(), "one that has just started may not know")
	is(nil)
	g.Expect(alive(askAgain)).To(BeTrue())
	is(away)
	for range 2 * maxRefusals {
		g.Expect(alive(askEvery)).To(BeTrue(), "an API that does not answer ends nothing")
	}
	is(no)
	for range maxRefusals - 1 {
		g.Expect(alive(askEvery)).To(BeTrue())
	}
	g.Expect(alive(askAgain)).To(BeFalse())
}
