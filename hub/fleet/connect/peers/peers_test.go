package peers

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/utils/clock"

	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/connect/lines"
)

const (
	waitTimeout = time.Minute
	poll        = 20 * time.Millisecond
)

// registers is an in-memory Directory.
type registers struct {
	mu      sync.Mutex
	records map[string]Record
	renewed int
}

func (d *registers) List(context.Context) ([]Record, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Values(d.records)), nil
}

func (d *registers) Renew(_ context.Context, r Record) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.records == nil {
		d.records = map[string]Record{}
	}
	d.renewed++
	r.Version = strconv.Itoa(d.renewed)
	d.records[r.ID] = r
	return nil
}

func (d *registers) Remove(_ context.Context, r Record) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if is := d.records[r.ID]; r.Version == "" || r.Version == is.Version {
		delete(d.records, r.ID)
	}
	return nil
}

func (d *registers) record(id string) Record {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.records[id]
}

func (d *registers) ids() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.records))
}

// line is a line in the registry without traffic.
type line struct{ http.RoundTripper }

func (line) Done() <-chan struct{} { return nil }
func (line) Err() error            { return nil }
func (line) Close() error          { return nil }
func (line) Streams() int          { return 0 }

// ahead is a clock that can run ahead of real time.
type ahead struct {
	clock.RealClock

	by atomic.Int64
}

// Now implements clock.Clock.
func (a *ahead) Now() time.Time { return a.RealClock.Now().Add(time.Duration(a.by.Load())) }

// Since implements clock.Clock.
func (a *ahead) Since(at time.Time) time.Duration { return a.Now().Sub(at) }

// replica is a replica of a hub.
type replica struct {
	*Peers

	lines   *lines.Registry
	elect   func()
	stop    func()
	stopped chan error

	mu       sync.Mutex
	presence []string
	changes  []string
}

// start starts a replica, which stops when the test ends.
func start(t *testing.T, name string, d Directory, h http.Handler, more ...func(*Peers)) *replica {
	t.Helper()
	g := NewWithT(t)
	elected := make(chan struct{})
	r := &replica{lines: lines.New(), elect: sync.OnceFunc(func() { close(elected) }), stopped: make(chan error, 1)}
	var err error
	r.Peers, err = New(Options{
		Host: name, BindAddress: "127.0.0.1:0", Directory: d, Lines: r.lines, Handler: h, Elected: elected, Clock: clock.RealClock{},
		PresenceChanged: func(_ context.Context, presence string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.presence = append(r.presence, presence)
		},
	})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(r.OnChange(func(cluster string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.changes = append(r.changes, cluster)
	}))
	// Replicas that do not find each other at once do so at the next list.
	r.listEvery, r.lookEvery = 5*poll, poll
	for _, change := range more {
		change(r.Peers)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { r.stopped <- r.Start(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		g.Eventually(r.stopped).WithTimeout(waitTimeout).Should(Receive(BeNil()))
	})
	t.Cleanup(r.stop)
	return r
}

// says returns what a replica was told about presence.
func (r *replica) says() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.presence)
}

// changed returns the clusters whose lines a replica was told have changed.
func (r *replica) changed() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(r.changes)))
}

func eventually(t *testing.T, check func(g Gomega)) {
	t.Helper()
	NewWithT(t).Eventually(check).WithTimeout(waitTimeout).WithPolling(poll).Should(Succeed())
}

// hears waits until replicas know all lines of each other.
func hears(t *testing.T, replicas ...*replica) {
	t.Helper()
	for _, a := range replicas {
		for _, b := range replicas {
			if a != b {
				eventually(t, func(g Gomega) { g.Expect(a.isSynced(b.ID())).To(BeTrue()) })
			}
		}
	}
}

