package supervise

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"fairlead.dev/hub/machinery/controlplane/args"
	"fairlead.dev/hub/machinery/controlplane/datadir"
)

// private is where kube-apiserver listens for what runs beside it, if it has an address of its own for that. A port is taken here, for the
// components are told of it before kube-apiserver runs.
type private struct {
	socket *os.File
	// open is the file that lets everybody in.
	open string
}

// listenPrivately takes the private port where others wait for the hub, and has them wait.
func listenPrivately(ctx context.Context, cfg Config, dir *datadir.Dir, in *args.Input) (*private, error) {
	if !cfg.WaitForHub {
		return &private{}, nil
	}
	open := filepath.Join(dir.Run(), args.OpenFile)
	if err := os.Remove(open); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("removing what the last hub said: %w", err)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(args.PrivateHost, "0"))
	if err != nil {
		return nil, fmt.Errorf("taking a port for what runs beside kube-apiserver: %w", err)
	}
	defer l.Close()                         //nolint:errcheck // The file is a copy of it.
	tcp, _ := l.(*net.TCPListener)          // as the network says
	address, _ := tcp.Addr().(*net.TCPAddr) // likewise
	socket, err := tcp.File()
	if err != nil {
		return nil, fmt.Errorf("taking a port for what runs beside kube-apiserver: %w", err)
	}
	in.PrivatePort = address.Port
	return &private{socket: socket, open: open}, nil
}

// admit lets everybody in, whether the hub is ready or not.
func (p *private) admit() error {
	if p.open == "" {
		return nil // nobody waits
	}
	if err := os.WriteFile(p.open, nil, 0o600); err != nil {
		return fmt.Errorf("letting people in who can make room in the database: %w", err)
	}
	return nil
}

// files are what kube-apiserver is given.
func (p *private) files() []*os.File {
	if p.socket == nil {
		return nil
	}
	return []*os.File{p.socket}
}

// close gives up what is held of it here. It may be called again.
func (p *private) close() {
	if p.socket != nil {
		_ = p.socket.Close() // nothing was written
	}
}
