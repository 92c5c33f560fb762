package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/utils/clock"
)

const (
	firstBackoff = time.Second
	maxBackoff   = 30 * time.Second
	// steady is how long a component must have run for its next failure to count as the first one.
	steady    = time.Minute
	tailLines = 8
)

// Component is one child process.
type Component struct {
	// Name is the name of the component and of its log.
	Name string
	// Args are the arguments of the executable.
	Args []string
	// Files are inherited as descriptors 3 and up. They may be closed once the component runs, so a component that is
	// restarted cannot have any.
	Files []*os.File
	// Essential components end the whole group when they stop. The others are restarted.
	Essential bool
	// Grace is the time between SIGTERM and SIGKILL.
	Grace time.Duration
}

// Config has the dependencies of a Group.
type Config struct {
	Executable string
	// Dir is the working directory of the components.
	Dir string
	// Logs is the directory of their logs.
	Logs  string
	Clock clock.Clock
	// Report prints a line for the user. It may be called concurrently.
	Report func(format string, args ...any)
}

// Group is a set of components that are started and stopped together. It is not safe for concurrent use.
type Group struct {
	cfg      Config
	forker   Forker
	children []*child
	failed   chan error
}

// child is a component with its current process.
type child struct {
	Component
	log *logFile
	// stop is closed when the component must not be restarted, and done when its last process has ended.
	stop, done chan struct{}

	mu      sync.Mutex
	cmd     *exec.Cmd
	started time.Time
}

// NewGroup returns an empty group.
func NewGroup(cfg Config) *Group {
	return &Group{cfg: cfg, forker: NewForker(), failed: make(chan error, 1)}
}

// Failed returns a channel that gets an error when an essential component stops by itself.
func (g *Group) Failed() <-chan error { return g.failed }

// Start starts and supervises a component.
func (g *Group) Start(c Component) error {
	log, err := newLogFile(g.logPath(c))
	if err != nil {
		return err
	}
	ch := &child{Component: c, log: log, stop: make(chan struct{}), done: make(chan struct{})}
	if err := g.launch(ch); err != nil {
		_ = log.Close()
		return err
	}
	g.children = append(g.children, ch)
	go g.supervise(ch)
	return nil
}

func (g *Group) logPath(c Component) string { return filepath.Join(g.cfg.Logs, c.Name+".log") }

// launch starts a process, unless the component was stopped in the meantime.
func (g *Group) launch(c *child) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.stop:
		return nil
	default:
	}
	// Not CommandContext, which would kill it at once: the shutdown is ordered.
	cmd := exec.Command(g.cfg.Executable, c.Args...) //nolint:gosec,noctx // our own executable; see above
	cmd.Dir = g.cfg.Dir
	cmd.Env = environment(os.Environ())
	cmd.Stdout, cmd.Stderr = c.log, c.log
	cmd.ExtraFiles = c.Files
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = attributes()
	if err := g.forker.Start(cmd); err != nil {
		return fmt.Errorf("starting %s: %w", c.Name, err)
	}
	c.cmd, c.started = cmd, g.cfg.Clock.Now()
	return nil
}

// environment removes the variables from which etcd would read flags.
func environment(env []string) []string {
	return slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "ETCD_") })
}

// supervise waits for the process of a component, and restarts it.
func (g *Group) supervise(c *child) {
	defer close(c.done)
	defer func() { _ = c.log.Close() }()
	backoff := firstBackoff
	for {
		err := c.cmd.Wait()
		select {
		case <-c.stop:
			return
		default:
		}
		if c.Essential {
			g.fail(c, err)
			return
		}
		if g.cfg.Clock.Since(c.started) > steady {
			backoff = firstBackoff
		}
		for {
			g.cfg.Report("%s stopped (%s), starting it again in %s; its log is %s", c.Name, outcome(err), backoff, g.logPath(c.Component))
			select {
			case <-c.stop:
				return
			case <-g.cfg.Clock.After(backoff):
			}
			backoff = min(2*backoff, maxBackoff)
			if err = g.launch(c); err == nil {
				break
			}
		}
	}
}

func (g *Group) fail(c *child, err error) {
	path := g.logPath(c.Component)
	err = fmt.Errorf("%s stopped unexpectedly (%s); the end of %s:\n%s", c.Name, outcome(err), path, tail(path, tailLines))
	select {
	case g.failed <- err:
	default:
		// Only the first failure is reported; the others follow from it.
	}
}

func outcome(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// Stop stops optional components in parallel, and then essential ones in reverse order of their start.
func (g *Group) Stop() {
	var optional sync.WaitGroup
	for _, c := range g.children {
		if !c.Essential {
			optional.Go(func() { g.stop(c) })
		}
	}
	optional.Wait()
	for _, c := range slices.Backward(g.children) {
		if c.Essential {
			g.stop(c)
		}
	}
}

// End stops one component, which does not count as a failure.
func (g *Group) End(name string) {
	g.children = slices.DeleteFunc(g.children, func(c *child) bool {
		if c.Name != name {
			return false
		}
		g.stop(c)
		return true
	})
}

func (g *Group) stop(c *child) {
	c.mu.Lock()
	close(c.stop)
	current := c.cmd.Process
	c.mu.Unlock()
	_ = current.Signal(syscall.SIGTERM)
	select {
	case <-c.done:
		return
	case <-g.cfg.Clock.After(c.Grace):
	}
	g.cfg.Report("%s did not stop within %s, killing it", c.Name, c.Grace)
	_ = current.Kill()
	<-c.done
}
