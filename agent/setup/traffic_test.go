package setup_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/setup"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// wire is a TCP proxy between an agent and its hub that counts bytes and connections.
type wire struct {
	address     string
	connections atomic.Int64
	bytes       atomic.Int64
}

// Write counts.
func (l *wire) Write(p []byte) (int, error) {
	l.bytes.Add(int64(len(p)))
	return len(p), nil
}

// newWire listens for connections to a server until the test ends.
func newWire(tb testing.TB, server string) *wire {
	tb.Helper()
	g := NewWithT(tb)
	var config net.ListenConfig
	listener, err := config.Listen(tb.Context(), "tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	l := &wire{address: listener.Addr().String()}
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(tb.Context())
	tb.Cleanup(func() { cancel(); _ = listener.Close(); all.Wait() })
	all.Go(func() {
		for {
			agent, err := listener.Accept()
			if err != nil {
				return
			}
			l.connections.Add(1)
			var dialer net.Dialer
			hub, err := dialer.DialContext(tb.Context(), "tcp", server)
			if err != nil {
				_ = agent.Close()
				continue
			}
			context.AfterFunc(ctx, func() { _ = agent.Close(); _ = hub.Close() }) // idle connections would be kept open
			all.Go(func() { _, _ = io.Copy(io.MultiWriter(hub, l), agent); _ = hub.Close() })
			all.Go(func() { _, _ = io.Copy(io.MultiWriter(agent, l), hub); _ = agent.Close() })
		}
	})
	return l
}

// traffic are the bytes between an agent and its hub in both directions, TLS included.
type traffic struct {
	// object is for an object that is propagated, with its status; hour for an hour in which
	// nothing happens.
	object, hour int64
	// connections is how many the agent made.
	connections int64
}

// measureTraffic counts the bytes between an agent and its hub. To save time it renews the lease five times as often
// as by default; the hour that it returns is converted to the default.
func measureTraffic(tb testing.TB, name string) traffic {
	tb.Helper()
	var out traffic
	g, w := NewWithT(tb), newJoined(tb, name)
	hub, err := url.Parse(w.config.Host)
	g.Expect(err).NotTo(HaveOccurred())
	l := newWire(tb, hub.Host)
	w.place(tb)
	w.run(tb, func(o *setup.Options) {
		o.Hub = rest.CopyConfig(w.config)
		o.Hub.Host = "https://" + l.address
		o.StatusFrequency, o.LeaseDuration = setup.DefaultStatusFrequency, setup.DefaultLeaseDuration/5
	})
	w.work(tb, "first", w.configMap("first"))
	applied := func(g Gomega, name string) {
		work := &workv1alpha1.Work{}
		g.Expect(w.client.Get(tb.Context(), client.ObjectKey{Namespace: w.works, Name: name}, work)).To(Succeed())
		g.Expect(meta.IsStatusConditionTrue(work.Status.Conditions, workv1alpha1.WorkApplied)).To(BeTrue())
	}
	g.Eventually(func(g Gomega) { applied(g, "first") }).WithTimeout(waitTimeout).Should(Succeed())

	const n = 100
	before := l.bytes.Load()
	for i := range n {
		w.work(tb, fmt.Sprintf("settings-%d", i), w.configMap(fmt.Sprintf("settings-%d", i)))
	}
	for i := range n {
		g.Eventually(func(g Gomega) { applied(g, fmt.Sprintf("settings-%d", i)) }).WithTimeout(waitTimeout).Should(Succeed())
	}
	quiet := func() { // waits until no more bytes arrive
		last := int64(-1)
		g.Eventually(func() bool {
			was := last
			last = l.bytes.Load()
			return last == was
		}).WithTimeout(waitTimeout).WithPolling(200 * time.Millisecond).Should(BeTrue())
	}
	quiet()
	out.object = (l.bytes.Load() - before) / n

	// From one renewal of the lease to another nothing else happens.
	renewed := func() (version string) {
		lease := &coordinationv1.Lease{}
		g.Expect(w.client.Get(tb.Context(), client.ObjectKey{Namespace: contract.ClusterNamespace, Name: w.name}, lease)).To(Succeed())
		return lease.ResourceVersion
	}
	next := func() {
		was := renewed()
		g.Eventually(renewed).WithTimeout(waitTimeout).ShouldNot(Equal(was))
		quiet()
	}
	next()
	before = l.bytes.Load()
	const beats = 4
	for range beats {
		next()
	}
	beat := (l.bytes.Load() - before) / beats
	out.hour = beat * int64(time.Hour/time.Second) / int64(setup.DefaultLeaseDuration.Seconds()*setup.DefaultLeaseRenewFraction)
	out.connections = l.connections.Load()
	return out
}

// TestTheLineToTheHubIsOneConnectionAndThin is about metered links: one connection with little traffic. It is not
// parallel: changes by other tests in the shared member would be reported over the line, too.
func TestTheLineToTheHubIsOneConnectionAndThin(t *testing.T) {
	g := NewWithT(t)
	passed := measureTraffic(t, "metered")
	g.Expect(passed.hour).To(BeNumerically("<", 600_000), "twice the budget: something is said again and again")
	g.Expect(passed.connections).To(Equal(int64(1)))
}

// BenchmarkTraffic measures what an idle agent sends and receives in an hour (the budget is 300 kB), and the cost of
// a small object with its status. Once is enough: -benchtime 1x.
func BenchmarkTraffic(b *testing.B) {
	var passed traffic
	for i := range b.N {
		passed = measureTraffic(b, fmt.Sprintf("metered-%d-%d", b.N, i))
	}
	b.ReportMetric(float64(passed.hour)/1000, "kB/idle-hour")
	b.ReportMetric(float64(passed.object), "B/object")
}
