package args_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/hub/machinery/controlplane/args"
	"fairlead.dev/hub/machinery/controlplane/pki"
)

func input(p args.Profile) args.Input {
	return args.Input{
		Profile:       p,
		EtcdDir:       "/data/etcd",
		PKI:           &pki.Bundle{},
		Kubeconfig:    func(c string) string { return "/data/" + c },
		BindAddress:   "127.0.0.1",
		Port:          6443,
		AdvertiseHost: "127.0.0.1",
		ServiceCIDR:   netip.MustParsePrefix("10.96.0.0/16"),
	}
}

// value returns what follows --name= on the command line.
func value(t *testing.T, line []string, name string) string {
	t.Helper()
	for _, arg := range line {
		if v, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
			return v
		}
	}
	t.Fatalf("no --%s in %q", name, line)
	return ""
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		bind, host          string
		local, advertised   string
		wantAdvertiseBySelf string
	}{
		"a loopback address serves everybody": {
			bind: "127.0.0.1", host: "127.0.0.1",
			local: "https://127.0.0.1:6443", advertised: "https://127.0.0.1:6443", wantAdvertiseBySelf: "127.0.0.1",
		},
		"components use loopback when every address is served": {
			bind: "0.0.0.0", host: "hub.example.com",
			local: "https://127.0.0.1:6443", advertised: "https://hub.example.com:6443", wantAdvertiseBySelf: "127.0.0.1",
		},
		"components use the one address that is served": {
			bind: "192.0.2.7", host: "hub.example.com",
			local: "https://192.0.2.7:6443", advertised: "https://hub.example.com:6443", wantAdvertiseBySelf: "192.0.2.7",
		},
		"version 6 addresses get brackets": {
			bind: "::", host: "2001:db8::1",
			local: "https://[::1]:6443", advertised: "https://[2001:db8::1]:6443", wantAdvertiseBySelf: "2001:db8::1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(args.Hub)
			in.BindAddress, in.AdvertiseHost = tc.bind, tc.host
			if got := in.LocalURL(); got != tc.local {
				t.Errorf("LocalURL() = %q, want %q", got, tc.local)
			}
			if got := in.AdvertisedURL(); got != tc.advertised {
				t.Errorf("AdvertisedURL() = %q, want %q", got, tc.advertised)
			}
			if got := value(t, args.APIServer(in), "advertise-address"); got != tc.wantAdvertiseBySelf {
				t.Errorf("--advertise-address = %q, want %q", got, tc.wantAdvertiseBySelf)
			}
		})
	}
}

func TestServiceIP(t *testing.T) {
	t.Parallel()
	in := input(args.Hub)
	in.ServiceCIDR = netip.MustParsePrefix("10.96.3.4/16")
	if got := in.ServiceIP().String(); got != "10.96.0.1" {
		t.Errorf("ServiceIP() = %s, want 10.96.0.1", got)
	}
	if got := value(t, args.APIServer(in), "service-cluster-ip-range"); got != "10.96.0.0/16" {
		t.Errorf("--service-cluster-ip-range = %q, want 10.96.0.0/16", got)
	}
}

