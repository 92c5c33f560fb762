package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// Embedded are the settings of an embedded API.
type Embedded struct {
	// Binary is the path of the program controlplane.
	Binary string
	// DataDir is the directory of all its state.
	DataDir string
	// BindAddress and SecurePort are where it listens; port 0 means the port of the last start, or a free one.
	BindAddress string
	SecurePort  int
	// AdvertiseHost is the host in the administrator's kubeconfig; if empty, the bind address.
	AdvertiseHost string
	// TLSSANs are additional names in its certificate.
	TLSSANs []string
	// Kubeconfig is the path of the administrator's kubeconfig, and Context the name of the context in it.
	Kubeconfig, Context string
	// HeapRoom is how many bytes the heap of its kube-apiserver may take before garbage is collected as often as by
	// Go's default, which takes a fifth of its time. 0 means the default from the start.
	HeapRoom int64
	// Profiling lets administrators read its profiles.
	Profiling bool
	// WaitForHub admits only the hub until Open is called, unless the database is full: then people must first be able
	// to delete something.
	WaitForHub bool
	// Flags are additional flags, of those in PassedFlags.
	Flags []string
	// Progress is called with each line that the program prints.
	Progress func(line string)
	// Clock measures timeouts.
	Clock clock.Clock
}

// Start starts the embedded API, and returns when it is ready. The context only bounds the start; the process runs
// until Stop.
func (e Embedded) Start(ctx context.Context) (*Process, error) {
	held, err := acquire(ctx, e.DataDir)
	if err != nil {
		return nil, err
	}
	if hasMark(e.DataDir) {
		_ = held.Close()
		return nil, errImporting(e.DataDir)
	}
	if e.WaitForHub {
		// Its port may belong to somebody else by now: each start chooses another one.
		if err := os.Remove(e.ownKubeconfig()); err != nil && !errors.Is(err, os.ErrNotExist) {
			_ = held.Close()
			return nil, fmt.Errorf("removing the hub's kubeconfig of its last start: %w", err)
		}
	}
	p := &Process{embedded: e, lock: held, done: make(chan struct{}), followed: make(chan struct{})}
	if err := p.launch(); err != nil {
		_ = held.Close()
		return nil, err
	}
	if err := p.awaitReady(ctx); err != nil {
		p.Stop()
		return nil, err
	}
	return p, nil
}

func (e Embedded) args() []string {
	args := []string{
		"--profile=hub",
		"--data-dir=" + e.DataDir,
		"--bind-address=" + e.BindAddress,
		"--secure-port=" + strconv.Itoa(e.SecurePort),
		"--kubeconfig=" + e.Kubeconfig,
		"--context=" + e.Context,
	}
	if e.AdvertiseHost != "" {
		args = append(args, "--advertise-host="+e.AdvertiseHost)
	}
	if e.Profiling {
		args = append(args, "--profiling")
	}
	if len(e.TLSSANs) > 0 {
		args = append(args, "--tls-san="+strings.Join(e.TLSSANs, ","))
	}
	if e.WaitForHub {
		args = append(args, "--wait-for-hub")
	}
	if e.HeapRoom > 0 {
		args = append(args, "--heap-room="+strconv.FormatInt(e.HeapRoom, 10))
	}
	return append(args, e.Flags...)
}

// ownKubeconfig is the path of the hub's own kubeconfig, which the program writes.
func (e Embedded) ownKubeconfig() string {
	return filepath.Join(e.DataDir, "kubeconfigs", "hub.kubeconfig")
}

