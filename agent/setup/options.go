package setup

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"fairlead.dev/agent/outage"
	"fairlead.dev/agent/presence"
	"fairlead.dev/agent/upgrade"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/lua/vm"
)

// Defaults of the options.
const (
	// DefaultStatusFrequency is the default interval of the member's status reports.
	DefaultStatusFrequency = 10 * time.Second
	// DefaultLeaseDuration is the default silence after which the hub considers an agent without a line lost, unless
	// the hub tolerates more.
	DefaultLeaseDuration = contract.UsualLease
	// DefaultLeaseRenewFraction is the default fraction of the lease duration after which the lease is renewed.
	DefaultLeaseRenewFraction = 0.25
)

// Options configure the agent.
type Options struct {
	// Hub reaches the hub as the agent of the cluster.
	Hub *rest.Config
	// Member reaches the member.
	Member *rest.Config
	// Cluster is the name of the member on the hub.
	Cluster string
	// Namespaces confine the agent to namespaces of the member; empty means no confinement.
	Namespaces []string
	// Account is the ServiceAccount in each namespace of the member as which the agent reads and writes namespaced
	// objects of Works; empty means with its own rights.
	Account string
	// StateDir is the agent's state directory; empty means none.
	StateDir string
	// JournalSecret seals the journal; empty leaves it in plain text.
	JournalSecret []byte
	// Scripts configure the hub's Lua scripts; they share their limits with those of Interpreter.
	Scripts vm.Options
	// Interpreter holds the built-in interpreter rules.
	Interpreter interpreter.Interpreter
	// NoWebhooks forbids calling interpreter webhooks that the hub names. An agent confined to Namespaces never calls
	// any.
	NoWebhooks bool
	// Clock is replaced in tests.
	Clock clock.WithTicker
	// AllEvents also emits the events for which only clients of the API wait.
	AllEvents bool
	// MetricsBindAddress serves metrics; "0" or empty disables it.
	MetricsBindAddress string
	// HealthProbeBindAddress serves /healthz and /readyz; "0" or empty disables it.
	HealthProbeBindAddress string
	// Version is the agent's version, for people: at most 64 characters; empty if unknown.
	Version string
	// Trust returns the hashes of the authorities that the agent trusts and of the one that issued its certificate,
	// for the hub; nil reports nothing.
	Trust func() (authorities []string, issuer string)
	// Traffic returns the bytes sent to the hub and received from it since the process started; nil if they are not
	// counted.
	Traffic func() (sent, received int64)
	// Refused returns since when the hub refuses this agent, zero if it does not or is silent, and whether the
	// refusal is lasting; nil if that is not tracked.
	Refused func() (since time.Time, lasts bool)
	// MemberRestored is called when the member was restored from an older snapshot; it may be nil.
	MemberRestored func()
	// Compress says when to ask the hub for compressed answers; empty means never.
	Compress Compression
	// Line configures the line to the hub, over which operators reach the member.
	Line LineOptions
	// Self describes how the agent runs, for upgrades.
	Self upgrade.Self
	// StatusFrequency is the interval of the member's status reports.
	StatusFrequency time.Duration
	// LeaseDuration is the silence after which the hub considers an agent without a line lost, unless the hub
	// tolerates more.
	LeaseDuration time.Duration
	// LeaseRenewFraction is the fraction of LeaseDuration after which the lease is renewed.
	LeaseRenewFraction float64
	// ShutdownTimeout is the time that running work has to finish; 0 means 5 seconds.
	ShutdownTimeout time.Duration

	// outage signals when the hub answers again.
	outage *outage.Outage
	// kindsAnewFrom is the earliest time of another restart for a kind that is served elsewhere.
	kindsAnewFrom time.Time
}

// LineOptions configure the line to the hub.
type LineOptions struct {
	// Open asks the hub for the connection that becomes a line; the connection is nil if the answer is not 101. A nil
	// Open opens no line.
	Open func(ctx context.Context, path string, header http.Header) (net.Conn, *http.Response, error)
	// Certificate returns the serial number and the expiry of the present client certificate.
	Certificate func() (serial string, notAfter time.Time)
	// None is why Open is nil, for the hub's operators; empty if they are not told.
	None string
	// Ping is the silence after which the hub is to check that the agent is there; 0 leaves it to the hub, unless the
	// network to it is slow.
	Ping time.Duration

	// isSlow returns whether the network to the hub is slow.
	isSlow func() bool
}

// slowPing replaces Ping where the network is slow: a ping every five seconds would be a third of an idle agent's
// traffic.
const slowPing = 20 * time.Second

// ping returns the ping interval to ask the hub for; 0 leaves it to the hub.
func (o LineOptions) ping() time.Duration {
	if o.Ping == 0 && o.isSlow != nil && o.isSlow() {
		return slowPing
	}
	return o.Ping
}

// trust converts Trust for package presence.
func (o Options) trust() func() presence.Trust {
	if o.Trust == nil {
		return nil
	}
	return func() presence.Trust {
		authorities, issuer := o.Trust()
		return presence.Trust{Authorities: authorities, Issuer: issuer}
	}
}

// Validate returns what is wrong with the options.
func (o Options) Validate() error {
	switch {
	case o.Hub == nil, o.Member == nil, o.Cluster == "", o.Interpreter == nil, o.Clock == nil:
		return errors.New("setting up the agent: the hub, the member, the cluster's name, the interpreter and the clock are required")
	case o.StatusFrequency < time.Second:
		return errors.New("--cluster-status-update-frequency must be at least 1s")
	case o.LeaseDuration < time.Second:
		return errors.New("--cluster-lease-duration must be at least 1s")
	case o.LeaseRenewFraction <= 0 || o.LeaseRenewFraction >= 1:
		return errors.New("--cluster-lease-renew-interval-fraction must be between 0 and 1")
	case o.Line.Ping != 0 && o.Line.Ping < time.Second:
		return errors.New("--line-ping must be at least 1s, or 0")
	}
	return CheckAccount(o.Account)
}
