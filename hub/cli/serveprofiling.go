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
	"path/filepath"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// profilingSocket is the name of the socket for profiles in the data directory.
const profilingSocket = "profiling.sock"

// profilingHeaderTimeout bounds reading the header of a request.
const profilingHeaderTimeout = 10 * time.Second

// profiling serves the profiles of this process at a socket that only its owner can open. A profile reveals what the
// hub works on, so it is not served at a port.
type profiling struct {
	// socket is its path. If empty, it is in a new temporary directory, for a hub without an embedded API, which has no
	// data directory.
	socket string
}

// Start implements manager.Runnable.
func (p profiling) Start(ctx context.Context) error {
	if p.socket == "" {
		dir, err := os.MkdirTemp("", "fairlead-hub-")
		if err != nil {
			return fmt.Errorf("serving profiles: %w; give the hub a directory that it may write to, and name it in $TMPDIR", err)
		}
		defer func() { _ = os.RemoveAll(dir) }() // the directory is empty by then
		p.socket = filepath.Join(dir, profilingSocket)
	}
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

// NeedLeaderElection implements manager.LeaderElectionRunnable: hubs that are not the leader can be profiled, too.
func (profiling) NeedLeaderElection() bool { return false }

// listenForOwner creates a socket that only the owner can open. It replaces one left over from a killed hub, since a
// data directory has only one hub.
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
