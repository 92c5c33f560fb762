package setup

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/atomicfile"
	"fairlead.dev/hub/fleet/connect"
)

// ConnectOptions says where the API of lines is served.
type ConnectOptions struct {
	// BindAddress is where the hub listens for API servers.
	BindAddress string
	// Service is where API servers reach BindAddress. For a loopback Place with port 0, the port on which the hub listens is used.
	Service connect.Place
	// AddressFile is the file from which the embedded API of this machine reads the address on which the hub listens; empty for any other
	// API.
	AddressFile string
	// Replica is the name of this replica if there are no others.
	Replica string
	// Peers says how the replicas of the hub find each other; nil if each knows only its own lines.
	Peers *PeerOptions
}

// installEvery is the interval between attempts to make the API server forward requests, or to undo that.
const installEvery = 5 * time.Second

// serveLines adds the server of lines to the manager. Every replica has one.
func serveLines(ctx context.Context, mgr manager.Manager, o Options, open *allLines) error {
	if o.Connect == nil {
		return removeLines(mgr, o)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(authorizationv1.AddToScheme(scheme), corev1.AddToScheme(scheme), clusterv1alpha1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("building the scheme of lines: %w", err)
	}
	hub, err := client.New(mgr.GetConfig(), client.Options{Scheme: scheme, HTTPClient: mgr.GetHTTPClient(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("making the client of lines: %w", err)
	}
	server, err := connect.New(connect.Deps{
		Clusters: mgr.GetClient(), HubReader: hub, Lines: open.Registry, Peers: open.others(), Replica: open.replica(o.Connect.Replica), Clock: o.Clock, Registry: o.Registry,
		Log: mgr.GetLogger().WithName("connect"), Presence: open.presence,
		Review: func(ctx context.Context, spec authorizationv1.SubjectAccessReviewSpec) (bool, error) {
			review := &authorizationv1.SubjectAccessReview{Spec: spec}
			err := hub.Create(ctx, review)
			return review.Status.Allowed, err
		},
	})
	if err != nil {
		return err
	}
	open.server.Store(server)
	clusters, err := mgr.GetCache().GetInformer(ctx, &clusterv1alpha1.Cluster{})
	if err != nil {
		return fmt.Errorf("following Clusters: %w", err)
	}
	if _, err := clusters.AddEventHandler(server.FollowClusters()); err != nil {
		return fmt.Errorf("following Clusters: %w", err)
	}
	return mgr.Add(runnable{run: func(ctx context.Context) error { return runLines(ctx, o, hub, server) }})
}

// removeLines makes the leader remove what an earlier hub, which served lines, installed for the API server to forward requests.
func removeLines(mgr manager.Manager, o Options) error {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return fmt.Errorf("building the scheme of lines: %w", err)
	}
	hub, err := client.New(mgr.GetConfig(), client.Options{Scheme: scheme, HTTPClient: mgr.GetHTTPClient(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("making the client of lines: %w", err)
	}
	return mgr.Add(runnable{leader: true, run: func(ctx context.Context) error {
		for {
			removed, err := connect.Uninstall(ctx, hub)
			if err == nil {
				if removed {
					ctrl.LoggerFrom(ctx).Info("Removed what had the API server forward requests for members, since this hub serves no lines")
				}
				return nil
			}
			ctrl.LoggerFrom(ctx).Info("Could not remove what has the API server forward requests for members, trying again", "reason", err.Error(), "after", installEvery)
			select {
			case <-ctx.Done():
				return nil
			case <-o.Clock.After(installEvery):
			}
		}
	}})
}

// runLines makes the API server forward requests to this hub, and then serves lines.
func runLines(ctx context.Context, o Options, hub client.Client, server *connect.Server) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", o.Connect.BindAddress)
	if err != nil {
		return fmt.Errorf("listening for the API server: %w", err)
	}
	place := o.Connect.Service
	if at, ok := l.Addr().(*net.TCPAddr); ok && place.Loopback && place.Port == 0 {
		place.Port = int32(at.Port)
	}
	if file := o.Connect.AddressFile; file != "" {
		if err := atomicfile.Write(file, []byte(l.Addr().String()+"\n")); err != nil {
			return errors.Join(fmt.Errorf("telling the embedded API where the hub listens: %w", err), l.Close())
		}
	}
	for {
		pair, err := connect.Install(ctx, hub, place, o.Clock.Now())
		if err == nil {
			ctrl.LoggerFrom(ctx).Info("Listening for what the API server forwards for members", "address", l.Addr().String())
			return server.Serve(ctx, l, pair)
		}
		ctrl.LoggerFrom(ctx).Info("Could not have the API server forward requests for members, trying again", "reason", err.Error(), "after", installEvery)
		select {
		case <-ctx.Done():
			return l.Close()
		case <-o.Clock.After(installEvery):
		}
	}
}
