package supervise

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"fairlead.dev/hub/machinery/controlplane/args"
	"fairlead.dev/hub/machinery/controlplane/datadir"
)

const (
	portPoll = 50 * time.Millisecond
	// portTimeout is how long to wait for the processes of a killed control plane to end.
	portTimeout = 3 * time.Second
)

// probe returns an error if it is not possible to listen at an address.
func probe(ctx context.Context, host string, port int) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("cannot serve: %w", err)
	}
	return l.Close()
}

// choosePort returns the port of the API server, once it is free.
func choosePort(ctx context.Context, cfg Config, dir *datadir.Dir) (int, error) {
	port, err := dir.Port(cfg.SecurePort, func(port int) error { return probe(ctx, cfg.BindAddress, port) })
	if err != nil {
		return 0, err
	}
	return port, awaitPort(ctx, cfg.BindAddress, port)
}

// awaitPort waits for a short time for the port to become free.
func awaitPort(ctx context.Context, host string, port int) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, portPoll, portTimeout, true, func(ctx context.Context) (bool, error) {
		last = probe(ctx, host, port)
		return last == nil, nil
	})
	if err != nil && ctx.Err() == nil {
		return last
	}
	return err
}

// servingHosts returns the names and addresses in the API server's certificate.
func servingHosts(cfg Config, in args.Input, hostname string, own []netip.Addr) []string {
	hosts := []string{
		"localhost", "127.0.0.1", "::1",
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		in.ServiceIP().String(), in.LocalHost(), cfg.AdvertiseHost,
	}
	if hostname != "" {
		hosts = append(hosts, hostname)
	}
	if ip, err := netip.ParseAddr(cfg.BindAddress); err == nil && ip.IsUnspecified() {
		for _, a := range own {
			hosts = append(hosts, a.WithZone("").String())
		}
	}
	hosts = append(hosts, cfg.TLSSANs...)
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// ownAddresses returns the addresses of this machine. If they cannot be read, the certificate has fewer of them.
func ownAddresses() []netip.Addr {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var out []netip.Addr
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			out = append(out, p.Addr())
		}
	}
	return out
}

// ownName returns the host name of this machine; empty if unknown.
func ownName() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}
