package connect

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
)

// Settings of the group's APIService and its certificate.
const (
	// EmbeddedService is the Service behind the group if the hub runs the embedded API.
	EmbeddedService = "fairlead-connect"
	// certificateSecret is the Secret of the certificate that all replicas share.
	certificateSecret = "fairlead-connect-serving"
	// The priority of the group is low, so that `kubectl get lines` means another API's lines if there is one.
	groupPriority   = 100
	versionPriority = 10
	// The certificate is self-signed, and is the CA bundle of the APIService. It is replaced when less than
	// certificateRest of its validity is left. certificateSkew is by how much it is backdated.
	certificateValidity = 10 * 365 * 24 * time.Hour
	certificateRest     = 365 * 24 * time.Hour
	certificateSkew     = 5 * time.Minute
)

// Place is the Service through which an API server reaches the hub.
type Place struct {
	// Namespace and Name are those of the Service.
	Namespace, Name string
	// Port is the port of the Service.
	Port int32
	// Loopback says that the Service is to be created with an endpoint on this machine.
	Loopback bool
}

// host is the host name that the API server expects in the hub's certificate.
func (p Place) host() string { return p.Name + "." + p.Namespace + ".svc" }

// Install makes the API server forward requests for the group to the hub, and returns the hub's serving certificate.
// Objects that are up to date are not written.
func Install(ctx context.Context, hub client.Client, p Place, now time.Time) (tls.Certificate, error) {
	certPEM, keyPEM, err := ensureCertificate(ctx, hub, p, now)
	if err != nil {
		return tls.Certificate{}, err
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("reading Secret %s/%s: %w; delete it, and the hub makes another", p.Namespace, certificateSecret, err)
	}
	if p.Loopback {
		service := &unstructured.Unstructured{Object: map[string]any{
			"spec": map[string]any{"type": "ExternalName", "externalName": "127.0.0.1"},
		}}
		service.SetAPIVersion("v1")
		service.SetKind("Service")
		service.SetNamespace(p.Namespace)
		service.SetName(p.Name)
		if err := apply(ctx, hub, service); err != nil {
			return tls.Certificate{}, err
		}
	}
	api := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": contract.ConnectGroup, "version": contract.ConnectVersion, "groupPriorityMinimum": int64(groupPriority), "versionPriority": int64(versionPriority),
		"service":  map[string]any{"namespace": p.Namespace, "name": p.Name, "port": int64(p.Port)},
		"caBundle": base64.StdEncoding.EncodeToString(certPEM),
	}}}
	api.SetAPIVersion("apiregistration.k8s.io/v1")
	api.SetKind("APIService")
	api.SetName(contract.ConnectVersion + "." + contract.ConnectGroup)
	return pair, apply(ctx, hub, api)
}

func apply(ctx context.Context, hub client.Client, obj *unstructured.Unstructured) error {
	kind, name := obj.GetKind(), obj.GetName()
	obj.SetLabels(map[string]string{contract.SystemLabel: contract.LabelTrue})
	err := hub.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner(contract.FieldManagerInstall), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("installing %s %q: %w", kind, name, err)
	}
	return nil
}

// ensureCertificate returns the certificate and key that all replicas share. The first replica creates them.
func ensureCertificate(ctx context.Context, hub client.Client, p Place, now time.Time) (certPEM, keyPEM []byte, err error) {
	key := client.ObjectKey{Namespace: p.Namespace, Name: certificateSecret}
	for {
		live := &corev1.Secret{}
		err := hub.Get(ctx, key, live)
		if client.IgnoreNotFound(err) != nil {
			return nil, nil, fmt.Errorf("reading Secret %s: %w", key, err)
		}
		if err == nil && isFor(live.Data[corev1.TLSCertKey], p.host(), now) {
			return live.Data[corev1.TLSCertKey], live.Data[corev1.TLSPrivateKeyKey], nil
		}
		certPEM, keyPEM, errMade := newCertificate(p.host(), now)
		if errMade != nil {
			return nil, nil, errMade
		}
		exists := err == nil
		live.Data = map[string][]byte{corev1.TLSCertKey: certPEM, corev1.TLSPrivateKeyKey: keyPEM}
		if exists {
			err = hub.Update(ctx, live)
		} else {
			live.ObjectMeta = metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{contract.SystemLabel: contract.LabelTrue}}
			live.Type = corev1.SecretTypeTLS
			err = hub.Create(ctx, live)
		}
		switch {
		case err == nil:
			return certPEM, keyPEM, nil
		case !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err):
			return nil, nil, fmt.Errorf("writing Secret %s: %w", key, err)
		}
		// Another replica created it first; use that one.
	}
}

// isFor says whether a certificate is for a host, and will be valid for long enough.
func isFor(certPEM []byte, host string, now time.Time) bool {
	block, _ := pem.Decode(certPEM)
	if block == nil {
		return false
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	return err == nil && cert.VerifyHostname(host) == nil && now.Add(certificateRest).Before(cert.NotAfter) && now.Add(certificateSkew).After(cert.NotBefore)
}

func newCertificate(host string, now time.Time) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("making a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, fmt.Errorf("choosing a serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: now.Add(-certificateSkew), NotAfter: now.Add(certificateValidity),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, nil, fmt.Errorf("signing the certificate of the hub: %w", err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("encoding the key of the hub: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), nil
}
