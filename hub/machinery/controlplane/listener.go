package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"fairlead.dev/hub/machinery/controlplane/args"
	"fairlead.dev/hub/machinery/controlplane/listener"
)

const (
	// openPoll is how often to check whether the hub is ready.
	openPoll = 100 * time.Millisecond
	// openAnyway is when everybody is admitted even if the hub is not ready: an operator may have to fix what it waits
	// for.
	openAnyway = 5 * time.Minute
)

// privateAddress is the address of the API server for programs on the same machine, if it has one.
type privateAddress struct {
	// socket is the descriptor of the listening socket; 0 if there is none.
	socket uint
	// open is a file whose existence means that everybody is admitted.
	open string
}

// listen makes the options listen at both addresses; it returns nil if there is only one.
func (p privateAddress) listen(ctx context.Context, o *options.ServerRunOptions) (*listener.Listener, error) {
	if p.socket == 0 {
		return nil, nil
	}
	file := os.NewFile(uintptr(p.socket), args.PrivateFlag)
	defer file.Close() //nolint:errcheck // The listener has a copy of it.
	own, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("--%s %d: %w", args.PrivateFlag, p.socket, err)
	}
	bind, isAddress := netip.AddrFromSlice(o.SecureServing.BindAddress)
	if !isAddress {
		return nil, fmt.Errorf("--bind-address %s is not an IP address", o.SecureServing.BindAddress)
	}
	public, err := listener.Reserve(netip.AddrPortFrom(bind.Unmap(), uint16(o.SecureServing.BindPort))) //nolint:gosec // A port fits.
	if err != nil {
		return nil, err
	}
	l := listener.New(own, public, p.opened(ctx))
	o.SecureServing.Listener = l
	return l, nil
}

// opened returns a channel that is closed when everybody is admitted.
func (p privateAddress) opened(ctx context.Context) <-chan struct{} {
	out := make(chan struct{})
	go func() {
		err := wait.PollUntilContextTimeout(ctx, openPoll, openAnyway, true, func(context.Context) (bool, error) {
			_, err := os.Stat(p.open)
			return err == nil, nil
		})
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, context.DeadlineExceeded) {
			klog.InfoS("Letting everybody in though the hub is not ready; see what it says", "after", openAnyway)
		}
		close(out)
	}()
	return out
}

// announce makes the servers announce the public address.
func announce(config *app.Config, l *listener.Listener) {
	if l == nil {
		return
	}
	config.Aggregator.GenericConfig.SecureServing.Listener = l.Public()
	config.KubeAPIs.ControlPlane.Generic.SecureServing.Listener = l.Public()
}
