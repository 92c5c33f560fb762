package apiserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"fairlead.dev/common/outward"
)

// Timeouts and intervals of the embedded API.
const (
	readyTimeout = 10 * time.Minute // enough while thousands of agents reconnect
	readyPoll    = 50 * time.Millisecond
	openTimeout  = time.Minute
	// orphanTimeout is how long to wait for the embedded API of a killed hub to stop.
	orphanTimeout = 20 * time.Second
	// stopGrace is the time between asking it to stop and killing it.
	stopGrace = 20 * time.Second
	// followPoll is how often its output is read.
	followPoll = 250 * time.Millisecond
)

// Process is a running embedded API.
type Process struct {
	embedded Embedded
	lock     *lock
	log      *os.File
	cmd      *exec.Cmd
	config   *rest.Config
	// advertised is the URL in the administrator's kubeconfig, and public the URL with the same port on this machine.
	advertised, public string
	// done is closed when the process has ended; exit is its result, valid from then on.
	done chan struct{}
	exit error
	// followed is closed when all its output has been passed on.
	followed chan struct{}
}

// Config returns the hub's own configuration for the API, with all rights, at a local address regardless of the
// advertised one.
func (p *Process) Config() *rest.Config { return rest.CopyConfig(p.config) }

// Done is closed when the embedded API has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns why the embedded API ended, from its last message. It may be called once Done is closed.
func (p *Process) Err() error {
	<-p.followed
	words, err := p.lastMessage()
	if err != nil || words == "" {
		return fmt.Errorf("the embedded API stopped by itself (%w) and said nothing; its log is %s", p.outcome(), p.log.Name())
	}
	return fmt.Errorf("the embedded API stopped by itself: %s", words)
}

// Stop asks the embedded API to stop, kills it after stopGrace, and returns when it has ended.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails if it has already ended
	select {
	case <-p.done:
	case <-p.embedded.Clock.After(stopGrace):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
	<-p.followed
	_ = p.log.Close()
	_ = p.lock.Close()
}

// ServerURL returns the URL of the API for members: with the advertised host, or else an address of this machine.
func (p *Process) ServerURL(ctx context.Context) string {
	host := p.embedded.AdvertiseHost
	if host == "" {
		host = p.embedded.BindAddress
		if addr, err := netip.ParseAddr(host); err == nil && addr.IsUnspecified() {
			host = outward.Address(ctx)
		}
	}
	u := url.URL{Scheme: "https", Host: net.JoinHostPort(host, p.port())}
	return u.String()
}

func (p *Process) port() string {
	u, err := url.Parse(p.advertised)
	if err != nil || u.Port() == "" {
		return strconv.Itoa(p.embedded.SecurePort)
	}
	return u.Port()
}

// launch starts the program. Its output goes to a file: if the hub is killed, a pipe would break, and the program would
// die writing to it while it stops its components.
func (p *Process) launch() error {
	path := filepath.Join(p.embedded.DataDir, "logs", "controlplane.log")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("making the directory of the embedded API's log: %w", err)
	}
	var err error
	p.log, err = os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_RDWR|os.O_APPEND, 0o600) //nolint:gosec // our own file in the operator's directory
	if err != nil {
		return fmt.Errorf("opening the embedded API's log: %w", err)
	}
	// Not CommandContext, which would kill the program at once: it must stop its components in order.
	p.cmd = exec.Command(p.embedded.Binary, p.embedded.args()...) //nolint:gosec,noctx // the operator's own program; see above
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = ChildAttributes()
	started := make(chan error, 1)
	go func() {
		// The kernel signals the child when the thread that forked it ends. So this goroutine keeps its thread until
		// the child has ended, and lets the thread end with the goroutine.
		runtime.LockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.exit = p.cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		_ = p.log.Close()
		return fmt.Errorf("starting the embedded API: %w", err)
	}
	go p.follow()
	return nil
}

// follow passes on the program's output until it has ended.
func (p *Process) follow() {
	defer close(p.followed)
	var offset int64
	for ended := false; ; {
		offset = p.forwardLines(offset)
		if ended {
			return
		}
		select {
		case <-p.done:
			ended = true
		case <-p.embedded.Clock.After(followPoll):
		}
	}
}

