package pki

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"fairlead.dev/hub/machinery/controlplane/atomicfile"
)

// Bundle is the directory of the components' certificates and keys, with the content of their kubeconfigs.
type Bundle struct {
	dir string
	// CA is the PEM bundle that clients trust: the certificate of the cluster authority, and during an exchange also
	// that of the other authority.
	CA []byte
	// Clients has a client certificate for each requested name.
	Clients map[string]Pair

	leaves         Leaves
	ca, frontProxy *Authority
	// issued is when the leaf certificates were issued, and ends when the first of them expires.
	issued, ends time.Time
}

// Client is a requested client certificate.
type Client struct {
	// Key is the name in Bundle.Clients.
	Key     string
	Subject Subject
}

// Leaves are the leaf certificates to issue.
type Leaves struct {
	// Hosts are the names and addresses of kube-apiserver.
	Hosts   []string
	Clients []Client
	// Kubelet is the address of the kubelets, and KubeletClient the name with which kube-apiserver authenticates to
	// them; without an address there are none.
	Kubelet, KubeletClient string
	// Validity is how long they are valid; 0 is the default.
	Validity time.Duration
}

// Ensure creates what is missing in a directory, issues all leaf certificates, and returns the bundle.
func Ensure(dir string, leaves Leaves, now time.Time) (*Bundle, error) {
	if leaves.Validity == 0 {
		leaves.Validity = DefaultValidity
	}
	b := &Bundle{dir: dir, leaves: leaves}
	var err error
	if b.ca, err = LoadOrCreate(b.CAFile(), b.CAKeyFile(), "fairlead-ca", now); err != nil {
		return nil, err
	}
	b.CA = b.ca.PEM
	signing, err := b.ca.pair()
	if err != nil {
		return nil, err
	}
	if err := write(signing, b.SigningCertFile(), b.SigningKeyFile()); err != nil {
		return nil, err
	}
	if b.frontProxy, err = LoadOrCreate(b.FrontProxyCAFile(), b.path(frontProxyCAKey), "fairlead-front-proxy-ca", now); err != nil {
		return nil, err
	}
	if err := ensureServiceAccountKey(b.ServiceAccountKeyFile(), b.ServiceAccountPublicKeyFile()); err != nil {
		return nil, err
	}
	return b, b.Issue(now)
}

