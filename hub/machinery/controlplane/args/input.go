package args

import (
	"net"
	"net/netip"
	"strconv"

	"fairlead.dev/hub/machinery/controlplane/pki"
)

// Profile is the purpose of a control plane.
type Profile string

const (
	// Hub stores templates and runs no pods.
	Hub Profile = "hub"
	// Cluster is a complete cluster on KWOK nodes.
	Cluster Profile = "cluster"
)

// The sockets of etcd are relative to the components' working directory: the absolute path of a data directory may
// exceed the 107 bytes of a unix socket's address. Etcd requires a port, and takes it as a part of the file name.
const (
	// EtcdSocket appears in the working directory once etcd accepts connections.
	EtcdSocket    = "client.sock:0"
	etcdClientURL = "unix://" + EtcdSocket
	etcdPeerURL   = "unix://peer.sock:0"
)

// OpenFile is a file in the components' working directory that admits everybody to the API. Open of
// fairlead.dev/hub/machinery/apiserver writes it when the hub is ready. The supervisor writes it earlier if the
// database is full, so that people can delete something.
const OpenFile = "hub.open"

// DefaultEtcdPrefix is the key prefix of kube-apiserver.
const DefaultEtcdPrefix = "/registry"

// PrivateHost is the host of kube-apiserver's private port, if it has one, for programs on the same machine.
const PrivateHost = "127.0.0.1"

// ExternalEtcd is a database that somebody else runs. Without servers, the control plane starts its own etcd.
type ExternalEtcd struct {
	// Servers are the URLs of its members.
	Servers []string `json:"servers"`
	// CAFile is the authority of the members, and CertFile and KeyFile are the client certificate.
	CAFile   string `json:"caFile,omitempty"`
	CertFile string `json:"certFile,omitempty"`
	KeyFile  string `json:"keyFile,omitempty"`
	// Prefix is the key prefix.
	Prefix string `json:"prefix"`
}

// Used says whether an external database is used.
func (e ExternalEtcd) Used() bool { return len(e.Servers) > 0 }

// Audit are the settings of kube-apiserver's audit log.
type Audit struct {
	// PolicyFile is the audit policy, and LogPath the log file.
	PolicyFile, LogPath string
	// MaxAge is in days, MaxSize in megabytes, and MaxBackup the number of rotated files.
	MaxAge, MaxBackup, MaxSize int
	// WebhookConfigFile is the configuration of an additional webhook; it may be empty.
	WebhookConfigFile string
}

// Input has the values from which the command lines of the components are made.
type Input struct {
	Profile      Profile
	EtcdDir      string
	ExternalEtcd ExternalEtcd
	// DatabaseQuota is the maximum size of the own database file in bytes.
	DatabaseQuota int64
	UnsafeNoFsync bool
	// UnsafeExec makes the simulated kubelets serve logs, exec, attach and port-forward with programs of this machine.
	UnsafeExec bool
	// Profiling lets administrators read the profiles of kube-apiserver.
	Profiling bool
	PKI       *pki.Bundle
	// Kubeconfig returns the path of a component's kubeconfig.
	Kubeconfig  func(component string) string
	BindAddress string
	Port        int
	// PrivatePort is the port of kube-apiserver for programs on the same machine, at the loopback address; 0 means that
	// they use the public port.
	PrivatePort   int
	AdvertiseHost string
	ServiceCIDR   netip.Prefix
	// EncryptionConfig is the file with the encryption configuration; empty for no encryption.
	EncryptionConfig string
	// Audit are the settings of the audit log; without a log path there is none.
	Audit Audit
	// Authentication are flags for additional authentication methods.
	Authentication []string
	// HeapRoom is how many bytes the heap of kube-apiserver may take before garbage is collected as often as by Go's
	// default; 0 means none.
	HeapRoom int64
}

// LocalHost returns the host of kube-apiserver for components on the same machine.
func (in Input) LocalHost() string {
	ip, err := netip.ParseAddr(in.BindAddress)
	switch {
	case err != nil:
		return in.BindAddress
	case ip == netip.IPv6Unspecified():
		return "::1"
	case ip.IsUnspecified():
		return "127.0.0.1"
	default:
		return in.BindAddress
	}
}

// LocalURL returns the URL of kube-apiserver for the components.
func (in Input) LocalURL() string {
	if in.PrivatePort > 0 {
		return httpsURL(PrivateHost, in.PrivatePort)
	}
	return httpsURL(in.LocalHost(), in.Port)
}

// AdvertisedURL returns the URL of kube-apiserver for everybody else.
func (in Input) AdvertisedURL() string { return httpsURL(in.AdvertiseHost, in.Port) }

func httpsURL(host string, port int) string {
	return "https://" + net.JoinHostPort(host, strconv.Itoa(port))
}

// ServiceIP returns the address of the Service "kubernetes", the first one of the range.
func (in Input) ServiceIP() netip.Addr { return in.ServiceCIDR.Masked().Addr().Next() }
