package pki

import (
	"bytes"
	"crypto/x509"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func ensure(t *testing.T, dir string, now time.Time, hosts ...string) *Bundle {
	t.Helper()
	clients := []Client{{Key: "admin", Subject: Subject{Name: "admin", Groups: []string{"system:masters"}}}}
	b, err := Ensure(dir, Leaves{Hosts: hosts, Clients: clients}, now)
	if err != nil {
		t.Fatalf("Ensure() = %v", err)
	}
	return b
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func parse(t *testing.T, data []byte) *x509.Certificate {
	t.Helper()
	cert, err := parseCert(data)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func verify(t *testing.T, ca []byte, cert *x509.Certificate, host string, usage x509.ExtKeyUsage, now time.Time) error {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		t.Fatal("the authority is no certificate")
	}
	_, err := cert.Verify(x509.VerifyOptions{
		Roots: roots, DNSName: host, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{usage},
	})
	return err
}

func TestEnsure(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

	t.Run("the serving certificate is good for every host, and for a server only", func(t *testing.T) {
		t.Parallel()
		b := ensure(t, t.TempDir(), now, "localhost", "10.96.0.1")
		cert := parse(t, read(t, b.ServingCertFile()))
		for _, host := range []string{"localhost", "10.96.0.1"} {
			if err := verify(t, b.CA, cert, host, x509.ExtKeyUsageServerAuth, now); err != nil {
				t.Errorf("verifying %q: %v", host, err)
			}
		}
		if verify(t, b.CA, cert, "example.com", x509.ExtKeyUsageServerAuth, now) == nil {
			t.Error("the certificate is good for a host that was not asked for")
		}
		if verify(t, b.CA, cert, "", x509.ExtKeyUsageClientAuth, now) == nil {
			t.Error("the certificate is good for a client")
		}
	})

	t.Run("a client certificate carries the user and the groups", func(t *testing.T) {
		t.Parallel()
		b := ensure(t, t.TempDir(), now, "localhost")
		cert := parse(t, b.Clients["admin"].Cert)
		if err := verify(t, b.CA, cert, "", x509.ExtKeyUsageClientAuth, now); err != nil {
			t.Error(err)
		}
		if cert.Subject.CommonName != "admin" || len(cert.Subject.Organization) != 1 || cert.Subject.Organization[0] != "system:masters" {
			t.Errorf("subject = %v, want admin of system:masters", cert.Subject)
		}
	})

	t.Run("the front proxy is of an authority of its own", func(t *testing.T) {
		t.Parallel()
		b := ensure(t, t.TempDir(), now, "localhost")
		cert := parse(t, read(t, b.FrontProxyCertFile()))
		if verify(t, b.CA, cert, "", x509.ExtKeyUsageClientAuth, now) == nil {
			t.Error("the cluster authority vouches for the front proxy")
		}
		if err := verify(t, read(t, b.FrontProxyCAFile()), cert, "", x509.ExtKeyUsageClientAuth, now); err != nil {
			t.Error(err)
		}
	})

	t.Run("a restart keeps what others hold and renews the rest", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		before := ensure(t, dir, now, "localhost")
		ca, sa := before.CA, read(t, before.ServiceAccountKeyFile())
		later := now.Add(200 * 24 * time.Hour)
		after := ensure(t, dir, later, "localhost", "hub.example.com")
		if !bytes.Equal(ca, after.CA) {
			t.Error("the authority changed")
		}
		if !bytes.Equal(sa, read(t, after.ServiceAccountKeyFile())) {
			t.Error("the key of service accounts changed")
		}
		if err := verify(t, ca, parse(t, before.Clients["admin"].Cert), "", x509.ExtKeyUsageClientAuth, later); err != nil {
			t.Errorf("a certificate from before the restart: %v", err)
		}
		cert := parse(t, read(t, after.ServingCertFile()))
		if want := later.Add(DefaultValidity); !cert.NotAfter.Equal(want) {
			t.Errorf("NotAfter = %s, want %s", cert.NotAfter, want)
		}
		if err := verify(t, ca, cert, "hub.example.com", x509.ExtKeyUsageServerAuth, later); err != nil {
			t.Errorf("a host added by the restart: %v", err)
		}
	})

	t.Run("no certificate outlives its authority", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		first := ensure(t, dir, now, "localhost")
		b := ensure(t, dir, now.Add(authorityValidity-24*time.Hour), "localhost")
		if got, end := parse(t, read(t, b.ServingCertFile())).NotAfter, parse(t, first.CA).NotAfter; got.After(end) {
			t.Errorf("NotAfter = %s, after the authority's %s", got, end)
		}
	})

	t.Run("an expired authority is refused rather than replaced", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		ensure(t, dir, now, "localhost")
		if _, err := Ensure(dir, Leaves{}, now.Add(authorityValidity+time.Hour)); err == nil {
			t.Error("Ensure() = nil error, want one")
		}
	})

	t.Run("an authority without its key is refused rather than replaced", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		b := ensure(t, dir, now, "localhost")
		if err := os.Remove(b.CAKeyFile()); err != nil {
			t.Fatal(err)
		}
		if _, err := Ensure(dir, Leaves{}, now); err == nil {
			t.Error("Ensure() = nil error, want one")
		}
	})

	t.Run("a key that lost its certificate is kept", func(t *testing.T) {
		t.Parallel()
		for _, names := range [][2]string{{caCert, caKey}, {frontProxyCACert, frontProxyCAKey}} {
			dir := t.TempDir()
			ensure(t, dir, now, "localhost")
			key := read(t, filepath.Join(dir, names[1]))
			if err := os.Remove(filepath.Join(dir, names[0])); err != nil {
				t.Fatal(err)
			}
			if missing, err := Missing(dir); err != nil || !slices.Equal(missing, names[:1]) {
				t.Errorf("Missing() = %q, %v", missing, err)
			}
			b := ensure(t, dir, now, "localhost")
			if !bytes.Equal(read(t, filepath.Join(dir, names[1])), key) {
				t.Errorf("%s was replaced", names[1])
			}
			proxy := parse(t, read(t, b.FrontProxyCertFile()))
			if err := verify(t, read(t, b.FrontProxyCAFile()), proxy, "", x509.ExtKeyUsageClientAuth, now); err != nil {
				t.Error(err)
			}
		}
	})

	t.Run("what is no key is refused rather than replaced", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		path := filepath.Join(dir, caKey)
		if err := os.WriteFile(path, []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Ensure(dir, Leaves{}, now); err == nil {
			t.Error("Ensure() = nil error, want one")
		}
		if got := read(t, path); string(got) != "damaged" {
			t.Errorf("the file is %q now", got)
		}
	})

	t.Run("of two authorities both are trusted and the first signs", func(t *testing.T) {
		t.Parallel()
		dir, other := t.TempDir(), t.TempDir()
		first, second := ensure(t, dir, now, "localhost"), ensure(t, other, now, "localhost")
		keys := append(read(t, first.CAKeyFile()), read(t, second.CAKeyFile())...)
		for path, data := range map[string][]byte{
			first.CAFile(): append(bytes.Clone(second.CA), first.CA...), first.CAKeyFile(): keys,
		} {
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		b := ensure(t, dir, now, "localhost")
		if want := append(bytes.Clone(second.CA), first.CA...); !bytes.Equal(b.CA, want) {
			t.Errorf("CA = %s, want both", b.CA)
		}
		for name, data := range map[string][]byte{"serving": read(t, b.ServingCertFile()), "client": b.Clients["admin"].Cert} {
			if err := verify(t, second.CA, parse(t, data), "", x509.ExtKeyUsageAny, now); err != nil {
				t.Errorf("the %s certificate is not of the authority that is first: %v", name, err)
			}
		}
		if got := read(t, b.SigningCertFile()); !bytes.Equal(got, second.CA) {
			t.Errorf("SigningCertFile has %s, want the first authority alone", got)
		}
		if got := read(t, b.SigningKeyFile()); !bytes.Equal(got, read(t, second.CAKeyFile())) {
			t.Error("SigningKeyFile does not have the key of the first authority")
		}
	})

	t.Run("every file is for its owner alone", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		ensure(t, dir, now, "localhost")
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			info, err := os.Stat(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if got := info.Mode().Perm(); got != 0o600 {
				t.Errorf("mode of %s = %o, want 600", e.Name(), got)
			}
		}
	})
}

func TestCertificatesAreIssuedAnewInTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	dir := t.TempDir()
	b := ensure(t, dir, now, "localhost")
	for name, tc := range map[string]struct {
		at   time.Time
		want bool
	}{
		"just issued":                         {now, false},
		"with more than a third left":         {now.Add(DefaultValidity*2/3 - time.Hour), false},
		"with less than a third left":         {now.Add(DefaultValidity*2/3 + time.Hour), true},
		"after their end":                     {now.Add(2 * DefaultValidity), true},
		"a little back":                       {now.Add(-skew), false},
		"by a clock that was put back so far": {now.Add(-skew - time.Second), true},
	} {
		if got := b.IsDue(tc.at); got != tc.want {
			t.Errorf("%s: IsDue() = %t", name, got)
		}
	}
	// A hub that is never restarted still has valid certificates.
	for at := now; at.Before(now.Add(3 * DefaultValidity)); at = at.Add(24 * time.Hour) {
		if b.IsDue(at) {
			if err := b.Issue(at); err != nil {
				t.Fatal(err)
			}
		}
		for name, cert := range map[string][]byte{"serving": read(t, b.ServingCertFile()), "client": b.Clients["admin"].Cert} {
			if err := verify(t, b.CA, parse(t, cert), "", x509.ExtKeyUsageAny, at); err != nil {
				t.Fatalf("the %s certificate on %s: %v", name, at, err)
			}
		}
	}
}

