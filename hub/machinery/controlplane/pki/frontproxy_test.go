package pki

import (
	"bytes"
	"crypto/x509"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestTheFrontProxyAuthorityIsMadeAnewInTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tc := range map[string]struct {
		after time.Duration
		want  bool
	}{
		"long before its end":         {authorityValidity - frontProxyReserve - time.Hour, false},
		"two years before its end":    {authorityValidity - frontProxyReserve + time.Hour, true},
		"after its end":               {authorityValidity + time.Hour, true},
		"by a clock that is far back": {-authorityValidity, false},
	} {
		dir, newer := t.TempDir(), t.TempDir()
		at := now.Add(tc.after)
		b := ensure(t, dir, now, "localhost")
		certBefore, keyBefore := read(t, b.FrontProxyCAFile()), read(t, b.path(frontProxyCAKey))
		if err := RenewFrontProxy(dir, at); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		cert, key := read(t, b.FrontProxyCAFile()), read(t, b.path(frontProxyCAKey))
		if got := !bytes.Equal(cert, certBefore); got != tc.want {
			t.Errorf("%s: made anew is %t", name, got)
		}
		if !tc.want {
			continue
		}
		// The cluster authority has been exchanged meanwhile.
		ensure(t, newer, at, "localhost")
		for _, file := range []string{caCert, caKey} {
			if err := os.WriteFile(filepath.Join(dir, file), read(t, filepath.Join(newer, file)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		ensure(t, dir, at, "localhost")
		ensure(t, dir, at.Add(authorityValidity-frontProxyReserve), "localhost")

		// If it is killed after any of its steps, the next start completes it.
		for step, files := range [][2][]byte{
			{certBefore, slices.Concat(key, keyBefore)}, {cert, slices.Concat(key, keyBefore)},
		} {
			for i, path := range []string{b.FrontProxyCAFile(), b.path(frontProxyCAKey)} {
				if err := os.WriteFile(path, files[i], 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := RenewFrontProxy(dir, at); err != nil {
				t.Fatalf("%s, killed after step %d: %v", name, step, err)
			}
			last := ensure(t, dir, at, "localhost")
			proxy := parse(t, read(t, last.FrontProxyCertFile()))
			if err := verify(t, read(t, last.FrontProxyCAFile()), proxy, "", x509.ExtKeyUsageClientAuth, at); err != nil {
				t.Errorf("%s, killed after step %d: %v", name, step, err)
			}
		}

		// The clock was years ahead, and is corrected.
		if err := RenewFrontProxy(dir, now); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadOrCreate(b.FrontProxyCAFile(), b.path(frontProxyCAKey), "", now); err != nil {
			t.Errorf("%s, and back again: %v", name, err)
		}
	}
	if err := RenewFrontProxy(t.TempDir(), now); err != nil {
		t.Errorf("where there is none: %v", err)
	}
}
