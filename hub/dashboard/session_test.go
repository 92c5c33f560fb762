package dashboard

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	s := newSessions(clock)
	idle, used, brief := s.open(&person{name: "a"}), s.open(&person{name: "a"}), s.open(&person{name: "a", until: clock.Now().Add(time.Hour)})
	g.Expect(s.get("a guess")).To(BeNil())
	g.Expect(s.get(brief)).NotTo(BeNil())
	for range 11 {
		clock.Step(time.Hour)
		g.Expect(s.get(used)).NotTo(BeNil())
	}
	g.Expect(s.get(idle)).To(BeNil(), "nobody used it")
	g.Expect(s.get(brief)).To(BeNil(), "its credential ended")
	clock.Step(time.Hour)
	g.Expect(s.get(used)).To(BeNil(), "it ends in any case")
}

func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	s := newSessions(clock)
	other := s.open(&person{name: "other"})
	var first string
	for i := range 5 * maxSessionsOfOne {
		clock.Step(time.Second)
		secret := s.open(&person{name: "one"})
		if i == 0 {
			first = secret
		}
	}
	g.Expect(s.by).To(HaveLen(maxSessionsOfOne + 1))
	g.Expect(s.get(first)).To(BeNil(), "the least used goes")
	g.Expect(s.get(other)).NotTo(BeNil(), "nobody pushes others out")
	for i := range 2 * maxSessions {
		s.open(&person{name: fmt.Sprint(i)})
	}
	g.Expect(len(s.by)).To(BeNumerically("<=", maxSessions))
}

func TestNotesAreForASession(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	s := newSessions(clock)
	one := s.get(s.open(&person{name: "a"}))
	s.keep(one, "key", "text", time.Minute)
	g.Expect(s.kept(one, "key")).To(Equal("text"))
	g.Expect(s.take(one, "key")).To(Equal("text"))
	g.Expect(s.take(one, "key")).To(BeEmpty(), "it is there once")
	s.keep(one, "key", "text", time.Minute)
	clock.Step(time.Minute)
	g.Expect(s.kept(one, "key")).To(BeEmpty(), "it is there for a while")
}

func TestTries(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	l := newLimiter(clock)
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

func TestLocal(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]bool{
		"/": true, "/clusters?q=a": true, "": false, "//elsewhere": false, "https://elsewhere": false, "/\\elsewhere": false, "clusters": false, "/a\r\nb": false,
	} {
		NewWithT(t).Expect(local(to)).To(Equal(want), to)
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	text, err := manifestOf([]byte(`{"kind":"Secret","metadata":{"name":"s","managedFields":[{}],"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"hush"}},"data":{"a":"aHVzaA=="},"stringData":{"b":"hush"}}`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(And(ContainSubstring("a: (hidden, 8 characters)"), Not(ContainSubstring("hush")), Not(ContainSubstring("aHVzaA")), Not(ContainSubstring("managedFields"))))
}
