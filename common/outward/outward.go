// Package outward says by which address of this machine others can find it.
package outward

import (
	"context"
	"net"
)

// loopback is the address of a machine without a network.
const loopback = "127.0.0.1"

// Address is the IP address with which this machine would call others. To find out nothing is sent. Without a network it is the
// loopback address.
func Address(ctx context.Context) string {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "udp", "192.0.2.1:9") // of a network that nobody has; the route to it is that to everybody
	if err != nil {
		return loopback
	}
	defer func() { _ = conn.Close() }()
	if addr, ok := conn.LocalAddr().(*net.UDPAddr); ok && !addr.IP.IsUnspecified() {
		return addr.IP.String()
	}
	return loopback
}
