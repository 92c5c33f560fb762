package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-base/version"

	"fairlead.dev/hub/machinery/controlplane/args"
	"fairlead.dev/hub/machinery/controlplane/supervise"
)

// flags are the values that must be parsed, or that apply to one profile only.
type flags struct {
	profile, cpu, memory, pods string
	cfg                        supervise.Config
	authentication             map[string]*[]string
}

func newCommand(run func(context.Context, supervise.Config) error) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "controlplane --profile hub|cluster --data-dir DIR",
		Short: "Run a complete Kubernetes API",
		Long: "Run a complete Kubernetes API: etcd, kube-apiserver and controllers. A hub stores templates and runs no pods.\n" +
			"A cluster also has a scheduler and KWOK nodes, on which pods seem to run.\n\n" +
			"\"controlplane kubectl\" is kubectl.",
		Version:           version.Get().GitVersion,
		Args:              cobra.NoArgs,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := f.config(cmd.Flags())
			if err != nil {
				return err
			}
			return run(cmd.Context(), cfg)
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return fmt.Errorf("%w; see controlplane --help", err)
	})
	f.add(cmd.Flags())
	cmd.AddCommand(newBackup(), newRestore(), newVerify(), newEncryption())
	return cmd
}

func (f *flags) add(fs *pflag.FlagSet) {
	c := &f.cfg
	fs.SortFlags = false
	fs.StringVar(&f.profile, "profile", "", "what to run: hub or cluster")
	fs.StringVar(&c.DataDir, "data-dir", "", "directory of the database, keys and logs; made where it does not exist")
	fs.StringVar(&c.BindAddress, "bind-address", "127.0.0.1", "IP address on which kube-apiserver listens")
	fs.IntVar(&c.SecurePort, "secure-port", 0, "port of kube-apiserver; 0 takes that of the last start, or a free one")
	fs.StringVar(&c.AdvertiseHost, "advertise-host", "", "name or address of the API server in the kubeconfig (default: the bind address)")
	fs.StringSliceVar(&c.TLSSANs, "tls-san", nil, "further names and addresses in the serving certificate")
	fs.StringVar(&c.Kubeconfig, "kubeconfig", "", "where to write the kubeconfig of the administrator (default: DIR/admin.kubeconfig)")
	fs.StringVar(&c.Context, "context", "", "name of the context in that kubeconfig (default: hub or member)")
	fs.StringVar(&c.ServiceCIDR, "service-cidr", "10.96.0.0/16", "range of the addresses of services")
	fs.StringSliceVar(&c.Etcd.Servers, "etcd-servers", nil, "URLs of the members of an etcd of yours that a hub uses instead of one of its own")
	fs.StringVar(&c.Etcd.CAFile, "etcd-cafile", "", "certificate authority of these members")
	fs.StringVar(&c.Etcd.CertFile, "etcd-certfile", "", "certificate by which these members know the hub")
	fs.StringVar(&c.Etcd.KeyFile, "etcd-keyfile", "", "key of that certificate")
	fs.StringVar(&c.Etcd.Prefix, "etcd-prefix", "", "below what key the hub keeps everything there (default: "+args.DefaultEtcdPrefix+")")
	fs.Int64Var(&c.DatabaseQuota, "database-quota", args.DefaultDatabaseQuota, "how many bytes the file of the database may have; when it has, nothing is written until there is room")
	fs.DurationVar(&c.UpkeepInterval, "upkeep-interval", 0, "how often to look whether the database has room, and certificates end; for tests")
	fs.DurationVar(&c.CertificateValidity, "certificate-validity", 0, "how long certificates are good; for tests")
	for _, name := range []string{"upkeep-interval", "certificate-validity"} {
		_ = fs.MarkHidden(name) // fails only for unknown flags
	}
	fs.Int64Var(&c.HeapRoom, "heap-room", 0, "how many bytes the heap of kube-apiserver may fill before it searches garbage as often as by default")
	fs.BoolVar(&c.WaitForHub, "wait-for-hub", false, "listen for others than the hub and the components of a hub when it is ready, which it says by the file run/hub.open of the data directory")
	fs.StringVar(&c.EncryptionProviderConfig, "encryption-provider-config", "", "EncryptionConfiguration by which a hub encrypts its database instead of with keys of its own, such as one with a KMS v2 provider")
	fs.StringVar(&c.Audit.PolicyFile, "audit-policy-file", "", "what the audit log of a hub tells (default: a policy of its own)")
	fs.StringVar(&c.Audit.LogPath, "audit-log-path", "", "the audit log of a hub (default: DIR/audit/audit.log)")
	fs.IntVar(&c.Audit.MaxAge, "audit-log-maxage", 30, "how many days audit logs that were rotated are kept")
	fs.IntVar(&c.Audit.MaxBackup, "audit-log-maxbackup", 10, "how many audit logs that were rotated are kept")
	fs.IntVar(&c.Audit.MaxSize, "audit-log-maxsize", 100, "megabytes of an audit log when it is rotated")
	fs.StringVar(&c.Audit.WebhookConfigFile, "audit-webhook-config-file", "", "kubeconfig of a server to which a hub sends its audit events as well")
	f.authentication = map[string]*[]string{}
	for _, name := range authenticationFlags() {
		f.authentication[name] = fs.StringArray(name, nil, "flag of the kube-apiserver of a hub")
	}
	fs.BoolVar(&c.UnsafeNoFsync, "unsafe-no-fsync", false, "let etcd not wait for the disk; for throwaway clusters")
	fs.BoolVar(&c.UnsafeExec, "unsafe-exec", false, "answer logs, exec, attach and port-forward for the pods of a cluster; exec runs programs of this machine: for tests and the demo")
	fs.BoolVar(&c.Profiling, "profiling", false, "let administrators ask kube-apiserver for its profiles, below /debug/pprof")

	fs.IntVar(&c.Nodes.Count, "nodes", 3, "number of KWOK nodes of a cluster")
	fs.StringVar(&f.cpu, "node-cpu", "8", "CPU of each node")
	fs.StringVar(&f.memory, "node-memory", "32Gi", "memory of each node")
	fs.StringVar(&f.pods, "node-pods", "110", "number of pods that each node takes")
	fs.StringVar(&c.Nodes.Region, "region", "", "region label of the nodes")
	fs.StringSliceVar(&c.Nodes.Zones, "zones", nil, "zone labels, dealt out to the nodes in turn")
}

