package presence

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Deps are the dependencies of the stage.
type Deps struct {
	// Cluster is the name of the member.
	Cluster string
	// Member reads the member uncached. Newest returns the object of the member that is known to have changed last,
	// and Furthest the watch with the highest resourceVersion.
	Member   client.Reader
	Newest   func() (Seen, bool)
	Furthest func() (Watch, bool)
	// Line returns the state of the line and a channel that is closed when it changes; nil if the agent opens no
	// line.
	Line func() (Line, <-chan struct{})
	// Heard is called every few seconds while the open line is the heartbeat, during which the lease is rarely
	// renewed; it may be nil.
	Heard func()
	// OutageEnds returns a channel that is closed when the hub answers again, so that a failed renewal is retried at
	// once; nil if outages are not tracked.
	OutageEnds func() <-chan struct{}
	// Renewed is called with the result of each renewal of the Lease, nil if it succeeded; it may be nil.
	Renewed func(err error)
	// Clock is replaced in tests.
	Clock clock.Clock
	// Frequency is how often the member is checked for a restore.
	Frequency time.Duration
	// Version is the agent's version, for people: at most 64 characters; empty if unknown.
	Version string
	// Trust returns the certificate authorities that the agent trusts; nil if they are not reported.
	Trust func() Trust
	// LeaseDuration is the silence after which the hub considers an agent without a line lost, unless the hub itself
	// tolerates more.
	LeaseDuration time.Duration
	// LeaseRenewFraction is the fraction of LeaseDuration after which the lease is renewed.
	LeaseRenewFraction float64
}

// Register adds the stage to the manager of the hub's connection.
func Register(mgr manager.Manager, deps Deps) error {
	if deps.Member == nil || deps.Newest == nil || deps.Furthest == nil || deps.Frequency <= 0 {
		return errors.New("presence: the member or what is asked of it is missing, or the frequency is not positive")
	}
	renewer, err := Renewer(mgr.GetClient(), mgr.GetAPIReader(), deps)
	if err != nil {
		return err
	}
	if err := mgr.Add(renewer); err != nil {
		return fmt.Errorf("adding the lease: %w", err)
	}
	d := &restoreDetector{reader: deps.Member, newest: deps.Newest, furthest: deps.Furthest, interval: deps.Frequency, clock: deps.Clock}
	if err := mgr.Add(manager.RunnableFunc(d.Start)); err != nil {
		return fmt.Errorf("adding the question whether the member was restored: %w", err)
	}
	return nil
}

// Renewer returns the part of the stage that renews the lease and needs nothing from the member. Both clients are for
// the hub; the reader must be uncached.
func Renewer(hubClient client.Client, reader client.Reader, deps Deps) (manager.Runnable, error) {
	switch {
	case hubClient == nil, reader == nil, deps.Cluster == "", deps.Clock == nil:
		return nil, errors.New("presence: a dependency is missing")
	case deps.LeaseDuration < time.Second, deps.LeaseRenewFraction <= 0, deps.LeaseRenewFraction >= 1:
		return nil, errors.New("presence: the lease must be at least a second and the fraction between 0 and 1")
	}
	r := &leaseRenewer{
		hubClient: hubClient,
		reader:    reader,
		cluster:   deps.Cluster,
		duration:  deps.LeaseDuration,
		interval:  time.Duration(float64(deps.LeaseDuration) * deps.LeaseRenewFraction),
		clock:     deps.Clock,
		session:   strings.ToLower(rand.Text()[:sessionLength]),
		renewed:   deps.Renewed,
		version:   deps.Version,
		trust:     deps.Trust,
		line:      deps.Line,
		heard:     deps.Heard,

		outageEnds: deps.OutageEnds,
	}
	if r.line == nil {
		r.line = func() (Line, <-chan struct{}) { return Line{}, nil }
	}
	if r.outageEnds == nil {
		r.outageEnds = func() <-chan struct{} { return nil }
	}
	return r, nil
}
