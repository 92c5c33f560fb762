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

// Defaults of the options that have one.
const (
	// DefaultStatusFrequency is how often the member is asked how it is.
	DefaultStatusFrequency = 10 * time.Second
	// DefaultLeaseDuration is after how much silence the hub gives the agent up that has no line, unless the hub itself bears more.
	DefaultLeaseDuration = contract.UsualLease
	// DefaultLeaseRenewFraction is after which part of that the lease is renewed.
	DefaultLeaseRenewFraction = 0.25
)

// Options say what to run.
type Options struct {
	// Hub reaches the hub as the agent of the cluster.
	Hub *rest.Config
	// Member reaches the member.
	Member *rest.Config
	// Cluster is the name of the member on the hub.
	Cluster string
	// Namespaces are those of the member to which the agent is confined; none is no confinement.
	Namespaces []string
	// Account is the ServiceAccount of each namespace of the member as which the agent reads and
	// writes what Works have there; empty is with its own rights.
	Account string
	// StateDir is where the agent keeps what outlasts it; empty is nowhere.
	StateDir string
	// JournalSecret seals the Works on disk; empty leaves them as they are.
	JournalSecret []byte
	// Scripts say how the scripts of the hub run; they share their limits with those of Interpreter.
	Scripts vm.Options
	// Interpreter knows what kinds mean.
	Interpreter interpreter.Interpreter
	// NoWebhooks has the agent call no interpreter webhooks that the hub names. One that is
	// confined to Namespaces never does.
	NoWebhooks bool
	// Clock tells the time.
	Clock clock.WithTicker
	// AllEvents emits the events that only clients of the API wait for, too.
	AllEvents bool
	// MetricsBindAddress serves metrics; "0" or empty is nowhere.
	MetricsBindAddress string
	// HealthProbeBindAddress serves /healthz and /readyz; "0" or empty is nowhere.
	HealthProbeBindAddress string
	// Version of the agent, for people: 64 characters at most; empty if it is not known.
	Version string
	// Trust returns the hashes of the certificate authorities that the agent trusts and of the
	// one of its own certificate, for the hub; nil tells it nothing.
	Trust func() (authorities []string, issuer string)
	// Traffic returns how many bytes went to the hub and came from it since the process started;
	// nil if nobody counts them.
	Traffic func() (sent, received int64)
	// Refused says since when the hub refuses this agent, zero if it does not or says nothing, and whether that lasts; nil if
	// nobody knows.
	Refused func() (since time.Time, lasts bool)
	// MemberRestored is told that the member was restored from an older snapshot; nil if nobody asks.
	MemberRestored func()
	// Compress says when the hub is asked to compress what it sends; empty is never.
	Compress Compression
	// Line is how a line to the hub is opened, over which operators reach the member.
	Line LineOptions
	// Self is how the agent runs, by which it is upgraded.
	Self upgrade.Self
	// StatusFrequency is how often the member is asked how it is.
	StatusFrequency time.Duration
	// LeaseDuration is after how much silence the hub gives the agent up that has no line, unless the hub itself bears more.
	LeaseDuration time.Duration
	// LeaseRenewFraction is after which part of that the lease is renewed.
	LeaseRenewFraction float64
	// ShutdownTimeout is how long what is under way may take to end; 0 is 5 seconds.
	ShutdownTimeout time.Duration

	// outage tells when the hub answers again.
	outage *outage.Outage
}

// LineOptions say how a line to the hub is opened.
type LineOptions struct {
	// Open asks the hub for the connection that becomes a line, which is nil if the answer is another than 101; nil opens none.
	Open func(ctx context.Context, path string, header http.Header) (net.Conn, *http.Response, error)
	// Certificate names the certificate of the moment, and says when it ends.
	Certificate func() (serial string, notAfter time.Time)
	// None says why Open is nil, for people at the hub; empty if they are not told.
	None string
	// Ping is after how long without a word the hub is asked to look whether the agent is there; 0 leaves that to the hub, but
	// where the network to it is slow.
	Ping time.Duration

	// isSlow says whether that is so.
	isSlow func() bool
}

// slowPing is after how long without a word the hub is asked to look whether the agent is there where the network is slow: a look
// every five seconds is a third of what an agent with nothing to do sends and gets.
const slowPing = 20 * time.Second

// ping is after how long without a word the hub is asked to look; 0 leaves that to the hub.
func (o LineOptions) ping() time.Duration {
	if o.Ping == 0 && o.isSlow != nil && o.isSlow() {
		return slowPing
	}
	return o.Ping
}

// trust is what the lease says of the authorities.
func (o Options) trust() func() presence.Trust {
	if o.Trust == nil {
		return nil
	}
	return func() presence.Trust {
		authorities, issuer := o.Trust()
		return presence.Trust{Authorities: authorities, Issuer: issuer}
	}
}

// Validate says what is wrong with the options.
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