func TestProfiles(t *testing.T) {
	t.Parallel()

	t.Run("a hub leaves templates alone but keeps policies, webhooks and the checks of certificates", func(t *testing.T) {
		t.Parallel()
		off := strings.Split(value(t, args.APIServer(input(args.Hub)), "disable-admission-plugins"), ",")
		for _, plugin := range []string{"ServiceAccount", "DefaultTolerationSeconds", "StorageObjectInUseProtection", "LimitRanger"} {
			if !slices.Contains(off, plugin) {
				t.Errorf("%s is on", plugin)
			}
		}
		for _, plugin := range []string{
			"NamespaceLifecycle", "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy", "ValidatingAdmissionWebhook",
			"MutatingAdmissionWebhook", "CertificateApproval", "CertificateSigning", "CertificateSubjectRestriction",
		} {
			if slices.Contains(off, plugin) {
				t.Errorf("%s is off", plugin)
			}
		}
	})

	t.Run("a cluster has the usual admission", func(t *testing.T) {
		t.Parallel()
		if line := strings.Join(args.APIServer(input(args.Cluster)), " "); strings.Contains(line, "admission") {
			t.Errorf("admission is configured: %s", line)
		}
	})

	t.Run("a hub runs no controller that acts on workloads", func(t *testing.T) {
		t.Parallel()
		on := strings.Split(value(t, args.ControllerManager(input(args.Hub)), "controllers"), ",")
		for _, c := range on {
			if c == "*" || strings.HasPrefix(c, "deployment") || strings.HasPrefix(c, "job") || strings.HasPrefix(c, "serviceaccount-controller") {
				t.Errorf("%s is on", c)
			}
		}
	})

	t.Run("no component but kube-apiserver opens a port", func(t *testing.T) {
		t.Parallel()
		for _, line := range [][]string{args.ControllerManager(input(args.Cluster)), args.Scheduler(input(args.Cluster))} {
			if got := value(t, line, "secure-port"); got != "0" {
				t.Errorf("%s --secure-port = %s, want 0", line[0], got)
			}
		}
		for _, flag := range []string{"listen-client-urls", "listen-peer-urls"} {
			if got := value(t, args.Etcd(input(args.Hub)), flag); !strings.HasPrefix(got, "unix://") {
				t.Errorf("--%s = %s, want a unix socket", flag, got)
			}
		}
	})

	t.Run("kube-apiserver tells its profiles only when asked to", func(t *testing.T) {
		t.Parallel()
		in := input(args.Hub)
		if got := value(t, args.APIServer(in), "profiling"); got != "false" {
			t.Errorf("--profiling = %s by default", got)
		}
		in.Profiling = true
		if got := value(t, args.APIServer(in), "profiling"); got != "true" {
			t.Errorf("--profiling = %s although it was asked for", got)
		}
	})

	t.Run("kube-apiserver waits for the hub only where what runs beside it has a port of its own", func(t *testing.T) {
		t.Parallel()
		in := input(args.Hub)
		if line := strings.Join(args.APIServer(in), " "); strings.Contains(line, args.PrivateFlag) || strings.Contains(line, args.OpenFlag) {
			t.Errorf("it waits by default: %s", line)
		}
		in.PrivatePort = 40001
		if got := value(t, args.APIServer(in), args.PrivateFlag); got != "3" {
			t.Errorf("--%s = %s", args.PrivateFlag, got)
		}
		if got := value(t, args.APIServer(in), args.OpenFlag); got != args.OpenFile {
			t.Errorf("--%s = %s", args.OpenFlag, got)
		}
		if got, want := in.LocalURL(), "https://127.0.0.1:40001"; got != want {
			t.Errorf("LocalURL() = %q, want %q", got, want)
		}
		if got, want := in.AdvertisedURL(), "https://127.0.0.1:6443"; got != want {
			t.Errorf("AdvertisedURL() = %q, want %q", got, want)
		}
	})

	t.Run("kube-apiserver reaches kubelets only when programs may be run", func(t *testing.T) {
		t.Parallel()
		in := input(args.Cluster)
		if line := strings.Join(args.APIServer(in), " "); strings.Contains(line, "--kubelet-") {
			t.Errorf("kubelets are configured by default: %s", line)
		}
		in.UnsafeExec = true
		if got := value(t, args.APIServer(in), "kubelet-preferred-address-types"); got != "InternalIP" {
			t.Errorf("--kubelet-preferred-address-types = %q", got)
		}
	})

	t.Run("etcd gives up durability only when asked", func(t *testing.T) {
		t.Parallel()
		in := input(args.Hub)
		if slices.Contains(args.Etcd(in), "--unsafe-no-fsync") {
			t.Error("--unsafe-no-fsync is on by default")
		}
		in.UnsafeNoFsync = true
		if !slices.Contains(args.Etcd(in), "--unsafe-no-fsync") {
			t.Error("--unsafe-no-fsync is off although it was asked for")
		}
	})
}
