package setup

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync/atomic"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/cluster/health"
	"fairlead.dev/hub/fleet/connect"
	"fairlead.dev/hub/fleet/connect/lines"
	"fairlead.dev/hub/fleet/connect/peers"
	"fairlead.dev/hub/fleet/connect/peers/view"
)

// PeerOptions says how the replicas of a hub find each other.
type PeerOptions struct {
	// Host is the name of this machine.
	Host string
	// BindAddress is the IP:PORT on which this replica listens for the others.
	BindAddress string
	// AdvertiseAddress is the HOST or HOST:PORT by which the others reach it; empty means an address of this machine.
	AdvertiseAddress string
}

// allLines is the lines of this replica of the hub and of the others.
type allLines struct {
	*lines.Registry

	// peers are the other replicas; nil if there are none.
	peers *peers.Peers
	// server serves the lines of this replica; nil until it is made.
	server atomic.Pointer[connect.Server]
	// alone says that there are no other replicas, so that agents need not renew their leases.
	alone bool
}

// newLines returns the lines of a hub, initially without any.
func newLines(mgr manager.Manager, o Options) (*allLines, error) {
	all := &allLines{Registry: lines.New(), alone: !o.LeaderElection}
	if o.Connect == nil || o.Connect.Peers == nil || !o.LeaderElection {
		return all, nil
	}
	scheme := runtime.NewScheme()
	if err := coordinationv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("building the scheme of replicas: %w", err)
	}
	hub, err := client.New(mgr.GetConfig(), client.Options{Scheme: scheme, HTTPClient: mgr.GetHTTPClient(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("making the client of replicas: %w", err)
	}
	all.peers, err = peers.New(peers.Options{
		Host: o.Connect.Peers.Host, BindAddress: o.Connect.Peers.BindAddress, AdvertiseAddress: o.Connect.Peers.AdvertiseAddress,
		Directory: connect.Replicas{HubClient: hub, Clock: o.Clock}, Lines: all.Registry, Handler: http.HandlerFunc(all.forwarded),
		Elected: mgr.Elected(), PresenceChanged: all.tellPresence, Clock: o.Clock,
		Log: mgr.GetLogger().WithName("peers"),
	})
	if err != nil {
		return nil, err
	}
	if err := mgr.Add(all.peers); err != nil {
		return nil, fmt.Errorf("adding the other replicas of the hub: %w", err)
	}
	return all, nil
}

// forwarded serves requests that another replica forwards.
func (a *allLines) forwarded(w http.ResponseWriter, r *http.Request) {
	server := a.server.Load()
	if server == nil {
		http.Error(w, "this replica of the hub serves no lines yet", http.StatusServiceUnavailable)
		return
	}
	server.ServePeer(w, r)
}

// tellPresence tells the connected agents by what to show that they are alive: their line or their lease.
func (a *allLines) tellPresence(ctx context.Context, presence string) {
	if server := a.server.Load(); server != nil {
		server.TellPresence(ctx, presence)
	}
}

// replica returns the ID of this replica among its peers; otherwise if it has none.
func (a *allLines) replica(otherwise string) string {
	if a.peers == nil {
		return otherwise
	}
	return a.peers.ID()
}

// others returns the other replicas for the server of lines; nil, rather than an interface with a nil pointer, if there are none.
func (a *allLines) others() connect.Peers {
	if a.peers == nil {
		return nil
	}
	return a.peers
}

// presence returns by what agents must show that they are alive. A line suffices only if the leader knows the lines of all replicas.
func (a *allLines) presence() string {
	switch {
	case a.peers != nil:
		return a.peers.Presence()
	case a.alone:
		return contract.LineIsPresence
	default:
		return contract.LeaseIsPresence
	}
}

// Line implements cluster.Lines.
func (a *allLines) Line(name string) (health.LineReport, bool) {
	var said []view.Line
	if own, known := a.State(name); known {
		said = append(said, view.Line{State: own})
	}
	if a.peers != nil {
		if other, known := a.peers.Line(name); known {
			said = append(said, other)
		}
	}
	l, known := view.Merge(said...)
	return health.LineReport{Up: l.Up, Since: l.Since, Goodbye: l.Goodbye}, known
}

// OnChange implements cluster.Lines.
func (a *allLines) OnChange(f func(cluster string)) (stop func()) {
	stopOwn := a.Registry.OnChange(f)
	if a.peers == nil {
		return stopOwn
	}
	stopOthers := a.peers.OnChange(f)
	return func() {
		stopOwn()
		stopOthers()
	}
}

// Clusters implements cluster.Lines.
func (a *allLines) Clusters() []string {
	names := map[string]bool{}
	for _, state := range a.States() {
		names[state.Cluster] = true
	}
	if a.peers != nil {
		for _, states := range a.peers.Lines() {
			for _, state := range states {
				names[state.Cluster] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
