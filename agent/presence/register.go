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
	// Member reads the member uncached, Newest returns the object there that is known
	// to have changed last, and Furthest the watch of it that has come furthest.
	Member   client.Reader
	Newest   func() (Seen, bool)
	Furthest func() (Watch, bool)
	// Line tells of the line to the hub, and has a channel that is closed when that has changed; nil if there is never one.
	Line func() (Line, <-chan struct{})
	// Heard is told every few seconds that the line is open which is the sign of life, so that the lease is not renewed; it
	// may be nil.
	Heard func()
	// OutageEnds returns a channel that is closed when a hub that did not answer does again, so that a renewal that failed is tried at once;
	// nil if nobody tells.
	OutageEnds func() <-chan struct{}
	// Renewed is told what came of each renewal of the Lease, nil if it was renewed; it may be nil.
	Renewed func(err error)
	// Clock tells the time.
	Clock clock.Clock
	// Frequency is how often the member is asked for the newest object, and how far it is.
	Frequency time.Duration
	// Version of the agent, for people: 64 characters at most; empty if it is not known.
	Version string
	// Trust returns which certificate authorities the agent goes by; nil if that is not told.
	Trust func() Trust
	// LeaseDuration is after how much silence the hub gives the agent up that has no line, unless the hub itself bears more.
	LeaseDuration time.Duration
	// LeaseRenewFraction is after which part of that the lease is renewed.
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

// Renewer returns the part of the stage that renews the lease, which needs nothing of the member. Both clients are of the hub; the
// reader asks its API, not a cache.
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
