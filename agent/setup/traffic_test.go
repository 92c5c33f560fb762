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

// wire stands between an agent and its hub, and counts what passes.
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
func newWire(t *testing.T, server string) *wire {
	t.Helper()
	g := NewWithT(t)
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	l := &wire{address: listener.Addr().String()}
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() { cancel(); _ = listener.Close(); all.Wait() })
	all.Go(func() {
		for {
			agent, err := listener.Accept()
			if err != nil {
				return
			}
			l.connections.Add(1)
			var dialer net.Dialer
			hub, err := dialer.DialContext(t.Context(), "tcp", server)
			if err != nil {
				_ = agent.Close()
				continue
			}
			context.AfterFunc(ctx, func() { _ = agent.Close(); _ = hub.Close() }) // they may be kept for long
			all.Go(func() { _, _ = io.Copy(io.MultiWriter(hub, l), agent); _ = hub.Close() })
			all.Go(func() { _, _ = io.Copy(io.MultiWriter(agent, l), hub); _ = agent.Close() })
		}
	})
	return l
}

// An agent on a metered link: one connection, and little on it. What is counted are the
// bytes on the wire, both ways, encryption included.
//
// The lease is renewed five times as often as it is by default, so that this is sooner
// over; the hour is one of the default.
func TestTheLineToTheHubIsOneConnectionAndThin(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newJoined(t, "metered")
	hub, err := url.Parse(w.config.Host)
	g.Expect(err).NotTo(HaveOccurred())
	l := newWire(t, hub.Host)
	w.place(t)
	w.run(t, func(o *setup.Options) {
		o.Hub = rest.CopyConfig(w.config)
		o.Hub.Host = "https://" + l.address
		o.StatusFrequency, o.LeaseDuration = setup.DefaultStatusFrequency, setup.DefaultLeaseDuration/5
	})
	w.work(t, "first", w.configMap("first"))
	applied := func(g Gomega, name string) {
		work := &workv1alpha1.Work{}
		g.Expect(w.client.Get(t.Context(), client.ObjectKey{Namespace: w.works, Name: name}, work)).To(Succeed())
		g.Expect(meta.IsStatusConditionTrue(work.Status.Conditions, workv1alpha1.WorkApplied)).To(BeTrue())
	}
	g.Eventually(func(g Gomega) { applied(g, "first") }).WithTimeout(patience).Should(Succeed())

	const n = 100
	before := l.bytes.Load()
	for i := range n {
		w.work(t, fmt.Sprintf("settings-%d", i), w.configMap(fmt.Sprintf("settings-%d", i)))
	}
	for i := range n {
		g.Eventually(func(g Gomega) { applied(g, fmt.Sprintf("settings-%d", i)) }).WithTimeout(patience).Should(Succeed())
	}
	quiet := func() { // what is under way arrives
		last := int64(-1)
		g.Eventually(func() bool {
			was := last
			last = l.bytes.Load()
			return last == was
		}).WithTimeout(patience).WithPolling(200 * time.Millisecond).Should(BeTrue())
	}
	quiet()
	object := (l.bytes.Load() - before) / n

	// From one renewal of the lease to another nothing else happens.
	renewed := func() (version string) {
		lease := &coordinationv1.Lease{}
		g.Expect(w.client.Get(t.Context(), client.ObjectKey{Namespace: contract.ClusterNamespace, Name: w.name}, lease)).To(Succeed())
		return lease.ResourceVersion
	}
	next := func() {
		was := renewed()
		g.Eventually(renewed).WithTimeout(patience).ShouldNot(Equal(was))
		quiet()
	}
	next()
	before = l.bytes.Load()
	const beats = 4
	for range beats {
		next()
	}
	beat := (l.bytes.Load() - before) / beats
	hour := beat * int64(time.Hour/time.Second) / int64(setup.DefaultLeaseDuration.Seconds()*setup.DefaultLeaseRenewFraction)
	t.Logf("an idle agent: %d B for each renewal of its lease, %d kB an hour (budget 300); an object propagated, with its status: %d B", beat, hour/1000, object)
	g.Expect(hour).To(BeNumerically("<", 600_000), "twice the budget: something is said again and again")
	g.Expect(l.connections.Load()).To(Equal(int64(1)))
}
