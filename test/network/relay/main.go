// Command relay passes connections on to one address, as a firewall does that lets a site
// dial one port of the outside and nothing else: `relay LISTEN TARGET`. With `relay probe
// ADDRESS` it says by its exit status whether an address can be connected to.
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const dialTimeout = 3 * time.Second

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: relay LISTEN TARGET, or relay probe ADDRESS")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := run(ctx, os.Args[1], os.Args[2])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, listen, target string) error {
	d := net.Dialer{Timeout: dialTimeout}
	if listen == "probe" {
		conn, err := d.DialContext(ctx, "tcp", target)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = l.Close() })
	for {
		in, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // told to stop
			}
			return err
		}
		go pass(ctx, d, in, target)
	}
}

// pass joins two connections until either end is closed.
func pass(ctx context.Context, d net.Dialer, in net.Conn, target string) {
	defer func() { _ = in.Close() }()
	out, err := d.DialContext(ctx, "tcp", target)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	defer func() { _ = out.Close() }()
	done := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1]) // either end may go at any time
			done <- struct{}{}
		}()
	}
	<-done
}
