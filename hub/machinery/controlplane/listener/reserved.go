package listener

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// backlog is the length of the accept queue, which the kernel also limits.
const backlog = 1 << 16

// gone replaces the descriptor of a released socket.
const gone = -1

// Reserved is an address that is bound, and not listened at yet.
type Reserved struct {
	address *net.TCPAddr
	socket  int
}

// Reserve binds an address. It fails if another program listens there. The unspecified address covers both versions of
// IP, as in package net. Port 0 is a free port.
func Reserve(at netip.AddrPort) (*Reserved, error) {
	own := at.Addr()
	if own.IsUnspecified() {
		if r, err := reserve(netip.AddrPortFrom(netip.IPv6Unspecified(), at.Port())); !errors.Is(err, unix.EAFNOSUPPORT) {
			return r, err
		}
	}
	return reserve(at)
}

func reserve(at netip.AddrPort) (*Reserved, error) {
	family, address := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: int(at.Port()), Addr: at.Addr().As16()})
	if at.Addr().Is4() {
		family, address = unix.AF_INET, &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}
	}
	socket, err := unix.Socket(family, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, fmt.Errorf("making a socket for %s: %w", at, os.NewSyscallError("socket", err))
	}
	unix.CloseOnExec(socket)
	r := &Reserved{address: net.TCPAddrFromAddrPort(at), socket: socket}
	if err := r.bind(family, address); err != nil {
		_ = r.release() // the first error matters
		return nil, fmt.Errorf("taking the address %s: %w", at, os.NewSyscallError("bind", err))
	}
	return r, nil
}

func (r *Reserved) bind(family int, address unix.Sockaddr) error {
	if err := unix.SetNonblock(r.socket, true); err != nil {
		return err
	}
	// Connections of a killed program may still be closing.
	if err := r.reuse(1); err != nil {
		return err
	}
	if family == unix.AF_INET6 {
		if err := unix.SetsockoptInt(r.socket, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0); err != nil {
			return err
		}
	}
	if err := unix.Bind(r.socket, address); err != nil {
		return err
	}
	// From here on, no other server that sets SO_REUSEADDR, as all in Go do, may bind it.
	if err := r.reuse(0); err != nil {
		return err
	}
	bound, err := unix.Getsockname(r.socket)
	if err != nil {
		return err
	}
	switch bound := bound.(type) {
	case *unix.SockaddrInet4:
		r.address.Port = bound.Port
	case *unix.SockaddrInet6:
		r.address.Port = bound.Port
	}
	return nil
}

// Addr returns the bound address.
func (r *Reserved) Addr() net.Addr { return r.address }

// listen starts to listen, and releases the reservation.
func (r *Reserved) listen() (net.Listener, error) {
	if err := errors.Join(r.reuse(1), unix.Listen(r.socket, backlog)); err != nil {
		return nil, os.NewSyscallError("listen", err)
	}
	file := os.NewFile(uintptr(r.socket), "public")
	r.socket = gone
	defer file.Close() //nolint:errcheck // The listener has a copy of it.
	return net.FileListener(file)
}

// reuse sets SO_REUSEADDR, which allows an address with connections that are still closing.
func (r *Reserved) reuse(may int) error {
	return unix.SetsockoptInt(r.socket, unix.SOL_SOCKET, unix.SO_REUSEADDR, may)
}

func (r *Reserved) release() error {
	if r.socket == gone {
		return nil
	}
	return unix.Close(r.socket)
}
