package auth

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	s := NewSessions(clock)
	idle, used, brief := s.Open(&User{Name: "a"}), s.Open(&User{Name: "a"}), s.Open(&User{Name: "a", until: clock.Now().Add(time.Hour)})
	g.Expect(s.Get("a guess")).To(BeNil())
	g.Expect(s.Get(brief)).NotTo(BeNil())
	for began := clock.Now(); clock.Now().Before(began.Add(11 * time.Hour)); {
		clock.Step(time.Hour)
		one := s.Get(used)
		g.Expect(one).NotTo(BeNil())
		s.Use(one)
		if clock.Now().Sub(began) <= sessionIdle {
			g.Expect(s.Get(idle)).NotTo(BeNil(), "it was not idle for long enough")
		}
	}
	g.Expect(s.Get(idle)).To(BeNil(), "nobody used it")
	g.Expect(s.Get(brief)).To(BeNil(), "its credential ended")
	clock.Step(time.Hour)
	g.Expect(s.Get(used)).To(BeNil(), "it ends in any case")
}

func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	s := NewSessions(clock)
	other := s.Open(&User{Name: "other"})
	var first string
	for i := range 5 * maxSessionsOfOne {
		clock.Step(time.Second)
		secret := s.Open(&User{Name: "one"})
		if i == 0 {
			first = secret
		}
	}
	g.Expect(s.by).To(HaveLen(maxSessionsOfOne + 1))
	g.Expect(s.Get(first)).To(BeNil(), "the least used goes")
	g.Expect(s.Get(other)).NotTo(BeNil(), "nobody pushes others out")
	for i := range 2 * maxSessions {
		s.Open(&User{Name: fmt.Sprint(i)})
	}
	g.Expect(len(s.by)).To(BeNumerically("<=", maxSessions))

	s = NewSessions(clock)
	other = s.Open(&User{Name: "other"})
	for i := range 2 * maxSessions {
		clock.Step(time.Second)
		s.Open(&User{Name: fmt.Sprintf("system:serviceaccount:shop:made-up-%d", i)})
	}
	g.Expect(s.by).To(HaveLen(maxSessions/partOfNamespace + 1))
	g.Expect(s.Get(other)).NotTo(BeNil(), "neither does whoever may make service accounts")
}

func TestNotesAreForASession(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	s := NewSessions(clock)
	one := s.Get(s.Open(&User{Name: "a"}))
	s.AddNote(one, "key", "text", time.Minute)
	g.Expect(s.Note(one, "key")).To(Equal("text"))
	g.Expect(s.TakeNote(one, "key")).To(Equal("text"))
	g.Expect(s.TakeNote(one, "key")).To(BeEmpty(), "it is there once")
	s.AddNote(one, "key", "text", time.Minute)
	clock.Step(time.Minute)
	g.Expect(s.Note(one, "key")).To(BeEmpty(), "it is there for a while")
}

func TestTries(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	l := newLimiter(clock, triesPerAddress, triesEvery)
	for range triesPerAddress {
		g.Expect(l.allow("a")).To(BeTrue())
	}
	g.Expect(l.allow("a")).To(BeFalse())
	g.Expect(l.allow("b")).To(BeTrue(), "another is not made to wait")
	clock.Step(triesEvery)
	g.Expect(l.allow("a")).To(BeTrue())
	g.Expect(l.allow("a")).To(BeFalse())
	for i := range 2 * maxAddresses {
		l.allow(fmt.Sprint(i))
	}
	g.Expect(len(l.each)).To(BeNumerically("<=", maxAddresses))
	clock.Step(time.Hour)
	g.Expect(l.allow("again")).To(BeTrue(), "those that wait no more are forgotten")
}

func TestManyCallbacksFromOneProxyAreAllowed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := NewSignIn(nil, clocktesting.NewFakeClock(time.Unix(1000, 0)), Options{})
	for range 10 * triesPerAddress {
		g.Expect(s.callbacks.allow("the proxy")).To(BeTrue())
	}
	g.Expect(s.limiter.allow("the proxy")).To(BeTrue(), "they do not use up the tries with tokens")
	for range callbacksPerAddress {
		s.callbacks.allow("the proxy")
	}
	g.Expect(s.callbacks.allow("the proxy")).To(BeFalse(), "they are bounded still")
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]bool{
		"/": true, "/clusters?q=a": true, "/signing": true, "//elsewhere": false, "/signin": false, "/signin/oidc?to=/signin/oidc": false, "/signin/": false,
		"/x/../signin/oidc": false, "/%73ignin/oidc": false, "/./signin": false,
	} {
		NewWithT(t).Expect(isReturnPath(to)).To(Equal(want), to)
	}
}

func TestLocal(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]bool{
		"/": true, "/clusters?q=a": true, "": false, "//elsewhere": false, "https://elsewhere": false, "/\\elsewhere": false, "clusters": false, "/a\r\nb": false,
		"/\t/elsewhere": false, "\\\\elsewhere": false, " //elsewhere": false, "https:elsewhere": false, "//elsewhere@": false, "/%2F/a": true, "/" + strings.Repeat("a", 2000): false,
	} {
		NewWithT(t).Expect(IsLocal(to)).To(Equal(want), to)
	}
}
