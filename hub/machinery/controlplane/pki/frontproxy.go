package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"fairlead.dev/hub/machinery/controlplane/atomicfile"
)

// frontProxyReserve is the least remaining validity of the front-proxy authority at a start: as long as a control plane
// may run without a restart.
const frontProxyReserve = 2 * 365 * 24 * time.Hour

// RenewFrontProxy renews the front-proxy authority in a directory if it expires soon or its key is lost. Only the one
// control plane that uses the directory may rely on it: at its start, kube-apiserver announces the new authority to
// aggregated APIs, together with the old one until that expires.
//
// If it is interrupted, the certificate still has its key.
func RenewFrontProxy(dir string, now time.Time) error {
	b := &Bundle{dir: dir}
	certPath, keyPath := b.FrontProxyCAFile(), b.path(frontProxyCAKey)
	certPEM, err := os.ReadFile(certPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // Ensure creates it
	}
	if err != nil {
		return fmt.Errorf("reading authority: %w", err)
	}
	keyPEM, err := os.ReadFile(keyPath)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.Remove(certPath); err != nil {
			return fmt.Errorf("removing an authority whose key is lost: %w", err)
		}
		return nil // Ensure creates both
	}
	if err != nil {
		return fmt.Errorf("reading key: %w", err)
	}
	old, err := parseCert(certPEM)
	if err != nil {
		return fmt.Errorf("reading authority %q: %w", certPath, err)
	}
	if now.Add(frontProxyReserve).Before(old.NotAfter) {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("generating key of the front-proxy authority: %w", err)
	}
	newPEM, err := encodeKey(key)
	if err != nil {
		return err
	}
	// It starts when the old one did: otherwise a clock that is years ahead would create one that is not valid yet by
	// the right clock.
	a, err := selfSign(key, old.Subject.CommonName, old.NotBefore, now.Add(authorityValidity))
	if err != nil {
		return err
	}
	if err := atomicfile.Write(keyPath, slices.Concat(newPEM, keyPEM)); err != nil {
		return err
	}
	if err := atomicfile.Write(certPath, a.PEM); err != nil {
		return err
	}
	return atomicfile.Write(keyPath, newPEM)
}
