package supervise

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"fairlead.dev/hub/machinery/controlplane/args"
	"fairlead.dev/hub/machinery/controlplane/kwok"
)

// Config has the user's choices for a control plane.
type Config struct {
	Profile args.Profile
	DataDir string
	// Nodes are the simulated nodes of a cluster; a hub has none.
	Nodes       kwok.Nodes
	BindAddress string
	// SecurePort is the port; 0 means the port of the last start, or a free one.
	SecurePort int
	// AdvertiseHost is the host of the API server for clients. Empty means the bind address.
	AdvertiseHost string
	// TLSSANs are additional names in the serving certificate.
	TLSSANs []string
	// Kubeconfig is the path of the administrator's kubeconfig. Empty means the data directory.
	Kubeconfig string
	// Context is the name of the cluster in that kubeconfig. Empty means a name that fits the profile.
	Context     string
	ServiceCIDR string
	// Etcd is an external database; without servers the control plane starts its own.
	Etcd args.ExternalEtcd
	// DatabaseQuota is the maximum size of its own database file in bytes; 0 is the default.
	DatabaseQuota int64
	// CertificateValidity is the validity of certificates; 0 is the default.
	CertificateValidity time.Duration
	// UpkeepInterval is how often the space of the database and the expiry of certificates are checked; 0 is the
	// default.
	UpkeepInterval time.Duration
	UnsafeNoFsync  bool
	// UnsafeExec lets users who may exec into pods of a cluster run programs of this machine.
	UnsafeExec bool
	// HeapRoom is how many bytes the heap of kube-apiserver may take to save CPU time; 0 is Go's default.
	HeapRoom int64
	// WaitForHub only admits programs on the same machine until the hub is ready for others, or the database is full,
	// since then people must first free space.
	WaitForHub bool
	Profiling  bool
	// EncryptionProviderConfig is the operator's encryption configuration; empty means the hub's own keys.
	EncryptionProviderConfig string
	Audit                    args.Audit
	// Authentication are flags of kube-apiserver for additional authentication methods.
	Authentication []string
}

// The sizes that kube-apiserver accepts for IPv4 and IPv6 service ranges.
const (
	maxServiceBits = 20
	minServiceBits = 3
)

// complete sets defaults and validates.
func (c Config) complete() (Config, netip.Prefix, error) {
	var none netip.Prefix
	switch c.Profile {
	case args.Hub, args.Cluster:
	default:
		return c, none, fmt.Errorf("unknown profile %q: use %q or %q", c.Profile, args.Hub, args.Cluster)
	}
	if c.DataDir == "" {
		return c, none, errors.New("--data-dir is required")
	}
	bind, err := netip.ParseAddr(c.BindAddress)
	if err != nil {
		return c, none, fmt.Errorf("--bind-address %q is not an IP address", c.BindAddress)
	}
	if c.UnsafeExec {
		switch {
		case c.Profile != args.Cluster:
			return c, none, errors.New("--unsafe-exec is for --profile cluster: a hub has no pods")
		case !bind.IsLoopback():
			return c, none, fmt.Errorf("--unsafe-exec lets users of the cluster run programs of this machine, so --bind-address %s must be a loopback address such as 127.0.0.1", c.BindAddress)
		}
	}
	if c.SecurePort < 0 || c.SecurePort > 65535 {
		return c, none, fmt.Errorf("--secure-port %d is not between 0 and 65535", c.SecurePort)
	}
	cidr, err := netip.ParsePrefix(c.ServiceCIDR)
	if err != nil {
		return c, none, fmt.Errorf("--service-cidr %q is not an address range such as 10.96.0.0/16", c.ServiceCIDR)
	}
	if bits := cidr.Addr().BitLen() - cidr.Bits(); bits > maxServiceBits || bits < minServiceBits {
		return c, none, fmt.Errorf("--service-cidr %q must leave between %d and %d bits for services", c.ServiceCIDR, minServiceBits, maxServiceBits)
	}
	if c.Etcd, err = completeEtcd(c); err != nil {
		return c, none, err
	}
	for flag, file := range map[string]string{"audit-policy-file": c.Audit.PolicyFile, "audit-webhook-config-file": c.Audit.WebhookConfigFile} {
		if file == "" {
			continue
		}
		if _, err := os.Stat(file); err != nil {
			return c, none, fmt.Errorf("--%s cannot be read: %w", flag, err)
		}
	}
	if c.HeapRoom < 0 {
		return c, none, fmt.Errorf("--heap-room %d is negative", c.HeapRoom)
	}
	if c.Nodes.Count < 0 {
		return c, none, fmt.Errorf("--nodes %d is negative", c.Nodes.Count)
	}
	c.setDefaults(bind)
	return c, cidr, c.makeAbsolute()
}

