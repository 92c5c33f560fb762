package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/kube"
	"fairlead.dev/test/process"
)

// Profile selects the components of a control plane.
type Profile string

// Profiles.
const (
	// Hub is the API of a hub: it stores objects and runs no pods.
	Hub Profile = "hub"
	// Member is a whole cluster, whose pods become Running.
	Member Profile = "cluster"
)

// Options configure a control plane.
type Options struct {
	// Profile is Hub if empty.
	Profile Profile
	// Name is the name of the context in the kubeconfig; "hub" or "member" if empty.
	Name string
	// Nodes is the number of nodes of a member; 1 if zero.
	Nodes int
	// UnsafeExec makes the pods of a member answer logs, exec, attach and port-forward; exec runs programs of this
	// machine.
	UnsafeExec bool
	// AuthenticationConfig is the AuthenticationConfiguration file of a hub; empty for none.
	AuthenticationConfig string
}

// Cluster is a running control plane.
type Cluster struct {
	// Name is Options.Name.
	Name string
	// Kubeconfig is the path of an administrator's kubeconfig.
	Kubeconfig string
	// DataDir is the directory of the control plane; logs are in DataDir/logs.
	DataDir string
	// Config is the configuration in Kubeconfig, without client-side rate limits.
	Config *rest.Config

	process *process.Process
	// lent is the connection to the Lender, kept open while a borrowed control plane is in use; nil if this process
	// started it.
	lent   *net.UnixConn
	client func() (client.Client, error)
}

// Timeouts allow for a machine that does other work too.
const (
	startTimeout = 5 * time.Minute
	startPoll    = 100 * time.Millisecond // every request to readyz makes the API server run all of its checks
	poll         = 20 * time.Millisecond
)

// Start starts a control plane for this test alone and stops it at its end. A hub has no CRDs yet, as before its first
// start.
func Start(tb testing.TB, o Options) *Cluster {
	tb.Helper()
	c, err := start(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if tb.Failed() && c.process.Ended() {
			tb.Logf("control plane %q stopped by itself:\n%s", c.Name, c.tail())
		}
		if err := c.stop(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

// Client returns an uncached client with the scheme of hub and agent; use unstructured objects for other kinds. All
// tests share it, and its discovery cache.
func (c *Cluster) Client(tb testing.TB) client.Client {
	tb.Helper()
	api, err := c.client()
	if err != nil {
		tb.Fatalf("making a client of %q: %v", c.Name, err)
	}
	return api
}

func (c *Cluster) newClient() (client.Client, error) {
	s, err := kube.NewScheme()
	if err != nil {
		return nil, err
	}
	return client.New(c.Config, client.Options{Scheme: s})
}

// Namespace creates a namespace for this test alone and returns its name. It is not deleted when the test ends.
func (c *Cluster) Namespace(tb testing.TB) string {
	tb.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := c.Client(tb).Create(tb.Context(), ns); err != nil {
		tb.Fatalf("making a namespace in %q: %v", c.Name, err)
	}
	return ns.Name
}

func (o Options) complete() Options {
	if o.Profile == "" {
		o.Profile = Hub
	}
	if o.Name == "" {
		o.Name = map[Profile]string{Hub: "hub", Member: "member"}[o.Profile]
	}
	if o.Profile == Member && o.Nodes == 0 {
		o.Nodes = 1
	}
	return o
}

// start starts a control plane and returns when it is ready for use.
func start(ctx context.Context, o Options) (*Cluster, error) {
	o = o.complete()
	executable, err := Executable("controlplane")
	if err != nil {
		return nil, err
	}
	// Not the test's temporary directory, nor TMPDIR: their paths may be too long for a unix socket.
	dir, err := os.MkdirTemp("/tmp", "fairlead-"+o.Name+"-")
	if err != nil {
		return nil, fmt.Errorf("making a data directory: %w", err)
	}
	c := &Cluster{Name: o.Name, Kubeconfig: filepath.Join(dir, "test.kubeconfig"), DataDir: dir}
	c.client = sync.OnceValues(c.newClient)
	args := []string{
		"--profile", string(o.Profile), "--data-dir", dir, "--kubeconfig", c.Kubeconfig, "--context", o.Name,
		"--secure-port", "0", "--unsafe-no-fsync",
	}
	if o.Profile == Hub {
		args = append(args, "--profiling") // gives the attacks of test/hostile a target; costs nothing until somebody asks
	}
	if o.Profile == Member {
		args = append(args, "--nodes", strconv.Itoa(o.Nodes))
	}
	if o.UnsafeExec {
		args = append(args, "--unsafe-exec")
	}
	if o.AuthenticationConfig != "" {
		args = append(args, "--authentication-config", o.AuthenticationConfig)
	}
	if c.process, err = process.Start(process.Spec{Executable: executable, Args: args, Log: c.log()}); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := c.awaitReady(ctx, o); err != nil {
		err = fmt.Errorf("starting control plane %q: %w\n%s", o.Name, err, c.tail())
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

// log returns the supervisor's log; the components' logs are in a directory beside it.
func (c *Cluster) log() string { return filepath.Join(c.DataDir, "controlplane.log") }

// tail returns the end of each log, for errors.
func (c *Cluster) tail() string {
	logs, err := filepath.Glob(filepath.Join(c.DataDir, "logs", "*.log"))
	if err != nil {
		return err.Error()
	}
	return process.Tail(append([]string{c.log()}, logs...)...)
}

// stop kills the control plane with its components and removes its data. A borrowed one is given back.
func (c *Cluster) stop() error {
	if c.lent != nil {
		return giveBack(c.lent)
	}
	c.process.Kill() // its data is not read again
	// The kernel kills the components after the supervisor, but not immediately.
	return process.Remove(c.DataDir)
}
