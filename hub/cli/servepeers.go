package cli

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"fairlead.dev/hub/setup"
)

// peerFlags configure how the hubs of an API find each other.
type peerFlags struct {
	address   string
	advertise string
	used      bool
}

// noPeers is the address that disables other hubs.
const noPeers = "0"

func (f *peerFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.address, "peer-bind-address", "0.0.0.0:6444",
		"IP:PORT on which other hubs of the same API, and nobody else, reach the members whose agents are connected here; 0 for none, and not used without --leader-elect and --connect")
	fs.StringVar(&f.advertise, "peer-advertise-address", "", "HOST or HOST:PORT by which they find it (default: an address of this machine)")
}

// complete validates, given whether there may be other hubs and lines.
func (f *peerFlags) complete(leaderElect, lines bool) error {
	f.used = leaderElect && lines && f.address != noPeers
	if f.address != noPeers {
		if _, err := netip.ParseAddrPort(f.address); err != nil {
			return fmt.Errorf("--peer-bind-address %q is not of the form IP:PORT, nor 0", f.address)
		}
	}
	host, port, err := net.SplitHostPort(f.advertise)
	if err != nil {
		host, port = f.advertise, "1"
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || strings.ContainsAny(host, "/ ") || host == "" && f.advertise != "" {
		return fmt.Errorf("--peer-advertise-address %q is not of the form HOST or HOST:PORT", f.advertise)
	}
	return nil
}

// options returns the options of the hub; nil means that it does not look for others.
func (f *peerFlags) options() *setup.PeerOptions {
	if !f.used {
		return nil
	}
	host, err := os.Hostname()
	if err != nil {
		host = "hub" // random digits follow
	}
	return &setup.PeerOptions{Host: host, BindAddress: f.address, AdvertiseAddress: f.advertise}
}
