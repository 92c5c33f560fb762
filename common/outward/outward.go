// Package outward finds the address of this machine at which others can reach it.
package outward

import (
	"context"
	"net"
)

// loopback is the address of a machine without a network.
const loopback = "127.0.0.1"

// Address returns the IP address that this machine uses to connect to others; nothing is sent to find out. Without a
// network it is the loopback address.
func Address(ctx context.Context) string {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "udp", "192.0.2.1:9") // a reserved test network (RFC 5737); it is routed like any other address
	if err != nil {
		return loopback
	}
	defer func() { _ = conn.Close() }()
	if addr, ok := conn.LocalAddr().(*net.UDPAddr); ok && !addr.IP.IsUnspecified() {
		return addr.IP.String()
	}
	return loopback
}
