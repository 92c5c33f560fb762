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

// Bundle is where the components find their files, and what their kubeconfigs are made of.
type Bundle struct {
	dir string
	// CA is the PEM bundle that clients trust: the certificate of the cluster authority, and during an exchange also that of the other authority.
	CA []byte
	// Clients holds a client certificate for each name that Ensure was asked for.
	Clients map[string]Pair

	leaves         Leaves
	ca, frontProxy *Authority
	// issued is when all certificates were issued that authorities sign, and ends when the first of them does.
	issued, ends time.Time
}

// Client asks Ensure for a client certificate.
type Client struct {
	// Key is the name in Bundle.Clients.
	Key     string
	Subject Subject
}

// Leaves are the certificates that authorities sign.
type Leaves struct {
	// Hosts are the names and addresses of kube-apiserver.
	Hosts   []string
	Clients []Client
	// Kubelet is the address of kubelets, and KubeletClient the name by which kube-apiserver calls them; without an address there are none.
	Kubelet, KubeletClient string
	// Validity is how long they are good; 0 is by default.
	Validity time.Duration
}

// Ensure makes what is missing in dir, issues every leaf certificate anew and returns the lot.
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

// Issue issues every leaf certificate anew, with the authorities that there were at the start: another one signs when others know it.
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
	// What follows is by the clock that people see, which is put right now and then; the other one goes on as if nothing were.
	b.issued, b.ends = b.issued.Round(0), b.ends.Round(0)
	return nil
}

// IsDue says that the leaf certificates had better be issued anew: a third of their time is left, or they are yet to become good by a clock that
// was ahead when they were issued.
func (b *Bundle) IsDue(now time.Time) bool {
	return now.Before(b.issued.Add(-skew)) || b.ends.Sub(now) < b.ends.Sub(b.issued)/3
}

// Lasting names the files that are made once, in the directory of a Bundle: nobody trusts a control plane that has lost
// them, and nothing else is needed to make the rest again.
func Lasting() []string {
	return []string{caCert, caKey, frontProxyCACert, frontProxyCAKey, serviceAccountKey}
}

// IsFrontProxy says whether a lasting file is of the front-proxy authority, see RenewFrontProxy.
func IsFrontProxy(name string) bool { return name == frontProxyCACert || name == frontProxyCAKey }

// Missing names the lasting files that are not in a directory.
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

// Hashes tell the lasting files of two directories apart, and tell nothing of keys.
type Hashes struct {
	// Trusted are the hashes of the cluster authorities; the first of them signs.
	Trusted []string
	// FrontProxy is the hash of the front-proxy authority, ServiceAccount that of the key of service accounts.
	FrontProxy, ServiceAccount string
}

// HashesOf returns the hashes of a directory; none unless all is there, as where the first Ensure has not been, or was killed.
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

// certificateHashes returns those of the keys of the certificates in a file, of which there is at least one: as in join commands.
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
