package pki

import (
	"path/filepath"
	"time"

	"fairlead.dev/hub/controlplane/atomicfile"
)

// Bundle is where the components find their files, and what their kubeconfigs are made of.
type Bundle struct {
	dir string
	// CA is the certificate of the cluster authority.
	CA []byte
	// Clients holds a client certificate for each name that Ensure was asked for.
	Clients map[string]Pair
}

// Client asks Ensure for a client certificate.
type Client struct {
	// Key is the name in Bundle.Clients.
	Key     string
	Subject Subject
}

// Ensure makes what is missing in dir, issues every leaf certificate anew and returns the lot.
func Ensure(dir string, hosts []string, clients []Client, now time.Time) (*Bundle, error) {
	b := &Bundle{dir: dir, Clients: make(map[string]Pair, len(clients))}
	ca, err := LoadOrCreate(b.CAFile(), b.CAKeyFile(), "fairlead-ca", now)
	if err != nil {
		return nil, err
	}
	b.CA = ca.PEM
	frontProxy, err := LoadOrCreate(b.FrontProxyCAFile(), b.path("front-proxy-ca.key"), "fairlead-front-proxy-ca", now)
	if err != nil {
		return nil, err
	}
	if err := ensureServiceAccountKey(b.ServiceAccountKeyFile(), b.ServiceAccountPublicKeyFile()); err != nil {
		return nil, err
	}

	serving, err := ca.Issue(Subject{Name: "kube-apiserver", Hosts: hosts}, now)
	if err != nil {
		return nil, err
	}
	if err := write(serving, b.ServingCertFile(), b.ServingKeyFile()); err != nil {
		return nil, err
	}
	proxy, err := frontProxy.Issue(Subject{Name: FrontProxyName}, now)
	if err != nil {
		return nil, err
	}
	if err := write(proxy, b.FrontProxyCertFile(), b.FrontProxyKeyFile()); err != nil {
		return nil, err
	}
	for _, c := range clients {
		if b.Clients[c.Key], err = ca.Issue(c.Subject, now); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func write(p Pair, certPath, keyPath string) error {
	if err := atomicfile.Write(keyPath, p.Key); err != nil {
		return err
	}
	return atomicfile.Write(certPath, p.Cert)
}

// FrontProxyName is the only name that kube-apiserver believes when it is handed a user by a proxy.
const FrontProxyName = "front-proxy-client"

func (b *Bundle) path(name string) string { return filepath.Join(b.dir, name) }

// CAFile is the certificate of the cluster authority.
func (b *Bundle) CAFile() string { return b.path("ca.crt") }

// CAKeyFile is the key of the cluster authority.
func (b *Bundle) CAKeyFile() string { return b.path("ca.key") }

// ServingCertFile is the certificate of kube-apiserver.
func (b *Bundle) ServingCertFile() string { return b.path("apiserver.crt") }

// ServingKeyFile is the key of kube-apiserver.
func (b *Bundle) ServingKeyFile() string { return b.path("apiserver.key") }

// FrontProxyCAFile is the certificate of the front-proxy authority.
func (b *Bundle) FrontProxyCAFile() string { return b.path("front-proxy-ca.crt") }

// FrontProxyCertFile is the certificate that kube-apiserver shows to aggregated APIs.
func (b *Bundle) FrontProxyCertFile() string { return b.path("front-proxy-client.crt") }

// FrontProxyKeyFile is the key that goes with FrontProxyCertFile.
func (b *Bundle) FrontProxyKeyFile() string { return b.path("front-proxy-client.key") }

// ServiceAccountKeyFile signs the tokens of service accounts.
func (b *Bundle) ServiceAccountKeyFile() string { return b.path("sa.key") }

// ServiceAccountPublicKeyFile verifies the tokens of service accounts.
func (b *Bundle) ServiceAccountPublicKeyFile() string { return b.path("sa.pub") }
