package hollow

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"fairlead.dev/agent/registration"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/registration/record"
)

// skew is how far NotBefore lies in the past, as in the certificates that a hub issues.
const skew = 5 * time.Minute

// authority signs the certificates of agents, as the hub's API does for agents that join.
type authority struct {
	cert *x509.Certificate
	key  crypto.PrivateKey
}

// readAuthority reads the signing authority from the PKI directory of a hub's API.
func readAuthority(pki string) (*authority, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(pki, "ca-signing.crt"), filepath.Join(pki, "ca-signing.key"))
	if err != nil {
		return nil, fmt.Errorf("reading the authority of the hub's API: %w", err)
	}
	return &authority{cert: pair.Leaf, key: pair.PrivateKey}, nil
}

// issue signs a certificate for the agent of a cluster, and returns it with the join ID of its key.
func (a *authority) issue(cluster string, key *ecdsa.PrivateKey, now time.Time) (certificate []byte, join string, err error) {
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return nil, "", fmt.Errorf("encoding the public key of %q: %w", cluster, err)
	}
	join = contract.JoinID(public)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		Subject: pkix.Name{
			CommonName: contract.AgentUser(cluster), Organization: []string{contract.AgentGroup, contract.JoinGroup(join)},
		},
		NotBefore: now.Add(-skew), NotAfter: now.Add(contract.CertificateLifetimeSeconds * time.Second),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, BasicConstraintsValid: true,
	}, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return nil, "", fmt.Errorf("signing the certificate of %q: %w", cluster, err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), join, nil
}

// stateDir returns the state directory of the agent of a cluster.
func (f *Fleet) stateDir(cluster string) string { return filepath.Join(f.options.Dir, cluster) }

// Config returns the configuration with which the agent of a cluster reaches the hub.
func (f *Fleet) Config(cluster string) (*rest.Config, error) {
	return registration.Load(f.stateDir(cluster), cluster)
}

// admit gives the agent of a cluster the result of a join: a certificate for its own key, in a state directory. It
// returns what the hub would have recorded of the join.
func (f *Fleet) admit(cluster, memberID string) (record.Joined, record.Certificate, error) {
	var issued record.Certificate
	joined := record.Joined{At: time.Now().UTC().Truncate(time.Second)}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return joined, issued, fmt.Errorf("making a key for %q: %w", cluster, err)
	}
	certificate, join, err := f.authority.issue(cluster, key, joined.At)
	if err != nil {
		return joined, issued, err
	}
	if issued, err = record.Of(certificate); err != nil {
		return joined, issued, err
	}
	joined.ID = join
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return joined, issued, fmt.Errorf("encoding the key of %q: %w", cluster, err)
	}
	hub := f.options.Hub
	kubeconfig, err := clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"hub": {Server: hub.Host, CertificateAuthorityData: hub.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{cluster: {
			ClientCertificateData: certificate, ClientKeyData: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}),
		}},
		Contexts:       map[string]*clientcmdapi.Context{cluster: {Cluster: "hub", AuthInfo: cluster}},
		CurrentContext: cluster,
	})
	if err != nil {
		return joined, issued, fmt.Errorf("encoding the kubeconfig of %q: %w", cluster, err)
	}
	who, err := json.Marshal(map[string]string{"cluster": cluster, "server": hub.Host, "memberID": memberID})
	if err != nil {
		return joined, issued, fmt.Errorf("encoding who %q is: %w", cluster, err)
	}
	return joined, issued, registration.WriteFiles(f.stateDir(cluster), map[string][]byte{"agent.json": who, registration.KubeconfigFile: kubeconfig})
}
