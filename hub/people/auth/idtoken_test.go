package auth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	clocktesting "k8s.io/utils/clock/testing"

	"fairlead.dev/hub/people/issuer"
)

// fakeRenewer returns the tokens "1", "2", … for the refresh tokens "0", "1", …, each once.
type fakeRenewer struct {
	clock *clocktesting.FakeClock
	life  time.Duration
	err   error
	// waits, if not nil, is received from before each answer.
	waits chan struct{}

	mu    sync.Mutex
	asked int
}

func (f *fakeRenewer) Renew(_ context.Context, old issuer.Tokens) (issuer.Tokens, error) {
	if f.waits != nil {
		<-f.waits
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	if f.err != nil {
		return issuer.Tokens{}, f.err
	}
	if old.Refresh != fmt.Sprint(f.asked-1) {
		return issuer.Tokens{}, issuer.RefusedError{}
	}
	return issuer.Tokens{ID: fmt.Sprint(f.asked), Refresh: fmt.Sprint(f.asked), Expiry: f.clock.Now().Add(f.life)}, nil
}

func newRenewed() (*idToken, *fakeRenewer) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	f := &fakeRenewer{clock: clock, life: time.Hour}
	return newIDToken(f, issuer.Tokens{ID: "0", Refresh: "0", Expiry: clock.Now().Add(time.Hour)}, clock), f
}

func TestAnIDTokenIsRenewedBeforeItEnds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	token, f := newRenewed()
	expect := func(want string) {
		t.Helper()
		got, err := token.current(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got).To(Equal(want))
	}
	expect("0")
	f.clock.Step(time.Hour - renewBefore - time.Second)
	expect("0")
	f.clock.Step(time.Second)
	expect("1")
	f.clock.Step(3 * time.Hour)
	expect("2")
	token.reject("2")
	expect("2") // it is new: the API would not accept the next one either
	f.clock.Step(rejectAfter)
	token.reject("1")
	expect("2")       // the API rejected an older one
	token.reject("2") // the API's clock is ahead
	expect("3")
	f.life = 8 * time.Second
	f.clock.Step(rejectAfter)
	token.reject("3")
	expect("4")
	f.clock.Step(5 * time.Second)
	expect("4")
	f.clock.Step(time.Second)
	expect("5")
}

func TestAnIDTokenIsRenewedOnceForMany(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	token, f := newRenewed()
	f.clock.Step(time.Hour)
	f.waits = make(chan struct{})
	const many = 20
	got := make(chan string, many)
	for range many {
		go func() {
			id, _ := token.current(context.Background()) // may outlive a test that fails
			got <- id
		}()
	}
	f.waits <- struct{}{}
	for range many {
		g.Eventually(got).WithTimeout(time.Minute).Should(Receive(Equal("1")))
	}
	g.Expect(f.asked).To(Equal(1))
}

func TestAnIDTokenOutlivesAnIssuerThatIsDown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	token, f := newRenewed()
	f.err = issuer.UnavailableError{Host: "login.example.com"}
	f.clock.Step(time.Hour - time.Second)
	got, err := token.current(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got).To(Equal("0"), "it holds still")
	f.clock.Step(time.Second)
	_, err = token.current(t.Context())
	g.Expect(errors.As(err, &issuer.UnavailableError{})).To(BeTrue())
	g.Expect(f.asked).To(Equal(1), "the issuer is not asked by everybody in turn")
	g.Expect(token.hasEnded()).To(BeFalse())
	f.clock.Step(renewAgain)
	_, err = token.current(t.Context())
	g.Expect(errors.As(err, &issuer.UnavailableError{})).To(BeTrue())
	g.Expect(f.asked).To(Equal(2))
	f.err, f.asked = nil, 0
	f.clock.Step(renewAgain)
	got, err = token.current(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got).To(Equal("1"), "it is back")
}

func TestAnIDTokenEnds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	token, f := newRenewed()
	f.err = issuer.RefusedError{}
	f.clock.Step(time.Hour - time.Second)
	_, err := token.current(t.Context())
	g.Expect(err).To(MatchError(errEnded), "the issuer refuses: it does not wait for the end")
	g.Expect(token.hasEnded()).To(BeTrue())
	sessions := NewSessions(f.clock)
	g.Expect(sessions.Get(sessions.Open(&User{idToken: token}))).To(BeNil())

	lone := newIDToken(f, issuer.Tokens{ID: "lone", Expiry: f.clock.Now().Add(time.Minute)}, f.clock)
	got, err := lone.current(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got).To(Equal("lone"))
	f.clock.Step(time.Minute)
	_, err = lone.current(t.Context())
	g.Expect(err).To(MatchError(errEnded), "there is no refresh token")
	g.Expect(f.asked).To(Equal(1))
}
