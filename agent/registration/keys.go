package registration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"fairlead.dev/common/contract"
)

// keyType is the PEM block type of a private key.
const keyType = "EC PRIVATE KEY"

// key returns the key of the pending join or renewal, or creates and saves one.
func (s state) key(file string) (key *ecdsa.PrivateKey, begun bool, err error) {
	if key, err = s.begunKey(file); key != nil || err != nil {
		return key, key != nil, err
	}
	if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, false, fmt.Errorf("making a key: %w", err)
	}
	raw, err := encodeKey(key)
	if err != nil {
		return nil, false, err
	}
	return key, false, s.write(file, raw)
}

// begunKey returns the key of a pending join or renewal; nil if there is none. A key whose join finished just before
// the process was killed does not count: with it the next join would equal this one, and a copy of its certificate
// would keep the rights that the join is to revoke.
func (s state) begunKey(file string) (*ecdsa.PrivateKey, error) {
	raw, err := s.read(file)
	if err != nil {
		return nil, err
	}
	key := parseKey(raw)
	if key == nil {
		return nil, nil //nolint:nilnil // that there is none is an answer
	}
	if raw, err = s.read(KubeconfigFile); raw == nil || err != nil {
		return key, err
	}
	config, err := parseKubeconfig(raw)
	if err != nil {
		return key, nil //nolint:nilerr // it is no certificate's
	}
	if ended := parseKey(config.KeyData); ended != nil && key.Equal(ended) || isOfJoin(key, config.CertData) {
		return nil, nil //nolint:nilnil // as above
	}
	return key, nil
}

// isOfJoin returns whether a certificate belongs to the join of a key, be it for that key or renewed since.
func isOfJoin(key *ecdsa.PrivateKey, certificate []byte) bool {
	cert, err := parseCertificate(certificate)
	if err != nil {
		return false
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	return err == nil && contract.JoinOf(cert.Subject.Organization) == contract.JoinID(public)
}

// parseKey parses a key; nil if it is missing or malformed.
func parseKey(raw []byte) *ecdsa.PrivateKey {
	block, _ := pem.Decode(raw)
	if block == nil {
		return nil
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return nil
	}
	return key
}

// forgetKey abandons a pending join.
func (s state) forgetKey() error { return s.remove(keyFile) }

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: keyType, Bytes: der}), nil
}
