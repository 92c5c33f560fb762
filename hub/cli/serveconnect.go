package cli

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/hub/fleet/connect"
	"fairlead.dev/hub/machinery/apiserver"
	"fairlead.dev/hub/setup"
)

// connectFlags are the flags for the API of lines.
type connectFlags struct {
	enabled bool
	address string
	service string
	place   connect.Place
	peers   peerFlags
}

func (f *connectFlags) add(fs *pflag.FlagSet) {
	fs.BoolVar(&f.enabled, "connect", true, "let agents open lines, through which operators reach into members; with --kubeconfig only if --connect-service is given")
	fs.StringVar(&f.address, "connect-bind-address", "127.0.0.1:0", "address on which the hub listens for what the API server forwards for members; with --connect-service the Service must lead here")
	fs.StringVar(&f.service, "connect-service", "", "NAMESPACE/NAME:PORT of the Service by which the API server of --kubeconfig finds that address")
	f.peers.add(fs)
}

// sharedPort is the port of the Service through which the embedded APIs of several machines reach their hubs.
const sharedPort = 443

// complete sets defaults and validates.
func (f *connectFlags) complete(fs *pflag.FlagSet, embedded, sharesEtcd bool) error {
	if embedded {
		if f.service != "" {
			return errors.New("--connect-service is for --kubeconfig: the embedded API finds the hub by itself")
		}
		f.place = connect.Place{Namespace: metav1.NamespaceSystem, Name: connect.EmbeddedService, Loopback: true}
		if sharesEtcd {
			// The APIs of all machines share one Service, which each resolves to the hub of its own machine. Its port
			// belongs to no machine; a given one is for older hubs, whose APIs use it.
			f.place.Port = sharedPort
			if _, port, err := net.SplitHostPort(f.address); err == nil && port != "0" {
				number, err := strconv.ParseUint(port, 10, 16)
				if err != nil {
					return fmt.Errorf("--connect-bind-address %q has no port that is a number", f.address)
				}
				f.place.Port = int32(number)
			}
		}
		return nil
	}
	if f.service == "" {
		if f.enabled && fs.Changed("connect") {
			return errors.New("--connect with --kubeconfig needs --connect-service, the Service by which that API server finds the hub")
		}
		f.enabled = false
		return nil
	}
	if !f.enabled {
		return errors.New("--connect-service is for the lines of agents, and --connect=false lets them open none: leave one of them out")
	}
	if !fs.Changed("connect-bind-address") {
		return errors.New("--connect-service needs --connect-bind-address, an address to which the Service leads, such as 0.0.0.0:9444")
	}
	name, port, err := net.SplitHostPort(f.service)
	namespace, name, ok := strings.Cut(name, "/")
	number, errPort := strconv.ParseUint(port, 10, 16)
	if err != nil || errPort != nil || !ok || namespace == "" || name == "" || number == 0 {
		return fmt.Errorf("--connect-service %q is not of the form NAMESPACE/NAME:PORT", f.service)
	}
	f.place = connect.Place{Namespace: namespace, Name: name, Port: int32(number)}
	return nil
}

// options returns the options of the hub; nil means that it serves no lines.
func (f *connectFlags) options(dataDir string) *setup.ConnectOptions {
	if !f.enabled {
		return nil
	}
	replica, err := os.Hostname()
	if err != nil {
		replica = "hub" // only informative
	}
	out := &setup.ConnectOptions{BindAddress: f.address, Service: f.place, Replica: replica, Peers: f.peers.options()}
	if f.place.Loopback {
		out.AddressFile = apiserver.LinesAddressFile(dataDir)
	}
	return out
}
