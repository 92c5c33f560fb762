package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"fairlead.dev/hub/machinery/controlplane/atomicfile"
)

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

// readKey returns the first key of a file.
func readKey(path string) (*ecdsa.PrivateKey, error) {
	keys, err := readKeys(path)
	if err != nil {
		return nil, err
	}
	return keys[0], nil
}

// readKeys returns the keys in a file, at least one.
func readKeys(path string) ([]*ecdsa.PrivateKey, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading key: %w", err)
	}
	var keys []*ecdsa.PrivateKey
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		key, err := x509.ParseECPrivateKey(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("reading key %q: %w", path, err)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("reading key %q: no PEM block found", path)
	}
	return keys, nil
}

func parseCert(data []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, errors.New("no PEM block found")
	}
	return x509.ParseCertificate(block.Bytes)
}

// ensureServiceAccountKey keeps the key that signs service account tokens, since a new one would invalidate all tokens.
// It derives the public key each time.
func ensureServiceAccountKey(keyPath, publicPath string) error {
	key, err := readKey(keyPath)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = newKey(keyPath)
	}
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return fmt.Errorf("encoding public key for service accounts: %w", err)
	}
	return atomicfile.Write(publicPath, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// newKey generates a key and writes it to a new file.
func newKey(path string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating key: %w", err)
	}
	data, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	return key, atomicfile.Write(path, data)
}