// Open admits everybody, and returns when the API responds at its public address: clients may arrive as soon as the hub
// is reported ready. It fails if the API ends, or does not respond within a minute.
func (p *Process) Open(ctx context.Context) error {
	path := filepath.Join(p.embedded.DataDir, "run", "hub.open") // must match args.OpenFile of the program
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return fmt.Errorf("opening the API: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, openTimeout,
		fmt.Errorf("the embedded API does not answer at %s %s after it was opened; see the logs in %s", p.public, openTimeout, filepath.Dir(p.log.Name())))
	defer cancel()
	config := rest.CopyConfig(p.config)
	config.Host = p.public
	err := wait.PollUntilContextCancel(ctx, readyPoll, true, func(ctx context.Context) (bool, error) {
		select {
		case <-p.done:
			return false, p.Err()
		default:
			status, err := readyz(ctx, config)
			return status != 0, err
		}
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// LinesAddressFile is the file in a data directory from which the embedded API reads the address where the hub on its
// machine serves requests for members.
func LinesAddressFile(dataDir string) string {
	return filepath.Join(dataDir, "run", "connect.address")
}

// PassedFlags adds the flags that are passed to the program unchanged, under their names in kube-apiserver.
func PassedFlags(fs *pflag.FlagSet) {
	fs.StringSlice("etcd-servers", nil, "https://HOST:PORT of each member of an etcd of yours, on which hubs of several machines work together; the embedded API then starts none of its own")
	fs.String("etcd-cafile", "", "certificate authority of these members (default: those of this machine)")
	fs.String("etcd-certfile", "", "certificate by which these members know the hub")
	fs.String("etcd-keyfile", "", "key of that certificate")
	fs.String("etcd-prefix", "/registry", "below what key of that etcd the hub keeps everything; the same on all machines of a hub")

	fs.String("encryption-provider-config", "", "EncryptionConfiguration of apiserver.config.k8s.io/v1 by which the embedded API encrypts its database instead of with a key of its own, such as one with a KMS v2 provider")

	fs.String("audit-policy-file", "", "Policy of audit.k8s.io/v1 that says what the embedded API's audit log tells (default: who changed which policy, template, token or right, and who read a Secret)")
	fs.String("audit-log-path", "", "the audit log of the embedded API (default: audit/audit.log in the data directory)")
	fs.Int("audit-log-maxage", 30, "how many days audit logs that were rotated are kept")
	fs.Int("audit-log-maxbackup", 10, "how many audit logs that were rotated are kept")
	fs.Int("audit-log-maxsize", 100, "megabytes of an audit log when it is rotated")
	fs.String("audit-webhook-config-file", "", "kubeconfig of a server to which the embedded API sends its audit events as well")

	fs.String("authentication-config", "", "AuthenticationConfiguration of apiserver.config.k8s.io by which the embedded API knows people, instead of the flags --oidc-*")
	fs.String("oidc-issuer-url", "", "https://ISSUER whose tokens the embedded API accepts")
	fs.String("oidc-client-id", "", "whom a token of the issuer must be for")
	fs.String("oidc-ca-file", "", "certificate authority of the issuer (default: those of this machine)")
	fs.String("oidc-username-claim", "sub", "claim of a token that is the name of the user")
	fs.String("oidc-username-prefix", "", "what comes before that name; - for nothing (default: the issuer and #, unless the claim is email)")
	fs.String("oidc-groups-claim", "", "claim of a token that has the groups of the user")
	fs.String("oidc-groups-prefix", "", "what comes before each of these groups")
	fs.StringSlice("oidc-required-claim", nil, "CLAIM=VALUE that a token must have")
	fs.StringSlice("oidc-signing-algs", []string{"RS256"}, "how tokens may be signed")
}

// PassedArguments returns the flags of PassedFlags that were set, as arguments.
func PassedArguments(fs *pflag.FlagSet) []string {
	passed := pflag.NewFlagSet("", pflag.ContinueOnError)
	PassedFlags(passed)
	var out []string
	fs.Visit(func(flag *pflag.Flag) {
		if passed.Lookup(flag.Name) == nil {
			return
		}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			for _, value := range list.GetSlice() {
				out = append(out, "--"+flag.Name+"="+value)
			}
			return
		}
		out = append(out, "--"+flag.Name+"="+flag.Value.String())
	})
	return out
}

// localURL returns the URL of the API for programs on this machine, given the one in the kubeconfig.
func (e Embedded) localURL(advertised string) (string, error) {
	u, err := url.Parse(advertised)
	if err != nil {
		return "", fmt.Errorf("reading the server %q in the administrator's kubeconfig: %w", advertised, err)
	}
	host := e.BindAddress
	if addr, err := netip.ParseAddr(host); err == nil && addr.IsUnspecified() {
		host = "127.0.0.1"
		if addr.Is6() {
			host = "::1"
		}
	}
	u.Host = net.JoinHostPort(host, u.Port())
	return u.String(), nil
}

// FindBinary returns the path of the program controlplane: the given one, or else the one next to the hub's program, or
// else the one on $PATH.
func FindBinary(named string) (string, error) {
	const name = "controlplane"
	if named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", fmt.Errorf("--controlplane-binary %q is not a program: %w", named, err)
		}
		return filepath.Abs(path)
	}
	if own, err := os.Executable(); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(own), name)); err == nil {
			return path, nil
		}
	}
	if path, err := exec.LookPath(name); err == nil {
		return filepath.Abs(path)
	}
	return "", errors.New("there is no program controlplane, which is the embedded API, beside this one nor on $PATH: " +
		"name it with --controlplane-binary, or use an API that you have with --kubeconfig")
}
