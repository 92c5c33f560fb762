package cluster

import (
	"errors"
	"os"
	"runtime"
	"testing"

	. "github.com/onsi/gomega"
)

func TestWhatLastsEndsAfterTheLastTest(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	end, done, dir := newEnd(), []string{}, ""
	var l testing.TB
	t.Run("the first test that uses it", func(t *testing.T) {
		l = outliving{TB: t, end: end}
		dir = l.TempDir()
		l.Cleanup(func() { done = append(done, "first") })
		l.Cleanup(func() { done = append(done, "last") })
	})
	g.Expect(done).To(BeEmpty())
	g.Expect(l.Context().Err()).NotTo(HaveOccurred())
	g.Expect(dir).To(BeADirectory())
	l.Cleanup(func() { g.Expect(l.Context().Err()).To(HaveOccurred(), "what waits for its context can end") })

	g.Expect(end.come()).To(BeTrue())
	g.Expect(done).To(Equal([]string{"last", "first"}))
	_, err := os.Stat(dir)
	g.Expect(err).To(MatchError(os.ErrNotExist))
}

func TestWhatLastsMayFailAtTheEnd(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(testing.TB){
		"an error":       func(tb testing.TB) { tb.Helper(); tb.Error("x") },
		"a fatal one":    func(tb testing.TB) { tb.Helper(); tb.Fatalf("%s", "x") },
		"an expectation": func(tb testing.TB) { tb.Helper(); NewWithT(tb).Expect(errors.New("x")).NotTo(HaveOccurred()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			end, others := newEnd(), false
			l := outliving{TB: t, end: end}
			l.Cleanup(func() { others = true })
			l.Cleanup(func() { fail(l) })
			g.Expect(end.come()).To(BeFalse())
			g.Expect(others).To(BeTrue(), "the rest is cleaned up all the same")
		})
	}
}

func TestWhatIsKeptIsStartedOnceButForATestThatComesAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var kept Kept[int]
	started := 0
	start := func(testing.TB) int { started++; return started }
	as := func(name string, use func(testing.TB, func(testing.TB) int) int) (got int) {
		t.Run("somebody", func(t *testing.T) { got = use(named{TB: t, name: name}, start) })
		return got
	}
	g.Expect(as("one", kept.Share)).To(Equal(1))
	g.Expect(as("other", kept.Take)).To(Equal(1))
	g.Expect(as("third", kept.Take)).To(Equal(1), "the one before has given it back")
	g.Expect(as("one", kept.Take)).To(Equal(2))
	g.Expect(as("other", kept.Share)).To(Equal(2))
	t.Run("one whose start fails", func(t *testing.T) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			kept.Share(named{TB: t, name: "one"}, func(testing.TB) int { runtime.Goexit(); return 0 })
		}()
		<-done
	})
	g.Expect(as("fourth", kept.Share)).To(Equal(3), "nobody is given what did not start")
}

// named is a test with another name.
type named struct {
	testing.TB
	name string
}

func (n named) Name() string { return n.name }
