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

// privateListener is the address at which kube-apiserver serves the components beside it, if it has one for them. The port is opened here,
// since the components' command lines need it before kube-apiserver runs.
type privateListener struct {
	socket *os.File
	// open is the path of a file. Once the file exists, kube-apiserver lets everybody in.
	open string
}

// listenPrivately opens the private port for a control plane that lets nobody else in before the hub is ready.
func listenPrivately(ctx context.Context, cfg Config, dir *datadir.Dir, in *args.Input) (*privateListener, error) {
	if !cfg.WaitForHub {
		return &privateListener{}, nil
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
	return &privateListener{socket: socket, open: open}, nil
}

// admit opens the API to everybody, whether the hub is ready or not.
func (p *privateListener) admit() error {
	if p.open == "" {
		return nil // nobody waits
	}
	if err := os.WriteFile(p.open, nil, 0o600); err != nil {
		return fmt.Errorf("letting people in who can make room in the database: %w", err)
	}
	return nil
}

// files returns the open files that kube-apiserver inherits.
func (p *privateListener) files() []*os.File {
	if p.socket == nil {
		return nil
	}
	return []*os.File{p.socket}
}

// close closes this process's copy of the socket. It may be called again.
func (p *privateListener) close() {
	if p.socket != nil {
		_ = p.socket.Close() // nothing was written
	}
}
