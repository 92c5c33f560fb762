package lines

import (
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// idle is a line without traffic.
type idle struct{ http.RoundTripper }

func (idle) Done() <-chan struct{} { return nil }
func (idle) Err() error            { return nil }
func (idle) Close() error          { return nil }
func (idle) Streams() int          { return 0 }

func TestRegistry(t *testing.T) {
	g := NewWithT(t)
	at := func(s int) time.Time { return time.Date(2026, 11, 23, 8, 0, s, 0, time.UTC) }
	r := New()
	var changes []string
	stop := r.OnChange(func(cluster string) { changes = append(changes, cluster) })

	_, known := r.State("edge-1")
	g.Expect(known).To(BeFalse(), "nothing is known of a cluster before its first line")
	g.Expect(r.Newest("edge-1")).To(BeNil())

	first := r.Open("edge-1", idle{}, Info{Session: "a"}, at(0))
	second := r.Open("edge-1", idle{}, Info{Session: "a", Operators: "read"}, at(5))
	g.Expect(r.Newest("edge-1")).To(BeIdenticalTo(second))
	g.Expect(r.Lines("edge-1")).To(Equal([]*Line{first, second}))
	state, known := r.State("edge-1")
	g.Expect(known).To(BeTrue())
	g.Expect(state).To(Equal(State{Cluster: "edge-1", Up: true, Since: at(0), Info: Info{Session: "a", Operators: "read"}}), "a renewal is no gap")

	r.Ended(first, true, at(6))
	state, _ = r.State("edge-1")
	g.Expect(state.Up).To(BeTrue(), "the old line may end after a renewal")
	g.Expect(state.Lost).To(BeZero())

	r.Ended(second, false, at(9))
	r.Ended(first, true, at(10)) // it was replaced already
	state, _ = r.State("edge-1")
	g.Expect(state).To(Equal(State{Cluster: "edge-1", Since: at(0), Lost: at(9), Losses: 1, Info: Info{Session: "a", Operators: "read"}}))
	g.Expect(r.Newest("edge-1")).To(BeNil())

	third := r.Open("edge-1", idle{}, Info{}, at(20))
	state, _ = r.State("edge-1")
	g.Expect(state).To(Equal(State{Cluster: "edge-1", Up: true, Since: at(20), Losses: 1}))
	r.Ended(third, true, at(21))
	state, _ = r.State("edge-1")
	g.Expect(state.Goodbye).To(BeTrue())
	g.Expect(state.Losses).To(Equal(1), "a goodbye is no loss")

	other := r.Open("edge-2", idle{}, Info{}, at(30))
	g.Expect(r.States()).To(HaveLen(2))
	g.Expect(r.All()).To(Equal([]*Line{other}))
	g.Expect(r.Forget("edge-2")).To(Equal([]*Line{other}))
	r.Ended(other, false, at(31))
	_, known = r.State("edge-2")
	g.Expect(known).To(BeFalse(), "a line that ends after its cluster was forgotten brings nothing back")
	g.Expect(r.Forget("edge-3")).To(BeEmpty())

	g.Expect(changes).To(Equal([]string{"edge-1", "edge-1", "edge-1", "edge-1", "edge-1", "edge-1", "edge-2", "edge-2"}))
	stop()
	r.Open("edge-1", idle{}, Info{}, at(40))
	g.Expect(changes).To(HaveLen(8))
}
