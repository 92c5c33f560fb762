package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/test/process"
)

// Options say what a fleet consists of.
type Options struct {
	// Bin is the directory of the built programs.
	Bin string
	// Dir is the directory of the fleet.
	Dir string
	// Clusters is the number of members.
	Clusters int
	// Nodes is the number of nodes of each member; 3 if zero.
	Nodes int
	// APIOnly makes members that store objects but run no pods: no nodes, scheduler or workload controllers.
	APIOnly bool
	// HubArgs and AgentArgs are further flags of `hub serve` and `agent run`.
	HubArgs, AgentArgs []string
	// UnsafeExec makes the pods of members answer logs, exec, attach and port-forward; exec runs programs of this
	// machine.
	UnsafeExec bool
	// Detached lets the processes outlive this one.
	Detached bool
	// Report prints one line of progress; nil prints nothing. It may be called by several goroutines.
	Report func(format string, args ...any)
}

// Fleet is a hub and its members.
type Fleet struct {
	Options

	mu sync.Mutex
	// clients caches the clients made by Client.
	clients map[string]client.Client
}

// Timeouts allow for a machine that does other work too.
const (
	startTimeout = 5 * time.Minute
	joinTimeout  = 5 * time.Minute
	poll         = 100 * time.Millisecond
	stopGrace    = 30 * time.Second
)

// HubName is the name of the hub's process, and of the context in its kubeconfig.
const HubName = "hub"

// New returns the fleet in a directory. It starts nothing.
func New(o Options) (*Fleet, error) {
	var err error
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, fmt.Errorf("resolving %q: %w", o.Dir, err)
	}
	if o.Bin, err = filepath.Abs(o.Bin); err != nil {
		return nil, fmt.Errorf("resolving %q: %w", o.Bin, err)
	}
	switch {
	case o.APIOnly && (o.Nodes != 0 || o.UnsafeExec):
		return nil, errors.New("members that are an API only have no nodes, and no pods that answer")
	case o.Nodes == 0 && !o.APIOnly:
		o.Nodes = 3
	}
	if o.Report == nil {
		o.Report = func(string, ...any) {}
	}
	return &Fleet{Options: o, clients: map[string]client.Client{}}, nil
}

// Members returns the names of the members.
func (f *Fleet) Members() []string {
	names := make([]string, f.Clusters)
	for i := range names {
		names[i] = "edge-" + strconv.Itoa(i+1)
	}
	return names
}

// AgentName returns the name of the process that is the agent of a member.
func AgentName(member string) string { return "agent-" + member }

// Kubeconfig returns the path of the administrator's kubeconfig of the hub or a member.
func (f *Fleet) Kubeconfig(name string) string { return filepath.Join(f.Dir, name+".kubeconfig") }

// Log returns the path of the log of a process.
func (f *Fleet) Log(name string) string { return filepath.Join(f.Dir, "logs", name+".log") }

// Program returns the path of one of the built programs.
func (f *Fleet) Program(name string) string { return filepath.Join(f.Bin, name) }

func (f *Fleet) pidFile(name string) process.PIDFile {
	return process.PIDFile(filepath.Join(f.Dir, "run", name+".pid"))
}

// PID returns the id of a process, or 0 if it is not running.
func (f *Fleet) PID(name string) (int, error) { return f.pidFile(name).PID() }

// Kill ends a process as a crash would. Up starts it again.
func (f *Fleet) Kill(ctx context.Context, name string) error { return f.pidFile(name).Kill(ctx) }

// Signal sends a signal to a process and its children.
func (f *Fleet) Signal(name string, signal syscall.Signal) error {
	return f.pidFile(name).Signal(signal)
}

// Adopt lets the fleet manage a process that the caller started.
func (f *Fleet) Adopt(name string, p *process.Process) error {
	if err := os.MkdirAll(filepath.Join(f.Dir, "run"), 0o700); err != nil {
		return fmt.Errorf("making the directory of the fleet: %w", err)
	}
	return f.pidFile(name).Write(p.PID())
}

// Stop ends a process gracefully. Up starts it again.
func (f *Fleet) Stop(ctx context.Context, name string) error {
	return f.pidFile(name).Stop(ctx, stopGrace)
}

// Up starts the processes that do not run, and returns when all members have joined and are ready.
func (f *Fleet) Up(ctx context.Context) error {
	for _, program := range []string{"hub", "agent", "controlplane", "kubectl"} {
		if _, err := os.Stat(f.Program(program)); err != nil {
			return fmt.Errorf("finding %q: %w; run `make build` first", program, err)
		}
	}
	g, gctx := errgroup.WithContext(ctx)
	hub := make(chan struct{})
	g.Go(func() error {
		defer close(hub)
		return f.upHub(gctx)
	})
	for _, member := range f.Members() {
		g.Go(func() error {
			if err := f.upMember(gctx, member); err != nil {
				return err
			}
			select {
			case <-hub:
			case <-gctx.Done():
				return gctx.Err()
			}
			return f.upAgent(gctx, member)
		})
	}
	return g.Wait()
}

// StartHub starts only the hub, and returns when it can create tokens.
func (f *Fleet) StartHub(ctx context.Context) error { return f.upHub(ctx) }

// Down stops all processes, including those of members beyond the current Options.Clusters.
func (f *Fleet) Down(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(f.Dir, "run", "*.pid"))
	if err != nil {
		return fmt.Errorf("listing processes: %w", err)
	}
	agents, others := []string{}, []string{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".pid")
		if strings.HasPrefix(name, AgentName("")) {
			agents = append(agents, name)
		} else {
			others = append(others, name)
		}
	}
	// Agents first: afterwards they would have no hub to talk to.
	for _, names := range [][]string{agents, others} {
		var g errgroup.Group
		for _, name := range names {
			g.Go(func() error {
				if err := f.Stop(ctx, name); err != nil {
					return fmt.Errorf("stopping %q: %w", name, err)
				}
				f.Report("%s stopped", name)
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
	}
	return nil
}

func (f *Fleet) upHub(ctx context.Context) error {
	return f.up(ctx, service{
		name: HubName, program: "hub",
		args: append([]string{
			"serve", "--data-dir", filepath.Join(f.Dir, HubName), "--bind-address", "127.0.0.1", "--secure-port", "0",
			"--admin-kubeconfig", f.Kubeconfig(HubName), "--admin-context", HubName,
			"--metrics-bind-address", "0", "--dashboard-bind-address", "0",
		}, f.HubArgs...),
		timeout: startTimeout,
		ready:   func(ctx context.Context) error { return f.hubReady(ctx) },
	})
}

func (f *Fleet) upMember(ctx context.Context, member string) error {
	args := []string{
		"--data-dir", filepath.Join(f.Dir, member), "--secure-port", "0",
		"--kubeconfig", f.Kubeconfig(member), "--context", member, "--unsafe-no-fsync",
	}
	if f.APIOnly {
		args = append(args, "--profile", "hub")
	} else {
		args = append(args, "--profile", "cluster", "--nodes", strconv.Itoa(f.Nodes),
			"--region", "region-"+strings.TrimPrefix(member, "edge-"), "--zones", "zone-a,zone-b,zone-c")
	}
	if f.UnsafeExec {
		args = append(args, "--unsafe-exec")
	}
	return f.up(ctx, service{
		name: member, program: "controlplane", args: args,
		timeout: startTimeout,
		ready:   func(ctx context.Context) error { return f.memberReady(ctx, member) },
	})
}
