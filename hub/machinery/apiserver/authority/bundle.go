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

// Phase is how far an exchange is.
type Phase string

// Phases.
const (
	// Steady: there is one authority.
	Steady Phase = "Steady"
	// Overlap: a new one is trusted, too; the old one signs.
	Overlap Phase = "Overlap"
	// Switched: the new one signs; the old one is trusted still.
	Switched Phase = "Switched"
)

const (
	validity = 10 * 365 * 24 * time.Hour
	// skew lets a member whose clock is a little behind accept a fresh authority.
	skew = 5 * time.Minute
	// most is how many authorities there are at a time.
	most = 2
)

// Bundle is the authorities that are trusted; the first signs.
type Bundle []*x509.Certificate

// Parse reads a bundle from PEM. One that is not of an exchange is an error.
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

// Phase says how far the exchange is: of two authorities, the one that began later is new.
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

// Signs is the authority that signs.
func (b Bundle) Signs() *x509.Certificate { return b[0] }

// New is the authority that is to stay.
func (b Bundle) New() *x509.Certificate {
	if b.Phase() == Overlap {
		return b[1]
	}
	return b[0]
}

// Old is the authority that is to go; nil if none is.
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

// Reversed has the other authority sign.
func (b Bundle) Reversed() Bundle {
	other := slices.Clone(b)
	slices.Reverse(other)
	return other
}

// Hash is by which agents know an authority.
func Hash(cert *x509.Certificate) string { return Bundle{cert}.hashes()[0] }

func (b Bundle) hashes() []string {
	hashes, err := bootstrap.CAHash(b.Encode())
	if err != nil {
		panic(err) // each was parsed
	}
	return hashes
}

// Make makes an authority that follows another, and its key.
func Make(before *x509.Certificate, now time.Time) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("making a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)) //nolint:mnd // bits, fewer than the 20 bytes that are allowed
	if err != nil {
		return nil, nil, fmt.Errorf("choosing a serial number: %w", err)
	}
	// The phases are told by which is younger, and the time of a certificate has seconds only.
	from := now.Add(-skew).UTC().Truncate(time.Second)
	if !from.After(before.NotBefore) {
		from = before.NotBefore.Add(time.Second)
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		// Another name than that of before, for people and for what looks authorities up by it.
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

// KeyOf returns the key of an authority, of those in PEM.
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
