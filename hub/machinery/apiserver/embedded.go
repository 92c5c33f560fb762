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

	"k8s.io/utils/clock"
)

// Embedded says how to run an API server of the hub's own.
type Embedded struct {
	// Binary is the program controlplane.
	Binary string
	// DataDir holds all its state.
	DataDir string
	// BindAddress and SecurePort are where it listens; port 0 is that of the last
	// start, or a free one.
	BindAddress string
	SecurePort  int
	// AdvertiseHost is its name in the administrator's kubeconfig; empty means the
	// bind address.
	AdvertiseHost string
	// TLSSANs are further names in its certificate.
	TLSSANs []string
	// Kubeconfig is where the administrator's kubeconfig is written, and Context the
	// name of the context in it.
	Kubeconfig, Context string
	// HeapRoom is how many bytes the heap of its kube-apiserver may fill before it searches
	// garbage as often as Go does by default: a fifth of its time. 0 is as by default.
	HeapRoom int64
	// Profiling lets administrators ask it for its profiles.
	Profiling bool
	// EncryptionProviderConfig is the operator's file that says how the database is encrypted; empty
	// is with a key that the API makes itself.
	EncryptionProviderConfig string
	// Progress is told each line that the program prints.
	Progress func(line string)
	// Clock measures how long it may take.
	Clock clock.Clock
}

// Start starts the embedded API and returns when it is ready. The context bounds the
// start only; the process runs until Stop.
func (e Embedded) Start(ctx context.Context) (*Process, error) {
	held, err := acquire(ctx, e.DataDir)
	if err != nil {
		return nil, err
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

// outwardAddress is the address with which this machine would call others; nothing is
// sent to find out. Without a network it is the loopback address.
func outwardAddress(ctx context.Context) string {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "udp", "192.0.2.1:9")
	if err == nil {
		defer func() { _ = conn.Close() }()
		if addr, ok := conn.LocalAddr().(*net.UDPAddr); ok && !addr.IP.IsUnspecified() {
			return addr.IP.String()
		}
	}
	return "127.0.0.1"
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
	if e.EncryptionProviderConfig != "" {
		args = append(args, "--encryption-provider-config="+e.EncryptionProviderConfig)
	}
	if e.HeapRoom > 0 {
		args = append(args, "--heap-room="+strconv.FormatInt(e.HeapRoom, 10))
	}
	return args
}

// localURL returns the URL by which a program on this machine reaches the API, given the
// one in the kubeconfig.
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

// FindBinary returns the program controlplane: the one that the operator names, or else
// the one beside the hub's own program, or else the one on $PATH.
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