// clusterOnly returns the flags that do not apply to a hub.
func clusterOnly() []string {
	return []string{"nodes", "node-cpu", "node-memory", "node-pods", "region", "zones"}
}

// hubOnly returns the flags that do not apply to a cluster.
func hubOnly() []string {
	return append([]string{
		"wait-for-hub", "etcd-servers", "etcd-cafile", "etcd-certfile", "etcd-keyfile", "etcd-prefix", "encryption-provider-config", "audit-policy-file", "audit-log-path", "audit-log-maxage", "audit-log-maxbackup", "audit-log-maxsize",
		"audit-webhook-config-file",
	}, authenticationFlags()...)
}

// authenticationFlags returns kube-apiserver's flags for authentication, which it validates itself.
func authenticationFlags() []string {
	return []string{
		"authentication-config", "oidc-issuer-url", "oidc-client-id", "oidc-ca-file", "oidc-username-claim", "oidc-username-prefix",
		"oidc-groups-claim", "oidc-groups-prefix", "oidc-required-claim", "oidc-signing-algs",
	}
}

func (f *flags) config(fs *pflag.FlagSet) (supervise.Config, error) {
	cfg := f.cfg
	if f.profile == "" {
		return cfg, errors.New("--profile is required: hub or cluster; see controlplane --help")
	}
	cfg.Profile = args.Profile(f.profile)
	if cfg.Profile == args.Cluster {
		for _, name := range hubOnly() {
			if fs.Changed(name) {
				return cfg, fmt.Errorf("--%s is for --profile hub", name)
			}
		}
	}
	if cfg.Profile == args.Hub {
		for _, name := range clusterOnly() {
			if fs.Changed(name) {
				return cfg, fmt.Errorf("--%s is for --profile cluster: a hub has no nodes", name)
			}
		}
	}
	for _, name := range authenticationFlags() {
		for _, value := range *f.authentication[name] {
			if path, err := filepath.Abs(value); err == nil && (name == "authentication-config" || name == "oidc-ca-file") {
				value = path // the components have another working directory
			}
			cfg.Authentication = append(cfg.Authentication, "--"+name+"="+value)
		}
	}
	var err error
	cfg.Nodes.Version = strings.SplitN(version.Get().GitVersion, "+", 2)[0]
	if cfg.Nodes.CPU, err = quantity("node-cpu", f.cpu); err != nil {
		return cfg, err
	}
	if cfg.Nodes.Memory, err = quantity("node-memory", f.memory); err != nil {
		return cfg, err
	}
	cfg.Nodes.Pods, err = quantity("node-pods", f.pods)
	return cfg, err
}

func quantity(flag, value string) (resource.Quantity, error) {
	q, err := resource.ParseQuantity(value)
	if err != nil || q.Sign() <= 0 {
		return q, fmt.Errorf("--%s %q is not a positive quantity such as %s", flag, value, example(flag))
	}
	return q, nil
}

func example(flag string) string {
	if flag == "node-memory" {
		return "32Gi"
	}
	return "8"
}
