package args

import (
	"net"
	"net/netip"
	"strconv"

	"fairlead.dev/hub/machinery/controlplane/pki"
)

// Profile says what a control plane is for.
type Profile string

const (
	// Hub stores templates and runs no pods.
	Hub Profile = "hub"
	// Cluster is a complete cluster on KWOK nodes.
	Cluster Profile = "cluster"
)

// The sockets of etcd are relative to the working directory of the components: the absolute path of a data directory
// may be longer than the 107 bytes that the address of a unix socket holds. Etcd wants to see a port, and takes it as
// part of the file name.
const (
	// EtcdSocket appears in the working directory when etcd can be connected to.
	EtcdSocket    = "client.sock:0"
	etcdClientURL = "unix://" + EtcdSocket
	etcdPeerURL   = "unix://peer.sock:0"
)

// OpenFile, which Open of fairlead.dev/hub/machinery/apiserver writes, appears in the working directory of the components when the hub can use whoever comes to its
// API. The supervisor writes it earlier if the database is full, so that people can delete something.
const OpenFile = "hub.open"

// DefaultEtcdPrefix is below what key kube-apiserver keeps everything.
const DefaultEtcdPrefix = "/registry"

// PrivateHost is where what runs beside kube-apiserver reaches it, if it has a port of its own.
const PrivateHost = "127.0.0.1"

// ExternalEtcd is a database that somebody else runs. Without servers there is none, and an etcd is started.
type ExternalEtcd struct {
	// Servers are the URLs of its members.
	Servers []string `json:"servers"`
	// CAFile is by what authority the members are known, CertFile and KeyFile are by what they know their client.
	CAFile   string `json:"caFile,omitempty"`
	CertFile string `json:"certFile,omitempty"`
	KeyFile  string `json:"keyFile,omitempty"`
	// Prefix is below what key everything is.
	Prefix string `json:"prefix"`
}

// Used says whether the database is one of somebody else's.
func (e ExternalEtcd) Used() bool { return len(e.Servers) > 0 }

// Audit says where kube-apiserver tells of requests.
type Audit struct {
	// PolicyFile says what is told, LogPath where.
	PolicyFile, LogPath string
	// MaxAge is in days, MaxSize in megabytes, MaxBackup the number of files that were rotated.
	MaxAge, MaxBackup, MaxSize int
	// WebhookConfigFile names a server that is told as well; it may be empty.
	WebhookConfigFile string
}

// Input has the values from which the command lines of the components are made.
type Input struct {
	Profile      Profile
	EtcdDir      string
	ExternalEtcd ExternalEtcd
	// DatabaseQuota is how many bytes the file of a database may have that is started here.
	DatabaseQuota int64
	UnsafeNoFsync bool
	// UnsafeExec has kubelets answer logs, exec, attach and port-forward, by programs of this machine.
	UnsafeExec bool
	// Profiling lets administrators ask kube-apiserver for its profiles.
	Profiling bool
	PKI       *pki.Bundle
	// Kubeconfig says where a component finds its kubeconfig.
	Kubeconfig  func(component string) string
	BindAddress string
	Port        int
	// PrivatePort is the port of kube-apiserver for the programs beside it, at the loopback address; 0 means that they use the public one.
	PrivatePort   int
	AdvertiseHost string
	ServiceCIDR   netip.Prefix
	// EncryptionConfig is the file that says how the database is encrypted; empty is not at all.
	EncryptionConfig string
	// Audit says what is told of requests; without a path of a log, nothing.
	Audit Audit
	// Authentication are flags that say by what else kube-apiserver knows people.
	Authentication []string
	// HeapRoom is how many bytes the heap of kube-apiserver may fill before it searches garbage as often as Go does by
	// default; 0 is none.
	HeapRoom int64
}

// LocalHost is the address at which the components of the same machine reach kube-apiserver.
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

// LocalURL is the URL of kube-apiserver for the components.
func (in Input) LocalURL() string {
	if in.PrivatePort > 0 {
		return httpsURL(PrivateHost, in.PrivatePort)
	}
	return httpsURL(in.LocalHost(), in.Port)
}

// AdvertisedURL is the URL of kube-apiserver for everybody else.
func (in Input) AdvertisedURL() string { return httpsURL(in.AdvertiseHost, in.Port) }

func httpsURL(host string, port int) string {
	return "https://" + net.JoinHostPort(host, strconv.Itoa(port))
}

// ServiceIP is the address of the Service "kubernetes", the first of the range.
func (in Input) ServiceIP() netip.Addr { return in.ServiceCIDR.Masked().Addr().Next() }
