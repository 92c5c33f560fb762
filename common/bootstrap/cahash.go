package bootstrap

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// hashPrefix names the only supported kind of hash.
const hashPrefix = "sha256:"

// CAHash returns the hash of the public key of each certificate in a bundle, as
// "sha256:" and the hexadecimal SHA-256 of the subject public key info. This is how
// kubeadm pins a certificate authority too.
func CAHash(bundle []byte) ([]string, error) {
	var hashes []string
	for rest := bundle; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("reading a certificate authority: %w", err)
		}
		sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
		hashes = append(hashes, hashPrefix+hex.EncodeToString(sum[:]))
	}
	if len(hashes) == 0 {
		return nil, errors.New("reading a certificate authority: there is no certificate in it")
	}
	return hashes, nil
}

// ValidateCAHash returns what is wrong with a hash.
func ValidateCAHash(hash string) error {
	digits, ok := strings.CutPrefix(strings.ToLower(hash), hashPrefix)
	if raw, err := hex.DecodeString(digits); !ok || err != nil || len(raw) != sha256.Size {
		return fmt.Errorf("%q is not a hash of the form %s and 64 hexadecimal digits", hash, hashPrefix)
	}
	return nil
}

// VerifyCAHash returns an error unless every certificate in the bundle is pinned by one of the hashes: whoever has
// the key of an unpinned one could impersonate the hub.
func VerifyCAHash(bundle []byte, pins []string) error {
	if len(pins) == 0 {
		return errors.New("no hash is given to compare the hub's certificate authority with")
	}
	allowed := make([]string, 0, len(pins))
	for _, pin := range pins {
		if err := ValidateCAHash(pin); err != nil {
			return err
		}
		allowed = append(allowed, strings.ToLower(pin))
	}
	hashes, err := CAHash(bundle)
	if err != nil {
		return err
	}
	for _, hash := range hashes {
		if !slices.Contains(allowed, hash) {
			return fmt.Errorf("the hub's certificate authority has the hash %s, which is none of those given: "+
				"either the hash is mistyped or somebody answers in the hub's place", hash)
		}
	}
	return nil
}