func TestReplicasKnowEachOthersLines(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d := &registers{}
	one, two, three := start(t, "hub-1.example.com", d, nothing()), start(t, "hub-2", d, nothing()), start(t, "HUB_3", d, nothing())
	g.Expect(one.ID()).To(MatchRegexp(`^hub-1-[0-9a-f]{10}$`))
	g.Expect(three.ID()).To(MatchRegexp(`^hub3-[0-9a-f]{10}$`))
	opened, session := time.Now().Add(-time.Hour), strings.Repeat("0f", 32)
	for i := range 300 {
		two.lines.Open(fmt.Sprintf("edge-%d", i), line{}, lines.Info{Presence: contract.LeaseIsPresence, Operators: "read", Session: session}, opened)
	}
	hears(t, one, two, three)
	eventually(t, func(g Gomega) { g.Expect(one.Lines()[two.ID()]).To(HaveLen(300)) })
	holder, holds := one.Holder("edge-299")
	g.Expect(holds).To(BeTrue())
	g.Expect(holder).To(Equal(two.ID()))
	eventually(t, func(g Gomega) { // the first update may predate the lines
		said, _ := three.Line("edge-7")
		g.Expect(said.Since).To(BeTemporally("~", opened, waitTimeout))
		g.Expect(said.Info).To(Equal(lines.Info{Presence: contract.LeaseIsPresence, Operators: "read", Session: session}))
		g.Expect(three.Sessions("edge-7")).To(Equal(map[string]string{two.ID(): session}))
	})
	_, holds = two.Holder("edge-7")
	g.Expect(holds).To(BeFalse(), "it is asked for lines of others")

	// The agent moves from the second replica to the third, with a goodbye.
	three.lines.Open("edge-7", line{}, lines.Info{}, time.Now())
	two.lines.Ended(two.lines.Newest("edge-7"), true, time.Now())
	two.lines.Ended(two.lines.Newest("edge-8"), false, time.Now())
	eventually(t, func(g Gomega) {
		holder, _ := one.Holder("edge-7")
		g.Expect(holder).To(Equal(three.ID()))
		said, known := one.Line("edge-8")
		g.Expect(known).To(BeTrue())
		g.Expect(said.Up || said.Goodbye || said.Lost.IsZero()).To(BeFalse(), "the line was lost without a word")
	})
	g.Expect(one.changed()).To(HaveLen(300))

	// The lines of a stopped replica disappear, and nothing is concluded about their members.
	two.stop()
	eventually(t, func(g Gomega) {
		said, known := one.Line("edge-9")
		g.Expect(known).To(BeTrue())
		g.Expect(said.Up).To(BeFalse())
		g.Expect(said.Goodbye).To(BeTrue())
		g.Expect(d.ids()).To(ConsistOf(one.ID(), three.ID()), "its Lease went with it")
	})
	// Only compare the connection with nil: printing a live one would race with its writes.
	eventually(t, func(g Gomega) { g.Expect(one.Transport(two.ID()) == nil).To(BeTrue()) })
	g.Expect(one.Sessions("edge-9")).To(BeEmpty(), "the replica has gone, and is not in doubt")
}

func TestAgentsRenewLeasesWhileTheLeaderDoesNotKnowTheirLines(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d := &registers{}
	later := &ahead{}
	one, two := start(t, "hub-1", d, nothing()), start(t, "hub-2", d, nothing(), func(p *Peers) { p.o.Clock = later })
	hears(t, one, two)
	g.Expect(two.Presence()).To(Equal(contract.LeaseIsPresence), "there is no leader yet")
	one.elect()
	eventually(t, func(g Gomega) {
		g.Expect(one.says()).To(Equal([]string{contract.LineIsPresence}))
		g.Expect(two.says()).To(Equal([]string{contract.LineIsPresence}))
	})
	one.stop()
	later.by.Store(int64(silence))
	eventually(t, func(g Gomega) {
		g.Expect(two.says()).To(Equal([]string{contract.LineIsPresence, contract.LeaseIsPresence}))
	})
	two.elect()
	eventually(t, func(g Gomega) { g.Expect(two.Presence()).To(Equal(contract.LineIsPresence)) })
}

// nothing is a handler for tests without requests.
func nothing() http.Handler { return http.NotFoundHandler() }
