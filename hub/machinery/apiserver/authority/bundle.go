package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"fairlead.dev/common/bootstrap"
)

// Phase is the phase of an exchange.
type Phase string

// The phases.
const (
	// Steady means that there is one authority.
	Steady Phase = "Steady"
	// Overlap means that the new authority is trusted as well, and the old one signs.
	Overlap Phase = "Overlap"
	// Switched means that the new authority signs, and the old one is still trusted.
	Switched Phase = "Switched"
)

const (
	validity = 10 * 365 * 24 * time.Hour
	// skew is by how much an authority is backdated, for members whose clock is a little behind.
	skew = 5 * time.Minute
	// most is the maximum number of authorities at a time.
	most = 2
)

// Bundle has the trusted authorities; the first one signs.
type Bundle []*x509.Certificate

// Parse parses a bundle in PEM. It returns an error unless the bundle is one of the phases of an exchange.
func Parse(data []byte) (Bundle, error) {
	var b Bundle
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("reading a certificate authority: %w", err)
		}
		b = append(b, cert)
	}
	switch {
	case len(b) == 0:
		return nil, errors.New("reading a certificate authority: there is no certificate in it")
	case len(b) > most:
		return nil, fmt.Errorf("there are %d certificate authorities; this hub exchanges one for another and made none of the rest", len(b))
	}
	return b, nil
}

// Encode returns the bundle as PEM.
func (b Bundle) Encode() []byte {
	var out []byte
	for _, cert := range b {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})...)
	}
	return out
}

// Phase returns the phase of the exchange. Of two authorities, the one with the later start time is the new one.
func (b Bundle) Phase() Phase {
	switch {
	case len(b) < most:
		return Steady
	case b[0].NotBefore.Before(b[1].NotBefore):
		return Overlap
	default:
		return Switched
	}
}

// Signs returns the authority that signs.
func (b Bundle) Signs() *x509.Certificate { return b[0] }

// New returns the authority that will stay.
func (b Bundle) New() *x509.Certificate {
	if b.Phase() == Overlap {
		return b[1]
	}
	return b[0]
}

// Old returns the authority that will be removed; nil if none will.
func (b Bundle) Old() *x509.Certificate {
	switch b.Phase() {
	case Overlap:
		return b[0]
	case Switched:
		return b[1]
	default:
		return nil
	}
}

// Reversed returns the bundle with the other authority signing.
func (b Bundle) Reversed() Bundle {
	other := slices.Clone(b)
	slices.Reverse(other)
	return other
}

// Hash returns the hash by which agents pin an authority.
func Hash(cert *x509.Certificate) string { return Bundle{cert}.hashes()[0] }

func (b Bundle) hashes() []string {
	hashes, err := bootstrap.CAHash(b.Encode())
	if err != nil {
		panic(err) // cannot happen: all were parsed
	}
	return hashes
}

// Make makes a new authority to replace another one, and its key.
func Make(before *x509.Certificate, now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("making a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)) //nolint:mnd // bits, fewer than the 20 bytes that are allowed
	if err != nil {
		return nil, nil, fmt.Errorf("choosing a serial number: %w", err)
	}
	// The start times tell old and new apart, and a certificate has them in seconds.
	from := now.Add(-skew).UTC().Truncate(time.Second)
	if !from.After(before.NotBefore) {
		from = before.NotBefore.Add(time.Second)
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		// A name that differs from the old one's, for people, and for programs that look authorities up by name.
		Subject:               pkix.Name{CommonName: "fairlead-ca-" + now.UTC().Format("20060102-150405")},
		NotBefore:             from,
		NotAfter:              from.Add(validity),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, nil, fmt.Errorf("signing a certificate authority: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, fmt.Errorf("reading a certificate authority: %w", err)
	}
	return cert, key, nil
}

// EncodeKeys returns keys as PEM.
func EncodeKeys(keys ...*ecdsa.PrivateKey) ([]byte, error) {
	var out []byte
	for _, key := range keys {
		der, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			return nil, fmt.Errorf("encoding a key: %w", err)
		}
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})...)
	}
	return out, nil
}

// KeyOf returns the key of an authority from keys in PEM.
func KeyOf(cert *x509.Certificate, data []byte) (*ecdsa.PrivateKey, error) {
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		key, err := x509.ParseECPrivateKey(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("reading a key: %w", err)
		}
		if key.PublicKey.Equal(cert.PublicKey) {
			return key, nil
		}
	}
	return nil, fmt.Errorf("the key of certificate authority %q is missing", cert.Subject.CommonName)
}
