package peers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// identity is how a replica identifies itself to the others.
type identity struct {
	// id is its name: the machine's, and some random digits.
	id   string
	pin  string
	cert tls.Certificate
}

// randomDigits distinguish two starts on one machine.
const randomDigits = 5

// newIdentity makes the name and key of a replica on a machine.
func newIdentity(host string, now time.Time) (identity, error) {
	var random [randomDigits]byte
	if _, err := rand.Read(random[:]); err != nil {
		return identity{}, fmt.Errorf("making the name of this replica: %w", err)
	}
	me := identity{id: replicaID(host, hex.EncodeToString(random[:]))}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return identity{}, fmt.Errorf("making the key of this replica: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: me.id},
		// Nobody checks these: what counts is whether the key's pin is in a Lease.
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.AddDate(10, 0, 0),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return identity{}, fmt.Errorf("making the certificate of this replica: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return identity{}, fmt.Errorf("reading the certificate of this replica: %w", err)
	}
	me.pin, me.cert = pinOf(leaf), tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
	return me, nil
}

// replicaID returns the name of a replica: the machine's name, as far as it is allowed in the name of a Lease, and the
// random digits.
func replicaID(host, random string) string {
	const most = validation.DNS1123LabelMaxLength - 2*randomDigits - len("-")
	host = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		default:
			return -1
		}
	}, strings.ToLower(strings.SplitN(host, ".", 2)[0]))
	host = strings.Trim(host[:min(len(host), most)], "-")
	if host == "" {
		host = "hub"
	}
	return host + "-" + random
}

// pinOf returns the hash of a certificate's public key.
func pinOf(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:])
}

// errUnknownReplica says that the other end of a connection is not a known replica.
var errUnknownReplica = errors.New("the other end shows no key of a replica of this hub")

// tls returns the TLS configuration between replicas. It calls verify with the pin of the other end.
func (i identity) tls(verify func(pin string) error) *tls.Config {
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{i.cert},
		NextProtos:   []string{"http/1.1"},
		ClientAuth:   tls.RequireAnyClientCert,
		// The certificate of the other end is self-signed; VerifyConnection checks its key, at every handshake.
		InsecureSkipVerify:     true, //nolint:gosec // see above
		SessionTicketsDisabled: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 {
				return errUnknownReplica
			}
			return verify(pinOf(state.PeerCertificates[0]))
		},
	}
}
