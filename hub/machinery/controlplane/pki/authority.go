package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"slices"
	"time"

	"fairlead.dev/hub/machinery/controlplane/atomicfile"
)

const (
	authorityValidity = 10 * 365 * 24 * time.Hour
	// DefaultValidity is the validity of certificates that authorities sign.
	DefaultValidity = 365 * 24 * time.Hour
	// skew is by how much certificates are backdated, for members whose clock is a little behind.
	skew = 5 * time.Minute
)

// Authority signs certificates.
type Authority struct {
	// PEM is the certificate of the authority, followed by that of another trusted authority during an exchange: the
	// previous or the next one.
	PEM  []byte
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Pair is a certificate and its key in PEM.
type Pair struct {
	Cert, Key []byte
}

// Subject is the subject of a leaf certificate.
type Subject struct {
	Name   string
	Groups []string
	// Hosts are the names and addresses of a server. A certificate without hosts is a client certificate.
	Hosts []string
}

// LoadOrCreate returns the authority in two files, and creates it if there is no certificate. Of several certificates
// the first one is that of the authority, and of several keys the matching one.
func LoadOrCreate(certPath, keyPath, name string, now time.Time) (*Authority, error) {
	certPEM, err := os.ReadFile(certPath)
	if errors.Is(err, fs.ErrNotExist) {
		return create(certPath, keyPath, name, now)
	}
	if err != nil {
		return nil, fmt.Errorf("reading authority: %w", err)
	}
	cert, err := parseCert(certPEM)
	if err != nil {
		return nil, fmt.Errorf("reading authority %q: %w", certPath, err)
	}
	keys, err := readKeys(keyPath)
	if err != nil {
		return nil, err
	}
	own := slices.IndexFunc(keys, func(key *ecdsa.PrivateKey) bool { return key.PublicKey.Equal(cert.PublicKey) })
	if own < 0 {
		return nil, fmt.Errorf("key %q does not belong to certificate %q", keyPath, certPath)
	}
	if now.Before(cert.NotBefore) {
		return nil, fmt.Errorf("authority %q is good from %s on, and by the clock of this machine it is %s: nobody would accept a certificate of it; set the clock",
			certPath, cert.NotBefore.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	if now.After(cert.NotAfter) {
		return nil, fmt.Errorf("authority %q expired on %s", certPath, cert.NotAfter.Format(time.DateOnly))
	}
	return &Authority{PEM: certPEM, cert: cert, key: keys[own]}, nil
}

// create writes the key first: for LoadOrCreate, the certificate means that the authority is complete. An existing key,
// for instance after a start that was killed between the two writes, is kept and used for the new certificate: it may
// be all that is left of an authority.
func create(certPath, keyPath, name string, now time.Time) (*Authority, error) {
	key, err := readKey(keyPath)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = newKey(keyPath)
	}
	if err != nil {
		return nil, fmt.Errorf("making authority %q: %w", name, err)
	}
	a, err := selfSign(key, name, now.Add(-skew), now.Add(authorityValidity))
	if err != nil {
		return nil, err
	}
	return a, atomicfile.Write(certPath, a.PEM)
}

// selfSign creates the certificate of an authority.
func selfSign(key *ecdsa.PrivateKey, name string, from, until time.Time) (*Authority, error) {
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             from,
		NotAfter:              until,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("signing authority %q: %w", name, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parsing authority %q: %w", name, err)
	}
	return &Authority{PEM: encodeCert(der), cert: cert, key: key}, nil
}

// pair returns the authority alone, for a program that signs with it.
func (a *Authority) pair() (Pair, error) {
	keyPEM, err := encodeKey(a.key)
	return Pair{Cert: encodeCert(a.cert.Raw), Key: keyPEM}, err
}

// Issue signs a certificate for a new key.
func (a *Authority) Issue(s Subject, validity time.Duration, now time.Time) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("generating key for %q: %w", s.Name, err)
	}
	serial, err := newSerial()
	if err != nil {
		return Pair{}, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: s.Name, Organization: s.Groups},
		NotBefore:    now.Add(-skew),
		NotAfter:     now.Add(validity),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if template.NotAfter.After(a.cert.NotAfter) {
		template.NotAfter = a.cert.NotAfter
	}
	if len(s.Hosts) > 0 {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		template.IPAddresses, template.DNSNames = splitHosts(s.Hosts)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("signing certificate for %q: %w", s.Name, err)
	}
	keyPEM, err := encodeKey(key)
	return Pair{Cert: encodeCert(der), Key: keyPEM}, err
}

func splitHosts(hosts []string) (ips []net.IP, names []string) {
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			ips = append(ips, ip)
		} else {
			names = append(names, h)
		}
	}
	return ips, names
}

func newSerial() (*big.Int, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("choosing serial number: %w", err)
	}
	return serial, nil
}

func encodeCert(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
