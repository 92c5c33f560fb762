package chaos

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/registration"
	"fairlead.dev/agent/setup"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/interpreter/lua/vm"
	"fairlead.dev/common/interpreter/store"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/stagetest"
)

// skewed is a clock with an offset.
type skewed struct {
	clock.RealClock

	off time.Duration
}

// Now implements clock.PassiveClock.
func (s skewed) Now() time.Time { return s.RealClock.Now().Add(s.off) }

// Since implements clock.PassiveClock.
func (s skewed) Since(t time.Time) time.Duration { return s.Now().Sub(t) }

// runAgent runs the agent of the member in this process, with another clock.
func runAgent(t *testing.T, f *fleet.Fleet, c clock.WithTicker) (stop func()) {
	t.Helper()
	g := NewWithT(t)
	hub, err := registration.Load(f.StateDir(member), member)
	g.Expect(err).NotTo(HaveOccurred())
	config, err := f.Config(member)
	g.Expect(err).NotTo(HaveOccurred())
	kinds, err := store.BuiltIn(vm.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- setup.Run(ctx, setup.Options{
			Hub: hub, Member: config, Cluster: member, StateDir: f.StateDir(member), Interpreter: kinds, Clock: c,
			StatusFrequency: time.Second, LeaseDuration: setup.DefaultLeaseDuration, LeaseRenewFraction: setup.DefaultLeaseRenewFraction,
			ShutdownTimeout: stagetest.ShutdownTimeout,
		})
	}()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// isReady expects the Cluster to be Ready.
func isReady(t *testing.T, g Gomega, hub client.Client) {
	t.Helper()
	c := &clusterv1alpha1.Cluster{}
	g.Expect(hub.Get(t.Context(), client.ObjectKey{Name: member}, c)).To(Succeed())
	g.Expect(meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1alpha1.ClusterReady)).To(BeTrue())
}
