package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// profilingSocket is the name of the socket in the data directory at which the hub tells its profiles.
const profilingSocket = "profiling.sock"

// profilingHeaderTimeout is how long a request may take to say what it wants.
const profilingHeaderTimeout = 10 * time.Second

// profiling serves the profiles of this process at a socket that its owner alone may open. A profile says what
// the hub works on, so no port has it.
type profiling struct{ socket string }

// Start implements manager.Runnable.
func (p profiling) Start(ctx context.Context) error {
	listener, err := listenForOwner(ctx, p.socket)
	if err != nil {
		return fmt.Errorf("serving profiles: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: profilingHeaderTimeout}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	ctrl.LoggerFrom(ctx).Info("Serving profiles", "socket", p.socket)
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving profiles: %w", err)
	}
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: one that waits may be looked at, too.
func (profiling) NeedLeaderElection() bool { return false }

// listenForOwner makes a socket that nobody else on this machine may open, in place of one that a hub that
// was killed left. There is one hub in a data directory.
func listenForOwner(ctx context.Context, path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}
