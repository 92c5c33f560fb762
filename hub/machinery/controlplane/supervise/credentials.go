package supervise

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"fairlead.dev/hub/machinery/controlplane/args"
	"fairlead.dev/hub/machinery/controlplane/atomicfile"
	"fairlead.dev/hub/machinery/controlplane/datadir"
	"fairlead.dev/hub/machinery/controlplane/kubeconfig"
	"fairlead.dev/hub/machinery/controlplane/kubelet"
	"fairlead.dev/hub/machinery/controlplane/pki"
)

const adminKey = "admin"

// clients are the identities that get a certificate: the components that the profile runs, the hub, and the administrator. The API server
// binds its built-in roles to the first two names.
func clients(profile args.Profile) []pki.Client {
	out := []pki.Client{
		{Key: "kube-controller-manager", Subject: pki.Subject{Name: "system:kube-controller-manager"}},
		{Key: adminKey, Subject: pki.Subject{Name: "admin", Groups: []string{"system:masters"}}},
	}
	if profile == args.Hub {
		// Another user than the administrator, so that the audit log tells them apart.
		out = append(out, pki.Client{Key: "hub", Subject: pki.Subject{Name: "system:fairlead:hub", Groups: []string{"system:masters"}}})
	}
	if profile == args.Cluster {
		out = append(out,
			pki.Client{Key: "kube-scheduler", Subject: pki.Subject{Name: "system:kube-scheduler"}},
			pki.Client{Key: "kwok", Subject: pki.Subject{Name: "kwok", Groups: []string{"system:masters"}}},
		)
	}
	return out
}

// dropUnused removes the files that an earlier version wrote for identities which the profile does not use any more.
func dropUnused(profile args.Profile, dir *datadir.Dir) error {
	used := clients(profile)
	for _, c := range clients(args.Cluster) {
		if slices.Contains(clientKeys(used), c.Key) {
			continue
		}
		for _, file := range []string{dir.Kubeconfig(c.Key), dir.ClientPair(c.Key)} {
			if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("removing a kubeconfig that nothing uses: %w", err)
			}
		}
	}
	return nil
}

func clientKeys(clients []pki.Client) []string {
	out := make([]string, 0, len(clients))
	for _, c := range clients {
		out = append(out, c.Key)
	}
	return out
}

// makeCredentials makes all certificates, then the kubeconfigs of the components and of the administrator. It returns
// the supervisor's own kubeconfig.
func makeCredentials(cfg Config, dir *datadir.Dir, in *args.Input, hosts []string, now time.Time) ([]byte, error) {
	leaves := pki.Leaves{Hosts: hosts, Clients: clients(cfg.Profile), Validity: cfg.CertificateValidity}
	if cfg.UnsafeExec {
		leaves.Kubelet, leaves.KubeletClient = kubelet.Address, kubelet.ClientName
	}
	if !cfg.Etcd.Used() { // other hubs use it, too, otherwise
		if err := pki.RenewFrontProxy(dir.PKI(), now); err != nil {
			return nil, err
		}
	}
	var err error
	if in.PKI, err = pki.Ensure(dir.PKI(), leaves, now); err != nil {
		return nil, err
	}
	if err := dropUnused(cfg.Profile, dir); err != nil {
		return nil, err
	}
	if err := writeCredentials(cfg, dir, *in); err != nil {
		return nil, err
	}
	admin := in.PKI.Clients[adminKey]
	return kubeconfig.Render(kubeconfig.User{Name: cfg.Context, Server: in.LocalURL(), CA: in.PKI.CA, Cert: admin.Cert, Key: admin.Key})
}

// writeCredentials writes the kubeconfigs. Those of processes name certificate files, which are read again for each connection, so that a
// certificate can be replaced while they run; the administrator's has its certificate inside, and can be copied.
func writeCredentials(cfg Config, dir *datadir.Dir, in args.Input) error {
	for key, pair := range in.PKI.Clients {
		if key == adminKey {
			continue
		}
		both := dir.ClientPair(key)
		if err := atomicfile.Write(both, slices.Concat(pair.Cert, pair.Key)); err != nil {
			return err
		}
		data, err := kubeconfig.Render(kubeconfig.User{Name: cfg.Context, Server: in.LocalURL(), CA: in.PKI.CA, PairFile: both})
		if err != nil {
			return err
		}
		if err := atomicfile.Write(dir.Kubeconfig(key), data); err != nil {
			return err
		}
	}
	admin := in.PKI.Clients[adminKey]
	data, err := kubeconfig.Render(kubeconfig.User{
		Name: cfg.Context, Server: in.AdvertisedURL(), CA: in.PKI.CA, Cert: admin.Cert, Key: admin.Key,
	})
	if err != nil {
		return err
	}
	path := cfg.Kubeconfig
	if path == "" {
		path = dir.AdminKubeconfig()
	}
	return atomicfile.Write(path, data)
}
