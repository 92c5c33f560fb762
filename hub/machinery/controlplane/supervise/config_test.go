package supervise

import (
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/hub/machinery/controlplane/args"
	"fairlead.dev/hub/machinery/controlplane/datadir"
)

func valid(edit func(*Config)) Config {
	c := Config{Profile: args.Hub, DataDir: "/data", BindAddress: "127.0.0.1", ServiceCIDR: "10.96.0.0/16"}
	if edit != nil {
		edit(&c)
	}
	return c
}

func TestComplete(t *testing.T) {
	t.Parallel()

	for name, edit := range map[string]func(*Config){
		"an unknown profile":                          func(c *Config) { c.Profile = "spoke" },
		"no data directory":                           func(c *Config) { c.DataDir = "" },
		"a bind address that is a name":               func(c *Config) { c.BindAddress = "localhost" },
		"a port out of range":                         func(c *Config) { c.SecurePort = 70000 },
		"a service range that is none":                func(c *Config) { c.ServiceCIDR = "10.96.0.0" },
		"a service range without room":                func(c *Config) { c.ServiceCIDR = "10.96.0.0/31" },
		"a service range that kube would not take":    func(c *Config) { c.ServiceCIDR = "10.0.0.0/8" },
		"a negative number of nodes":                  func(c *Config) { c.Nodes.Count = -1 },
		"programs of this machine for users of a hub": func(c *Config) { c.UnsafeExec = true },
		"programs of this machine for a network": func(c *Config) {
			c.Profile, c.BindAddress, c.UnsafeExec = args.Cluster, "0.0.0.0", true
		},
		"less than no memory": func(c *Config) { c.HeapRoom = -1 },
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			t.Parallel()
			if _, _, err := valid(edit).complete(); err == nil {
				t.Error("complete() = nil error, want one")
			}
		})
	}

	t.Run("clients are sent to loopback when every address is served and none is advertised", func(t *testing.T) {
		t.Parallel()
		c, _, err := valid(func(c *Config) { c.BindAddress = "0.0.0.0" }).complete()
		if err != nil {
			t.Fatal(err)
		}
		if c.AdvertiseHost != "127.0.0.1" {
			t.Errorf("AdvertiseHost = %q, want 127.0.0.1", c.AdvertiseHost)
		}
	})

	t.Run("the context is named after the profile", func(t *testing.T) {
		t.Parallel()
		for profile, want := range map[args.Profile]string{args.Hub: "hub", args.Cluster: "member"} {
			c, _, err := valid(func(c *Config) { c.Profile = profile }).complete()
			if err != nil {
				t.Fatal(err)
			}
			if c.Context != want {
				t.Errorf("Context for %s = %q, want %q", profile, c.Context, want)
			}
		}
	})
}

func TestServingHosts(t *testing.T) {
	t.Parallel()
	own := []netip.Addr{netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("fe80::1%eth0")}
	hosts := func(bind string) []string {
		cfg := valid(func(c *Config) {
			c.BindAddress, c.AdvertiseHost, c.TLSSANs = bind, "hub.example.com", []string{"other.example.com"}
		})
		in := args.Input{BindAddress: bind, ServiceCIDR: netip.MustParsePrefix(cfg.ServiceCIDR)}
		return servingHosts(cfg, in, "box", own)
	}
	for _, want := range []string{"localhost", "127.0.0.1", "kubernetes.default.svc", "10.96.0.1", "box", "hub.example.com", "other.example.com"} {
		if !slices.Contains(hosts("127.0.0.1"), want) {
			t.Errorf("%q is missing", want)
		}
	}
	if slices.Contains(hosts("127.0.0.1"), "192.0.2.7") {
		t.Error("an address that is not served is in the certificate")
	}
	for _, want := range []string{"192.0.2.7", "fe80::1"} {
		if !slices.Contains(hosts("0.0.0.0"), want) {
			t.Errorf("%q is missing although every address is served", want)
		}
	}
}

func TestOnlyWhatRunsGetsACertificate(t *testing.T) {
	t.Parallel()
	if got, want := clientKeys(clients(args.Hub)), []string{"kube-controller-manager", "admin", "hub"}; !slices.Equal(got, want) {
		t.Errorf("clients of a hub = %q, want %q", got, want)
	}
	if got := clientKeys(clients(args.Cluster)); !slices.Contains(got, "kwok") || !slices.Contains(got, "kube-scheduler") {
		t.Errorf("clients of a cluster = %q, without those of its components", got)
	}
	dir, err := datadir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"kwok", "kube-controller-manager"} {
		if err := os.WriteFile(dir.Kubeconfig(key), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := dropUnused(args.Hub, dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir.Kubeconfig("kwok")); !os.IsNotExist(err) {
		t.Error("a hub keeps the kubeconfig of kwok that an earlier version made")
	}
	if _, err := os.Stat(dir.Kubeconfig("kube-controller-manager")); err != nil {
		t.Error(err)
	}
}

func TestAnEtcdOfSomebodyElse(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		etcd args.ExternalEtcd
		fast bool
		want string
	}{
		"three members":                 {etcd: args.ExternalEtcd{Servers: []string{"https://a:2379", "https://b:2379"}, CAFile: "ca", CertFile: "c", KeyFile: "k"}},
		"a member on this machine":      {etcd: args.ExternalEtcd{Servers: []string{"http://127.0.0.1:2379"}}},
		"no TLS":                        {etcd: args.ExternalEtcd{Servers: []string{"http://10.0.0.1:2379"}}, want: "whoever is between"},
		"no port":                       {etcd: args.ExternalEtcd{Servers: []string{"https://a"}}, want: "https://HOST:PORT"},
		"with and without TLS":          {etcd: args.ExternalEtcd{Servers: []string{"https://a:1", "http://localhost:1"}}, want: "take https:// for all"},
		"a certificate without a key":   {etcd: args.ExternalEtcd{Servers: []string{"https://a:1"}, CertFile: "c"}, want: "go together"},
		"a certificate for no TLS":      {etcd: args.ExternalEtcd{Servers: []string{"http://localhost:1"}, CAFile: "c"}, want: "names none"},
		"a certificate without an etcd": {etcd: args.ExternalEtcd{CAFile: "c"}, want: "--etcd-cafile is for an etcd of yours"},
		"everything of the etcd":        {etcd: args.ExternalEtcd{Servers: []string{"https://a:1"}, Prefix: "/"}, want: "--etcd-prefix names no key"},
		"an etcd that shall be fast":    {etcd: args.ExternalEtcd{Servers: []string{"https://a:1"}}, fast: true, want: "--unsafe-no-fsync"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _, err := valid(func(c *Config) { c.Etcd, c.UnsafeNoFsync = tc.etcd, tc.fast }).complete()
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.want == "" && got.Etcd.Prefix != args.DefaultEtcdPrefix:
				t.Errorf("prefix %q", got.Etcd.Prefix)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
