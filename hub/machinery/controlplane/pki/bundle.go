package pki

import (
	"path/filepath"
	"time"

	"fairlead.dev/hub/machinery/controlplane/atomicfile"
)

// Bundle is where the components find their files, and what their kubeconfigs are made of.
type Bundle struct {
	dir string
	// CA is what clients trust: the certificate of the cluster authority, and while it is exchanged that of the other.
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
	signing, err := ca.pair()
	if err != nil {
		return nil, err
	}
	if err := write(signing, b.SigningCertFile(), b.SigningKeyFile()); err != nil {
		return nil, err
	}
	frontProxy, err := LoadOrCreate(b.FrontProxyCAFile(), b.path(frontProxyCAKey), "fairlead-front-proxy-ca", now)
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

// Lasting names the files that are made once, in the directory of a Bundle: nobody trusts a control plane that has lost
// them, and nothing else is needed to make the rest again.
func Lasting() []string {
	return []string{caCert, caKey, frontProxyCACert, frontProxyCAKey, serviceAccountKey}
}

// Check says what is wrong with the lasting files of a directory, of which all are there.
func Check(dir string, now time.Time) error {
	b := &Bundle{dir: dir}
	if _, err := LoadOrCreate(b.CAFile(), b.CAKeyFile(), "", now); err != nil {
		return err
	}
	if _, err := LoadOrCreate(b.FrontProxyCAFile(), b.path(frontProxyCAKey), "", now); err != nil {
		return err
	}
	_, err := readKey(b.ServiceAccountKeyFile())
	return err
}

// Names of the lasting files.
const (
	caCert            = "ca.crt"
	caKey             = "ca.key"
	frontProxyCACert  = "front-proxy-ca.crt"
	frontProxyCAKey   = "front-proxy-ca.key"
	serviceAccountKey = "sa.key"
)

func write(p Pair, certPath, keyPath string) error {
	if err := atomicfile.Write(keyPath, p.Key); err != nil {
		return err
	}
	return atomicfile.Write(certPath, p.Cert)
}

// FrontProxyName is the only name that kube-apiserver believes when it is handed a user by a proxy.
const FrontProxyName = "front-proxy-client"

func (b *Bundle) path(name string) string { return filepath.Join(b.dir, name) }

// CAFile has the certificates of the authorities that are trusted. The first is the cluster authority, which signs.
func (b *Bundle) CAFile() string { return b.path(caCert) }

// CAKeyFile has the keys of these authorities, in any order.
func (b *Bundle) CAKeyFile() string { return b.path(caKey) }

// SigningCertFile is the certificate of the cluster authority alone: kube-controller-manager signs with no bundle.
func (b *Bundle) SigningCertFile() string { return b.path("ca-signing.crt") }

// SigningKeyFile is the key that goes with SigningCertFile.
func (b *Bundle) SigningKeyFile() string { return b.path("ca-signing.key") }

// ServingCertFile is the certificate of kube-apiserver.
func (b *Bundle) ServingCertFile() string { return b.path("apiserver.crt") }

// ServingKeyFile is the key of kube-apiserver.
func (b *Bundle) ServingKeyFile() string { return b.path("apiserver.key") }

// FrontProxyCAFile is the certificate of the front-proxy authority.
func (b *Bundle) FrontProxyCAFile() string { return b.path(frontProxyCACert) }

// FrontProxyCertFile is the certificate that kube-apiserver shows to aggregated APIs.
func (b *Bundle) FrontProxyCertFile() string { return b.path("front-proxy-client.crt") }

// FrontProxyKeyFile is the key that goes with FrontProxyCertFile.
func (b *Bundle) FrontProxyKeyFile() string { return b.path("front-proxy-client.key") }

// ServiceAccountKeyFile signs the tokens of service accounts.
func (b *Bundle) ServiceAccountKeyFile() string { return b.path(serviceAccountKey) }

// ServiceAccountPublicKeyFile verifies the tokens of service accounts.
func (b *Bundle) ServiceAccountPublicKeyFile() string { return b.path("sa.pub") }