func TestAClockOfBeforeTheAuthorityIsTold(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	dir := t.TempDir()
	b := ensure(t, dir, now, "localhost")
	before := now.Add(-time.Hour)
	if _, err := Ensure(dir, Leaves{}, before); err == nil || !strings.Contains(err.Error(), "set the clock") {
		t.Errorf("Ensure() = %v", err)
	}
	if err := b.Issue(before); err == nil || !strings.Contains(err.Error(), "set the clock") {
		t.Errorf("Issue() = %v", err)
	}
}

func TestAFirstStartThatWasKilledIsFinishedByTheNext(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	written := []string{ // in this order
		caKey, caCert, "ca-signing.key", "ca-signing.crt", frontProxyCAKey, frontProxyCACert, serviceAccountKey, "sa.pub",
		"apiserver.key", "apiserver.crt", "front-proxy-client.key", "front-proxy-client.crt",
	}
	for n := range len(written) + 1 {
		dir := t.TempDir()
		ensure(t, dir, now, "localhost")
		if all, err := os.ReadDir(dir); err != nil || len(all) != len(written) {
			t.Fatalf("%d files, %v", len(all), err)
		}
		for _, name := range written[n:] {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		hashes, err := HashesOf(dir)
		if isWhole := n > slices.Index(written, serviceAccountKey); err != nil || isWhole != (len(hashes.Trusted) > 0) {
			t.Errorf("killed after %d files: Look() = %+v, %v", n, hashes, err)
		}
		ensure(t, dir, now, "localhost")
		if hashes, err := HashesOf(dir); err != nil || len(hashes.Trusted) == 0 || hashes.ServiceAccount == "" {
			t.Errorf("after the next start: Look() = %+v, %v", hashes, err)
		}
	}
}