// setDefaults sets what the user left out and is not required.
func (c *Config) setDefaults(bind netip.Addr) {
	if c.DatabaseQuota == 0 {
		c.DatabaseQuota = args.DefaultDatabaseQuota
	}
	if c.UpkeepInterval == 0 {
		c.UpkeepInterval = upkeepInterval
	}
	if c.AdvertiseHost == "" {
		c.AdvertiseHost = args.Input{BindAddress: bind.String()}.LocalHost()
	}
	if c.Context == "" {
		c.Context = map[args.Profile]string{args.Hub: "hub", args.Cluster: "member"}[c.Profile]
	}
}

// makeAbsolute makes the user's paths absolute: components run in other directories.
func (c *Config) makeAbsolute() (err error) {
	for flag, file := range map[string]*string{
		"kubeconfig": &c.Kubeconfig, "encryption-provider-config": &c.EncryptionProviderConfig,
		"audit-policy-file": &c.Audit.PolicyFile, "audit-log-path": &c.Audit.LogPath, "audit-webhook-config-file": &c.Audit.WebhookConfigFile,
	} {
		if *file == "" {
			continue
		}
		if *file, err = filepath.Abs(*file); err != nil {
			return fmt.Errorf("resolving --%s: %w", flag, err)
		}
	}
	return nil
}

// completeEtcd sets defaults for an external database and validates.
func completeEtcd(c Config) (args.ExternalEtcd, error) {
	e := c.Etcd
	if !e.Used() {
		for flag, value := range map[string]string{"etcd-cafile": e.CAFile, "etcd-certfile": e.CertFile, "etcd-keyfile": e.KeyFile, "etcd-prefix": e.Prefix} {
			if value != "" {
				return e, fmt.Errorf("--%s is for an etcd of yours, which --etcd-servers names", flag)
			}
		}
		return e, nil
	}
	if c.UnsafeNoFsync {
		return e, errors.New("--unsafe-no-fsync is for an etcd that is started here, and --etcd-servers names another")
	}
	secure := 0
	for _, server := range e.Servers {
		isSecure, err := checkServer(server)
		if err != nil {
			return e, err
		}
		if isSecure {
			secure++
		}
	}
	switch {
	case secure != 0 && secure != len(e.Servers):
		return e, errors.New("--etcd-servers names some members with https:// and some with http://: take https:// for all")
	case secure == 0 && (e.CAFile != "" || e.CertFile != "" || e.KeyFile != ""):
		return e, errors.New("--etcd-cafile, --etcd-certfile and --etcd-keyfile are for members with https://, and --etcd-servers names none")
	case (e.CertFile == "") != (e.KeyFile == ""):
		return e, errors.New("--etcd-certfile and --etcd-keyfile go together")
	}
	if e.Prefix == "" {
		e.Prefix = args.DefaultEtcdPrefix
	}
	if e.Prefix = path.Join("/", e.Prefix); e.Prefix == "/" {
		return e, errors.New("--etcd-prefix names no key below which the hub could keep anything; leave it out, or take something like /fairlead")
	}
	for flag, file := range map[string]*string{"etcd-cafile": &e.CAFile, "etcd-certfile": &e.CertFile, "etcd-keyfile": &e.KeyFile} {
		if *file == "" {
			continue
		}
		var err error
		if *file, err = filepath.Abs(*file); err != nil {
			return e, fmt.Errorf("resolving --%s: %w", flag, err)
		}
	}
	return e, nil
}

// checkServer says whether a member uses TLS. All data of the hub passes this connection, so plain connections are only
// allowed to members on this machine.
func checkServer(server string) (secure bool, err error) {
	u, err := url.Parse(server)
	if err != nil || u.Hostname() == "" || u.Port() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
		return false, fmt.Errorf("--etcd-servers %q is not of the form https://HOST:PORT", server)
	}
	switch u.Scheme {
	case "https":
		return true, nil
	case "http":
		if ip, err := netip.ParseAddr(u.Hostname()); u.Hostname() == "localhost" || err == nil && ip.IsLoopback() {
			return false, nil
		}
		return false, fmt.Errorf("--etcd-servers %q is no https:// URL: whoever is between could read and change all that the hub keeps", server)
	default:
		return false, fmt.Errorf("--etcd-servers %q is not of the form https://HOST:PORT", server)
	}
}
