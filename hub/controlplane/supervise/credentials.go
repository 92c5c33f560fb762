package supervise

import (
	"time"

	"fairlead.dev/hub/controlplane/args"
	"fairlead.dev/hub/controlplane/atomicfile"
	"fairlead.dev/hub/controlplane/datadir"
	"fairlead.dev/hub/controlplane/kubeconfig"
	"fairlead.dev/hub/controlplane/pki"
)

const adminKey = "admin"

// clients are the identities that get a certificate. The names of the first two are those to which the API server
// binds its built-in roles.
func clients() []pki.Client {
	return []pki.Client{
		{Key: "kube-controller-manager", Subject: pki.Subject{Name: "system:kube-controller-manager"}},
		{Key: "kube-scheduler", Subject: pki.Subject{Name: "system:kube-scheduler"}},
		{Key: "kwok", Subject: pki.Subject{Name: "kwok", Groups: []string{"system:masters"}}},
		{Key: adminKey, Subject: pki.Subject{Name: "admin", Groups: []string{"system:masters"}}},
	}
}

// writeCredentials makes all certificates, then the kubeconfigs of the components and of the user. It returns the
// kubeconfig that the supervisor itself uses.
func writeCredentials(cfg Config, dir *datadir.Dir, in *args.Input, hosts []string, now time.Time) ([]byte, error) {
	bundle, err := pki.Ensure(dir.PKI(), hosts, clients(), now)
	if err != nil {
		return nil, err
	}
	in.PKI = bundle
	var own []byte
	for key, pair := range bundle.Clients {
		data, err := kubeconfig.Render(kubeconfig.User{
			Name: cfg.Context, Server: in.LocalURL(), CA: bundle.CA, Cert: pair.Cert, Key: pair.Key,
		})
		if err != nil {
			return nil, err
		}
		if key == adminKey {
			own = data
			continue
		}
		if err := atomicfile.Write(dir.Kubeconfig(key), data); err != nil {
			return nil, err
		}
	}
	admin := bundle.Clients[adminKey]
	data, err := kubeconfig.Render(kubeconfig.User{
		Name: cfg.Context, Server: in.AdvertisedURL(), CA: bundle.CA, Cert: admin.Cert, Key: admin.Key,
	})
	if err != nil {
		return nil, err
	}
	path := cfg.Kubeconfig
	if path == "" {
		path = dir.AdminKubeconfig()
	}
	return own, atomicfile.Write(path, data)
}
