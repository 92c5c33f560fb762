package supervise

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/hub/machinery/controlplane/datadir"
	"fairlead.dev/hub/machinery/controlplane/encryption"
	"fairlead.dev/hub/machinery/controlplane/pki"
)

// looked returns what the next start says about a data directory.
func looked(t *testing.T, dir *datadir.Dir) error {
	t.Helper()
	isNew, err := dir.IsNew()
	if err != nil {
		t.Fatal(err)
	}
	return checkComplete(dir, isNew)
}

// firstStart takes the steps of a first start, and checks after each one as if the hub had been killed there.
func firstStart(t *testing.T) *datadir.Dir {
	t.Helper()
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	dir, err := datadir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	var state *encryption.State
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"nothing", func() error { return nil }},
		{"the key of encryption", func() (err error) {
			state, err = encryption.Open(dir.Encryption(), "", now)
			return err
		}},
		{"the keys", func() error {
			_, err := pki.Ensure(dir.PKI(), pki.Leaves{}, now)
			return err
		}},
		{"the database", func() error { return os.Mkdir(filepath.Join(dir.Etcd(), "member"), 0o700) }},
		{"the note", func() error { return state.Finish() }},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if err := looked(t, dir); err != nil {
			t.Errorf("a first start that was killed after %s was made: %v", step.what, err)
		}
	}
	return dir
}

func TestAHubThatLostAKeyIsRefused(t *testing.T) {
	t.Parallel()
	needed := slices.DeleteFunc(pki.Lasting(), pki.IsFrontProxy)
	for _, gone := range append([][]string{pki.Lasting()}, singles(needed)...) {
		dir := firstStart(t)
		for _, name := range gone {
			if err := os.Remove(filepath.Join(dir.PKI(), name)); err != nil {
				t.Fatal(err)
			}
		}
		err := looked(t, dir)
		if !errors.Is(err, ErrIncomplete) {
			t.Errorf("without %q: %v, want ErrLost", gone, err)
			continue
		}
		for _, name := range needed {
			if strings.Contains(err.Error(), " "+name) != slices.Contains(gone, name) {
				t.Errorf("without %q: %v", gone, err)
			}
		}
	}
}

func TestAHubThatLostItsFrontProxyAuthorityMakesItAnew(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 3, 3, 4, 5, 0, time.UTC)
	own := slices.DeleteFunc(pki.Lasting(), func(name string) bool { return !pki.IsFrontProxy(name) })
	for _, gone := range append([][]string{own}, singles(own)...) {
		dir := firstStart(t)
		for _, name := range gone {
			if err := os.Remove(filepath.Join(dir.PKI(), name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := looked(t, dir); err != nil {
			t.Errorf("without %q: %v", gone, err)
		}
		if err := pki.RenewFrontProxy(dir.PKI(), now); err != nil {
			t.Errorf("without %q: %v", gone, err)
		}
		if _, err := pki.Ensure(dir.PKI(), pki.Leaves{}, now); err != nil {
			t.Errorf("without %q: %v", gone, err)
		}
	}
}

func singles(all []string) [][]string {
	var out [][]string
	for _, one := range all {
		out = append(out, []string{one})
	}
	return out
}

func TestAHubThatLostItsDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	dir := firstStart(t)
	if err := os.RemoveAll(filepath.Join(dir.Etcd(), "member")); err != nil {
		t.Fatal(err)
	}
	if err := looked(t, dir); !errors.Is(err, ErrIncomplete) {
		t.Errorf("without a database: %v, want ErrLost", err)
	}
	for _, left := range []string{dir.PKI(), dir.Encryption()} { // as the error advises
		if err := os.RemoveAll(left); err != nil {
			t.Fatal(err)
		}
	}
	if err := looked(t, dir); err != nil {
		t.Errorf("a new hub where nothing is left: %v", err)
	}
}
