package setup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	// socketFile is the socket in the state directory on which a running agent reports: whoever may read the
	// directory may ask.
	socketFile = "agent.sock"
	// askTimeout bounds the wait for the report.
	askTimeout = 5 * time.Second
)

// ErrNotRunning says that no agent runs with a state directory.
var ErrNotRunning = errors.New("no agent runs with this state directory")

// AskReport asks the agent that runs with a state directory for its report.
func AskReport(ctx context.Context, stateDir string) (Report, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var dialer net.Dialer
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, "unix", filepath.Join(stateDir, socketFile))
	}}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://agent/", nil)
	if err != nil {
		return Report{}, fmt.Errorf("asking the agent: %w", err)
	}
	answer, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		var dial *net.OpError
		if errors.As(err, &dial) && dial.Op == "dial" && !errors.Is(err, fs.ErrPermission) {
			return Report{}, fmt.Errorf("%w: %w", ErrNotRunning, err)
		}
		return Report{}, fmt.Errorf("asking the agent: %w", err)
	}
	defer func() { _ = answer.Body.Close() }() // the body was read
	var out Report
	if err := json.NewDecoder(answer.Body).Decode(&out); err != nil {
		return Report{}, fmt.Errorf("reading what the agent says: %w", err)
	}
	return out, nil
}

// answer serves the report on the socket until the context ends. If the socket cannot be created, the agent works
// without it.
func (s *hubContact) answer(ctx context.Context) error {
	if s.options.StateDir == "" {
		return nil
	}
	path := filepath.Join(s.options.StateDir, socketFile)
	// A killed agent may have left its socket behind.
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.logUnserved(ctx, err)
		return nil
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "unix", path)
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		s.logUnserved(ctx, err)
		return nil
	}
	server := &http.Server{
		ReadHeaderTimeout: askTimeout,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if err := json.NewEncoder(w).Encode(s.Report()); err != nil {
				ctrl.LoggerFrom(ctx).V(1).Info("Reporting the status of the agent failed", "reason", err.Error())
			}
		}),
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		s.logUnserved(ctx, err)
	}
	return nil
}

func (*hubContact) logUnserved(ctx context.Context, err error) {
	ctrl.LoggerFrom(ctx).Info("`agent status` will not know of this agent: its socket cannot be served", "reason", err.Error())
}