// forwardLines passes on the complete lines after an offset, and returns the offset after them.
func (p *Process) forwardLines(offset int64) int64 {
	buf := make([]byte, 16<<10)
	n, _ := p.log.ReadAt(buf, offset) // an error leaves n bytes to handle
	end := bytes.LastIndexByte(buf[:n], '\n') + 1
	if end == 0 {
		return offset
	}
	if p.embedded.Progress != nil {
		for line := range strings.Lines(string(buf[:end])) {
			p.embedded.Progress(strings.TrimSuffix(line, "\n"))
		}
	}
	return offset + int64(end)
}

// prefix starts each message of the program. A message may continue on further lines.
const prefix = "controlplane: "

// lastMessage returns the last message that the program printed.
func (p *Process) lastMessage() (string, error) {
	data, err := os.ReadFile(p.log.Name())
	if err != nil {
		return "", fmt.Errorf("reading the embedded API's log: %w", err)
	}
	words := strings.TrimSpace(string(data))
	if i := strings.LastIndex("\n"+words, "\n"+prefix); i >= 0 {
		return words[i+len(prefix):], nil
	}
	const most = 2 << 10
	return words[max(0, len(words)-most):], nil
}

func (p *Process) outcome() error {
	if p.exit == nil {
		return errors.New("exit status 0")
	}
	return p.exit
}

// awaitReady waits until the API reports that it is ready.
func (p *Process) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout,
		fmt.Errorf("the embedded API is not ready after %s; see the logs in %s", readyTimeout, filepath.Dir(p.log.Name())))
	defer cancel()
	err := wait.PollUntilContextCancel(ctx, readyPoll, true, func(ctx context.Context) (bool, error) {
		select {
		case <-p.done:
			return false, p.startError()
		default:
			return p.ready(ctx)
		}
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// startError returns why the program could not start, from the last message in its log: the port is in use, for
// instance.
func (p *Process) startError() error {
	if words, err := p.lastMessage(); err == nil && words != "" {
		if strings.Contains(words, "unknown flag") {
			words += fmt.Sprintf("; %s is of another version than this hub: take both from one release", p.embedded.Binary)
		}
		return fmt.Errorf("the embedded API does not start: %s", words)
	}
	return fmt.Errorf("the embedded API does not start (%w) and says nothing; its log is %s", p.outcome(), p.log.Name())
}

// ready says whether the API is ready. It reads the kubeconfig each time, since it may still be that of the last start.
func (p *Process) ready(ctx context.Context) (bool, error) {
	config, err := clientcmd.BuildConfigFromFlags("", p.embedded.Kubeconfig)
	advertised, public := "", ""
	if err == nil {
		advertised = config.Host
		public, err = p.embedded.localURL(advertised)
		config.Host = public
	}
	if err == nil {
		// The hub and the administrator are different users, so that the audit log distinguishes them. An older program
		// writes no kubeconfig for the hub.
		if of, ownErr := clientcmd.BuildConfigFromFlags("", p.embedded.ownKubeconfig()); p.embedded.WaitForHub || !errors.Is(ownErr, fs.ErrNotExist) {
			config, err = of, ownErr
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the kubeconfig of the embedded API: %w", err)
	}
	config.QPS = -1
	status, err := readyz(ctx, config)
	if status == 0 || err != nil {
		return false, err
	}
	p.config, p.advertised, p.public = config, advertised, public
	return status == http.StatusOK, nil
}

// readyz returns the HTTP status of an API's readiness endpoint; 0 if there was no response.
func readyz(ctx context.Context, config *rest.Config) (status int, err error) {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return 0, fmt.Errorf("connecting to the embedded API: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/readyz", http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("asking the embedded API whether it is ready: %w", err)
	}
	resp, err := httpClient.Do(req)
	if err != nil {
		return 0, nil //nolint:nilerr // it is not listening yet
	}
	_ = resp.Body.Close()
	return resp.StatusCode, nil
}
