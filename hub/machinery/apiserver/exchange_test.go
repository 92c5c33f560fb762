package apiserver

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/hub/machinery/apiserver/authority"
)

// newAuthorities returns a data directory in which a hub was started once.
func newAuthorities(t *testing.T, g Gomega) (dataDir string) {
	t.Helper()
	dataDir = t.TempDir()
	dir := filepath.Join(dataDir, "pki")
	g.Expect(os.Mkdir(dir, 0o700)).To(Succeed())
	cert, key, err := authority.Make(&x509.Certificate{}, time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	data, err := authority.EncodeKeys(key)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(filepath.Join(dir, "ca.key"), data, 0o600)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(dir, "ca.crt"), authority.Bundle{cert}.Encode(), 0o600)).To(Succeed())
	return dataDir
}

func TestTheFilesOfAnExchange(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir := newAuthorities(t, g)
	a, err := OpenAuthorities(dir)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = OpenAuthorities(dir)
	g.Expect(err).To(MatchError(ContainSubstring("another `hub ca` is at work")))

	keysOf := func() int {
		b, err := a.Read()
		g.Expect(err).NotTo(HaveOccurred())
		data, err := a.keyData()
		g.Expect(err).NotTo(HaveOccurred())
		for _, cert := range b {
			_, err := authority.KeyOf(cert, data)
			g.Expect(err).NotTo(HaveOccurred(), "the keys of all authorities are there")
		}
		return len(b)
	}
	first, err := a.Read()
	g.Expect(err).NotTo(HaveOccurred())
	for _, step := range []struct {
		step  authority.Step
		phase authority.Phase
		count int
	}{{authority.Begin, authority.Overlap, 2}, {authority.Switch, authority.Switched, 2}, {authority.Finish, authority.Steady, 1}} {
		before, err := a.Read()
		g.Expect(err).NotTo(HaveOccurred())
		after, err := a.Take(step.step, before, time.Now())
		g.Expect(err).NotTo(HaveOccurred())
		read, err := a.Read()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(read.Encode()).To(Equal(after.Encode()))
		g.Expect(read.Phase()).To(Equal(step.phase))
		g.Expect(keysOf()).To(Equal(step.count))
	}
	data, err := a.keyData()
	g.Expect(err).NotTo(HaveOccurred())
	_, err = authority.KeyOf(first.Signs(), data)
	g.Expect(err).To(HaveOccurred(), "the key of the old one is gone")
	g.Expect(a.Close()).To(Succeed())

	entries, err := os.ReadDir(filepath.Join(dir, "pki"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, entry := range entries {
		info, err := entry.Info()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)), entry.Name())
	}
}

func TestAStepThatWasStoppedOnTheWayIsMadeAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	a, err := OpenAuthorities(newAuthorities(t, g))
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { g.Expect(a.Close()).To(Succeed()) }()
	old, err := a.Read()
	g.Expect(err).NotTo(HaveOccurred())

	// Stopped after writing the keys and before the certificates: nothing has begun.
	_, err = a.begin(old, time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(replace(a.certificates(), old.Encode())).To(Succeed())
	after, err := a.Take(authority.Begin, old, time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	after, err = a.Take(authority.Switch, after, time.Now())
	g.Expect(err).NotTo(HaveOccurred())

	// Stopped after writing the certificates and before the keys: the exchange is complete except for the old key.
	both, err := a.keyData()
	g.Expect(err).NotTo(HaveOccurred())
	last, err := a.Take(authority.Finish, after, time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(replace(a.keys(), both)).To(Succeed())
	g.Expect(a.DeleteUnusedKeys(last)).To(Succeed())
	data, err := a.keyData()
	g.Expect(err).NotTo(HaveOccurred())
	_, err = authority.KeyOf(old.Signs(), data)
	g.Expect(err).To(HaveOccurred())
}

func TestADirectoryWithoutAuthorityIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := OpenAuthorities(dir)
	NewWithT(t).Expect(err).To(MatchError(And(ContainSubstring(dir), ContainSubstring("--data-dir"))))
}