// Issue issues all leaf certificates, with the authorities that were valid at the start: another one may only sign once
// others trust it.
func (b *Bundle) Issue(now time.Time) error {
	for _, authority := range []*Authority{b.ca, b.frontProxy} {
		if now.Before(authority.cert.NotBefore) || now.After(authority.cert.NotAfter) {
			return fmt.Errorf("%s is good from %s to %s, and by the clock of this machine it is %s: set the clock, or restore the hub with another authority",
				authority.cert.Subject.CommonName, authority.cert.NotBefore.Format(time.RFC3339), authority.cert.NotAfter.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
		}
	}
	validity := b.leaves.Validity
	serving, err := b.ca.Issue(Subject{Name: "kube-apiserver", Hosts: b.leaves.Hosts}, validity, now)
	if err != nil {
		return err
	}
	if err := write(serving, b.ServingCertFile(), b.ServingKeyFile()); err != nil {
		return err
	}
	proxy, err := b.frontProxy.Issue(Subject{Name: FrontProxyName}, validity, now)
	if err != nil {
		return err
	}
	if err := write(proxy, b.FrontProxyCertFile(), b.FrontProxyKeyFile()); err != nil {
		return err
	}
	clients := make(map[string]Pair, len(b.leaves.Clients))
	for _, c := range b.leaves.Clients {
		if clients[c.Key], err = b.ca.Issue(c.Subject, validity, now); err != nil {
			return err
		}
	}
	if err := b.issueKubelet(now); err != nil {
		return err
	}
	b.Clients, b.issued, b.ends = clients, now, now.Add(validity)
	for _, authority := range []*Authority{b.ca, b.frontProxy} {
		if end := authority.cert.NotAfter; end.Before(b.ends) {
			b.ends = end
		}
	}
	// Compare with the wall clock, which may be corrected; the monotonic clock ignores that.
	b.issued, b.ends = b.issued.Round(0), b.ends.Round(0)
	return nil
}

// IsDue says whether to renew the leaf certificates: a third of their validity is left, or they are not valid yet
// because the clock was ahead when they were issued.
func (b *Bundle) IsDue(now time.Time) bool {
	return now.Before(b.issued.Add(-skew)) || b.ends.Sub(now) < b.ends.Sub(b.issued)/3
}

// Lasting returns the names of the files that are created once: a control plane that has lost them is trusted by
// nobody, and everything else can be recreated.
func Lasting() []string {
	return []string{caCert, caKey, frontProxyCACert, frontProxyCAKey, serviceAccountKey}
}

// IsFrontProxy says whether a lasting file belongs to the front-proxy authority, see RenewFrontProxy.
func IsFrontProxy(name string) bool { return name == frontProxyCACert || name == frontProxyCAKey }

// Missing returns the names of the lasting files that are not in a directory.
func Missing(dir string) ([]string, error) {
	var out []string
	for _, name := range Lasting() {
		_, err := os.Stat(filepath.Join(dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			out = append(out, name)
		case err != nil:
			return nil, fmt.Errorf("looking for certificates and keys: %w", err)
		}
	}
	return out, nil
}

// Check checks the lasting files in a directory, all of which must exist.
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

// The names of the lasting files.
const (
	caCert            = "ca.crt"
	caKey             = "ca.key"
	frontProxyCACert  = "front-proxy-ca.crt"
	frontProxyCAKey   = "front-proxy-ca.key"
	serviceAccountKey = "sa.key"
)

// Hashes identify the lasting files of a directory without revealing keys.
type Hashes struct {
	// Trusted are the hashes of the cluster authorities; the first one signs.
	Trusted []string
	// FrontProxy is the hash of the front-proxy authority, and ServiceAccount that of the service account key.
	FrontProxy, ServiceAccount string
}

// HashesOf returns the hashes of a directory; the zero value unless it is complete, for instance if the first Ensure
// was interrupted.
func HashesOf(dir string) (Hashes, error) {
	b := &Bundle{dir: dir}
	for _, path := range []string{b.CAFile(), b.FrontProxyCAFile(), b.ServiceAccountKeyFile()} {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return Hashes{}, nil
		}
	}
	authorities, err := certificateHashes(b.CAFile())
	if err != nil {
		return Hashes{}, err
	}
	proxy, err := certificateHashes(b.FrontProxyCAFile())
	if err != nil {
		return Hashes{}, err
	}
	account, err := readKey(b.ServiceAccountKeyFile())
	if err != nil {
		return Hashes{}, err
	}
	der, err := x509.MarshalPKIXPublicKey(&account.PublicKey)
	if err != nil {
		return Hashes{}, fmt.Errorf("encoding public key for service accounts: %w", err)
	}
	return Hashes{Trusted: authorities, FrontProxy: proxy[0], ServiceAccount: hash(der)}, nil
}

// certificateHashes returns the hashes of the public keys of the certificates in a file, in the same format as join
// commands. There must be at least one.
func certificateHashes(path string) ([]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading authority: %w", err)
	}
	var out []string
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("reading authority %q: %w", path, err)
		}
		out = append(out, hash(cert.RawSubjectPublicKeyInfo))
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("reading authority %q: no PEM block found", path)
	}
	return out, nil
}

func hash(der []byte) string {
	sum := sha256.Sum256(der)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func write(p Pair, certPath, keyPath string) error {
	if err := atomicfile.Write(keyPath, p.Key); err != nil {
		return err
	}
	return atomicfile.Write(certPath, p.Cert)
}

// FrontProxyName is the only common name from which kube-apiserver accepts user headers.
const FrontProxyName = "front-proxy-client"

func (b *Bundle) path(name string) string { return filepath.Join(b.dir, name) }

// CAFile has the certificates of the trusted authorities. The first one is the cluster authority, which signs.
func (b *Bundle) CAFile() string { return b.path(caCert) }

// CAKeyFile has the keys of these authorities in any order.
func (b *Bundle) CAKeyFile() string { return b.path(caKey) }

// SigningCertFile is the certificate of the cluster authority alone: kube-controller-manager cannot sign with a bundle.
func (b *Bundle) SigningCertFile() string { return b.path("ca-signing.crt") }

// SigningKeyFile is the key for SigningCertFile.
func (b *Bundle) SigningKeyFile() string { return b.path("ca-signing.key") }

// ServingCertFile is the certificate of kube-apiserver.
func (b *Bundle) ServingCertFile() string { return b.path("apiserver.crt") }

// ServingKeyFile is the key of kube-apiserver.
func (b *Bundle) ServingKeyFile() string { return b.path("apiserver.key") }

// FrontProxyCAFile is the certificate of the front-proxy authority.
func (b *Bundle) FrontProxyCAFile() string { return b.path(frontProxyCACert) }

// FrontProxyCertFile is the certificate with which kube-apiserver authenticates to aggregated APIs.
func (b *Bundle) FrontProxyCertFile() string { return b.path("front-proxy-client.crt") }

// FrontProxyKeyFile is the key for FrontProxyCertFile.
func (b *Bundle) FrontProxyKeyFile() string { return b.path("front-proxy-client.key") }

// ServiceAccountKeyFile is the key that signs service account tokens.
func (b *Bundle) ServiceAccountKeyFile() string { return b.path(serviceAccountKey) }

// ServiceAccountPublicKeyFile is the key that verifies service account tokens.
func (b *Bundle) ServiceAccountPublicKeyFile() string { return b.path("sa.pub") }
