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

// frontProxyReserve is how long the front-proxy authority has to last at a start: as long as a control plane runs without another one.
const frontProxyReserve = 2 * 365 * 24 * time.Hour

// RenewFrontProxy makes the front-proxy authority of a directory anew if its end is near, or its key is lost. Nobody but the one control plane that uses the
// directory may go by it: kube-apiserver tells aggregated APIs of the new one when it starts, and of the old one as well until that ends.
//
// Wherever it is killed, the key of the certificate is there.
func RenewFrontProxy(dir string, now time.Time) error {
	b := &Bundle{dir: dir}
	certPath, keyPath := b.FrontProxyCAFile(), b.path(frontProxyCAKey)
	certPEM, err := os.ReadFile(certPath)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // Ensure makes it
	}
	if err != nil {
		return fmt.Errorf("reading authority: %w", err)
	}
	keyPEM, err := os.ReadFile(keyPath)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.Remove(certPath); err != nil {
			return fmt.Errorf("removing an authority whose key is lost: %w", err)
		}
		return nil // Ensure makes both
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
	// It is good from when the old one was: a clock that is years ahead by mistake makes none that the right one does not take.
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
